"""Live sessions: from the glass to the event, and where on the way the time went.

A live session's clock begins with what came soonest, so its delays leave out what that was on its
way. Where the sender compared its clock with the server's (:mod:`server.journey`), the trace says
how much earlier things were caught than the session's clock has it, and the delay from the glass is
known: until the event was emitted, and until a reader had it where a reader said so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from replay.delays import MEASURES, Delay
from replay.quantiles import Summary, summarise
from replay.trace_reader import Travel

WAYS: dict[str, str] = {
    "sound_network_ms": "sound, until it arrived",
    "sound_decoding_ms": "sound, from there to the session",
    "sound_whole_ms": "sound, both",
    "pictures_network_ms": "pictures, until they arrived",
    "pictures_decoding_ms": "pictures, from there to the session",
    "pictures_whole_ms": "pictures, both",
    "feed_ms": "event, emitted until sent",
    "reader_ms": "event, emitted until read",
}
"""Each way's name and what it says, in the order of the path; milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLatency:
    """What the traces of live sessions say beside their delays.

    Attributes:
        sessions: How many said something about their ways.
        compared: How many of them know when things were caught.
        within: Most seconds that this may be wrong; None when none knows.
        glass: Seconds from the glass to the event, by the names of :data:`~replay.delays.MEASURES`;
            what only the end of the stream brought out is left out.
        ways: Milliseconds, by the names of :data:`WAYS`.
    """

    sessions: int
    compared: int
    within: float | None
    glass: dict[str, Summary]
    ways: dict[str, Summary]


@dataclass(slots=True)
class LiveTally:
    """Adds up sessions, one at a time."""

    _sessions: int = 0
    _within: list[float] = field(default_factory=list)
    _glass: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in MEASURES})
    _ways: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in WAYS})

    def add(self, travel: Travel, delays: Mapping[str, Sequence[Delay]]) -> None:
        """Take one session in: its ways, and the delays by its own clock."""
        self._sessions += 1
        for name in WAYS:
            self._ways[name] += travel.ways.get(name, ())
        if travel.lead_ms is None:
            return
        self._within.append((travel.within_ms or 0.0) / 1000)
        # From emitted to read, where a reader said so, else to sent.
        out = travel.ways.get("reader_ms") or travel.ways.get("feed_ms") or (0.0,)
        more = (travel.lead_ms + median(out)) / 1000
        for name, found in delays.items():
            self._glass[name] += [one.aware + more for one in found if not one.at_end]

    def total(self) -> LiveLatency | None:
        """What they say; None when none was live."""
        if not self._sessions:
            return None
        return LiveLatency(
            sessions=self._sessions,
            compared=len(self._within),
            within=max(self._within, default=None),
            glass={name: summarise(values) for name, values in self._glass.items()},
            ways={name: summarise(values) for name, values in self._ways.items()},
        )
