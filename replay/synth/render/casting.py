"""The first surface along a ray (Möller & Trumbore 1997)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.synth.render.compiled import compiled
from replay.synth.world import Body, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Where a ray ends.

    Attributes:
        label: Of the body.
        distance: From the ray's origin, metres.
        point: Shape ``(3,)``.
    """

    label: int
    distance: float
    point: Floats


def cast(bodies: Sequence[Body], origin: Floats, direction: Floats) -> Hit | None:
    """The nearest surface from ``origin`` along ``direction``, of any length; None: none.

    Surfaces are hit from both sides.

    Raises:
        ValueError: If the direction has no length.
    """
    origin = np.ascontiguousarray(origin, np.float64)
    length = float(np.linalg.norm(direction))
    if not length > 0.0:
        raise ValueError("a ray's direction has no length")
    along = np.ascontiguousarray(direction, np.float64) / length
    nearest, label = np.inf, 0
    for body in bodies:
        distance = _nearest(body.mesh.vertices, body.mesh.faces, origin, along)
        if distance < nearest:
            nearest, label = distance, body.label
    if nearest == np.inf:
        return None
    return Hit(label=label, distance=nearest, point=origin + nearest * along)


@compiled
def _nearest(vertices: Any, faces: Any, origin: Any, along: Any) -> float:
    ox, oy, oz = origin[0], origin[1], origin[2]
    dx, dy, dz = along[0], along[1], along[2]
    nearest = np.inf
    for number in range(len(faces)):
        a, b, c = faces[number, 0], faces[number, 1], faces[number, 2]
        ax, ay, az = float(vertices[a, 0]), float(vertices[a, 1]), float(vertices[a, 2])
        ux, uy, uz = vertices[b, 0] - ax, vertices[b, 1] - ay, vertices[b, 2] - az
        vx, vy, vz = vertices[c, 0] - ax, vertices[c, 1] - ay, vertices[c, 2] - az
        px, py, pz = dy * vz - dz * vy, dz * vx - dx * vz, dx * vy - dy * vx
        determinant = ux * px + uy * py + uz * pz
        if determinant == 0.0:
            continue
        tx, ty, tz = ox - ax, oy - ay, oz - az
        first = (tx * px + ty * py + tz * pz) / determinant
        if first < 0.0 or first > 1.0:
            continue
        qx, qy, qz = ty * uz - tz * uy, tz * ux - tx * uz, tx * uy - ty * ux
        second = (dx * qx + dy * qy + dz * qz) / determinant
        if second < 0.0 or first + second > 1.0:
            continue
        distance = (vx * qx + vy * qy + vz * qz) / determinant
        if 0.0 < distance < nearest:
            nearest = distance
    return nearest
