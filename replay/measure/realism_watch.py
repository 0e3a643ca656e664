"""What our own eyes and ears make of a clip, kept whole for measuring afterwards."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from replay.measure.realism_picture import PictureLook, look
from replay.media.still import STILL_SUFFIXES, read_still
from replay.source import open_source
from streaming.component import Chain
from streaming.config import config_path, load
from streaming.ego_motion import EgoMotion, EgoMotionSettings
from streaming.events import (
    AudioBlock,
    CameraMotion,
    Hand,
    HandsSeen,
    Seconds,
    Stroke,
    StrokeEnd,
    VideoFrame,
)
from streaming.hands import HandSettings, HandTracker
from streaming.stroke_settings import StrokeSettings
from streaming.strokes import StrokeDetector

LOOK_EVERY: Seconds = 0.25
"""How often a picture is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFrame:
    """One frame: which hands are in it, and where its background lies."""

    time: Seconds
    hands: tuple[Hand, ...]
    motion: CameraMotion


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenStroke:
    """A detected stroke; ``offset`` is None when the clip ended before the hold did."""

    onset: Seconds
    apex: Seconds
    offset: Seconds | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WatchedClip:
    """All that the measures need of one file.

    Attributes:
        name: The file's.
        photo: A photo, not a video.
        aspect: Displayed width over height.
        frames: In order of time.
        looks: A picture every :data:`LOOK_EVERY` seconds.
        grain: Standard deviation of what changes from one frame to the next where nothing does,
            levels; one for each look but the first, NaN where all moved.
        strokes: What the stroke detector said.
        bits_per_pixel: Of the coded video; NaN where unknown.
        sound: Mono at 16 kHz, empty without a sound track.
    """

    name: str
    photo: bool = False
    aspect: float = 4 / 3
    frames: tuple[SeenFrame, ...] = ()
    looks: tuple[PictureLook, ...] = ()
    grain: tuple[float, ...] = ()
    strokes: tuple[SeenStroke, ...] = ()
    bits_per_pixel: float = float("nan")
    sound: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))


def watch_clip(path: Path, settings: HandSettings) -> WatchedClip:
    """Play a file through hands, ego-motion and strokes, and measure its pictures.

    Raises:
        SourceError: If it cannot be played.
    """
    from streaming.models.hands import open_hands

    with contextlib.closing(open_hands(settings)) as detector:
        chain = Chain(
            [
                ("hands", HandTracker(detector, settings)),
                ("ego_motion", EgoMotion(load(EgoMotionSettings, config_path("ego_motion.toml")))),
                ("strokes", StrokeDetector(load(StrokeSettings, config_path("strokes.toml")))),
            ]
        )
        if path.suffix.lower() in STILL_SUFFIXES:
            return _watch_photo(path, chain)
        return _watch_video(path, chain)


def _watch_photo(path: Path, chain: Chain) -> WatchedClip:
    image = read_still(path)
    notes = _Notes()
    frame = VideoFrame(time=0.0, image=image)
    notes.take(frame, chain.push(frame))
    return WatchedClip(
        name=path.name,
        photo=True,
        aspect=frame.aspect,
        frames=tuple(notes.frames),
        looks=tuple(notes.looks),
    )


def _watch_video(path: Path, chain: Chain) -> WatchedClip:
    notes, sound, aspect = _Notes(), list[NDArray[np.float32]](), 4 / 3
    with contextlib.closing(open_source(path).events()) as events:
        for event in events:
            if isinstance(event, VideoFrame):
                aspect = event.aspect
                notes.take(event, chain.push(event))
            elif isinstance(event, AudioBlock):
                sound.append(event.samples)
    notes.finish(chain.finish())
    return WatchedClip(
        name=path.name,
        aspect=aspect,
        frames=tuple(notes.frames),
        looks=tuple(notes.looks),
        grain=tuple(notes.grain),
        strokes=notes.strokes(),
        bits_per_pixel=bits_per_pixel(path),
        sound=np.concatenate(sound) if sound else np.zeros(0, np.float32),
    )


class _Notes:
    """Collects what is said about one frame after the other."""

    def __init__(self) -> None:
        self.frames: list[SeenFrame] = []
        self.looks: list[PictureLook] = []
        self.grain: list[float] = []
        self._strokes: dict[int, Stroke] = {}
        self._ends: dict[int, Seconds] = {}
        self._before: NDArray[np.uint8] | None = None
        self._looked_at: Seconds | None = None

    def take(self, frame: VideoFrame, said: list[object]) -> None:
        seen = next((one for one in said if isinstance(one, HandsSeen)), None)
        motion = next((one for one in said if isinstance(one, CameraMotion)), None)
        self.finish(said)
        if seen is None or motion is None:
            return
        self.frames.append(SeenFrame(time=frame.time, hands=seen.hands, motion=motion))
        if self._looked_at is None or frame.time - self._looked_at >= LOOK_EVERY:
            self._looked_at = frame.time
            hand = max(seen.hands, key=lambda one: one.score, default=None)
            self.looks.append(look(frame.image, hand))
            if self._before is not None:
                self.grain.append(grain(self._before, frame.image))
        self._before = frame.image

    def finish(self, said: list[object]) -> None:
        for one in said:
            if isinstance(one, Stroke):
                self._strokes[one.index] = one
            elif isinstance(one, StrokeEnd):
                self._ends[one.index] = one.offset

    def strokes(self) -> tuple[SeenStroke, ...]:
        last = self.frames[-1].time if self.frames else 0.0
        found = []
        for index, stroke in sorted(self._strokes.items()):
            end = self._ends.get(index)
            offset = None if end is None or end >= last else end
            found.append(SeenStroke(onset=stroke.onset, apex=stroke.apex, offset=offset))
        return tuple(found)


def grain(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Standard deviation of what noise changes between two frames, levels.

    The least over tiles of the robust deviation of the difference over the square root of two: the
    tiles that hold still and have little texture.  NaN when the frames' sizes differ.
    """
    if before.shape != after.shape:
        return float("nan")
    one, other = (
        np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.float32) for image in (before, after)
    )
    step = max(16, min(one.shape) // 12)
    deviations = []
    for top in range(0, one.shape[0] - step + 1, step):
        for left in range(0, one.shape[1] - step + 1, step):
            part = np.s_[top : top + step, left : left + step]
            if 16 < one[part].mean() < 235:
                deviations.append(float((other[part] - one[part]).std()))
    return float(np.percentile(deviations, 10) / np.sqrt(2)) if deviations else float("nan")


def bits_per_pixel(path: Path) -> float:
    """Bits of coded video for each pixel of each frame; NaN without a video track."""
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                return float("nan")
            stream = container.streams.video[0]
            size = Fraction(stream.codec_context.width * stream.codec_context.height)
            total = frames = 0
            for packet in container.demux(stream):
                if packet.size:
                    total, frames = total + packet.size, frames + 1
    except av.FFmpegError:
        return float("nan")
    return float(8 * total / (size * frames)) if size and frames else float("nan")
