"""Strokes through a still and through a moving window."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from client.commands.measure_strokes import strokes
from replay.measure.head_motion import (
    HeadMotion,
    MotionCounts,
    Replay,
    compare,
    replay_twice,
)
from replay.measure.moving_window import SIZE, Wave, Window, moving_window, still_window
from replay.measure.strokes import Task, TrueWindow, Watched
from streaming.events import Point, Seconds, Stroke, VideoFrame
from streaming.hand_geometry import FoundHand
from streaming.hands import HandSettings
from streaming.models import hands as hand_models
from tests.hand_fakes import found

FPS = 30.0
MIDDLE = Window()
STEADY = tuple(frame / FPS for frame in range(300))
names = st.text(max_size=12)
moments = st.floats(0, 600)
places = st.tuples(st.floats(0, 1), st.floats(0, 1))


def stroke(apex: Seconds, index: int, tip: Point = (0.5, 0.5)) -> Stroke:
    return Stroke(index=index, onset=apex, apex=apex, tip=tip, knuckle=tip)


def replay(
    *apexes: Seconds,
    tip: Point = (0.5, 0.5),
    window: Window = MIDDLE,
    times: Sequence[Seconds] = STEADY,
) -> Replay:
    watched = Watched(
        strokes=tuple(stroke(apex, index, tip) for index, apex in enumerate(apexes)),
        said_at=tuple(apex + 0.1 for apex in apexes),
        duration=times[-1],
        frames=len(times),
        hands=0,
    )
    return Replay(window=window, watched=watched, times=tuple(times))


def true(apex: Seconds, tip: Point | None = (0.5, 0.5)) -> TrueWindow:
    return TrueWindow(onset=apex - 0.1, offset=apex + 0.6, apex=apex, tip=tip)


def gradient(width: int = 100, height: int = 80) -> NDArray[np.uint8]:
    """A picture whose red says the column and whose green says the row."""
    image = np.zeros((height, width, 3), dtype=np.uint8)
    image[..., 0] = np.arange(width)
    image[..., 1] = np.arange(height)[:, None]
    return image


# --- the window ------------------------------------------------------------------------------


def test_window_shows_the_pixels_where_it_lies() -> None:
    frame = VideoFrame(time=1.0, image=gradient(), pixel_aspect=1.5)
    shown = Window(home=(0.05, 0.2)).cut(frame)
    assert shown.image.shape == (64, 80, 3)
    assert tuple(shown.image[0, 0]) == (5, 16, 0)
    assert tuple(shown.image[-1, -1]) == (84, 79, 0)
    assert (shown.time, shown.pixel_aspect) == (1.0, 1.5)


@given(name=names, time=moments)
def test_moving_window_never_leaves_the_frame(name: str, time: Seconds) -> None:
    window = moving_window(name, [])
    for corner in window.corner(time):
        assert 0 <= corner <= 1 - SIZE
    shown = window.cut(VideoFrame(time=time, image=gradient())).image
    left, top = (int(place) for place in shown[0, 0, :2])
    assert np.array_equal(shown, gradient()[top : top + 64, left : left + 80])


def test_window_that_would_leave_the_frame_is_refused() -> None:
    with pytest.raises(ValueError, match=r"moves by 0\.110 leaves the frame"):
        Window(across=(Wave(reach=0.11, hertz=1.0, phase=0.0),))


@given(name=names, time=moments, point=places)
def test_point_in_the_window_and_in_the_frame_is_the_same(
    name: str, time: Seconds, point: Point
) -> None:
    window = moving_window(name, [])
    in_frame = window.in_frame(point, time)
    assert window.holds(in_frame, time)
    assert not window.holds((in_frame[0] + 1, in_frame[1]), time)


def test_way_is_smooth_and_belongs_to_the_name() -> None:
    one, same, other = (moving_window(name, []) for name in ("a.mp4", "a.mp4", "b.mp4"))
    assert one == same != other
    times = np.arange(0, 10, 1 / FPS)
    steps = np.abs(np.diff([one.corner(float(time)) for time in times], axis=0))
    assert steps.max() * FPS <= max(one.fastest)
    # A walking head: faster than a tenth of the picture a second, most of the time.
    assert np.median(np.hypot(*steps.T)) * FPS > 0.1


@given(tips=st.lists(st.tuples(st.floats(0.04, 0.96), st.floats(0.04, 0.96)), max_size=1))
def test_still_window_moves_no_further_than_it_must(tips: list[Point]) -> None:
    window = still_window(tips)
    assert all(window.holds(tip, 0.0, margin=0.04) for tip in tips)
    if all(MIDDLE.holds(tip, 0.0, margin=0.04) for tip in tips):
        assert window.home == pytest.approx(MIDDLE.home)


@given(name=names, apex=moments, tip=st.tuples(st.floats(0.15, 0.85), st.floats(0.15, 0.85)))
def test_moving_window_finds_a_way_that_shows_the_fingertip(
    name: str, apex: Seconds, tip: Point
) -> None:
    assert moving_window(name, [(apex, tip)]).holds(tip, apex, margin=0.04)


# --- the comparison --------------------------------------------------------------------------


def test_same_strokes_match_and_are_counted_in_frames() -> None:
    told = compare(None, replay(1.0, 3.0, 5.0), replay(1.0, 3.0 + 1 / FPS, 5.0 - 3 / FPS))
    assert told.counts.apart == pytest.approx((0, 1, 3))
    assert (told.counts.matched, told.counts.within) == (3, 2)
    assert (told.missing, told.extra, told.left_out) == ((), (), ())


def test_strokes_without_a_match_are_missing_or_extra() -> None:
    told = compare(None, replay(1.0, 3.0), replay(3.1, 4.0))
    assert told.pairs == ((3.0, 3.1),)
    assert (told.missing, told.extra) == ((1.0,), (4.0,))
    assert (told.counts.found_still, told.counts.found_moving) == (2, 2)


def test_frames_of_an_uneven_clip_are_counted_not_timed() -> None:
    times = [0.0, 0.1, 0.3, 0.31, 0.5]
    told = compare(None, replay(0.1, times=times), replay(0.3, times=times))
    assert told.counts.apart == pytest.approx((1,))


def test_annotated_stroke_that_a_window_cannot_show_is_left_out_of_both() -> None:
    windows = [true(1.0), true(3.0, tip=(0.93, 0.5))]
    told = compare(windows, replay(1.0, 3.0), replay(1.0))
    assert told.pairs == ((1.0, 1.0),)
    assert told.missing == ()
    [left_out] = told.left_out
    assert left_out.apex == 3.0
    assert left_out.reason == "annotated fingertip not inside the still and the moving window"
    assert (told.counts.still.true, told.counts.still.found, told.counts.left_out) == (1, 1, 1)


def test_stroke_whose_found_fingertip_the_other_window_misses_is_left_out() -> None:
    right = Window(home=(0.2, 0.1))
    told = compare(None, replay(1.0), replay(1.0, 3.0, tip=(0.95, 0.5), window=right))
    assert (told.pairs, told.extra) == (((1.0, 1.0),), ())
    assert [(one.apex, one.reason) for one in told.left_out] == [
        (3.0, "found fingertip outside the still window")
    ]


def test_exact_fingertip_inside_outweighs_a_found_one_outside() -> None:
    told = compare([true(1.0)], replay(1.0, tip=(1.3, 0.5)), replay())
    assert (told.missing, told.left_out) == ((1.0,), ())
    assert (told.counts.still.matched, told.counts.moving.matched) == (1, 0)


def test_annotated_stroke_without_an_exact_fingertip_is_compared() -> None:
    told = compare([true(1.0, tip=None)], replay(1.0), replay(1.1))
    assert (told.counts.still.in_window, told.counts.moving.in_window) == (1, 1)
    assert told.counts.apart == pytest.approx((3,))


@given(
    first=st.lists(st.floats(0, 9), max_size=5).map(sorted),
    second=st.lists(st.floats(0, 9), max_size=5).map(sorted),
)
def test_every_stroke_is_matched_missing_extra_or_left_out(
    first: list[float], second: list[float]
) -> None:
    windows = [true(2.0), true(5.0, tip=(0.99, 0.5)), true(7.0, tip=None)]
    told = compare(windows, replay(*first), replay(*second))
    counts = told.counts
    assert counts.found_still == counts.matched + counts.missing <= len(first)
    assert counts.found_moving == counts.matched + counts.extra <= len(second)
    assert counts.still.found == counts.found_still
    assert counts.moving.found == counts.found_moving
    assert counts.left_out == len(told.left_out) >= 1


def test_counts_of_clips_add() -> None:
    one = compare([true(1.0)], replay(1.0), replay(1.0 + 2 / FPS)).counts
    two = compare(None, replay(1.0, 3.0), replay(1.0)).counts
    both = one + two
    assert both.apart == pytest.approx((2, 0))
    assert (both.missing, both.extra, both.still.true) == (1, 0, 1)
    assert both.as_json()["within_one_frame"] == 0.5
    assert one + MotionCounts() == one
    assert MotionCounts().as_json()["apart_frames_p50"] is None


# --- both replays of a clip ------------------------------------------------------------------


class DiscDetector:
    """Sees a red disc as the wrist of a pointing hand, wherever the window puts it."""

    def detect(
        self, image: NDArray[np.uint8], *, milliseconds: int, aspect: float
    ) -> list[FoundHand]:
        red = (image[..., 0] > 170) & (image[..., 1] < 90)
        if red.sum() < 200:
            return []
        rows, columns = np.nonzero(red)
        height, width = red.shape
        return [found(columns.mean() / width, rows.mean() / height, size=0.25)]

    def close(self) -> None:
        pass


def write_pointing(path: Path, *, side: int = 320, seconds: float = 2.5) -> Path:
    """A disc comes in from below over a rough background, holds from 1.0 to 1.9 s, and leaves."""
    rough = np.random.default_rng(1).integers(60, 160, (side // 8, side // 8, 3))
    ground = np.kron(rough, np.ones((8, 8, 1))).astype(np.uint8)
    ground[..., 0] = ground[..., 1]
    rows, columns = np.mgrid[:side, :side]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=round(FPS), options={"crf": "12"})
        stream.width, stream.height, stream.pix_fmt = side, side, "yuv420p"
        for index in range(round(seconds * FPS)):
            time = index / FPS
            come = min(max((time - 0.4) / 0.6, 0.0), 1.0)
            leave = min(max((time - 1.9) / 0.5, 0.0), 1.0)
            far = come**3 * (10 - 15 * come + 6 * come**2) - leave**2
            x, y = (0.6 - 0.1 * far) * side, (1.15 - 0.5 * far) * side
            picture = ground.copy()
            picture[np.hypot(columns - x, rows - y) < 14] = (230, 20, 20)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def seen_twice(path: Path, name: str) -> HeadMotion:
    task = Task(name=name, path=path, windows=(true(1.0, tip=(0.5, 0.42)),))
    return replay_twice(task, DiscDetector, HandSettings())


def test_stroke_is_found_at_the_same_frame_through_a_moving_window(tmp_path: Path) -> None:
    path = write_pointing(tmp_path / "point.mp4")
    for name in ("one", "two"):
        told = seen_twice(path, name)
        assert told.moving.window.across
        assert (told.counts.matched, told.counts.within) == (1, 1)
        assert (told.missing, told.extra, told.left_out) == ((), (), ())
        assert told.counts.still.in_window == told.counts.moving.in_window == 1
        assert len(told.still.times) == len(told.moving.times) == 75


def test_command_compares_and_goes_on_past_what_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hand_models, "open_hands", lambda settings: DiscDetector())
    write_pointing(tmp_path / "point.mp4")
    (tmp_path / "bad.mp4").write_bytes(b"no clip")
    assert strokes(tmp_path, head_motion=True, json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["overall"]["matched"] == told["overall"]["within_one_frame_count"] == 1
    [clip] = told["clips"]
    assert clip["name"] == "point"
    assert clip["pairs"][0]["frames"] <= 1
    assert [one["name"] for one in told["failed"]] == ["bad"]
    assert strokes(tmp_path / "point.mp4", head_motion=True) == 0
    shown = capsys.readouterr().out
    assert "still against moving window" in shown
    assert "frames with a hand: still" in shown
    assert "1/1" in shown


def test_command_fails_when_nothing_could_be_compared(tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"no clip")
    assert strokes(tmp_path, head_motion=True, json=True) == 1
