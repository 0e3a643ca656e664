"""When strokes happen: lags against the words, lengths of holds, apexes that an arm can make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from replay.simulate import FREE_SPEECH_LAGS
from replay.synth.motion.settings import Level, motion_settings
from replay.synth.script import Difficulty
from streaming.events import Seconds

_Z95 = 1.645
"""Standard deviations from the median to the 95 % quantile."""


def draw_lags(rng: np.random.Generator, n: int, difficulty: Difficulty) -> tuple[Seconds, ...]:
    """Apex minus word onset for ``n`` strokes of one speaker.

    A speaker has a habit, and most strokes lie closely around it, the apex within the word; a share
    is timed as in free speech. Sources are in ``configs/synth_motion.toml``.
    """
    knobs = motion_settings().of(difficulty).lags
    habit = rng.normal(knobs.bias, knobs.bias_spread)
    near = rng.normal(habit, knobs.spread, n)
    even = np.linspace(0.0, 1.0, len(FREE_SPEECH_LAGS))
    free = np.interp(rng.random(n), even, FREE_SPEECH_LAGS)
    lags = np.where(rng.random(n) < knobs.free, free, near)
    return tuple(float(lag) for lag in np.clip(lags, knobs.earliest, knobs.latest))


def draw_holds(
    rng: np.random.Generator, level: Level, n: int, difficulty: Difficulty
) -> tuple[Seconds, ...]:
    """How long each of ``n`` strokes holds: EcoG-Bench's windows without their lead-in.

    The logarithm is normal on each side of the median, so that the three published quantiles of the
    windows are met.
    """
    settings = motion_settings()
    knobs = settings.of(difficulty).holds
    low, middle, high = settings.windows[level]
    below, above = math.log(middle / low) / _Z95, math.log(high / middle) / _Z95
    z = rng.normal(size=n).clip(-2.3, 2.3)
    windows = knobs.scale * middle * np.exp(knobs.spread * z * np.where(z < 0, below, above))
    return tuple(float(max(knobs.shortest, window - settings.lead)) for window in windows)


def travel_time(distance: float) -> Seconds:
    """How long an arm takes over ``distance`` metres, at ordinary tempo."""
    knobs = motion_settings().travel
    time = knobs.base + knobs.slope * math.log2(distance / knobs.width + 1.0)
    return max(knobs.least, time)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrokeTimes:
    """Apexes and holds that can be made.

    Attributes:
        apexes: Seconds, ascending.
        holds: Seconds each.
        shifts: How far each apex had to be moved from where its word and lag put it.
        cuts: How much of each hold had to be cut.
    """

    apexes: tuple[Seconds, ...]
    holds: tuple[Seconds, ...]
    shifts: tuple[Seconds, ...]
    cuts: tuple[Seconds, ...]


def fit_apexes(
    word_onsets: Sequence[Seconds],
    lags: Sequence[Seconds],
    holds: Sequence[Seconds],
    *,
    distances: Sequence[float] | None = None,
    earliest: Seconds = 0.9,
    latest: Seconds = math.inf,
    shortest: Seconds = 0.15,
) -> StrokeTimes:
    """Put the apexes at ``word_onsets + lags``, as nearly as an arm can.

    Strokes keep their order, and from the end of a hold to the next apex an arm needs most of
    :func:`travel_time`. Where there is too little time, the hold is cut first, by up to half; then
    apexes are moved, in the least-squares sense as little as possible.

    Args:
        word_onsets: Of the words that the strokes go with, in the strokes' order.
        lags: Wanted apex minus onset.
        holds: Wanted holds.
        distances: Metres from each target to the next, one fewer; 0.3 when unknown.
        earliest: No apex is sooner: the arm has to come from somewhere.
        latest: The last hold ends by then.
        shortest: No hold is cut below this.

    Raises:
        ValueError: If the sequences do not go together, or there is no room for all strokes.
    """
    n = len(word_onsets)
    if len(lags) != n or len(holds) != n:
        raise ValueError(f"{n} words, {len(lags)} lags, {len(holds)} holds: expected as many each")
    if n == 0:
        return StrokeTimes(apexes=(), holds=(), shifts=(), cuts=())
    spans = [0.3] * (n - 1) if distances is None else list(distances)
    if len(spans) != n - 1:
        raise ValueError(f"{len(spans)} distances between {n} targets, expected {n - 1}")
    hurry = motion_settings().travel.hurry
    travels = [hurry * travel_time(span) for span in spans]
    wanted = [onset + lag for onset, lag in zip(word_onsets, lags, strict=True)]
    kept = _cut(wanted, list(holds), travels, latest, shortest)
    steps = np.concatenate(([0.0], np.cumsum([a + b for a, b in zip(kept, travels, strict=False)])))
    low, high = earliest, latest - kept[-1] - float(steps[-1])
    if low > high:
        raise ValueError(f"{n} strokes do not fit between {earliest} and {latest} s")
    free = np.clip(_ascending(np.array(wanted) - steps), low, high)
    apexes = tuple(float(time) for time in free + steps)
    return StrokeTimes(
        apexes=apexes,
        holds=tuple(kept),
        shifts=tuple(apex - want for apex, want in zip(apexes, wanted, strict=True)),
        cuts=tuple(hold - keep for hold, keep in zip(holds, kept, strict=True)),
    )


def _cut(
    wanted: Sequence[Seconds],
    holds: list[Seconds],
    travels: Sequence[Seconds],
    latest: Seconds,
    shortest: Seconds,
) -> list[Seconds]:
    """Holds shortened to what the time to the next apex allows, but at most by half."""
    kept = []
    for index, hold in enumerate(holds):
        room = latest - wanted[index]
        if index + 1 < len(holds):
            room = wanted[index + 1] - wanted[index] - travels[index]
        floor = min(hold, max(shortest, 0.5 * hold))
        kept.append(min(hold, max(room, floor)))
    return kept


def _ascending(values: np.ndarray) -> np.ndarray:
    """The nearest sequence that never falls, by least squares (pooling adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            other, count = pools.pop()
            mean = (mean * size + other * count) / (size + count)
            size += count
        pools.append((mean, size))
    return np.concatenate([np.full(size, mean) for mean, size in pools])


def draw_silent_apexes(
    rng: np.random.Generator, holds: Sequence[Seconds], *, seconds: Seconds
) -> tuple[Seconds, ...]:
    """Apexes of strokes without words: the first about 2.6 s into the clip, 2 s from one to the
    next, as EcoG-Bench's windows begin."""
    onsets = [float(np.clip(rng.normal(2.6, 0.5), 1.2, 4.0))]
    for hold in holds[1:]:
        onsets.append(onsets[-1] + max(0.8, hold + 0.4, float(rng.normal(2.0, 0.35))))
    times = fit_apexes(onsets[: len(holds)], [0.0] * len(holds), holds, latest=seconds - 0.8)
    return times.apexes
