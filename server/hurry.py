"""Stands before a session's transcript: makes it hurry, and finds out how far behind it is."""

from __future__ import annotations

import threading
from typing import Any

from replay.media.sound import BLOCK_SAMPLES
from server.governor import Pressure
from server.live_source import LiveSource
from streaming.events import SAMPLE_RATE, Seconds
from streaming.session import Backlog

_HOP: Seconds = 0.5
_NEVER: Seconds = 1e6


class Hurry:
    """Tells the transcript when to leave out a hop, and the source and the governor the lag.

    Args:
        source: Leaves out sound when hearing is absurdly far behind.

    Attributes:
        stride: Of so many hops one is heard.
        backlog: The transcript.
    """

    def __init__(self, source: LiveSource) -> None:
        self.stride = 1
        self.backlog: Backlog | None = None
        self._source = source
        self._blocks = 0
        self._looking = threading.Lock()
        self._least: Seconds | None = None
        self._seen = self._skipped = 0

    def set_backlog(self, seconds: Seconds) -> None:
        """See :class:`streaming.session.Backlog`; from hearing's thread."""
        self._source.set_behind(seconds)
        with self._looking:
            self._least = seconds if self._least is None else min(self._least, seconds)
        self._blocks += 1
        step = int(self._blocks * BLOCK_SAMPLES / SAMPLE_RATE / _HOP)
        if self.backlog is not None:
            self.backlog.set_backlog(seconds if step % self.stride == 0 else _NEVER)

    def line(self, line: dict[str, Any]) -> None:
        """Count the pictures of a trace line that were looked at or skipped."""
        match line:
            case {"type": "HandsSeen"}:
                self._seen += 1
            case {"type": "Skipped", "what": "frame", "count": int(count)}:
                self._skipped += count

    def pressure(self) -> Pressure:
        """What happened since the last call."""
        with self._looking:
            least, self._least = self._least, None
        all_of_them = self._seen + self._skipped
        share = self._skipped / all_of_them if all_of_them else 0.0
        self._seen = self._skipped = 0
        return Pressure(lag=least, skipped=share)
