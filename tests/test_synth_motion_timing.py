"""Lags, holds, and apexes that an arm can make."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.synth.motion import (
    draw_holds,
    draw_lags,
    draw_silent_apexes,
    fit_apexes,
    travel_time,
)
from replay.synth.motion.settings import motion_settings


def lags(level: str, people: int = 1500) -> np.ndarray:
    rng = np.random.default_rng(7)
    return np.concatenate([draw_lags(rng, 4, level) for _ in range(people)])  # type: ignore[arg-type]


def test_lags_spread_with_difficulty() -> None:
    easy, real, hard = (np.quantile(lags(level), (0.1, 0.5, 0.9)) for level in _LEVELS)
    for low, middle, high in (easy, real, hard):
        assert low < middle < high
        assert 0.0 < middle < 0.25
    assert np.ptp(easy) < 0.3 < 0.45 < np.ptp(real) < np.ptp(hard)


def test_lags_stay_within_their_range() -> None:
    for level in _LEVELS:
        knobs = motion_settings().of(level).lags
        drawn = lags(level, people=300)
        assert drawn.min() >= knobs.earliest
        assert drawn.max() <= knobs.latest


def test_one_speaker_keeps_a_habit() -> None:
    rng = np.random.default_rng(3)
    people = np.array([draw_lags(rng, 8, "easy") for _ in range(300)])
    within, between = people.std(axis=1).mean(), people.mean(axis=1).std()
    assert within < people.std()
    assert between > within / np.sqrt(8)


@pytest.mark.parametrize("level", ["L1", "L2", "L3", "L4"])
def test_real_holds_have_the_published_quantiles(level: str) -> None:
    holds = draw_holds(np.random.default_rng(5), level, 6000, "real")  # type: ignore[arg-type]
    windows = np.array(holds) + motion_settings().lead
    wanted = motion_settings().windows[level]
    assert np.quantile(windows, (0.05, 0.5, 0.95)) == pytest.approx(wanted, rel=0.06)


def test_words_far_apart_get_what_they_ask_for() -> None:
    times = fit_apexes([2.0, 4.0], [0.1, -0.1], [0.5, 0.5])
    assert times.apexes == pytest.approx((2.1, 3.9))
    assert times.shifts == pytest.approx((0.0, 0.0))
    assert times.cuts == pytest.approx((0.0, 0.0))


def test_a_hold_is_cut_before_an_apex_is_moved() -> None:
    times = fit_apexes([2.0, 3.0], [0.0, 0.0], [0.9, 0.5], distances=[0.2])
    assert times.apexes == pytest.approx((2.0, 3.0))
    assert 0.45 <= times.holds[0] < 0.9
    assert times.cuts[0] == pytest.approx(0.9 - times.holds[0])


def test_words_in_a_hurry_share_the_shift() -> None:
    times = fit_apexes([2.0, 2.3], [0.0, 0.0], [0.4, 0.4], distances=[0.3])
    assert times.shifts[0] == pytest.approx(-times.shifts[1])
    assert times.shifts[0] < 0


def test_no_apex_is_too_early() -> None:
    times = fit_apexes([0.2, 3.0], [0.0, 0.0], [0.4, 0.4], earliest=1.0)
    assert times.apexes[0] == pytest.approx(1.0)
    assert times.shifts[0] == pytest.approx(0.8)


def test_strokes_without_room_are_refused() -> None:
    with pytest.raises(ValueError, match="3 strokes do not fit"):
        fit_apexes([1.0, 1.1, 1.2], [0.0] * 3, [0.5] * 3, earliest=1.0, latest=1.5)


def test_sequences_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 words, 1 lags, 2 holds"):
        fit_apexes([1.0, 2.0], [0.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="0 distances between 2 targets"):
        fit_apexes([1.0, 2.0], [0.0, 0.0], [0.5, 0.5], distances=[])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(0.0, 2.0), min_size=1, max_size=5),
    st.integers(0, 2**32 - 1),
)
def test_fitted_apexes_keep_order_and_leave_time_to_travel(gaps: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(gaps)
    onsets = (1.0 + np.cumsum(gaps)).tolist()
    spans = rng.uniform(0.02, 0.7, n - 1).tolist()
    times = fit_apexes(
        onsets, draw_lags(rng, n, "hard"), draw_holds(rng, "L3", n, "hard"), distances=spans
    )
    hurry = motion_settings().travel.hurry
    for (one, two), hold, span in zip(
        itertools.pairwise(times.apexes), times.holds, spans, strict=False
    ):
        assert two - one - hold >= hurry * travel_time(span) - 1e-9
    assert min(times.apexes) >= 0.9
    assert all(hold >= 0.07 for hold in times.holds)
    assert all(cut >= 0 for cut in times.cuts)


def test_travel_takes_longer_over_more_ground() -> None:
    times = [travel_time(way) for way in (0.0, 0.1, 0.3, 0.6)]
    assert times == sorted(times)
    assert times[0] >= 0.35
    assert times[-1] < 1.2


def test_silent_strokes_are_about_two_seconds_apart() -> None:
    rng = np.random.default_rng(9)
    drawn = [
        draw_silent_apexes(rng, draw_holds(rng, "L3", 3, "real"), seconds=12.0) for _ in range(200)
    ]
    apexes = np.array(drawn)
    assert np.median(apexes[:, 0]) == pytest.approx(2.6, abs=0.2)
    assert np.median(np.diff(apexes, axis=1)) == pytest.approx(2.0, abs=0.15)
    assert draw_silent_apexes(rng, [], seconds=5.0) == ()


_LEVELS = ("easy", "real", "hard")
