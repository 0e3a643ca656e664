"""What tells the pace of a track's clock: its sender's reports, and when its packets arrive.

Reports say exactly how a track's count goes with the sender's wall clock, but come seconds apart
and late by however busy the sender is. Packets come all the time, and the least delayed of each
second lie along a line whose slope is the track's clock against the receiver's (Moon, Skelly and
Towsley, 1999), only that the network may change and that the receiver's clock is not the sender's.
Both are normal about what they tell, and so are combined by their variances.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import TypeAlias

from streaming.events import Seconds

_Point: TypeAlias = tuple[Seconds, Seconds]
"""A track's own time, and what is added to it to get another clock's."""

_FROM_BEFORE = 4
"""Points that the usual lateness counts for beside the ones seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much a clock gains on another, in seconds a second, and the variance of that."""

    gain: float
    variance: float

    def after(self, other: Pace) -> Pace:
        """The gain on a clock on which the other one gains ``other``."""
        return Pace(gain=self.gain + other.gain, variance=self.variance + other.variance)

    def before(self, other: Pace) -> Pace:
        """What is left of the gain when ``other`` is another clock's part of it."""
        return Pace(gain=self.gain - other.gain, variance=self.variance + other.variance)


def combined(paces: Iterable[Pace]) -> Pace:
    """One pace of independent tellings of it, each of a variance above zero; at least one."""
    weights = [(1.0 / pace.variance, pace.gain) for pace in paces]
    whole = sum(weight for weight, _ in weights)
    return Pace(gain=sum(weight * gain for weight, gain in weights) / whole, variance=1.0 / whole)


def _slope(points: Sequence[_Point]) -> float | None:
    """That of a line of which up to 29 % of the points may be wrong (Theil, 1950; Sen, 1968)."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] > a[0]]
    return median(slopes) if slopes else None


def _variance(count: int, span: Seconds, noise: Seconds) -> float:
    """That of the slope of a line through ``count`` points, evenly spread over ``span``."""
    return 12 * (count - 1) / (count * (count + 1)) * (noise / span) ** 2


class Arrivals:
    """The least delayed packets of a track, second by second.

    Args:
        window: Seconds in which the least delay is looked for.
        kept: Seconds that tell the pace.
        lateness: How late the least delayed packet of a second usually is, standard deviation.
    """

    def __init__(self, *, window: Seconds, kept: int, lateness: Seconds) -> None:
        self._window = window
        self._kept = kept
        self._lateness = lateness
        self._seconds: deque[tuple[Seconds, Seconds, Seconds]] = deque(maxlen=kept + 1)
        """Of each second when it began, and own time and delay of its least delayed packet."""
        self.pace: Pace | None = None
        """How much the receiver's clock gains on the track's."""

    @property
    def least(self) -> Seconds:
        """The least delay in the window; infinite before the first packet."""
        if not self._seconds:
            return math.inf
        since = self._seconds[-1][0] - self._window
        return min(delay for began, _, delay in self._seconds if began > since)

    def add(self, own: Seconds, arrival: Seconds) -> bool:
        """Take a packet; True if a second is over, and :attr:`pace` may be another one."""
        delay = arrival - own
        if self._seconds:
            began, _, least = self._seconds[-1]
            if arrival < began + 1.0:
                if delay < least:
                    self._seconds[-1] = (began, own, delay)
                return False
            self._tell(arrival)
        self._seconds.append((arrival, own, delay))
        return True

    def _tell(self, now: Seconds) -> None:
        points = sorted(
            (own, delay) for began, own, delay in self._seconds if began >= now - self._kept - 1
        )
        slope = _slope(points)
        span = points[-1][0] - points[0][0] if points else 0.0
        if slope is None or len(points) < 3 or span < 1.0:
            self.pace = None
            return
        along = [delay - slope * own for own, delay in points]
        middle = median(along)
        off = sum((one - middle) ** 2 for one in along) + _FROM_BEFORE * self._lateness**2
        noise = math.sqrt(off / (len(points) + _FROM_BEFORE))
        self.pace = Pace(gain=slope, variance=_variance(len(points), span, noise))


class SenderClock:
    """What to add to a track's own time to get the sender's wall clock.

    A line through the latest reports, and as low as a quarter of them: senders that report when
    they sent, not when they caught what they sent, are late by however busy they were.

    Args:
        reports: How many count.
        usual: How much clocks gain or lose in usual.
        most: How much they gain or lose at most.
        lateness: How late reports usually are, standard deviation.
        doubt: A report that is further off is believed only when it is sure, or the next one says
            the same.
    """

    def __init__(
        self, *, reports: int, usual: float, most: float, lateness: Seconds, doubt: Seconds
    ) -> None:
        self._usual = Pace(gain=0.0, variance=usual**2)
        self._most = most
        self._lateness = lateness
        self._doubt = doubt
        self._points: deque[_Point] = deque(maxlen=reports)
        self._suspect: _Point | None = None
        self._slope = 0.0
        self._origin: _Point = (0.0, 0.0)
        self.pace = self._usual
        """How much the wall clock gains on the track's, as the reports alone tell."""

    @property
    def known(self) -> bool:
        return bool(self._points)

    def at(self, own: Seconds) -> Seconds:
        """What to add at the track's time ``own``."""
        return self._origin[1] + self._slope * (own - self._origin[0])

    def add(self, own: Seconds, wall: Seconds, *, sure: bool) -> bool:
        """Take a report; False if it says something else than the ones before it.

        Args:
            own: The track's time.
            wall: The sender's wall clock at it.
            sure: Whether packets arrive as the report says.
        """
        point = (own, wall - own)
        if self.known and abs(point[1] - self.at(own)) > self._doubt:
            suspect, self._suspect = self._suspect, point
            again = suspect is not None and abs(suspect[1] - point[1]) < self._doubt / 2
            if not sure and not again:
                return False
            self._points.clear()
            if again and suspect is not None:
                self._points.append(suspect)
        self._suspect = None
        self._points.append(point)
        slope = _slope(self._points)
        span = max(own for own, _ in self._points) - min(own for own, _ in self._points)
        self.pace = self._usual
        if slope is not None:
            told = Pace(gain=slope, variance=_variance(len(self._points), span, self._lateness))
            self.pace = combined([self._usual, told])
        self.lean(None)
        return True

    def lean(self, other: Pace | None) -> None:
        """Lay the line anew, its slope as the reports and ``other`` tell it together."""
        pace = self.pace if other is None else combined([self.pace, other])
        self._slope = min(self._most, max(-self._most, pace.gain))
        own = self._points[-1][0]
        values = sorted(add - self._slope * (at - own) for at, add in self._points)
        self._origin = (own, values[(len(values) - 1) // 4])
