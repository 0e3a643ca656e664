"""Moments at equal steps over an annotated interval, and what is done at, before and after them.

Times are those of the interval, 0 at its start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from replay.egosat.names import PAIR_ROLES
from replay.egosat.narrations import Interval, Segment
from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One moment.

    Attributes:
        time: When.
        segment: The interaction that is under way, the newest of several; None in a gap.
        start, end: Of that segment, or of the gap.
    """

    time: Seconds
    segment: Segment | None
    start: Seconds
    end: Seconds

    @property
    def region(self) -> str:
        """``segment`` or ``gap``."""
        return "gap" if self.segment is None else "segment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Two neighbouring moments of unlike regions.

    Attributes:
        kind: ``segment_to_gap`` or ``gap_to_segment``.
        first: Number of the first moment.
        before, after: Both.
    """

    kind: str
    first: int
    before: Place
    after: Place

    def probes(self, position: Seconds) -> Iterator[tuple[str, Place, Seconds]]:
        """Role, region and time of both probes; the second is ``position`` into its region."""
        fixed, scanned = PAIR_ROLES[self.kind]
        yield fixed, self.before, (self.before.start + self.before.end) / 2
        yield scanned, self.after, min(self.after.start + position, self.after.end)


def grid(interval: Interval, every: Seconds) -> list[Place]:
    """The moments ``every``, ``2 * every`` … up to the interval's end."""
    number = math.floor((interval.end - interval.start) / every + 1e-9)
    return [_place(interval, count * every) for count in range(1, number + 1)]


def _place(interval: Interval, time: Seconds) -> Place:
    base = interval.start
    segment = segment_at(interval, time)
    if segment is not None:
        return Place(time=time, segment=segment, start=segment.start - base, end=segment.end - base)
    ends = [one.end - base for one in interval.segments if one.end - base <= time]
    starts = [one.start - base for one in interval.segments if one.start - base > time]
    length = interval.end - base
    return Place(time=time, segment=None, start=max(ends, default=0.0), end=min([*starts, length]))


def segment_at(interval: Interval, time: Seconds) -> Segment | None:
    """The interaction under way, the newest of several."""
    at = interval.start + time
    return next((one for one in reversed(interval.segments) if one.start <= at < one.end), None)


def newest_before(interval: Interval, place: Place) -> Segment | None:
    """The newest interaction that has begun."""
    at = interval.start + place.time
    return next((one for one in reversed(interval.segments) if one.start < at), None)


def next_after(interval: Interval, place: Place, horizon: Seconds) -> Segment | None:
    """The first interaction that begins within the horizon."""
    at = interval.start + place.time
    found = next((one for one in interval.segments if one.start > at), None)
    return found if found is not None and found.start <= at + horizon else None


def switches(places: Sequence[Place]) -> Iterator[Switch]:
    """Every pair of neighbours of unlike regions."""
    for number, (before, after) in enumerate(pairwise(places)):
        if before.region != after.region:
            kind = f"{before.region}_to_{after.region}"
            yield Switch(kind=kind, first=number, before=before, after=after)
