"""Smooth edges: pixels where surfaces meet are looked at four times more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled, inlined
from replay.synth.render.raster import draw_all
from replay.synth.render.samples import TILE, Grid, Sight
from replay.synth.world import Floats

BEND = 0.3
"""Neighbouring faces of a body that turn by more than this, in radians, make an edge."""


def see_edges(
    samples: tuple[Grid, Grid],
    corners: Floats,
    pixels: Floats,
    faces: NDArray[np.int32],
    owner: NDArray[np.int32],
    nearest: Floats,
    sight: Sight,
) -> None:
    """Find what the samples around the centre see where surfaces meet, into ``sight``.

    Args:
        owner: Number of each face's body.
        nearest: From :func:`see`.
    """
    sight.edge.fill(0)
    _mark_edges(samples[0].rays, sight.face, sight.inverse, sight.planes, owner, sight.edge)
    _forget(sight.edge, sight.more_face, sight.more_inverse, nearest)
    where = (samples[1], corners, pixels, faces, sight.edge)
    draw_all(*where, 0, len(faces), nearest, sight.more_face, sight.more_inverse, sight.planes)


@compiled
def _forget(edge: Any, face: Any, inverse: Any, nearest: Any) -> None:
    """Empty the samples at edges; tiles without any count as infinitely near: all is behind."""
    rows, columns, samples = face.shape
    for i in range(nearest.shape[0]):
        for j in range(nearest.shape[1]):
            any_edge = False
            for row in range(i * TILE, min(i * TILE + TILE, rows)):
                for column in range(j * TILE, min(j * TILE + TILE, columns)):
                    if edge[row, column] == 1:
                        any_edge = True
                        for sample in range(samples):
                            face[row, column, sample] = -1
                            inverse[row, column, sample] = 0.0
            if not any_edge:
                nearest[i, j] = math.inf


@compiled
def _mark_edges(rays: Any, face: Any, inverse: Any, planes: Any, owner: Any, edge: Any) -> None:
    """Mark pixels whose neighbour to the right or below sees another surface, and those too."""
    rows, columns, _ = face.shape
    for row in range(rows):
        for column in range(columns):
            here = face[row, column, 0]
            for way in range(3):
                i, j = row + (1 if way > 0 else 0), column + (1 if way != 1 else 0)
                if i >= rows or j >= columns or face[i, j, 0] == here:
                    continue
                there = face[i, j, 0]
                if (
                    here < 0
                    or there < 0
                    or owner[here] != owner[there]
                    or _apart(
                        planes, here, there, rays[i, j, 0, 0], rays[i, j, 0, 1], inverse[i, j, 0]
                    )
                ):
                    edge[row, column] = edge[i, j] = 1


@inlined
def _apart(planes: Any, here: int, there: int, x: float, y: float, inverse: float) -> bool:
    """Whether two faces of a body are seen as two surfaces: one before the other, or turned."""
    ax = planes[here, 0, 0] + planes[here, 1, 0] + planes[here, 2, 0]
    ay = planes[here, 0, 1] + planes[here, 1, 1] + planes[here, 2, 1]
    az = planes[here, 0, 2] + planes[here, 1, 2] + planes[here, 2, 2]
    if abs(ax * x + ay * y + az - inverse) > 0.02 * inverse:
        return True
    bx = planes[there, 0, 0] + planes[there, 1, 0] + planes[there, 2, 0]
    by = planes[there, 0, 1] + planes[there, 1, 1] + planes[there, 2, 1]
    bz = planes[there, 0, 2] + planes[there, 1, 2] + planes[there, 2, 2]
    along = ax * bx + ay * by + az * bz
    sizes = (ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz)
    return bool(along < 0.0 or along * along < (1.0 - BEND * BEND) * sizes)
