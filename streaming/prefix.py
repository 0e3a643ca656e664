"""Still frames of the stream so far, at equal steps: what a model is shown of all of it.

The frame of a moment ``k * step`` is the newest one at that time, never a later one: EcoG-Bench's
index ``int(t * fps)``, said in times. A moment before the first frame has none, and a frame that
would serve two moments (a slow camera) is kept once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from streaming.events import AudioBlock, Seconds, VideoFrame
from streaming.grounding_prefix import Film, Prefix, PrefixFrame
from streaming.picture_jpeg import jpeg_of, square_pixels

_FEWEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixSettings:
    """Settings of :class:`SampledFrames`, see ``configs/prefix.toml``.

    Attributes:
        step: Seconds between moments.
        most: Most frames that are kept.
        side: Longest side, pixels.
        quality: Of the JPEG, 1 to 100.
    """

    step: Seconds = 0.5
    most: int = 64
    side: int = 1024
    quality: int = 90

    def __post_init__(self) -> None:
        if self.step <= 0 or self.side < 1 or not 1 <= self.quality <= 100:
            raise ValueError(
                f"step {self.step} and side {self.side} must be positive, quality {self.quality} "
                "1 to 100"
            )
        if self.most < _FEWEST:
            raise ValueError(f"most is {self.most}, expected {_FEWEST} or more")


class SampledFrames:
    """Takes every frame of a stream and keeps the sampled ones.

    Memory is bounded: when there are more than ``most``, every second one of the older half goes.

    Attributes:
        newest: The newest frame, or None.
    """

    def __init__(self, settings: PrefixSettings | None = None) -> None:
        self._settings = settings or PrefixSettings()
        self._kept: list[PrefixFrame] = []
        self._moment = 0
        self.newest: VideoFrame | None = None

    def add(self, frame: VideoFrame) -> None:
        """Take the next frame; times rise."""
        # All moments up to this frame are the one before's, but for the last where it is due.
        due = math.floor(frame.time / self._settings.step + 1e-9)
        on_time = due * self._settings.step >= frame.time
        before = due - 1 if on_time else due
        if self.newest is not None and before >= self._moment:
            self._keep(self.newest, self._moment)
        if on_time:
            self._keep(frame, due)
        self._moment = max(self._moment, due + 1)
        self.newest = frame

    def up_to(self, time: Seconds) -> tuple[PrefixFrame, ...]:
        """The frames of the moments up to ``time``, by time."""
        return tuple(frame for frame in self._kept if frame.sampled_at <= time)

    def _keep(self, frame: VideoFrame, moment: int) -> None:
        if self._kept and self._kept[-1].time == frame.time:
            return
        shown = square_pixels(
            frame.image, pixel_aspect=frame.pixel_aspect, side=self._settings.side
        )
        self._kept.append(
            PrefixFrame(
                time=frame.time,
                sampled_at=moment * self._settings.step,
                jpeg=jpeg_of(shown, quality=self._settings.quality),
            )
        )
        if len(self._kept) > self._settings.most:
            half = len(self._kept) // 2
            self._kept = [*self._kept[:half:2], *self._kept[half:]]


def prefix_of(
    events: Iterable[Any], settings: PrefixSettings | None = None, *, film: Film | None = None
) -> Prefix:
    """The prefix that a session would have gathered of ``events``, all of them.

    Args:
        events: Of a source, in order; only frames matter.
        settings: How frames are sampled.
        film: Where the same stream can be had as a film.
    """
    sampled = SampledFrames(settings)
    for event in events:
        if isinstance(event, VideoFrame):
            sampled.add(event)
    return Prefix(frames=sampled.up_to(math.inf), film=film)


def reach(event: Any) -> Seconds:
    """How far into the stream a source's event reaches; 0 for what is neither sound nor picture."""
    match event:
        case VideoFrame():
            return event.time
        case AudioBlock():
            return event.offset
    return 0.0
