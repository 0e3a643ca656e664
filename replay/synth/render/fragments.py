"""Parts of pixels that are lit at once: where they lie and how they face.

Light changes slowly over even surfaces, texture does not. So four pixels that see one plane of one
body are lit as one fragment, and each is painted by itself. Other pixels are lit one by one, and
at edges once for each face that their samples see.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import inlined
from replay.synth.render.samples import Grid, Sight
from replay.synth.render.soup import Soup

STRIP = 4
"""Rows that are shaded together, so that their fragments stay in the processor's cache."""

EVEN = 1e-3
"""Planes that differ by no more than this share of themselves are one."""


class Fragments(NamedTuple):
    """At most ``n`` fragments at a time.

    Attributes:
        where: Row, column, face; shape ``(n, 3)``.
        wide: 1: of the pixel and those to the right, below, and below to the right; shape ``(n,)``.
        share: Of the pixel, shape ``(n,)``.
        ray: ``(x, y)`` of the camera's ray, shape ``(n, 2)``.
        point: In the world, shape ``(n, 3)``.
        normal: Towards the camera's side, shape ``(n, 3)``.
        line: Unit vector to the camera, shape ``(n, 3)``.
        reach: Share of the main light that arrives, shape ``(n,)``.
        open: Share of the surrounding light that arrives, shape ``(n,)``.
        lit: Light that falls on the surface, shape ``(n, 3)``.
        shine: Light that it mirrors, shape ``(n, 3)``.
        cosine: Between normal and line of sight, shape ``(n,)``.
    """

    where: NDArray[np.int32]
    wide: NDArray[np.int32]
    share: NDArray[np.float32]
    ray: NDArray[np.float32]
    point: NDArray[np.float32]
    normal: NDArray[np.float32]
    line: NDArray[np.float32]
    reach: NDArray[np.float32]
    open: NDArray[np.float32]
    lit: NDArray[np.float32]
    shine: NDArray[np.float32]
    cosine: NDArray[np.float32]


def room_for(row: int) -> Fragments:
    """Room for the fragments of a strip, of which each row has at most so many."""
    count = row * STRIP

    def floats(*shape: int) -> NDArray[np.float32]:
        return np.empty((count, *shape), np.float32)

    return Fragments(
        np.empty((count, 3), np.int32), np.empty(count, np.int32), floats(), floats(2), floats(3),
        floats(3), floats(3), floats(), floats(), floats(3), floats(3), floats(),
    )  # fmt: skip


@inlined
def corner_weights(planes: Any, face: int, x: float, y: float) -> tuple[float, float, float, float]:
    """Weights of a face's corners where the ray ``(x, y, 1)`` meets it, and the depth there."""
    # A sample on an edge may lie outside by a rounding error.
    first = max(planes[face, 0, 0] * x + planes[face, 0, 1] * y + planes[face, 0, 2], 0.0)
    second = max(planes[face, 1, 0] * x + planes[face, 1, 1] * y + planes[face, 1, 2], 0.0)
    third = max(planes[face, 2, 0] * x + planes[face, 2, 1] * y + planes[face, 2, 2], 0.0)
    depth = 1.0 / (first + second + third)
    return first * depth, second * depth, third * depth, depth


@inlined
def _one_plane(planes: Any, face: int, other: int) -> bool:
    """Whether two faces lie in one plane."""
    size, apart = 0.0, 0.0
    for axis in range(3):
        one = planes[face, 0, axis] + planes[face, 1, axis] + planes[face, 2, axis]
        two = planes[other, 0, axis] + planes[other, 1, axis] + planes[other, 2, axis]
        size += abs(one)
        apart += abs(one - two)
    return bool(apart < EVEN * size)


@inlined
def _all_even(face: Any, edge: Any, planes: Any, owner: Any, row: int, column: int) -> bool:
    """Whether four pixels see one plane of one body."""
    first = face[row, column, 0]
    if first < 0:
        return False
    for i in range(row, row + 2):
        for j in range(column, column + 2):
            if edge[i, j] == 1:
                return False
            other = face[i, j, 0]
            if other != first and (
                owner[other] != owner[first] or not _one_plane(planes, first, other)
            ):
                return False
    return True


