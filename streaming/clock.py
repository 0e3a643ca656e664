"""The one injected clock. Nothing else in the project reads the time or sleeps.

Three paces:

* ``fast``: the clock is where the media is (computation-unaware, deterministic).
* ``realtime``: media time 0 is now and a second takes a second (computation-aware).
* ``live``: as ``realtime``; the source sets the pace, and the clock follows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import threading
import time
from typing import Literal, Protocol, TypeAlias

from streaming.events import Seconds

Pace: TypeAlias = Literal["fast", "realtime", "live"]


class Clock(Protocol):
    """Where the session stands on its own timeline."""

    def now(self) -> Seconds:
        """Seconds since the session's start."""
        ...

    async def wait_until(self, time: Seconds) -> None:
        """Return when ``now() >= time``."""
        ...


class FastClock:
    """A clock that jumps to whatever time is waited for, and so never waits."""

    def __init__(self) -> None:
        self._now: Seconds = 0.0

    def now(self) -> Seconds:
        return self._now

    async def wait_until(self, time: Seconds) -> None:
        self._now = max(self._now, time)
        await asyncio.sleep(0)


class RealtimeClock:
    """The running event loop's clock, from the first look at it on.

    Make it inside the loop; :meth:`now` may then be called from any thread.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._origin = self._loop.time()

    def now(self) -> Seconds:
        return self._loop.time() - self._origin

    async def wait_until(self, time: Seconds) -> None:
        await asyncio.sleep(max(0.0, time - self.now()))


class LiveClock:
    """A clock that begins when the first sound or picture comes, and is never behind the latest.

    So :meth:`now` less a thing's media time is how long that took to come and has waited since,
    beyond what the fastest took. Make it inside the loop; :meth:`now` and :meth:`reach` may then be
    called from any thread.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._origin: float | None = None
        self._begun = asyncio.Event()
        self._moving = threading.Lock()

    def now(self) -> Seconds:
        """0 until something has come."""
        with self._moving:
            return 0.0 if self._origin is None else self._loop.time() - self._origin

    def reach(self, time: Seconds) -> None:
        """Say that something of media time ``time`` has come."""
        with self._moving:
            origin = self._loop.time() - time
            if self._origin is not None:
                self._origin = min(self._origin, origin)
                return
            self._origin = origin
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._begun.set)

    async def wait_until(self, time: Seconds) -> None:
        if time > 0.0:
            await self._begun.wait()
        await asyncio.sleep(max(0.0, time - self.now()))


class Stopwatch:
    """Wall and CPU seconds since it was made.

    CPU is the whole process's, or with ``thread=True`` the calling thread's.
    """

    def __init__(self, *, thread: bool = False) -> None:
        self._cpu = time.thread_time if thread else time.process_time
        self._wall_from = time.perf_counter()
        self._cpu_from = self._cpu()

    def wall(self) -> float:
        return time.perf_counter() - self._wall_from

    def cpu(self) -> float:
        return self._cpu() - self._cpu_from


def thread_cpu_seconds() -> float:
    """CPU seconds of the calling thread since it began."""
    return time.thread_time()


def utc_now() -> str:
    """The date and time, ISO 8601 in UTC, for headers that people read."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
