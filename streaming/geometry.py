"""Plane homographies as plain tuples: from points (fractions of a frame) to points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streaming.events import Homography, Point


def apply(homography: Homography, point: Point) -> Point:
    """Where ``homography`` takes ``point``.

    Raises:
        ValueError: If the point goes to infinity.
    """
    x, y = point
    (a, b, c), (d, e, f), (g, h, i) = homography
    w = g * x + h * y + i
    if abs(w) < 1e-12:
        raise ValueError(f"point {point} goes to infinity")
    return (a * x + b * y + c) / w, (d * x + e * y + f) / w


def compose(second: Homography, first: Homography) -> Homography:
    """The homography that does ``first``, then ``second``."""
    return from_matrix(to_matrix(second) @ to_matrix(first))


def invert(homography: Homography) -> Homography:
    """The way back.

    Raises:
        ValueError: If there is none.
    """
    matrix = to_matrix(homography)
    if abs(float(np.linalg.det(matrix))) < 1e-12:
        raise ValueError(f"homography {homography} has no inverse")
    return from_matrix(np.linalg.inv(matrix).astype(np.float64))


def to_matrix(homography: Homography) -> NDArray[np.float64]:
    """As an array of shape ``(3, 3)``."""
    return np.asarray(homography, dtype=np.float64)


def from_matrix(matrix: NDArray[np.float64]) -> Homography:
    """From an array of shape ``(3, 3)``, scaled so that its last element is 1 where it can be."""
    scale = float(matrix[2, 2]) if abs(float(matrix[2, 2])) > 1e-12 else 1.0
    (a, b, c), (d, e, f), (g, h, i) = (matrix / scale).tolist()
    return (a, b, c), (d, e, f), (g, h, i)
