"""Pictures for one file: scaled, compressed, and together under a budget.

Every picture comes from a folder that is not trusted: a file that is no picture, or claims an
absurd size, is left out and counted. Masks become outlines, which stay sharp and weigh little.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import Point

LARGEST_SIDE = 8192
LARGEST_FILE = 64 * 1024 * 1024
BYTES_PER_PIXEL = 0.16
"""What a photo of a table weighs as JPEG at these qualities; only to choose a step before work."""

_REDUCED = {
    8: cv2.IMREAD_REDUCED_COLOR_8,
    4: cv2.IMREAD_REDUCED_COLOR_4,
    2: cv2.IMREAD_REDUCED_COLOR_2,
}

Image = NDArray[np.uint8]
Outline = list[list[Point]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One choice of size: longest side of a frame and of a thumbnail, and the JPEG quality."""

    frame: int
    thumbnail: int
    quality: int


STEPS: tuple[Step, ...] = (
    Step(frame=960, thumbnail=360, quality=82),
    Step(frame=640, thumbnail=280, quality=75),
    Step(frame=400, thumbnail=200, quality=65),
    Step(frame=240, thumbnail=140, quality=55),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A JPEG as a data URI, with its own size in pixels."""

    uri: str
    width: int
    height: int


class Album:
    """Embeds pictures until the budget is used up.

    Args:
        budget: Bytes of base64 that all pictures may take together.
        frames: How many whole frames are to come; with ``thumbnails`` it decides the step.
        thumbnails: How many thumbnails are to come.
    """

    def __init__(self, *, budget: int, frames: int, thumbnails: int) -> None:
        self._budget = budget
        self._first = _first_step(budget, frames, thumbnails)
        self.used = 0
        self.left_out = 0
        self.unreadable = 0

    @property
    def reduced(self) -> bool:
        """Whether pictures are smaller than they would be in a small run."""
        return self._first > 0

    def frame(self, path: Path) -> Picture | None:
        """A whole frame, or None when it is absent, unreadable or over the budget."""
        return self._embed(path, thumbnail=False)

    def thumbnail(self, path: Path) -> Picture | None:
        """A small version of a frame; None as for :meth:`frame`."""
        return self._embed(path, thumbnail=True)

    def _embed(self, path: Path, *, thumbnail: bool) -> Picture | None:
        if not path.is_file():
            return None
        first = STEPS[self._first]
        image = _decode(path, first.thumbnail if thumbnail else first.frame)
        if image is None:
            self.unreadable += 1
            return None
        for step in STEPS[self._first :]:
            picture = _encode(image, step.thumbnail if thumbnail else step.frame, step.quality)
            if self.used + len(picture.uri) <= self._budget:
                self.used += len(picture.uri)
                return picture
        self.left_out += 1
        return None


def _first_step(budget: int, frames: int, thumbnails: int) -> int:
    for index, step in enumerate(STEPS):
        pixels = 0.75 * (frames * step.frame**2 + thumbnails * step.thumbnail**2)
        if pixels * BYTES_PER_PIXEL * 4 / 3 <= budget:
            return index
    return len(STEPS) - 1


def _decode(path: Path, side: int) -> Image | None:
    """The picture, decoded no larger than needed for a longest side of ``side`` pixels."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    size = jpeg_size(content)
    if size is None or max(size) > LARGEST_SIDE:
        return None
    for factor, how in _REDUCED.items():
        if max(size) >= factor * side:
            return _decoded(content, how)
    return _decoded(content, cv2.IMREAD_COLOR)


def _decoded(content: bytes, how: int) -> Image | None:
    try:
        image = cv2.imdecode(np.frombuffer(content, np.uint8), how)
    except cv2.error:
        return None
    return None if image is None else np.asarray(image, dtype=np.uint8)


def jpeg_size(content: bytes) -> tuple[int, int] | None:
    """Width and height that a JPEG claims, without decoding it; None when it is no JPEG."""
    if content[:2] != b"\xff\xd8":
        return None
    place = 2
    while place + 9 <= len(content):
        if content[place] != 0xFF:
            return None
        marker = content[place + 1]
        if marker == 0xFF:  # a fill byte
            place += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[place + 5 : place + 9])
            return width, height
        place += 2 + int(struct.unpack(">H", content[place + 2 : place + 4])[0])
    return None


def _encode(image: Image, side: int, quality: int) -> Picture:
    height, width = image.shape[:2]
    scale = min(1.0, side / max(width, height))
    if scale < 1.0:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    _, jpeg = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    text = base64.b64encode(jpeg.tobytes()).decode("ascii")
    return Picture(
        uri=f"data:image/jpeg;base64,{text}", width=image.shape[1], height=image.shape[0]
    )


def mask_outline(png_base64: str, box: Sequence[float], width: int, height: int) -> Outline:
    """The rim of a benchmark mask as polygons in fractions of the frame; empty if unusable.

    Args:
        png_base64: A grey PNG, as large as the frame or as its box.
        box: ``x1, y1, x2, y2`` in pixels.
        width: The frame's, in pixels.
        height: The frame's, in pixels.
    """
    image = _mask_image(png_base64)
    if image is None or width <= 0 or height <= 0:
        return []
    rows, columns = image.shape[:2]
    left, top, scale_x, scale_y = 0.0, 0.0, 1.0, 1.0
    if (columns, rows) != (width, height):
        if len(box) != 4 or not all(math.isfinite(edge) for edge in box):
            return []
        left, top = box[0], box[1]
        scale_x, scale_y = (box[2] - box[0]) / columns, (box[3] - box[1]) / rows
    solid = np.where(image > 128, 255, 0).astype(np.uint8)
    contours, _ = cv2.findContours(solid, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    outline: Outline = []
    for contour in contours:
        rim = cv2.approxPolyDP(contour, 0.6, True).reshape(-1, 2)
        if len(rim) >= 3:
            outline.append(
                [
                    (
                        round((left + (x + 0.5) * scale_x) / width, 4),
                        round((top + (y + 0.5) * scale_y) / height, 4),
                    )
                    for x, y in rim.tolist()
                ]
            )
    return outline


def _mask_image(text: str) -> Image | None:
    if not text or len(text) > LARGEST_FILE:
        return None
    try:
        content = base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None
    if content[:8] != b"\x89PNG\r\n\x1a\n" or len(content) < 24:
        return None
    if max(struct.unpack(">II", content[16:24])) > LARGEST_SIDE:
        return None
    return _decoded(content, cv2.IMREAD_GRAYSCALE)
