"""Normals of meshes, and whether they are sound."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..world import Floats, Mesh

_WELD = 1e-6
"""Vertices closer than this are one place, metres."""


def smooth(shape: Mesh, crease: float = 38.0) -> Mesh:
    """The shape with normals; edges sharper than ``crease`` degrees stay edges.

    A corner's normal is the mean of those faces at the same place that lie within ``crease`` of
    its own face, weighted by area. Corners that share a place, texture and normal are one vertex.
    """
    points, faces = shape.vertices.astype(np.float64), shape.faces
    a, b, c = (points[faces[:, i]] for i in range(3))
    big = np.cross(b - a, c - a)
    unit = big / np.maximum(np.linalg.norm(big, axis=1, keepdims=True), 1e-20)
    place = _welded(points)[faces].ravel()
    face = np.repeat(np.arange(len(faces)), 3)
    order = np.argsort(place, kind="stable")
    sizes = np.bincount(place)
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    own = sizes[place[order]]
    left = np.repeat(order, own)
    within = np.arange(len(left)) - np.repeat(np.cumsum(own) - own, own)
    right = order[np.repeat(starts[place[order]], own) + within]
    near = np.einsum("ij,ij->i", unit[face[left]], unit[face[right]]) > math.cos(
        math.radians(crease)
    )
    left, right = left[near], right[near]
    sums = [np.bincount(left, big[face[right], i], len(face)) for i in range(3)]
    normals = np.asarray(np.stack(sums, 1), np.float64)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-20)
    return _merged(shape, normals)


def _merged(shape: Mesh, normals: Floats) -> Mesh:
    """One vertex for all corners with the same vertex and normal, given corner normals."""
    vertex = shape.faces.ravel()
    key = np.c_[vertex, np.round(normals * 500)].astype(np.int64)
    code = ((key[:, 0] * 1024 + key[:, 1] + 512) * 1024 + key[:, 2] + 512) * 1024 + key[:, 3] + 512
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    kept = vertex[first]
    return Mesh(
        vertices=shape.vertices[kept],
        faces=inverse.reshape(-1, 3).astype(np.int32),
        normals=normals[first].astype(np.float32),
        uv=None if shape.uv is None else shape.uv[kept],
        tint=None if shape.tint is None else shape.tint[kept],
    )


def _welded(points: Floats) -> NDArray[np.int64]:
    """For each point the number of its place; equal places have equal numbers."""
    cells = np.round(points / _WELD).astype(np.int64) + (1 << 20)
    code = (cells[:, 0] << 42) ^ (cells[:, 1] << 21) ^ cells[:, 2]
    return np.asarray(np.unique(code, return_inverse=True)[1], np.int64).ravel()


def volume(shape: Mesh) -> float:
    """Signed volume, cubic metres: positive when the faces of a closed mesh face outwards."""
    points = shape.vertices.astype(np.float64)
    a, b, c = (points[shape.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def is_closed(shape: Mesh) -> bool:
    """Whether every edge is run along once in each direction."""
    place = _welded(shape.vertices.astype(np.float64))[shape.faces]
    edges = np.concatenate([place[:, [0, 1]], place[:, [1, 2]], place[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    n = int(place.max()) + 1
    forth = np.bincount(edges[:, 0] * n + edges[:, 1], minlength=n * n)
    back = np.bincount(edges[:, 1] * n + edges[:, 0], minlength=n * n)
    return bool(np.array_equal(forth, back))
