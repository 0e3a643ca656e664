"""How long what a WebRTC peer sends is on its way, from its packets and reports."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from server.alignment import Kind
from server.journey import Journey
from streaming.events import Seconds

_WHOLE = 1 << 32
_NTP_BEFORE_UNIX: Seconds = 2_208_988_800.0
_KEPT = 256
_MOST_SOURCES = 8


@dataclass(frozen=True, slots=True)
class _Report:
    """A sender says which count was when, on its own wall clock since 1970."""

    rtp: int
    unix: Seconds


class PeerJourney:
    """Tells a session's journey when frames were caught, came and were handed on.

    Args:
        journey: The session's.
        now: The clock by which packets come.
    """

    def __init__(self, journey: Journey, *, now: Callable[[], Seconds]) -> None:
        self._journey = journey
        self._now = now
        self._sources: dict[Kind, tuple[int, int]] = {}
        self._reports: OrderedDict[int, _Report] = OrderedDict()
        self._arrivals: OrderedDict[tuple[Kind, int], Seconds] = OrderedDict()

    def packet(self, kind: Kind, *, ssrc: int, rtp: int, rate: int) -> None:
        """A packet of the frame ``rtp`` has come just now."""
        self._sources[kind] = (ssrc, rate)
        self._arrivals[kind, rtp] = self._now()
        self._arrivals.move_to_end((kind, rtp))
        if len(self._arrivals) > _KEPT:
            self._arrivals.popitem(last=False)

    def report(self, *, ssrc: int, rtp: int, wall: Seconds) -> None:
        """A report of the sender has come; ``wall`` is of its clock since 1900."""
        self._reports[ssrc] = _Report(rtp, wall - _NTP_BEFORE_UNIX)
        self._reports.move_to_end(ssrc)
        if len(self._reports) > _MOST_SOURCES:
            self._reports.popitem(last=False)

    def came(self, kind: Kind, *, rtp: int, time: Seconds, length: Seconds) -> None:
        """The frame ``rtp`` has just been handed to the session, where it begins at ``time``."""
        arrived = self._arrivals.pop((kind, rtp), None)
        if arrived is None:
            return  # the decoder made it up, or it waited for very long
        taken = self._taken(kind, rtp)
        self._journey.came(
            kind,
            time=time + length,
            taken=None if taken is None else taken + length,
            arrived=self._journey.now() - (self._now() - arrived),
        )

    def _taken(self, kind: Kind, rtp: int) -> Seconds | None:
        """The sender's capture time of a count, if it has said enough."""
        ssrc, rate = self._sources.get(kind, (-1, 1))
        report, captured = self._reports.get(ssrc), self._journey.captured
        if report is None or captured is None or captured.unix is None:
            return None
        counts = (rtp - report.rtp + _WHOLE // 2) % _WHOLE - _WHOLE // 2
        return report.unix + counts / rate - captured.unix
