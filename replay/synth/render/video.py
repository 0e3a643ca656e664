"""Clips in MP4 files."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

AUDIO_BLOCK = 1024
"""Samples that AAC takes at once."""


def write_video(
    path: Path,
    frames: Iterable[NDArray[np.uint8]],
    *,
    fps: Fraction,
    audio: NDArray[np.float32] | None,
    rate: int,
    crf: int,
) -> None:
    """Write H.264 with AAC, the same bytes for the same input: one thread, no dates.

    Args:
        frames: Pictures of one size, shape ``(height, width, 3)``, RGB; sides are even.
        audio: Shape ``(n, channels)``, one or two channels, -1...1; None: no track.
        rate: Of the audio, hertz.
        crf: x264's quality: 18 is good, 32 is poor.

    Raises:
        ValueError: If there is no frame, or a side is odd.
    """
    waiting = iter(frames)
    first = next(waiting, None)
    if first is None:
        raise ValueError(f"{path}: no frames to write")
    height, width = first.shape[:2]
    if height % 2 or width % 2:
        raise ValueError(f"{path}: H.264 needs even sides, not {width}x{height}")
    options = {"movflags": "+faststart", "fflags": "+bitexact"}
    with av.open(str(path), "w", format="mp4", options=options) as container:
        picture = container.add_stream("libx264", rate=fps)
        picture.width, picture.height, picture.pix_fmt = width, height, "yuv420p"
        picture.thread_count = 1
        # With mbtree, x264's AVX-512 code gives other bytes each time for some heights (240, 270).
        picture.options = {
            "crf": str(crf),
            "preset": "veryfast",
            "flags": "+bitexact",
            "x264-params": "mbtree=0",
        }
        sound = None
        if audio is not None:
            sound = container.add_stream("aac", rate=rate, layout=_layout(audio))
            sound.options = {"flags": "+bitexact"}
            sound.bit_rate = 96_000 * audio.shape[1]
        number, sample = 0, 0
        frame: NDArray[np.uint8] | None = first
        while frame is not None:
            made = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
            made.pts, made.time_base = number, 1 / fps
            container.mux(picture.encode(made))
            number += 1
            frame = next(waiting, None)
            if sound is not None and audio is not None:
                until = round(number / fps * rate) if frame is not None else len(audio)
                while sample < min(until, len(audio)):
                    block = audio[sample : sample + AUDIO_BLOCK]
                    container.mux(sound.encode(_sound_frame(block, sample, rate)))
                    sample += len(block)
        container.mux(picture.encode(None))
        if sound is not None:
            container.mux(sound.encode(None))


def _layout(audio: NDArray[np.float32]) -> str:
    return "mono" if audio.shape[1] == 1 else "stereo"


def _sound_frame(block: NDArray[np.float32], at: int, rate: int) -> av.AudioFrame:
    planes = np.ascontiguousarray(block.T, np.float32)
    frame = av.AudioFrame.from_ndarray(planes, format="fltp", layout=_layout(block))
    frame.sample_rate = rate
    frame.pts, frame.time_base = at, Fraction(1, rate)
    return frame
