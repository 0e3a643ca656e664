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


Plane = tuple[float, float, float]
"""``x, y, z``: the ray ``(a, b, 1)`` gives ``x a + y b + z``."""

Patch = tuple[int, int, int, int]
"""Columns from, to, rows from, to."""


class Grid(NamedTuple):
    """The samples of a picture.

    Attributes:
        rays: ``(x, y)`` of each sample's ray ``(x, y, 1)``, shape ``(h, w, samples, 2)``.
        bounds: Least and greatest ``x``, then ``y``, in each tile, shape ``(th, tw, 4)``.
        lens: Half the width in pixels, scale, k1, k2, and the greatest distance in ``x`` or ``y``
            between a pixel's first sample and another.
    """

    rays: NDArray[np.float32]
    bounds: NDArray[np.float32]
    lens: tuple[float, float, float, float, float]


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
    spread = float(np.abs(rays - rays[:, :, :1]).max()) * 1.001
    return Grid(rays, bounds, (lens.half, lens.scale, lens.k1, lens.k2, spread))


def blank(grid: Grid, faces: int) -> Sight:
    """Room for what the samples of ``grid`` see of at most so many faces, used again and again."""
    shape = grid.rays.shape[:3]
    return Sight(np.empty(shape, np.int32), np.empty(shape, np.float32), np.empty((faces, 3, 3)))


def see(
    grid: Grid,
    corners: Floats,
    pixels: Floats,
    faces: NDArray[np.int32],
    backdrop: tuple[int, int],
    sight: Sight,
) -> None:
    """Find the nearest face in each sample, into ``sight``.

    Args:
        backdrop: First face, and the one after the last, of those that are mostly hidden. They are
            drawn last, where something may be seen of them.
        corners: Vertices in the camera's axes, shape ``(n, 3)``.
        pixels: Where they land, shape ``(n, 2)``.
    """
    sight.face.fill(-1)
    sight.inverse.fill(0.0)
    nearest = np.zeros(grid.bounds.shape[:2])
    for first, last in ((0, backdrop[0]), (backdrop[1], len(faces))):
        _draw_all(grid, corners, pixels, faces, first, last, nearest, sight)
    _look_again(sight.inverse, nearest)
    _draw_all(grid, corners, pixels, faces, backdrop[0], backdrop[1], nearest, sight)


