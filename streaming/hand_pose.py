"""How much the pose of a hand points: index finger out, the others not.

The score comes from the angles of the fingers in space, so that it holds when the finger points
away from the camera and is short in the picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streaming.events import Point

_FINGERS = {"index": (5, 6, 7, 8), "middle": (9, 10, 11, 12), "ring": (13, 14, 15, 16)}
_LITTLE = (17, 18, 19, 20)


def pointing_score(
    landmarks: Sequence[Point],
    depths: Sequence[float],
    world: Sequence[tuple[float, float, float]],
    *,
    aspect: float,
) -> float:
    """How much the pose points, 0...1.

    Args:
        landmarks: 21 points as fractions of the frame.
        depths: 21 depths in frame widths, or empty.
        world: 21 points in metres, or empty; then ``landmarks`` and ``depths`` stand in.
        aspect: Displayed width over height.
    """
    points = _in_space(landmarks, depths, world, aspect)
    index = straightness(points, _FINGERS["index"])
    others = [
        straightness(points, joints) for joints in (_FINGERS["middle"], _FINGERS["ring"], _LITTLE)
    ]
    out = _ramp(index, 0.55, 0.85)
    apart = _ramp(index - max(others), 0.02, 0.25)
    return float(out * apart)


def straightness(points: NDArray[np.float64], joints: tuple[int, int, int, int]) -> float:
    """How straight a finger is seen from the wrist: 1 stretched, 0 and below curled.

    Distance from the wrist to the tip against the path along the joints.
    """
    chain = points[[0, *joints]]
    path = float(np.linalg.norm(np.diff(chain, axis=0), axis=1).sum())
    knuckle = float(np.linalg.norm(chain[1] - chain[0]))
    reach = float(np.linalg.norm(chain[-1] - chain[0]))
    return (reach - knuckle) / max(path - knuckle, 1e-9)


def _in_space(
    landmarks: Sequence[Point],
    depths: Sequence[float],
    world: Sequence[tuple[float, float, float]],
    aspect: float,
) -> NDArray[np.float64]:
    """21 points in one unit of length, shape ``(21, 3)``."""
    if len(world) == len(landmarks):
        return np.asarray(world, dtype=np.float64)
    flat = np.asarray(landmarks, dtype=np.float64) * (aspect, 1.0)
    deep = np.asarray(depths, dtype=np.float64) * aspect if depths else np.zeros(len(landmarks))
    return np.column_stack([flat, deep])


def _ramp(value: float, low: float, high: float) -> float:
    """0 below ``low``, 1 above ``high``, straight in between."""
    if math.isnan(value):
        return 0.0
    return min(1.0, max(0.0, (value - low) / (high - low)))
