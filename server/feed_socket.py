"""``WS /feed/{session}``: the lines of a session, as they come.

A reader may ask for the time with ``{"type": "clock", "sent": ms}``, and is answered with the same
``sent``, the session's time as ``server`` and a clock that is never set as ``steady``, both in
milliseconds; ``late``, beside ``sent``, says how many milliseconds a line was on its way. A sender
without a WebSocket of its own does so here too, and says when its capture time 0 was
(:func:`server.journey.read_captured`); with ``?lines=none`` it is sent nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from server.hub import Hub
from server.journey import JourneyError
from server.live_session import LiveSession
from server.settings import ServerSettings

if TYPE_CHECKING:
    from server.app import Gate

UNKNOWN, NOT_ADMITTED, TOO_SLOW = 4404, 4401, 4408
"""Closing codes of the range that applications may use (RFC 6455, section 7.4.2)."""


class FeedSocket:
    """Beside clocks it reads nothing but a first message with a token, where one is needed.

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
                await self._tell(socket, session)
        except (WebSocketDisconnect, OSError):
            return  # the reader left

    async def _tell(self, socket: WebSocket, session: LiveSession) -> None:
        self._hub.metrics.reader_came()
        sending = asyncio.create_task(self._send(socket, session))
        leaving = asyncio.create_task(_hear(socket, session))
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

    async def _send(self, socket: WebSocket, session: LiveSession) -> int:
        silent = socket.query_params.get("lines") == "none"
        async with contextlib.aclosing(session.feed.subscribe()) as lines:
            try:
                async for line in lines:
                    if silent:
                        continue
                    async with asyncio.timeout(self._within):
                        await socket.send_text(line)
            except TimeoutError:
                return TOO_SLOW
        return 1000


async def refuse(socket: WebSocket, text: str, *, code: int) -> None:
    """Say why, and close."""
    await socket.send_text(json.dumps({"type": "refused", "text": text}))
    await socket.close(code, reason=text[:120])


async def _hear(socket: WebSocket, session: LiveSession) -> None:
    """Return when the client has gone; of what it says only clocks are for us."""
    while (message := await socket.receive())["type"] != "websocket.disconnect":
        try:
            said = json.loads(message.get("text") or "")
            if isinstance(said, dict):
                await answer_clock(socket, session, said)
        except (JourneyError, ValueError, RecursionError):
            continue


async def answer_clock(socket: WebSocket, session: LiveSession, message: dict[str, Any]) -> bool:
    """Answer a message about clocks; False if it is about something else.

    Raises:
        JourneyError: If it says nothing usable.
    """
    match message.get("type"):
        case "clock":
            await socket.send_text(json.dumps(session.journey.answer(message)))
        case "captured":
            session.captured(message)
        case _:
            return False
    return True
