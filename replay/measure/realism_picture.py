"""What single pictures look like: light, colour, noise, sharpness; the whole and the hand.

Pictures are brought to 640 pixels of width first (never enlarged), so that sharpness and noise of
different cameras compare. Values are of 8-bit sRGB as decoded, 0...255.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import Hand

WIDTH = 640

_NOISE = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
_MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLook:
    """Statistics of one picture.

    Attributes:
        luminance: Mean of the luma.
        contrast: Standard deviation of the luma.
        saturation: Mean of (max - min) / max over the channels, 0...1.
        warmth: Mean red over mean blue.
        clipped: Share of pixels with a luma under 4 or over 251.
        noise: Standard deviation of what noise is left after coding; see :func:`noise_sigma`.
        sharpness: 99th percentile of the gradient of the luma, levels a pixel.
        detail: Share of the luma's variance finer than about 4 pixels.
        border: Mean luma of the corners over that of the middle: vignetting.
        hand: Of the hand's own pixels, or None: see :class:`HandLook`.
    """

    luminance: float
    contrast: float
    saturation: float
    warmth: float
    clipped: float
    noise: float
    sharpness: float
    detail: float
    border: float
    hand: HandLook | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandLook:
    """Statistics of the pixels inside a hand's outline (the hull of its landmarks).

    Attributes:
        luminance: Mean luma.
        saturation: As of the picture.
        contrast: Standard deviation of the luma: shading, nails, wrinkles.
        detail: As of the picture: texture of the skin.
        edge: How far the hand's luma lies from that of a ring around it, levels.
        redness: Mean red over mean green.
    """

    luminance: float
    saturation: float
    contrast: float
    detail: float
    edge: float
    redness: float


def look(image: NDArray[np.uint8], hand: Hand | None = None) -> PictureLook:
    """Measure a picture.

    Args:
        image: RGB, shape ``(height, width, 3)``.
        hand: The hand to measure in it, if there is one.
    """
    height, width = image.shape[:2]
    if width > WIDTH:
        size = (WIDTH, max(1, round(height * WIDTH / width)))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    luma = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.float32)
    fine = (luma - cv2.GaussianBlur(luma, (0, 0), 1.2)) ** 2
    colour = _saturation(image)
    mean = image.reshape(-1, 3).mean(axis=0)
    return PictureLook(
        luminance=float(luma.mean()),
        contrast=float(luma.std()),
        saturation=float(colour.mean()),
        warmth=float(mean[0] / max(1.0, float(mean[2]))),
        clipped=float(((luma < 4) | (luma > 251)).mean()),
        noise=noise_sigma(luma),
        sharpness=float(np.percentile(_gradient(luma), 99)),
        detail=float(fine.mean() / max(1e-6, float(luma.var()))),
        border=_border(luma),
        hand=None if hand is None else _hand_look(image, luma, colour, fine, hand),
    )


def noise_sigma(luma: NDArray[np.float32]) -> float:
    """Standard deviation of the noise in a picture, levels.

    The mask [[1,-2,1],[-2,4,-2],[1,-2,1]] is blind to planes and to straight edges along the axes
    (Immerkaer, 1996); its median absolute value instead of the mean is not led astray by the edges
    that it does see. White noise of deviation s gives 6 s.
    """
    answer = np.asarray(cv2.filter2D(luma, cv2.CV_32F, _NOISE), np.float32)
    return _mad(answer[1:-1, 1:-1]) / 6


def _mad(values: NDArray[np.float32]) -> float:
    """Robust standard deviation; interpolated within the bins that whole levels make."""
    sizes = np.abs(values).ravel()
    median = float(np.median(sizes))
    below, within = float((sizes < median).mean()), float((sizes == median).mean())
    place = (0.5 - below) / within if within else 0.5
    return _MAD_TO_SIGMA * max(0.0, median - 0.5 + place) if median else 0.0


def _gradient(luma: NDArray[np.float32]) -> NDArray[np.float32]:
    across = cv2.Sobel(luma, cv2.CV_32F, 1, 0, ksize=3) / 8
    down = cv2.Sobel(luma, cv2.CV_32F, 0, 1, ksize=3) / 8
    return np.asarray(np.hypot(across, down), np.float32)


def _saturation(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    most = image.max(axis=2).astype(np.float32)
    least = image.min(axis=2).astype(np.float32)
    return np.asarray((most - least) / np.maximum(most, 1.0), np.float32)


def _border(luma: NDArray[np.float32]) -> float:
    height, width = luma.shape
    down, across = max(1, height // 8), max(1, width // 8)
    corners = [luma[:down, :across], luma[:down, -across:]]
    corners += [luma[-down:, :across], luma[-down:, -across:]]
    middle = luma[3 * down : -3 * down or None, 3 * across : -3 * across or None]
    return float(np.mean([part.mean() for part in corners]) / max(1.0, float(middle.mean())))


def _hand_look(
    image: NDArray[np.uint8],
    luma: NDArray[np.float32],
    colour: NDArray[np.float32],
    fine: NDArray[np.float32],
    hand: Hand,
) -> HandLook | None:
    """The hand's own look, None when too little of it is in the picture."""
    inside = _outline(hand.landmarks, luma.shape)
    side = max(3, int(np.sqrt(inside.sum()) / 4) | 1)
    wide = cv2.dilate(inside.astype(np.uint8), np.ones((side, side), np.uint8)).astype(bool)
    ring = wide & ~inside
    if inside.sum() < 100 or ring.sum() < 50:
        return None
    red, green, _ = image[inside].mean(axis=0)
    skin = luma[inside]
    return HandLook(
        luminance=float(skin.mean()),
        saturation=float(colour[inside].mean()),
        contrast=float(skin.std()),
        detail=float(fine[inside].mean() / max(1e-6, float(skin.var()))),
        edge=float(abs(skin.mean() - luma[ring].mean())),
        redness=float(red / max(1.0, float(green))),
    )


def _outline(landmarks: Sequence[tuple[float, float]], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    height, width = shape
    points = np.asarray(landmarks, np.float64) * (width, height)
    points = np.clip(points, -4 * width, 4 * width).round().astype(np.int32)
    mask = np.zeros((height, width), np.uint8)
    cv2.fillConvexPoly(mask, cv2.convexHull(points), 1)
    return mask.astype(bool)
