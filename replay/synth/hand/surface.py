"""Implicit surfaces: smooth unions of tapered capsules, and their triangles.

A field is negative inside. Triangles come from surface nets (Gibson, 1998): one vertex in each
cell that the surface passes, pulled onto the surface afterwards.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled
from replay.synth.world import Floats

Field: TypeAlias = Callable[[Floats], Floats]
"""Distances, shape ``(n,)``, of points, shape ``(n, 3)``, from a surface; about metres."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule:
    """A round stick that may taper and be flattened.

    Attributes:
        start, end: Its axis, shape ``(3,)`` each.
        radii: Half its width at both ends, metres.
        axes: Rotation whose ``z`` is the direction that it is flattened in, shape ``(3, 3)``.
        flatness: How many times wider than thick.
    """

    start: Floats
    end: Floats
    radii: tuple[float, float]
    axes: Floats
    flatness: float = 1.0

    def row(self) -> Floats:
        """It as :func:`joined_fields` reads it, shape ``(19,)``."""
        to_own = self.axes * np.array([1.0, 1.0, self.flatness])
        along = (self.end - self.start) @ to_own
        inverse = 1 / max(float(along @ along), 1e-12)
        # Distances come out too large along z, where space is stretched, so they are shortened.
        near, far, thin = self.radii[0], self.radii[1], 2 / (1 + self.flatness)
        numbers = [inverse, near, far - near, thin]
        return np.concatenate([self.start, to_own.ravel(), along, numbers])


def table(groups: Sequence[Sequence[Capsule]]) -> tuple[Floats, NDArray[np.int64]]:
    """The rows of all capsules, shape ``(m, 19)``, and where each group ends among them."""
    rows = [capsule.row() for group in groups for capsule in group]
    return np.array(rows), np.cumsum([len(group) for group in groups])


@compiled
def joined_fields(points: Floats, rows: Floats, ends: NDArray[np.int64], widths: Floats) -> Floats:
    """How far points are from the smooth union of each group of capsules.

    Args:
        points: Shape ``(n, 3)``.
        rows, ends: Of :func:`table`.
        widths: Metres over which the seams of each group are filled.

    Returns:
        Shape ``(groups, n)``.
    """
    fields = np.empty((len(ends), len(points)))
    for number in range(len(points)):
        first = 0
        for group in range(len(ends)):
            width, field = widths[group], 1e9
            for row in range(first, ends[group]):
                c = rows[row]
                x, y, z = (
                    points[number, 0] - c[0],
                    points[number, 1] - c[1],
                    points[number, 2] - c[2],
                )
                p = x * c[3] + y * c[6] + z * c[9]
                q = x * c[4] + y * c[7] + z * c[10]
                r = x * c[5] + y * c[8] + z * c[11]
                share = (p * c[12] + q * c[13] + r * c[14]) * c[15]
                share = min(max(share, 0.0), 1.0)
                p, q, r = p - share * c[12], q - share * c[13], r - share * c[14]
                away = (math.sqrt(p * p + q * q + r * r) - c[16] - share * c[17]) * c[18]
                near = max(width - abs(field - away), 0.0) / width
                field = min(field, away) - near * near * width * 0.25
            fields[group, number] = field
            first = ends[group]
    return fields


def smooth_union(one: Floats, other: Floats, width: float) -> Floats:
    """The union of two fields, its seam filled over ``width`` metres."""
    near = np.maximum(width - np.abs(one - other), 0.0) / width
    return np.asarray(np.minimum(one, other) - near * near * width * 0.25, np.float64)


def surface_of(
    field: Field, low: Floats, high: Floats, step: float
) -> tuple[Floats, NDArray[np.int32]]:
    """Triangles of a field's zero in a box.

    The surface stays open where it leaves the box.

    Args:
        field: What to draw.
        low, high: Corners of the box, shape ``(3,)``, metres.
        step: Side of a cell, metres.

    Returns:
        Vertices ``(n, 3)`` and faces ``(m, 3)``, counter-clockwise seen from outside.
    """
    counts = np.ceil((high - low) / step).astype(int) + 1
    lines = [low[axis] + step * np.arange(counts[axis]) for axis in range(3)]
    nodes = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    values = field(nodes.reshape(-1, 3)).reshape(nodes.shape[:3])
    vertices, index = _cell_vertices(values)
    faces = _quads(values < 0, index)
    triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]]).astype(np.int32)
    return _pulled(field, low + step * vertices, step), triangles


