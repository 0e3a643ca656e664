"""A camera or a network stream as pieces: whatever :mod:`server.pull` reads, at its own pace."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from client.publishing.pieces import Piece
from replay.media.sound import SoundTrack
from server.pull import Pull, read_address
from streaming.events import AudioBlock, Seconds, VideoFrame

_MOST_PICTURES = 4
_MOST_SOUNDS = 300


def is_live(source: str) -> bool:
    """Whether ``source`` is a camera or an address, not a file."""
    return "://" in source or re.match(r"camera(:|$)|/dev/video\d", source) is not None


class PulledPieces:
    """What is pulled, as it comes. What nobody takes in time is left out, the oldest first.

    Make it inside the event loop.

    Args:
        source: See :func:`server.pull.read_address`.
        tell: Told, in the event loop, what the source says of itself.

    Raises:
        PullError: If it is nothing that can be read.
        SourceError: If it is a file that cannot be.
    """

    def __init__(self, source: str, tell: Callable[[str], None] = lambda text: None) -> None:
        self._pictures: deque[tuple[Seconds, Piece]] = deque(maxlen=_MOST_PICTURES)
        self._sounds: deque[tuple[Seconds, Piece]] = deque(maxlen=_MOST_SOUNDS)
        self._came = asyncio.Event()
        self._ended = False
        self._tell = tell
        self._pull = Pull(read_address(source), _Taker(asyncio.get_running_loop(), self))
        self._pull.start()

    async def next(self) -> tuple[Seconds, Piece] | None:
        while not (self._sounds or self._pictures):
            if self._ended:
                return None
            self._came.clear()
            await self._came.wait()
        queues = [queue for queue in (self._sounds, self._pictures) if queue]
        return min(queues, key=lambda queue: queue[0][0]).popleft()

    def lag(self) -> Seconds:
        return 0.0  # what is late was left out

    def resume(self) -> None:
        self._sounds.clear()
        self._pictures.clear()

    async def close(self) -> None:
        await asyncio.to_thread(self._pull.stop)

    def add(self, time: Seconds, piece: Piece) -> None:
        """Take a piece that came."""
        (self._sounds if isinstance(piece, AudioBlock) else self._pictures).append((time, piece))
        self._came.set()

    def tell(self, text: str) -> None:
        """Take what the source says of itself."""
        self._tell(text)

    def end(self, reason: str) -> None:
        """Nothing comes any more."""
        self._ended = True
        self._came.set()


class _Taker:
    """The ingest that the reading thread knows: hands everything on to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pieces: PulledPieces) -> None:
        self._loop = loop
        self._pieces = pieces
        self._track = SoundTrack()

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None:
        for event in self._track.push(time, samples, rate=rate):
            if isinstance(event, AudioBlock):
                self._soon(self._pieces.add, event.onset, event)

    def picture(
        self, image: NDArray[np.uint8], *, time: Seconds, pixel_aspect: float = 1.0
    ) -> None:
        frame = VideoFrame(time=time, image=image, pixel_aspect=pixel_aspect)
        self._soon(self._pieces.add, time, frame)

    def note(self, kind: str, text: str) -> None:
        self._soon(self._pieces.tell, text)

    def close(self, reason: str) -> None:
        self._soon(self._pieces.end, reason)

    def _soon(self, call: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call, *arguments)
