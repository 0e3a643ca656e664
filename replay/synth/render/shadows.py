"""Where the main light does not reach, and how much of the surrounding light the table gets.

A shadow map here is a map of heights, not of depths: each point ``(x, y, z)`` is slid along the
light onto the table's plane, ``(x - z l_x / l_z, y - z l_y / l_z)``, and the map keeps the greatest
``z`` that lands in each cell. Points on one ray of light share a cell, and the higher one throws
its shadow on the lower. So the table is flat in the map, and where nothing stands on it one look
tells that it is lit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled, inlined
from replay.synth.world import Floats

BLOCK = 16
"""Cells along the side of a block of the coarse map, and the widest penumbra's radius."""

CLOSE = 8
"""The same of the map that tells for narrow penumbras that nothing is near."""

NOWHERE = -1e6
"""Height of a cell that nothing lands in."""

TAPS, TURNS = 16, 16
"""Samples of a penumbra, and the ways in which they are turned."""


class ShadowMap(NamedTuple):
    """Heights of what throws shadows.

    Attributes:
        heights: Greatest height in each cell, shape ``(rows, columns)``.
        coarse: Greatest height in each block and those around it.
        close: The same for smaller blocks.
        place: ``x`` and ``y`` of the first cell's corner, metres, and cells a metre.
        slide: Metres along ``x`` and ``y`` for each metre of height.
    """

    heights: NDArray[np.float32]
    coarse: NDArray[np.float32]
    close: NDArray[np.float32]
    place: tuple[float, float, float]
    slide: tuple[float, float]


def shadow_map(
    vertices: Floats,
    faces: NDArray[np.int32],
    towards: Floats,
    *,
    cell: float,
    most: int,
    within: tuple[float, float, float, float] | None = None,
) -> ShadowMap:
    """What ``faces`` throw shadows on, in light from ``towards``.

    Args:
        cell: Wanted size of a cell, metres; larger where the map would have over ``most`` cells
            along a side.
        within: Least and greatest ``x``, then ``y``, of the map; None: all that ``faces`` cover.
    """
    slide = (float(towards[0] / towards[2]), float(towards[1] / towards[2]))
    flat = vertices[:, :2] - vertices[:, 2:] * np.array(slide)
    thrown = np.zeros(len(flat), bool)
    thrown[faces.ravel()] = True
    used = flat[thrown] if len(faces) else np.zeros((1, 2))
    low, high = used.min(axis=0), used.max(axis=0)
    if within is not None:
        low = np.maximum(low, [within[0], within[2]])
        high = np.maximum(np.minimum(high, [within[1], within[3]]), low)
    density = 1.0 / max(cell, float((high - low).max()) / most)
    size = np.ceil((high - low) * density / BLOCK).astype(int) * BLOCK + BLOCK
    heights = np.full((size[1], size[0]), NOWHERE, np.float32)
    _raise_all((flat - low) * density, vertices[:, 2].copy(), faces, heights)
    place = (float(low[0]), float(low[1]), float(density))
    return ShadowMap(heights, _coarse(heights, BLOCK), _coarse(heights, CLOSE), place, slide)


def _coarse(heights: NDArray[np.float32], block: int) -> NDArray[np.float32]:
    rows, columns = heights.shape[0] // block, heights.shape[1] // block
    blocks = heights.reshape(rows, block, columns, block).max(axis=(1, 3))
    wide = np.pad(blocks, 1, constant_values=NOWHERE)
    tall = np.maximum(np.maximum(wide[:-2], wide[1:-1]), wide[2:])
    return np.ascontiguousarray(
        np.maximum(np.maximum(tall[:, :-2], tall[:, 1:-1]), tall[:, 2:]), np.float32
    )


