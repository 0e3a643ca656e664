"""Motion blur: what moved while the shutter was open is smeared along its path.

Each pixel has a displacement: how far what it sees came since the shutter opened. A pixel then
looks along the largest displacement near it, and along its own, for what passed over it (after
McGuire et al. 2012 and Guertin et al. 2014, but from the shutter's opening to its end).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled, inlined
from replay.synth.render.samples import Grid, Sight
from replay.synth.world import Floats, Pose

TILE = 16
REACH = 3
"""Tiles that a displacement may cross: longer ones are cut."""

LONGEST = float(TILE * REACH)

STILL = 0.6
"""Displacements up to this many pixels leave a pixel as it is."""

MOST = 14
"""Looks for each pixel."""


def displacements(
    grid: Grid, sight: Sight, faces: NDArray[np.int32], still: int, old: Floats, poses: list[Pose]
) -> NDArray[np.float32]:
    """Pixels by which what each pixel's centre sees has moved, shape ``(h, w, 2)``.

    Args:
        still: How many of the faces, the first ones, did not move.
        old: Where all vertices were.
        poses: Of the camera, when the shutter opened and now.
    """
    before, now = poses
    out = np.empty((*grid.rays.shape[:2], 2), np.float32)
    turn = np.ascontiguousarray(before.rotation.T @ now.rotation)
    shift = before.to_own(now.position)
    _displace_all(grid, sight, faces, still, before.to_own(old), turn, shift, out)
    return out


def smear(
    rgb: NDArray[np.float32], depth: NDArray[np.float32], moved: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The picture, blurred along the displacements ``moved``."""
    greatest = _greatest(moved)
    if not (np.abs(greatest[:, :, :2]) > STILL).any():
        return rgb
    out = np.empty_like(rgb)
    _smear_all(rgb, depth, moved, greatest, out)
    return out


@compiled
def _displace_all(
    grid: Grid, sight: Sight, faces: Any, still: int, old: Any, turn: Any, shift: Any, out: Any
) -> None:
    half, scale, k1, k2 = grid.lens
    height, width = out.shape[:2]
    for row in range(height):
        for column in range(width):
            face = sight.face[row, column, 0]
            x, y = float(grid.rays[row, column, 0, 0]), float(grid.rays[row, column, 0, 1])
            if face < still:
                nearness = sight.inverse[row, column, 0]  # 0 where nothing is: it only turns
                px = turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] + nearness * shift[0]
                py = turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] + nearness * shift[1]
                pz = turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] + nearness * shift[2]
            else:
                px, py, pz = _was_at(sight.planes, faces, old, face, x, y)
            if pz < 0.01:
                out[row, column, 0] = out[row, column, 1] = 0.0
                continue
            dx, dy = x - px / pz, y - py / pz
            # The lens, to the first order: it stretches along the radius and across it.
            u, v = (column + 0.5 - width / 2.0) / half, (row + 0.5 - height / 2.0) / half
            square = u * u + v * v
            across = half / (scale * (1.0 + square * (k1 + square * k2)))
            along = half / (scale * (1.0 + square * (3.0 * k1 + 5.0 * square * k2)))
            radial = (dx * u + dy * v) / max(square, 1e-12) * (along - across)
            dx, dy = dx * across + radial * u, dy * across + radial * v
            cut = min(1.0, LONGEST / max(math.sqrt(dx * dx + dy * dy), 1e-12))
            out[row, column, 0], out[row, column, 1] = dx * cut, dy * cut


@inlined
def _was_at(
    planes: Any, faces: Any, old: Any, face: int, x: float, y: float
) -> tuple[float, float, float]:
    """Where the point of a face that a ray meets was, in the camera's axes of that time."""
    first = planes[face, 0, 0] * x + planes[face, 0, 1] * y + planes[face, 0, 2]
    second = planes[face, 1, 0] * x + planes[face, 1, 1] * y + planes[face, 1, 2]
    third = planes[face, 2, 0] * x + planes[face, 2, 1] * y + planes[face, 2, 2]
    total = first + second + third
    a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
    return (
        (first * old[a, 0] + second * old[b, 0] + third * old[c, 0]) / total,
        (first * old[a, 1] + second * old[b, 1] + third * old[c, 1]) / total,
        (first * old[a, 2] + second * old[b, 2] + third * old[c, 2]) / total,
    )


@compiled
def _greatest(moved: Any) -> Any:
    """For each tile the longest displacement in reach of it, and 1 if all there are about the same.

    Shape ``(th, tw, 3)``.
    """
    height, width = moved.shape[:2]
    rows, columns = (height + TILE - 1) // TILE, (width + TILE - 1) // TILE
    own = np.zeros((rows, columns, 2))
    spans = np.empty((rows, columns, 4))
    spans[:, :, 0] = spans[:, :, 2] = math.inf
    spans[:, :, 1] = spans[:, :, 3] = -math.inf
    for row in range(height):
        for column in range(width):
            x, y = moved[row, column, 0], moved[row, column, 1]
            i, j = row // TILE, column // TILE
            spans[i, j, 0], spans[i, j, 1] = min(spans[i, j, 0], x), max(spans[i, j, 1], x)
            spans[i, j, 2], spans[i, j, 3] = min(spans[i, j, 2], y), max(spans[i, j, 3], y)
            if x * x + y * y > own[i, j, 0] ** 2 + own[i, j, 1] ** 2:
                own[i, j, 0], own[i, j, 1] = x, y
    best = np.zeros((rows, columns, 3))
    for i in range(rows):
        for j in range(columns):
            _look_about(own, spans, i, j, best)
    return best


