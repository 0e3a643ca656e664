"""A clip's file as the film of a stream, and the same up to a moment of it.

A film that is cut is decoded and encoded again (H.264 and AAC in MP4), since a file cut between
packets would hold later pictures or refer to them. It is what the source plays: upright, square
pixels, sound and picture on the one timeline of :mod:`replay.source`. The same file and moment give
the same bytes: one thread, no dates.
"""

from __future__ import annotations

import io
import math
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from replay.media.aria import VRS_SUFFIX
from replay.media.opening import Kind
from replay.media.packets import PacketReader
from replay.media.still import STILL_SUFFIXES
from replay.media.survey import survey
from replay.source import SourceInfo, open_source
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds, VideoFrame

MAX_SIDE = 1280
"""Longest side of a film that is cut, pixels."""
MOST_BYTES = 12 << 20
"""A film that is cut is encoded to stay below this, about; providers take 20 MB in a request."""
_TICKS = 90_000
_AUDIO_BIT_RATE = 64_000
_HIGHEST_BIT_RATE = 4_000_000
_CRF = 23
_SAME = 1e-3
"""Times nearer than this are one: sound is counted in samples, files in ticks."""


class FileFilm:
    """The film of a clip: a :class:`streaming.grounding_prefix.Film`.

    Args:
        path: A file that :func:`replay.source.open_source` plays.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end: Seconds | None = None

    def until(self, time: Seconds) -> bytes:
        """The file as it is when nothing of it lies after ``time``, else an MP4 that ends there.

        A still picture and a VRS recording are always made a film.

        Raises:
            ValueError: If nothing lies before ``time``, or the file cannot be played.
        """
        is_film = self._path.suffix.lower() not in {*STILL_SUFFIXES, VRS_SUFFIX}
        if is_film and time >= self.end - _SAME:
            return self._path.read_bytes()
        return cut_film(self._path, time)

    @property
    def end(self) -> Seconds:
        """Media time of the last picture, or of the end of the sound when that is later."""
        if self._end is None:
            self._end = _end_of(self._path)
        return self._end


def _end_of(path: Path) -> Seconds:
    """From the packets' times; nothing is decoded but the beginning."""
    _, origin = survey(path)
    ends = [Fraction(0)]
    with PacketReader(path) as reader:
        for kind, stream in reader.streams.items():
            base = stream.time_base or Fraction(1)
            while (packet := reader.next_packet(kind)) is not None:
                if packet.pts is not None and not packet.is_discard:
                    length = (packet.duration or 0) if kind == "audio" else 0
                    ends.append(_within((packet.pts + length) * base, kind, reader) - origin)
    return float(max(ends))


def _within(time: Fraction, kind: Kind, reader: PacketReader) -> Fraction:
    """A packet's end, but no later than its track's: the rest is an encoder's padding."""
    stream = reader.streams[kind]
    if kind != "audio" or not stream.duration or reader.epochs.jumps:
        return time
    end = ((stream.start_time or 0) + stream.duration) * (stream.time_base or Fraction(1))
    return min(time, end)


def cut_film(path: Path, time: Seconds) -> bytes:
    """An MP4 of what ``path`` plays up to ``time``: frames at or before it, sound before it.

    Raises:
        ValueError: If nothing lies before ``time``, or the file cannot be played.
    """
    source = open_source(path, until=time, max_side=MAX_SIDE)
    film = _FilmWriter(source.info, seconds=max(time, 0.5))
    for event in source.events():
        match event:
            case VideoFrame():
                film.picture(event)
            case AudioBlock():
                film.sound(event.samples)
    content = film.close()
    if not content:
        raise ValueError(f"{path.name}: nothing of it lies before {time:.3f} s")
    return content


class _FilmWriter:
    """Encodes pictures and sound into an MP4 in memory.

    The tracks are made when the first picture comes, or at the end without one, so that a film has
    no empty track.
    """

    def __init__(self, info: SourceInfo, *, seconds: Seconds) -> None:
        self._info = info
        self._bit_rate = min(_HIGHEST_BIT_RATE, int(8 * MOST_BYTES / seconds))
        self._content = io.BytesIO()
        self._container: OutputContainer | None = None
        self._video: VideoStream | None = None
        self._audio: AudioStream | None = None
        self._waiting: list[NDArray[np.float32]] = []
        self._samples = 0

    def picture(self, frame: VideoFrame) -> None:
        if self._container is None:
            self._open(frame)
        assert self._container is not None
        assert self._video is not None
        made = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame.image), format="rgb24")
        made = made.reformat(
            width=self._video.width, height=self._video.height, format="yuv420p", threads=1
        )
        # Rounded down: no picture may come after the moment of the cut.
        made.pts, made.time_base = math.floor(frame.time * _TICKS), Fraction(1, _TICKS)
        self._container.mux(self._video.encode(made))

    def sound(self, samples: NDArray[np.float32]) -> None:
        if not self._info.audio or samples.size == 0:
            return
        if self._container is None:
            self._waiting.append(samples)
            return
        self._encode_sound(samples)

    def close(self) -> bytes:
        """The whole file; empty when there was neither picture nor sound."""
        if self._container is None and not self._waiting:
            return b""
        if self._container is None:
            self._open(None)
        assert self._container is not None
        for stream in (self._video, self._audio):
            if stream is not None:
                self._container.mux(stream.encode(None))
        self._container.close()
        return self._content.getvalue()

    def _open(self, first: VideoFrame | None) -> None:
        # Edit lists, which say how late a track begins, count in the movie's ticks.
        options = {"fflags": "+bitexact", "movie_timescale": str(_TICKS)}
        self._container = av.open(self._content, "w", format="mp4", options=options)
        if first is not None:
            self._video = self._video_track(self._container, first)
        if self._info.audio:
            stream = self._container.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
            self._audio = stream
            self._audio.options = {"flags": "+bitexact"}
            self._audio.bit_rate = _AUDIO_BIT_RATE
        waiting, self._waiting = self._waiting, []
        for samples in waiting:
            self._encode_sound(samples)

    def _video_track(self, container: OutputContainer, first: VideoFrame) -> VideoStream:
        rate = Fraction(self._info.fps or 30.0).limit_denominator(1001)
        video = container.add_stream("libx264", rate=rate)
        height, width = first.image.shape[:2]
        # Square pixels, and the even sides that 4:2:0 needs.
        video.width = max(2, round(width * first.pixel_aspect / 2) * 2)
        video.height = max(2, round(height / 2) * 2)
        video.pix_fmt = "yuv420p"
        video.codec_context.time_base = Fraction(1, _TICKS)
        video.codec_context.thread_count = 1
        kilobits = self._bit_rate // 1000
        # With mbtree, x264 gives other bytes each time for some heights; B-frames would need an
        # edit list, and some readers take no notice of it.
        video.options = {
            "crf": str(_CRF),
            "preset": "veryfast",
            "bf": "0",
            "maxrate": f"{kilobits}k",
            "bufsize": f"{2 * kilobits}k",
            "flags": "+bitexact",
            "x264-params": "mbtree=0",
        }
        return video

    def _encode_sound(self, samples: NDArray[np.float32]) -> None:
        assert self._container is not None
        assert self._audio is not None
        planes = np.ascontiguousarray(samples.reshape(1, -1), dtype=np.float32)
        frame = av.AudioFrame.from_ndarray(planes, format="fltp", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        frame.pts, frame.time_base = self._samples, Fraction(1, SAMPLE_RATE)
        self._samples += samples.size
        self._container.mux(self._audio.encode(frame))
