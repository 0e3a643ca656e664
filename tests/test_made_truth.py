"""Reading the exact truth of made trees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.ecog.loader import EcogError
from replay.measure.made_truth import by_difficulty, made_clips
from tests.made_truths import clip_truth, pointed, said, write_truth


def test_words_strokes_and_fingertips_are_read_in_seconds_and_pixels(tmp_path: Path) -> None:
    clip = clip_truth(
        words=(said("Take", 500, 800), said("this", 900, 1200, "withdrawn", 0, punct=",")),
        strokes=(pointed(0, 1500, withdrawn=True),),
        tips=(None, [10.5, 20]),
        other_arms=1,
    )
    known = made_clips(write_truth(tmp_path, clip))["a.mp4"]
    assert (known.difficulty, known.language, known.duration) == ("real", "en", 6.0)
    assert known.words[1].onset == 0.9
    assert (known.words[1].role, known.words[1].stroke) == ("withdrawn", 0)
    assert known.words[1].punctuation == ","
    assert (known.strokes[0].apex, known.strokes[0].tip) == (1.5, (0.25, 0.25))
    assert known.strokes[0].withdrawn
    assert known.tips == (None, (10.5, 20.0))
    assert known.arm_there == (False, True)
    assert known.other_arms


def test_truth_without_roles_and_difficulty_is_read_too(tmp_path: Path) -> None:
    words = [said("this", 0, 1, "deictic", 0), said("it", 1, 2, "anaphor"), said("so", 2, 3)]
    clip = clip_truth(words=(*words, said("that", 3, 4, "non_deictic")), tips=([1, 2], None))
    for word in clip["words"]:
        del word["role"]
    for field in ("difficulty", "drawn", "fingertip_m"):
        del clip[field]
    known = made_clips(write_truth(tmp_path, clip))["a.mp4"]
    assert [word.role for word in known.words] == ["deictic", "anaphor", "plain", "non_deictic"]
    assert (known.difficulty, known.other_arms) == ("", False)
    assert known.arm_there == (True, False)


def test_folder_without_made_clips_has_none(tmp_path: Path) -> None:
    assert made_clips(tmp_path) == {}
    (tmp_path / "truth.json").write_text('{"stills": []}')
    assert made_clips(tmp_path) == {}


@pytest.mark.parametrize("content", ["{", "3", '{"clips": 3}', '{"clips": [{}]}'])
def test_made_truth_that_cannot_be_read_is_one_clear_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "truth.json").write_text(content)
    with pytest.raises(EcogError, match=r"truth\.json: cannot be read as made truth"):
        made_clips(tmp_path)


def test_fingertips_of_unlike_length_are_refused(tmp_path: Path) -> None:
    clip = clip_truth(tips=([1, 2], None))
    clip["fingertip_m"] = [None]
    (tmp_path / "truth.json").write_text(json.dumps({"clips": [clip]}))
    with pytest.raises(EcogError, match="1 fingertips in metres, 2 in pixels"):
        made_clips(tmp_path)


def test_difficulties_go_from_easy_to_hard() -> None:
    groups = by_difficulty([("hard", 1), ("", 2), ("odd", 3), ("easy", 4), ("hard", 5)])
    assert groups == {"easy": [4], "hard": [1, 5], "odd": [3]}
    assert list(groups) == ["easy", "hard", "odd"]
