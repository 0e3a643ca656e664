"""Sends a stream to a server until it ends, over as many connections as that takes."""

from __future__ import annotations

import asyncio
import time as wall
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from client.publishing.link import Link, LinkLost, PublishError
from client.publishing.pieces import Piece, Pieces
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds, VideoFrame

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
_GIVE_UP_AFTER = 8
"""Attempts in a row that fail."""
_PICTURE_LAG: Seconds = 0.5
"""A picture that is later than this is left out, so that sound stays in time."""
_MARGIN: Seconds = 0.1
_STEADY: Seconds = 5.0
"""A connection that held so long makes the next wait short again."""


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far it is.

    Attributes:
        seconds: Of the stream that were sent.
        pictures: Sent.
        skipped: Pictures that were left out as the network was too slow.
        connections: Made, the first one included.
        resumed: Of these, how many went on with the session of the one before.
        delay: To the server and back, in seconds.
        session: As the server calls it.
        problem: What it waits for, while there is no connection.
    """

    seconds: Seconds = 0.0
    pictures: int = 0
    skipped: int = 0
    connections: int = 0
    resumed: int = 0
    delay: Seconds | None = None
    session: str = ""
    problem: str | None = None


class Publisher:
    """Runs one stream.

    Args:
        pieces: The stream.
        connect: Opens a connection; raises :class:`LinkLost` or :class:`PublishError`.
        show: Told of every step.
    """

    def __init__(
        self,
        pieces: Pieces,
        connect: Callable[[], Awaitable[Link]],
        show: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._pieces = pieces
        self._connect = connect
        self._show = show
        self.progress = Progress()

    async def run(self) -> Progress:
        """Until the stream ends.

        Raises:
            PublishError: If the server refuses, is not there at first, or does not come back.
        """
        failures = 0
        while True:
            try:
                link = await self._connect()
            except LinkLost as lost:
                failures += 1
                await self._wait(lost, failures)
                continue
            self._began(link)
            before = self.progress.seconds
            try:
                await self._stream(link)
                return self.progress
            except LinkLost as lost:
                failures = 1 if self.progress.seconds - before > _STEADY else failures + 1
                await self._wait(lost, failures)
            finally:
                await link.close()

    def _began(self, link: Link) -> None:
        self.progress.connections += 1
        self.progress.resumed += link.name == self.progress.session and link.name != ""
        self.progress.session, self.progress.problem = link.name, None
        self._pieces.resume()
        self._show(self.progress)

    async def _wait(self, lost: LinkLost, failures: int) -> None:
        if self.progress.connections == 0 or failures >= _GIVE_UP_AFTER:
            tried = f" after {failures} attempts" if failures > 1 else ""
            raise PublishError(f"{lost}{tried}; is the server running there?") from None
        self.progress.problem = str(lost)
        self._show(self.progress)
        await asyncio.sleep(min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failures - 1)))

    async def _stream(self, link: Link) -> None:
        base: Seconds | None = None
        while (given := await self._pieces.next()) is not None:
            time, piece = given
            # A block of sound may begin a little before a picture that came first.
            if base is None:
                base = max(0.0, time - _MARGIN)
                link.zero = wall.monotonic() - self._pieces.lag() - (_end(time, piece) - base)
            if isinstance(piece, VideoFrame) and self._pieces.lag() > _PICTURE_LAG:
                self.progress.skipped += 1
            else:
                await link.send(piece, time=time - base)
                self._count(time, piece, link)
            self._show(self.progress)

    def _count(self, time: Seconds, piece: Piece, link: Link) -> None:
        self.progress.delay = link.delay
        self.progress.pictures += isinstance(piece, VideoFrame)
        self.progress.seconds = max(self.progress.seconds, _end(time, piece))


def _end(time: Seconds, piece: Piece) -> Seconds:
    """When the last of a piece happened that begins at ``time``."""
    return time + len(piece.samples) / SAMPLE_RATE if isinstance(piece, AudioBlock) else time
