"""Reading EcoG-Bench trees: what counts, and by what name the rest is left out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from replay.ecog import (
    DEFAULT_SIZE,
    EcogError,
    EcogTree,
    EcogWord,
    instruction_of,
    load_ecog,
    video_size,
    write_truth,
)
from replay.ecog.loader import language_of
from replay.scoring.ecog import score_ecog
from tests.ecog_maker import TreeMaker, filled, perfect, raw_answer


def names(tree: EcogTree) -> list[str]:
    return [clip.video_name for clip in tree.clips]


def reasons(tree: EcogTree) -> dict[str, str]:
    return {clip.video_name: clip.reason for clip in tree.left_out}


def test_a_clip_has_all_that_the_files_say(tmp_path: Path) -> None:
    answers = [
        raw_answer("A", mask={"bbox": [1, 2, 3, 4], "mask_base64": filled(2, 2), "score": 0.9}),
        raw_answer("a", points=[[1, 2], [3, 4.5]]),
    ]
    words = [{"text": "这个", "begin_time": 10, "end_time": 20}]
    maker = TreeMaker(tmp_path).clip(
        "data_zn_v2/x/y/指令4",
        "c.MOV",
        answers=answers,
        asr_result={"text": "放这个", "words": words},
    )
    (clip,) = load_ecog(maker.write()).clips
    assert (clip.instruction, clip.level, clip.language, clip.k) == (4, "L3", "zh", 2)
    assert (clip.folder, clip.video_name) == ("data_zn_v2/x/y/指令4", "c.MOV")
    assert clip.scene == "Kitchen Scene"
    assert clip.object_choices == ("A. red cup", "B. blue cup")
    assert clip.space_choices == ("a. here",)
    assert clip.transcript == "放这个"
    assert clip.words == (EcogWord(text="这个", begin_ms=10, end_ms=20),)
    first, second = clip.answers
    assert (first.choice, first.window, first.points) == ("A", (1000, 2000), ((750, 250),))
    assert first.mask is not None
    assert first.mask.bbox == (1, 2, 3, 4)
    assert second.points == ((2, 1), (4.5, 3))
    assert (first.is_object, second.is_object) == (True, False)


@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("指令1", 1),
        ("指令6", 6),
        ("Inst3", 3),
        ("inst3", 3),
        ("INSTRUCTION5", 5),
        ("Instruction 2", 2),
        ("指令7", None),
        ("指令0", None),
        ("指令12", None),
        ("Instr1", None),
        ("my指令1", None),
        ("1", None),
    ],
)
def test_folder_names_tell_the_instruction(name: str, instruction: int | None) -> None:
    assert instruction_of(name) == instruction


@pytest.mark.parametrize(
    ("folder", "language"),
    [
        ("/r/data_zn/env1/指令1", "zh"),
        ("/r/data_zn_extra/指令1", "zh"),
        ("/r/data_en/env1/指令1", "en"),
        ("/r/data/env1/指令1", "en"),
        ("/data_zn/data_en/指令1", "en"),
        ("/data_en/deep/data_zn_2/a/指令1", "zh"),
        ("/r/my_data_zn/指令1", "en"),
    ],
)
def test_the_nearest_data_folder_decides_the_language(folder: str, language: str) -> None:
    assert language_of(Path(folder)) == language


@pytest.mark.parametrize("part", ["", "data_zn", "data_zn/env1", "data_zn/env1/指令2"])
def test_any_part_of_a_tree_can_be_the_root(
    tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = TreeMaker(tmp_path).clip("data_zn/env1/指令2").write() / part
    monkeypatch.chdir(root)
    for given in (root, Path(".")):
        (clip,) = load_ecog(given).clips
        assert (clip.language, clip.instruction) == ("zh", 2)
        assert clip.video.is_file()


def test_the_folder_overrides_the_template(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path).clip("Inst5", task_template="指令1")
    assert [clip.instruction for clip in load_ecog(maker.write()).clips] == [5]


def test_the_same_name_in_several_folders_is_several_clips(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path).clip("指令1").clip("指令2").clip("b/指令2")
    tree = load_ecog(maker.write())
    assert [(clip.folder, clip.video_name) for clip in tree.clips] == [
        ("b/指令2", "a.mp4"),
        ("指令1", "a.mp4"),
        ("指令2", "a.mp4"),
    ]


def test_three_endings_are_videos(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path)
    for name in ("a.mp4", "b.MOV", "c.mov", "d.MP4", "e.avi", "._f.mp4"):
        maker.clip(name=name)
    tree = load_ecog(maker.write())
    assert names(tree) == ["a.mp4", "b.MOV", "c.mov"]
    assert set(reasons(tree)) == {"d.MP4", "e.avi", "._f.mp4"}


def test_what_cannot_be_scored_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path)
    maker.clip(name="no_video.mp4", video=None)
    maker.clip(name="no_truth.mp4", truth=False)
    maker.clip(name="empty.mp4", answers=[])
    maker.clip(name="unlabelled.mp4", answers=[raw_answer(""), raw_answer(None)])
    maker.clip(name="texts.mp4", answers=["A"])
    maker.clip(name="letters.mp4", answers=[raw_answer(points="here")])
    maker.clip(name="ragged.mp4", answers=[raw_answer(points=[[1, 2], [3]])])
    maker.clip(name="clock.mp4", answers=[raw_answer(stroke_begin_time="0:01")])
    maker.clip(name="number.mp4", answers=[raw_answer(5)])
    maker.clip(name="masked.mp4", answers=[raw_answer(mask="yes")])
    maker.clip(name="identity.mp4", id=[1])
    maker.clip(name="good.mp4")
    (tmp_path / "data_en/env1/指令3/stray.mp4").write_bytes(b"x")
    tree = load_ecog(maker.write())
    assert names(tree) == ["good.mp4"]
    found = reasons(tree)
    assert found["no_video.mp4"] == "no video file of that name in the folder"
    assert found["no_truth.mp4"] == "no entry in eval_gt.json"
    assert found["empty.mp4"] == "empty answer list in eval_gt.json"
    assert found["unlabelled.mp4"] == "no answer has a label in eval_gt.json"
    assert found["stray.mp4"] == "no entry in annotations.json"
    assert found["clock.mp4"].startswith("eval_gt.json: answer.0.stroke_begin_time")
    for name in ("texts", "letters", "ragged", "number", "masked", "identity"):
        assert f"{name}.mp4" in found
    assert len(found) == 12
    assert all("\n" not in reason for reason in found.values())


def test_of_entries_with_one_id_the_first_with_a_video_counts(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path)
    maker.clip(name="gone.mp4", id="1", video=None)
    maker.clip(name="first.mp4", id="1")
    maker.clip(name="second.mp4", id="1")
    maker.clip(name="number.mp4", id=1)
    maker.clip(name="none_a.mp4")
    maker.clip(name="none_b.mp4")
    maker.clip("data_en/env2/指令3", "elsewhere.mp4", id="1")
    tree = load_ecog(maker.write())
    assert sorted(names(tree)) == [
        "elsewhere.mp4",
        "first.mp4",
        "none_a.mp4",
        "none_b.mp4",
        "number.mp4",
    ]
    assert reasons(tree)["second.mp4"] == "id '1' is already that of 'first.mp4'"


def test_an_earlier_id_counts_even_when_its_clip_has_no_truth(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path).clip(name="first.mp4", id=7, truth=False).clip(name="b.mp4", id=7)
    tree = load_ecog(maker.write())
    assert names(tree) == []
    assert set(reasons(tree)) == {"first.mp4", "b.mp4"}


def test_an_answer_without_a_label_is_passed_over_and_noted(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path).clip(answers=[raw_answer(""), raw_answer("B")])
    tree = load_ecog(maker.write())
    assert [[one.choice for one in clip.answers] for clip in tree.clips] == [["B"]]
    assert [note.video_name for note in tree.notes] == ["a.mp4"]


@pytest.mark.parametrize("missing", ["stroke_begin_time", "stroke_end_time"])
@pytest.mark.parametrize("nothing", [None, ""])
def test_half_a_window_is_none(tmp_path: Path, missing: str, nothing: Any) -> None:
    maker = TreeMaker(tmp_path).clip(answers=[raw_answer(**{missing: nothing})])
    (clip,) = load_ecog(maker.write()).clips
    assert clip.answers[0].window is None


@pytest.mark.parametrize("empty", [None, {}, {"bbox": [1, 2, 3, 4]}, {"mask_base64": ""}])
def test_a_mask_without_a_picture_is_none(tmp_path: Path, empty: Any) -> None:
    maker = TreeMaker(tmp_path).clip(answers=[raw_answer(mask=empty)])
    (clip,) = load_ecog(maker.write()).clips
    assert clip.answers[0].mask is None


def test_a_single_point_may_stand_without_its_list(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path).clip(answers=[raw_answer(points=[250, 750])])
    (clip,) = load_ecog(maker.write()).clips
    assert clip.answers[0].points == ((750, 250),)


def test_a_transcript_that_cannot_be_read_does_not_cost_the_clip(tmp_path: Path) -> None:
    maker = TreeMaker(tmp_path).clip(asr_result={"words": [{"begin_time": 5}]}, scene=5)
    tree = load_ecog(maker.write())
    assert [(clip.words, clip.scene) for clip in tree.clips] == [((), "")]
    assert tree.notes[0].reason.startswith("asr_result passed over: words.0.text")


BAD_FILES = [b"", b"{", b"\xff\xfe{}", b"[" * 100_000, b"5", b"null", b'"text"', b"9" * 5000]


@pytest.mark.parametrize("content", [*BAD_FILES, b"{}"], ids=lambda value: repr(value[:8]))
def test_unreadable_annotations_name_their_videos(tmp_path: Path, content: bytes) -> None:
    root = TreeMaker(tmp_path).clip("指令1", "bad.mp4").clip("指令2", "good.mp4").write()
    (root / "指令1" / "annotations.json").write_bytes(content)
    tree = load_ecog(root)
    assert names(tree) == ["good.mp4"]
    assert reasons(tree)["bad.mp4"].startswith("annotations.json: ")


@pytest.mark.parametrize("content", [*BAD_FILES, b"[]"], ids=lambda value: repr(value[:8]))
def test_an_unreadable_truth_names_its_clips(tmp_path: Path, content: bytes) -> None:
    root = TreeMaker(tmp_path).clip("指令1", "bad.mp4").clip("指令2", "good.mp4").write()
    (root / "指令1" / "eval_gt.json").write_bytes(content)
    tree = load_ecog(root)
    assert names(tree) == ["good.mp4"]
    assert reasons(tree)["bad.mp4"].startswith("eval_gt.json: ")


def test_missing_files_and_odd_entries_are_named(tmp_path: Path) -> None:
    root = TreeMaker(tmp_path).clip("指令1").clip("指令2", "b.mp4").clip("指令3", "c.mp4").write()
    (root / "指令1" / "annotations.json").unlink()
    (root / "指令2" / "eval_gt.json").unlink()
    (root / "指令3" / "annotations.json").write_text('[5, null, {"id": 1}, {"video_name": 3}]')
    tree = load_ecog(root)
    assert tree.clips == ()
    found = reasons(tree)
    assert found["a.mp4"] == "annotations.json: No such file or directory"
    assert found["b.mp4"] == "eval_gt.json: No such file or directory"
    assert {f"annotations.json[{number}]" for number in range(4)} < set(found)


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    root = TreeMaker(tmp_path).clip("指令1").write()
    path = root / "指令1" / "annotations.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert names(load_ecog(root)) == ["a.mp4"]


def test_the_shadows_of_a_mac_archive_are_no_clips(tmp_path: Path) -> None:
    root = TreeMaker(tmp_path).clip("指令1").write()
    shadow = root / "__MACOSX" / "指令1"
    shadow.mkdir(parents=True)
    (shadow / "._a.mp4").write_bytes(b"x")
    (root / "指令1" / "._a.mp4").write_bytes(b"x")
    tree = load_ecog(root)
    assert (len(tree.clips), tree.left_out) == (1, ())


def test_no_tree_is_one_line(tmp_path: Path) -> None:
    for root in (tmp_path / "absent", tmp_path):
        with pytest.raises(EcogError) as caught:
            load_ecog(root)
        assert str(root) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_size_is_the_videos_or_full_hd(tmp_path: Path) -> None:
    root = TreeMaker(tmp_path).clip("指令1").clip("指令1", "bad.mp4", video=b"no video").write()
    sizes = {clip.video_name: video_size(clip.video) for clip in load_ecog(root).clips}
    assert sizes == {"a.mp4": (64, 48), "bad.mp4": DEFAULT_SIZE}
    assert video_size(tmp_path / "absent.mp4") == DEFAULT_SIZE


def test_an_unreadable_video_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.mp4").write_bytes(os.urandom(1000))
    assert video_size(tmp_path / "bad.mp4") == DEFAULT_SIZE
    assert capfd.readouterr() == ("", "")


@pytest.mark.media
def test_the_size_is_as_displayed(shared_media: Path) -> None:
    assert video_size(shared_media / "made" / "rot90.mp4") == (240, 320)
    assert video_size(shared_media / "made" / "trunc_nomoov.mp4") == DEFAULT_SIZE


def test_truth_repeats_the_answer_as_the_file_has_it(tmp_path: Path) -> None:
    answers = [
        raw_answer("A", mask={"bbox": [1, 2, 3, 4], "mask_base64": filled(2, 2)}),
        raw_answer("a", stroke_begin_time=None, points=[[1, 2], [3, 4.5]]),
    ]
    maker = TreeMaker(tmp_path).clip(answers=answers)
    (clip,) = load_ecog(maker.write()).clips
    truth = write_truth(clip, (64, 48))
    assert truth["answer"] == answers
    assert (truth["width"], truth["height"], truth["level"]) == (64, 48, "L3")
    json.dumps(truth, allow_nan=False)
    assert write_truth(clip)["width"] is None


@pytest.mark.media
def test_the_mini_tree_is_read_whole_and_its_truth_scores_one(shared_media: Path) -> None:
    tree = load_ecog(shared_media / "ecog-mini")
    assert [(clip.language, clip.instruction, clip.k) for clip in tree.clips] == [
        *(("en", number, k) for number, k in ((1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 4))),
        ("zh", 2, 1),
        ("zh", 3, 2),
    ]
    assert (tree.left_out, tree.notes) == ((), ())
    scores = score_ecog(tree, [perfect(clip) for clip in tree.clips])
    assert scores.overall.scores.seq == 1.0
    assert scores.complete


@pytest.mark.media
def test_the_truth_of_the_mini_tree_is_as_in_its_files(shared_media: Path) -> None:
    tree = load_ecog(shared_media / "ecog-mini")
    for clip in tree.clips:
        files = json.loads((clip.video.parent / "eval_gt.json").read_text(encoding="utf-8"))
        assert write_truth(clip)["answer"] == files[clip.video_name]["answer"]
