"""A picture file as a short still clip."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.media.opening import MAX_PIXELS, SourceError, check_file
from replay.media.picture import fitted
from replay.media.playback import MediaEvent, note
from replay.media.sound import SoundTrack
from streaming.events import Seconds, VideoFrame

STILL_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp"})
STILL_SECONDS = 1.0
STILL_FPS = 10.0


def read_still(path: Path, *, max_side: int | None = None) -> NDArray[np.uint8]:
    """The picture as upright RGB (the EXIF orientation is applied).

    Raises:
        SourceError: If it cannot be read.
    """
    check_file(path)
    try:
        # Through memory: OpenCV's own reader prints to stderr and cannot open every file name.
        stored = np.fromfile(path, dtype=np.uint8)
        image = cv2.imdecode(stored, cv2.IMREAD_COLOR_RGB)
    except (OSError, cv2.error, MemoryError) as error:
        raise SourceError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None
    if image is None:
        raise SourceError(f"{path}: is no picture that can be read; save it again as PNG or JPEG")
    height, width = image.shape[:2]
    if height * width > MAX_PIXELS:
        raise SourceError(f"{path}: {width}x{height} pixels is too large; scale it down")
    size = fitted(width, height, max_side)
    if size != (width, height):
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(image, dtype=np.uint8)


def play_still(image: NDArray[np.uint8]) -> Generator[tuple[Seconds, MediaEvent]]:
    """One second of the picture at ten frames a second, with silence."""
    sound = SoundTrack()
    yield 0.0, note("no_audio", 0.0, "a picture has no sound")
    for index in range(round(STILL_SECONDS * STILL_FPS)):
        time = index / STILL_FPS
        for block in sound.silence_before(time):
            yield block.offset, block
        yield time, VideoFrame(time=time, image=image)
    for block in [*sound.silence(STILL_SECONDS), *sound.close()]:
        yield block.offset, block
