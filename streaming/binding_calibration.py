"""From a model's probability to how often it is right.

A decision's raw probability comes from a model that is wrong in its own ways. Logistic calibration
(Platt, 1999) maps it by ``sigmoid(slope * logit(raw) + shift)``; slope and shift are fitted on
decisions of which the truth is known, and reported on others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_EDGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """One logistic curve.

    Attributes:
        slope: Below 1 when the raw probabilities are too sure of themselves.
        shift: Above 0 when they are too low.
    """

    slope: float = 1.0
    shift: float = 0.0

    def __call__(self, raw: float) -> float:
        return _sigmoid(self.slope * _logit(raw) + self.shift)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Counts of decisions by stated probability; they add across recordings.

    Attributes:
        stated: Sum of the probabilities in each of the bins of equal width.
        right: How many of each bin's decisions were right.
        total: How many decisions each bin has.
        squared: Sum of ``(probability - right)**2``.
    """

    stated: tuple[float, ...]
    right: tuple[int, ...]
    total: tuple[int, ...]
    squared: float

    @property
    def n(self) -> int:
        return sum(self.total)

    @property
    def ece(self) -> float:
        """Expected calibration error (Naeini et al., 2015): mean gap between stated and true."""
        gaps = (abs(s - r) for s, r in zip(self.stated, self.right, strict=True))
        return sum(gaps) / self.n if self.n else math.nan

    @property
    def brier(self) -> float:
        """Mean squared error of the probabilities (Brier, 1950)."""
        return self.squared / self.n if self.n else math.nan


def reliability(
    probabilities: Sequence[float], right: Sequence[bool], *, bins: int = 10
) -> Reliability:
    """Count decisions into ``bins`` bins of equal width.

    Raises:
        ValueError: If a probability lies outside 0...1 or the sequences differ in length.
    """
    stated, correct, total = [0.0] * bins, [0] * bins, [0] * bins
    squared = 0.0
    for probability, hit in zip(probabilities, right, strict=True):
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"probability {probability} lies outside 0...1")
        place = min(bins - 1, int(probability * bins))
        stated[place] += probability
        correct[place] += hit
        total[place] += 1
        squared += (probability - hit) ** 2
    return Reliability(
        stated=tuple(stated), right=tuple(correct), total=tuple(total), squared=squared
    )


def fit_logistic(raw: Sequence[float], right: Sequence[bool], *, ridge: float = 1.0) -> Logistic:
    """The logistic curve under which ``right`` is likeliest, by Newton's method.

    Args:
        raw: Probabilities of the model, 0...1.
        right: Whether each decision was right.
        ridge: Weight of ``(slope - 1)**2 + shift**2``, in decisions; keeps the curve near the
            identity when there is little to go by.
    """
    slope, shift = 1.0, 0.0
    points = [(_logit(p), float(hit)) for p, hit in zip(raw, right, strict=True)]
    for _ in range(50):
        g0, g1 = -ridge * (slope - 1.0), -ridge * shift
        h00, h01, h11 = ridge, 0.0, ridge
        for x, hit in points:
            p = _sigmoid(slope * x + shift)
            weight = p * (1.0 - p)
            g0 += (hit - p) * x
            g1 += hit - p
            h00 += weight * x * x
            h01 += weight * x
            h11 += weight
        scale = h00 * h11 - h01 * h01
        step0, step1 = (h11 * g0 - h01 * g1) / scale, (h00 * g1 - h01 * g0) / scale
        slope, shift = slope + step0, shift + step1
        if abs(step0) + abs(step1) < 1e-9:
            break
    return Logistic(slope=slope, shift=shift)


def _logit(p: float) -> float:
    p = min(max(p, _EDGE), 1.0 - _EDGE)
    return math.log(p) - math.log1p(-p)


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else 1.0 - 1.0 / (1.0 + math.exp(x))
