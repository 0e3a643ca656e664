"""How far made clips are from real footage, as our own tracker sees both.

Every file of a set is watched (hands, ego-motion, strokes) and gives at most one value of each
measure, so that a long clip counts no more than a short one; then the two sets' distributions are
compared. The *distance* is that of Kolmogorov and Smirnov, the greatest difference between the two
cumulative shares, 0...1. Two samples of the same distribution are further apart than *chance* in
one of twenty cases (1.358 sqrt((n + m) / n m)); of thirty measures one or two will be.

Where only percentiles were published, the distance is the greatest difference at these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from replay.discover import find_clips
from replay.measure.asr_truth import TruthError, find_recordings
from replay.measure.realism_measures import MEASURES, Measure, clip_values
from replay.measure.realism_sound import Values, sound_values, word_values
from replay.measure.realism_truth import (
    PUBLISHED_LEVELS,
    PUBLISHED_WINDOWS,
    read_tables,
    read_tree,
)
from replay.measure.realism_watch import watch_clip
from replay.media.still import STILL_SUFFIXES
from replay.source import SourceError
from replay.workers import in_processes
from streaming.config import config_path, load
from streaming.hands import HandSettings

LEVELS = (10, 50, 90)
LEAST = 3
"""Fewest values for which a distance is given."""
_CHANCE = 1.358


class RealismError(ValueError):
    """Sets that cannot be compared; one line saying why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What one set gave.

    Attributes:
        values: Of each measure, one for each file that has it.
        files: How many were watched.
        failed: Files that could not be played, and why.
    """

    values: Mapping[str, tuple[float, ...]]
    files: int
    failed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A distribution in short: percentiles at the comparison's levels; ``n`` 0: as published."""

    n: int
    percentiles: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One measure of both sets.

    Attributes:
        measure: Which.
        made, real: Its distributions, percentiles at ``levels``.
        levels: 10, 50 and 90, or what was published.
        distance: NaN when either has too few values.
        chance: Distance that is exceeded by chance in one of twenty cases.
    """

    measure: Measure
    made: Spread
    real: Spread
    levels: tuple[int, int, int]
    distance: float
    chance: float

    @property
    def differs(self) -> bool:
        """Whether the difference is more than chance."""
        return self.distance > self.chance

    def as_json(self) -> dict[str, object]:
        return {
            "measure": self.measure.key,
            "unit": self.measure.unit,
            "meaning": self.measure.meaning,
            "levels": list(self.levels),
            "made": _spread_json(self.made),
            "real": _spread_json(self.real),
            "distance": _number(self.distance),
            "chance": _number(self.chance),
            "differs": self.differs,
        }


def _spread_json(spread: Spread) -> dict[str, object]:
    return {"n": spread.n, "percentiles": [_number(value) for value in spread.percentiles]}


def _number(value: float) -> float | None:
    return round(value, 5) if math.isfinite(value) else None


def gather(
    roots: Sequence[Path],
    *,
    workers: int = 1,
    on_file: Callable[[int], None] = lambda total: None,
) -> Gathered:
    """Watch all videos, photos and sounds under ``roots``, and read the annotations there.

    Args:
        workers: Number of processes.
        on_file: Called after every file with how many there are.

    Raises:
        RealismError: If there is nothing to measure.
        WorkerError: If a process died.
    """
    files, tables, failed = _find(roots)
    each: list[Values] = [value for root in roots for value in read_tree(root)]
    each += read_tables(tables)
    watched = 0
    for name, values, reason in _watched(files, workers):
        if reason:
            failed.append((name, reason))
        else:
            watched += 1
            each.append(values)
        on_file(len(files))
    pooled: dict[str, list[float]] = {}
    for values in each:
        for key, found in values.items():
            pooled.setdefault(key, []).extend(value for value in found if math.isfinite(value))
    if not pooled:
        names = ", ".join(str(root) for root in roots)
        why = f" ({failed[0][0]}: {failed[0][1]})" if failed else ""
        raise RealismError(f"{names}: nothing that can be measured{why}")
    return Gathered(
        values={key: tuple(sorted(values)) for key, values in pooled.items() if values},
        files=watched,
        failed=tuple(sorted(failed)),
    )


def _find(roots: Sequence[Path]) -> tuple[list[Path], list[Path], list[tuple[str, str]]]:
    """Files to watch, tables to read, and what is neither."""
    inside = [
        path for root in roots for path in (sorted(root.rglob("*")) if root.is_dir() else [root])
    ]
    photos = [path for path in inside if path.suffix.lower() in STILL_SUFFIXES]
    tables = [path for path in inside if path.suffix.lower() == ".csv"]
    apart = {*photos, *tables}
    found = find_clips([root for root in roots if root not in apart])
    empty = {str(root) for root in roots if root.is_dir() and any(root in p.parents for p in apart)}
    failed = [(str(bad.path), bad.reason) for bad in found.failed if str(bad.path) not in empty]
    return [*photos, *(clip.path for clip in found.clips)], tables, failed


def _watched(files: Sequence[Path], workers: int) -> Iterable[tuple[str, Values, str]]:
    if workers > 1 and len(files) > 1:
        yield from in_processes(_one_thread, (), measure_file, files, workers=workers)
    else:
        yield from map(measure_file, files)


def _one_thread() -> None:
    """One process a core; threads of a library's own would only get in the way."""
    import cv2

    cv2.setNumThreads(1)


