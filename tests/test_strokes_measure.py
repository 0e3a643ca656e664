"""How strokes are compared with their truth."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.commands.measure_strokes import _document, _show, strokes
from replay.measure.stroke_matching import match_windows
from replay.measure.strokes import Counts, Task, TrueWindow, Watched, count, quantile, tasks
from streaming.events import Seconds, Stroke
from tests.made_truths import clip_truth, pointed, write_tree

times = st.lists(st.floats(0, 20), max_size=6).map(sorted)


def stroke(apex: Seconds, index: int = 0) -> Stroke:
    return Stroke(index=index, onset=apex, apex=apex, tip=(0.5, 0.5), knuckle=(0.5, 0.6))


def watched(*apexes: Seconds, later: Seconds = 0.1, duration: Seconds = 30.0) -> Watched:
    return Watched(
        strokes=tuple(stroke(apex, index) for index, apex in enumerate(apexes)),
        said_at=tuple(apex + later for apex in apexes),
        duration=duration,
        frames=900,
        hands=450,
    )


def test_apexes_pair_with_their_windows() -> None:
    pairs = match_windows([(1, 2), (3, 4)], [0.5, 1.5, 3.9], tolerance=0.25)
    assert pairs == [(0, 1), (1, 2)]


def test_nearest_of_two_apexes_serves_the_window() -> None:
    assert match_windows([(1, 2)], [0.8, 1.2], tolerance=0.25) == [(0, 1)]


def test_apex_just_outside_matches_but_does_not_count_as_inside() -> None:
    counts = count([TrueWindow(onset=1, offset=2)], watched(2.2))
    assert (counts.matched, counts.in_window, counts.false) == (1, 0, 0)


def test_unsorted_times_are_refused() -> None:
    with pytest.raises(ValueError, match="ascending"):
        match_windows([(3, 4), (1, 2)], [1.5], tolerance=0)


@given(onsets=times, apexes=times)
def test_pairs_are_one_to_one_in_order_and_as_many_as_possible(
    onsets: list[float], apexes: list[float]
) -> None:
    windows = [(onset, onset + 0.5) for onset in onsets]
    pairs = match_windows(windows, apexes, tolerance=0.25)
    assert pairs == sorted(pairs)
    assert len({one for one, _ in pairs}) == len({other for _, other in pairs}) == len(pairs)
    # On a line, taking the earliest that fits is largest too.
    left, most = list(apexes), 0
    for begin, end in windows:
        fits = [apex for apex in left if begin - 0.25 <= apex <= end + 0.25]
        if fits:
            left = [apex for apex in left if apex > fits[0]] + [
                apex for apex in left if apex == fits[0]
            ][1:]
            most += 1
    assert len(pairs) >= most


def test_errors_and_delays_are_taken_from_the_true_apex() -> None:
    windows = [TrueWindow(onset=1, offset=2, apex=1.1), TrueWindow(onset=4, offset=5)]
    counts = count(windows, watched(1.15, 4.2, 8.0))
    assert counts.apex_errors == pytest.approx((0.05,))
    assert counts.delays == pytest.approx((0.15, 0.1))
    assert (counts.true, counts.found, counts.matched, counts.false) == (2, 3, 2, 1)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == 1.0
    assert counts.false_a_minute == pytest.approx(2.0)


def test_every_stroke_where_nobody_points_is_false() -> None:
    counts = count(None, watched(1.0, 2.0, duration=60.0))
    assert counts.false_a_minute == pytest.approx(2.0)
    assert math.isnan(counts.recall)
    assert counts.as_json()["recall"] is None


def test_counts_add() -> None:
    one = count([TrueWindow(onset=1, offset=2, apex=1.1)], watched(1.15))
    both = one + count(None, watched(3.0))
    assert (both.true, both.false, both.seconds, both.frames) == (1, 1, 60.0, 1800)
    assert one + Counts() == one


def test_stroke_that_only_the_end_brought_out_has_no_delay() -> None:
    seen = watched(1.5)
    ended = Watched(strokes=seen.strokes, said_at=(math.inf,), duration=2.0, frames=60, hands=60)
    assert count([TrueWindow(onset=1, offset=2)], ended).delays == ()


def test_quantiles_interpolate() -> None:
    assert quantile([1.0, 2.0, 3.0], 0.5) == 2.0
    assert quantile([1.0, 2.0], 0.9) == pytest.approx(1.9)
    assert math.isnan(quantile([], 0.5))


def test_withdrawn_stroke_of_a_made_clip_is_a_true_one(tmp_path: Path) -> None:
    strokes = (pointed(0, 1000, withdrawn=True), pointed(1, 3000))
    write_tree(tmp_path, clip_truth(strokes=strokes, difficulty="hard"))
    (task,) = tasks(tmp_path, [])
    assert task.difficulty == "hard"
    assert task.windows == (
        TrueWindow(onset=0.9, offset=1.5, apex=1.0, tip=(0.25, 0.25)),
        TrueWindow(onset=2.9, offset=3.5, apex=3.0, tip=(0.25, 0.25)),
    )
    assert count(task.windows, watched(1.05, 3.05)).false == 0


def test_without_made_truth_the_annotated_windows_count(tmp_path: Path) -> None:
    strokes = (pointed(0, 1000, withdrawn=True), pointed(1, 3000))
    write_tree(tmp_path, clip_truth(strokes=strokes))
    (tmp_path / "truth.json").unlink()
    (task,) = tasks(tmp_path, [])
    assert (task.windows, task.difficulty) == ((TrueWindow(onset=2.9, offset=3.5),), "")


def test_command_adds_up_by_difficulty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips = [
        (Task(name=name, path=tmp_path, windows=windows, difficulty=difficulty), found)
        for name, difficulty, windows, found in (
            ("a", "hard", (TrueWindow(onset=1, offset=2),), watched(1.5, 5.0)),
            ("b", "easy", (TrueWindow(onset=1, offset=2),), watched(1.5)),
            ("c", "hard", (), watched(9.0)),
        )
    ]
    measured = [(task, found, count(task.windows, found)) for task, found in clips]
    parts = _document(measured, [])["by_difficulty"]
    assert isinstance(parts, dict)
    assert list(parts) == ["easy", "hard"]
    assert (parts["easy"]["true"], parts["easy"]["false_per_minute"]) == (1, 0.0)
    assert (parts["hard"]["false"], parts["hard"]["false_per_minute"]) == (2, 2.0)
    _show(measured, [])
    assert "hard: false strokes a minute: 2.00" in capsys.readouterr().out


def test_command_wants_something_to_measure() -> None:
    with pytest.raises(ValueError, match="name at least one"):
        strokes()


@pytest.mark.media
def test_strokes_of_a_made_clip_are_found_in_their_windows(
    shared_media: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [clip] = (shared_media / "ecog-mini").rglob("en5_d04.mp4")
    for name in ("annotations.json", "eval_gt.json"):
        link = tmp_path / "data_en" / "Inst5" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(clip.parent / name)
    (tmp_path / "data_en" / "Inst5" / clip.name).symlink_to(clip)
    (tmp_path / "truth.json").symlink_to(shared_media / "ecog-mini" / "truth.json")
    assert strokes(tmp_path, json=True) == 0
    told = json.loads(capsys.readouterr().out)["overall"]
    assert (told["true"], told["in_window_count"], told["false"]) == (3, 3, 0)
    assert told["apex_error_ms_abs_p90"] < 70


@pytest.mark.media
def test_nobody_points_where_a_hand_only_moves(
    shared_media: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert strokes(shared_media / "videos" / "egogestar_unclassified_4.mp4", json=True) == 0
    assert json.loads(capsys.readouterr().out)["overall"]["false"] == 0
