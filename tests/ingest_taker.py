"""An ingest that keeps all that it is given, for tests of what delivers to one."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streaming.events import VideoFrame
from tests.media_maker import flashes


@dataclass(slots=True)
class Taken:
    """What came, in order of arrival by kind."""

    sounds: list[tuple[float, int, NDArray[np.float32]]] = field(default_factory=list)
    frames: list[VideoFrame] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: float) -> None:
        self.sounds.append((time, rate, samples))

    def picture(self, image: NDArray[np.uint8], *, time: float, pixel_aspect: float = 1.0) -> None:
        self.frames.append(VideoFrame(time=time, image=image, pixel_aspect=pixel_aspect))

    def note(self, kind: str, text: str) -> None:
        self.notes.append((kind, text))

    def close(self, reason: str) -> None:
        self.closed.append(reason)
        self.ended.set()

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.notes]

    def clicks(self, *, apart: float = 0.2) -> list[float]:
        """When the bursts of :func:`tests.media_maker.write_clip` begin."""
        found: list[float] = []
        for time, rate, samples in self.sounds:
            for at in np.flatnonzero(np.abs(samples).max(axis=0) > 0.3):
                onset = time + float(at) / rate
                if not found or onset - found[-1] > apart:
                    found.append(onset)
        return found

    def flashes(self) -> list[float]:
        return flashes(self.frames)