def measure_file(path: Path) -> tuple[str, Values, str]:
    """Name and values of one file, and why there are none (empty when there are)."""
    from streaming.models.silero import Silero

    settings = load(HandSettings, config_path("hands.toml"))
    try:
        clip = watch_clip(path, settings)
    except SourceError as error:
        return path.name, {}, str(error)
    values = clip_values(clip) | sound_values(clip.sound, Silero())
    if not clip.photo:
        try:
            spoken = [word_values(one.words, one.language) for one in find_recordings(path)]
        except TruthError:
            spoken = []
        for one in spoken:
            values |= one
    return path.name, values, ""


def compare(made: Gathered, real: Gathered) -> list[Comparison]:
    """All measures that either set has, the most different first, those without a distance last."""
    rows = []
    for measure in MEASURES:
        ours, theirs = made.values.get(measure.key, ()), real.values.get(measure.key, ())
        if measure.key in PUBLISHED_WINDOWS and not theirs:
            if ours:
                rows.append(_against_published(measure, ours))
        elif ours or theirs:
            rows.append(_against_sample(measure, ours, theirs))
    return sorted(rows, key=lambda row: -row.distance if math.isfinite(row.distance) else 1.0)


def _against_sample(measure: Measure, ours: Sequence[float], theirs: Sequence[float]) -> Comparison:
    enough = min(len(ours), len(theirs)) >= LEAST
    return Comparison(
        measure=measure,
        made=_spread(ours, LEVELS),
        real=_spread(theirs, LEVELS),
        levels=LEVELS,
        distance=distance(ours, theirs) if enough else math.nan,
        chance=chance(len(ours), len(theirs)),
    )


def _against_published(measure: Measure, ours: Sequence[float]) -> Comparison:
    published = PUBLISHED_WINDOWS[measure.key]
    below = [
        max(
            abs(float(np.mean(np.asarray(ours) < value)) - level / 100),
            abs(float(np.mean(np.asarray(ours) <= value)) - level / 100),
        )
        for value, level in zip(published, PUBLISHED_LEVELS, strict=True)
    ]
    return Comparison(
        measure=measure,
        made=_spread(ours, PUBLISHED_LEVELS),
        real=Spread(n=0, percentiles=published),
        levels=PUBLISHED_LEVELS,
        distance=max(below) if len(ours) >= LEAST else math.nan,
        chance=_CHANCE / math.sqrt(len(ours)),
    )


def _spread(values: Sequence[float], levels: tuple[int, int, int]) -> Spread:
    if not values:
        return Spread(n=0, percentiles=(math.nan, math.nan, math.nan))
    low, middle, high = (float(value) for value in np.percentile(values, levels))
    return Spread(n=len(values), percentiles=(low, middle, high))


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Of Kolmogorov and Smirnov: the greatest difference between two cumulative shares.

    Raises:
        ValueError: If either is empty.
    """
    if not len(one) or not len(other):
        raise ValueError(f"samples of {len(one)} and {len(other)} values, expected at least one")
    first, second = np.sort(np.asarray(one)), np.sort(np.asarray(other))
    places = np.concatenate([first, second])
    shares = [np.searchsorted(part, places, side="right") / len(part) for part in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def chance(n: int, m: int) -> float:
    """The distance that samples of ``n`` and ``m`` values exceed by chance once in twenty times."""
    return _CHANCE * math.sqrt((n + m) / (n * m)) if n and m else math.nan
