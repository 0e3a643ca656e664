"""Pictures of a connection that wait to be decoded: the newest win, and sound need not wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from server.jpeg import JpegError, decode_jpeg
from server.live_session import LiveSession
from streaming.events import Seconds

MOST = 8
"""A quarter of a second at 30 a second: more would be late anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undecoded:
    jpeg: bytes
    placed: Seconds
    taken: Seconds
    arrived: Seconds


class JpegInbox:
    """Decodes in a thread, one picture at a time. Use it within the event loop.

    Args:
        session: Gets the pictures.
        pixels: Most of a picture.
        broken: Told of one that cannot be decoded.
    """

    def __init__(
        self, session: LiveSession, *, pixels: int, broken: Callable[[JpegError], None]
    ) -> None:
        self._session = session
        self._pixels = pixels
        self._broken = broken
        self._waiting: deque[_Undecoded] = deque()
        self._working: asyncio.Task[None] | None = None

    def put(self, jpeg: bytes, *, placed: Seconds, taken: Seconds, arrived: Seconds) -> None:
        """Take a picture; the one that has waited longest goes when there are too many.

        Args:
            jpeg: The picture, encoded.
            placed: Its time for the session.
            taken: Its time as its sender says.
            arrived: When it came, on the steady clock (:mod:`server.journey`).
        """
        if len(self._waiting) >= MOST:
            self._session.source.miss(self._waiting.popleft().placed)
        self._waiting.append(_Undecoded(jpeg=jpeg, placed=placed, taken=taken, arrived=arrived))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())

    async def finish(self) -> None:
        """Return when nothing waits any more."""
        if self._working is not None:
            await self._working

    async def _work(self) -> None:
        while self._waiting:
            one = self._waiting.popleft()
            if self._session.source.spares(one.placed):
                continue
            try:
                image = await asyncio.to_thread(decode_jpeg, one.jpeg, self._pixels)
            except JpegError as error:
                self._broken(error)
                continue
            self._session.ingest.picture(image, time=one.placed)
            self._session.journey.came(
                "pictures", time=one.placed, taken=one.taken, arrived=one.arrived
            )
