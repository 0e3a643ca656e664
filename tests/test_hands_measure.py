"""Measuring hand tracking: what counts as found, false and pointing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.cli import run
from replay.measure.hands import (
    HandCounts,
    Label,
    LabelError,
    hand_files,
    measure_file,
    overlap,
    read_labels,
)
from streaming.hand_geometry import FoundHand
from streaming.hands import HandTracker
from tests.hand_fakes import ScriptedDetector, flat_hand, found

LABELS = Path(__file__).parent / "data" / "hand_boxes.json"


def photo(folder: Path, name: str = "a.png") -> Path:
    path = folder / name
    cv2.imwrite(str(path), np.full((100, 100, 3), 128, dtype=np.uint8))
    return path


def counts(path: Path, hands: list[FoundHand], label: Label | None) -> HandCounts:
    return measure_file(path, lambda: HandTracker(ScriptedDetector([hands])), label).counts


def test_a_hand_in_its_box_is_right_and_one_elsewhere_is_false(tmp_path: Path) -> None:
    path = photo(tmp_path)
    label = Label(boxes=((0.4, 0.2, 0.6, 0.6),))
    right = counts(path, [found(0.5, 0.5)], label)
    assert (right.visible, right.right, right.judged, right.false) == (1, 1, 1, 0)
    wrong = counts(path, [found(0.9, 0.9)], label)
    assert (wrong.right, wrong.false) == (0, 1)
    both = counts(path, [found(0.5, 0.5), found(0.9, 0.9)], label)
    assert (both.right, both.false, both.two) == (1, 1, 1)
    missed = counts(path, [], label)
    assert (missed.visible, missed.right, missed.false, missed.found) == (1, 0, 0, 0)


def test_a_hand_on_a_poster_counts_neither_way(tmp_path: Path) -> None:
    label = Label(boxes=((0.0, 0.0, 0.2, 0.2),), others=((0.4, 0.2, 0.6, 0.6),))
    poster = counts(photo(tmp_path), [found(0.5, 0.5)], label)
    assert (poster.right, poster.false) == (0, 0)


def test_any_hand_in_a_photo_without_one_is_false(tmp_path: Path) -> None:
    empty = counts(photo(tmp_path), [found()], Label())
    assert (empty.visible, empty.false, empty.judged) == (0, 1, 1)


def test_without_a_label_only_what_was_found_is_counted(tmp_path: Path) -> None:
    plain = counts(photo(tmp_path), [found(shape=flat_hand())], None)
    assert (plain.frames, plain.found, plain.pointing, plain.judged) == (1, 1, 0, 0)
    assert math.isnan(plain.right_share)
    assert plain.as_json()["right_share"] is None


def test_counts_add_up(tmp_path: Path) -> None:
    one = counts(photo(tmp_path), [found()], Label(boxes=((0.3, 0.2, 0.7, 0.7),)))
    twice = one + one
    assert (twice.files, twice.frames, twice.right) == (2, 2, 2)
    assert twice.found_share == 1.0
    assert twice.cpu == pytest.approx(2 * one.cpu)


boxes = st.tuples(*[st.floats(0, 1)] * 4).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]) + 0.01, max(b[1], b[3]) + 0.01)
)


@given(boxes, boxes)
def test_overlap_is_symmetric_and_one_for_equal_boxes(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> None:
    assert overlap(one, other) == pytest.approx(overlap(other, one))
    assert 0.0 <= overlap(one, other) <= 1.0 + 1e-9
    assert overlap(one, one) == pytest.approx(1.0)


def test_the_committed_labels_are_sound_and_name_both_halves() -> None:
    labels = read_labels(LABELS)
    photos = [label for name, label in labels.items() if name.startswith("egopoint_")]
    assert len(photos) == 14
    assert {label.half for label in photos} == {"tune", "report"}
    for label in labels.values():
        assert all(0 <= number <= 1 for box in label.boxes for number in box)
        assert all(first <= last for first, last in label.visible)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"photos": {}}', '{"photos": {"a": {"hands": [[1, 0, 0, 1]]}}, "videos": {}}'],
)
def test_labels_that_are_none_are_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "labels.json"
    path.write_text(text)
    with pytest.raises(LabelError, match="no hand labels") as error:
        read_labels(path)
    assert "\n" not in str(error.value)


def test_a_folder_of_photos_alone_is_no_failure(tmp_path: Path) -> None:
    path = photo(tmp_path)
    assert hand_files([tmp_path]) == ([path], [])


def test_the_command_prints_one_json_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo(tmp_path)
    (tmp_path / "b.jpg").write_text("no picture")
    assert run(["measure", "hands", str(tmp_path), "--json", "--size", "160x90"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [file["name"] for file in document["files"]] == ["a.png"]
    assert document["files"][0]["found"] == 0
    assert document["pooled"]["photos"]["frames"] == 1
    assert document["failed"][0]["name"] == "b.jpg"


@pytest.mark.parametrize("size", ["big", "10x10", "640"])
def test_a_size_that_is_none_is_one_line(
    tmp_path: Path, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    photo(tmp_path)
    assert run(["measure", "hands", str(tmp_path), "--size", size]) == 2
    assert "--size" in capsys.readouterr().err
