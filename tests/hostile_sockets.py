"""A live server as hostile clients know it, and its WebSocket for media."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

HEAD = struct.Struct(">BQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server on this machine, and what it lets in."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


@contextlib.asynccontextmanager
async def ingest(
    target: Target, welcome: dict[str, Any] | None = None, **changed: Any
) -> AsyncIterator[ClientConnection | None]:
    """A connection that was welcomed, and its welcome; None when there is no room."""
    hello = {"type": "hello", "version": 1, "format": "pcm+jpeg", "language": "en"}
    url = f"ws://127.0.0.1:{target.port}/ingest"
    async with contextlib.AsyncExitStack() as stack:
        ws: ClientConnection | None = None
        try:
            ws = await stack.enter_async_context(
                connect(url, close_timeout=1.0, max_size=1 << 20, proxy=None)
            )
            await ws.send(json.dumps({**hello, "token": target.token, **changed}))
            async with asyncio.timeout(20):
                said = json.loads(await ws.recv())
        except (OSError, TimeoutError, WebSocketException):
            said = {}
        if welcome is not None:
            welcome.update(said)
        with contextlib.suppress(OSError, TimeoutError, WebSocketException):
            yield ws if said.get("type") == "welcome" else None


async def send_all(ws: ClientConnection | None, messages: list[bytes | str]) -> int:
    sent = 0
    if ws is None:
        await asyncio.sleep(0.3)  # there is no room just now
        return 1
    with contextlib.suppress(ConnectionClosed, OSError, TimeoutError):
        async with asyncio.timeout(20):
            for message in messages:
                await ws.send(message)
                sent += 1
    return sent
