"""Sleeves: a tube with folds around the arm, and what it is woven of."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.synth.hand.flesh import arm_rings
from replay.synth.hand.rig import smooth_step
from replay.synth.hand.shape import HandShape, Sleeve
from replay.synth.world import Floats

AROUND: Final = 44
_TEXTURE: Final = 128
_REPEAT: Final = 0.09
"""Metres of cloth that the texture covers."""

_CLOSING: Final = ((0.008, 0.93), (0.018, 0.6), (0.025, 0.04))
"""How the cloth closes over the arm's end at the shoulder: metres behind it, share of its width."""


def sleeve_mesh(
    shape: HandShape, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int32], Floats]:
    """Vertices, faces and texture coordinates of the sleeve at rest."""
    sleeve, size = shape.sleeve, shape.build.size
    rows = arm_rings(shape.skeleton, shape.build)
    hand = (
        np.array(
            [
                [0.055, 0.0450, 0.0250],
                [0.030, 0.0400, 0.0240],
                [0.005, 0.0320, 0.0230],
            ]
        )
        * size
    )
    profile = np.concatenate([hand, rows])
    end = rows[-1, 0]
    count = max(8, round((sleeve.edge - end) / 0.0095))
    y = np.linspace(sleeve.edge, end, count)
    half = np.stack([np.interp(-y, -profile[:, 0], profile[:, axis]) for axis in (1, 2)], axis=1)
    angles = np.linspace(0, 2 * np.pi, AROUND, endpoint=False)
    air = sleeve.looseness + 0.0035 + _folds(sleeve, shape, rng, y, angles)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    across = circle[None] * (half[:, None, :] + air[:, :, None])
    outer = _rows(across, y)
    hem = _rows(
        across[:3] * _narrower(across[:3], 0.003), y[:3] - np.array([-0.0012, 0.004, 0.008])
    )
    closed = _rows(
        across[-1] * np.array(_CLOSING)[:, 1, None, None], y[-1] - np.array(_CLOSING)[:, 0]
    )
    rings = np.concatenate([hem[2:0:-1], hem[:1], outer, closed])
    vertices = rings.reshape(-1, 3)
    uv = _texture_places(rings)
    return vertices, _tube(len(rings), AROUND), uv


def _narrower(across: Floats, by: float) -> Floats:
    length = np.linalg.norm(across, axis=-1, keepdims=True)
    return np.asarray((length - by) / length, np.float64)


def _rows(across: Floats, y: Floats) -> Floats:
    along = np.broadcast_to(y[:, None], across.shape[:2])
    return np.stack([across[..., 0], along, across[..., 1]], axis=-1)


def _folds(
    sleeve: Sleeve, shape: HandShape, rng: np.random.Generator, y: Floats, angles: Floats
) -> Floats:
    """Height of the cloth over its looseness, shape ``(rows, AROUND)``."""
    height = np.zeros((len(y), AROUND))
    elbow = -shape.skeleton.forearm
    for _ in range(9):
        length = rng.uniform(0.018, 0.05)
        lean = rng.integers(-2, 3)
        phase = rng.uniform(0, 2 * np.pi)
        centre = rng.uniform(y[-1], y[0])
        reach = rng.uniform(0.04, 0.12)
        side = rng.uniform(0, 2 * np.pi)
        wave = np.cos(2 * np.pi * y[:, None] / length + lean * angles[None] + phase)
        place = np.exp(-(((y - centre) / reach) ** 2))[:, None]
        place = place * (0.6 + 0.4 * np.cos(angles - side))[None]
        height += 0.6 * sleeve.folds * wave * place
    bunch = np.exp(-(((y - elbow) / 0.05) ** 2)) + 0.7 * np.exp(-(((y - y[0] + 0.05) / 0.035) ** 2))
    crease = np.cos(2 * np.pi * y / 0.021)[:, None] + 0.5 * np.cos(3 * angles)[None]
    height += 0.35 * sleeve.folds * bunch[:, None] * crease
    if sleeve.cuff:
        flat = smooth_step(y[0] - y, sleeve.cuff - 0.006, sleeve.cuff + 0.006)[:, None]
        height = height * (0.15 + 0.85 * flat) - 0.5 * sleeve.looseness * (1 - flat)
        seam = np.exp(-(((y[0] - y - sleeve.cuff) / 0.005) ** 2))[:, None]
        height += 0.0016 * seam
    elif sleeve.kind != "long":
        height += (0.008 * np.exp(-((y[0] - y) / 0.05)))[:, None]
    return np.maximum(height, -0.8 * sleeve.looseness)


def _texture_places(rings: Floats) -> Floats:
    count = len(rings)
    around = np.round(0.27 / _REPEAT) * np.arange(AROUND) / AROUND
    # The seam is where the texture would run backwards: mirror it, so that both ends agree.
    around = np.abs(around - around[AROUND // 2])
    lengths = np.linalg.norm(np.diff(rings.mean(axis=1), axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)]) / _REPEAT
    uv = np.zeros((count, AROUND, 2))
    uv[..., 0], uv[..., 1] = around[None], along[:, None]
    return uv.reshape(-1, 2)


def _tube(rings: int, around: int) -> NDArray[np.int32]:
    """Faces of rings of vertices, outside where the angle and ``-y`` make a right-handed pair."""
    numbers = np.arange(rings * around).reshape(rings, around)
    one, two = numbers[:-1], numbers[1:]
    one_next, two_next = np.roll(one, -1, axis=1), np.roll(two, -1, axis=1)
    triangles = np.concatenate(
        [np.stack([one, one_next, two_next], -1), np.stack([one, two_next, two], -1)]
    )
    return np.asarray(triangles.reshape(-1, 3)[:, ::-1], np.int32)


def weave(sleeve: Sleeve, rng: np.random.Generator) -> NDArray[np.uint8]:
    """The cloth's texture, sRGB, shape ``(128, 128, 3)``; it repeats without a seam."""
    first, second = np.array(sleeve.colour), np.array(sleeve.second)
    step = np.arange(_TEXTURE)
    x, y = np.meshgrid(step, step)
    mix = {
        "plain": np.zeros_like(x, dtype=float),
        "melange": 0.15 + 0.13 * _blurred(rng, 1.2),
        "stripes": 1.0 * ((y // 16) % 4 == 0),
        "checks": 0.4 * ((x // 32) % 2) + 0.4 * ((y // 32) % 2),
        "knit": 0.25 + 0.25 * np.cos(2 * np.pi * (x / 8)) * np.cos(2 * np.pi * (y / 8 + x / 16)),
        "denim": 0.25 * (((x + y) // 3) % 2) + 0.12 * _blurred(rng, 1.0),
    }[sleeve.pattern]
    colour = first + np.clip(mix, 0, 1)[..., None] * (second - first)
    if sleeve.pattern == "knit":
        colour = first * (0.75 + 0.8 * mix[..., None])
    colour = colour * (1 + 0.05 * _blurred(rng, 0.8)[..., None])
    return np.asarray(np.round(255 * np.clip(colour, 0.02, 1)), np.uint8)


def _blurred(rng: np.random.Generator, sigma: float) -> Floats:
    """Noise of unit spread that repeats."""
    noise = np.tile(rng.normal(size=(_TEXTURE, _TEXTURE)), (3, 3))
    smooth = cv2.GaussianBlur(noise, (0, 0), sigma)[
        _TEXTURE : 2 * _TEXTURE, _TEXTURE : 2 * _TEXTURE
    ]
    return np.asarray(smooth / smooth.std(), np.float64)
