"""What the wearer's camera sees: a pinhole stand-in for the lens that will be used."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..world import Floats
from .settings import Level, Settings

_ROWS = 480


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where the camera is, where it looks, and how wide.

    Attributes:
        eye, look_at: Metres.
        fov: Horizontal, degrees.
        ratio: Width over height.
    """

    eye: tuple[float, float, float]
    look_at: tuple[float, float, float]
    fov: float
    ratio: float = 4 / 3

    @classmethod
    def of(cls, settings: Settings, level: Level) -> View:
        """The view that the settings describe."""
        return cls(eye=settings.eye, look_at=settings.look_at, fov=level.fov, ratio=settings.ratio)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the pictures in which outlines are drawn."""
        return round(_ROWS * self.ratio), _ROWS

    def project(self, points: Floats) -> Floats:
        """World points, shape ``(n, 3)``, as pixels; NaN behind the camera."""
        ahead = np.subtract(self.look_at, self.eye)
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        own = (np.asarray(points, np.float64) - self.eye) @ np.stack(
            [right, -np.cross(right, ahead), ahead], 1
        )
        depth = np.where(own[:, 2] > 0.01, own[:, 2], np.nan)
        width, height = self.size
        focal = 0.5 * width / math.tan(math.radians(self.fov) / 2)
        return np.stack(
            [width / 2 + focal * own[:, 0] / depth, height / 2 + focal * own[:, 1] / depth], 1
        )

    def distance(self, point: Floats) -> float:
        """From the eye, metres."""
        return float(np.linalg.norm(np.subtract(point, self.eye)))

    def holds(self, points: Floats, *, border: float = 0.02) -> bool:
        """Whether all points are in the picture, ``border`` of its width away from the edge."""
        pixels = self.project(points)
        width, height = self.size
        inset = border * width
        return bool(
            np.all(pixels[:, 0] > inset)
            and np.all(pixels[:, 0] < width - inset)
            and np.all(pixels[:, 1] > inset)
            and np.all(pixels[:, 1] < height - inset)
        )

    def outline(self, points: Floats) -> NDArray[np.int32]:
        """The convex outline of the points in the picture, sixteenths of pixels."""
        pixels = np.nan_to_num(self.project(points) * 16, nan=-1e5)
        return np.asarray(cv2.convexHull(pixels.astype(np.int32)), np.int32)

    def share(self, outline: NDArray[np.int32]) -> float:
        """What share of the picture an outline covers."""
        width, height = self.size
        return float(cv2.contourArea(outline)) / (256 * width * height)

    def blank(self) -> NDArray[np.uint8]:
        """An empty picture of labels."""
        width, height = self.size
        return np.zeros((height, width), np.uint8)


def fill(picture: NDArray[np.uint8], outline: NDArray[np.int32], label: int) -> None:
    """Draw an outline of :meth:`View.outline`."""
    cv2.fillConvexPoly(picture, outline, label, cv2.LINE_8, 4)
