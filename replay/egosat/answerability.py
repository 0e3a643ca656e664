"""Whether a prediction can be known at all: Surprise and Branchiness, from annotations.

**Surprise** of a moment ``t`` is how little what comes resembles what was: the similarity ``s`` of
the windows ``[t - τ, t)`` and ``[t, t + h]``, of the texts and, where pictures can be embedded, of
the pictures. Each is ranked among all moments, ``z = Φ⁻¹(F̂(s))`` with the empirical distribution
``F̂`` and the probit ``Φ⁻¹``, and ``Surprise(t) = -(z_v + z_t) / 2``; ``-z_t`` without pictures.

**Branchiness** of an observed interaction ``O`` is how many different things follow it in the
annotations: ``S · Q`` with the entropy ``S = -Σ p ln p`` over its successors and their spread
``Q = Σᵢⱼ pᵢ pⱼ (1 - cos(eᵢ, eⱼ))`` (Rao's quadratic entropy). Successors that mean the same in
other words add to ``S`` alone, and ``Q`` takes that back.

A moment is **high** in one of them when it lies above a quantile of all moments (a setting; the
paper does not state its own thresholds); the two letters of ``state`` are branchiness, then
surprise, ``P`` for high and ``N`` for not.

Numbers differ in the last digits between machines' arithmetic; similarities are rounded to
:data:`_DIGITS` digits, so that ranks and groups do not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from replay.egosat.embedding import Embedder, PictureEmbedder
from replay.egosat.narrations import Interval, Segment
from streaming.events import Seconds

_DIGITS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A moment that a prediction may be asked at.

    Attributes:
        interval: Where.
        time: When, seconds of the whole video.
        observed: The newest interaction that began before it, or None.
    """

    interval: Interval
    time: Seconds
    observed: Segment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerability:
    """What is known of one moment.

    Attributes:
        surprise: In standard deviations; NaN where a window holds nothing to compare.
        branchiness: 0 or more; 0 for what has no successor but one.
        state: Two letters of P and N.
    """

    surprise: float
    branchiness: float
    state: str


def branchiness(counts: Mapping[str, int], embedder: Embedder) -> float:
    """``S · Q`` of successors by how often each follows; 0 of nothing.

    Raises:
        ValueError: If a count is negative.
    """
    if any(count < 0 for count in counts.values()):
        raise ValueError(f"counts {dict(counts)}: expected 0 or more")
    known = sorted(action for action, count in counts.items() if count)
    if len(known) < 2:
        return 0.0
    shares = np.array([counts[action] for action in known], dtype=np.float64)
    shares /= shares.sum()
    vectors = embedder.embed(known).astype(np.float64)
    apart = 1 - np.round(np.clip(vectors @ vectors.T, -1, 1), _DIGITS)
    np.fill_diagonal(apart, 0)
    entropy = float(-(shares * np.log(shares)).sum())
    return entropy * float(shares @ apart @ shares)


def successors(intervals: Sequence[Interval]) -> dict[str, Counter[str]]:
    """What follows each action, and how often, over all intervals."""
    found: dict[str, Counter[str]] = {}
    for interval in intervals:
        for now, later in pairwise(interval.segments):
            found.setdefault(now.action, Counter())[later.action] += 1
    return found


def probit_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """``Φ⁻¹(F̂(value))`` of each value among all; NaN stays NaN.

    ``F̂`` is the mean rank, less a half, over the number: never 0 or 1, so that no probit is
    infinite, and equal values have equal ranks.
    """
    known = np.asarray(values, dtype=np.float64).ravel()
    found = np.full(known.shape, math.nan)
    usable = ~np.isnan(known)
    if usable.any():
        ranks = rankdata(known[usable], method="average")
        found[usable] = ndtri((ranks - 0.5) / ranks.size)
    return found


