"""How far a score can be trusted: intervals by resampling clips, and tests of two runs.

The referents of a clip share a picture, a speaker and a model's mood, so they are no independent
samples: the **clip** is what is drawn again, whole, with all of its referents (a cluster
bootstrap; Davison & Hinkley, *Bootstrap Methods and their Application*, 1997, section 3.8). The
interval is the percentile interval (Efron & Tibshirani, *An Introduction to the Bootstrap*, 1993,
chapter 13). Clips are drawn from all clips at once, not level by level; the interval of a level
draws that level's clips.

Conventions: a value is a fraction 0...1 of one clip, a weight what the clip counts for (1 for the
mean of clip means, its number of referents for the mean over referents); the estimate is
``sum(weight * value) / sum(weight)``.

When an interval is **not** to be trusted (:attr:`Interval.trusted` is false; it is given all the
same, and shown marked):

1. Under :data:`LEAST_CLIPS` clips. The percentile interval is too narrow for few clusters: by a
   factor of about ``sqrt((n - 1) / n)``, and because it uses no wider quantiles than the normal.
2. When all clips came out alike. Every resample is then the same, and the interval has no width,
   which says nothing: 0 right of ``n`` is compatible with a rate of up to about ``3 / n``.

Two runs are compared over the clips that both answered, by the difference clip by clip. The
interval is that of the difference, so both runs are drawn together. The p-value is of the
sign-flip permutation test (Good, *Permutation, Parametric and Bootstrap Tests of Hypotheses*,
3rd edition, 2005, chapter 3): if it made no difference which run was which, each clip's difference
would be as likely with the other sign. It is two-sided; exact when at most :data:`MOST_EXACT` clips
differ (clips without a difference flip nothing), else over as many random patterns as there are
resamples, counting the observed one (Phipson & Smyth, 2010), so that it is never 0. Several
p-values are corrected by :func:`holm`.

Everything is a pure function of the values: draws come from a seeded generator, and are of the
sorted outcomes, so that the order of the clips changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000
SEED = 20_260_310
LEAST_CLIPS = 10
"""Intervals of fewer clips are marked."""
MOST_EXACT = 14
"""Up to so many differing clips, every pattern of signs is counted: 2 to the 14th."""
_TIE, _DIGITS = 1e-9, 12
"""Sums that differ by less are the same sum, added up in another order."""

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How intervals are drawn.

    Attributes:
        resamples: Number of draws, and of random sign patterns.
        seed: Of the generator.
        level: Share of the draws inside of the interval.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.resamples < 1 or not 0 < self.level < 1:
            raise ValueError(
                f"resamples {self.resamples}, level {self.level}: expected at least 1, and a "
                "share between 0 and 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate and its percentile interval.

    Attributes:
        value: The estimate from all clips; NaN without any.
        low, high: Ends of the interval; NaN without any clip.
        clips: How many it rests on.
        trusted: False where the module's docstring says so.
    """

    value: float
    low: float
    high: float
    clips: int
    trusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The second run minus the first, over the clips that both answered.

    Attributes:
        interval: Of the difference, -1...1.
        p: Two-sided, of the sign-flip test; 1 when no clip differs, NaN without a clip.
        exact: Every pattern of signs was counted.
        better, worse: Clips on which the second run is better or worse.
    """

    interval: Interval
    p: float
    exact: bool
    better: int
    worse: int


DEFAULT = Resampling()


def intervals(
    values: ArrayLike, weights: ArrayLike | None = None, *, how: Resampling = DEFAULT
) -> list[Interval]:
    """The interval of each measure.

    Args:
        values: A row a clip, a column a measure, shape ``(n, m)``.
        weights: What each clip counts for, shape ``(n,)``; all alike without.
        how: Number of draws, seed and level.

    Raises:
        ValueError: If the shapes do not fit, or a value or weight is unusable.
    """
    rows, counts_for = _checked(values, weights)
    number, measures = rows.shape
    if number == 0:
        nothing = Interval(value=math.nan, low=math.nan, high=math.nan, clips=0, trusted=False)
        return [nothing] * measures
    found = []
    for column in rows.T:
        value = float(counts_for @ column / counts_for.sum())
        alike = bool(np.ptp(column) <= _TIE)
        low, high = (value, value) if alike else _ends(column, counts_for, how=how)
        trusted = number >= LEAST_CLIPS and not alike
        found.append(Interval(value=value, low=low, high=high, clips=number, trusted=trusted))
    return found


def interval(
    values: ArrayLike, weights: ArrayLike | None = None, *, how: Resampling = DEFAULT
) -> Interval:
    """The interval of one measure; ``values`` of shape ``(n,)``."""
    column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    return intervals(column, weights, how=how)[0]


def compare(
    first: ArrayLike,
    second: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    how: Resampling = DEFAULT,
) -> Difference:
    """What the second run is better by, clip by clip.

    Args:
        first, second: Of the same clips in the same order, shape ``(n,)``.
        weights: What each clip counts for, the same in both runs, shape ``(n,)``.
        how: Number of draws, seed and level.

    Raises:
        ValueError: If the two are not of one length.
    """
    before = np.asarray(first, dtype=np.float64).ravel()
    after = np.asarray(second, dtype=np.float64).ravel()
    if before.shape != after.shape:
        raise ValueError(f"{before.size} clips in the first run and {after.size} in the second")
    rows, counts_for = _checked((after - before).reshape(-1, 1), weights)
    differs = rows[:, 0]
    p, exact = sign_flip_p(counts_for * differs, how=how)
    return Difference(
        interval=interval(differs, counts_for, how=how),
        p=p,
        exact=exact,
        better=int(np.count_nonzero(differs > _TIE)),
        worse=int(np.count_nonzero(differs < -_TIE)),
    )


def sign_flip_p(differences: ArrayLike, *, how: Resampling = DEFAULT) -> tuple[float, bool]:
    """Two-sided p-value of the sum of ``differences`` when their signs are tossed.

    NaN without any difference to toss; 1 when all of them are 0. The second is whether it is exact.
    """
    tossed = np.asarray(differences, dtype=np.float64).ravel()
    if tossed.size == 0:
        return math.nan, True
    # Sorted, so that the clips' order does not meet the generator's.
    tossed = np.sort(tossed[np.abs(tossed) > _TIE])
    if tossed.size == 0:
        return 1.0, True
    observed = abs(tossed.sum()) - _TIE * max(1.0, float(np.abs(tossed).sum()))
    if tossed.size <= MOST_EXACT:
        patterns = _all_signs(tossed.size)
        return float(np.mean(np.abs(patterns @ tossed) >= observed)), True
    as_far = int(np.count_nonzero(np.abs(_tossed_sums(tossed, how=how)) >= observed))
    return (1 + as_far) / (1 + how.resamples), False


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected p-values of several comparisons, in the same order (Holm, 1979).

    They hold the chance of any false finding among all of them; NaN stays NaN and is no comparison.
    """
    ranked = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    corrected = [math.nan] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(ranked):
        largest = max(largest, min(1.0, (len(ranked) - rank) * p))
        corrected[place] = largest
    return corrected


