"""What a recording of a live session gets: exactly what its pipeline got, at the same times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from server.ingest import Ingest
from server.live_source import LiveSource
from server.live_timeline import SourceEvent
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds, VideoFrame


class Tee:
    """The source of a session, shown to ``recording`` as well while it is taken from."""

    def __init__(self, source: LiveSource, recording: Ingest) -> None:
        self._source = source
        self._recording = recording

    def take(self, most: int) -> list[SourceEvent]:
        """As :meth:`server.live_source.LiveSource.take`."""
        taken = self._source.take(most)
        for event in taken:
            if isinstance(event, AudioBlock):
                samples = event.samples[np.newaxis]
                self._recording.sound(samples, rate=SAMPLE_RATE, time=event.onset)
            elif isinstance(event, VideoFrame):
                self._recording.picture(
                    event.image, time=event.time, pixel_aspect=event.pixel_aspect
                )
        return taken

    def stop(self) -> None:
        """The session takes no more; nothing happens when it has ended by itself."""
        self._source.close("the session was cut off")


class Unheard:
    """Behind a recording: what passed it came from the session, which is only told of failures."""

    def __init__(self, source: Ingest) -> None:
        self._source = source

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None: ...

    def picture(
        self, image: NDArray[np.uint8], *, time: Seconds, pixel_aspect: float = 1.0
    ) -> None: ...

    def note(self, kind: str, text: str) -> None:
        self._source.note(kind, text)

    def close(self, reason: str) -> None: ...
