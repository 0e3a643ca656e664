"""A look at the beginning of a file: what is in it, and where its timeline begins."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.audio.stream import AudioStream
from av.stream import Stream
from av.video.frame import VideoFrame as DecodedPicture
from av.video.stream import VideoStream

from replay.media.opening import KINDS, MAX_PIXELS, Kind, SourceError
from replay.media.packets import PacketReader
from replay.media.picture import fitted, orientation, pixel_aspect
from streaming.events import Seconds

_ENCODER_DELAY = Fraction(1, 10)
_LONGEST_LEAD_IN = 60
_SURVEY_PACKETS = 64
_SURVEY_BYTES = 16 << 20
_PLAUSIBLE_FPS = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInfo:
    """What is known of a clip before it plays.

    Attributes:
        name: File name.
        duration: Seconds as declared, or None; the last event may differ.
        width, height: Of the frames as they will come (upright, after ``max_side``), or 0.
        fps: Average frames a second as declared, else the nominal rate; 0 when unknown.
        nominal_fps: The rate that the times are multiples of; 0 when unknown.
        video, audio: Whether there is such a stream and it can be decoded.
        start: Container time of media time 0.
        rotation: Quarter turns counter-clockwise that were applied, in degrees: 0, 90, 180, 270.
        mirrored: Whether left and right were swapped before turning.
        pixel_aspect: Width over height of a displayed pixel.
        container, video_codec, audio_codec: FFmpeg's names, empty when there is none.
        sample_rate, channels: Of the sound as stored; 0 without sound.
    """

    name: str
    duration: Seconds | None
    width: int
    height: int
    fps: float
    nominal_fps: float
    video: bool
    audio: bool
    start: Seconds = 0.0
    rotation: int = 0
    mirrored: bool = False
    pixel_aspect: float = 1.0
    container: str = ""
    video_codec: str = ""
    audio_codec: str = ""
    sample_rate: int = 0
    channels: int = 0


def survey(path: Path, *, max_side: int | None = None) -> tuple[SourceInfo, Fraction]:
    """What ``path`` holds, and the container time of its media time 0.

    Decodes up to the first frame of each stream, reading at most 16 MB.

    Raises:
        SourceError: If nothing can be played from it.
    """
    with PacketReader(path) as reader:
        if not reader.streams:
            raise SourceError(f"{path}: has neither video nor sound that can be decoded")
        _check_size(path, reader.streams.get("video"))
        first, ended = _first_frames(reader)
        if ended and not first:
            raise SourceError(
                f"{path}: not one frame or sound in it can be decoded, the file is damaged; "
                "copy or record it again"
            )
        picture = first.get("video")
        origin = _origin(reader.streams, first)
        return _describe(path, reader, picture, origin, max_side), origin


def _first_frames(reader: PacketReader) -> tuple[dict[Kind, object], bool]:
    """The first decoded frame of each stream, and whether the file ended before all came."""
    first: dict[Kind, object] = {}
    taken = 0
    for kind in KINDS:
        stream = reader.streams.get(kind)
        if stream is None:
            continue
        for _ in range(_SURVEY_PACKETS):
            if taken > _SURVEY_BYTES:
                return first, False
            packet = reader.next_packet(kind)
            taken += packet.size if packet is not None else 0
            try:
                frames = stream.codec_context.decode(packet)  # type: ignore[attr-defined]
            except (av.FFmpegError, ValueError, MemoryError):
                frames = []
            if frames:
                first[kind] = frames[0]
                break
            if packet is None:
                break
        else:
            return first, False
    return first, True


def _origin(streams: dict[Kind, Stream], first: dict[Kind, object]) -> Fraction:
    declared = [
        stream.start_time * stream.time_base
        for stream in streams.values()
        if stream.start_time is not None and stream.time_base is not None
    ]
    decoded = [
        frame.pts * base  # type: ignore[attr-defined]
        for kind, frame in first.items()
        if frame.pts is not None and (base := streams[kind].time_base) is not None  # type: ignore[attr-defined]
    ]
    if not declared or not decoded:
        return Fraction(min(declared or decoded or [Fraction(0)]))
    lead_in = min(decoded) - min(declared)
    if _ENCODER_DELAY <= lead_in <= _LONGEST_LEAD_IN:
        return Fraction(min(declared))
    return Fraction(min(decoded))


def _check_size(path: Path, stream: Stream | None) -> None:
    if isinstance(stream, VideoStream):
        width, height = stream.codec_context.width, stream.codec_context.height
        if width * height > MAX_PIXELS:
            raise SourceError(f"{path}: {width}x{height} pixels is too large; scale it down")


def _describe(
    path: Path,
    reader: PacketReader,
    picture: object | None,
    origin: Fraction,
    max_side: int | None,
) -> SourceInfo:
    video, audio = reader.streams.get("video"), reader.streams.get("audio")
    turns, mirrored, width, height, aspect, fps, nominal = 0, False, 0, 0, 1.0, 0.0, 0.0
    if isinstance(video, VideoStream):
        width, height = video.codec_context.width, video.codec_context.height
        if isinstance(picture, DecodedPicture):
            turns, mirrored = orientation(picture)
            width, height = picture.width, picture.height
        width, height = fitted(width, height, max_side)
        if turns % 2:
            width, height = height, width
        aspect = pixel_aspect(video.sample_aspect_ratio, turns)
        nominal = _rate(video.guessed_rate)
        fps = _rate(video.average_rate) or nominal
    sound = audio if isinstance(audio, AudioStream) else None
    return SourceInfo(
        name=path.name,
        duration=_duration(reader, origin),
        width=width,
        height=height,
        fps=fps,
        nominal_fps=nominal,
        video=video is not None,
        audio=audio is not None,
        start=float(origin),
        rotation=turns * 90,
        mirrored=mirrored,
        pixel_aspect=aspect,
        container=reader.container.format.name,
        video_codec="" if video is None else video.codec_context.name,
        audio_codec="" if audio is None else audio.codec_context.name,
        sample_rate=0 if sound is None else sound.codec_context.sample_rate,
        channels=0 if sound is None else sound.codec_context.layout.nb_channels,
    )


def _rate(rate: Fraction | None) -> float:
    value = float(rate) if rate else 0.0
    return value if 0.0 < value <= _PLAUSIBLE_FPS else 0.0


def _duration(reader: PacketReader, origin: Fraction) -> Seconds | None:
    container = reader.container
    if container.duration is None or container.duration <= 0:
        return None
    start = Fraction(container.start_time or 0, av.time_base)
    return max(0.0, float(start + Fraction(container.duration, av.time_base) - origin))
