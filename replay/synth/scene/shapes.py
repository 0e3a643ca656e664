"""Meshes that objects are made of: turned, bent, cut out and rounded ones.

All shapes are closed, their faces counter-clockwise seen from outside, in metres, ``z`` up. They
come without normals; :func:`smooth` adds these once an object's part is complete.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..world import Floats, Mesh


def mesh(vertices: ArrayLike, faces: ArrayLike, uv: ArrayLike | None = None) -> Mesh:
    """A mesh without normals. Faces that have lost their area are left out."""
    points = np.asarray(vertices, np.float64)
    corners = np.asarray(faces, np.int64).reshape(-1, 3)
    a, b, c = (points[corners[:, i]] for i in range(3))
    kept = np.linalg.norm(np.cross(b - a, c - a), axis=1) > 1e-13
    return Mesh(
        vertices=points.astype(np.float32),
        faces=corners[kept].astype(np.int32),
        uv=None if uv is None else np.asarray(uv, np.float32),
    )


def grid_faces(rows: int, columns: int, *, wrap: bool = False) -> NDArray[np.int64]:
    """Two triangles a cell of a grid of ``rows`` times ``columns`` vertices, row by row.

    Counter-clockwise where columns run to the right and rows up. ``wrap`` joins the last column
    to the first.
    """
    i = np.arange(rows - 1)[:, None]
    j = np.arange(columns if wrap else columns - 1)[None, :]
    k = (j + 1) % columns
    a, b, c, d = (
        np.broadcast_to(corner, (rows - 1, j.size)).ravel()
        for corner in (
            i * columns + j,
            i * columns + k,
            (i + 1) * columns + k,
            (i + 1) * columns + j,
        )
    )
    return np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def revolve(profile: Sequence[tuple[float, float]], segments: int = 32) -> Mesh:
    """A surface of revolution about ``z``.

    Args:
        profile: ``(radius, z)`` from the axis at the bottom, outwards, up and back to the axis
            (or to the first point again, as in a ring).
        segments: Corners of a circle.
    """
    points = np.asarray(profile, np.float64)
    angle = np.arange(segments + 1) * (2 * np.pi / segments)
    angle[-1] = 0.0
    r, z = points[:, :1], points[:, 1:]
    grid = np.stack(
        [r * np.cos(angle), r * np.sin(angle), np.broadcast_to(z, (len(points), len(angle)))], -1
    )
    length = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))]
    u = np.broadcast_to(np.arange(segments + 1) / segments, grid.shape[:2])
    v = np.broadcast_to(1.0 - (length / length[-1])[:, None], grid.shape[:2])
    return mesh(
        grid.reshape(-1, 3),
        grid_faces(len(points), segments + 1),
        np.stack([u, v], -1).reshape(-1, 2),
    )


def arc(
    centre: tuple[float, float], radius: float, start: float, stop: float, steps: int
) -> list[tuple[float, float]]:
    """Points of an arc in a profile; angles in degrees, counter-clockwise from outwards."""
    angles = np.radians(np.linspace(start, stop, steps + 1))
    return [(centre[0] + radius * math.cos(a), centre[1] + radius * math.sin(a)) for a in angles]


def ball(radius: float, *, rings: int = 12, segments: int = 24) -> Mesh:
    """A sphere about the origin."""
    profile = [(max(r, 0.0), z) for r, z in arc((0.0, 0.0), radius, -90.0, 90.0, rings)]
    profile[0], profile[-1] = (0.0, -radius), (0.0, radius)
    return revolve(profile, segments)


def cylinder(radius: float, height: float, *, bevel: float = 0.0, segments: int = 32) -> Mesh:
    """An upright cylinder on ``z = 0`` with rounded rims."""
    if bevel <= 0:
        return revolve([(0, 0), (radius, 0), (radius, height), (0, height)], segments)
    inner = radius - bevel
    return revolve(
        [
            (0, 0),
            *arc((inner, bevel), bevel, -90, 0, 2),
            *arc((inner, height - bevel), bevel, 0, 90, 2),
            (0, height),
        ],
        segments,
    )


def vessel(
    outside: Sequence[tuple[float, float]], wall: float, floor: float, segments: int = 36
) -> Mesh:
    """An open vessel: ``outside`` runs from the foot's rim up to the lip."""
    shape = np.asarray(outside, np.float64)
    step = np.gradient(shape, axis=0)
    step /= np.linalg.norm(step, axis=1, keepdims=True)
    inside = shape + wall * np.stack([-step[:, 1], step[:, 0]], 1)
    inside = inside[(inside[:, 1] > floor) & (inside[:, 0] > 0)]
    lip = 0.5 * (shape[-1] + inside[-1]) + 0.5 * wall * step[-1]
    profile = [(0.0, shape[0, 1]), *map(tuple, shape), tuple(lip), *map(tuple, inside[::-1])]
    bottom = float(np.interp(floor, shape[:, 1], shape[:, 0])) - 1.3 * wall
    return revolve([*profile, (bottom, floor), (0.0, floor)], segments)


