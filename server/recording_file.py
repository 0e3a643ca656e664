"""One recorded file: Matroska whose times are the session's own.

* **Times** are those of the session, not rebased, rounded to Matroska's millisecond. What is
  recorded from a session's start on replays with exactly the session's timeline: its sound begins
  at 0, with silence where there was none yet.
* **Sound** is what the session itself hears: mono at 16 kHz, laid on the timeline by the same rules
  as a file's (:mod:`replay.media.sound`), stored as float32 without loss.
* **Pictures** are H.264 without any loss (RGB), so that a replay sees what the session saw; where
  that takes too long or is not wanted H.264 of the usual kind, and where that takes too long JPEGs.
  They keep the size of the first one, as replayed files do.
* A file that ends badly can be read up to its last second.
"""

from __future__ import annotations

import errno
import os
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.frame import VideoFrame as EncodedPicture
from av.video.stream import VideoStream
from numpy.typing import NDArray

from streaming.clock import Stopwatch
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds, VideoFrame

PictureCodec: TypeAlias = Literal["libx264rgb", "libx264", "mjpeg"]
LOSSLESS: PictureCodec = "libx264rgb"

_TICK = Fraction(1, 1000)
_FORMATS: dict[PictureCodec, str] = {
    "libx264rgb": "rgb24",
    "libx264": "yuv420p",
    "mjpeg": "yuvj420p",
}
_OPTIONS: dict[PictureCodec, dict[str, str]] = {
    "libx264rgb": {"preset": "ultrafast", "tune": "zerolatency", "qp": "0", "g": "60"},
    "libx264": {"preset": "ultrafast", "tune": "zerolatency", "crf": "20", "g": "60"},
    "mjpeg": {"qmin": "3", "qmax": "3"},
}
_TRIALS = 3
_CONTAINER = {
    "avoid_negative_ts": "disabled",
    "cluster_time_limit": "1000",
    "flush_packets": "1",
    "max_interleave_delta": "1000000",
}
"""Written out after a second at most, also while the other track has nothing."""


def choose_codec(image: NDArray[np.uint8], *, budget: Seconds, exact: bool = True) -> PictureCodec:
    """The best one that this machine encodes ``image`` with within ``budget`` CPU seconds.

    Args:
        exact: Without loss if possible; such files are some ten times larger.
    """
    wanted: tuple[PictureCodec, ...] = (LOSSLESS, "libx264") if exact else ("libx264",)
    for codec in wanted:
        if codec in av.codecs_available and _seconds(image, codec) <= budget:
            return codec
    return "mjpeg"


def _seconds(image: NDArray[np.uint8], codec: PictureCodec) -> Seconds:
    """CPU seconds that a picture takes."""
    context = av.CodecContext.create(codec, "w")
    assert isinstance(context, av.VideoCodecContext)
    height, width = _even(image)
    context.width, context.height, context.pix_fmt = width, height, _FORMATS[codec]
    context.time_base, context.thread_count = _TICK, 1
    context.options = dict(_OPTIONS[codec])
    stopwatch = Stopwatch(thread=True)
    for index in range(_TRIALS):
        # Moved a little, so that they are not all the same to the encoder.
        moved = np.roll(image, 2 * index, axis=1)
        context.encode(_encodable(moved, context.pix_fmt, width, height, ticks=index * 33))
    return stopwatch.cpu() / _TRIALS


class RecordingFile:
    """Writes one file. For one thread.

    Args:
        path: Of a file that does not exist yet; it is made readable for its owner alone.
        first: The first picture, which says how large all are; None for sound alone.
        codec: Of the pictures.

    Raises:
        OSError: If the file exists or cannot be written; so says every method.
    """

    def __init__(self, path: Path, *, first: VideoFrame | None, codec: PictureCodec) -> None:
        self.path = path
        self.pictures = 0
        self.late = 0
        """Pictures left out because they do not come after the one before."""
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._container: OutputContainer = av.open(
            str(path), "w", format="matroska", options=dict(_CONTAINER)
        )
        self._video = None if first is None else self._add_video(first, codec)
        audio = self._container.add_stream("pcm_f32le", rate=SAMPLE_RATE, layout="mono")
        assert isinstance(audio, AudioStream)
        self._audio = audio
        self._last = -1
        self._container.start_encoding()

    @property
    def has_video(self) -> bool:
        return self._video is not None

    def _add_video(self, first: VideoFrame, codec: PictureCodec) -> VideoStream:
        stream = self._container.add_stream(codec, rate=30)
        assert isinstance(stream, VideoStream)
        stream.height, stream.width = _even(first.image)
        stream.pix_fmt = _FORMATS[codec]
        stream.options = dict(_OPTIONS[codec])
        context = stream.codec_context
        context.thread_count = 1  # the cores are for what is heard and seen
        context.time_base = _TICK
        context.sample_aspect_ratio = Fraction(first.pixel_aspect).limit_denominator(1000)
        return stream

    def picture(self, frame: VideoFrame) -> None:
        """Add a picture, shown from its time on."""
        video = self._video
        ticks = round(frame.time / _TICK)
        if video is None or ticks <= self._last:
            self.late += 1
            return
        self._last = ticks
        assert video.pix_fmt is not None
        encodable = _encodable(frame.image, video.pix_fmt, video.width, video.height, ticks=ticks)
        for packet in video.encode(encodable):
            self._container.mux(packet)
        self.pictures += 1

    def sound(self, blocks: list[AudioBlock], *, begin: Seconds) -> None:
        """Add blocks that follow one another; the first begins ``begin`` after its onset."""
        if not blocks:
            return
        samples = np.concatenate([block.samples for block in blocks])
        frame = AudioFrame.from_ndarray(samples[None, :], format="flt", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        frame.time_base = Fraction(1, SAMPLE_RATE)
        frame.pts = round((begin + blocks[0].onset) * SAMPLE_RATE)
        for packet in self._audio.encode(frame):
            self._container.mux(packet)

    def close(self) -> None:
        """Write what the encoders still hold, and the index."""
        try:
            for stream in (self._video, self._audio):
                for packet in () if stream is None else stream.encode(None):
                    self._container.mux(packet)
        finally:
            self._container.close()


def check_room(path: Path, *, most: int, spare: int) -> None:
    """Refuse to write on when the file or the disk is full.

    Raises:
        OSError: If the file has more than ``most`` bytes, or the disk less than ``spare`` free.
    """
    if path.stat().st_size > most:
        raise OSError(errno.EFBIG, f"reached its largest size ({most / 1e9:.1f} GB)")
    disk = os.statvfs(path)
    if disk.f_bavail * disk.f_frsize < spare:
        raise OSError(errno.ENOSPC, f"less than {spare / 1e6:.0f} MB are free on the disk")


def _even(image: NDArray[np.uint8]) -> tuple[int, int]:
    """Height and width that halved colours divide."""
    height, width = image.shape[:2]
    return max(2, height - height % 2), max(2, width - width % 2)


def _encodable(
    image: NDArray[np.uint8], pixels: str, width: int, height: int, *, ticks: int
) -> EncodedPicture:
    frame = EncodedPicture.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    converted = frame.reformat(width=width, height=height, format=pixels, threads=1)
    converted.pts, converted.time_base = ticks, _TICK
    return converted
