"""What a pointing finger may mean: things near its ray, and free places beside things.

Lengths are in picture heights, so that nothing depends on the resolution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from streaming.grounding_frames import Ray
from streaming.models.local_regions import Region
from streaming.models.local_scene import foot
from streaming.models.local_text import Direction

Spot: TypeAlias = tuple[float, float]
"""A point in pixels of the searched picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointingSettings:
    """Settings of the pointing cone, see ``configs/local.toml``.

    Attributes:
        reach: Distance beyond the fingertip at which a thing is e times less likely meant.
        sideways: How much more a step across the ray counts than one along it.
        backward: How much more a step behind the fingertip counts.
        centre_share: Share of the distance to a thing's middle in that to the thing; the rest is
            that to its nearest part.
        side_gap: From a thing's edge to the free place at its left or right.
        depth_gap: From its foot to the free place in front of it or behind.
        place_share: How often a stroke that goes with a place points at the place itself and not
            at the thing beside it.
        place_share_thing: The same, when the word means a thing ("to the right of that").
        unsaid: Likelihood of a place whose relation is not the one spoken.
    """

    reach: float = 0.05
    sideways: float = 2.0
    backward: float = 3.0
    centre_share: float = 0.25
    side_gap: float = 0.035
    depth_gap: float = 0.03
    place_share: float = 0.85
    place_share_thing: float = 0.5
    unsaid: float = 0.03


class Cone:
    """A pointing ray in a picture, as a measure of distance.

    Args:
        ray: Points in fractions of the picture.
        width, height: Of the searched picture, pixels.
        settings: Its shape.
    """

    def __init__(self, ray: Ray, *, width: int, height: int, settings: PointingSettings) -> None:
        self._settings = settings
        self._height = height
        self.tip = np.array([ray.tip[0] * width, ray.tip[1] * height])
        along = self.tip - np.array([ray.knuckle[0] * width, ray.knuckle[1] * height])
        length = float(np.linalg.norm(along))
        self._along = along / length if length > 1e-6 else np.array([0.0, -1.0])
        # A finger that points into the picture looks short and its direction says little.
        trust = max(0.0, 1.0 - max(0.0, ray.depth - 0.5) * 2)
        self._sideways = 1 + (settings.sideways - 1) * trust
        self._backward = 1 + (settings.backward - 1) * trust

    def distances(self, spots: NDArray[np.float32]) -> NDArray[np.float64]:
        """How far pixels ``(n, 2)`` lie from where the finger points, in picture heights."""
        offset = (spots - self.tip) / self._height
        ahead = offset @ self._along
        across = offset @ np.array([-self._along[1], self._along[0]])
        ahead = np.where(ahead < 0, -self._backward * ahead, ahead)
        return np.asarray(np.hypot(ahead, self._sideways * across), dtype=np.float64)

    def distance(self, spot: Spot) -> float:
        """As :meth:`distances`, of one pixel."""
        return float(self.distances(np.array([spot], dtype=np.float32))[0])

    def to_region(self, region: Region) -> float:
        """How far a thing lies from where the finger points."""
        pixels = region.pixels()
        nearest = float(self.distances(pixels[:: max(1, len(pixels) // 400)]).min())
        share = self._settings.centre_share
        return (1 - share) * nearest + share * self.distance(region.inside)

    def likelihood(self, distance: float) -> float:
        """How likely the finger means what lies so far."""
        return math.exp(-distance / self._settings.reach)

    def spot_ahead(self, distance: float) -> Spot:
        """The pixel so far beyond the tip, in picture heights."""
        x, y = self.tip + self._along * distance * self._height
        return float(x), float(y)


def place_beside(
    region: Region, direction: Direction, *, height: int, settings: PointingSettings
) -> Spot:
    """Middle of the free place beside a thing, pixels.

    Args:
        region: The thing.
        direction: From the wearer's view: ``front`` is nearer to the wearer.
        height: Of the searched picture.
        settings: The gaps.
    """
    middle = region.left + region.width / 2
    stand = foot(region, height)[1] * height
    side = settings.side_gap * height + 0.35 * region.width
    step = settings.depth_gap * height + 0.1 * region.width
    lies_flat = region.height < 0.8 * region.width
    behind = region.top - 0.7 * step if lies_flat else stand - 0.125 * region.width - 1.3 * step
    match direction:
        case "left":
            return region.left - side, stand
        case "right":
            return region.right + side, stand
        case "front" | "below":
            return middle, region.bottom + step
        case "behind":
            return middle, behind
        case "above":
            return middle, region.top + 0.2 * region.height
        case _:
            return region.inside
