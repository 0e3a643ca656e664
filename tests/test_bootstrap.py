"""Intervals over clips and tests of two runs: by hand, by simulation, and what must not matter."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.scoring.bootstrap import (
    LEAST_CLIPS,
    Resampling,
    compare,
    holm,
    interval,
    intervals,
    sign_flip_p,
)

QUICK = Resampling(resamples=400)
halves = st.sampled_from([0.0, 0.5, 1.0])
runs = st.lists(st.tuples(halves, halves, st.integers(1, 4)), min_size=1, max_size=30)


def test_interval_of_two_clips_is_that_of_all_four_draws() -> None:
    # Of (0, 1), a quarter of the draws is (0, 0) and a quarter (1, 1): both ends of 95 % lie there.
    found = interval([0.0, 1.0])
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)
    half = interval([0.0, 1.0], how=Resampling(level=0.4))
    assert (half.low, half.high) == (0.5, 0.5)


def test_interval_of_many_clips_is_nearly_the_normal_one() -> None:
    found = interval([1.0] * 300 + [0.0] * 500)
    error = math.sqrt(0.375 * 0.625 / 800)
    assert found.value == 0.375
    assert found.low == pytest.approx(0.375 - 1.96 * error, abs=0.003)
    assert found.high == pytest.approx(0.375 + 1.96 * error, abs=0.003)


def test_weights_make_it_the_mean_over_referents() -> None:
    found = interval([1.0, 0.25], [1, 4])
    assert found.value == pytest.approx(2 / 5)
    assert (found.low, found.high) == (0.25, 1.0)


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    rate, clips, tries = 0.4, 60, 300
    covered = 0
    for seed in range(tries):
        # Clips of three referents that share a difficulty: far from independent.
        hard = random.beta(2.0, 3.0, size=clips)
        found = interval(random.binomial(3, hard) / 3, how=Resampling(resamples=300, seed=seed % 3))
        covered += found.low <= rate <= found.high
    assert 0.90 <= covered / tries <= 0.98


@pytest.mark.parametrize(
    ("values", "trusted"),
    [
        ([0.0, 1.0] * (LEAST_CLIPS // 2), True),
        ([0.0, 1.0] * (LEAST_CLIPS // 2 - 1), False),
        ([0.0] * 100, False),
        ([1.0] * 100, False),
    ],
)
def test_few_clips_and_clips_all_alike_are_marked(values: list[float], trusted: bool) -> None:
    assert interval(values).trusted is trusted


def test_clips_all_alike_have_no_width() -> None:
    found = interval([1 / 3] * 20, [1, 2] * 10)
    assert found.low == found.high == found.value == pytest.approx(1 / 3)


def test_no_clip_is_no_number() -> None:
    nothing = intervals(np.zeros((0, 2)))
    assert len(nothing) == 2
    assert all(math.isnan(one.value) and math.isnan(one.low) for one in nothing)
    assert math.isnan(compare([], []).p)


@given(runs, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_order_of_clips_does_not_matter(
    run: list[tuple[float, float, int]], random: object
) -> None:
    shuffled = run[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second, weights = zip(*run, strict=True)
    first_, second_, weights_ = zip(*shuffled, strict=True)
    assert interval(first, weights, how=QUICK).low == interval(first_, weights_, how=QUICK).low
    one = compare(first, second, weights, how=QUICK)
    other = compare(first_, second_, weights_, how=QUICK)
    assert (one.p, one.interval.low, one.better) == (other.p, other.interval.low, other.better)


@given(runs)
@settings(deadline=None, max_examples=30)
def test_exchanged_runs_give_the_opposite_difference(run: list[tuple[float, float, int]]) -> None:
    first, second, weights = zip(*run, strict=True)
    there, back = (
        compare(first, second, weights, how=QUICK),
        compare(second, first, weights, how=QUICK),
    )
    assert there.interval.value == pytest.approx(-back.interval.value)
    assert (there.better, there.worse) == (back.worse, back.better)
    if there.exact:
        assert there.p == back.p


@given(runs)
@settings(deadline=None, max_examples=30)
def test_estimate_lies_inside_and_fractions_stay_fractions(
    run: list[tuple[float, float, int]],
) -> None:
    first, _, weights = zip(*run, strict=True)
    found = interval(first, weights, how=QUICK)
    assert 0.0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1.0


def test_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    values = np.random.default_rng(0).random(50)
    assert interval(values) == interval(values)
    assert interval(values).low != interval(values, how=Resampling(seed=1)).low


def test_exact_p_of_three_gains_is_a_quarter() -> None:
    # Two of the eight patterns of signs reach a sum of 3: all plus and all minus.
    assert sign_flip_p([1.0, 1.0, 1.0]) == (0.25, True)
    # 1 + 1 - 1 = 1: every pattern reaches that.
    assert sign_flip_p([1.0, 1.0, -1.0]) == (1.0, True)
    # 3 - 1 = 2: |±3 ± 1| is 4 or 2, always as far.
    assert sign_flip_p([3.0, -1.0]) == (1.0, True)
    assert sign_flip_p([1 / 3, 2 / 3, 1 / 3, 2 / 3]) == (2 / 16, True)


def test_clips_without_a_difference_flip_nothing() -> None:
    assert sign_flip_p([1.0, 0.0, 0.0, 1.0, 1.0, *[0.0] * 100]) == (0.25, True)
    assert sign_flip_p([0.0, 0.0]) == (1.0, True)


def test_random_patterns_agree_with_the_exact_ones() -> None:
    values = [*np.linspace(-0.6, 1.0, 14)]  # no two sums tie, so a little more changes nothing
    exact, whole = sign_flip_p(values)
    more, sampled = sign_flip_p([*values, 1e-6])
    assert whole
    assert not sampled
    assert more == pytest.approx(exact, abs=0.015)


def test_random_p_is_never_nothing() -> None:
    p, exact = sign_flip_p([1.0] * 200)
    assert not exact
    assert p == 1 / 10_001


def test_p_is_uniform_when_the_runs_are_alike() -> None:
    random = np.random.default_rng(3)
    found = [
        compare(random.integers(0, 2, 60), random.integers(0, 2, 60), how=QUICK).p
        for _ in range(200)
    ]
    assert sum(p <= 0.05 for p in found) <= 20
    assert 0.35 <= float(np.mean(found)) <= 0.68


def test_comparison_counts_clips_that_gained_and_lost() -> None:
    found = compare([0, 0.5, 1, 1], [1, 1, 0, 1])
    assert (found.better, found.worse) == (2, 1)
    assert found.interval.value == pytest.approx(0.125)
    assert not found.interval.trusted


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_passes_over_what_is_no_comparison() -> None:
    assert holm([math.nan, 0.02])[1] == 0.02
    assert math.isnan(holm([math.nan])[0])


@given(st.lists(st.floats(0, 1), max_size=8))
@settings(deadline=None, max_examples=50)
def test_holm_keeps_the_order_and_never_lowers(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(after >= before for before, after in zip(p_values, corrected, strict=True))
    ranked = [corrected[place] for place in np.argsort(p_values, kind="stable")]
    assert ranked == sorted(ranked)


@pytest.mark.parametrize(
    ("values", "weights", "said"),
    [
        ([[0.5]], [1, 2], "2 weights for 1 clips"),
        ([[math.nan]], [1], "not finite"),
        ([[0.5]], [0], "not above 0"),
    ],
)
def test_unusable_values_are_refused(
    values: list[list[float]], weights: list[float], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        intervals(values, weights)


def test_runs_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="1 clips in the first run and 2 in the second"):
        compare([1], [1, 0])
