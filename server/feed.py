"""The live event feed: trace lines handed out to whoever watches a session.

A watcher that is slow loses its oldest lines and is told how many; the session never waits for it.
One that joins late first gets the state so far.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

KEPT_TYPES = frozenset(
    {"Header", "Word", "Utterance", "Deictic", "Stroke", "StrokeEnd", "Binding", "Answer"}
)
"""What a late joiner is given of the past; pictures' details and partial words have gone by."""


class Watcher:
    """One reader of a feed; iterate over it to get the lines."""

    def __init__(self, past: list[dict[str, Any]], *, capacity: int) -> None:
        self._lines: deque[dict[str, Any]] = deque(past)
        self._capacity = max(capacity, len(past))
        self._arrived = asyncio.Event()
        self._closed = False
        self.dropped = 0

    def offer(self, line: dict[str, Any]) -> None:
        """Add a line, throwing away the oldest one when too many wait."""
        if len(self._lines) >= self._capacity:
            self._lines.popleft()
            self.dropped += 1
        self._lines.append(line)
        self._arrived.set()

    def close(self) -> None:
        """Let the iteration end once the waiting lines are read."""
        self._closed = True
        self._arrived.set()

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        while True:
            while self._lines:
                yield self._lines.popleft()
            if self._closed:
                return
            self._arrived.clear()
            await self._arrived.wait()


class Feed:
    """Gives every line of one session to every watcher.

    Args:
        capacity: Most lines that wait for one watcher.
        history: Most lines of the past that a late joiner is given.
    """

    def __init__(self, *, capacity: int = 1000, history: int = 2000) -> None:
        self._capacity = capacity
        self._past: deque[dict[str, Any]] = deque(maxlen=history)
        self._watchers: list[Watcher] = []

    def publish(self, line: dict[str, Any]) -> None:
        """Show a trace line to every watcher (a :data:`streaming.recorder.Listener`)."""
        if line.get("type") in KEPT_TYPES:
            self._past.append(line)
        for watcher in self._watchers:
            watcher.offer(line)

    def watch(self) -> Watcher:
        """A new watcher, given the state so far."""
        watcher = Watcher(list(self._past), capacity=self._capacity)
        self._watchers.append(watcher)
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """Forget a watcher."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def close(self) -> None:
        """End every watcher's iteration."""
        for watcher in self._watchers:
            watcher.close()
