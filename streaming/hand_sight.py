"""One reading of a hand in a picture, and how much speaks for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streaming.events import Side
from streaming.hand_geometry import FoundHand, HandReading, Square

Points = NDArray[np.float64]
"""21 points ``(x, y, z)``, shape ``(21, 3)``."""

_PALM = (0, 5, 9, 13, 17)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sight:
    """One reading of a hand, in the picture.

    Attributes:
        reading: What the landmark model said.
        points: The landmarks in pixels of the picture, depths too.
        world: The landmarks in metres, along the picture's axes.
        square: Where to look for the hand in the next picture.
    """

    reading: HandReading
    points: Points
    world: Points
    square: Square

    @property
    def palm(self) -> tuple[float, float]:
        """Centre of wrist and knuckles, pixels."""
        x, y = self.points[list(_PALM), :2].mean(axis=0)
        return float(x), float(y)

    @property
    def size(self) -> float:
        """Palm length, pixels."""
        return palm_length(self.points)


def evidence(palm_score: float, presence: float, size: float) -> float:
    """How much speaks for a hand, as log odds in nats: 0 is even.

    What is small in the picture looks like a hand by chance far more often than what is large, so
    the size counts, with a floor and a ceiling. Fitted as a logistic model on half of the glasses
    photos that ``deixis measure hands`` is run on, and rounded.

    Args:
        palm_score: The palm detector's, 0...1.
        presence: The landmark model's on its second reading, 0...1.
        size: Palm length in picture heights.
    """
    return weigh(logit(palm_score), logit(presence), size)


def weigh(palm: float, presence: float, size: float) -> float:
    """As :func:`evidence`, from log odds."""
    large = min(0.7, max(-1.5, math.log(max(size, 1e-6) / 0.05)))
    return 0.6 * palm + 0.5 * presence + 2.5 * large


def logit(probability: float) -> float:
    """Log odds in nats, kept within those of 0.01 and 0.99."""
    held = min(0.99, max(0.01, probability))
    return math.log(held / (1 - held))


def apart(one: Sight, other: Sight) -> float:
    """Mean distance of two hands' points, in lengths of the larger palm."""
    gaps = np.linalg.norm(one.points[:, :2] - other.points[:, :2], axis=1)
    return float(gaps.mean()) / max(one.size, other.size, 1e-6)


def within(sight: Sight, square: Square) -> bool:
    """Whether a hand lies about where a lost one was, and is about as large."""
    alike = 0.5 < sight.square.side / max(square.side, 1e-6) < 2.0
    gap = math.dist((sight.square.x, sight.square.y), (square.x, square.y))
    return alike and gap < square.side


def palm_length(points: Points) -> float:
    """Wrist to middle knuckle, or the palm's breadth when that is longer, pixels."""
    length = np.linalg.norm(points[9, :2] - points[0, :2])
    breadth = np.linalg.norm(points[5, :2] - points[17, :2])
    return float(max(length, breadth))


def is_plausible(hand: Sight) -> bool:
    """Whether the points can be a hand at all: no shrunken or exploded set."""
    size = hand.size
    if not np.isfinite(hand.points).all() or size < 4:
        return False
    spread = float(np.ptp(hand.points[:, :2], axis=0).max())
    return spread < 5 * size


def found_hand(hand: Sight, width: int, height: int) -> FoundHand:
    """The sight in fractions of a picture of ``width`` times ``height`` pixels."""
    rightness = hand.reading.rightness
    side: Side = "right" if rightness >= 0.5 else "left"
    return FoundHand(
        score=hand.reading.presence,
        side=side,
        side_score=max(rightness, 1 - rightness),
        landmarks=tuple((float(x) / width, float(y) / height) for x, y, _ in hand.points),
        depths=tuple(float(z) / width for _, _, z in hand.points),
        world=tuple((float(x), float(y), float(z)) for x, y, z in hand.world),
    )
