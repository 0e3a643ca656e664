"""The body of the person beside or across the table, so that no arm ends in the air."""

from __future__ import annotations

import numpy as np

from replay.synth.hand import HandShape
from replay.synth.motion import ArmPlacement
from replay.synth.world import FIRST_ARM, Body, Floats, Material, Mesh, Rgb

HALF_SHOULDERS = 0.19
"""From the middle of the back to a shoulder joint, metres."""

HAIR: tuple[Rgb, ...] = (
    (0.06, 0.05, 0.05),
    (0.18, 0.11, 0.07),
    (0.36, 0.24, 0.14),
    (0.62, 0.5, 0.32),
    (0.55, 0.55, 0.55),
)

RINGS, SECTORS = 24, 32


def partner_bodies(
    rng: np.random.Generator, placement: ArmPlacement, shape: HandShape, shoulder: Floats
) -> list[Body]:
    """Trunk, neck and head of whose arm it is; nothing for the wearer, who is not seen.

    Args:
        shoulder: Where the pointing arm ends, world, shape ``(3,)``.
    """
    hair = HAIR[int(rng.integers(len(HAIR)))]
    leaning = float(rng.uniform(0.0, 0.06))
    shirt = shape.sleeve.colour if shape.sleeve.kind != "none" else _shirt(rng)
    if placement.kind == "wearer":
        return []
    ahead = placement.forward
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    hand = 1.0 if placement.side == "right" else -1.0
    middle = shoulder - hand * HALF_SHOULDERS * right
    skin, cloth = Material(colour=shape.skin.back, wrap=0.3), Material(colour=shirt, gloss=0.05)
    neck = middle + leaning * ahead
    parts = (
        # An egg of a trunk: broad at the shoulders, its lower half below the table's edge.
        (middle - (0.0, 0.0, 0.28), (0.235, 0.15, 0.36), cloth, 2.6),
        (neck + np.array([0.0, 0.0, 0.1]), (0.055, 0.06, 0.1), skin, 2.0),
        (neck + 0.03 * ahead + (0.0, 0.0, 0.25), (0.075, 0.095, 0.12), skin, 2.0),
        (neck - 0.01 * ahead + (0.0, 0.0, 0.28), (0.085, 0.1, 0.11), Material(colour=hair), 2.0),
    )
    axes = np.stack([right, ahead, np.array([0.0, 0.0, 1.0])], 1)
    return [
        Body(mesh=_egg(centre, axes, np.array(radii), power), material=material, label=FIRST_ARM)
        for centre, radii, material, power in parts
    ]


def _shirt(rng: np.random.Generator) -> Rgb:
    grey, tint = rng.uniform(0.1, 0.7), rng.uniform(-0.08, 0.08, 3)
    red, green, blue = np.clip(grey + tint, 0.03, 0.95)
    return (float(red), float(green), float(blue))


def _egg(centre: Floats, axes: Floats, radii: Floats, power: float) -> Mesh:
    """An ellipsoid about ``centre``; a ``power`` above 2 makes it boxier in height."""
    polar = np.linspace(0.0, np.pi, RINGS + 1)
    turn = np.linspace(0.0, 2.0 * np.pi, SECTORS, endpoint=False)
    flat = np.sin(polar) ** (2.0 / power)
    own = np.stack(
        [
            np.outer(flat, np.cos(turn)),
            np.outer(flat, np.sin(turn)),
            np.outer(np.cos(polar), np.ones(SECTORS)),
        ],
        -1,
    ).reshape(-1, 3)
    normals = (own / radii) @ axes.T
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    ring, sector = np.meshgrid(np.arange(RINGS), np.arange(SECTORS), indexing="ij")
    a = ring * SECTORS + sector
    b = ring * SECTORS + (sector + 1) % SECTORS
    c, d = a + SECTORS, b + SECTORS
    faces = np.concatenate([np.stack([a, c, b], -1), np.stack([b, c, d], -1)]).reshape(-1, 3)
    return Mesh(
        vertices=((own * radii) @ axes.T + centre).astype(np.float32),
        faces=faces.astype(np.int32),
        normals=normals.astype(np.float32),
    )
