"""The samples of a picture, and what they see."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.lens import Lens
from replay.synth.world import Floats

TILE = 8
"""Pixels along a tile's side."""

CENTRE = ((0.5, 0.5),)
AROUND = ((0.375, 0.125), (0.875, 0.375), (0.625, 0.875), (0.125, 0.625))
"""Samples in a pixel: the centre, which labels it, and a rotated grid that smooths edges."""


class Grid(NamedTuple):
    """The samples of a picture.

    Attributes:
        rays: ``(x, y)`` of each sample's ray ``(x, y, 1)``, shape ``(h, w, samples, 2)``.
        bounds: Least and greatest ``x``, then ``y``, in each tile, shape ``(th, tw, 4)``.
        lens: Half the width in pixels, scale, k1, k2.
        spread: Greatest distance in ``x`` or ``y`` between a pixel's first sample and another.
    """

    rays: NDArray[np.float32]
    bounds: NDArray[np.float32]
    lens: tuple[float, float, float, float]
    spread: float


class Sight(NamedTuple):
    """What the samples see.

    Attributes:
        face: Number of the nearest face at each pixel's centre, or -1, shape ``(h, w, 1)``.
        inverse: One over its depth, 0 where nothing is, same shape.
        edge: 1 where the pixel may see more than one surface, shape ``(h, w)``.
        more_face: Of the samples around the centre, shape ``(h, w, 4)``; holds for edges only.
        more_inverse: Likewise.
        planes: Of each face that may be seen: normals of the planes through the eye opposite to
            each corner, over the triangle's determinant, shape ``(m, 3, 3)``. With the ray ``d``,
            ``planes @ d`` are the corners' weights over the depth.
    """

    face: NDArray[np.int32]
    inverse: NDArray[np.float32]
    edge: NDArray[np.uint8]
    more_face: NDArray[np.int32]
    more_inverse: NDArray[np.float32]
    planes: Floats


def grids(lens: Lens) -> tuple[Grid, Grid]:
    """The rays of ``lens`` at the pixels' centres, and around them."""
    rows, columns = np.mgrid[0 : lens.height, 0 : lens.width]
    corners = np.stack([columns, rows], axis=-1)[:, :, None, :] + np.array(CENTRE + AROUND)
    rays = lens.undistort(corners).astype(np.float32)
    down, along = -(-lens.height // TILE), -(-lens.width // TILE)
    wide = ((0, down * TILE - lens.height), (0, along * TILE - lens.width), (0, 0), (0, 0))
    tiles = np.pad(rays, wide, mode="edge").reshape(down, TILE, along, TILE, -1, 2)
    low, high = tiles.min(axis=(1, 3, 4)), tiles.max(axis=(1, 3, 4))
    bounds = np.stack([low[..., 0], high[..., 0], low[..., 1], high[..., 1]], axis=-1)
    shape = (lens.half, lens.scale, lens.k1, lens.k2)
    centre, around = np.ascontiguousarray(rays[:, :, :1]), np.ascontiguousarray(rays[:, :, 1:])
    spread = float(np.abs(around - around[:, :, :1]).max()) * 1.001
    return Grid(centre, bounds, shape, 0.0), Grid(around, bounds, shape, spread)


def blank(lens: Lens, faces: int) -> Sight:
    """Room for what is seen of at most so many faces, used again and again."""
    shape, more = (lens.height, lens.width, 1), (lens.height, lens.width, len(AROUND))
    return Sight(
        np.empty(shape, np.int32),
        np.empty(shape, np.float32),
        np.empty(shape[:2], np.uint8),
        np.empty(more, np.int32),
        np.empty(more, np.float32),
        np.empty((faces, 3, 3)),
    )
