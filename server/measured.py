"""What a session's trace lines and counters say to the server's metrics."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from server.metrics import Metrics
from streaming.events import Seconds

_KEPT = 64
_DROPS: Mapping[str, str] = {
    "frames_skipped": "frame",
    "pictures_dropped": "frame",
    "pictures_thinned": "frame",
    "pictures_late": "late",
    "sound_late": "late",
    "sound_blocks_left_out": "block",
    "broken_packet": "packet",
}
"""Counters of a session, and what the metrics call it."""


class Measured:
    """Told of every line of one session, by way of its listeners."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._ends: OrderedDict[tuple[str, int], Seconds] = OrderedDict()

    def line(self, line: dict[str, Any]) -> None:
        """Take a line. Never blocks."""
        if line.get("finish"):
            return  # how long it took depends on the end of the stream
        match line:
            case {"type": "Word", "offset": offset, "emitted_at": emitted}:
                self._metrics.event("Word", emitted - offset)
            case {"type": "Deictic", "index": index, "offset": offset}:
                self._keep("deictic", index, offset)
            case {"type": "Stroke", "index": index, "apex": apex, "emitted_at": emitted}:
                self._keep("stroke", index, apex)
                self._metrics.event("Stroke", emitted - apex)
            case {"type": "Binding", "deictic": int(deictic), "stroke": int(stroke), **rest}:
                times = (self._ends.get(("deictic", deictic)), self._ends.get(("stroke", stroke)))
                known = [time for time in times if time is not None]
                if known:
                    self._metrics.event("Binding", rest["emitted_at"] - max(known))
            case {"type": "Answer", "final": True}:
                self._metrics.answered("answered")
            case {"type": "ModelFailed"}:
                self._metrics.answered("failed")
            case {"type": "AnswerStopped", "reason": reason}:
                self._metrics.answered("superseded" if reason == "superseded" else "cancelled")

    def ended(self, counters: Mapping[str, int]) -> None:
        """Take a session's counters, at its end."""
        for name, count in counters.items():
            if name in _DROPS:
                self._metrics.dropped(_DROPS[name], count)

    def _keep(self, kind: str, index: int, time: Seconds) -> None:
        self._ends[kind, index] = time
        if len(self._ends) > _KEPT:
            self._ends.popitem(last=False)
