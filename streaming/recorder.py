"""Turns what the stages say into trace lines, in one order, and shows them to listeners at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streaming.clock import Clock, Pace
from streaming.events import Seconds
from streaming.stage import Item, Ordered
from streaming.trace import RECORDED, dump_line, encode_event

STAGES: tuple[str, ...] = ("source", "hearing", "seeing", "understanding", "answering")

Listener = Callable[[dict[str, Any]], None]
"""Told about every trace line the moment it is emitted. Must not block."""


class Recorder:
    """Writes the trace of one session.

    Lines reach ``write`` in order of ``known_at``, then of :data:`STAGES`, so the trace of a
    deterministic run does not depend on which thread was faster; they reach ``listeners`` as they
    come.

    Args:
        write: Takes one line without its line end.
        clock: The session's.
        pace: In ``fast`` pace ``emitted_at`` equals ``known_at``.
        listeners: Shown every line at once.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        clock: Clock,
        pace: Pace,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self._write = write
        self._clock = clock
        self._pace = pace
        self._listeners = tuple(listeners)
        self._order = Ordered(len(STAGES))
        self._last: Seconds = 0.0

    @property
    def duration(self) -> Seconds:
        """The latest media time that any stage reached."""
        return self._last

    def header(self, line: dict[str, Any]) -> None:
        """Write the trace's first line."""
        self._say({"type": "Header", **line})

    def record(self, stage: str, item: Item) -> None:
        """Take what ``stage`` said (see :data:`streaming.stage.Record`)."""
        if not item.finish:
            self._last = max(self._last, item.known_at)
        known_at = self._last if item.finish else item.known_at
        lane = STAGES.index(stage)
        for event in item.events:
            if not isinstance(event, RECORDED):
                continue
            line = encode_event(
                event,
                known_at=known_at,
                emitted_at=known_at if self._pace == "fast" else self._clock.now(),
                stage=stage,
                finish=item.finish,
            )
            self._order.put(lane, item.known_at, line)
            for listener in self._listeners:
                listener(line)
        self._order.reach(lane, item.known_at)
        self._flush()

    def end(self, line: dict[str, Any]) -> None:
        """Write whatever is still held back, and the trace's last line."""
        for lane in range(len(STAGES)):
            self._order.close(lane)
        self._flush()
        self._say({"type": "End", "duration": round(self._last, 6), **line})

    def _flush(self) -> None:
        for _, line in self._order.ready():
            self._write(dump_line(line))

    def _say(self, line: dict[str, Any]) -> None:
        self._write(dump_line(line))
        for listener in self._listeners:
            listener(line)
