"""What is published: the pieces of a file or of a stream, at the pace at which they happened."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from replay.media.sound import BLOCK_SAMPLES
from replay.source import SourceEvent, open_source
from streaming.clock import Clock, RealtimeClock
from streaming.events import AudioBlock, Seconds, SourceNote, VideoFrame

Piece: TypeAlias = AudioBlock | VideoFrame
_HELD_EVERY: Seconds = 1 / 15


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
        hold: Seconds that the last picture and silence go on after the end.
        max_side: Larger pictures are scaled down.

    Raises:
        SourceError: If it cannot be played.
    """

    def __init__(
        self,
        path: Path,
        *,
        loop: bool,
        hold: Seconds = 0.0,
        max_side: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._source = open_source(path, max_side=max_side)
        self._loop = loop
        self._hold = hold
        self._clock = clock or RealtimeClock()
        self._playing: Generator[SourceEvent] = self._events()
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
                self._playing = self._events()
            elif not isinstance(event, SourceNote):
                break
        sound = isinstance(event, AudioBlock)
        onset = self._base + (event.onset if isinstance(event, AudioBlock) else event.time)
        due = self._base + event.offset if isinstance(event, AudioBlock) else onset
        self._reached = max(self._reached, due if sound else due + 0.001)
        await self._wait(due)
        return onset, event

    def _events(self) -> Generator[SourceEvent]:
        last: VideoFrame | None = None
        end: Seconds = 0.0
        for event in self._source.events():
            if isinstance(event, VideoFrame):
                last = event
            elif isinstance(event, AudioBlock):
                end = event.offset
            yield event
        if self._hold > 0.0:
            yield from _still(last, end, until=end + self._hold)

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


def _still(picture: VideoFrame | None, begin: Seconds, *, until: Seconds) -> Generator[SourceEvent]:
    """Silence from ``begin`` on, and the same picture again and again, in order."""
    silence = np.zeros(BLOCK_SAMPLES, dtype=np.float32)
    shown = begin if picture is None else max(begin, picture.time)
    while begin < until:
        block = AudioBlock(onset=begin, samples=silence)
        while picture is not None and shown + _HELD_EVERY <= block.offset:
            shown += _HELD_EVERY
            yield replace(picture, time=shown)
        yield block
        begin = block.offset
