"""Where points of the world land in the picture, and which ray each pixel sees.

The lens is radial: a ray that would land at radius ``r_u`` behind a pinhole lands at ``r_d``,

    ``r_u = tan(fov / 2) * r_d * (1 + k1 r_d^2 + k2 r_d^4) / (1 + k1 + k2)``

with ``r_d = 1`` at the left and right edges of the picture, so ``fov`` is the horizontal field of
view whatever the distortion. ``k1, k2 >= 0`` is barrel distortion; the mapping rises strictly, so
it is invertible everywhere. From pixel to ray it is a polynomial, which is the way that a renderer
goes for every pixel; the other way is Newton's method on a convex function, which converges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from replay.synth.render.compiled import inlined
from replay.synth.world import Floats, Pose

NEAR = 0.02
"""Nothing closer to the camera than this is seen, metres."""

STEPS = 12


@inlined
def distorted_radius(undistorted: float, scale: float, k1: float, k2: float) -> float:
    """``r_d`` of ``r_u``; ``scale = tan(fov / 2) / (1 + k1 + k2)``."""
    wanted = undistorted / scale
    radius = wanted
    if k1 > 0.0:
        radius = min(radius, (wanted / k1) ** (1.0 / 3.0))
    if k2 > 0.0:
        radius = min(radius, (wanted / k2) ** 0.2)
    for _ in range(12):  # each bound is above the root, from where Newton only descends
        square = radius * radius
        value = radius * (1.0 + square * (k1 + square * k2)) - wanted
        step = value / (1.0 + square * (3.0 * k1 + 5.0 * square * k2))
        radius -= step
        if step < 1e-12 * radius:
            break
    return radius


@inlined
def landing(
    x: float, y: float, half: float, scale: float, k1: float, k2: float
) -> tuple[float, float]:
    """Pixels from the picture's middle, of the ray through ``(x, y, 1)``."""
    undistorted = math.sqrt(x * x + y * y)
    if undistorted < 1e-12:
        return 0.0, 0.0
    factor = half * distorted_radius(undistorted, scale, k1, k2) / undistorted
    return x * factor, y * factor


@inlined
def _land_all(points: Floats, out: Floats, half: float, scale: float, k1: float, k2: float) -> None:
    for i in range(len(points)):
        depth = points[i, 2]
        if depth > NEAR:
            u, v = landing(points[i, 0] / depth, points[i, 1] / depth, half, scale, k1, k2)
            out[i, 0] += u
            out[i, 1] += v
        else:
            out[i, 0] = math.nan
            out[i, 1] = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """A radial lens in front of a picture of ``width`` by ``height`` pixels.

    Attributes:
        fov: Horizontal field of view, degrees.
        k1: Barrel distortion, of the second order; see the module.
        k2: Of the fourth.
    """

    width: int
    height: int
    fov: float
    k1: float = 0.0
    k2: float = 0.0

    def __post_init__(self) -> None:
        if self.width < 8 or self.height < 8:
            raise ValueError(f"a picture of {self.width}x{self.height} pixels is too small")
        if not 10.0 <= self.fov <= 150.0:
            raise ValueError(f"a field of view of {self.fov} degrees is outside 10...150")
        if self.k1 < 0.0 or self.k2 < 0.0:
            raise ValueError(f"distortion ({self.k1}, {self.k2}) is negative: not barrel")

    @property
    def half(self) -> float:
        """Half the width: the pixels that make one ``r_d``."""
        return self.width / 2

    @property
    def scale(self) -> float:
        """Undistorted radius for each ``r_d`` in the middle of the picture."""
        return math.tan(math.radians(self.fov) / 2) / (1.0 + self.k1 + self.k2)

    def land(self, points: Floats) -> Floats:
        """Pixels, shape ``(n, 2)``, of points in the camera's axes; NaN behind the camera."""
        points = np.ascontiguousarray(points, np.float64)
        out = np.empty((len(points), 2))
        out[:] = self.width / 2, self.height / 2
        _land_all(points, out, self.half, self.scale, self.k1, self.k2)
        return out

    def undistort(self, pixels: Floats) -> Floats:
        """``(x, y)`` of the rays ``(x, y, 1)`` seen at ``pixels``, shape ``(..., 2)``."""
        middle = np.array([self.width / 2, self.height / 2])
        radial = (np.asarray(pixels, np.float64) - middle) / self.half
        square = (radial**2).sum(axis=-1, keepdims=True)
        return np.asarray(radial * (self.scale * (1.0 + square * (self.k1 + square * self.k2))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """A lens at a place in the world; pixel ``i`` covers ``[i, i + 1)``."""

    lens: Lens
    pose: Pose

    def project(self, points: Floats) -> Floats:
        """Where world points, shape ``(n, 3)``, land: pixels, shape ``(n, 2)``.

        NaN for what is behind the camera; what is beside the picture lands beside it.
        """
        return self.lens.land(self.pose.to_own(np.atleast_2d(points)))

    def rays(self, pixels: Floats) -> tuple[Floats, Floats]:
        """What pixels, shape ``(n, 2)``, see: an origin, shape ``(3,)``, and unit directions."""
        flat = self.lens.undistort(np.atleast_2d(pixels))
        own = np.concatenate([flat, np.ones((len(flat), 1))], axis=1)
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        return self.pose.position.astype(np.float64), own @ self.pose.rotation.T
