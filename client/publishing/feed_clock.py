"""Compares clocks with a server at its feed, for senders whose own way has no place for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from client.publishing.server_clock import ServerClock

_WITHIN = 10.0


async def compare_clocks(
    feed: str,
    clock: ServerClock,
    zero: Callable[[], float | None],
    *,
    token: str | None = None,
    context: ssl.SSLContext | None = None,
) -> None:
    """Ask what time it is, and say when capture time 0 was, until cancelled.

    A server that does not answer is left alone: the stream goes on without.

    Args:
        feed: Address of the session's feed.
        clock: Learns the answers.
        zero: When capture time 0 was, on this machine's monotonic clock; None while unknown.
        token: What the server asks for.
        context: For its own certificate.
    """
    options: dict[str, Any] = {} if context is None else {"ssl": context}
    with contextlib.suppress(OSError, TimeoutError, WebSocketException):
        async with connect(feed, open_timeout=_WITHIN, max_size=1 << 16, **options) as socket:
            hello = {"type": "hello", "version": 1, **({} if token is None else {"token": token})}
            await socket.send(json.dumps(hello))
            asking = asyncio.create_task(_ask(socket, clock))
            try:
                async for text in socket:
                    await _take(text, socket, clock, zero())
            finally:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)


async def _ask(socket: ClientConnection, clock: ServerClock) -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await socket.send(clock.question())
            await asyncio.sleep(clock.pause())


async def _take(
    text: str | bytes, socket: ClientConnection, clock: ServerClock, zero: float | None
) -> None:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(message, dict) and message.get("type") == "clock":
        clock.take(message)
        told = None if zero is None else clock.captured(zero, unix=True)
        if told is not None:
            await socket.send(told)