def rounded_box(size: tuple[float, float, float], radius: float = 0.002, steps: int = 2) -> Mesh:
    """A box standing on ``z = 0`` about the origin with rounded edges."""
    half = np.asarray(size, np.float64) / 2
    radius = min(radius, float(half.min()) * 0.98)
    lean = radius * (1.0 - np.tan(np.radians(np.linspace(45, 0, steps + 1))))
    cuts = [np.r_[-h + lean, (h - lean)[::-1]] for h in half]
    vertices, faces, uv, count = [], [], [], 0
    for axis in range(3):
        for sign in (-1.0, 1.0):
            first, second = (axis + 1) % 3, (axis + 2) % 3
            across, up = cuts[first] * sign, cuts[second]
            grid = np.empty((len(up), len(across), 3))
            grid[..., axis], grid[..., first], grid[..., second] = (
                sign * half[axis],
                across[None, :],
                up[:, None],
            )
            vertices.append(grid.reshape(-1, 3))
            spread = np.stack(
                [
                    np.broadcast_to((cuts[first] / half[first] + 1) / 2, grid.shape[:2]),
                    np.broadcast_to(((1 - up / half[second]) / 2)[:, None], grid.shape[:2]),
                ],
                -1,
            )
            uv.append(spread.reshape(-1, 2))
            faces.append(grid_faces(len(up), len(across)) + count)
            count += grid.shape[0] * grid.shape[1]
    points = np.concatenate(vertices)
    core = np.clip(points, -(half - radius), half - radius)
    out = points - core
    points = core + radius * out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
    points[:, 2] += half[2]
    return mesh(points, np.concatenate(faces), np.concatenate(uv))


def plain_box(x: float, y: float, z: float) -> Mesh:
    """A plain box of twelve triangles on ``z = 0``, narrower above."""
    low, high = np.array([x, y]) / 2, np.array([x, y]) * 0.43
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    points = np.concatenate(
        [np.c_[corners * low, np.zeros(4)], np.c_[corners * high, np.full(4, z)]]
    )
    faces = [(0, 2, 1), (0, 3, 2), (4, 5, 6), (4, 6, 7)]
    for i in range(4):
        k = (i + 1) % 4
        faces += [(i, k, k + 4), (i, k + 4, i + 4)]
    return Mesh(vertices=points.astype(np.float32), faces=np.asarray(faces, np.int32))


def tube(
    path: ArrayLike,
    radius: float | Sequence[float],
    *,
    flat: float = 1.0,
    segments: int = 12,
    loop: bool = False,
    up: tuple[float, float, float] = (0.0, 0.0, 1.0),
) -> Mesh:
    """A tube along ``path``, its ends closed with domes unless it is a ``loop``.

    Args:
        path: Shape ``(n, 3)``.
        radius: One for all, or one a point.
        flat: Width along the section's other axis, as a factor; ``up`` keeps its own.
        up: Across which the section is not flattened.
    """
    line = np.asarray(path, np.float64)
    radii = np.broadcast_to(np.asarray(radius, np.float64), (len(line),)).copy()
    if not loop:
        line, radii = _with_domes(line, radii)
    ahead = np.roll(line, -1, 0) - np.roll(line, 1, 0) if loop else np.gradient(line, axis=0)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-12)
    side = np.cross(ahead, np.asarray(up, np.float64))
    weak = np.linalg.norm(side, axis=1) < 0.05
    side[weak] = np.cross(ahead[weak], (1.0, 0.3, 0.2))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    for i in range(1, len(side)):
        if side[i] @ side[i - 1] < 0:
            side[i] = -side[i]
    above = np.cross(side, ahead)
    angle = np.arange(segments) * (2 * np.pi / segments)
    grid = line[:, None, :] + radii[:, None, None] * (
        np.cos(angle)[None, :, None] * side[:, None, :] * flat
        + np.sin(angle)[None, :, None] * above[:, None, :]
    )
    faces = grid_faces(len(line), segments, wrap=True)[:, ::-1]
    if loop:
        last, n = len(line) - 1, segments
        j = np.arange(n)
        k = (j + 1) % n
        seam = [(last * n + j, k, last * n + k), (last * n + j, j, k)]
        faces = np.concatenate([faces, *(np.stack(corner, 1) for corner in seam)])
    return mesh(grid.reshape(-1, 3), faces)


