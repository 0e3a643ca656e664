"""Where things stand: no two touch, all are in the picture, none hides another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..world import Floats
from .settings import Level, Settings
from .view import View, fill


@dataclass(frozen=True, slots=True, kw_only=True)
class Solid:
    """A thing's shape as far as its place matters, in its own coordinates.

    Attributes:
        points: Corners of its convex hull or more, shape ``(n, 3)``.
        faces_wearer: Its front (``-y``) is turned to the wearer, more or less.
    """

    points: Floats
    faces_wearer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a thing stands, and how it is turned.

    Attributes:
        x, y: Metres.
        yaw: Radians.
        footprint: Convex outline on the table, counter-clockwise, shape ``(k, 2)``.
        points: Its points in the world, shape ``(n, 3)``.
    """

    x: float
    y: float
    yaw: float
    footprint: Floats
    points: Floats

    @property
    def middle(self) -> Floats:
        """Of the footprint's bounding box, shape ``(2,)``."""
        return np.asarray(0.5 * (self.footprint.min(0) + self.footprint.max(0)), np.float64)


def turn(yaw: float) -> Floats:
    """Rotation about ``z``, radians."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def stand(solid: Solid, x: float, y: float, yaw: float) -> Place:
    """The solid at a place."""
    points = solid.points @ turn(yaw).T + (x, y, 0.0)
    hull = cv2.convexHull(np.ascontiguousarray(points[:, :2], np.float32), clockwise=False)
    return Place(x=x, y=y, yaw=yaw, footprint=hull[:, 0].astype(np.float64), points=points)


def gap(a: Floats, b: Floats) -> float:
    """Between two convex outlines: never more than the true distance, negative if they meet."""
    return max(_apart(a, b), _apart(b, a))


def _apart(a: Floats, b: Floats) -> float:
    """The widest gap along a normal of ``a``'s sides (``a`` counter-clockwise)."""
    side = np.roll(a, -1, 0) - a
    length = np.linalg.norm(side, axis=1)
    side, start = side[length > 1e-7], a[length > 1e-7]
    out = np.stack([side[:, 1], -side[:, 0]], 1) / length[length > 1e-7][:, None]
    reach = (b @ out.T).min(0) - np.einsum("ij,ij->i", start, out)
    return float(reach.max())


def distance(outline: Floats, point: Floats) -> float:
    """From a point to a convex outline; 0 within."""
    start, end = outline, np.roll(outline, -1, 0)
    side = end - start
    to = np.asarray(point) - start
    if np.all(side[:, 0] * to[:, 1] - side[:, 1] * to[:, 0] >= 0):
        return 0.0
    along = np.clip(
        np.einsum("ij,ij->i", to, side) / np.maximum(np.einsum("ij,ij->i", side, side), 1e-15), 0, 1
    )
    return float(np.linalg.norm(to - along[:, None] * side, axis=1).min())


class Arrangement:
    """Things set on the table one after the other."""

    def __init__(self, settings: Settings, level: Level, view: View) -> None:
        self._level = level
        self._near = settings.near
        self._view = view
        self.places: list[Place] = []
        self._outlines: list[NDArray[np.int32]] = []
        self._far: list[float] = []

    def try_to_add(
        self,
        rng: np.random.Generator,
        solid: Solid,
        *,
        apart: float,
        seen: float,
        tries: int,
    ) -> bool:
        """Find the solid a place; False if none of ``tries`` draws will do."""
        for _ in range(tries):
            place = self._draw(rng, solid)
            if not self._view.holds(place.points):
                continue
            if any(gap(place.footprint, other.footprint) < apart for other in self.places):
                continue
            outline = self._view.outline(place.points)
            if self._view.share(outline) < self._level.least:
                continue
            far = self._view.distance(np.array([*place.middle, 0.0]))
            shares = self._shares([*self._outlines, outline], [*self._far, far])
            if min(shares) < seen:
                continue
            self.places.append(place)
            self._outlines.append(outline)
            self._far.append(far)
            return True
        return False

    def _draw(self, rng: np.random.Generator, solid: Solid) -> Place:
        yaw = rng.uniform(-0.6, 0.6) if solid.faces_wearer else rng.uniform(-np.pi, np.pi)
        x = rng.uniform(-self._level.reach, self._level.reach)
        y = rng.uniform(self._near, self._level.far)
        return stand(solid, float(x), float(y), float(yaw))

    def _shares(self, outlines: Sequence[NDArray[np.int32]], far: Sequence[float]) -> list[float]:
        """What share of each outline is not covered by nearer ones."""
        shares = []
        whole = self._view.blank()
        for i in np.argsort(far)[::-1]:
            fill(whole, outlines[i], int(i) + 1)
        for i, outline in enumerate(outlines):
            x, y, w, h = cv2.boundingRect(outline)
            x, y, w, h = x // 16, y // 16, w // 16 + 2, h // 16 + 2
            alone = np.zeros((h, w), np.uint8)
            fill(alone, outline - np.array([x * 16, y * 16], np.int32), 1)
            here = whole[y : y + h, x : x + w] == i + 1
            shares.append(float(here.sum()) / max(1, int(alone.sum())))
        return shares

    def seen_shares(self) -> list[float]:
        """Share of each thing's outline that nothing hides."""
        return self._shares(self._outlines, self._far)

    def labels(self) -> NDArray[np.uint8]:
        """The things' outlines in the picture, numbered from 1, the nearer before the farther."""
        picture = self._view.blank()
        for i in np.argsort(self._far)[::-1]:
            fill(picture, self._outlines[i], int(i) + 1)
        return picture
