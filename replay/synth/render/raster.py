"""Which triangle each sample of the picture sees: a depth buffer over exact rays.

Triangles are not projected and filled: each sample's own ray, lens distortion included, is tested
against the planes through the eye and the triangle's edges (homogeneous rasterisation, Olano &
Greer 1997). So edges curve as the lens bends them, nothing has to be cut at the near plane, and a
sample sees exactly what :func:`replay.synth.render.cast` hits. Only the search for the samples to
be tested works in pixels: by the corners for small triangles, by tiles of the picture for large
ones.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled, inlined
from replay.synth.render.lens import NEAR, Lens, landing
from replay.synth.world import Floats

TILE = 8
"""Pixels along a tile's side."""

SMALL = 24
"""Triangles up to so many pixels across hardly bend: their corners and one pixel bound them."""

CENTRE = ((0.5, 0.5),)
AROUND = ((0.5, 0.5), (0.375, 0.125), (0.875, 0.375), (0.625, 0.875), (0.125, 0.625))
"""Samples in a pixel: the centre first, which labels it, and four on a rotated grid."""


class Grid(NamedTuple):
    """The samples of a picture.

    Attributes:
        rays: ``(x, y)`` of each sample's ray ``(x, y, 1)``, shape ``(h, w, samples, 2)``.
        bounds: Least and greatest ``x``, then ``y``, in each tile, shape ``(th, tw, 4)``.
        lens: Half the width in pixels, scale, k1, k2.
    """

    rays: NDArray[np.float32]
    bounds: NDArray[np.float32]
    lens: tuple[float, float, float, float]


class Sight(NamedTuple):
    """What the samples see.

    Attributes:
        face: Number of the nearest face or -1, shape ``(h, w, samples)``.
        inverse: One over its depth, 0 where nothing is, same shape.
        planes: Of each face that may be seen: normals of the planes through the eye opposite to
            each corner, over the triangle's determinant, shape ``(m, 3, 3)``. With the ray ``d``,
            ``planes @ d`` are the corners' weights over the depth.
    """

    face: NDArray[np.int32]
    inverse: NDArray[np.float32]
    planes: Floats


