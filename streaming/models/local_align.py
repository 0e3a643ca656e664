"""The way from one picture of a scene to another, by features: when the camera's path is lost."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming import geometry
from streaming.events import Hand, Homography

_WIDTH = 640
_FEATURES = 1200
_LEAST_INLIERS = 15
_SEED = 7


def align(
    image: NDArray[np.uint8], other: NDArray[np.uint8], *, hands: Iterable[Hand] = ()
) -> Homography | None:
    """Homography from the points (fractions) of ``image`` to those of ``other``.

    Args:
        image, other: RGB uint8 of the same scene.
        hands: Hands on ``image``, whose features do not count.

    Returns:
        None when too few features agree.
    """
    one, other_small = _small(image), _small(other)
    orb = cv2.ORB.create(nfeatures=_FEATURES, fastThreshold=10)
    points, descriptors = orb.detectAndCompute(one, _background(hands, one.shape))
    found, described = orb.detectAndCompute(other_small, None)
    if min(len(points), len(found)) < _LEAST_INLIERS:
        return None
    matches = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(descriptors, described)
    if len(matches) < _LEAST_INLIERS:
        return None
    source = np.array([points[match.queryIdx].pt for match in matches]) / one.shape[1::-1]
    target = np.array([found[match.trainIdx].pt for match in matches]) / other_small.shape[1::-1]
    cv2.setRNGSeed(_SEED)
    matrix, inliers = cv2.findHomography(source, target, cv2.USAC_MAGSAC, 0.006)
    if matrix is None or int(inliers.sum()) < _LEAST_INLIERS or abs(np.linalg.det(matrix)) < 0.1:
        return None
    return geometry.from_matrix(np.asarray(matrix, dtype=np.float64))


def _small(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    scale = min(1.0, _WIDTH / grey.shape[1])
    size = (round(grey.shape[1] * scale), max(1, round(grey.shape[0] * scale)))
    return cv2.resize(grey, size, interpolation=cv2.INTER_AREA).astype(np.uint8)


def _background(hands: Iterable[Hand], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    mask = np.full(shape, 255, dtype=np.uint8)
    for hand in hands:
        points = np.asarray(hand.landmarks) * shape[1::-1]
        cv2.fillConvexPoly(mask, cv2.convexHull(points.astype(np.int32)), 0)
    return cv2.erode(mask, np.ones((15, 15), np.uint8)).astype(np.uint8)
