"""From what the two hand models say to hands in the picture, and back to where to look next.

The models are MediaPipe's palm detector and hand landmark model. The numbers here are the geometry
that they were trained with, as published with them (palm anchors, the square around a palm, the
square around a hand). Differences to MediaPipe's own graph:

1. Palms are looked for in any square of the picture, upright or turned, not only in the whole one.
2. Palms that overlap are not averaged: the best one stands, since the landmark model refines it.

Squares and points are in pixels of the picture, with square pixels; angles are radians, clockwise
as seen, 0 when the fingers point up.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import Point, Side

LANDMARKS = 21
"""Points of a hand, in MediaPipe's order."""
PALM_INPUT = 192
"""Side of the palm detector's input, pixels."""
HAND_INPUT = 224
"""Side of the landmark model's input, pixels."""

_DEPTH_SCALE = 0.4
"""The landmark model's depths are in this part of its input's side."""
_PALM_STEADY = (0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18)
"""Landmarks that span the square around a tracked hand: all but the finger ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """A square in the picture, turned about its centre.

    Attributes:
        x, y: Its centre, pixels.
        side: Its side, pixels.
        angle: Radians, clockwise as seen.
    """

    x: float
    y: float
    side: float
    angle: float = 0.0

    def to_picture(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points of the square (0...1, origin its own top left), shape ``(n, 2)``, in pixels."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        inner = (points - 0.5) * self.side
        return np.column_stack(
            [
                self.x + inner[:, 0] * cos - inner[:, 1] * sin,
                self.y + inner[:, 0] * sin + inner[:, 1] * cos,
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Palm:
    """A palm that the detector proposes.

    Attributes:
        score: 0...1.
        square: Where the landmark model should look.
        x, y: Centre of the palm, pixels.
        size: Longer side of the palm, pixels.
    """

    score: float
    square: Square
    x: float
    y: float
    size: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandReading:
    """What the landmark model says about one square.

    Attributes:
        presence: That there is a hand, 0...1.
        rightness: Near 1 for a right hand, near 0 for a left one, in a picture that is not
            mirrored.
        points: 21 points ``(x, y, z)`` in pixels of the model's input, shape ``(21, 3)``.
        world: 21 points in metres, along the square's axes, shape ``(21, 3)``.
    """

    presence: float
    rightness: float
    points: NDArray[np.float64]
    world: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHand:
    """One hand that a detector found in one picture.

    Attributes:
        score: The detector's confidence, 0...1.
        side: Left or right as the picture shows it (a mirrored picture is not undone here).
        side_score: How sure that is, 0.5...1.
        landmarks: 21 points as fractions of the picture's width and height.
        depths: 21 depths relative to the wrist, in picture widths, nearer is smaller.
        world: 21 points ``(x, y, z)`` in metres around the hand's centre.
    """

    score: float
    side: Side
    side_score: float
    landmarks: tuple[Point, ...]
    depths: tuple[float, ...]
    world: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        for name, points in (("landmarks", self.landmarks), ("depths", self.depths)):
            if len(points) != LANDMARKS:
                raise ValueError(f"a hand with {len(points)} {name}, expected {LANDMARKS}")
        if len(self.world) not in (0, LANDMARKS):
            raise ValueError(f"a hand with {len(self.world)} world points, expected {LANDMARKS}")


def cut(image: NDArray[np.uint8], square: Square, side: int) -> NDArray[np.float32]:
    """The square of the picture as a model input: ``(side, side, 3)``, 0...1, black outside.

    Whole coordinates are the centres of pixels in both pictures, as in the graph that the models
    come from; half a pixel more or less moves the landmarks by a percent of the palm. Sources much
    larger than the input are averaged, not sampled.
    """
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    scale = square.side / side
    shrink = max(1, int(scale))
    source, origin, factor = _shrunk(image, square, shrink)
    placed = ((square.to_picture(corners) - origin + 0.5) / factor - 0.5).astype(np.float32)
    target = (corners * side).astype(np.float32)
    warp = cv2.getAffineTransform(target, placed)
    picture = cv2.warpAffine(
        source,
        warp,
        (side, side),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_CONSTANT,
    )
    return np.multiply(picture, np.float32(1 / 255), dtype=np.float32)


def _shrunk(
    image: NDArray[np.uint8], square: Square, shrink: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64], float]:
    """The part of the picture around a square, shrunk by a whole number, its origin and factor."""
    height, width = image.shape[:2]
    if shrink == 1:
        return image, np.zeros(2), 1.0
    reach = square.side * (abs(math.cos(square.angle)) + abs(math.sin(square.angle))) / 2 + shrink
    left, top = max(0, int(square.x - reach)), max(0, int(square.y - reach))
    right = min(width, math.ceil(square.x + reach))
    bottom = min(height, math.ceil(square.y + reach))
    columns, rows = (right - left) // shrink, (bottom - top) // shrink
    if columns < 1 or rows < 1:
        return image, np.zeros(2), 1.0
    part = image[top : top + rows * shrink, left : left + columns * shrink]
    small = cv2.resize(part, (columns, rows), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.uint8), np.array([left, top], dtype=np.float64), float(shrink)


@functools.cache
def palm_anchors() -> NDArray[np.float64]:
    """Centres of the palm detector's anchors, fractions of its input, shape ``(2016, 2)``."""
    rows = []
    for stride, per_cell in ((8, 2), (16, 6)):
        cells = PALM_INPUT // stride
        for y in range(cells):
            for x in range(cells):
                rows += [((x + 0.5) / cells, (y + 0.5) / cells)] * per_cell
    return np.array(rows)


