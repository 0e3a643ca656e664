"""How well a deictic word and a pointing stroke go together, as log odds.

Conventions: a *lag* is ``apex - word onset`` in seconds, positive when the hand arrives after the
word began. A *gain* is what pairing the two adds to the log likelihood over leaving both alone, in
nats, under this model of a speaker:

* a deictic of one kind is accompanied by a stroke with that kind's ``rate``, times the probability
  that it is meant deictically at all;
* the stroke's lag has a split Student density: one mode, a scale of its own on either side, heavy
  tails, nothing outside ``earliest``...``latest``;
* strokes that accompany no word (beats, false finds) happen ``stray_rate`` times a second;
* the stroke's quality shifts the log odds in proportion, up to a point.

Gains are rounded to 2**-20, so that sums of them are exact and equal totals compare equal in
whatever order they were added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from streaming.events import Deictic, DeicticKind, Seconds, Stroke

_GRAIN = 2.0**20
_RATE_LIMIT = 0.995


@dataclass(frozen=True, slots=True, kw_only=True)
class LagPrior:
    """Density of ``apex - word onset`` over the pairs that belong together.

    Attributes:
        mode: The likeliest lag.
        early: Scale of the lags below the mode (the hand waits for the word), seconds.
        late: Scale of the lags above it (the word waits for the hand), seconds.
        freedom: Degrees of freedom of the Student tails; smaller is heavier.
        earliest, latest: Lags beyond which a pair is not considered.
    """

    mode: Seconds = 0.2
    early: Seconds = 0.6
    late: Seconds = 0.4
    freedom: float = 3.0
    earliest: Seconds = -1.5
    latest: Seconds = 1.3

    def __post_init__(self) -> None:
        if not self.earliest < self.mode < self.latest:
            raise ValueError(
                f"lag prior: mode {self.mode} lies outside {self.earliest}...{self.latest}"
            )
        for name in ("early", "late", "freedom"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"lag prior: {name} is {getattr(self, name)}, expected above 0")

    def log_density(self, lag: Seconds) -> float:
        """Natural logarithm of the density at ``lag``, per second; ``-inf`` outside the range.

        The cut at ``earliest`` and ``latest`` is not made up for: the mass out there is the chance
        that a word's stroke lies where it is not looked for.
        """
        if not self.earliest <= lag <= self.latest:
            return -math.inf
        scale = self.early if lag < self.mode else self.late
        z = (lag - self.mode) / scale
        power = (self.freedom + 1.0) / 2.0
        return self._log_peak() - power * math.log1p(z * z / self.freedom)

    def _log_peak(self) -> float:
        nu = self.freedom
        shape = math.lgamma((nu + 1.0) / 2.0) - math.lgamma(nu / 2.0)
        return shape - 0.5 * math.log(nu * math.pi) + math.log(2.0 / (self.early + self.late))

    def surprise(self, lag: Seconds) -> float:
        """How much less likely ``lag`` is than the mode, in nats, at least 0."""
        return self._log_peak() - self.log_density(lag)

    def best_at_least(self, lag: Seconds) -> float:
        """The highest :meth:`log_density` at ``lag`` or above."""
        return self.log_density(max(lag, self.mode))

    def best_at_most(self, lag: Seconds) -> float:
        """The highest :meth:`log_density` at ``lag`` or below."""
        return self.log_density(min(lag, self.mode))

    def last_above(self, log_density: float) -> Seconds:
        """The last lag at which the density is at least this, and the mode if there is none."""
        spare = self._log_peak() - log_density
        if spare <= 0.0:
            return self.mode
        z = math.sqrt(self.freedom * math.expm1(min(2.0 * spare / (self.freedom + 1.0), 50.0)))
        return min(self.latest, self.mode + self.late * z)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often a deictic of each kind comes with a stroke, 0...1."""

    object: float = 0.82
    place: float = 0.82
    anaphor: float = 0.3

    def __post_init__(self) -> None:
        for name in ("object", "place", "anaphor"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"rate of {name} is {getattr(self, name)}, expected 0...1")

    def of(self, kind: DeicticKind) -> float:
        rate: float = getattr(self, kind)
        return rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The model of the module's first paragraph.

    Attributes:
        lag: Timing of the pairs that belong together.
        rates: Share of the deictics of each kind that come with a stroke.
        stray_rate: Strokes a second that accompany no word.
        quality_weight: Log odds that a whole unit of quality would be worth.
        quality_even: The quality that says nothing either way.
        quality_full: Quality above this is worth no more, so that no stroke to come can be much
            better than a good one that is there.
    """

    lag: LagPrior = field(default_factory=LagPrior)
    rates: Rates = field(default_factory=Rates)
    stray_rate: float = 0.12
    quality_weight: float = 3.0
    quality_even: float = 0.6
    quality_full: float = 0.8

    def __post_init__(self) -> None:
        if not self.stray_rate > 0.0:
            raise ValueError(f"stray_rate is {self.stray_rate}, expected above 0")
        if self.quality_weight < 0.0:
            raise ValueError(f"quality_weight is {self.quality_weight}, expected at least 0")

    def gain(self, word: Deictic, stroke: Stroke) -> float:
        """Log odds for the pair; 0 where it may not be made."""
        return _allowed(
            self._word(word)
            + self.lag.log_density(stroke.apex - word.onset)
            + self._quality(stroke.quality)
        )

    def best_stroke_to_come(self, word: Deictic, *, since: Seconds) -> float:
        """The most that ``word`` can gain with a stroke whose apex is ``since`` or later."""
        density = self.lag.best_at_least(since - word.onset)
        return _allowed(self._word(word) + density + self._quality(1.0))

    def best_word_to_come(self, stroke: Stroke, *, since: Seconds) -> float:
        """The most that ``stroke`` can gain with a word whose onset is ``since`` or later."""
        rate = max(self.rates.object, self.rates.place, self.rates.anaphor)
        density = self.lag.best_at_most(stroke.apex - since)
        return _allowed(self._odds(rate) + density + self._quality(stroke.quality))

    def last_lag(self, word: Deictic) -> Seconds:
        """The lag after which no stroke can be worth giving to ``word``."""
        return self.lag.last_above(-(self._word(word) + self._quality(1.0)))

    def _word(self, word: Deictic) -> float:
        return self._odds(self.rates.of(word.kind) * min(max(word.probability, 0.0), 1.0))

    def _odds(self, rate: float) -> float:
        rate = min(rate, _RATE_LIMIT)
        if rate <= 0.0:
            return -math.inf
        return math.log(rate / (1.0 - rate)) - math.log(self.stray_rate)

    def _quality(self, quality: float) -> float:
        return self.quality_weight * (min(max(quality, 0.0), self.quality_full) - self.quality_even)


def _allowed(log_odds: float) -> float:
    """Rounded to the grain; 0 for a pair that is no better than leaving both alone."""
    return max(0.0, round(log_odds * _GRAIN) / _GRAIN) if log_odds > 0.0 else 0.0