@compiled
def _raise_all(flat: Any, z: Any, faces: Any, heights: Any) -> None:
    """Draw the faces into the map of heights."""
    rows, columns = heights.shape
    for number in range(len(faces)):
        a, b, c = faces[number, 0], faces[number, 1], faces[number, 2]
        ax, ay, bx, by, cx, cy = (
            flat[a, 0], flat[a, 1], flat[b, 0], flat[b, 1], flat[c, 0], flat[c, 1],
        )  # fmt: skip
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if abs(area) < 1e-9:
            continue
        per_area = 1.0 / area
        left, right = min(ax, bx, cx), max(ax, bx, cx)
        top, bottom = min(ay, by, cy), max(ay, by, cy)
        if right < 0.0 or bottom < 0.0 or left > columns or top > rows:
            continue
        for row in range(int(max(top, 0.0)), int(min(bottom + 1.0, float(rows)))):
            y = row + 0.5
            for column in range(int(max(left, 0.0)), int(min(right + 1.0, float(columns)))):
                x = column + 0.5
                second = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) * per_area
                third = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) * per_area
                if second >= 0.0 and third >= 0.0 and second + third <= 1.0:
                    height = z[a] + second * (z[b] - z[a]) + third * (z[c] - z[a])
                    if height > heights[row, column]:
                        heights[row, column] = height


def _disc() -> Floats:
    """Vogel's spiral, turned in every way: shape ``(TURNS, TAPS, 2)``."""
    tap, turn = np.arange(TAPS), np.arange(TURNS)[:, None]
    angle = turn * (2 * np.pi / TURNS) + tap * 2.399963
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1) * np.sqrt((tap + 0.5) / TAPS)[:, None]


DISC = _disc()


@inlined
def _blocked(
    heights: Any, column: float, row: float, z: float, reach: float, turn: int, step: int
) -> tuple[int, float]:
    """How many samples within ``reach`` cells are higher than ``z``, and by how much in all."""
    rows, columns = heights.shape
    count, above = 0, 0.0
    for tap in range(0, TAPS, step):
        i = int(row + reach * DISC[turn, tap, 1] + BLOCK) - BLOCK
        j = int(column + reach * DISC[turn, tap, 0] + BLOCK) - BLOCK
        if 0 <= i < rows and 0 <= j < columns:
            height = heights[i, j]
            if height > z:
                count += 1
                above += height - z
    return count, above


@inlined
def lit(
    heights: Any, coarse: Any, close: Any, place: Any, slide: Any, x: float, y: float, z: float,
    spread: float, i: int, j: int,
) -> float:  # fmt: skip
    """Share of the main light that reaches a point, 0...1.

    The samples lie in another way for each pixel of a block, so that their pattern is fine.

    Args:
        heights, coarse, close, place, slide: The parts of a :class:`ShadowMap`.
        spread: Radius of the penumbra for each metre of height between blocker and receiver.
        i, j: Row and column of the pixel.
    """
    left, top, density = place
    column = (x - z * slide[0] - left) * density
    row = (y - z * slide[1] - top) * density
    rows, columns = coarse.shape
    block_row, block_column = math.floor(row / BLOCK), math.floor(column / BLOCK)
    if block_row < -1 or block_column < -1 or block_row > rows or block_column > columns:
        return 1.0
    block_row = min(max(block_row, 0), rows - 1)
    block_column = min(max(block_column, 0), columns - 1)
    highest = coarse[block_row, block_column]
    if highest <= z:
        return 1.0
    wide = spread * density
    reach = min(max((highest - z) * wide, 1.5), float(BLOCK))
    if reach <= CLOSE and 0.0 <= row < heights.shape[0] and 0.0 <= column < heights.shape[1]:
        highest = close[int(row / CLOSE), int(column / CLOSE)]
        if highest <= z:
            return 1.0
        reach = min(max((highest - z) * wide, 1.5), float(CLOSE))
    # Interleaved gradient noise (Jimenez 2014): neighbours differ, and no block clumps.
    noise = 52.9829189 * ((0.06711056 * j + 0.00583715 * i) % 1.0)
    turn = int((noise - math.floor(noise)) * TURNS)
    blockers, above = _blocked(heights, column, row, z, reach, turn, 2)
    if blockers == 0:
        return 1.0
    if blockers == TAPS // 2:
        return 0.0
    softer = min(max(above / blockers * wide, 1.5), float(BLOCK))
    blockers, _ = _blocked(heights, column, row, z, softer, turn, 1)
    return 1.0 - blockers / TAPS
