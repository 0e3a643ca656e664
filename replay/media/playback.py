"""One run through a file: two decoders, merged by availability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.layout import AudioChannel
from av.packet import Packet
from av.stream import Stream
from av.video.frame import VideoFrame as DecodedPicture
from numpy.typing import NDArray

from replay.media.mixing import Samples
from replay.media.opening import Kind
from replay.media.packets import PacketReader
from replay.media.picture import PictureTrack
from replay.media.sound import SoundTrack
from streaming.events import AudioBlock, Seconds, SourceNote, VideoFrame

MediaEvent: TypeAlias = AudioBlock | VideoFrame | SourceNote

ENDED_SECONDS = 0.1
"""Sound that ends this long before the pictures is worth a note."""
LOWEST_RATE, HIGHEST_RATE = 2_000, 6_000_000
"""Sampling rates outside of this, in hertz, are damage: the slowest codec has 4 kHz."""
_LONGEST_PICTURE = 10.0
_SHORTEST_PICTURE = 0.002
_USUAL_PICTURE = 1 / 30
_NAMES: dict[Kind, str] = {"audio": "sound", "video": "picture"}


def note(kind: str, time: Seconds, text: str) -> SourceNote:
    """A note about one instant."""
    return SourceNote(kind=kind, onset=time, offset=time, text=text)


def sound_samples(frame: AudioFrame) -> Samples:
    """A decoded frame as float32 in -1...1, shape ``(channels, n)``, effect channels left out.

    Raises:
        ValueError: If its sample format has no numpy counterpart.
    """
    array: NDArray[Any] = frame.to_ndarray()
    if not frame.format.is_planar:
        array = array.reshape(-1, frame.layout.nb_channels).T
    if len(array) > 2:
        heard = [
            index for index, channel in enumerate(frame.layout.channels) if not _rumbles(channel)
        ]
        array = array[heard or [0]]
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    middle = 128.0 if array.dtype == np.uint8 else 0.0
    scale = 2.0 ** (8 * array.dtype.itemsize - 1)
    return ((array.astype(np.float64) - middle) / scale).astype(np.float32)


def _rumbles(channel: AudioChannel) -> bool:
    """Whether a channel carries low-frequency effects, of which speech has none."""
    return channel.name.startswith("LFE")


class _Feed(ABC):
    """One stream, decoded on demand: its coming events with their availability."""

    def __init__(self, kind: Kind, reader: PacketReader, origin: Fraction) -> None:
        self._kind = kind
        self._reader = reader
        self._stream = reader.streams[kind]
        self._base = self._stream.time_base or Fraction(1)
        self._origin = origin
        self._ahead: deque[tuple[Seconds, MediaEvent]] = deque()
        self._ended = False
        self._last: Seconds = 0.0

    def head(self) -> Seconds | None:
        """When the next event is available; None at the end of the stream."""
        while not self._ahead and not self._ended:
            packet = self._reader.next_packet(self._kind)
            for fault in self._reader.faults:
                self._say(note("broken_packet", self._last, f"a read failed: {fault}"))
            self._reader.faults.clear()
            if packet is not None and packet.opaque is not None:
                self._say(self._jump(packet))
            for frame in self._decode(packet):
                for event in self._events(frame):
                    self._say(event)
            if packet is None:
                self._ended = True
                for event in self._rest():
                    self._say(event)
        return self._ahead[0][0] if self._ahead else None

    def take(self) -> MediaEvent:
        """The next event, after :meth:`head` said that there is one."""
        return self._ahead.popleft()[1]

    @abstractmethod
    def _events(self, frame: Any) -> list[MediaEvent]:
        """What a decoded frame brings."""

    @abstractmethod
    def _rest(self) -> list[MediaEvent]:
        """What the end of the stream brings."""

    def _say(self, event: MediaEvent) -> None:
        available = event.time if isinstance(event, VideoFrame) else event.offset
        self._last = max(self._last, available)
        self._ahead.append((self._last, event))

    def _time(self, pts: int | None) -> Seconds | None:
        return None if pts is None else float(pts * self._base - self._origin)

    def _decode(self, packet: Packet[Stream] | None) -> list[Any]:
        try:
            return list(self._stream.codec_context.decode(packet))  # type: ignore[attr-defined]
        except av.error.EOFError:
            return []
        except (av.FFmpegError, ValueError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            text = f"{_NAMES[self._kind]} packet after {self._last:.3f} s: {reason}"
            self._say(note("broken_packet", self._last, text))
            return []

    def _jump(self, packet: Packet[Stream]) -> SourceNote:
        jump = packet.opaque
        text = f"timestamps jump by {jump.step:+.3f} s; time goes on"  # type: ignore[attr-defined]
        return note("time_jump", self._last, text)


class _SoundFeed(_Feed):
    def __init__(self, reader: PacketReader, origin: Fraction, track: SoundTrack) -> None:
        super().__init__("audio", reader, origin)
        self._track = track

    def _events(self, frame: AudioFrame) -> list[MediaEvent]:
        try:
            samples = sound_samples(frame)
        except ValueError as error:
            return [note("broken_packet", self._last, f"sound after {self._last:.3f} s: {error}")]
        if not LOWEST_RATE <= frame.sample_rate <= HIGHEST_RATE:
            text = f"sound after {self._last:.3f} s has a rate of {frame.sample_rate} Hz"
            return [note("broken_packet", self._last, text)]
        if samples.size == 0:
            return []
        return [*self._track.push(self._time(frame.pts), samples, rate=frame.sample_rate)]

    def _rest(self) -> list[MediaEvent]:
        return [*self._track.finish()]


class _PictureFeed(_Feed):
    def __init__(self, reader: PacketReader, origin: Fraction, track: PictureTrack) -> None:
        super().__init__("video", reader, origin)
        self._track = track
        rate = self._stream.guessed_rate or self._stream.average_rate
        self._usual = float(1 / rate) if rate else _USUAL_PICTURE

    def _events(self, frame: DecodedPicture) -> list[MediaEvent]:
        time = self._time(frame.pts if frame.pts is not None else frame.dts)
        if time is None:
            time = 0.0 if self._track.last is None else self._track.end
        duration = float((frame.duration or 0) * self._base)
        if duration < _SHORTEST_PICTURE:
            duration = max(duration, self._usual)
        return [*self._track.push(time, frame, min(duration, _LONGEST_PICTURE))]

    def _rest(self) -> list[MediaEvent]:
        return []


class Feed(Protocol):
    """One stream's coming events."""

    def head(self) -> Seconds | None:
        """When the next event is available; None at the end of the stream."""
        ...

    def take(self) -> MediaEvent:
        """The next event, after :meth:`head` said that there is one."""
        ...


