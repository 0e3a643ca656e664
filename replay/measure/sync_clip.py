"""A clip of clicks and flashes made at once, to be published in a loop."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.video.stream import VideoStream
from numpy.typing import NDArray

from replay.measure.sync import EVERY, LONG
from streaming.events import SAMPLE_RATE

LOOP = 15 * EVERY
"""Seconds after which the clip begins anew."""
_FPS = 30
_SIZE = (480, 640)
_FIRST = EVERY / 2
_PACKET = 512


def write_clip(path: Path) -> Path:
    """Write the clip, Matroska with uncompressed sound.

    Its dark pictures are noise that moves, so that encoding them costs what a camera's do.
    """
    chance = np.random.default_rng(1)
    noise = chance.integers(20, 90, (_SIZE[0], _SIZE[1] + _FPS, 3), dtype=np.uint8)
    with av.open(str(path), "w") as container:
        video = container.add_stream("mjpeg", rate=_FPS)
        sound = container.add_stream("pcm_s16le", rate=SAMPLE_RATE, layout="mono")
        if not isinstance(video, VideoStream) or not isinstance(sound, AudioStream):
            raise TypeError("a stream is not of the kind of its codec")
        video.height, video.width = _SIZE
        video.pix_fmt = "yuvj420p"
        samples, sent = _clicks(), 0
        for number in range(round(LOOP * _FPS)):
            time = number / _FPS
            moved = noise[:, number % _FPS : number % _FPS + _SIZE[1]]
            image = moved.copy()
            since = (number - round(_FIRST * _FPS)) % round(EVERY * _FPS) / _FPS
            if since < LONG:
                image[:, : _SIZE[1] // 2] = 255
                image[:, _SIZE[1] // 2 :] = round(255 * (1 - since / LONG))
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, _FPS)
            container.mux(video.encode(frame))
            while sent < len(samples) and sent / SAMPLE_RATE <= time:
                block = av.AudioFrame.from_ndarray(
                    samples[np.newaxis, sent : sent + _PACKET], format="s16", layout="mono"
                )
                block.sample_rate = SAMPLE_RATE
                block.pts, block.time_base = sent, Fraction(1, SAMPLE_RATE)
                container.mux(sound.encode(block))
                sent += _PACKET
        container.mux(video.encode(None))
        container.mux(sound.encode(None))
    return path


def _clicks() -> NDArray[np.int16]:
    """A tone of 1 kHz at each click, shape ``(n,)``."""
    at = np.arange(round(LOOP * SAMPLE_RATE)) / SAMPLE_RATE
    heard = (at - _FIRST) % EVERY < LONG
    tone = 0.8 * np.sin(2 * np.pi * 1000 * at + 0.5) * heard
    return (tone * 32767).astype(np.int16)