@inlined
def gather(
    samples: tuple[Grid, Grid], sight: Sight, soup: Soup, top: int, fragments: Fragments,
    empty: Any,
) -> int:  # fmt: skip
    """Find the fragments of a strip.

    Args:
        empty: Gets the share of each pixel that sees nothing, shape ``(h, w)``.
    """
    face, edge, more, planes = sight.face, sight.edge, sight.more_face, sight.planes
    rays, more_rays, owner = samples[0].rays, samples[1].rays, soup.owner
    where, wide, share, ray = fragments.where, fragments.wide, fragments.share, fragments.ray
    height, width = edge.shape
    count = 0
    for row in range(top, min(top + STRIP, height), 2):
        for column in range(0, width, 2):
            inside = row + 1 < height and column + 1 < width
            if inside and _all_even(face, edge, planes, owner, row, column):
                where[count, 0], where[count, 1] = row, column
                where[count, 2] = face[row, column, 0]
                wide[count], share[count] = 1, 1.0
                for axis in range(2):
                    ray[count, axis] = 0.5 * (
                        rays[row, column, 0, axis] + rays[row + 1, column + 1, 0, axis]
                    )
                count += 1
                continue
            for i in range(row, min(row + 2, height)):
                for j in range(column, min(column + 2, width)):
                    first = face[i, j, 0]
                    around = more.shape[2] if edge[i, j] == 1 else 0
                    left = 1 + around
                    if first >= 0:
                        times = 1
                        for other in range(around):
                            times += more[i, j, other] == first
                        where[count, 0], where[count, 1], where[count, 2] = i, j, first
                        wide[count], share[count] = 0, times / (1 + around)
                        ray[count, 0], ray[count, 1] = rays[i, j, 0, 0], rays[i, j, 0, 1]
                        count += 1
                        left -= times
                    if around > 0:
                        count, left = _take_apart(
                            more_rays, more, first, i, j, where, wide, share, ray, count, left
                        )
                    empty[i, j] = left / (1 + around)
    return count


@inlined
def _take_apart(
    rays: Any, face: Any, first: int, row: int, column: int, where: Any, wide: Any, share: Any,
    ray: Any, count: int, left: int,
) -> tuple[int, int]:  # fmt: skip
    """A fragment for each face but the ``first`` that the samples around a pixel's centre see.

    Returns:
        The new count, and how many of the ``left`` samples see nothing.
    """
    around = face.shape[2]
    for sample in range(around):
        seen = face[row, column, sample]
        if seen == first or seen < 0:
            continue
        again, times = False, 0
        for other in range(around):
            if face[row, column, other] == seen:
                times += 1
                again = again or other < sample
        if again:
            continue
        where[count, 0], where[count, 1], where[count, 2] = row, column, seen
        wide[count], share[count] = 0, times / (1 + around)
        ray[count, 0], ray[count, 1] = rays[row, column, sample, 0], rays[row, column, sample, 1]
        count += 1
        left -= times
    return count, left


@inlined
def split(grid: Grid, sight: Sight, start: int, stop: int, fragments: Fragments) -> int:
    """Take wide fragments apart that the edge of a shadow crosses; returns where all end now.

    The wide ones are left with no share.
    """
    rays, seen = grid.rays, sight.face
    where, wide, share = fragments.where, fragments.wide, fragments.share
    ray, reach = fragments.ray, fragments.reach
    more = stop
    for i in range(start, stop):
        if wide[i] == 0 or reach[i] == 0.0 or reach[i] == 1.0:
            continue
        wide[i], share[i] = 0, 0.0
        for part in range(4):
            row, column = where[i, 0] + part // 2, where[i, 1] + part % 2
            where[more, 0], where[more, 1] = row, column
            where[more, 2] = seen[row, column, 0]
            wide[more], share[more] = 0, 1.0
            ray[more, 0], ray[more, 1] = rays[row, column, 0, 0], rays[row, column, 0, 1]
            more += 1
    return more


@inlined
def place(sight: Sight, soup: Soup, eye: Any, start: int, stop: int, fragments: Fragments) -> None:
    """Points, normals and lines of sight of the fragments from ``start`` to ``stop``."""
    vertices, normals, planes = soup.vertices, soup.normals, sight.planes
    where, ray, faces, owner, kind = (
        fragments.where, fragments.ray, soup.faces, soup.owner, soup.kind,
    )  # fmt: skip
    point, normal, line = fragments.point, fragments.normal, fragments.line
    for i in range(start, stop):
        face = where[i, 2]
        a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
        first, second, third, _ = corner_weights(planes, face, ray[i, 0], ray[i, 1])
        ux, vx = vertices[b, 0] - vertices[a, 0], vertices[c, 0] - vertices[a, 0]
        uy, vy = vertices[b, 1] - vertices[a, 1], vertices[c, 1] - vertices[a, 1]
        uz, vz = vertices[b, 2] - vertices[a, 2], vertices[c, 2] - vertices[a, 2]
        px = vertices[a, 0] + second * ux + third * vx
        py = vertices[a, 1] + second * uy + third * vy
        pz = vertices[a, 2] + second * uz + third * vz
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        ex, ey, ez = eye[0] - px, eye[1] - py, eye[2] - pz
        facing = nx * ex + ny * ey + nz * ez
        if kind[owner[face], 2] == 0:
            nx = first * normals[a, 0] + second * normals[b, 0] + third * normals[c, 0]
            ny = first * normals[a, 1] + second * normals[b, 1] + third * normals[c, 1]
            nz = first * normals[a, 2] + second * normals[b, 2] + third * normals[c, 2]
        # Seen from inside, the other side of an open surface shows.
        size = math.copysign(1.0 / max(math.sqrt(nx * nx + ny * ny + nz * nz), 1e-12), facing)
        length = 1.0 / math.sqrt(ex * ex + ey * ey + ez * ez)
        point[i, 0], point[i, 1], point[i, 2] = px, py, pz
        normal[i, 0], normal[i, 1], normal[i, 2] = nx * size, ny * size, nz * size
        line[i, 0], line[i, 1], line[i, 2] = ex * length, ey * length, ez * length
