"""From a model's probability to how often it is right.

A decision's raw probability comes from a model that is wrong in its own ways. Logistic calibration
(Platt, 1999) maps it, together with what makes the model err, to the share of such decisions that
are right. The curve is fitted on decisions of which the truth is known, and reported on others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

_EDGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a decision's probability is made from.

    Attributes:
        raw: The model's own probability, 0...1.
        surprise: How much less likely than the likeliest the pair's lag is, in nats.
        quality: Of the stroke, 0...1.
    """

    raw: float
    surprise: float = 0.0
    quality: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """``sigmoid(raw * logit(evidence.raw) + surprise * ... + quality * ... + shift)``.

    Attributes:
        raw: Below 1 when the raw probabilities are too sure of themselves.
        surprise, quality: Weights of the other two.
        shift: Above 0 when the raw probabilities are too low.
    """

    raw: float = 1.0
    surprise: float = 0.0
    quality: float = 0.0
    shift: float = 0.0

    def __call__(self, evidence: Evidence) -> float:
        return _sigmoid(
            self.raw * _logit(evidence.raw)
            + self.surprise * evidence.surprise
            + self.quality * evidence.quality
            + self.shift
        )


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


def fit_curve(evidence: Sequence[Evidence], right: Sequence[bool], *, ridge: float = 1.0) -> Curve:
    """The curve under which ``right`` is likeliest.

    Args:
        evidence: Of each decision.
        right: Whether each was right.
        ridge: Weight of the squared distance from the identity curve, in decisions; it holds the
            curve when there is little to go by.
    """
    features = np.array([[_logit(e.raw), e.surprise, e.quality, 1.0] for e in evidence])
    signs = 2.0 * np.array(right, np.float64) - 1.0
    identity = np.array([1.0, 0.0, 0.0, 0.0])

    def loss(weights: np.ndarray) -> float:
        misses = np.logaddexp(0.0, -signs * (features.reshape(-1, 4) @ weights))
        return float(misses.sum() + 0.5 * ridge * ((weights - identity) ** 2).sum())

    found = minimize(loss, identity, method="BFGS").x
    raw, surprise, quality, shift = (round(float(weight), 3) for weight in found)
    return Curve(raw=raw, surprise=surprise, quality=quality, shift=shift)


def _logit(p: float) -> float:
    p = min(max(p, _EDGE), 1.0 - _EDGE)
    return math.log(p) - math.log1p(-p)


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else 1.0 - 1.0 / (1.0 + math.exp(x))
