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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled, inlined
from replay.synth.render.lens import NEAR, landing
from replay.synth.render.samples import TILE, Grid, Sight
from replay.synth.world import Floats

SMALL = 24
"""Triangles up to so many pixels across hardly bend: their corners and one pixel bound them."""

Plane = tuple[float, float, float]
"""``x, y, z``: the ray ``(a, b, 1)`` gives ``x a + y b + z``."""

Patch = tuple[int, int, int, int]
"""Columns from, to, rows from, to."""


def see(
    grid: Grid,
    corners: Floats,
    pixels: Floats,
    faces: NDArray[np.int32],
    backdrop: tuple[int, int],
    sight: Sight,
) -> Floats:
    """Find the nearest face at each pixel's centre, into ``sight``.

    Args:
        corners: Vertices in the camera's axes, shape ``(n, 3)``.
        pixels: Where they land, shape ``(n, 2)``.
        backdrop: First face, and the one after the last, of those that are mostly hidden. They are
            drawn last, where something may be seen of them.

    Returns:
        For each tile, how near at least all is in it, as ``see_edges`` wants it.
    """
    face, inverse, _, _, _, planes = sight
    face.fill(-1)
    inverse.fill(0.0)
    sight.edge.fill(1)
    where = (grid, corners, pixels, faces, sight.edge)
    nearest = np.zeros(grid.bounds.shape[:2])
    for first, last in ((0, backdrop[0]), (backdrop[1], len(faces))):
        draw_all(*where, first, last, nearest, face, inverse, planes)
    hidden = np.maximum(nearest, _least(inverse, np.full(nearest.shape, np.inf)))
    draw_all(*where, backdrop[0], backdrop[1], hidden, face, inverse, planes)
    return nearest


@compiled
def _least(inverse: Any, nearest: Any) -> Any:
    """For each tile, how near at least all is that its samples see, into ``nearest``."""
    rows, columns, _ = inverse.shape
    for row in range(rows):
        for column in range(columns):
            if inverse[row, column, 0] < nearest[row // TILE, column // TILE]:
                nearest[row // TILE, column // TILE] = inverse[row, column, 0]
    return nearest


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
    corners: Any, a: int, b: int, c: int, shape: Any
) -> tuple[float, float, float, float]:
    """Pixels, from the picture's middle, that a triangle of any size may touch."""
    half, scale, k1, k2 = shape
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
    wanted: Any,
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
        wanted: 1 in the pixels that matter.
        pixel: At most how far, in ``x`` or ``y``, a sample lies from the first one of its pixel.
        whole: The triangle is known to cover all of them.
    """
    p_slack = pixel * (abs(p[0]) + abs(p[1]))
    q_slack = pixel * (abs(q[0]) + abs(q[1]))
    r_slack = pixel * (abs(r[0]) + abs(r[1]))
    left, right, top, bottom = patch
    for row in range(top, bottom):
        for column in range(left, right):
            if wanted[row, column] == 0:
                continue
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
    rays: Any,
    bounds: Any,
    spread: float,
    wanted: Any,
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
            _draw_patch(rays, wanted, face, inverse, spread, p, q, r, near, number, whole, tile)


@inlined
def _bound(
    corners: Any, pixels: Any, a: int, b: int, c: int, height: int, width: int, shape: Any
) -> Patch:
    """Columns from, to, rows from, to, that a triangle may touch."""
    behind = (
        int(not corners[a, 2] > NEAR)
        + int(not corners[b, 2] > NEAR)
        + int(not corners[c, 2] > NEAR)
    )
    if behind == 3:
        return 0, 0, 0, 0
    left = min(pixels[a, 0], pixels[b, 0], pixels[c, 0])
    right = max(pixels[a, 0], pixels[b, 0], pixels[c, 0])
    top = min(pixels[a, 1], pixels[b, 1], pixels[c, 1])
    bottom = max(pixels[a, 1], pixels[b, 1], pixels[c, 1])
    size = max(right - left, bottom - top)
    slack = 0.02 + size * size / width
    if behind > 0 or size > SMALL:
        left, right, top, bottom = _bound_large(corners, a, b, c, shape)
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


@inlined
def _any(wanted: Any, patch: Patch) -> bool:
    for row in range(patch[2], patch[3]):
        for column in range(patch[0], patch[1]):
            if wanted[row, column] == 1:
                return True
    return False


@compiled
def draw_all(
    grid: Grid, corners: Any, pixels: Any, faces: Any, wanted: Any, first: int, last: int,
    nearest: Any, face: Any, inverse: Any, planes: Any,
) -> None:  # fmt: skip
    """Draw the faces from ``first`` to ``last`` into ``face`` and ``inverse``.

    Args:
        wanted: 1 in the pixels that matter, shape ``(h, w)``.
        nearest: For each tile, how near at least all is in it; raised where a face covers one.
        planes: Gets those of the faces that may be seen.
    """
    rays, bounds, shape, spread = grid
    height, width = wanted.shape
    for number in range(first, last):
        a, b, c = faces[number, 0], faces[number, 1], faces[number, 2]
        patch = _bound(corners, pixels, a, b, c, height, width, shape)
        if patch[0] >= patch[1] or patch[2] >= patch[3]:
            continue
        large = patch[1] - patch[0] > TILE or patch[3] - patch[2] > TILE
        if not large and not _any(wanted, patch):
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
        if large:
            _draw_tiles(
                rays, bounds, spread, wanted, face, inverse, nearest, p, q, r, near, number, patch
            )
        else:
            _draw_patch(rays, wanted, face, inverse, spread, p, q, r, near, number, False, patch)