def _cell_vertices(values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """A vertex for each cell that is partly inside, in cells; and the number of each cell's."""
    shape = tuple(size - 1 for size in values.shape)
    total, count = np.zeros((*shape, 3)), np.zeros(shape)
    for axis in range(3):
        others = [other for other in range(3) if other != axis]
        for sides in itertools.product((0, 1), repeat=2):
            start = np.zeros(3, dtype=int)
            start[others] = sides
            stop = start.copy()
            stop[axis] = 1
            near, far = _shifted(values, start, shape), _shifted(values, stop, shape)
            crossed = (near < 0) != (far < 0)
            share = np.where(crossed, near / np.where(crossed, near - far, 1.0), 0.0)
            total += np.where(crossed[..., None], start, 0)
            total[..., axis] += share
            count += crossed
    used = count > 0
    index = np.full(shape, -1, dtype=np.int64)
    index[used] = np.arange(int(used.sum()))
    vertices = total[used] / count[used][:, None] + np.argwhere(used)
    return vertices, index


def _shifted(values: Floats, offset: NDArray[np.int64], shape: tuple[int, ...]) -> Floats:
    return values[tuple(slice(o, o + size) for o, size in zip(offset, shape, strict=True))]


def _quads(inside: NDArray[np.bool_], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """A quadrilateral across each edge between an inner and an outer node."""
    found = []
    for axis in range(3):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        near = np.take(inside, range(inside.shape[axis] - 1), axis=axis)
        far = np.take(inside, range(1, inside.shape[axis]), axis=axis)
        edges = np.argwhere(near != far)
        edges = edges[(edges[:, one] > 0) & (edges[:, two] > 0)]
        edges = edges[
            (edges[:, one] < inside.shape[one] - 1) & (edges[:, two] < inside.shape[two] - 1)
        ]
        leaving = near[tuple(edges.T)]
        corners = []
        for back_one, back_two in ((1, 1), (0, 1), (0, 0), (1, 0)):
            cell = edges.copy()
            cell[:, one] -= back_one
            cell[:, two] -= back_two
            corners.append(index[tuple(cell.T)])
        quads = np.stack(corners, axis=1)
        quads[~leaving] = quads[~leaving][:, ::-1]
        found.append(quads)
    return np.concatenate(found)


def slopes(field: Field, points: Floats) -> Floats:
    """Gradients of a field, shape ``(n, 3)``."""
    reach = 2e-4
    parts = [
        (field(points + reach * axis) - field(points - reach * axis)) / (2 * reach)
        for axis in np.eye(3)
    ]
    return np.stack(parts, axis=1)


def _pulled(field: Field, vertices: Floats, step: float) -> Floats:
    """The vertices moved onto the surface, by no more than half a cell each time."""
    for _ in range(3):
        slope = slopes(field, vertices)
        steep = np.maximum((slope * slope).sum(axis=1), 0.05)
        move = -field(vertices)[:, None] * slope / steep[:, None]
        length = np.linalg.norm(move, axis=1, keepdims=True)
        vertices = vertices + move * np.minimum(1.0, 0.5 * step / np.maximum(length, 1e-12))
    return vertices


def vertex_normals(vertices: Floats, faces: NDArray[np.int32]) -> Floats:
    """Unit normals, each the mean of its faces' by their areas, shape ``(n, 3)``."""
    corners = vertices[faces]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sums = np.zeros_like(vertices)
    for corner in range(3):
        for axis in range(3):
            sums[:, axis] += np.bincount(
                faces[:, corner], weights=areas[:, axis], minlength=len(vertices)
            )
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.maximum(length, 1e-15), np.float64)