def palms_of(
    logits: NDArray[np.float32], boxes: NDArray[np.float32], where: Square, *, least: float
) -> list[Palm]:
    """The palms of one square of the picture, best first, overlapping ones thinned.

    Args:
        logits: The detector's scores before the sigmoid, shape ``(2016,)``.
        boxes: Its boxes and seven keypoints, shape ``(2016, 18)``: centre, size, points, in pixels
            of its input, relative to the anchors.
        where: The square that it looked at.
        least: Least score.
    """
    floor = -math.log(1 / least - 1)
    chosen = np.flatnonzero(logits > floor)
    chosen = chosen[np.argsort(-logits[chosen], kind="stable")]
    found: list[Palm] = []
    for index in chosen:
        palm = _palm(float(logits[index]), boxes[index], palm_anchors()[index], where)
        if all(math.dist((palm.x, palm.y), (other.x, other.y)) > other.size / 2 for other in found):
            found.append(palm)
    return found


def _palm(
    logit: float, box: NDArray[np.float32], anchor: NDArray[np.float64], where: Square
) -> Palm:
    local = box.astype(np.float64) / PALM_INPUT
    centre = local[:2] + anchor
    wrist, middle = local[4:6] + anchor, local[8:10] + anchor
    placed = where.to_picture(np.array([centre, wrist, middle]))
    size = float(max(local[2], local[3])) * where.side
    along = placed[2] - placed[1]
    angle = math.atan2(along[1], along[0]) + math.pi / 2
    x, y = _shifted(placed[0], angle, -0.5 * size)
    return Palm(
        score=1 / (1 + math.exp(-min(logit, 50.0))),
        square=Square(x=x, y=y, side=2.6 * size, angle=angle),
        x=float(placed[0][0]),
        y=float(placed[0][1]),
        size=size,
    )


def _shifted(place: NDArray[np.float64], angle: float, down: float) -> tuple[float, float]:
    """``place`` moved ``down`` along the turned square's own vertical axis."""
    return (
        float(place[0]) - down * math.sin(angle),
        float(place[1]) + down * math.cos(angle),
    )


def hand_points(reading: HandReading, where: Square) -> NDArray[np.float64]:
    """The 21 landmarks in pixels of the picture, depths too, shape ``(21, 3)``."""
    flat = where.to_picture(reading.points[:, :2] / HAND_INPUT)
    deep = reading.points[:, 2] / HAND_INPUT / _DEPTH_SCALE * where.side
    return np.column_stack([flat, deep])


def world_points(reading: HandReading, where: Square) -> NDArray[np.float64]:
    """The 21 landmarks in metres along the picture's axes, shape ``(21, 3)``."""
    cos, sin = math.cos(where.angle), math.sin(where.angle)
    x, y, z = reading.world.T
    return np.column_stack([x * cos - y * sin, x * sin + y * cos, z])


def square_around(points: NDArray[np.float64]) -> Square:
    """Where the landmark model should look for a hand in the next picture.

    Args:
        points: Its landmarks now, pixels, shape ``(21, 2)`` or more columns.
    """
    flat = points[:, :2]
    wrist = flat[0]
    knuckles = (flat[5] + flat[13]) / 4 + flat[9] / 2
    angle = math.atan2(knuckles[1] - wrist[1], knuckles[0] - wrist[0]) + math.pi / 2
    cos, sin = math.cos(angle), math.sin(angle)
    steady = flat[list(_PALM_STEADY)]
    across = steady @ np.array([cos, sin])
    along = steady @ np.array([-sin, cos])
    u, v = (across.min() + across.max()) / 2, (along.min() + along.max()) / 2
    width, height = np.ptp(across), np.ptp(along)
    side = float(max(width, height))
    v -= 0.1 * height
    return Square(
        x=float(u * cos - v * sin), y=float(u * sin + v * cos), side=2 * side, angle=angle
    )


def overlap(one: Square, other: Square) -> float:
    """Intersection over union of two squares, as if both were upright."""
    reach = (one.side + other.side) / 2
    width = min(reach - abs(one.x - other.x), one.side, other.side)
    height = min(reach - abs(one.y - other.y), one.side, other.side)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (one.side**2 + other.side**2 - shared)
