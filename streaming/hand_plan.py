"""Where to look for hands: overlapping squares of the picture, likely places first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.hand_geometry import Square

Image = NDArray[np.uint8]
Grey = NDArray[np.float32]

_PLAN = ((0.75, (1.0,)), (1.0, (0.5,)), (0.6, (0.7, 1.0)), (0.45, (0.9,)), (0.75, (0.0,)))
"""Share of the picture's height and rows, from 0 at the top to 1 at the bottom."""
_SMALL = 64
"""Height of the small grey picture that motion and flatness are judged on."""
_MOVED = 12.0
"""Change of grey, of 255, that counts as motion."""
_MOVING_SHARES = (0.002, 0.3)
"""Least and largest part of the picture that moves when a hand does; more is the camera."""


def tiles(width: int, height: int) -> list[Square]:
    """The plan: overlapping squares that cover the picture, likely places first.

    Hands come in from below and the sides, mostly below; so rows go from the bottom up and columns
    from the middle out, large squares before small ones.
    """
    plan: list[Square] = []
    for share, rows in _PLAN:
        side = share * height
        columns = max(1, math.ceil((width - side) / (side * 0.5)) + 1)
        places = np.linspace(side / 2, width - side / 2, columns)
        middle_out = sorted(places.tolist(), key=lambda x: abs(x - width / 2))
        for row in rows:
            y = side / 2 + row * (height - side)
            plan += [Square(x=x, y=y, side=side) for x in middle_out]
    return plan


def square_pixels(image: Image, aspect: float) -> Image:
    """The picture with square pixels: the models know no others."""
    height, width = image.shape[:2]
    wanted = round(height * aspect)
    if abs(wanted - width) <= 0.01 * width:
        return image
    return np.asarray(cv2.resize(image, (wanted, height)), dtype=np.uint8)


def small_grey(image: Image) -> Grey:
    """The picture in grey, 64 pixels high."""
    height, width = image.shape[:2]
    size = (max(1, round(_SMALL * width / height)), _SMALL)
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small.mean(axis=2), dtype=np.float32)


def moving_square(
    small: Grey, before: Grey | None, known: Sequence[Square], height: int
) -> Square | None:
    """A square around what moves outside the known hands, or None if nothing or everything does.

    Args:
        small, before: Two small grey pictures that follow one another.
        known: Squares of known hands, pixels of the large picture.
        height: Of the large picture, pixels.
    """
    if before is None or before.shape != small.shape:
        return None
    moved = np.abs(small - before) > _MOVED
    for square in known:
        rows, columns = _part(square, height)
        moved[rows, columns] = False
    share = float(moved.mean())
    if not _MOVING_SHARES[0] <= share <= _MOVING_SHARES[1]:
        return None
    rows_hit, columns_hit = (np.flatnonzero(moved.any(axis=axis)) for axis in (1, 0))
    top, bottom = int(rows_hit[0]), int(rows_hit[-1]) + 1
    left, right = int(columns_hit[0]), int(columns_hit[-1]) + 1
    scale = height / _SMALL
    side = min(1.0, max(0.45, 1.2 * max(bottom - top, right - left) / _SMALL)) * height
    return Square(x=(left + right) / 2 * scale, y=(top + bottom) / 2 * scale, side=side)


def is_flat(small: Grey, square: Square, height: int) -> bool:
    """Whether a square shows next to nothing: a black bar, a covered lens."""
    part = small[_part(square, height)]
    return part.size == 0 or float(part.std()) < 2.0


def _part(square: Square, height: int) -> tuple[slice, slice]:
    """Rows and columns of a square in the small picture."""
    scale = _SMALL / height
    ends = [
        max(0, round((centre + end * square.side / 2) * scale))
        for centre in (square.y, square.x)
        for end in (-1, 1)
    ]
    return slice(ends[0], ends[1]), slice(ends[2], ends[3])
