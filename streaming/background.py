"""What belongs to the background of a picture, and how it moved: pure functions on grey pictures.

Everything here is deterministic: OpenCV's generator is seeded before every robust estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import Hand, HandsSeen

_SEED = 20_260
_TOLERANCE = 1.5
"""Pixels of the reduced picture within which a corner agrees with a motion."""
_BLANK = 8.0
"""Deviation of the brightness (0...255) below which a background has nothing to recognise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The motion of the background between two pictures.

    Attributes:
        matrix: Homography from the first picture's pixels to the second's, shape ``(3, 3)``.
        kept: Corners that agree with it.
        share: Of the corners that could be followed, how many agree, 0...1.
    """

    matrix: NDArray[np.float64]
    kept: int
    share: float


def foreground_mask(hands: HandsSeen, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """255 where the background may be, 0 over hands and the arms behind them.

    The arm runs from the hand's middle through the wrist to beyond the picture.
    """
    height, width = shape[:2]
    mask = np.full((height, width), 255, np.uint8)
    for hand in hands.hands:
        _paint(mask, hand)
    return mask


def _paint(mask: NDArray[np.uint8], hand: Hand) -> None:
    height, width = mask.shape
    points = np.asarray(hand.landmarks, np.float64) * (width, height)
    if not np.isfinite(points).all() or np.abs(points).max() > 20 * max(width, height):
        return
    wrist, middle = points[0], points[9]
    palm = max(float(np.linalg.norm(middle - wrist)), float(np.linalg.norm(points[5] - points[17])))
    hull = cv2.convexHull(points.astype(np.float32)).astype(np.int32)
    cv2.fillConvexPoly(mask, hull, 0)
    cv2.polylines(mask, [hull], True, 0, thickness=max(3, round(0.5 * palm)))
    back = wrist - middle
    length = float(np.linalg.norm(back))
    if length < 1e-6:
        return
    end = wrist + back / length * 2 * (width + height)
    start = (round(float(wrist[0])), round(float(wrist[1])))
    cv2.line(
        mask, start, (round(float(end[0])), round(float(end[1]))), 0, max(3, round(1.3 * palm))
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Thumbnail:
    """A coarse picture of the background, that tells one scene from another.

    Attributes:
        grey: Mean brightness of the cells, 0...255.
        seen: Which cells are all background.
    """

    grey: NDArray[np.float32]
    seen: NDArray[np.bool_]


def thumbnail(grey: NDArray[np.uint8], mask: NDArray[np.uint8]) -> Thumbnail:
    """The thumbnail of a picture, ``mask`` being 0 over hands and arms."""
    cells = (24, 18)
    small = cv2.resize(grey, cells, interpolation=cv2.INTER_AREA)
    seen = cv2.resize(mask, cells, interpolation=cv2.INTER_AREA)
    return Thumbnail(grey=np.asarray(small, np.float32), seen=np.asarray(seen) == 255)


def likeness(one: Thumbnail, other: Thumbnail) -> float:
    """Correlation of two backgrounds, -1...1, where both are in view.

    Blank ones have nothing to correlate: they are alike (1) when about as bright, else not (0).
    """
    both = one.seen & other.seen
    if both.sum() < 40:
        return 1.0
    a, b = one.grey[both], other.grey[both]
    spread = float(a.std()), float(b.std())
    if min(spread) < _BLANK:
        return 1.0 if max(spread) < 2 * _BLANK and abs(float(a.mean() - b.mean())) < 30 else 0.0
    return float(((a - a.mean()) * (b - b.mean())).mean()) / (spread[0] * spread[1])


def fit_motion(
    here: NDArray[np.float32],
    there: NDArray[np.float32],
    found: NDArray[np.bool_],
    *,
    mask: NDArray[np.uint8],
    least: int,
) -> Fit | None:
    """The motion that takes ``here`` to ``there``: the richest kind that the points support.

    Args:
        here: Corners in this picture, shape ``(n, 2)``, pixels.
        there: The same corners in the keyframe.
        found: Which of them could be followed.
        mask: Of this picture; corners that are now under a hand are left out.
        least: Fewest points to go by.

    Returns:
        The motion, or None when too few points were followed or agree.
    """
    height, width = mask.shape
    inside = (here >= 0).all(1) & (here[:, 0] < width - 1) & (here[:, 1] < height - 1)
    usable = found & inside
    cells = here[usable].astype(np.int32)
    usable[usable] = mask[cells[:, 1], cells[:, 0]] > 0
    source, target = here[usable], there[usable]
    if len(source) < least:
        return None
    for estimate, fewest in ((_homography, 2 * least), (_similarity, least), (_shift, least)):
        if len(source) < fewest:
            continue
        matrix = estimate(source, target)
        if matrix is None or not _is_sane(matrix, width, height):
            continue
        agree = _agree(matrix, source, target)
        if agree >= max(least, 0.4 * len(source)):
            return Fit(matrix=matrix, kept=agree, share=agree / len(source))
    return None


def _homography(
    source: NDArray[np.float32], target: NDArray[np.float32]
) -> NDArray[np.float64] | None:
    if _spread(source) < 12.0:
        return None
    cv2.setRNGSeed(_SEED)
    matrix, _ = cv2.findHomography(
        source, target, cv2.RANSAC, _TOLERANCE, maxIters=300, confidence=0.995
    )
    return None if matrix is None else np.asarray(matrix, np.float64)


def _similarity(
    source: NDArray[np.float32], target: NDArray[np.float32]
) -> NDArray[np.float64] | None:
    cv2.setRNGSeed(_SEED)
    affine, _ = cv2.estimateAffinePartial2D(
        source, target, method=cv2.RANSAC, ransacReprojThreshold=_TOLERANCE, maxIters=300
    )
    return None if affine is None else np.vstack([affine, [0.0, 0.0, 1.0]])


def _shift(source: NDArray[np.float32], target: NDArray[np.float32]) -> NDArray[np.float64]:
    matrix = np.eye(3)
    matrix[:2, 2] = np.median(target - source, axis=0)
    return matrix


def _spread(points: NDArray[np.float32]) -> float:
    """Deviation of points across their narrower axis, pixels: 0 on a line."""
    covariance = np.cov(points.T)
    return float(np.sqrt(max(0.0, float(np.linalg.eigvalsh(covariance)[0]))))


def _agree(
    matrix: NDArray[np.float64], source: NDArray[np.float32], target: NDArray[np.float32]
) -> int:
    moved = cv2.perspectiveTransform(source[:, None].astype(np.float64), matrix)[:, 0]
    return int((np.linalg.norm(moved - target, axis=1) <= 1.5 * _TOLERANCE).sum())


def _is_sane(matrix: NDArray[np.float64], width: int, height: int) -> bool:
    """Whether a head could move so: the picture stays a convex quadrangle of a like size."""
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
    depth = np.column_stack([corners, np.ones(4)]) @ matrix[2]
    if (depth / matrix[2, 2] < 0.3).any() or (depth / matrix[2, 2] > 3.0).any():
        return False
    quad = cv2.perspectiveTransform(corners[:, None], matrix)[:, 0].astype(np.float32)
    if not cv2.isContourConvex(quad):
        return False
    area = float(cv2.contourArea(quad)) / (width * height)
    return 0.25 < area < 4.0
