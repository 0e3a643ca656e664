"""A live server and its senders as processes of their own, as people run them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from streaming.events import Seconds

Sender: TypeAlias = Literal["ws", "whip"]
SENDERS: tuple[Sender, ...] = ("ws", "whip")
_SCHEMES = {"ws": "ws", "whip": "http"}
_COMMAND = (sys.executable, "-m", "client.cli")
_ROOT = Path(__file__).resolve().parents[2]
_SERVING_WITHIN: Seconds = 120.0
"""Models are loaded first, and may have to be fetched."""
_ENDED_WITHIN: Seconds = 30.0
_LINES_KEPT = 20


class LiveMeasureError(RuntimeError):
    """A server or a sender that did not do what it should. One line."""


class Child:
    """A running ``deixis`` command.

    Args:
        process: Whose output is a pipe.
        name: For errors.
    """

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process = process
        self._name = name
        self._said: deque[str] = deque(maxlen=_LINES_KEPT)
        self._changed = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """What it exited with; None while it runs."""
        return self._process.returncode

    async def wait_for(self, pattern: str, *, within: Seconds) -> str:
        """The first group of ``pattern`` in a line that it has said or says.

        Raises:
            LiveMeasureError: If it ends before, or says no such thing in time.
        """
        found = re.compile(pattern)
        try:
            async with asyncio.timeout(within), self._changed:
                while True:
                    for line in self._said:
                        if match := found.search(line):
                            return match[1]
                    if self._reading.done():
                        last = self._said[-1] if self._said else "nothing"
                        raise LiveMeasureError(f"{self._name} ended; it said: {last}")
                    await self._changed.wait()
        except TimeoutError:
            raise LiveMeasureError(f"{self._name} was not ready within {within:g} s") from None

    async def ended(self) -> int:
        """Wait until it has ended by itself, and return its exit code."""
        await self._reading
        return await self._process.wait()

    def last_words(self) -> str:
        """Its last line, for an error."""
        return self._said[-1] if self._said else ""

    def kill(self) -> None:
        """End it without any chance to say goodbye, as a network or a battery does."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def stop(self) -> None:
        """End it as Ctrl-C does, and by force when that takes too long."""
        with contextlib.suppress(ProcessLookupError):
            if self.code is None:
                self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_ENDED_WITHIN):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        stream = self._process.stdout
        while stream is not None and (line := await stream.readline()):
            async with self._changed:
                self._said.append(line.decode("utf-8", "replace").strip())
                self._changed.notify_all()
        async with self._changed:
            self._changed.notify_all()


async def start(arguments: Sequence[str]) -> Child:
    """Run ``deixis`` with ``arguments``."""
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        *arguments,
        cwd=_ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    return Child(process, f"deixis {arguments[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server that listens.

    Attributes:
        host: With its port.
        child: The process.
    """

    host: str
    child: Child

    def address(self, sender: Sender) -> str:
        """Where a sender of this kind sends to."""
        return f"{_SCHEMES[sender]}://{self.host}"


@asynccontextmanager
async def serving(*options: str) -> AsyncIterator[Served]:
    """``deixis serve`` on a free port of this machine.

    Raises:
        LiveMeasureError: If it does not begin.
    """
    child = await start(["serve", "--port", "0", *options])
    try:
        host = await child.wait_for(r"open http://([^/ ]+)/", within=_SERVING_WITHIN)
        yield Served(host=host, child=child)
    finally:
        await child.stop()


def publishing(
    clip: Path, served: Served, sender: Sender, *options: str
) -> Coroutine[None, None, Child]:
    """Begin ``deixis publish`` of a clip to the server."""
    return start(["publish", str(clip.resolve()), served.address(sender), *options])