def grid(lens: Lens, samples: tuple[tuple[float, float], ...]) -> Grid:
    """The rays of ``lens`` at ``samples`` in every pixel."""
    rows, columns = np.mgrid[0 : lens.height, 0 : lens.width]
    corners = np.stack([columns, rows], axis=-1)[:, :, None, :] + np.array(samples)
    rays = lens.undistort(corners).astype(np.float32)
    down, along = -(-lens.height // TILE), -(-lens.width // TILE)
    wide = ((0, down * TILE - lens.height), (0, along * TILE - lens.width), (0, 0), (0, 0))
    tiles = np.pad(rays, wide, mode="edge").reshape(down, TILE, along, TILE, len(samples), 2)
    low, high = tiles.min(axis=(1, 3, 4)), tiles.max(axis=(1, 3, 4))
    bounds = np.stack([low[..., 0], high[..., 0], low[..., 1], high[..., 1]], axis=-1)
    return Grid(rays, bounds, (lens.half, lens.scale, lens.k1, lens.k2))


def see(grid: Grid, corners: Floats, pixels: Floats, faces: NDArray[np.int32]) -> Sight:
    """Find the nearest face in each sample.

    Args:
        corners: Vertices in the camera's axes, shape ``(n, 3)``.
        pixels: Where they land, shape ``(n, 2)``.
    """
    shape = grid.rays.shape[:3]
    sight = Sight(
        np.full(shape, -1, np.int32),
        np.zeros(shape, np.float32),
        np.empty((len(faces), 3, 3)),
    )
    nearest = np.zeros(grid.bounds.shape[:2])
    _draw_all(grid, corners, pixels, faces, nearest, sight)
    return sight


@inlined
def _set_planes(corners: Any, a: int, b: int, c: int, planes: Any) -> float:
    """Planes of one triangle, before division, into ``planes``; returns its determinant."""
    for corner in range(3):
        i = b if corner == 0 else (c if corner == 1 else a)
        j = c if corner == 0 else (a if corner == 1 else b)
        planes[corner, 0] = corners[i, 1] * corners[j, 2] - corners[i, 2] * corners[j, 1]
        planes[corner, 1] = corners[i, 2] * corners[j, 0] - corners[i, 0] * corners[j, 2]
        planes[corner, 2] = corners[i, 0] * corners[j, 1] - corners[i, 1] * corners[j, 0]
    return float(
        planes[0, 0] * corners[a, 0] + planes[0, 1] * corners[a, 1] + planes[0, 2] * corners[a, 2]
    )


@inlined
def _rim(low: float, high: float, other_low: float, other_high: float, sign: float) -> float:
    """The coordinate across that takes the edge ``sign`` of a rectangle furthest out."""
    smallest = 0.0
    if other_low > 0.0:
        smallest = other_low
    elif other_high < 0.0:
        smallest = -other_high
    edge = high if sign > 0 else low
    return smallest if edge * sign > 0 else max(abs(other_low), abs(other_high))


@inlined
def _bound_large(corners: Any, face: Any, grid: Grid, box: Any) -> None:
    """Pixels, from the picture's middle, that a triangle of any size may touch, into ``box``."""
    half, scale, k1, k2 = grid.lens
    x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
    for corner in range(3):
        here, there = face[corner], face[(corner + 1) % 3]
        z, next_z = corners[here, 2], corners[there, 2]
        if z > NEAR:
            x, y = corners[here, 0] / z, corners[here, 1] / z
            x_low, x_high = min(x_low, x), max(x_high, x)
            y_low, y_high = min(y_low, y), max(y_high, y)
        if (z > NEAR) != (next_z > NEAR):
            part = (NEAR - z) / (next_z - z)
            x = (corners[here, 0] + part * (corners[there, 0] - corners[here, 0])) / NEAR
            y = (corners[here, 1] + part * (corners[there, 1] - corners[here, 1])) / NEAR
            x_low, x_high = min(x_low, x), max(x_high, x)
            y_low, y_high = min(y_low, y), max(y_high, y)
    across = _rim(x_low, x_high, y_low, y_high, -1.0)
    box[0], _ = landing(x_low, across, half, scale, k1, k2)
    across = _rim(x_low, x_high, y_low, y_high, 1.0)
    box[1], _ = landing(x_high, across, half, scale, k1, k2)
    across = _rim(y_low, y_high, x_low, x_high, -1.0)
    _, box[2] = landing(across, y_low, half, scale, k1, k2)
    across = _rim(y_low, y_high, x_low, x_high, 1.0)
    _, box[3] = landing(across, y_high, half, scale, k1, k2)


@inlined
def _draw_patch(
    grid: Grid, planes: Any, number: int, whole: bool, patch: Any, sight: Sight
) -> None:
    """Test the samples of the pixels ``patch``: columns from, to, rows from, to."""
    p00, p01, p02 = planes[0, 0], planes[0, 1], planes[0, 2]
    p10, p11, p12 = planes[1, 0], planes[1, 1], planes[1, 2]
    p20, p21, p22 = planes[2, 0], planes[2, 1], planes[2, 2]
    q0, q1, q2 = p00 + p10 + p20, p01 + p11 + p21, p02 + p12 + p22
    samples = grid.rays.shape[2]
    for row in range(patch[2], patch[3]):
        for column in range(patch[0], patch[1]):
            for sample in range(samples):
                x = float(grid.rays[row, column, sample, 0])
                y = float(grid.rays[row, column, sample, 1])
                if not whole:
                    if p00 * x + p01 * y + p02 < 0.0:
                        continue
                    if p10 * x + p11 * y + p12 < 0.0:
                        continue
                    if p20 * x + p21 * y + p22 < 0.0:
                        continue
                inverse = np.float32(q0 * x + q1 * y + q2)
                if inverse > sight.inverse[row, column, sample] and inverse < 1.0 / NEAR:
                    sight.inverse[row, column, sample] = inverse
                    sight.face[row, column, sample] = number


@inlined
def _extreme(plane: Any, bounds: Any, sign: float) -> float:
    """The greatest (or least) value of a plane over a tile."""
    x = bounds[1] if plane[0] * sign > 0.0 else bounds[0]
    y = bounds[3] if plane[1] * sign > 0.0 else bounds[2]
    return float(plane[0] * x + plane[1] * y + plane[2])


@inlined
def _draw_tiles(
    grid: Grid, planes: Any, number: int, patch: Any, nearest: Any, sight: Sight
) -> None:
    """Test the samples of ``patch`` by tiles: left out, wholly covered, or one by one."""
    total = planes[0] + planes[1] + planes[2]
    inner = np.empty(4, np.int64)
    for tile_row in range(patch[2] // TILE, (patch[3] + TILE - 1) // TILE):
        for tile_column in range(patch[0] // TILE, (patch[1] + TILE - 1) // TILE):
            bounds = grid.bounds[tile_row, tile_column]
            closest = _extreme(total, bounds, 1.0)
            if closest <= nearest[tile_row, tile_column]:
                continue
            whole, outside = True, False
            for edge in range(3):
                if _extreme(planes[edge], bounds, 1.0) < 0.0:
                    outside = True
                    break
                if _extreme(planes[edge], bounds, -1.0) < 0.0:
                    whole = False
            if outside:
                continue
            if whole and closest < 1.0 / NEAR:
                furthest = _extreme(total, bounds, -1.0)
                nearest[tile_row, tile_column] = max(
                    nearest[tile_row, tile_column], furthest * (1.0 - 1e-6)
                )
            inner[0] = max(patch[0], tile_column * TILE)
            inner[1] = min(patch[1], tile_column * TILE + TILE)
            inner[2] = max(patch[2], tile_row * TILE)
            inner[3] = min(patch[3], tile_row * TILE + TILE)
            _draw_patch(grid, planes, number, whole, inner, sight)


@inlined
def _bound(corners: Any, pixels: Any, face: Any, grid: Grid, patch: Any, box: Any) -> bool:
    """Pixels that a triangle may touch into ``patch``; False: none. Needs scratch ``box``."""
    height, width = grid.rays.shape[0], grid.rays.shape[1]
    left = right = pixels[face[0], 0]
    top = bottom = pixels[face[0], 1]
    behind = 0
    for corner in range(3):
        x, y = pixels[face[corner], 0], pixels[face[corner], 1]
        left, right = min(left, x), max(right, x)
        top, bottom = min(top, y), max(bottom, y)
        if not corners[face[corner], 2] > NEAR:
            behind += 1
    if behind == 3:
        return False
    if behind > 0 or right - left > SMALL or bottom - top > SMALL:
        _bound_large(corners, face, grid, box)
        left, right = box[0] + width / 2.0, box[1] + width / 2.0
        top, bottom = box[2] + height / 2.0, box[3] + height / 2.0
    # Comparisons before the casts: far outside the picture a pixel's number is no integer.
    if right < -1.0 or left > width + 1.0 or bottom < -1.0 or top > height + 1.0:
        return False
    patch[0] = int(max(left - 1.0, 0.0))
    patch[1] = int(min(right + 2.0, float(width)))
    patch[2] = int(max(top - 1.0, 0.0))
    patch[3] = int(min(bottom + 2.0, float(height)))
    return bool(patch[0] < patch[1] and patch[2] < patch[3])


@compiled
def _draw_all(
    grid: Grid, corners: Any, pixels: Any, faces: Any, nearest: Any, sight: Sight
) -> None:
    patch, box = np.empty(4, np.int64), np.empty(4)
    for number in range(len(faces)):
        face = faces[number]
        if not _bound(corners, pixels, face, grid, patch, box):
            continue
        planes = sight.planes[number]
        determinant = _set_planes(corners, face[0], face[1], face[2], planes)
        if abs(determinant) < 1e-18:  # seen exactly along its plane
            continue
        for edge in range(3):
            for axis in range(3):
                planes[edge, axis] /= determinant
        if patch[1] - patch[0] > TILE or patch[3] - patch[2] > TILE:
            _draw_tiles(grid, planes, number, patch, nearest, sight)
        else:
            _draw_patch(grid, planes, number, False, patch, sight)