def _with_domes(line: Floats, radii: Floats) -> tuple[Floats, Floats]:
    """The path with three more points at each end, over which the tube closes."""
    first, last = line[0] - line[1], line[-1] - line[-2]
    first, last = first / np.linalg.norm(first), last / np.linalg.norm(last)
    over, narrow = np.array([1.0, 0.85, 0.5]), np.array([0.0, 0.53, 0.87])
    head = line[0] + first * (over * radii[0])[:, None]
    tail = line[-1] + last * (over[::-1] * radii[-1])[:, None]
    return (
        np.concatenate([head, line, tail]),
        np.concatenate([narrow * radii[0], radii, narrow[::-1] * radii[-1]]),
    )


def cut_out(outline: ArrayLike, height: float, *, bevel: float = 0.0) -> Mesh:
    """A plate of any simple outline without holes from ``z = 0`` to ``height``."""
    shape = np.asarray(outline, np.float64)
    x, y = shape.T
    if x @ np.roll(y, -1) < y @ np.roll(x, -1):  # clockwise
        shape = shape[::-1]
    n = len(shape)
    if bevel <= 0:
        rings = [(shape, 0.0), (shape, height)]
    else:
        ahead = np.roll(shape, -1, 0) - shape
        ahead /= np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-12)
        both = ahead + np.roll(ahead, 1, 0)
        both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-9)
        inset = shape + bevel * np.stack([-both[:, 1], both[:, 0]], 1)
        rings = [(inset, 0.0), (shape, bevel), (shape, height - bevel), (inset, height)]
    vertices = np.concatenate([np.c_[ring, np.full(n, z)] for ring, z in rings])
    lid = ear_clip(shape)
    top = lid + n * (len(rings) - 1)
    return mesh(vertices, np.concatenate([grid_faces(len(rings), n, wrap=True), lid[:, ::-1], top]))


def ear_clip(outline: Floats) -> NDArray[np.int64]:
    """Triangles of a simple counter-clockwise polygon, shape ``(n - 2, 3)``."""
    left = list(range(len(outline)))
    triangles: list[tuple[int, int, int]] = []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            if _is_ear(outline, left, (a, b, c)):
                triangles.append((a, b, c))
                del left[k]
                break
        else:
            raise ValueError(f"outline of {len(outline)} points crosses itself or runs clockwise")
    return np.asarray([*triangles, tuple(left)], np.int64)


def _is_ear(outline: Floats, left: list[int], corner: tuple[int, int, int]) -> bool:
    a, b, c = outline[list(corner)]
    if _turn(a, b, c) <= 1e-14:
        return False
    others = outline[[i for i in left if i not in corner]]
    inside = (
        (_turn(a, b, others) > -1e-14)
        & (_turn(b, c, others) > -1e-14)
        & (_turn(c, a, others) > -1e-14)
    )
    return not bool(np.any(inside))


def _turn(a: Floats, b: Floats, points: Floats) -> Any:
    """Twice the signed area of the triangle that ``a``, ``b`` and each point make."""
    return (b[0] - a[0]) * (points[..., 1] - a[1]) - (b[1] - a[1]) * (points[..., 0] - a[0])


