"""What is in media files, by playing them: times, size, rate, faults, and what decoding costs.

Times are seconds on the shared timeline, after the container's start is taken off. Decoding speed
is media seconds per CPU second of this process, pictures converted to RGB and sound to 16 kHz mono.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from replay.source import SourceError, SourceInfo, open_source
from streaming.clock import Stopwatch
from streaming.events import AudioBlock, Seconds, SourceNote, VideoFrame

_STEADY_SHARE = 0.1
_TICK_SECONDS = 0.0015


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """The pictures of one file.

    Attributes:
        frames: How many came.
        first, last: Times of the first and the last one.
        width, height: Upright.
        rotation: Degrees counter-clockwise that were applied.
        pixel_aspect: Width over height of a pixel.
        nominal_fps: As declared; 0 when unknown.
        average_fps: As played: intervals over the time from first to last; 0 for one frame.
        shortest, longest: Interval between neighbours; 0 for one frame.
        steady: Every interval is the median one, give or take a tenth and a millisecond's rounding.
        codec: FFmpeg's name.
    """

    frames: int
    first: Seconds
    last: Seconds
    width: int
    height: int
    rotation: int
    pixel_aspect: float
    nominal_fps: float
    average_fps: float
    shortest: Seconds
    longest: Seconds
    steady: bool
    codec: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """The sound of one file.

    Attributes:
        first, last: Where it begins and ends, silence that only fills up left out.
        sample_rate, channels, codec: As stored.
        peak: Largest absolute sample, 0...1.
    """

    first: Seconds
    last: Seconds
    sample_rate: int
    channels: int
    codec: str
    peak: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One file; ``error`` alone when it cannot be played.

    Attributes:
        path: As given.
        container: FFmpeg's name of the format.
        start: Container time of media time 0.
        declared: Duration that the container declares, or None.
        duration: Where the last block ends.
        video, audio: None when absent or empty.
        notes: How many of each kind.
        cpu_seconds: What playing it cost.
    """

    path: str
    container: str = ""
    start: Seconds = 0.0
    declared: Seconds | None = None
    duration: Seconds = 0.0
    video: Pictures | None = None
    audio: Sound | None = None
    notes: dict[str, int] = field(default_factory=dict)
    cpu_seconds: float = 0.0
    error: str | None = None

    @property
    def speed(self) -> float | None:
        """Media seconds per CPU second, or None when nothing was played."""
        return self.duration / self.cpu_seconds if self.duration and self.cpu_seconds else None

    def as_json(self) -> dict[str, Any]:
        """Plain values, ``speed`` included."""
        return asdict(self) | {"speed": self.speed}


def measure_file(path: Path, *, max_side: int | None = None) -> Measured:
    """Play ``path`` once and say what came."""
    watch = Stopwatch()
    try:
        source = open_source(path, max_side=max_side)
        times: list[Seconds] = []
        notes: list[SourceNote] = []
        end, peak = 0.0, 0.0
        for event in source.events():
            match event:
                case VideoFrame():
                    times.append(event.time)
                case AudioBlock():
                    end = event.offset
                    peak = max(peak, float(np.abs(event.samples).max()))
                case SourceNote():
                    notes.append(event)
    except SourceError as error:
        reason = str(error).removeprefix(f"{path}: ")
        return Measured(path=str(path), error=reason, cpu_seconds=watch.cpu())
    counts = Counter(note.kind for note in notes)
    return Measured(
        path=str(path),
        container=source.info.container,
        start=source.info.start,
        declared=source.info.duration,
        duration=end,
        video=_pictures(times, source.info) if times else None,
        audio=_sound(notes, end, peak, source.info) if "no_audio" not in counts else None,
        notes=dict(sorted(counts.items())),
        cpu_seconds=watch.cpu(),
    )


def _pictures(times: list[Seconds], info: SourceInfo) -> Pictures:
    intervals = np.diff(times) if len(times) > 1 else np.zeros(1)
    typical = float(np.median(intervals))
    allowed = _STEADY_SHARE * typical + _TICK_SECONDS
    span = times[-1] - times[0]
    return Pictures(
        frames=len(times),
        first=times[0],
        last=times[-1],
        width=info.width,
        height=info.height,
        rotation=info.rotation,
        pixel_aspect=info.pixel_aspect,
        nominal_fps=info.nominal_fps,
        average_fps=(len(times) - 1) / span if span else 0.0,
        shortest=float(intervals.min()),
        longest=float(intervals.max()),
        steady=bool(np.abs(intervals - typical).max() <= allowed),
        codec=info.video_codec,
    )


def _sound(notes: list[SourceNote], end: Seconds, peak: float, info: SourceInfo) -> Sound:
    late = next((note.offset for note in notes if note.kind == "audio_late"), 0.0)
    ended = next((note.onset for note in notes if note.kind == "audio_ended"), end)
    return Sound(
        first=late,
        last=ended,
        sample_rate=info.sample_rate,
        channels=info.channels,
        codec=info.audio_codec,
        peak=peak,
    )
