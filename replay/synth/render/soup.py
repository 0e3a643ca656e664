"""Bodies, flattened into the arrays that the compiled loops walk through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.textures import Atlas, linear
from replay.synth.world import Body, Floats, Mesh


class Soup(NamedTuple):
    """Triangles of several bodies.

    Attributes:
        vertices: Shape ``(n, 3)``, world.
        normals: Of the vertices, shape ``(n, 3)``.
        uv: Of the vertices, shape ``(n, 2)``.
        tint: Linear factors at the vertices, shape ``(n, 3)``.
        faces: Shape ``(m, 3)``, of vertices.
        owner: Number of the body of each face, shape ``(m,)``.
        stretch: Share of its texture that a square metre of each face shows, shape ``(m,)``.
        colour: Linear, of each body, shape ``(b, 3)``.
        shine: Of each body: gloss and wrap, shape ``(b, 2)``.
        kind: Of each body: label, number of its texture or -1, 1 if its faces are flat, 1 if it is
            tinted; shape ``(b, 4)``.
    """

    vertices: NDArray[np.float64]
    normals: NDArray[np.float32]
    uv: NDArray[np.float32]
    tint: NDArray[np.float32]
    faces: NDArray[np.int32]
    owner: NDArray[np.int32]
    stretch: NDArray[np.float32]
    colour: NDArray[np.float32]
    shine: NDArray[np.float32]
    kind: NDArray[np.int32]


def flatten(bodies: Sequence[Body], atlas: Atlas) -> Soup:
    """All the triangles of ``bodies``; their textures are put into ``atlas``."""
    counts = [len(body.mesh.vertices) for body in bodies]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32) if bodies else [0]
    meshes = [body.mesh for body in bodies]
    return Soup(
        vertices=_stack([mesh.vertices for mesh in meshes], 3, np.float64),
        normals=_stack([_or(m.normals, m.vertices, 3, 0.0) for m in meshes], 3, np.float32),
        uv=_stack([_or(m.uv, m.vertices, 2, 0.0) for m in meshes], 2, np.float32),
        tint=_stack([linear(_or(m.tint, m.vertices, 3, 1.0)) for m in meshes], 3, np.float32),
        faces=_stack([m.faces + at for m, at in zip(meshes, first, strict=False)], 3, np.int32),
        owner=np.repeat(np.arange(len(bodies)), [len(m.faces) for m in meshes]).astype(np.int32),
        stretch=np.concatenate([*map(_stretch, meshes), np.empty(0, np.float32)]),
        colour=_stack([linear(np.array([b.material.colour])) for b in bodies], 3, np.float32),
        shine=_stack([[(b.material.gloss, b.material.wrap)] for b in bodies], 2, np.float32),
        kind=_stack([[_kind(body, atlas)] for body in bodies], 4, np.int32),
    )


def join(first: Soup, second: Soup) -> Soup:
    """Both together, ``first`` in front."""
    joined = {
        name: np.concatenate([one, other])
        for name, one, other in zip(Soup._fields, first, second, strict=True)
    }
    joined["faces"][len(first.faces) :] += np.int32(len(first.vertices))
    joined["owner"][len(first.owner) :] += np.int32(len(first.colour))
    return Soup(**joined)


def positions(bodies: Sequence[Body]) -> Floats:
    """The vertices alone, in the order of :func:`flatten`."""
    return np.asarray(_stack([body.mesh.vertices for body in bodies], 3, np.float64))


def _stretch(mesh: Mesh) -> NDArray[np.float32]:
    if mesh.uv is None:
        return np.zeros(len(mesh.faces), np.float32)
    a, b, c = (mesh.vertices[mesh.faces[:, corner]] for corner in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    a, b, c = (mesh.uv[mesh.faces[:, corner]] for corner in range(3))
    flat = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.asarray(np.abs(flat) / np.maximum(area, 1e-12), np.float32)


def _kind(body: Body, atlas: Atlas) -> tuple[int, int, int, int]:
    mesh, texture = body.mesh, body.material.texture
    number = -1 if texture is None or mesh.uv is None else atlas.number(texture)
    return body.label, number, int(mesh.normals is None), int(mesh.tint is not None)


def _or(given: NDArray[Any] | None, vertices: NDArray[Any], width: int, value: float) -> Any:
    return np.full((len(vertices), width), value, np.float32) if given is None else given


def _stack(parts: Sequence[Any], width: int, kind: Any) -> Any:
    rows = [np.asarray(part, kind).reshape(-1, width) for part in parts]
    return np.ascontiguousarray(np.concatenate([*rows, np.empty((0, width), kind)]))
