"""The source of a live session: media comes in from any thread, and the session takes it out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.media.picture import fitted
from server.live_timeline import LiveTimeline, SourceEvent
from server.settings import LiveLimits
from streaming.events import Counters, Seconds, VideoFrame

_LONGEST_WAIT: Seconds = 0.25
"""The clock may jump ahead, so nobody waits longer without another look at it."""


class SourceClock(Protocol):
    """Where the session stands; see :class:`streaming.clock.LiveClock`."""

    def now(self) -> Seconds: ...

    def reach(self, time: Seconds) -> None: ...


class LiveSource:
    """An :class:`~server.ingest.Ingest`, and a source that a session runs on.

    What waits for what is said in :mod:`server.live_timeline`. All pictures get the size of the
    first one, as the shape of what they show stays right by their pixels' aspect.

    Args:
        limits: See there.
        clock: Told of all that comes, and asked for the time.
    """

    def __init__(self, limits: LiveLimits, *, clock: SourceClock) -> None:
        self._limits = limits
        self._clock = clock
        self._timeline = LiveTimeline(limits)
        self._changed = threading.Condition()
        self._ready: deque[SourceEvent] = deque()
        self._closed: str | None = None
        self._finished = False
        self._came = 0
        self._size: tuple[int, int] | None = None

    # --- Ingest ------------------------------------------------------------------------------

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None:
        """See :class:`~server.ingest.Ingest`."""
        with self._changed:
            if self._closed is None:
                now = self._clock.now()
                self._arrived(self._timeline.sound(samples, rate=rate, time=time, now=now))

    def picture(
        self, image: NDArray[np.uint8], *, time: Seconds, pixel_aspect: float = 1.0
    ) -> None:
        """See :class:`~server.ingest.Ingest`."""
        with self._changed:
            if self._closed is None:
                self._arrived(
                    self._timeline.picture(
                        image, time=time, pixel_aspect=pixel_aspect, now=self._clock.now()
                    )
                )

    def note(self, kind: str, text: str) -> None:
        """See :class:`~server.ingest.Ingest`."""
        with self._changed:
            if self._closed is None:
                self._timeline.note(kind, text, now=self._clock.now())
                self._changed.notify_all()

    def close(self, reason: str) -> None:
        """See :class:`~server.ingest.Ingest`; only the first reason counts."""
        with self._changed:
            if self._closed is None:
                self._timeline.note("closed", reason, now=self._clock.now())
                self._closed = reason
                self._changed.notify_all()

    # --- what the session does ---------------------------------------------------------------

    @property
    def counters(self) -> Counters:
        """What was dropped, thinned and left out."""
        return self._timeline.counters

    @property
    def closed(self) -> str | None:
        """Why nothing comes any more, or None."""
        return self._closed

    @property
    def came(self) -> int:
        """How many sounds and pictures have come."""
        return self._came

    def spares(self, time: Seconds) -> bool:
        """Whether a picture of ``time`` would be thinned out, so that nobody need decode it.

        It is counted and told to the clock as one that came.
        """
        with self._changed:
            placed = self._timeline.spares(time) if self._closed is None else None
            if placed is not None:
                self._arrived(placed)
            return placed is not None

    def miss(self, time: Seconds) -> None:
        """Say that a picture of ``time`` was left out before anybody could take it."""
        with self._changed:
            if self._closed is None:
                self._arrived(self._timeline.miss_sent(time, now=self._clock.now()))

    def thin(self, pictures: float) -> None:
        """Let ``pictures`` through a second; see :class:`~server.settings.Level`."""
        with self._changed:
            self._timeline.picture_every = 1.0 / pictures

    def set_behind(self, seconds: Seconds) -> None:
        """Say how much sound hearing has not worked off."""
        self._timeline.behind = seconds

    def take(self, most: int) -> list[SourceEvent]:
        """Wait for what may go on, and return up to ``most`` of it; empty when all is said."""
        with self._changed:
            while not self._ready:
                if self._finished:
                    return []
                self._look()
            taken = [self._ready.popleft() for _ in range(min(most, len(self._ready)))]
        return [self._resized(one) if isinstance(one, VideoFrame) else one for one in taken]

    def events(self) -> Iterator[SourceEvent]:
        """All events, one by one, each as soon as it may go on."""
        while taken := self.take(1):
            yield from taken

    def _look(self) -> None:
        """Gather what may go on; when there is nothing, wait."""
        now = self._clock.now()
        if self._closed is not None:
            self._ready.extend(self._timeline.finish())
            self._finished = True
            return
        self._ready.extend(self._timeline.due(now))
        if not self._ready:
            wait = min(_LONGEST_WAIT, self._timeline.wake_at() - now)
            self._changed.wait(max(0.001, wait))

    def _arrived(self, until: Seconds | None) -> None:
        if until is not None:
            self._came += 1
            self._clock.reach(until)
        self._changed.notify_all()

    def _resized(self, frame: VideoFrame) -> VideoFrame:
        height, width = frame.image.shape[:2]
        if self._size is None:
            self._size = fitted(width, height, self._limits.max_side)
        if (width, height) == self._size:
            return frame
        wide, high = self._size
        image = cv2.resize(frame.image, self._size, interpolation=cv2.INTER_AREA)
        return VideoFrame(
            time=frame.time,
            image=np.asarray(image, dtype=np.uint8),
            pixel_aspect=frame.aspect * high / wide,
        )
