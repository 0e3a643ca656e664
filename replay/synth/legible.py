"""Whether the words printed on a thing can be read in a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replay.synth.render import Camera
from replay.synth.world import Body, Floats

FACING = 0.38
"""Least cosine between a print's normal and the way to the eye."""
COVERED = 0.99
"""Share of the words' width that has to be in sight in one piece."""
WHOLE = 0.75
"""Share of the height of each slice of the words that has to be."""
LEAST_HEIGHT = 20.0
"""Of the whole label in the picture, pixels: its letters are about a third of that."""

_BINS = 24
_STEPS = 6


def legible(bodies: Sequence[Body], label: int, camera: Camera, labels: NDArray[np.uint8]) -> bool:
    """Whether a print on the body of that label can be read from end to end.

    Args:
        bodies: The scene's.
        labels: What the picture shows where, shape ``(height, width)``.
    """
    return any(
        _readable(body, camera, labels)
        for body in bodies
        if body.label == label and body.material.texture is not None and body.mesh.uv is not None
    )


def _readable(body: Body, camera: Camera, labels: NDArray[np.uint8]) -> bool:
    texture, uv = body.material.texture, body.mesh.uv
    assert texture is not None
    assert uv is not None
    first, last = words_of(texture)
    points, normals, at = _samples(body, np.asarray(uv, np.float64))
    to_eye = camera.pose.position - points
    facing = np.einsum("ij,ij->i", normals, to_eye) / np.linalg.norm(to_eye, axis=1)
    seen = (facing > FACING) & _shows(camera, points, labels, body.label)
    copy, across = np.floor(at[:, 0] - 1e-9), at[:, 0] - np.floor(at[:, 0] - 1e-9)
    within = (at[:, 1] > 0.2) & (at[:, 1] < 0.8) & (across >= first) & (across <= last)
    place = np.clip((across - first) / (last - first) * _BINS, 0, _BINS - 1).astype(int)
    for number in np.unique(copy[within]):
        here = within & (copy == number)
        of_bin = np.bincount(place[here], minlength=_BINS)
        seen_of_bin = np.bincount(place[here & seen], minlength=_BINS)
        filled = of_bin > 0
        if np.mean(seen_of_bin[filled] >= WHOLE * of_bin[filled]) < COVERED:
            continue
        pixels = camera.project(points[here & seen])
        if float(np.ptp(pixels[:, 1])) > 0.6 * LEAST_HEIGHT:
            return True
    return False


def words_of(texture: NDArray[np.uint8]) -> tuple[float, float]:
    """From where to where the words reach, shares of the label's width."""
    high, wide = texture.shape[:2]
    rows = texture[int(0.24 * high) : max(int(0.24 * high) + 1, int(0.5 * high))]
    varied = rows.astype(np.float64).std(axis=0).max(axis=1) > 12.0
    varied[: int(0.05 * wide)] = False
    varied[wide - int(0.05 * wide) :] = False
    columns = np.flatnonzero(varied)
    if len(columns) < 2:
        return 0.05, 0.95
    return float(columns[0]) / wide, float(columns[-1] + 1) / wide


def _samples(body: Body, uv: Floats) -> tuple[Floats, Floats, Floats]:
    """Points all over the faces, with normals and texture coordinates."""
    faces = body.mesh.faces
    corners = body.mesh.vertices[faces].astype(np.float64)
    steps = [(i, j) for i in range(_STEPS) for j in range(_STEPS - i)]
    shares = np.array([[i + 1 / 3, j + 1 / 3] for i, j in steps]) / _STEPS
    weights = np.column_stack([1.0 - shares.sum(axis=1), shares])
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    points = np.einsum("sc,fcd->fsd", weights, corners).reshape(-1, 3)
    at = np.einsum("sc,fcd->fsd", weights, uv[faces]).reshape(-1, 2)
    return points, np.repeat(normals, len(weights), axis=0), at


def _shows(
    camera: Camera, points: Floats, labels: NDArray[np.uint8], label: int
) -> NDArray[np.bool_]:
    """Whether the picture shows the body there, as far as its labels tell."""
    pixels = camera.project(points)
    height, width = labels.shape
    x, y = np.nan_to_num(pixels, nan=-1.0).T
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    shown = labels[np.clip(y, 0, height - 1).astype(int), np.clip(x, 0, width - 1).astype(int)]
    return np.asarray(inside & (shown == label))
