"""Fingertip speed over the background, and points carried from one frame to another."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.report.curve import FingerPaths, SpeedCurve, smooth, thin, thin_all
from replay.trace_reader import Recorded
from streaming.events import CameraMotion, Hand, HandsSeen, Homography, Point

FPS = 30


def hand(tip: Point, track: int = 0) -> Hand:
    return Hand(track=track, side="right", score=0.9, landmarks=(tip,) * 21)


def pan(shift: float) -> Homography:
    """Takes a frame that is ``shift`` to the right of the stabilised view back onto it."""
    return ((1.0, 0.0, -shift), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Watched:
    """Feeds frames of one moving fingertip to the paths."""

    def __init__(self) -> None:
        self.paths = FingerPaths()

    def frame(
        self, time: float, *hands: Hand, motion: Homography | None = None, anchor: int = 0
    ) -> None:
        seen = HandsSeen(time=time, hands=hands, aspect=4 / 3)
        self.paths.take(Recorded(event=seen, known_at=time, emitted_at=time))
        if motion is not None:
            moved = CameraMotion(time=time, to_stable=motion, anchor=anchor)
            self.paths.take(Recorded(event=moved, known_at=time, emitted_at=time))


def test_steady_tip_has_its_speed_in_heights_a_second() -> None:
    watched = Watched()
    for n in range(10):
        watched.frame(n / FPS, hand((0.1 + 0.3 * n / FPS, 0.5)))
    (curve,) = watched.paths.curves()
    assert len(curve.points) == 9
    assert all(speed == pytest.approx(0.3 * 4 / 3) for _, speed in curve.points)


def test_turning_head_moves_nothing() -> None:
    watched = Watched()
    for n in range(10):
        shift = 0.02 * n
        watched.frame(n / FPS, hand((0.3 + shift, 0.5)), motion=pan(shift))
    (curve,) = watched.paths.curves()
    assert max(speed for _, speed in curve.points) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("why", ["another view", "a long gap", "another track"])
def test_curve_breaks_at(why: str) -> None:
    watched = Watched()
    for n in range(10):
        late = n >= 5
        time = n / FPS + (1.0 if late and why == "a long gap" else 0.0)
        anchor = int(late and why == "another view")
        track = int(late and why == "another track")
        watched.frame(time, hand((0.1 * n, 0.5), track), motion=pan(0.0), anchor=anchor)
    assert [len(curve.points) for curve in watched.paths.curves()] == [4, 4]


def test_share_of_frames_with_a_hand_is_counted() -> None:
    watched = Watched()
    watched.frame(0.0)
    watched.frame(0.1, hand((0.5, 0.5)))
    assert (watched.paths.frames, watched.paths.frames_with_hand) == (2, 1)


def test_point_that_went_to_infinity_is_no_sight() -> None:
    watched = Watched()
    watched.frame(0.0, hand((math.inf, 0.5)))
    watched.frame(0.1, hand((0.5, 0.5)))
    assert watched.paths.curves() == []


def test_point_is_carried_with_the_background() -> None:
    watched = Watched()
    watched.frame(0.0, motion=pan(0.0))
    watched.frame(1.0, motion=pan(0.25))
    assert watched.paths.carry((0.5, 0.5), start=0.0, goal=1.01) == pytest.approx((0.75, 0.5))


def test_point_is_not_carried_into_another_view_or_without_motion() -> None:
    watched = Watched()
    assert watched.paths.carry((0.5, 0.5), start=0.0, goal=1.0) is None
    watched.frame(0.0, motion=pan(0.0))
    watched.frame(1.0, motion=pan(0.0), anchor=1)
    watched.frame(2.0, motion=((0.0,) * 3,) * 3)
    assert watched.paths.carry((0.5, 0.5), start=0.0, goal=1.0) is None
    assert watched.paths.carry((0.5, 0.5), start=0.0, goal=5.0) is None
    assert watched.paths.carry((0.5, 0.5), start=0.0, goal=2.0) is None


def test_smoothing_keeps_the_times_and_the_mean_of_a_line() -> None:
    line = [(n / 10, float(n)) for n in range(9)]
    smoothed = smooth(line)
    assert [time for time, _ in smoothed] == [time for time, _ in line]
    assert [value for _, value in smoothed[1:-1]] == pytest.approx(list(range(1, 8)))


CURVES = st.lists(st.floats(0, 10), min_size=1, max_size=300).map(
    lambda values: [(n / FPS, value) for n, value in enumerate(values)]
)


@given(points=CURVES, most=st.integers(2, 100))
def test_thinning_keeps_the_extremes_the_order_and_the_limit(
    points: list[tuple[float, float]], most: int
) -> None:
    kept = thin(points, most=most)
    assert len(kept) <= max(most, 2)
    assert kept == sorted(kept)
    assert set(kept) <= set(points)
    values = [value for _, value in points]
    assert max(value for _, value in kept) == max(values)
    assert min(value for _, value in kept) == min(values)


def test_points_near_strokes_are_thinned_last() -> None:
    points = [(n / FPS, float(n % 7)) for n in range(3000)]
    curve = SpeedCurve(side="right", points=points)
    (kept,) = thin_all([curve], most=600, windows=[(50.0, 53.0), (52.0, 54.0)])
    near = [time for time, _ in kept.points if 50.0 <= time <= 54.0]
    assert len(near) == 121
    assert len(kept.points) <= 620


def test_few_points_are_left_alone() -> None:
    curve = SpeedCurve(side="left", points=[(0.0, 1.0), (0.1, 2.0)])
    assert thin_all([curve], most=10, windows=[]) == [curve]