def ring(outer: ArrayLike, inner: ArrayLike, height: float) -> Mesh:
    """A plate with one hole; both outlines counter-clockwise with as many points."""
    big, small = np.asarray(outer, np.float64), np.asarray(inner, np.float64)
    n = len(big)
    low, high = np.zeros(n), np.full(n, height)
    rows = [np.c_[small, low], np.c_[big, low], np.c_[big, high], np.c_[small, high]]
    vertices = np.concatenate([*rows, rows[0]])
    return mesh(vertices, grid_faces(5, n, wrap=True))


def polygon(corners: int, radius: float, *, turn: float = 0.0, per_side: int = 1) -> Floats:
    """A regular polygon, or a circle, with ``per_side`` points a side; ``turn`` in degrees."""
    angle = np.radians(turn) + np.arange(corners + 1) * (2 * np.pi / corners)
    points = radius * np.stack([np.cos(angle), np.sin(angle)], 1)
    share = np.arange(per_side)[None, :, None] / per_side
    return np.asarray(
        (points[:-1, None] * (1 - share) + points[1:, None] * share).reshape(-1, 2), np.float64
    )


def turned(shape: Mesh, axis: str, degrees: float) -> Mesh:
    """The shape turned about a world axis through the origin."""
    return placed(shape, rotation=rotation(axis, degrees))


def moved(shape: Mesh, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Mesh:
    """The shape elsewhere."""
    return placed(shape, offset=(x, y, z))


def scaled(shape: Mesh, x: float = 1.0, y: float = 1.0, z: float = 1.0) -> Mesh:
    """The shape stretched; normals must not have been made yet."""
    factors = np.array([x, y, z], np.float32)
    return Mesh(vertices=shape.vertices * factors, faces=shape.faces, uv=shape.uv, tint=shape.tint)


def placed(
    shape: Mesh,
    *,
    rotation: Floats | None = None,
    offset: tuple[float, float, float] | Floats = (0.0, 0.0, 0.0),
) -> Mesh:
    """The shape turned, then moved; normals go along."""
    turn = np.eye(3) if rotation is None else rotation
    vertices = shape.vertices @ turn.T + np.asarray(offset)
    normals = None if shape.normals is None else (shape.normals @ turn.T).astype(np.float32)
    return Mesh(
        vertices=vertices.astype(np.float32),
        faces=shape.faces,
        normals=normals,
        uv=shape.uv,
        tint=shape.tint,
    )


def rotation(axis: str, degrees: float) -> Floats:
    """Rotation about ``x``, ``y`` or ``z``, shape ``(3, 3)``."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    turn = np.eye(3)
    turn[j, j], turn[j, k], turn[k, j], turn[k, k] = c, -s, s, c
    return turn


def joined(*shapes: Mesh) -> Mesh:
    """Several shapes as one mesh; their textures' coordinates are dropped unless all have them."""
    counts = np.cumsum([0, *(len(shape.vertices) for shape in shapes)])
    tints = [
        np.ones((len(shape.vertices), 3), np.float32) if shape.tint is None else shape.tint
        for shape in shapes
    ]
    uvs = [shape.uv for shape in shapes if shape.uv is not None]
    return Mesh(
        vertices=np.concatenate([shape.vertices for shape in shapes]),
        faces=np.concatenate(
            [shape.faces + start for shape, start in zip(shapes, counts, strict=False)]
        ).astype(np.int32),
        uv=np.concatenate(uvs) if len(uvs) == len(shapes) else None,
        tint=None if all(shape.tint is None for shape in shapes) else np.concatenate(tints),
    )


def laid(*shapes: Mesh, tilt: float = 90.0) -> list[Mesh]:
    """Upright shapes tipped over towards ``x`` and put down on ``z = 0`` together."""
    lie = [turned(shape, "y", tilt) for shape in shapes]
    low = min(float(shape.vertices[:, 2].min()) for shape in lie)
    return [moved(shape, z=-low) for shape in lie]


def mirrored(shape: Mesh) -> Mesh:
    """The shape with left and right (``y``) exchanged."""
    points = shape.vertices * np.array([1, -1, 1], np.float32)
    return Mesh(vertices=points, faces=shape.faces[:, ::-1].copy(), uv=shape.uv, tint=shape.tint)
