"""Movement of the generated wearer's head."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.synth.motion import HeadMotion
from replay.synth.script import Difficulty

LEVELS: tuple[Difficulty, ...] = ("easy", "real", "hard")
ASPECT = 4 / 3
Gaze = list[tuple[float, np.ndarray]]


def gaze(rng: np.random.Generator, count: int) -> Gaze:
    spots = rng.uniform((-0.35, 0.12, 0.0), (0.35, 0.55, 0.1), (count, 3))
    return [(2.5 + 2.0 * number, spot) for number, spot in enumerate(spots)]


def sight(head: HeadMotion, time: float, point: np.ndarray, fov: float) -> tuple[float, float]:
    """Where it is seen, as shares of the picture's half width and height."""
    x, y, z = head.at(time).to_own(point)
    half = math.tan(math.radians(fov / 2))
    assert z > 0
    return x / z / half, y / z / half * ASPECT


def background_speeds(level: Difficulty, clips: int = 25) -> np.ndarray:
    """How fast what is in the picture's middle moves on the table, pixels a second at 640 wide."""
    speeds = []
    for seed in range(clips):
        rng = np.random.default_rng(seed)
        head = HeadMotion.draw(rng, level, 7.0, gaze=gaze(rng, 2), fov=80.0)
        focal = 320 / math.tan(math.radians(40.0))
        for time in np.arange(0.0, 6.9, 1 / 10):
            now, then = head.at(time), head.at(time + 1 / 30)
            ahead = now.rotation[:, 2]
            reach = min(2.0, -now.position[2] / min(ahead[2], -0.05))
            x, y, z = then.to_own(now.position + reach * ahead)
            speeds.append(30 * focal * math.hypot(x / z, y / z))
    return np.array(speeds)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(LEVELS), st.floats(60.0, 110.0))
def test_targets_are_seen_at_their_apex_and_in_the_end(
    seed: int, level: Difficulty, fov: float
) -> None:
    rng = np.random.default_rng(seed)
    looks = gaze(rng, 3)
    head = HeadMotion.draw(rng, level, 9.0, gaze=looks, fov=fov)
    for time, point in looks:
        for moment in (time, 9.0):
            x, y = sight(head, moment, point, fov)
            assert abs(x) < 1.0
            assert abs(y) < 1.0


@pytest.mark.parametrize("level", LEVELS)
def test_axes_are_right_down_ahead(level: Difficulty) -> None:
    rng = np.random.default_rng(4)
    head = HeadMotion.draw(rng, level, 5.0, gaze=gaze(rng, 1))
    for time in np.linspace(0.0, 5.0, 11):
        turn = head.at(float(time)).rotation
        assert turn.T @ turn == pytest.approx(np.eye(3), abs=1e-9)
        assert np.linalg.det(turn) == pytest.approx(1.0)
        right, down, ahead = turn.T
        assert right[0] > 0.3
        assert down[2] < -0.3
        assert ahead[1] > 0.2


def test_the_background_moves_as_in_real_footage() -> None:
    low, middle, high = np.quantile(background_speeds("real"), (0.25, 0.5, 0.9))
    assert 6 < low < 18
    assert 14 < middle < 30
    assert 40 < high < 130


def test_harder_heads_move_more() -> None:
    easy, real, hard = (np.median(background_speeds(level, clips=6)) for level in LEVELS)
    assert easy < 0.6 * real < 0.6 * hard


def test_the_end_is_fairly_still() -> None:
    rng = np.random.default_rng(6)
    ends, middles = [], []
    for seed in range(20):
        head = HeadMotion.draw(np.random.default_rng(seed), "hard", 8.0, gaze=gaze(rng, 2))
        for start, found in ((7.7, ends), (3.0, middles)):
            turns = [head.at(start + step / 30).rotation[:, 2] for step in range(9)]
            found.append(np.linalg.norm(np.diff(turns, axis=0), axis=1).mean())
    assert np.median(ends) < 0.7 * np.median(middles)


def test_heads_turn_without_jumps() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        head = HeadMotion.draw(rng, "hard", 8.0, gaze=gaze(rng, 3))
        poses = [head.at(time) for time in np.arange(0.0, 8.0, 0.01)]
        ways = np.diff([pose.position for pose in poses], axis=0)
        turns = np.diff([pose.rotation[:, 2] for pose in poses], axis=0)
        assert np.linalg.norm(ways, axis=1).max() / 0.01 < 0.5
        assert np.degrees(np.linalg.norm(turns, axis=1).max() / 0.01) < 300


def test_the_eye_can_be_given() -> None:
    eye = np.array([0.02, -0.31, 0.5])
    head = HeadMotion.draw(np.random.default_rng(1), "easy", 4.0, gaze=[], eye=eye)
    assert head.at(2.0).position == pytest.approx(eye, abs=0.02)


def test_the_same_seed_gives_the_same_head() -> None:
    first, second = (
        HeadMotion.draw(np.random.default_rng(8), "hard", 6.0, gaze=[]) for _ in range(2)
    )
    assert (first.at(1.234).rotation == second.at(1.234).rotation).all()
    assert first.describe() == second.describe()
