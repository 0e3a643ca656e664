"""What a live server says about the session while it is sent: the lines of its feed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from client.publishing.link import LinkLost, PublishError, fingerprint_context
from client.publishing.websocket import check_fingerprint
from streaming.events import Seconds

_OPEN_WITHIN: Seconds = 10.0
_LONGEST_MESSAGE = 16 << 20
_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


class Following:
    """Follows one session after the other. Use it within the event loop.

    Args:
        url: Of the server, as it is published to.
        token: What it asks for, or None.
        fingerprint: As of :func:`client.publishing.websocket.open_websocket`.
        show: Given every line.
        tell: Told why there are none.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None,
        fingerprint: str | None,
        show: Callable[[dict[str, Any]], None],
        tell: Callable[[str], None],
    ) -> None:
        self._url = url
        self._token = token
        self._fingerprint = fingerprint
        self._show = show
        self._tell = tell
        self._session: str | None = None
        self._reading: asyncio.Task[None] | None = None

    def begin(self, session: str) -> None:
        """Follow ``session`` from now on."""
        running = self._reading is not None and not self._reading.done()
        if not session or (running and session == self._session):
            return
        if self._reading is not None:
            self._reading.cancel()
        self._session = session
        self._reading = asyncio.create_task(self._read(session))

    async def finish(self, *, within: Seconds) -> None:
        """Read on until the session has worked off what it got."""
        if self._reading is not None:
            await asyncio.wait({self._reading}, timeout=within)
            await self.close()

    async def close(self) -> None:
        """Read no more."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, session: str) -> None:
        try:
            await self._follow(session)
        except (OSError, TimeoutError, WebSocketException, LinkLost, PublishError):
            self._tell("the server does not show what it makes of this stream")

    async def _follow(self, session: str) -> None:
        options: dict[str, Any] = {}
        if self._fingerprint is not None:
            options["ssl"] = fingerprint_context()
        async with connect(
            feed_address(self._url, session),
            open_timeout=_OPEN_WITHIN,
            max_size=_LONGEST_MESSAGE,
            user_agent_header=None,
            **options,
        ) as feed:
            if self._fingerprint is not None:
                check_fingerprint(feed, self._fingerprint)
            if self._token is not None:
                await feed.send(json.dumps({"type": "hello", "token": self._token}))
            with contextlib.suppress(ConnectionClosed):
                async for text in feed:
                    for line in _lines(text):
                        self._show(line)


def feed_address(url: str, session: str) -> str:
    """Where the feed of ``session`` is on the server at ``url``."""
    parts = urlsplit(url)
    scheme = _SCHEMES[parts.scheme.lower()]
    return urlunsplit((scheme, parts.netloc, f"/feed/{quote(session, safe='')}", "", ""))


def _lines(text: str | bytes) -> Iterator[dict[str, Any]]:
    """The lines in a message: one, or those that a late reader gets at once."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(message, dict):
        return
    said = message.get("lines", []) if message.get("type") == "State" else [message]
    for line in said if isinstance(said, list) else []:
        if isinstance(line, dict) and isinstance(line.get("type"), str):
            yield line
