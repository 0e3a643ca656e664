"""How far a model's confidence can be trusted: calibration of choices among four options.

Beyond the paper, which reports mean confidences alone. Conventions: a **forecast** is the share
that a model gives each option, a **confidence** that of the option it answers; both 0...1.

- ECE: expected calibration error over bins of equal width, ``(low, high]``, the first one closed
  (Guo et al., *On Calibration of Modern Neural Networks*, ICML 2017): the mean over samples of
  ``|accuracy - mean confidence|`` of their bin.
- Brier score: of the answer, ``(confidence - right)²``; and of the whole forecast,
  ``Σ (share - truth)²`` over the options, 0...2 (Brier, *Monthly Weather Review*, 1950).
- Selective accuracy: the accuracy over the share of samples (the **coverage**) that the model is
  surest of. Samples that are equally sure count with their mean, so that their order changes
  nothing. The area under ``1 - accuracy`` over coverage is the mean over all coverages
  ``1/n, 2/n … 1`` (AURC; Geifman & El-Yaniv, 2017).
- Slope: least squares over the temporal distance of a multi-step query, per second.
- Entropy: ``-Σ p ln p`` of the forecast, nats; at most ``ln 4``.

Everything is a pure function of its samples; their order changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replay.egosat.names import LETTERS

Floats: TypeAlias = NDArray[np.float64]
BINS = 10
COVERAGES = tuple(number / 10 for number in range(1, 11))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One answer with how sure it was.

    Attributes:
        confidence: Of the answer, 0...1.
        right: It was the right one.
        forecast: Share of each option by letter, if there is one; sums to about 1.
        truth: The right letter.
        distance: Seconds between the query and what it asks about; None when it has none.
        bucket: Group or step.
    """

    confidence: float
    right: bool
    truth: str
    forecast: Mapping[str, float] | None = None
    distance: float | None = None
    bucket: str = "all"

    def __post_init__(self) -> None:
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"confidence {self.confidence}: expected 0...1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One bin of a reliability diagram; its means are NaN when it is empty."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line: ``value = intercept + slope * distance`` over ``count`` samples."""

    slope: float
    intercept: float
    count: int


def reliability(confidences: ArrayLike, right: ArrayLike, *, bins: int = BINS) -> list[Bin]:
    """The bins of a reliability diagram, from low to high.

    Raises:
        ValueError: If the two are not of one length, or a confidence is not within 0...1.
    """
    sure, hits = _checked(confidences, right)
    places = np.clip(np.ceil(sure * bins).astype(int) - 1, 0, bins - 1)
    counts = np.bincount(places, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean_sure = np.bincount(places, weights=sure, minlength=bins) / counts
        accuracy = np.bincount(places, weights=hits, minlength=bins) / counts
    return [
        Bin(
            low=number / bins,
            high=(number + 1) / bins,
            count=int(counts[number]),
            confidence=float(mean_sure[number]),
            accuracy=float(accuracy[number]),
        )
        for number in range(bins)
    ]


def expected_calibration_error(found: Sequence[Bin]) -> float:
    """ECE of a reliability diagram, 0...1; NaN without a sample."""
    total = sum(one.count for one in found)
    if not total:
        return math.nan
    return sum(one.count * abs(one.accuracy - one.confidence) for one in found if one.count) / total


def brier_of_answers(confidences: ArrayLike, right: ArrayLike) -> float:
    """Mean squared error of the answers' confidences, 0...1; NaN without a sample."""
    sure, hits = _checked(confidences, right)
    return float(np.mean((sure - hits) ** 2)) if sure.size else math.nan


def brier_of_forecasts(judged: Iterable[Judged]) -> float:
    """Mean over the forecasts of the squared errors of all options, 0...2; NaN without any."""
    errors = [
        sum((one.forecast.get(letter, 0.0) - (letter == one.truth)) ** 2 for letter in LETTERS)
        for one in judged
        if one.forecast is not None
    ]
    return math.fsum(errors) / len(errors) if errors else math.nan


def risk_curve(confidences: ArrayLike, right: ArrayLike) -> Floats:
    """Accuracy over the surest 1, 2 … n samples, shape ``(n,)``."""
    sure, hits = _checked(confidences, right)
    if not sure.size:
        return np.empty(0)
    _, places, counts = np.unique(-sure, return_inverse=True, return_counts=True)
    # The surest come first; equally sure ones each count as their mean.
    mean_hits = np.bincount(places.ravel(), weights=hits) / counts
    return np.asarray(np.cumsum(np.repeat(mean_hits, counts)) / np.arange(1, sure.size + 1))


def accuracy_at(curve: Floats, coverages: Sequence[float] = COVERAGES) -> dict[float, float]:
    """Accuracy over the surest share of the samples, at least one; NaN without a sample.

    Raises:
        ValueError: If a coverage is not above 0 and at most 1.
    """
    found = {}
    for coverage in coverages:
        if not 0 < coverage <= 1:
            raise ValueError(f"coverage {coverage}: expected above 0 and at most 1")
        number = max(1, math.ceil(coverage * curve.size - 1e-9))
        found[coverage] = float(curve[number - 1]) if curve.size else math.nan
    return found


def area_under_risk(curve: Floats) -> float:
    """Mean of ``1 - accuracy`` over all coverages, 0...1; NaN without a sample."""
    return float(np.mean(1.0 - curve)) if curve.size else math.nan


def slope(distances: ArrayLike, values: ArrayLike) -> Line:
    """The least-squares line of ``values`` over ``distances``; NaN under two different distances.

    Raises:
        ValueError: If the two are not of one length.
    """
    x = np.asarray(distances, dtype=np.float64).ravel()
    y = np.asarray(values, dtype=np.float64).ravel()
    if x.size != y.size:
        raise ValueError(f"{x.size} distances for {y.size} values")
    if x.size == 0 or np.ptp(x) == 0:
        return Line(slope=math.nan, intercept=math.nan, count=int(x.size))
    apart = x - x.mean()
    rise = float(apart @ (y - y.mean()) / (apart @ apart))
    return Line(slope=rise, intercept=float(y.mean() - rise * x.mean()), count=int(x.size))


def entropy(shares: Iterable[float]) -> float:
    """``-Σ p ln p``, nats; shares of 0 add nothing.

    Raises:
        ValueError: If a share is negative or not finite.
    """
    known = list(shares)
    if not all(math.isfinite(share) and share >= 0 for share in known):
        raise ValueError(f"shares {known}: expected finite numbers of 0 or more")
    return max(0.0, -math.fsum(share * math.log(share) for share in known if share > 0))


def _checked(confidences: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    sure = np.asarray(confidences, dtype=np.float64).ravel()
    hits = np.asarray(right, dtype=np.float64).ravel()
    if sure.size != hits.size:
        raise ValueError(f"{sure.size} confidences for {hits.size} answers")
    if not ((sure >= 0) & (sure <= 1)).all():  # NaN is neither
        raise ValueError("a confidence is not within 0...1")
    return sure, hits
