"""The running server: it begins, says so, and ends without losing anything."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable
from types import FrameType

import cv2
import uvicorn

from server.hub import Hub
from streaming.events import Seconds

_LOOK_EVERY: Seconds = 0.1
_SWITCH_EVERY: Seconds = 0.001
"""How often a thread that computes is asked to let go of Python's lock. The event loop lets go of
it for every line that it sends, and waits for it so long each time; 5 ms is Python's own."""


def share_threads() -> None:
    """Have the event loop wait less for threads that compute."""
    # No thread is made to step back (``nice``): it would keep Python's lock while it waits for a
    # core, and the loop and hearing with it. Words then came several times later.
    sys.setswitchinterval(_SWITCH_EVERY)
    cv2.setNumThreads(1)  # the sessions share the cores already


class LiveServer(uvicorn.Server):
    """Works off its sessions before it closes their connections, so that readers see the end.

    Ctrl-C or ``kill`` ends it; a second one does not wait.

    Args:
        config: Of uvicorn.
        hub: The sessions.
        on_start: Called with the port when it listens.
        before_end: Run when it is to end, before the sessions are worked off.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        hub: Hub,
        *,
        on_start: Callable[[int], None] = lambda port: None,
        before_end: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(config)
        self._hub = hub
        self._on_start = on_start
        self._before_end = before_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        share_threads()
        await super().startup(sockets)
        if self.started:
            self._on_start(int(self.servers[0].sockets[0].getsockname()[1]))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        ending = asyncio.create_task(self._finish())
        while not self.force_exit:
            done, _ = await asyncio.wait({ending}, timeout=_LOOK_EVERY)
            if done:
                break
        else:
            ending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ending
        await super().shutdown(sockets)

    async def _finish(self) -> None:
        if self._before_end is not None:
            await self._before_end()
        await self._hub.aclose()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Not kept, as uvicorn does, to be raised again: to be ended is no failure.
        self.force_exit = self.should_exit
        self.should_exit = True
