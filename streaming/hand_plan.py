"""Where to look for hands: overlapping squares of the picture, likely places first."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.hand_geometry import Square

Image = NDArray[np.uint8]

_PLAN = ((0.75, (1.0,)), (1.0, (0.5,)), (0.6, (0.7, 1.0)), (0.45, (0.9,)), (0.75, (0.0,)))
"""Share of the picture's height and rows, from 0 at the top to 1 at the bottom."""
_SMALL = 64
"""Height of the small grey picture that flatness is judged on."""


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


def small_grey(image: Image) -> NDArray[np.float32]:
    """The picture in grey, 64 pixels high."""
    height, width = image.shape[:2]
    size = (max(1, round(_SMALL * width / height)), _SMALL)
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small.mean(axis=2), dtype=np.float32)


def is_flat(small: NDArray[np.float32], square: Square, height: int) -> bool:
    """Whether a square shows next to nothing: a black bar, a covered lens."""
    scale = _SMALL / height
    left, right = (round((square.x + end * square.side / 2) * scale) for end in (-1, 1))
    top, bottom = (round((square.y + end * square.side / 2) * scale) for end in (-1, 1))
    part = small[max(0, top) : max(1, bottom), max(0, left) : max(1, right)]
    return part.size == 0 or float(part.std()) < 2.0
