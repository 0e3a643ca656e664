"""How long sound and pictures are on their way into a session, and lines on their way out.

All of it is wall-clock, so it stands apart from what a session decides: in the ``journey`` of the
trace's last line. Seconds here are of the *steady* clock, which begins when the session is opened
and, unlike the session's own (:class:`streaming.clock.LiveClock`), is never set.

A sender that has compared its clock with this one (a ``clock`` message) says when its capture
time 0 was on it (``captured``). Only then is it known how long the way from the glass took;
without, only what happens after arrival is.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from streaming.events import Seconds

MediaKind: TypeAlias = Literal["sound", "pictures"]
KINDS: tuple[MediaKind, ...] = ("sound", "pictures")
KEPT = 1000
"""Of each measure, the latest."""
_TOLD = 250
"""Of each measure, in the trace's last line."""
_DAY: Seconds = 86_400.0
_LATEST: Seconds = 1e11


class JourneyError(ValueError):
    """A message about clocks that says nothing usable. The text is for its author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What a sender says about its clock.

    Attributes:
        zero: When its capture time 0 was, on the steady clock.
        within: How wrong that may be: half of the shortest way there and back.
        unix: The same moment on the sender's own wall clock since 1970, by which it reports its
            RTP counts (WebRTC only).
    """

    zero: Seconds
    within: Seconds
    unix: Seconds | None = None


def read_captured(message: Mapping[str, Any]) -> Captured:
    """Read ``{"type": "captured", "zero": ms, "within": ms, "unix"?: ms}``.

    Raises:
        JourneyError: If it is none.
    """
    unix = message.get("unix")
    return Captured(
        zero=_seconds(message.get("zero"), "zero"),
        within=abs(_seconds(message.get("within"), "within")),
        unix=None if unix is None else _seconds(unix, "unix", most=_LATEST),
    )


def _seconds(milliseconds: Any, name: str, *, most: Seconds = _DAY) -> Seconds:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        raise JourneyError(f"{name} is a number of milliseconds")
    # Compared before it is divided: a whole number may be too large for that. Nor is it NaN.
    if not abs(milliseconds) <= 1000.0 * most:
        raise JourneyError(f"{name} is a number of milliseconds, at most {1000 * most:g}")
    return milliseconds / 1000.0


@dataclass(slots=True)
class _Way:
    """Samples of one kind of media, seconds."""

    network: deque[Seconds] = field(default_factory=lambda: deque(maxlen=KEPT))
    decoding: deque[Seconds] = field(default_factory=lambda: deque(maxlen=KEPT))
    whole: deque[Seconds] = field(default_factory=lambda: deque(maxlen=KEPT))

    def told(self) -> dict[str, list[float]]:
        return {
            "network_ms": _told(self.network),
            "decoding_ms": _told(self.decoding),
            "whole_ms": _told(self.whole),
        }


class Journey:
    """One session's. Every method may be called from any thread.

    Args:
        clock: Seconds of a clock that nobody sets.
        session_now: The session's own clock.
    """

    def __init__(self, *, clock: Callable[[], Seconds], session_now: Callable[[], Seconds]) -> None:
        self._clock = clock
        self._session_now = session_now
        self._opened = clock()
        self._ways: dict[MediaKind, _Way] = {kind: _Way() for kind in KINDS}
        self._leads: deque[Seconds] = deque(maxlen=KEPT)
        self._sent: deque[Seconds] = deque(maxlen=KEPT)
        self._read: deque[Seconds] = deque(maxlen=KEPT)
        self.captured: Captured | None = None

    def now(self) -> Seconds:
        """The steady clock."""
        return self._clock() - self._opened

    def came(
        self, kind: MediaKind, *, time: Seconds, taken: Seconds | None, arrived: Seconds
    ) -> None:
        """Something has just been handed to the session.

        Args:
            kind: What it is.
            time: Of its end, on the session's timeline.
            taken: Of its end, in the sender's capture time; None when not known.
            arrived: When the last of it had come from the network, on the steady clock.
        """
        way, now, session_now = self._ways[kind], self.now(), self._session_now()
        way.decoding.append(now - arrived)
        if self.captured is None or taken is None:
            return
        captured_at = self.captured.zero + taken
        way.network.append(arrived - captured_at)
        way.whole.append(now - captured_at)
        self._leads.append(now - session_now + time - captured_at)

    def sent(self, seconds: Seconds) -> None:
        """A line was sent to a reader so long after it was said."""
        self._sent.append(seconds)

    def read(self, milliseconds: Any) -> None:
        """A reader says how long a line was on its way to it.

        Raises:
            JourneyError: If that is no time.
        """
        self._read.append(_seconds(milliseconds, "late"))

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to ``{"type": "clock", "sent": ms}``.

        Raises:
            JourneyError: If ``sent`` is no number.
        """
        sent = message.get("sent")
        if isinstance(sent, bool) or not isinstance(sent, int | float) or not abs(sent) <= 1e15:
            raise JourneyError("sent is a number of milliseconds since some time")
        if "late" in message:
            self.read(message["late"])
        return {
            "type": "clock",
            "sent": sent,
            "server": round(1000 * self._session_now(), 3),
            "steady": round(1000 * self.now(), 3),
        }

    def as_json(self) -> dict[str, Any]:
        """All of it, milliseconds: evenly spread samples of what is kept.

        ``lead_ms`` is how much earlier a thing was captured than the session's clock says.
        """
        captured = self.captured
        leads = sorted(self._leads)
        return {
            "within_ms": None if captured is None else round(1000 * captured.within, 2),
            "lead_ms": round(1000 * leads[len(leads) // 2], 1) if leads else None,
            **{kind: way.told() for kind, way in self._ways.items()},
            "feed_ms": _told(self._sent),
            "reader_ms": _told(self._read),
        }


def _told(samples: deque[Seconds]) -> list[float]:
    kept = list(samples)
    step = max(1, math.ceil(len(kept) / _TOLD))
    return [round(1000 * value, 2) for value in kept[::step]]