@inlined
def _through(corners: Any, i: int, j: int) -> Plane:
    """The plane through the eye and two corners; swapping them exactly negates it."""
    return (
        corners[i, 1] * corners[j, 2] - corners[i, 2] * corners[j, 1],
        corners[i, 2] * corners[j, 0] - corners[i, 0] * corners[j, 2],
        corners[i, 0] * corners[j, 1] - corners[i, 1] * corners[j, 0],
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
def _bound_large(
    corners: Any, a: int, b: int, c: int, grid: Grid
) -> tuple[float, float, float, float]:
    """Pixels, from the picture's middle, that a triangle of any size may touch."""
    half, scale, k1, k2, _ = grid.lens
    x_low, x_high, y_low, y_high = math.inf, -math.inf, math.inf, -math.inf
    for here, there in ((a, b), (b, c), (c, a)):
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
    left, _ = landing(x_low, _rim(x_low, x_high, y_low, y_high, -1.0), half, scale, k1, k2)
    right, _ = landing(x_high, _rim(x_low, x_high, y_low, y_high, 1.0), half, scale, k1, k2)
    _, top = landing(_rim(y_low, y_high, x_low, x_high, -1.0), y_low, half, scale, k1, k2)
    _, bottom = landing(_rim(y_low, y_high, x_low, x_high, 1.0), y_high, half, scale, k1, k2)
    return left, right, top, bottom


@inlined
def _draw_patch(
    rays: Any,
    face: Any,
    inverse: Any,
    pixel: float,
    p: Plane,
    q: Plane,
    r: Plane,
    near: Plane,
    number: int,
    whole: bool,
    patch: Patch,
) -> None:
    """Test the samples of the pixels ``patch`` against a triangle.

    Args:
        p, q, r: Planes through the eye and its edges; a sample inside is above all.
        near: Tells one over the depth of its plane.
        pixel: At least how far, in ``x`` or ``y``, a sample lies from the first one of its pixel.
        whole: The triangle is known to cover all of them.
    """
    p_slack = pixel * (abs(p[0]) + abs(p[1]))
    q_slack = pixel * (abs(q[0]) + abs(q[1]))
    r_slack = pixel * (abs(r[0]) + abs(r[1]))
    left, right, top, bottom = patch
    for row in range(top, bottom):
        for column in range(left, right):
            x, y = float(rays[row, column, 0, 0]), float(rays[row, column, 0, 1])
            inside = whole
            if not whole:
                above_p = p[0] * x + p[1] * y + p[2]
                above_q = q[0] * x + q[1] * y + q[2]
                above_r = r[0] * x + r[1] * y + r[2]
                if above_p < -p_slack or above_q < -q_slack or above_r < -r_slack:
                    continue
                inside = above_p > p_slack and above_q > q_slack and above_r > r_slack
            for sample in range(rays.shape[2]):
                x, y = float(rays[row, column, sample, 0]), float(rays[row, column, sample, 1])
                if inside or (
                    p[0] * x + p[1] * y + p[2] >= 0.0
                    and q[0] * x + q[1] * y + q[2] >= 0.0
                    and r[0] * x + r[1] * y + r[2] >= 0.0
                ):
                    nearness = np.float32(near[0] * x + near[1] * y + near[2])
                    if inverse[row, column, sample] < nearness < 1.0 / NEAR:
                        inverse[row, column, sample] = nearness
                        face[row, column, sample] = number


@inlined
def _extreme(plane: Plane, bounds: Any, row: int, column: int, sign: float) -> float:
    """The greatest (or least) value of a plane over a tile."""
    x = bounds[row, column, 1 if plane[0] * sign > 0.0 else 0]
    y = bounds[row, column, 3 if plane[1] * sign > 0.0 else 2]
    return float(plane[0] * x + plane[1] * y + plane[2])


@inlined
def _draw_tiles(
    grid: Grid,
    face: Any,
    inverse: Any,
    nearest: Any,
    p: Plane,
    q: Plane,
    r: Plane,
    near: Plane,
    number: int,
    patch: Patch,
) -> None:
    """Test the samples of ``patch`` by tiles: left out, wholly covered, or one by one."""
    bounds = grid.bounds
    left, right, top, bottom = patch
    for i in range(top // TILE, (bottom + TILE - 1) // TILE):
        for j in range(left // TILE, (right + TILE - 1) // TILE):
            closest = _extreme(near, bounds, i, j, 1.0)
            if closest <= nearest[i, j]:
                continue
            if (
                _extreme(p, bounds, i, j, 1.0) < 0.0
                or _extreme(q, bounds, i, j, 1.0) < 0.0
                or _extreme(r, bounds, i, j, 1.0) < 0.0
            ):
                continue
            whole = (
                _extreme(p, bounds, i, j, -1.0) >= 0.0
                and _extreme(q, bounds, i, j, -1.0) >= 0.0
                and _extreme(r, bounds, i, j, -1.0) >= 0.0
            )
            if whole and closest < 1.0 / NEAR:
                furthest = _extreme(near, bounds, i, j, -1.0) * (1.0 - 1e-6)
                nearest[i, j] = max(nearest[i, j], furthest)
            tile = (
                max(left, j * TILE),
                min(right, j * TILE + TILE),
                max(top, i * TILE),
                min(bottom, i * TILE + TILE),
            )
            _draw_patch(grid.rays, face, inverse, grid.lens[4], p, q, r, near, number, whole, tile)


@inlined
def _bound(corners: Any, pixels: Any, a: int, b: int, c: int, grid: Grid) -> Patch:
    """Columns from, to, rows from, to, that a triangle may touch."""
    height, width = grid.rays.shape[0], grid.rays.shape[1]
    behind = 0
    for corner in (a, b, c):
        if not corners[corner, 2] > NEAR:
            behind += 1
    if behind == 3:
        return 0, 0, 0, 0
    left = min(pixels[a, 0], pixels[b, 0], pixels[c, 0])
    right = max(pixels[a, 0], pixels[b, 0], pixels[c, 0])
    top = min(pixels[a, 1], pixels[b, 1], pixels[c, 1])
    bottom = max(pixels[a, 1], pixels[b, 1], pixels[c, 1])
    size = max(right - left, bottom - top)
    slack = 0.02 + size * size / width
    if behind > 0 or size > SMALL:
        left, right, top, bottom = _bound_large(corners, a, b, c, grid)
        left, right = left + width / 2.0, right + width / 2.0
        top, bottom = top + height / 2.0, bottom + height / 2.0
        slack = 1.0
    # Comparisons before the casts: far outside the picture a pixel's number is no integer.
    if right < -2.0 or left > width + 2.0 or bottom < -2.0 or top > height + 2.0:
        return 0, 0, 0, 0
    return (
        int(max(left - slack, 0.0)),
        int(min(right + slack + 1.0, float(width))),
        int(max(top - slack, 0.0)),
        int(min(bottom + slack + 1.0, float(height))),
    )


@compiled
def _look_again(inverse: Any, nearest: Any) -> None:
    """For each tile, how near at least all is that its samples see."""
    rows, columns, samples = inverse.shape
    nearest[:] = math.inf
    for row in range(rows):
        for column in range(columns):
            least = inverse[row, column, 0]
            for sample in range(1, samples):
                least = min(least, inverse[row, column, sample])
            if least < nearest[row // TILE, column // TILE]:
                nearest[row // TILE, column // TILE] = least


@compiled
def _draw_all(
    grid: Grid, corners: Any, pixels: Any, faces: Any, first: int, last: int, nearest: Any,
    sight: Sight,
) -> None:  # fmt: skip
    planes, face, inverse = sight.planes, sight.face, sight.inverse
    for number in range(first, last):
        a, b, c = faces[number, 0], faces[number, 1], faces[number, 2]
        patch = _bound(corners, pixels, a, b, c, grid)
        if patch[0] >= patch[1] or patch[2] >= patch[3]:
            continue
        p, q, r = _through(corners, b, c), _through(corners, c, a), _through(corners, a, b)
        determinant = p[0] * corners[a, 0] + p[1] * corners[a, 1] + p[2] * corners[a, 2]
        if abs(determinant) < 1e-18:  # seen exactly along its plane
            continue
        if determinant < 0.0:
            p, q, r = (-p[0], -p[1], -p[2]), (-q[0], -q[1], -q[2]), (-r[0], -r[1], -r[2])
        scale = 1.0 / abs(determinant)
        for axis in range(3):
            planes[number, 0, axis] = scale * p[axis]
            planes[number, 1, axis] = scale * q[axis]
            planes[number, 2, axis] = scale * r[axis]
        # The edges are tested unscaled: so a neighbour's are exactly opposite.
        near = (
            scale * (p[0] + q[0] + r[0]),
            scale * (p[1] + q[1] + r[1]),
            scale * (p[2] + q[2] + r[2]),
        )
        if patch[1] - patch[0] > TILE or patch[3] - patch[2] > TILE:
            _draw_tiles(grid, face, inverse, nearest, p, q, r, near, number, patch)
        else:
            _draw_patch(grid.rays, face, inverse, grid.lens[4], p, q, r, near, number, False, patch)
