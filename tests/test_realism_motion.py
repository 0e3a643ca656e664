"""Movements, holds and head motion of paths whose speeds are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.measure.realism_measures import clip_values
from replay.measure.realism_motion import (
    HAND_METRES,
    head_speeds,
    holds,
    movements,
    paths,
    runs_without,
)
from replay.measure.realism_watch import SeenFrame, SeenStroke, WatchedClip
from streaming.events import CameraMotion, Hand
from tests.hand_fakes import found

HAND = 0.1
"""Length of the made hands from wrist to middle knuckle as 9 cm of space, frame heights."""
ASPECT = 4 / 3
Way = Callable[[float], tuple[float, float]]


def hand_at(x: float, y: float, *, track: int = 1) -> Hand:
    """A hand whose wrist is ``x, y`` heights into the picture."""
    shape = found(0.0, 0.0, size=1.0)
    metres = 0.18 * HAND / HAND_METRES  # the template's world is 0.18 m long
    return Hand(
        track=track,
        side="right",
        score=0.95,
        landmarks=tuple(((x + u * metres) / ASPECT, y + v * metres) for u, v in shape.landmarks),
        depths=(),
        world=shape.world,
        pointing=0.9,
    )


def frames(
    way: Way, *, seconds: float = 3.0, fps: float = 30.0, camera: Way = lambda time: (0.0, 0.0)
) -> tuple[SeenFrame, ...]:
    """A hand on its ``way`` through the scene, seen by a moving ``camera``; both in heights."""
    seen = []
    for index in range(round(seconds * fps) + 1):
        time = index / fps
        (x, y), (left, top) = way(time), camera(time)
        shift = ((1.0, 0.0, left / ASPECT), (0.0, 1.0, top), (0.0, 0.0, 1.0))
        motion = CameraMotion(time=time, to_stable=shift)
        hand = hand_at(x - left, y - top)
        seen.append(SeenFrame(time=time, hands=(hand,), motion=motion))
    return tuple(seen)


def minimum_jerk(onset: float, length: float, way: float) -> Way:
    """From rest over ``way`` hand lengths to the right, and rest."""

    def at(time: float) -> tuple[float, float]:
        share = min(1.0, max(0.0, (time - onset) / length))
        return 0.3 + HAND * way * (10 * share**3 - 15 * share**4 + 6 * share**5), 0.5

    return at


@given(st.floats(0.4, 0.9), st.floats(2.0, 5.0), st.sampled_from([24.0, 30.0, 60.0]))
def test_a_minimum_jerk_movement_is_measured_as_it_is(
    length: float, way: float, fps: float
) -> None:
    [path] = paths(frames(minimum_jerk(1.0, length, way), fps=fps), ASPECT)
    assert path.hand == pytest.approx(HAND, rel=1e-3)
    [move] = movements(path)
    peak = 1.875 * way / length
    assert 0.85 * peak < move.peak < 1.03 * peak  # smoothing takes a little
    assert move.peak_widths == pytest.approx(move.peak * HAND / ASPECT)
    assert move.amplitude == pytest.approx(way, rel=0.06)
    assert move.symmetry == pytest.approx(0.5, abs=0.08)
    assert move.straightness > 0.99
    assert move.peak_at == pytest.approx(1.0 + length / 2, abs=0.05)
    assert move.held
    assert move.whole


def test_an_arrival_is_seen_though_its_beginning_is_not() -> None:
    seen = frames(minimum_jerk(1.0, 0.6, 3.0))[34:]  # 0.13 s after the onset
    [path] = paths(seen, ASPECT)
    [move] = movements(path)
    assert not move.whole
    assert move.held
    assert move.peak_at == pytest.approx(1.3, abs=0.05)
    assert move.offset - move.peak_at == pytest.approx(0.25, abs=0.06)
    values = clip_values(WatchedClip(name="a", frames=seen))
    assert "approach_peak" in values
    assert "move_peak" not in values
    assert "approach_length" not in values


def test_a_movement_that_the_clip_cuts_is_not_measured() -> None:
    [path] = paths(frames(minimum_jerk(2.8, 0.5, 3.0)), ASPECT)
    assert movements(path) == []


def test_two_movements_with_a_rest_between_are_two() -> None:
    first, second = minimum_jerk(0.5, 0.5, 3.0), minimum_jerk(1.8, 0.5, -2.0)
    [path] = paths(frames(lambda t: (first(t)[0] + second(t)[0] - 0.3, 0.5)), ASPECT)
    assert [round(move.amplitude) for move in movements(path)] == [3, 2]


def test_a_movement_with_two_peaks_is_no_whole_one() -> None:
    first, second = minimum_jerk(0.5, 0.5, 3.0), minimum_jerk(0.9, 0.5, 3.0)
    [path] = paths(frames(lambda t: (first(t)[0] + second(t)[0] - 0.3, 0.5)), ASPECT)
    assert movements(path) == []


def test_the_head_s_motion_is_not_the_hand_s() -> None:
    still = frames(lambda t: (0.5, 0.5), camera=lambda t: (0.3 * t, 0.1 * t))
    [path] = paths(still, ASPECT)
    assert movements(path) == []
    [hold] = holds(path)
    assert hold.speed == pytest.approx(0.0, abs=1e-6)


def test_a_hold_between_movements_is_bounded_and_as_long_as_it_is() -> None:
    first, second = minimum_jerk(0.5, 0.5, 3.0), minimum_jerk(2.0, 0.5, -3.0)
    [path] = paths(frames(lambda t: (first(t)[0] + second(t)[0] - 0.3, 0.5)), ASPECT)
    bounded = [hold for hold in holds(path) if hold.bounded]
    assert [hold.offset - hold.onset for hold in bounded] == [pytest.approx(1.1, abs=0.15)]


@pytest.mark.parametrize("size", [0.005, 0.02])
def test_tremor_is_told_from_drift(size: float) -> None:
    def way(time: float) -> tuple[float, float]:
        return 0.4 + HAND * (0.2 * time + size * np.sin(2 * np.pi * 7 * time)), 0.5

    [path] = paths(frames(way, fps=60.0), ASPECT)
    [hold] = holds(path)
    assert hold.tremor == pytest.approx(size / np.sqrt(2), rel=0.1)
    assert hold.speed >= 0.19


def test_jitter_is_the_noise_of_a_coordinate() -> None:
    rng = np.random.default_rng(3)
    noisy = []
    for frame in frames(lambda t: (0.4, 0.5)):
        [hand] = frame.hands
        shake = rng.normal(scale=0.01 * HAND, size=(21, 2)) / (ASPECT, 1.0)
        moved = tuple(map(tuple, np.asarray(hand.landmarks) + shake))
        noisy.append(replace(frame, hands=(replace(hand, landmarks=moved),)))
    [path] = paths(noisy, ASPECT)
    assert holds(path)[0].jitter == pytest.approx(0.01, rel=0.15)


def test_slow_video_has_no_paths() -> None:
    assert paths(frames(lambda t: (0.4, 0.5), fps=10.0), ASPECT) == []


def test_a_new_track_or_anchor_begins_another_path() -> None:
    seen = list(frames(lambda t: (0.4, 0.5)))
    half = len(seen) // 2
    other = [replace(f, motion=replace(f.motion, anchor=1)) for f in seen[half:]]
    assert len(paths([*seen[:half], *other], ASPECT)) == 2


def test_head_speed_is_in_frame_widths() -> None:
    turning = frames(lambda t: (0.5, 0.5), camera=lambda t: (0.4 * t, 0.0))
    assert head_speeds(turning, ASPECT) == pytest.approx(0.4 / ASPECT, rel=1e-6)


def test_head_speed_is_unknown_over_a_cut_and_where_no_background_is_seen() -> None:
    seen = list(frames(lambda t: (0.5, 0.5), seconds=0.2))
    cut = [replace(f, motion=replace(f.motion, anchor=index)) for index, f in enumerate(seen)]
    assert len(head_speeds(cut, ASPECT)) == 0
    blind = [replace(f, motion=replace(f.motion, confidence=0.0)) for f in seen]
    assert len(head_speeds(blind, ASPECT)) == 0


def test_gaps_are_counted_between_sights_only() -> None:
    flags = [(0.0, False), (0.1, True), (0.2, False), (0.3, False), (0.4, True), (0.5, False)]
    assert runs_without(flags) == [pytest.approx(0.3)]


def test_a_clip_gives_one_value_of_each_measure() -> None:
    seen = list(frames(minimum_jerk(1.0, 0.5, 3.0)))
    seen[:15] = [replace(frame, hands=()) for frame in seen[:15]]
    seen[50] = replace(seen[50], hands=())
    stroke = SeenStroke(onset=1.0, apex=1.5, offset=2.25)
    values = clip_values(WatchedClip(name="a", frames=tuple(seen), strokes=(stroke,)))
    assert all(len(found) == 1 for found in values.values())
    assert values["hit_rate"] == [pytest.approx(75 / 91)]
    assert values["hit_rate_between"] == [pytest.approx(75 / 76)]
    assert values["longest_gap"] == [pytest.approx(2 / 30)]
    assert values["stroke_hold"] == [0.75]
    assert values["strokes_a_minute"] == [pytest.approx(20.0)]
    assert values["approach_peak"] == values["move_peak"]
    assert values["hand_size"] == [pytest.approx(HAND, rel=1e-3)]


def test_a_clip_without_a_picture_has_no_values() -> None:
    assert clip_values(WatchedClip(name="sound only")) == {}
