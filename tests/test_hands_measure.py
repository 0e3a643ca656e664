"""Measuring hand tracking: what counts as found, false and pointing."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
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
from replay.measure.hands_made import MadeHandCounts, track
from replay.measure.made_truth import made_clips
from streaming.hand_geometry import FoundHand
from streaming.hands import HandTracker
from tests.ecog_maker import video_bytes
from tests.hand_fakes import ScriptedDetector, flat_hand, found, frame
from tests.made_truths import FPS, clip_truth, pointed, write_tree, write_truth

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


# --- made clips ------------------------------------------------------------------------------

TIP = found().landmarks[8]
TIP_PX = [TIP[0] * 640, TIP[1] * 480]
HERE: list[FoundHand] = [found()]
AWAY: list[FoundHand] = [found(0.9, 0.9)]


def tracked(
    hands: list[list[FoundHand]], tips: list[list[float] | None], **fields: Any
) -> MadeHandCounts:
    """Counts of a clip with these hands and fingertips frame by frame."""
    with tempfile.TemporaryDirectory() as folder:
        truth = made_clips(write_truth(Path(folder), clip_truth(tips=tuple(tips), **fields)))
    frames = [frame(index / FPS, 64, 48) for index in range(len(hands))]
    return track(truth["a.mp4"], frames, HandTracker(ScriptedDetector(hands)))


def test_hand_near_the_fingertip_or_around_it_is_found() -> None:
    near = [TIP_PX[0], TIP_PX[1] - 0.05 * 640]
    in_box = [0.5 * 640, 0.45 * 480]
    elsewhere = [TIP_PX[0] - 0.07 * 640, TIP_PX[1]]
    told = tracked([HERE, HERE, HERE, []], [near, in_box, elsewhere, near])
    assert (told.frames, told.true, told.found, told.near) == (4, 4, 2, 1)
    assert told.tip_px[0] == pytest.approx(32)
    assert told.tip_widths[0] == pytest.approx(0.05)
    assert told.false == 0
    assert told.recall == 0.5


def test_fingertip_at_the_edge_or_outside_is_no_true_frame() -> None:
    told = tracked([HERE, HERE, HERE], [[640 * 0.039, 240], [320, 480 - 20], [-5, 240]])
    assert (told.true, told.found, told.judged) == (0, 0, 3)


def test_frames_in_holds_are_counted_apart() -> None:
    hands = [HERE if index < 12 else [] for index in range(20)]
    told = tracked(hands, [TIP_PX] * 20, strokes=(pointed(0, 1000, hold=500),))
    assert (told.hold, told.hold_found, told.found) == (6, 2, 12)


def test_far_hands_and_hands_without_an_arm_are_false() -> None:
    told = tracked([[*HERE, *AWAY], HERE, AWAY], [TIP_PX, None, None])
    assert (told.judged, told.false) == (3, 3)
    assert told.false_a_minute == pytest.approx(60 * 3 / 0.3)


def test_false_hands_are_not_judged_where_another_arm_may_be() -> None:
    told = tracked([AWAY], [None], other_arms=1)
    assert (told.judged, told.false) == (0, 0)
    assert told.as_json()["false_per_minute"] is None


def test_visits_are_found_late_or_never() -> None:
    out = [-50.0, 240.0]
    margin = [640 * 0.02, 240.0]
    tips = [None, margin, TIP_PX, TIP_PX, margin, TIP_PX, out, TIP_PX, TIP_PX, None, TIP_PX]
    hands = [[], [], [], [], [], HERE, [], [], [], [], HERE]
    told = tracked(hands, tips)
    assert (told.visits, told.missed) == (3, 1)
    assert told.delays == pytest.approx((0.3, 0.0))
    assert told.delay(50) == pytest.approx(0.15)


def test_frames_behind_the_truth_are_passed_over() -> None:
    assert tracked([HERE, HERE], [TIP_PX]).frames == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from([[], HERE, AWAY, [*HERE, *AWAY]]),
            st.sampled_from([None, TIP_PX, [-50.0, 5.0], [630.0, 240.0], [500.0, 400.0]]),
        ),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=40, deadline=None)
def test_counts_of_made_clips_hang_together(
    shown: list[tuple[list[FoundHand], list[float] | None]],
) -> None:
    told = tracked([hands for hands, _ in shown], [tip for _, tip in shown])
    assert told.near <= told.found <= told.true <= told.frames == len(shown)
    assert told.hold_found <= told.hold <= told.true
    assert len(told.tip_px) == told.found
    assert told.missed + len(told.delays) == told.visits
    twice = told + told
    assert (twice.clips, twice.false, twice.visits) == (2, 2 * told.false, 2 * told.visits)
    assert twice.as_json()["recall"] == told.as_json()["recall"]


def test_the_command_tells_a_made_tree_by_difficulty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "client.commands.measure_hands.open_hands", lambda _: ScriptedDetector([HERE] * 3)
    )
    write_tree(
        tmp_path,
        clip_truth(tips=(TIP_PX, TIP_PX, TIP_PX), difficulty="hard"),
        clip_truth("b.mp4", tips=(None, None, None), difficulty="easy"),
        clip_truth("c.mp4", tips=(None, None, None), difficulty="easy"),
    )
    folder = tmp_path / "data_en" / "Inst3"
    for name in ("a.mp4", "b.mp4"):
        (folder / name).write_bytes(video_bytes())
    assert run(["measure", "hands", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["by_difficulty"]) == ["easy", "hard"]
    assert document["by_difficulty"]["hard"]["recall"] == 1.0
    assert document["by_difficulty"]["easy"]["false_hands"] == 3
    assert [clip["name"] for clip in document["made"]["clips"]] == ["a.mp4", "b.mp4"]
    assert document["failed"][0]["name"] == "c.mp4"
    assert run(["measure", "hands", str(tmp_path), "--match", "a*"]) == 0
    assert "hard: found in 100.0 % of 3 frames" in " ".join(capsys.readouterr().out.split())
    assert run(["measure", "hands", str(tmp_path), "--size", "160x90"]) == 2
    assert "--size" in capsys.readouterr().err


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
