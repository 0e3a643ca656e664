"""Object-like regions of a picture, without a learned model.

A picture is smoothed inside its regions (mean shift; Comaniciu & Meer, 2002) and cut into patches
in several ways (:mod:`streaming.models.local_patches`). What is found in many of them, stands out
from what surrounds it and stands on a surface is likely a thing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import Hand, Point
from streaming.models.local_colour import ColourNames, Pixels, linear, oklab
from streaming.models.local_patches import Placed, RegionSettings, find_patches

_WELL_LIT = 235.0
_MOST_GAIN = 2.5
_FOCUS = 0.12
"""Reach of a focus, in picture heights."""
_SAMPLES = 100
"""Pixels that stand for a region's colours."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """A patch of the picture that looks like a thing. Pixels of the searched picture.

    Attributes:
        left, top: Where ``mask`` lies in the picture.
        mask: True where the thing is, shape ``(height, width)`` of its bounding box.
        inside: The pixel ``(x, y)`` deepest inside.
        light: Linear light of some of its pixels, shape ``(n, 3)``.
        contrast: How its colour stands out from what surrounds it (OKLab distance).
        stability: Share of the thresholds at which it was found.
        support: Share of what lies under and beside it that is a surface.
        solidity: Its area over that of its convex hull.
        shadow: Whether it may be a mere shadow: darker than its surround, and of its hue.
        touches_border: Whether it is cut off by the picture's edge.
    """

    left: int
    top: int
    mask: NDArray[np.bool_]
    inside: tuple[float, float]
    light: Pixels
    contrast: float
    stability: float
    support: float
    solidity: float
    shadow: bool
    touches_border: bool

    @property
    def area(self) -> int:
        return int(self.mask.sum())

    @property
    def width(self) -> int:
        return int(self.mask.shape[1])

    @property
    def height(self) -> int:
        return int(self.mask.shape[0])

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def bottom(self) -> int:
        return self.top + self.height

    @property
    def centre(self) -> tuple[float, float]:
        return self.left + self.width / 2, self.top + self.height / 2

    def overlap(self, other: Region) -> float:
        """Intersection over union."""
        left, right = max(self.left, other.left), min(self.right, other.right)
        top, bottom = max(self.top, other.top), min(self.bottom, other.bottom)
        if left >= right or top >= bottom:
            return 0.0
        both = int(
            (self._part(left, top, right, bottom) & other._part(left, top, right, bottom)).sum()
        )
        return both / (self.area + other.area - both)

    def covers(self, other: Region) -> float:
        """Share of ``other`` that lies inside this region."""
        left, right = max(self.left, other.left), min(self.right, other.right)
        top, bottom = max(self.top, other.top), min(self.bottom, other.bottom)
        if left >= right or top >= bottom:
            return 0.0
        both = self._part(left, top, right, bottom) & other._part(left, top, right, bottom)
        return int(both.sum()) / max(1, other.area)

    def pixels(self) -> NDArray[np.float32]:
        """Its pixels ``(x, y)``, shape ``(n, 2)``."""
        rows, columns = np.nonzero(self.mask)
        return np.stack([columns + self.left, rows + self.top], axis=1).astype(np.float32)

    def _part(self, left: int, top: int, right: int, bottom: int) -> NDArray[np.bool_]:
        return self.mask[top - self.top : bottom - self.top, left - self.left : right - self.left]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regions:
    """What was found in one picture.

    Attributes:
        width, height: Of the searched picture, pixels.
        regions: The most object-like first.
        light: The searched picture, linear.
        surface: True where a surface is, shape ``(height, width)``.
    """

    width: int
    height: int
    regions: tuple[Region, ...]
    light: Pixels
    surface: NDArray[np.bool_]


def find_regions(
    image: NDArray[np.uint8],
    settings: RegionSettings,
    *,
    names: ColourNames,
    hands: Iterable[Hand] = (),
    focus: Sequence[Point] = (),
    pixel_aspect: float = 1.0,
) -> Regions:
    """Search a picture for object-like regions.

    Args:
        image: RGB uint8, shape ``(height, width, 3)``.
        settings: How.
        names: Colour names; patches of one name are regions too.
        hands: Hands on the picture, which are no objects.
        focus: Points (fractions) near which a less object-like region is kept too: in a crowded
            picture those at the fingertips matter, wherever the most striking ones are.
        pixel_aspect: Width over height of one pixel; the searched picture has square ones.
    """
    height, width = image.shape[0], image.shape[1] * pixel_aspect
    scale = min(1.0, settings.width / width)
    size = (round(width * scale), max(2, round(height * scale)))
    small = image
    if size != (image.shape[1], image.shape[0]):
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.uint8)
    small = _exposed(np.ascontiguousarray(small).astype(np.uint8, copy=False))
    light = linear(small)
    lab = oklab(light)
    radius, span = settings.smoothing_radius, settings.smoothing_range
    smoothed = cv2.pyrMeanShiftFiltering(small, radius, span).astype(np.uint8)
    masks, surface = find_patches(smoothed, lab[..., 0], names=names, settings=settings)
    arm = _arm_mask(hands, size)
    kept = _distinct([mask for mask in masks if _outside(mask, arm)], settings)
    regions = [_measured(mask, share, lab, light, surface) for mask, share in kept]
    spots = [(x * size[0], y * size[1]) for x, y in focus]
    regions.sort(key=lambda region: -objectness(region) - _attention(region, spots, size[1]))
    return Regions(
        width=size[0],
        height=size[1],
        regions=tuple(regions[: settings.most]),
        light=light,
        surface=surface,
    )


def objectness(region: Region) -> float:
    """How much a region looks like a thing that stands on something, about -2 to 3."""
    score = min(region.contrast / 0.1, 1.5) + region.stability + region.support
    score += 1.5 * (region.solidity - 0.8)
    score -= 0.8 if region.shadow else 0.0
    return score - (0.8 if region.touches_border else 0.0)


def _attention(region: Region, spots: Sequence[tuple[float, float]], height: int) -> float:
    """What nearness to a focus adds to a region's rank, 0...2."""
    nearest = min((math.dist(region.inside, spot) for spot in spots), default=math.inf)
    return 2.0 * math.exp(-nearest / (_FOCUS * height))