def surprises(text: ArrayLike, pictures: ArrayLike | None = None) -> NDArray[np.float64]:
    """Surprise of each moment from its similarities; NaN where it has none.

    Args:
        text, pictures: Similarities, one a moment.

    Raises:
        ValueError: If the two are not of one length.
    """
    of_text = probit_ranks(text)
    if pictures is None:
        return -of_text
    of_pictures = probit_ranks(pictures)
    if of_pictures.shape != of_text.shape:
        raise ValueError(f"{of_pictures.size} picture similarities for {of_text.size} of text")
    return -(of_pictures + of_text) / 2


def window_similarity(
    moment: Moment, embedder: Embedder, *, before: Seconds, after: Seconds
) -> float:
    """Cosine of what is narrated before and after a moment; NaN when either is empty.

    A segment belongs to a window that it overlaps, with the share of its time inside.
    """
    past = _mean_vector(moment.interval, moment.time - before, moment.time, embedder)
    future = _mean_vector(moment.interval, moment.time, moment.time + after, embedder)
    if past is None or future is None:
        return math.nan
    lengths = float(np.linalg.norm(past) * np.linalg.norm(future))
    return round(float(past @ future) / lengths, _DIGITS) if lengths else math.nan


def _mean_vector(
    interval: Interval, start: Seconds, end: Seconds, embedder: Embedder
) -> NDArray[np.float64] | None:
    inside = [
        (segment, min(end, segment.end) - max(start, segment.start))
        for segment in interval.segments
    ]
    inside = [(segment, length) for segment, length in inside if length > 0]
    if not inside:
        return None
    vectors = embedder.embed([segment.text for segment, _ in inside]).astype(np.float64)
    return np.asarray(np.array([length for _, length in inside]) @ vectors)


def answerability(
    moments: Sequence[Moment],
    follows: Mapping[str, Mapping[str, int]],
    embedder: Embedder,
    *,
    before: Seconds,
    after: Seconds,
    branch_quantile: float,
    surprise_quantile: float,
    pictures: PictureEmbedder | None = None,
) -> list[Answerability]:
    """Both measures of each moment, and the groups that they make.

    Args:
        moments: All of those that are compared with each other.
        follows: As :func:`successors` gives.
        embedder: Of narrations and actions.
        before, after: ``τ`` and ``h``, seconds.
        branch_quantile, surprise_quantile: What is above is high, each 0...1.
        pictures: Of the same windows, if there is one.
    """
    texts = [window_similarity(one, embedder, before=before, after=after) for one in moments]
    seen = None
    if pictures is not None:
        seen = [_seen_similarity(one, pictures, before=before, after=after) for one in moments]
    surprising = surprises(texts, seen)
    by_action: dict[str, float] = {}
    branching = []
    for moment in moments:
        action = moment.observed.action if moment.observed is not None else ""
        if action not in by_action:
            by_action[action] = branchiness(follows.get(action, {}), embedder)
        branching.append(by_action[action])
    many = _above(np.array(branching), branch_quantile)
    new = _above(surprising, surprise_quantile)
    return [
        Answerability(
            surprise=float(surprising[place]),
            branchiness=branching[place],
            state="NP"[int(many[place])] + "NP"[int(new[place])],
        )
        for place in range(len(moments))
    ]


def _above(values: NDArray[np.float64], quantile: float) -> NDArray[np.bool_]:
    """Whether each value is above a quantile of all; NaN never is."""
    known = values[~np.isnan(values)]
    if not known.size:
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(values > np.quantile(known, quantile) + 1e-12)


def _seen_similarity(
    moment: Moment, pictures: PictureEmbedder, *, before: Seconds, after: Seconds
) -> float:
    video, time = moment.interval.video, moment.time
    past = pictures.embed_window(video, max(0.0, time - before), time)
    future = pictures.embed_window(video, time, time + after)
    lengths = float(np.linalg.norm(past) * np.linalg.norm(future))
    return round(float(past @ future) / lengths, _DIGITS) if lengths else math.nan
