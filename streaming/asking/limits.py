"""How many requests run at once, and how long to wait before another attempt.

A :class:`Limiter` finds by itself how much a server takes: one more at a time for every round of
answers, half as many when the server says that it is overloaded (additive increase, multiplicative
decrease, as in TCP). A wait that a server asks for is honoured by all.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from streaming.asking.endpoint import AttemptFailed, Generation
from streaming.clock import Clock
from streaming.config import config_path, load
from streaming.events import Counters, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When another attempt is made, and after how long.

    The wait is drawn evenly from 0 to its longest, which doubles with every attempt ("full
    jitter"), so that those who failed together do not come back together.

    Attributes:
        attempts: Most attempts of one request.
        base: Longest wait before the second attempt.
        cap: Longest wait before any attempt.
        longest_retry_after: A server that asks to wait longer than this has refused.
    """

    attempts: int = 6
    base: Seconds = 1.0
    cap: Seconds = 60.0
    longest_retry_after: Seconds = 300.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.base < 0 or self.cap < 0 or self.longest_retry_after < 0:
            raise ValueError(
                f"attempts {self.attempts}, base {self.base}, cap {self.cap}, longest_retry_after "
                f"{self.longest_retry_after}: expected at least 1 and no negative waits"
            )

    def wait(self, failed: int, failure: AttemptFailed, rng: random.Random) -> Seconds | None:
        """How long to wait after attempt number ``failed``, from 1; None to give up."""
        if not failure.retryable or failed >= self.attempts:
            return None
        drawn = rng.uniform(0.0, min(self.cap, self.base * 2.0 ** min(failed - 1, 60)))
        if failure.retry_after is None:
            return drawn
        if failure.retry_after > self.longest_retry_after:
            return None
        # Never sooner than asked; a little later, so that not all come back in one instant.
        return failure.retry_after + min(drawn, self.base)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSettings:
    """How models are asked, see ``configs/asking.toml``.

    Attributes:
        at_once: Most requests that run at once.
        format_retries: How often a text that cannot be read is sent back with a note.
        retry: When another attempt is made.
        generation: How texts are generated.
    """

    at_once: int = 8
    format_retries: int = 0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    generation: Generation = field(default_factory=Generation)

    def __post_init__(self) -> None:
        if self.at_once < 1 or self.format_retries < 0:
            raise ValueError(
                f"at_once {self.at_once} and format_retries {self.format_retries}: expected at "
                "least 1 and at least 0"
            )


def read_asking_settings() -> AskingSettings:
    """The project's own settings.

    Raises:
        ConfigError: If the file is missing or does not fit.
    """
    return load(AskingSettings, config_path("asking.toml"))


class Bell:
    """Wakes all tasks that wait for a change. Ringing never blocks, so it is safe on a cancel."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def heard(self) -> None:
        """Wait for the next ring."""
        ring = asyncio.get_running_loop().create_future()
        self._waiting.append(ring)
        try:
            await ring
        finally:
            if ring in self._waiting:
                self._waiting.remove(ring)

    def ring(self) -> None:
        """Wake them, those first who have waited longest."""
        waiting, self._waiting = self._waiting, deque()
        for ring in waiting:
            if not ring.done():
                ring.set_result(None)


class Limiter:
    """Lets as many requests run at once as the server seems to take.

    Args:
        most: Most of them, and how many it begins with.
        clock: Read inside the event loop that the requests run in.

    Attributes:
        counters: ``slowed``: how often the limit was halved; ``paused``: how often all waited.
    """

    def __init__(self, most: int, *, clock: Clock) -> None:
        if most < 1:
            raise ValueError(f"at most {most} requests at once, expected at least 1")
        self.counters = Counters()
        self._most = most
        self._clock = clock
        self._limit = float(most)
        self._running = 0
        self._decreases = 0
        self._paused_until: Seconds = 0.0
        self._bell = Bell()

    @property
    def limit(self) -> int:
        """How many requests may run at once now."""
        return max(1, int(self._limit))

    @property
    def running(self) -> int:
        """How many run."""
        return self._running

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for a place, and hold it; what it gives is for :meth:`overloaded`."""
        while True:
            if self._clock.now() < self._paused_until:
                await self._clock.wait_until(self._paused_until)
            elif self._running >= self.limit:
                await self._bell.heard()
            else:
                break
        self._running += 1
        try:
            yield self._decreases
        finally:
            self._running -= 1
            self._bell.ring()

    def succeeded(self) -> None:
        """A request was answered: one more at a time after each round of answers."""
        self._limit = min(float(self._most), self._limit + 1.0 / self._limit)
        self._bell.ring()

    def overloaded(self, slot: int, *, retry_after: Seconds | None = None) -> None:
        """The server said that it is overloaded.

        Args:
            slot: What :meth:`slot` gave. Requests that ran together halve the limit once.
            retry_after: How long it asks to be left alone.
        """
        if slot == self._decreases:
            self._decreases += 1
            self._limit = max(1.0, self._limit / 2.0)
            self.counters.add("slowed")
        if retry_after is not None and retry_after > 0:
            until = self._clock.now() + retry_after
            if until > self._paused_until:
                self._paused_until = until
                self.counters.add("paused")
