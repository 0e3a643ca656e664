"""Patches of a picture that may be things: linked, enclosed, smooth, or of one colour name.

Pixels are linked where neighbours differ little, at several thresholds, as in maximally stable
colour regions (Forssén, 2007). Large patches are surfaces (table, wall); what lies between them is
a whole object of several colours. A smooth thing on a textured surface is found by its smoothness,
one with a print by its colour's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from streaming.models.local_colour import ColourNames, Pixels, linear, oklab

Placed: TypeAlias = tuple[int, int, NDArray[np.bool_]]
"""Left, top and mask of a patch."""

_LINK_WEIGHTS = np.array([0.6, 1.6, 1.6], dtype=np.float32)
"""Shading changes lightness inside one thing, so a step in chroma parts sooner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSettings:
    """Settings of the search for regions, see ``configs/local.toml``.

    Attributes:
        width: Pictures are searched at this width at most, in pixels.
        smoothing_radius: Of mean shift, in pixels.
        smoothing_range: Of mean shift, in grey levels.
        thresholds: Steps below which neighbours belong together.
        smallest: Least share of the picture that a region covers.
        largest: Greatest share; larger patches are surfaces.
        textured: Local standard deviation of lightness from which a surface counts as textured.
        smooth_share: A thing is smooth below this share of the surface's.
        same: Regions that overlap by more than this (intersection over union) are one.
        most: At most so many regions are returned.
    """

    width: int = 640
    smoothing_radius: int = 6
    smoothing_range: int = 14
    thresholds: tuple[float, ...] = (0.014, 0.02, 0.028, 0.04)
    smallest: float = 0.0004
    largest: float = 0.05
    textured: float = 0.012
    smooth_share: float = 0.4
    same: float = 0.7
    most: int = 60


def find_patches(
    smoothed: NDArray[np.uint8],
    lightness: NDArray[np.float32],
    *,
    names: ColourNames,
    settings: RegionSettings,
) -> tuple[list[Placed], NDArray[np.bool_]]:
    """Every patch of an object's size, many of them several times over, and the surfaces.

    Args:
        smoothed: The picture smoothed inside its regions, sRGB.
        lightness: Of the picture itself, OKLab.
        names: Colour names.
        settings: Thresholds and sizes.

    Returns:
        The patches, and where a surface is, shape ``(height, width)``.
    """
    lab = oklab(linear(smoothed))
    surface = np.zeros(lab.shape[:2], dtype=bool)
    patches: list[Placed] = []
    for threshold in settings.thresholds:
        labels = _linked(lab, threshold)
        counts = np.bincount(labels.ravel())
        wide = counts >= settings.largest * labels.size
        surface |= wide[labels]
        patches += _patches(labels, counts, settings)
        patches += _between(wide[labels], settings)
    patches += _smooth_things(lightness, settings)
    patches += _named(smoothed, names, settings)
    return patches, surface


def _linked(lab: Pixels, threshold: float) -> NDArray[np.int32]:
    """Number of each pixel's patch: 4-neighbours nearer than ``threshold`` belong together."""
    height, width = lab.shape[:2]
    weighted = lab * _LINK_WEIGHTS
    numbers = np.arange(height * width, dtype=np.int32).reshape(height, width)
    across = np.linalg.norm(weighted[:, 1:] - weighted[:, :-1], axis=2) < threshold
    down = np.linalg.norm(weighted[1:] - weighted[:-1], axis=2) < threshold
    one = np.concatenate([numbers[:, 1:][across], numbers[1:][down]])
    other = np.concatenate([numbers[:, :-1][across], numbers[:-1][down]])
    links = coo_matrix(
        (np.ones(len(one), dtype=np.uint8), (one, other)), shape=(numbers.size, numbers.size)
    )
    _, labels = connected_components(links, directed=False)
    return np.asarray(labels, dtype=np.int32).reshape(height, width)


def _patches(
    labels: NDArray[np.int32], counts: NDArray[np.int64], settings: RegionSettings
) -> Iterator[Placed]:
    """The linked patches of an object's size."""
    fitting = (counts >= settings.smallest * labels.size) & (
        counts < settings.largest * labels.size
    )
    chosen = np.flatnonzero(fitting)
    renumbered = np.zeros(len(counts), dtype=np.int32)
    renumbered[chosen] = np.arange(1, len(chosen) + 1)
    numbered = renumbered[labels]
    for number, (left, top, right, bottom) in _boxes(numbered, len(chosen)):
        mask = numbered[top:bottom, left:right] == number
        yield left, top, _filled(mask)


def _boxes(
    numbered: NDArray[np.int32], count: int
) -> Iterator[tuple[int, tuple[int, int, int, int]]]:
    rows, columns = np.nonzero(numbered)
    numbers = numbered[rows, columns]
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(1, count + 2))
    for number in range(1, count + 1):
        own = order[ends[number - 1] : ends[number]]
        if len(own):
            x, y = columns[own], rows[own]
            yield number, (int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1)


def _between(wide: NDArray[np.bool_], settings: RegionSettings) -> Iterator[Placed]:
    """What lies between the surfaces: whole objects, of several colours."""
    rest = cv2.morphologyEx((~wide).astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    yield from _components(rest, settings, grow=0)


def _smooth_things(lightness: NDArray[np.float32], settings: RegionSettings) -> Iterator[Placed]:
    """Smooth things on a textured surface, which may have the surface's colour."""
    window = (7, 7)
    mean = cv2.blur(lightness, window)
    spread = np.sqrt(np.maximum(cv2.blur(lightness * lightness, window) - mean * mean, 0.0))
    spread = cv2.blur(spread, (5, 5))
    usual = float(np.median(spread[spread.shape[0] // 3 :]))
    if usual >= settings.textured:
        smooth = (spread < settings.smooth_share * usual).astype(np.uint8)
        yield from _components(smooth, settings, grow=4)


def _named(
    smoothed: NDArray[np.uint8], names: ColourNames, settings: RegionSettings
) -> Iterator[Placed]:
    """Patches that one colour name fits best, whatever their shading and print."""
    best = cv2.medianBlur(names.best(smoothed), 5)
    for name in range(len(names.names)):
        yield from _components((best == name).astype(np.uint8), settings, grow=0)


def _components(binary: NDArray[Any], settings: RegionSettings, *, grow: int) -> Iterator[Placed]:
    count, labels, stats, _ = cv2.connectedComponentsWithStats(binary, connectivity=4)
    height, width = binary.shape
    for number in range(1, count):
        x, y, w, h, area = (int(value) for value in stats[number])
        if not settings.smallest * binary.size <= area < settings.largest * binary.size:
            continue
        left, top = max(0, x - grow), max(0, y - grow)
        right, bottom = min(width, x + w + grow), min(height, y + h + grow)
        mask = (labels[top:bottom, left:right] == number).astype(np.uint8)
        if grow:
            mask = cv2.dilate(mask, np.ones((2 * grow + 1, 2 * grow + 1), np.uint8))
        yield left, top, _filled(mask > 0)


def _filled(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask with its holes (a label, a reflection) filled."""
    padded = cv2.copyMakeBorder(mask.astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    _, outside = cv2.connectedComponents(1 - padded, connectivity=4)
    filled: NDArray[np.bool_] = outside[1:-1, 1:-1] != outside[0, 0]
    return filled