def _checked(values: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, Floats]:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"values of shape {rows.shape}: expected a row a clip")
    counts_for = (
        np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    )
    if counts_for.shape != (len(rows),):
        raise ValueError(f"{counts_for.size} weights for {len(rows)} clips")
    if not np.isfinite(rows).all():
        raise ValueError("a clip's value is not finite")
    if not (np.isfinite(counts_for) & (counts_for > 0)).all():
        raise ValueError("a clip's weight is not above 0")
    return rows, counts_for


def _ends(column: Floats, weights: Floats, *, how: Resampling) -> tuple[float, float]:
    """Both ends of one measure's interval.

    Clips that came out alike are drawn together: how often any of ``k`` such clips is among ``n``
    drawn ones has the same distribution, and there are few different outcomes.
    """
    pairs = np.column_stack((np.round(column, _DIGITS), weights))
    outcomes, alike = np.unique(pairs, axis=0, return_counts=True)
    random = np.random.default_rng((how.seed, column.size))
    times = random.multinomial(column.size, alike / column.size, size=how.resamples)
    values, counts_for = outcomes.T
    drawn = (times @ (values * counts_for)) / (times @ counts_for)
    outside = (1 - how.level) / 2
    low, high = np.quantile(drawn, (outside, 1 - outside))
    return float(low), float(high)


def _all_signs(number: int) -> Floats:
    """Every pattern of signs, shape ``(2 ** number, number)``."""
    bits = (np.arange(2**number)[:, None] >> np.arange(number)) & 1
    return np.asarray(1.0 - 2.0 * bits)


def _tossed_sums(differences: Floats, *, how: Resampling) -> Floats:
    """The sums of random sign patterns: of ``k`` equal sizes, a binomial number keeps its sign."""
    sizes, alike = np.unique(np.round(np.abs(differences), _DIGITS), return_counts=True)
    random = np.random.default_rng((how.seed, differences.size, 1))
    kept = random.binomial(alike, 0.5, size=(how.resamples, sizes.size))
    return np.asarray((2.0 * kept - alike) @ sizes)
