"""How much of the surrounding light reaches the table: the soft dark round what stands on it.

On a coarse grid over the table's plane, for the upper sides of what is there. What stands there
hides the sky down to a horizon in each direction (horizon-based occlusion of a height field); what
hovers, a hand, hides the part of the sky that its cells fill, weighted by cosine (the form factor
of parallel patches).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled, inlined
from replay.synth.render.shadows import NOWHERE, ShadowMap

CELL = 0.01
"""Size of the cells of standing things, metres."""

COARSE = 0.02
"""Size of the cells of hovering things, metres."""

FAR = 0.25
"""What is further away hides nothing, metres."""

DIRECTIONS = 16

FADES = 0.08
"""Height above the table at which its darkness ends, metres."""


class Openness(NamedTuple):
    """Share of the sky that is seen from the table's plane.

    Attributes:
        share: Shape ``(rows, columns)``, 0...1.
        place: ``x`` and ``y`` of the first cell's corner, metres, and cells a metre.
    """

    share: NDArray[np.float32]
    place: tuple[float, float, float]


def stand(heights: ShadowMap) -> Openness:
    """Openness around what stands on the table, from a map of heights seen from above."""
    tops = np.maximum(heights.heights, 0.0)
    share = np.ones(tops.shape, np.float32)
    _look_round(tops, 1.0 / heights.place[2], share)
    return Openness(share, heights.place)


def hover(lows: ShadowMap) -> Openness:
    """Openness under what hovers, from a map of *negated* heights seen from below."""
    reach = int(FAR * lows.place[2])
    bottoms = np.pad(-lows.heights, reach, constant_values=-NOWHERE)
    share = np.ones(bottoms.shape, np.float32)
    _hide_patches(bottoms, 1.0 / lows.place[2], reach, share)
    x, y, density = lows.place
    return Openness(np.maximum(share, 0.0), (x - reach / density, y - reach / density, density))


@compiled
def _look_round(tops: Any, cell: float, share: Any) -> None:
    rows, columns = tops.shape
    steps = int(FAR / cell)
    for row in range(rows):
        for column in range(columns):
            seen = 0.0
            for direction in range(DIRECTIONS):
                angle = 2.0 * math.pi * direction / DIRECTIONS
                down, along = math.sin(angle), math.cos(angle)
                steepest = 0.0
                for step in range(1, steps):
                    i, j = int(row + 0.5 + step * down), int(column + 0.5 + step * along)
                    if i < 0 or j < 0 or i >= rows or j >= columns:
                        break
                    steepest = max(steepest, (tops[i, j] - tops[row, column]) / (step * cell))
                seen += 1.0 / (1.0 + steepest * steepest)  # cosine-weighted sky above the horizon
            share[row, column] = seen / DIRECTIONS


@compiled
def _hide_patches(bottoms: Any, cell: float, reach: int, share: Any) -> None:
    rows, columns = bottoms.shape
    for i in range(rows):
        for j in range(columns):
            height = bottoms[i, j]
            if height > 1.0:
                continue
            square = max(height, 0.5 * cell) ** 2
            scale = square * cell * cell / math.pi
            for row in range(max(i - reach, 0), min(i + reach + 1, rows)):
                for column in range(max(j - reach, 0), min(j + reach + 1, columns)):
                    apart = ((row - i) ** 2 + (column - j) ** 2) * cell * cell + square
                    share[row, column] -= scale / (apart * apart)


@inlined
def open_share(share: Any, x: float, y: float, z: float) -> float:
    """Openness at a point; ``x`` and ``y`` in cells, ``z`` in metres. High above it is 1."""
    rows, columns = share.shape
    if z > FADES or x < 0.5 or y < 0.5 or x >= columns - 0.5 or y >= rows - 0.5:
        return 1.0
    j, i = int(x - 0.5), int(y - 0.5)
    right, down = x - 0.5 - j, y - 0.5 - i
    k, m = min(i + 1, rows - 1), min(j + 1, columns - 1)
    value = (1.0 - down) * (share[i, j] + right * (share[i, m] - share[i, j])) + down * (
        share[k, j] + right * (share[k, m] - share[k, j])
    )
    fade = max(z, 0.0) / FADES
    return float(value + (1.0 - value) * fade)
