"""What is published: the pieces of a file or of a stream, at the pace at which they happened."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Protocol, TypeAlias

from replay.source import SourceEvent, open_source
from streaming.clock import Clock, RealtimeClock
from streaming.events import AudioBlock, Seconds, SourceNote, VideoFrame

Piece: TypeAlias = AudioBlock | VideoFrame


class Pieces(Protocol):
    """A stream, piece by piece, each when it is due."""

    async def next(self) -> tuple[Seconds, Piece] | None:
        """The next piece and the time of its first sample; None at the end."""
        ...

    def lag(self) -> Seconds:
        """How far the last piece was behind its time when it was given."""
        ...

    def resume(self) -> None:
        """Go on from here at the usual pace, after an interruption."""
        ...

    async def close(self) -> None:
        """Let go of the source."""
        ...


class FilePieces:
    """A file at real-time pace, its times going on over every repetition.

    Make it inside the event loop.

    Args:
        path: The file.
        loop: Begin again at the end, for ever.
        max_side: Larger pictures are scaled down.

    Raises:
        SourceError: If it cannot be played.
    """

    def __init__(
        self, path: Path, *, loop: bool, max_side: int | None = None, clock: Clock | None = None
    ) -> None:
        self._source = open_source(path, max_side=max_side)
        self._loop = loop
        self._clock = clock or RealtimeClock()
        self._playing: Generator[SourceEvent] = self._source.events()
        self._began: Seconds | None = None
        self._base: Seconds = 0.0
        self._reached: Seconds = 0.0
        self._late: Seconds = 0.0

    async def next(self) -> tuple[Seconds, Piece] | None:
        while True:
            event = await asyncio.to_thread(next, self._playing, None)
            if event is None:
                if not self._loop or self._reached <= self._base:
                    return None
                self._base = self._reached
                self._playing = self._source.events()
            elif not isinstance(event, SourceNote):
                break
        sound = isinstance(event, AudioBlock)
        onset = self._base + (event.onset if isinstance(event, AudioBlock) else event.time)
        due = self._base + event.offset if isinstance(event, AudioBlock) else onset
        self._reached = max(self._reached, due if sound else due + 0.001)
        await self._wait(due)
        return onset, event

    async def _wait(self, due: Seconds) -> None:
        if self._began is None:
            self._began = self._clock.now() - due
        await self._clock.wait_until(self._began + due)
        self._late = self._clock.now() - self._began - due

    def lag(self) -> Seconds:
        return self._late

    def resume(self) -> None:
        self._began = None

    async def close(self) -> None:
        # A generator that is running in a thread cannot be closed, and ends with the program.
        with contextlib.suppress(ValueError):
            self._playing.close()
