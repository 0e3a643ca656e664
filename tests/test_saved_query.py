"""Queries on disk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from replay.asking.saved_query import SavedQueryError, is_saved, load_query, save_query
from streaming.events import Binding, Deictic, Hand, Stroke, Word
from streaming.grounding import Keyframe, Pointed, Query, Task, View
from streaming.grounding_frames import Box, Ray, encoded

TASK = Task(object_choices=("A. Cup",), referents=1, instruction=2, benchmark=True)


def picture(shade: int) -> np.ndarray:
    image = np.full((48, 64, 3), shade, np.uint8)
    image[10:20, 10:30] = 255 - shade
    return image


def query() -> Query:
    hand = Hand(
        track=3,
        side="right",
        score=0.9,
        landmarks=tuple((index / 30, 0.5) for index in range(21)),
        pointing=0.8,
    )
    stroke = Stroke(
        index=-1,
        onset=1.0,
        apex=1.25,
        tip=(0.4, 0.6),
        knuckle=(0.3, 0.7),
        side="right",
        track=3,
        quality=0.75,
    )
    keyframe = Keyframe(
        stroke=stroke,
        time=1.2333333333333334,
        jpeg=encoded(picture(40)),
        hands=(hand,),
        ray=Ray(tip=(0.4, 0.6), knuckle=(0.3, 0.7), depth=0.2),
        crop=Box(left=0.1, top=0.2, right=0.5, bottom=0.9),
        hold_end=1.9,
        to_last=((1.0, 0.0, 1 / 3), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    )
    return Query(
        turn=2,
        asked_at=4.9,
        task=TASK,
        pointed=(Pointed(kind="object", time=1.3, deictic=0, stroke=-1, probability=0.9),),
        keyframes=(keyframe, replace(keyframe, stroke=replace(stroke, index=0), to_last=None)),
        last=View(time=4.9, image=picture(90), hands=(hand,), pixel_aspect=1.5),
        clear=View(time=4.2, image=picture(120), to_last=None),
        words=(Word(text="that", onset=1.1, offset=1.3, utterance=0, language="en"),),
        deictics=(Deictic(index=0, text="that", onset=1.1, offset=1.3, kind="object"),),
        bindings=(Binding(deictic=0, stroke=-1, probability=0.9, reason="end"),),
        language="en",
        final=True,
    )


def test_a_query_reads_back_as_it_was_saved_but_for_the_losses_of_jpeg(tmp_path: Path) -> None:
    asked = query()
    save_query(asked, tmp_path)
    read = load_query(tmp_path, task=TASK)
    for same in ("turn", "asked_at", "task", "pointed", "words", "deictics", "bindings", "final"):
        assert getattr(read, same) == getattr(asked, same)
    for ours, theirs in zip(read.keyframes, asked.keyframes, strict=True):
        for same in ("stroke", "time", "jpeg", "hands", "ray", "crop", "hold_end", "to_last"):
            assert getattr(ours, same) == getattr(theirs, same)
    assert read.last is not None
    assert read.last.pixel_aspect == 1.5
    assert read.last.hands == asked.last.hands  # type: ignore[union-attr]
    assert np.abs(read.last.image.astype(int) - picture(90)).mean() < 3


def test_reading_twice_gives_the_same_pictures_to_the_bit(tmp_path: Path) -> None:
    save_query(query(), tmp_path)
    once, twice = (load_query(tmp_path, task=TASK) for _ in range(2))
    assert once.last is not None
    assert twice.last is not None
    assert np.array_equal(once.last.image, twice.last.image)


def test_a_query_without_a_picture_is_saved_too(tmp_path: Path) -> None:
    save_query(replace(query(), keyframes=(), last=None, clear=None, pointed=()), tmp_path)
    read = load_query(tmp_path, task=TASK)
    assert read.last is None
    assert read.keyframes == ()


def test_it_counts_as_saved_only_when_all_of_it_is_there(tmp_path: Path) -> None:
    assert not is_saved(tmp_path)
    save_query(query(), tmp_path)
    assert is_saved(tmp_path)


def test_saving_again_leaves_nothing_of_the_one_before(tmp_path: Path) -> None:
    save_query(query(), tmp_path)
    save_query(replace(query(), keyframes=(), clear=None), tmp_path)
    assert sorted(path.name for path in (tmp_path / "query").iterdir()) == [
        "last.jpg",
        "query.json",
    ]


@pytest.mark.parametrize("name", ["query.json", "last.jpg", "apex_-1.jpg"])
@pytest.mark.parametrize("damage", ["gone", "empty", "garbage"])
def test_damage_is_named_in_one_line(tmp_path: Path, name: str, damage: str) -> None:
    save_query(query(), tmp_path)
    path = tmp_path / "query" / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "empty" else b"\x00\xff{")
    with pytest.raises(SavedQueryError, match="delete that folder"):
        load_query(tmp_path, task=TASK)


def test_a_value_of_the_wrong_kind_is_named(tmp_path: Path) -> None:
    save_query(query(), tmp_path)
    path = tmp_path / "query" / "query.json"
    saved = json.loads(path.read_text())
    saved["asked_at"] = "soon"
    path.write_text(json.dumps(saved))
    with pytest.raises(SavedQueryError, match="asked_at"):
        load_query(tmp_path, task=TASK)
