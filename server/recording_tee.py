"""What a recording of a live session gets: exactly what its pipeline got, at the same times.

A picture goes into the recording when the session has looked at it: what it had to leave out is not
there for a replay to see either. So that the file can say when each was taken, pictures have whole
milliseconds, Matroska's own step, before the session sees them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.ingest import Ingest
from server.live_source import LiveSource
from server.live_timeline import SourceEvent
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds, VideoFrame

_MOST_HELD = 64
"""Far more than may be between the source and sight."""


class Tee:
    """The source of a session, shown to ``recording`` as well while it is taken from.

    Args:
        source: Of the session.
        recording: Gets the sound as it is taken, and pictures when :meth:`told` says that they were
            looked at.
    """

    def __init__(self, source: LiveSource, recording: Ingest) -> None:
        self._source = source
        self._recording = recording
        self._held: deque[VideoFrame] = deque(maxlen=_MOST_HELD)
        self._turn = threading.Lock()

    def take(self, most: int) -> list[SourceEvent]:
        """As :meth:`server.live_source.LiveSource.take`."""
        return [self._shown(event) for event in self._source.take(most)]

    def _shown(self, event: SourceEvent) -> SourceEvent:
        if isinstance(event, AudioBlock):
            samples = event.samples[np.newaxis]
            self._recording.sound(samples, rate=SAMPLE_RATE, time=event.onset)
        elif isinstance(event, VideoFrame):
            event = replace(event, time=round(event.time, 3))
            with self._turn:
                self._held.append(event)
        return event

    def told(self, line: dict[str, Any]) -> None:
        """Take a line of the session's trace: which picture was looked at, and which left out."""
        match line:
            case {"type": "HandsSeen", "time": seen}:
                for frame in self._let_go(lambda time: time <= seen):
                    if frame.time == seen:
                        self._recording.picture(
                            frame.image, time=frame.time, pixel_aspect=frame.pixel_aspect
                        )
            case {"type": "Skipped", "what": "frame", "onset": skipped}:
                self._let_go(lambda time: time == skipped)

    def _let_go(self, gone: Callable[[Seconds], bool]) -> list[VideoFrame]:
        with self._turn:
            out = [frame for frame in self._held if gone(frame.time)]
            kept = [frame for frame in self._held if not gone(frame.time)]
            self._held.clear()
            self._held.extend(kept)
        return out

    def stop(self) -> None:
        """The session takes no more; nothing happens when it has ended by itself."""
        self._source.close("the session was cut off")


class Unheard:
    """Behind a recording: what passed it came from the session, which is only told of failures.

    Args:
        source: Gets the note.
        failed: Told that the recording has ended by itself, from any thread.
    """

    def __init__(self, source: Ingest, failed: Callable[[], None]) -> None:
        self._source = source
        self._failed = failed

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None: ...

    def picture(
        self, image: NDArray[np.uint8], *, time: Seconds, pixel_aspect: float = 1.0
    ) -> None: ...

    def note(self, kind: str, text: str) -> None:
        self._source.note(kind, text)
        self._failed()

    def close(self, reason: str) -> None: ...