@inlined
def _look_about(own: Any, spans: Any, i: int, j: int, best: Any) -> None:
    """Fill in ``best`` for one tile."""
    rows, columns = own.shape[:2]
    left, right, top, bottom = spans[i, j, 0], spans[i, j, 1], spans[i, j, 2], spans[i, j, 3]
    for k in range(max(i - REACH, 0), min(i + REACH + 1, rows)):
        for m in range(max(j - REACH, 0), min(j + REACH + 1, columns)):
            size = own[k, m, 0] ** 2 + own[k, m, 1] ** 2
            apart = max(abs(i - k), abs(j - m)) - 1  # whole tiles in between
            if math.sqrt(size) < apart * TILE:
                continue
            left, right = min(left, spans[k, m, 0]), max(right, spans[k, m, 1])
            top, bottom = min(top, spans[k, m, 2]), max(bottom, spans[k, m, 3])
            if size > best[i, j, 0] ** 2 + best[i, j, 1] ** 2:
                best[i, j, 0], best[i, j, 1] = own[k, m, 0], own[k, m, 1]
    longest = math.sqrt(best[i, j, 0] ** 2 + best[i, j, 1] ** 2)
    if max(right - left, bottom - top) < 0.15 * longest + 0.4:
        best[i, j, 2] = 1.0


@inlined
def _passes(moved: Any, i: int, j: int, x: float, y: float) -> bool:
    """Whether what a pixel sees came along ``(x, y)`` or more."""
    return bool(moved[i, j, 0] * x + moved[i, j, 1] * y >= 0.8 * (x * x + y * y) - 0.19)


@compiled
def _smear_all(rgb: Any, depth: Any, moved: Any, greatest: Any, out: Any) -> None:
    height, width = rgb.shape[:2]
    for row in range(height):
        for column in range(width):
            i, j = row // TILE, column // TILE
            x, y, even = greatest[i, j, 0], greatest[i, j, 1], greatest[i, j, 2]
            length = math.sqrt(x * x + y * y)
            if length <= STILL:
                for channel in range(3):
                    out[row, column, channel] = rgb[row, column, channel]
                continue
            # Interleaved gradient noise (Jimenez 2014) hides that the looks are few.
            noise = 52.9829189 * ((0.06711056 * column + 0.00583715 * row) % 1.0)
            offset = noise - math.floor(noise)
            if even == 1.0:
                looks = min(int(0.7 * length) + 3, MOST)
                own_x, own_y = moved[row, column, 0], moved[row, column, 1]
                red, green, blue = _along(rgb, row, column, own_x, own_y, offset, looks)
            else:
                looks = min(int(length) + 3, MOST)
                red, green, blue = _across(rgb, depth, moved, row, column, x, y, offset, looks)
            out[row, column, 0] = red / looks
            out[row, column, 1] = green / looks
            out[row, column, 2] = blue / looks


@inlined
def _along(
    rgb: Any, row: int, column: int, x: float, y: float, offset: float, looks: int
) -> tuple[float, float, float]:
    """Sum of the light along one path, where everything near moves alike."""
    height, width = rgb.shape[:2]
    red, green, blue = 0.0, 0.0, 0.0
    for look in range(looks):
        part = (look + offset) / looks
        i = min(max(int(row + part * y + 0.5), 0), height - 1)
        j = min(max(int(column + part * x + 0.5), 0), width - 1)
        red, green, blue = red + rgb[i, j, 0], green + rgb[i, j, 1], blue + rgb[i, j, 2]
    return red, green, blue


@inlined
def _across(
    rgb: Any,
    depth: Any,
    moved: Any,
    row: int,
    column: int,
    x: float,
    y: float,
    offset: float,
    looks: int,
) -> tuple[float, float, float]:
    """Sum of the light of all that passed, where one thing moves in front of another."""
    height, width = rgb.shape[:2]
    own_x, own_y = moved[row, column, 0], moved[row, column, 1]
    red, green, blue = 0.0, 0.0, 0.0
    for look in range(looks):
        part = (look + offset) / looks
        # Half of the looks go along the pixel's own path, which the longest may not share.
        alone = look % 2 == 1
        step_x, step_y = part * (own_x if alone else x), part * (own_y if alone else y)
        i = min(max(int(row + step_y + 0.5), 0), height - 1)
        j = min(max(int(column + step_x + 0.5), 0), width - 1)
        gone = _passes(moved, row, column, step_x, step_y)
        nearer = depth[i, j] <= depth[row, column] * 1.02
        if not (
            (_passes(moved, i, j, step_x, step_y) and (nearer or gone)) or (gone and not nearer)
        ):
            i, j = row, column
        red, green, blue = red + rgb[i, j, 0], green + rgb[i, j, 1], blue + rgb[i, j, 2]
    return red, green, blue