class Playback:
    """The events of a file from its start, in order of availability.

    Args:
        path: A file that :func:`replay.media.opening.open_container` accepts.
        origin: Container time of media time 0, seconds.
        max_side: See :func:`replay.media.picture.fitted`.
    """

    def __init__(self, path: Path, *, origin: Fraction, max_side: int | None = None) -> None:
        reader = PacketReader(path)
        streams = reader.streams
        self._reader: AbstractContextManager[object] = reader
        self._sound = SoundTrack()
        ratio = getattr(streams.get("video"), "sample_aspect_ratio", None)
        self._picture = PictureTrack(ratio=ratio, max_side=max_side)
        self._sounds: Feed | None = (
            _SoundFeed(reader, origin, self._sound) if "audio" in streams else None
        )
        self._pictures: Feed | None = (
            _PictureFeed(reader, origin, self._picture) if "video" in streams else None
        )

    def events(self) -> Generator[tuple[Seconds, MediaEvent]]:
        """Pairs of when an event is available, rising, and the event. Runs once."""
        with self._reader:
            yield from self._missing()
            while True:
                sound = None if self._sounds is None else self._sounds.head()
                picture = None if self._pictures is None else self._pictures.head()
                if sound is not None and (picture is None or sound <= picture):
                    assert self._sounds is not None
                    yield sound, self._sounds.take()
                elif picture is not None:
                    assert self._pictures is not None
                    if sound is None:
                        yield from _keyed(self._sound.silence_before(picture))
                    yield picture, self._pictures.take()
                else:
                    break
            yield from self._end()

    def _missing(self) -> Iterator[tuple[Seconds, MediaEvent]]:
        for kind, feed in (("audio", self._sounds), ("video", self._pictures)):
            if feed is None:
                yield 0.0, note(f"no_{kind}", 0.0, f"no {kind} track that can be decoded")

    def _end(self) -> Iterator[tuple[Seconds, MediaEvent]]:
        heard, seen = self._sound.heard_until, self._picture.end
        yield from _keyed(self._sound.silence(seen))
        yield from _keyed(self._sound.close())
        end = max(heard, seen)
        if self._sound.heard and seen - heard > ENDED_SECONDS:
            text = f"sound ends at {heard:.3f} s, the pictures at {seen:.3f} s"
            yield end, SourceNote(kind="audio_ended", onset=heard, offset=seen, text=text)
        if self._sounds is not None and not self._sound.heard:
            yield end, note("no_audio", end, "the audio track yielded nothing")
        if self._pictures is not None and self._picture.last is None:
            yield end, note("no_video", end, "the video track yielded nothing")


def _keyed(events: list[Any]) -> Iterator[tuple[Seconds, MediaEvent]]:
    for event in events:
        yield event.offset, event
