"""Test clips with known times: a click and a flash wherever the test wants one.

Pictures are grey and white at a flash; sound is quiet and a burst of 1 kHz at a click. Both say
when they happen to within one frame or one sample, whatever the container does to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from streaming.events import SAMPLE_RATE, AudioBlock, SourceNote, VideoFrame

BURST_SECONDS = 0.02
SIZE = (64, 48)
_TICKS = 90_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Codecs:
    """What a container holds."""

    video: str
    audio: str


CODECS = {
    ".mp4": Codecs(video="libx264", audio="aac"),
    ".mov": Codecs(video="mjpeg", audio="pcm_s16le"),
    ".mkv": Codecs(video="libx264", audio="flac"),
    ".ts": Codecs(video="libx264", audio="aac"),
    ".webm": Codecs(video="libvpx", audio="libopus"),
    ".avi": Codecs(video="mpeg4", audio="pcm_s16le"),
}


def regular(seconds: float, fps: float) -> list[float]:
    """Times of the frames of a steady video."""
    return [index / fps for index in range(round(seconds * fps))]


def tone_bursts(
    times: Iterable[float], *, seconds: float, rate: int, channels: int = 1
) -> NDArray[np.float32]:
    """Sound with a 1 kHz burst at each time, shape ``(channels, n)``."""
    sound = np.zeros((channels, round(seconds * rate)), dtype=np.float32)
    wave = 0.8 * np.sin(2 * np.pi * 1000 * np.arange(round(BURST_SECONDS * rate)) / rate + 0.5)
    for time in times:
        at = round(time * rate)
        sound[:, at : at + len(wave)] = wave[: max(0, sound.shape[1] - at)]
    return sound


def write_clip(
    path: Path,
    *,
    seconds: float = 4.0,
    events: Sequence[float] = (),
    frame_times: Sequence[float] | None = None,
    fps: float = 30.0,
    rate: int = 48_000,
    sound: NDArray[np.float32] | None = None,
    silent: bool = False,
    blind: bool = False,
    audio_from: float = 0.0,
    audio_gap: tuple[float, float] | None = None,
    clock_error: float = 0.0,
    start: float = 0.0,
    audio_codec: str | None = None,
    video_codec: str | None = None,
    size: tuple[int, int] = SIZE,
    packet_samples: int = 1024,
    video_first: bool = False,
) -> Path:
    """Write a clip with a click and a flash at each of ``events``.

    Args:
        frame_times: Of the frames; steady at ``fps`` when absent.
        sound: To write instead of the clicks, ``(channels, n)`` at ``rate``.
        silent, blind: Without sound, without pictures.
        audio_from: Sound before this is not written (its timestamps begin there).
        audio_gap: Nor is sound inside these times.
        clock_error: The sound card runs fast by this share: a second holds ``rate * (1 + error)``
            samples, timestamps tell the true time.
        start: Added to every timestamp.
        packet_samples: Of uncompressed sound in one packet.
        video_first: Write all pictures before all sound, as a careless muxer does.
    """
    codecs = CODECS[path.suffix]
    true_rate = rate * (1 + clock_error)
    if sound is None:
        sound = tone_bursts(
            (time * (1 + clock_error) for time in events),
            seconds=seconds * (1 + clock_error),
            rate=rate,
        )
    times = list(frame_times) if frame_times is not None else regular(seconds, fps)
    options = {"avoid_negative_ts": "disabled"} if start else {}
    with av.open(str(path), "w", options=options) as container:
        packets: list[tuple[float, av.Packet[av.stream.Stream]]] = []
        video = audio = None
        if not blind:
            video = _video_stream(container, video_codec or codecs.video, fps, size)
        if not silent:
            layout = "mono" if len(sound) == 1 else "stereo"
            audio = container.add_stream(audio_codec or codecs.audio, rate=rate, layout=layout)
        container.start_encoding()
        if video is not None:
            for time in times:
                lit = any(event - 1e-6 <= time < event + 1.5 / fps for event in events)
                picture = np.full((size[1], size[0], 3), 250 if lit else 60, dtype=np.uint8)
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                frame.pts, frame.time_base = round((time + start) * _TICKS), Fraction(1, _TICKS)
                packets += [(time, packet) for packet in video.encode(frame)]
            packets += [(seconds, packet) for packet in video.encode(None)]
        if audio is not None:
            sounds = _encoded_sound(
                audio, sound, true_rate, audio_from, audio_gap, start, packet_samples
            )
            packets += [(time + (1e6 if video_first else 0.0), packet) for time, packet in sounds]
        for _, packet in sorted(packets, key=lambda pair: pair[0]):
            if video_first:
                container.mux_one(packet)
            else:
                container.mux(packet)
    return path


def write_picture(path: Path, image: NDArray[np.uint8]) -> Path:
    """Write one frame without loss."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("png", rate=10)
        stream.height, stream.width = image.shape[:2]
        stream.pix_fmt = "rgb24"
        frame = av.VideoFrame.from_ndarray(image, format="rgb24")
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
    return path


