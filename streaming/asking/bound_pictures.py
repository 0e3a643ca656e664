"""The pictures of the interface ``bound``: marks on copies of frames, and zooms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import Point
from streaming.grounding_frames import Box
from streaming.picture_jpeg import square_pixels

_MAGENTA = (255, 0, 200)
"""A colour that hardly a thing on a table has."""
_EDGE = (255, 255, 255)
_SUBPIXEL = 4
"""Bits of a fraction of a pixel in OpenCV's drawing, so that marks do not jump by whole ones."""
_MOST_PIXELS = 100_000
_LARGEST_ZOOM = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A ring around a fingertip and an arrow from there.

    Attributes:
        name: Written beside the ring; may be empty.
        tip, ahead: Ends of the arrow, in fractions of the picture.
    """

    name: str
    tip: Point
    ahead: Point


def marked(image: NDArray[np.uint8], marks: Sequence[Mark]) -> NDArray[np.uint8]:
    """A copy of an RGB picture with marks on it: thin, so that they cover little."""
    drawn = np.ascontiguousarray(image.copy())
    unit = max(drawn.shape[:2]) / 768
    radius = max(4.0, 9 * unit)
    for mark in marks:
        tip, ahead = _pixels(mark.tip, drawn), _pixels(mark.ahead, drawn)
        for colour, width in ((_EDGE, 4), (_MAGENTA, 2)):
            thick = max(1, round(width * unit))
            cv2.circle(
                drawn, _fixed(tip), round(radius * 2**_SUBPIXEL), colour, thick, cv2.LINE_AA,
                _SUBPIXEL,
            )  # fmt: skip
            _arrow(drawn, tip, ahead, radius=radius, colour=colour, thick=thick)
        if mark.name:
            _name(drawn, mark.name, tip, radius=radius, unit=unit, ahead=ahead)
    return drawn


def _arrow(
    drawn: NDArray[np.uint8],
    tip: Point,
    ahead: Point,
    *,
    radius: float,
    colour: tuple[int, int, int],
    thick: int,
) -> None:
    dx, dy = ahead[0] - tip[0], ahead[1] - tip[1]
    length = math.hypot(dx, dy)
    if length <= radius + 2:
        return
    dx, dy = dx / length, dy / length
    start = (tip[0] + dx * radius, tip[1] + dy * radius)
    _line(drawn, start, ahead, colour, thick)
    head = min(0.9 * radius, (length - radius) / 2)
    for turn in (math.radians(150), -math.radians(150)):
        u = dx * math.cos(turn) - dy * math.sin(turn)
        v = dx * math.sin(turn) + dy * math.cos(turn)
        _line(drawn, ahead, (ahead[0] + u * head, ahead[1] + v * head), colour, thick)


def _line(
    drawn: NDArray[np.uint8], start: Point, end: Point, colour: tuple[int, int, int], thick: int
) -> None:
    cv2.line(drawn, _fixed(start), _fixed(end), colour, thick, cv2.LINE_AA, _SUBPIXEL)


def _name(
    drawn: NDArray[np.uint8], name: str, tip: Point, *, radius: float, unit: float, ahead: Point
) -> None:
    """Write behind the ring, where the arrow does not go and the target is not."""
    dx, dy = tip[0] - ahead[0], tip[1] - ahead[1]
    length = math.hypot(dx, dy)
    dx, dy = (dx / length, dy / length) if length > 0 else (0.0, 1.0)
    scale = max(0.45, 0.6 * unit)
    (width, height), _ = cv2.getTextSize(name, cv2.FONT_HERSHEY_SIMPLEX, scale, 2)
    reach = radius + 0.75 * max(width, height) + 2
    middle = tip[0] + dx * reach, tip[1] + dy * reach
    x = min(max(0, round(middle[0] - width / 2)), drawn.shape[1] - width)
    y = min(max(height, round(middle[1] + height / 2)), drawn.shape[0] - 1)
    for colour, thick in ((_EDGE, 5), (_MAGENTA, 2)):
        cv2.putText(
            drawn, name, (x, y), cv2.FONT_HERSHEY_SIMPLEX, scale, colour, thick, cv2.LINE_AA
        )


def _pixels(point: Point, image: NDArray[np.uint8]) -> Point:
    height, width = image.shape[:2]
    return (
        min(max(-_MOST_PIXELS, point[0] * width), _MOST_PIXELS),
        min(max(-_MOST_PIXELS, point[1] * height), _MOST_PIXELS),
    )


def _fixed(point: Point) -> tuple[int, int]:
    return round(point[0] * 2**_SUBPIXEL), round(point[1] * 2**_SUBPIXEL)


def zoomed(
    image: NDArray[np.uint8], box: Box, *, pixel_aspect: float, side: int
) -> NDArray[np.uint8]:
    """What lies in ``box``, with square pixels, its longer side ``side`` where that can be seen.

    A small picture is enlarged by at most four: models look at small pictures coarsely.
    """
    height, width = image.shape[:2]
    rows = slice(int(box.top * height), max(int(box.top * height) + 1, round(box.bottom * height)))
    left = int(box.left * width)
    part = image[rows, left : max(left + 1, round(box.right * width))]
    shown = square_pixels(part, pixel_aspect=pixel_aspect, side=side)
    factor = min(_LARGEST_ZOOM, side / max(shown.shape[:2]))
    if factor <= 1:
        return shown
    larger = cv2.resize(shown, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC)
    return np.asarray(larger, dtype=np.uint8)
