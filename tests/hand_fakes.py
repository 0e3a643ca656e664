"""Hands without models: landmarks made by hand, and models that see what a test paints."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from streaming.events import Side, VideoFrame
from streaming.hand_geometry import (
    HAND_INPUT,
    PALM_INPUT,
    FoundHand,
    HandReading,
    palm_anchors,
)

FINGER_X = {1: -0.35, 5: -0.25, 9: -0.05, 13: 0.12, 17: 0.28}
"""Where a finger's base joint lies across the palm, in hand lengths, thumb first."""


def flat_hand(*, curled: tuple[int, ...] = ()) -> NDArray[np.float64]:
    """21 points of an upright right hand seen from behind, 1 hand long, origin at the wrist.

    ``curled`` names fingers by base joint: 1 thumb, 5 index, 9 middle, 13 ring, 17 little.
    """
    points = np.zeros((21, 3))
    for base, x in FINGER_X.items():
        knuckle = np.array([x, -0.25 if base == 1 else -0.5, 0.0])
        points[base] = knuckle
        for joint in range(1, 4):
            if base in curled:
                # Folded into the palm, away from a viewer who sees the back of the hand.
                angle = joint * math.pi * 0.45
                step = np.array([0.0, -math.cos(angle), math.sin(angle)]) * 0.15
            else:
                step = np.array([0.0, -0.15, 0.0])
            points[base + joint] = points[base + joint - 1] + step
    return points


def pointing_hand() -> NDArray[np.float64]:
    """Index finger out, thumb free, the others folded."""
    return flat_hand(curled=(9, 13, 17))


def found(
    x: float = 0.5,
    y: float = 0.5,
    *,
    size: float = 0.2,
    side: Side = "right",
    score: float = 0.9,
    shape: NDArray[np.float64] | None = None,
) -> FoundHand:
    """A hand whose wrist is at ``x, y`` and whose length is ``size``, in a square picture."""
    shape = pointing_hand() if shape is None else shape
    return FoundHand(
        score=score,
        side=side,
        side_score=0.95,
        landmarks=tuple((x + float(p[0]) * size, y + float(p[1]) * size) for p in shape),
        depths=tuple(float(p[2]) * size for p in shape),
        world=tuple((float(p[0]) * 0.18, float(p[1]) * 0.18, float(p[2]) * 0.18) for p in shape),
    )


class ScriptedDetector:
    """Gives out a list of hands a picture, and remembers what it was asked."""

    def __init__(self, pictures: list[list[FoundHand]]) -> None:
        self._pictures = list(pictures)
        self.asked: list[int] = []
        self.closed = False

    def detect(
        self, image: NDArray[np.uint8], *, milliseconds: int, aspect: float
    ) -> list[FoundHand]:
        self.asked.append(milliseconds)
        return self._pictures.pop(0) if self._pictures else []

    def close(self) -> None:
        self.closed = True


def frame(time: float, width: int = 64, height: int = 64) -> VideoFrame:
    """A grey picture."""
    image = np.full((height, width, 3), 90, dtype=np.uint8)
    image[::2] = 140
    return VideoFrame(time=time, image=image)


class PaintedHands:
    """Models that see pure red discs as hands: the palm is the disc, fingers point up.

    A disc is seen when it covers enough of the model's input, as real palms are: between 1/16
    and 1/2 of its side.
    """

    def __init__(self) -> None:
        self.palm_runs = 0
        self.hand_runs = 0
        self.closed = False

    def palms(
        self, picture: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self.palm_runs += 1
        logits = np.full(2016, -8.0, dtype=np.float32)
        boxes = np.zeros((2016, 18), dtype=np.float32)
        disc = _disc(picture)
        if disc is not None and PALM_INPUT / 16 < disc[2] < PALM_INPUT / 2:
            x, y, size = disc
            anchors = palm_anchors() * PALM_INPUT
            index = int(np.argmin(np.hypot(anchors[:, 0] - x, anchors[:, 1] - y)))
            logits[index] = 3.0
            place = np.array([x, y]) - anchors[index]
            boxes[index, :2] = place
            boxes[index, 2:4] = size
            down = np.array([0.0, size / 2])
            boxes[index, 4:6] = place + down
            boxes[index, 8:10] = place - down
        return logits, boxes

    def hand(self, picture: NDArray[np.float32]) -> HandReading:
        self.hand_runs += 1
        disc = _disc(picture)
        points = np.zeros((21, 3))
        presence = 0.001
        if disc is not None and disc[2] > HAND_INPUT / 10:
            x, y, size = disc
            points = pointing_hand() * size * 2 + (x, y + size / 2, 0.0)
            presence = 0.98
        return HandReading(presence=presence, rightness=0.9, points=points, world=points / 1000)

    def close(self) -> None:
        self.closed = True


def _disc(picture: NDArray[np.float32]) -> tuple[float, float, float] | None:
    """Centre and width of what is red in a model input, pixels."""
    red = (picture[..., 0] > 0.8) & (picture[..., 1] < 0.3)
    if red.sum() < 4:
        return None
    rows, columns = np.nonzero(red)
    return float(columns.mean()), float(rows.mean()), 2 * math.sqrt(float(red.sum()) / math.pi)


def painted(
    *discs: tuple[float, float, float], width: int = 640, height: int = 480
) -> NDArray[np.uint8]:
    """A striped picture with red discs ``(x, y, width)`` in pixels."""
    image = np.full((height, width, 3), 90, dtype=np.uint8)
    image[:, (np.arange(width) // 40) % 2 == 0] = 160
    rows, columns = np.mgrid[:height, :width]
    for x, y, size in discs:
        image[np.hypot(columns - x, rows - y) < size / 2] = (255, 0, 0)
    return image
