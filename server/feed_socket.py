"""``WS /feed/{session}``: the lines of a session, as they come."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING

from starlette.websockets import WebSocket, WebSocketDisconnect

from server.feed import Feed
from server.hub import Hub
from server.settings import ServerSettings

if TYPE_CHECKING:
    from server.app import Gate

UNKNOWN, NOT_ADMITTED, TOO_SLOW = 4404, 4401, 4408
"""Closing codes of the range that applications may use (RFC 6455, section 7.4.2)."""


class FeedSocket:
    """Reads nothing but a first message with a token, where one is needed.

    A client that does not read is dropped: the line that it does not take times out.
    """

    def __init__(self, hub: Hub, guard: Gate, settings: ServerSettings) -> None:
        self._hub = hub
        self._guard = guard
        self._within = settings.feed.send_within

    async def serve(self, socket: WebSocket) -> None:
        """One reader from start to end."""
        try:
            await socket.accept()
            session = self._hub.get(socket.path_params["session"])
            if not self._guard.admits(None):
                await refuse(socket, "a token is needed", code=NOT_ADMITTED)
            elif session is None:
                await refuse(socket, "there is no such session, or it has ended", code=UNKNOWN)
            else:
                await self._tell(socket, session.feed)
        except (WebSocketDisconnect, OSError):
            return  # the reader left

    async def _tell(self, socket: WebSocket, feed: Feed) -> None:
        self._hub.metrics.reader_came()
        sending = asyncio.create_task(self._send(socket, feed))
        leaving = asyncio.create_task(_left(socket))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                code = sending.result()
                if code == TOO_SLOW:
                    self._hub.metrics.dropped("feed")
                await socket.close(code, reason="too slow" if code == TOO_SLOW else "")
        finally:
            for one in (sending, leaving):
                one.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            self._hub.metrics.reader_left()

    async def _send(self, socket: WebSocket, feed: Feed) -> int:
        async with contextlib.aclosing(feed.subscribe()) as lines:
            try:
                async for line in lines:
                    async with asyncio.timeout(self._within):
                        await socket.send_text(line)
            except TimeoutError:
                return TOO_SLOW
        return 1000


async def refuse(socket: WebSocket, text: str, *, code: int) -> None:
    """Say why, and close."""
    await socket.send_text(json.dumps({"type": "refused", "text": text}))
    await socket.close(code, reason=text[:120])


async def _left(socket: WebSocket) -> None:
    """Return when the client has gone; what it says is not for us."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