def _video_stream(
    container: av.container.OutputContainer, codec: str, fps: float, size: tuple[int, int]
) -> av.VideoStream:
    stream = container.add_stream(codec, rate=Fraction(fps).limit_denominator(1001))
    stream.width, stream.height = size
    stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    if codec != "mpeg4":
        stream.codec_context.time_base = Fraction(1, _TICKS)
    if codec == "libx264":
        stream.options = {"preset": "ultrafast", "tune": "zerolatency"}
    if codec == "libvpx":
        stream.options = {"deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0"}
    return stream


def _encoded_sound(
    stream: av.AudioStream,
    sound: NDArray[np.float32],
    true_rate: float,
    audio_from: float,
    gap: tuple[float, float] | None,
    start: float,
    packet_samples: int,
) -> list[tuple[float, av.Packet[av.stream.Stream]]]:
    rate = stream.codec_context.sample_rate
    length = stream.codec_context.frame_size or packet_samples
    kind = "s16" if stream.codec_context.format.name == "s16" else "fltp"
    packets: list[tuple[float, av.Packet[av.stream.Stream]]] = []
    for at in range(round(audio_from * true_rate), sound.shape[1], length):
        time = at / true_rate
        if gap is not None and gap[0] <= time < gap[1]:
            continue
        piece = np.ascontiguousarray(sound[:, at : at + length])
        if kind == "s16":
            piece = np.ascontiguousarray((piece.T.reshape(1, -1) * 32767).astype(np.int16))
        frame = av.AudioFrame.from_ndarray(piece, format=kind, layout=stream.layout.name)
        frame.sample_rate = rate
        frame.pts, frame.time_base = round((time + start) * _TICKS), Fraction(1, _TICKS)
        packets += [(time, packet) for packet in stream.encode(frame)]
    packets += [(sound.shape[1] / true_rate, packet) for packet in stream.encode(None)]
    return packets


def clicks(blocks: Sequence[AudioBlock], *, apart: float = 0.2) -> list[float]:
    """When the bursts begin, by the blocks' own times."""
    found: list[float] = []
    for block in blocks:
        for at in np.flatnonzero(np.abs(block.samples) > 0.3):
            time = block.onset + float(at) / SAMPLE_RATE
            if not found or time - found[-1] > apart:
                found.append(time)
    return found


def flashes(frames: Sequence[VideoFrame], *, apart: float = 0.2) -> list[float]:
    """Times of the first lit frames."""
    found: list[float] = []
    for frame in frames:
        if frame.image.mean() > 150 and (not found or frame.time - found[-1] > apart):
            found.append(frame.time)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """All that a source sent, by kind."""

    blocks: list[AudioBlock]
    frames: list[VideoFrame]
    notes: list[SourceNote]

    @property
    def sound(self) -> NDArray[np.float32]:
        return np.concatenate([block.samples for block in self.blocks] or [np.zeros(0)])

    def kinds(self) -> list[str]:
        return [note.kind for note in self.notes]


def sorted_out(events: Iterable[AudioBlock | VideoFrame | SourceNote]) -> Played:
    """The events of a source by kind, checked to be in order of availability."""
    played = Played(blocks=[], frames=[], notes=[])
    available = 0.0
    for event in events:
        if isinstance(event, SourceNote):
            played.notes.append(event)
            continue
        if isinstance(event, VideoFrame):
            assert not played.frames or event.time > played.frames[-1].time
            played.frames.append(event)
            now = event.time
        else:
            end = played.blocks[-1].offset if played.blocks else 0.0
            assert abs(event.onset - end) < 1e-9, f"block at {event.onset}, expected {end}"
            played.blocks.append(event)
            now = event.offset
        assert now >= available, f"event at {now} after one at {available}"
        available = now
    assert all(len(block.samples) == 512 for block in played.blocks[:-1])
    return played
