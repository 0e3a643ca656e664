"""The events of a session as they come, for any number of readers.

Lines are the trace's own (:mod:`streaming.trace`), each a JSON text. A reader that comes late gets
the state so far first, as one line ``{"type": "State", "lines": [...]}``. A reader that is slow is
never waited for: from half a queue on it misses dense lines, such as where the hands are, and with
a full one it is dropped, with the reason as its last line.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any

from server.settings import FeedLimits
from streaming.events import Seconds
from streaming.trace import dump_line

DENSE = frozenset(
    {"HandsSeen", "CameraMotion", "StrokesSeen", "DeicticsSeen", "Partial", "Skipped"}
)
"""Lines that are superseded by the next of their kind within a moment."""


class _Reader:
    """What waits for one reader."""

    def __init__(self, limits: FeedLimits) -> None:
        self.lines: deque[tuple[str, Seconds]] = deque()
        self.missed = 0
        self.ended = False
        self.changed = asyncio.Event()
        self._limits = limits

    def offer(self, text: str, *, dense: bool, at: Seconds) -> None:
        if self.ended:
            return
        if dense and len(self.lines) >= self._limits.queue // 2:
            self.missed += 1
        elif len(self.lines) >= self._limits.queue:
            self.lines.clear()
            said = {"type": "Dropped", "text": "the reader was too slow; connect again"}
            self.lines.append((dump_line(said), at))
            self.ended = True
        else:
            self.lines.append((text, at))
        self.changed.set()

    def end(self) -> None:
        self.ended = True
        self.changed.set()


class Feed:
    """Publish and subscribe within the event loop.

    Args:
        limits: See :class:`~server.settings.FeedLimits`.
        sent: Told, for every line that a reader has taken, how long after it was published.

    Attributes:
        facts: What the state line says beside the lines, such as the session's name.
    """

    def __init__(
        self,
        limits: FeedLimits | None = None,
        *,
        sent: Callable[[Seconds], None] = lambda seconds: None,
    ) -> None:
        self._limits = limits or FeedLimits()
        self._sent = sent
        self._now = asyncio.get_running_loop().time
        self.facts: dict[str, Any] = {}
        self._header: str | None = None
        self._kept: deque[str] = deque(maxlen=self._limits.kept)
        self._readers: set[_Reader] = set()
        self._closed = False

    @property
    def readers(self) -> int:
        """How many read now."""
        return len(self._readers)

    def publish(self, line: dict[str, Any]) -> None:
        """Send ``line`` to every reader. Never blocks."""
        if self._closed:
            return
        text, kind = dump_line(line), line.get("type")
        dense = kind in DENSE
        if kind == "Header":
            self._header = text
        elif not dense:
            self._kept.append(text)
        at = self._now()
        for reader in self._readers:
            reader.offer(text, dense=dense, at=at)

    def close(self) -> None:
        """Nothing more comes: readers end when they have read what waits."""
        self._closed = True
        for reader in self._readers:
            reader.end()

    async def subscribe(self) -> AsyncGenerator[str]:
        """The state so far, then every line as it comes, until the session or the reader ends."""
        reader = _Reader(self._limits)
        self._readers.add(reader)
        try:
            if self._closed:
                reader.end()
            yield self._state()
            while True:
                while reader.lines:
                    text, at = reader.lines.popleft()
                    yield text
                    self._sent(self._now() - at)
                if reader.ended:
                    return
                reader.changed.clear()
                await reader.changed.wait()
        finally:
            self._readers.discard(reader)

    def _state(self) -> str:
        facts = json.dumps({"type": "State", **self.facts}, ensure_ascii=False)
        lines = [*([] if self._header is None else [self._header]), *self._kept]
        return f'{facts[:-1]},"lines":[{",".join(lines)}]}}'