def _exposed(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A dim picture brightened, so that steps in it are as great as in a well-lit one."""
    bright = float(np.percentile(image.max(axis=2), 98))
    gain = min(_MOST_GAIN, _WELL_LIT / max(bright, 1.0))
    if gain <= 1.0:
        return image
    brightened: NDArray[np.uint8] = np.clip(image * np.float32(gain), 0, 255).astype(np.uint8)
    return brightened


def _distinct(masks: list[Placed], settings: RegionSettings) -> list[tuple[Placed, float]]:
    """Near-equal masks as one, the largest of them, with the share of thresholds that found it."""
    ordered = sorted(masks, key=lambda placed: -int(placed[2].sum()))
    kept: list[tuple[Placed, int]] = []
    for placed in ordered:
        twin = next(
            (
                index
                for index, (other, _) in enumerate(kept)
                if _overlap(placed, other) > settings.same
            ),
            None,
        )
        if twin is None:
            kept.append((placed, 1))
        else:
            kept[twin] = (kept[twin][0], kept[twin][1] + 1)
    most = 2 * len(settings.thresholds)
    return [(placed, min(1.0, 2 * found / most)) for placed, found in kept]


def _overlap(one: Placed, other: Placed) -> float:
    (x, y, mask), (u, v, second) = one, other
    left, right = max(x, u), min(x + mask.shape[1], u + second.shape[1])
    top, bottom = max(y, v), min(y + mask.shape[0], v + second.shape[0])
    if left >= right or top >= bottom:
        return 0.0
    both = (
        mask[top - y : bottom - y, left - x : right - x]
        & second[top - v : bottom - v, left - u : right - u]
    ).sum()
    return float(both / (mask.sum() + second.sum() - both))


def _measured(
    placed: Placed, share: float, lab: Pixels, light: Pixels, surface: NDArray[np.bool_]
) -> Region:
    left, top, mask = placed
    height, width = mask.shape
    rows, columns = lab.shape[:2]
    margin = 6
    x0, y0 = max(0, left - margin), max(0, top - margin)
    x1, y1 = min(columns, left + width + margin), min(rows, top + height + margin)
    wide = np.zeros((y1 - y0, x1 - x0), dtype=np.uint8)
    wide[top - y0 : top - y0 + height, left - x0 : left - x0 + width] = mask
    near = cv2.dilate(wide, np.ones((2 * margin - 1, 2 * margin - 1), np.uint8))
    gap = cv2.dilate(wide, np.ones((3, 3), np.uint8))
    ring = (near > 0) & (gap == 0)
    core = cv2.erode(wide, np.ones((3, 3), np.uint8)) > 0
    core = core if core.any() else wide > 0
    depth = cv2.distanceTransform(cv2.copyMakeBorder(wide, 1, 1, 1, 1, cv2.BORDER_CONSTANT), 2, 3)
    deepest = np.unravel_index(int(depth.argmax()), depth.shape)
    inner, around = lab[y0:y1, x0:x1][core], lab[y0:y1, x0:x1][ring]
    own = np.median(inner, axis=0)
    other = np.median(around, axis=0) if len(around) else own
    below = ring.copy()
    below[: top - y0 + height // 2] = False
    under = surface[y0:y1, x0:x1][below]
    colours = light[y0:y1, x0:x1][core]
    return Region(
        left=left,
        top=top,
        mask=mask,
        inside=(x0 + float(deepest[1]) - 0.5, y0 + float(deepest[0]) - 0.5),
        light=colours[:: max(1, len(colours) // _SAMPLES)],
        contrast=float(np.linalg.norm(own - other)),
        stability=share,
        support=float(under.mean()) if under.size else 0.0,
        solidity=_solidity(mask),
        shadow=_is_shadow(own, other),
        touches_border=left == 0 or top == 0 or left + width == columns or top + height == rows,
    )


def _is_shadow(own: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
    """Whether OKLab colour ``own`` is ``other`` with less light on it."""
    if not 0.4 * other[0] < own[0] < 0.95 * other[0]:
        return False
    hues = own[1:] / max(float(own[0]), 0.05) - other[1:] / max(float(other[0]), 0.05)
    return float(np.linalg.norm(hues)) < 0.04


def _solidity(mask: NDArray[np.bool_]) -> float:
    rows, columns = np.nonzero(mask)
    hull = cv2.convexHull(np.stack([columns, rows], axis=1).astype(np.int32))
    outline = np.zeros(mask.shape, dtype=np.uint8)
    cv2.fillConvexPoly(outline, hull, 1)
    return float(mask.sum() / max(1, int(outline.sum())))


def _arm_mask(hands: Iterable[Hand], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Hands, and the arm from each wrist to where it leaves the picture, roughly."""
    mask = np.zeros((size[1], size[0]), dtype=np.uint8)
    for hand in hands:
        points = (np.asarray(hand.landmarks) * size).astype(np.float32)
        cv2.fillConvexPoly(mask, cv2.convexHull(points).astype(np.int32), 1)
        wrist, knuckles = points[0], points[[5, 9, 13, 17]].mean(axis=0)
        palm = float(np.linalg.norm(knuckles - wrist))
        end = wrist + (wrist - knuckles) * (4 * max(size) / max(palm, 1.0))
        start = tuple(int(value) for value in wrist)
        finish = tuple(int(value) for value in end)
        cv2.line(mask, start, finish, 1, max(2, round(0.9 * palm)))
    if mask.any():
        mask = cv2.dilate(mask, np.ones((7, 7), np.uint8)).astype(np.uint8)
    return mask > 0


def _outside(placed: Placed, arm: NDArray[np.bool_]) -> bool:
    """Whether most of a patch is neither hand nor arm."""
    left, top, mask = placed
    height, width = mask.shape
    on_arm = arm[top : top + height, left : left + width] & mask
    return float(on_arm.sum()) < 0.4 * float(mask.sum())
