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
        shoulder: Where the pointing arm ends, world, shape ``(3,)``; the trunk leans there from a
            seat behind the placement's own shoulder.
    """
    hair = HAIR[int(rng.integers(len(HAIR)))]
    shirt = shape.sleeve.colour if shape.sleeve.kind != "none" else _shirt(rng)
    if placement.kind == "wearer":
        return []
    up = np.array([0.0, 0.0, 1.0])
    ahead = placement.forward
    right = np.cross(ahead, up)
    hand = 1.0 if placement.side == "right" else -1.0
    neck = shoulder - hand * HALF_SHOULDERS * right
    seat = placement.shoulder - hand * HALF_SHOULDERS * right - 0.1 * ahead
    seat[2] = -0.55
    skin, cloth = Material(colour=shape.skin.back, wrap=0.3), Material(colour=shirt, gloss=0.05)
    trunk = neck - seat
    length = float(np.linalg.norm(trunk))
    upright = np.stack([right, ahead, up], 1)
    leaning = np.stack([right, np.cross(trunk / length, right), trunk / length], 1)
    face = neck + 0.05 * ahead
    return [
        _body(0.5 * (neck + seat), leaning, (0.22, 0.14, 0.5 * length + 0.07), cloth, power=3.0),
        _body(neck + 0.1 * up, upright, (0.055, 0.06, 0.1), skin),
        _body(face + 0.24 * up, upright, (0.075, 0.095, 0.12), skin),
        _body(face + 0.27 * up - 0.02 * ahead, upright, (0.085, 0.1, 0.11), Material(colour=hair)),
    ]


def link(shape: HandShape, elbow: Floats, shoulder: Floats, label: int) -> Body:
    """What joins an arm to its shoulder when that is further off than the arm is long."""
    way = shoulder - elbow
    far = float(np.linalg.norm(way))
    along = way / max(far, 1e-9)
    end = elbow + min(shape.skeleton.upper_arm, far) * along
    side = np.cross(along, (1.0, 0.0, 0.0) if abs(along[0]) < 0.9 else (0.0, 1.0, 0.0))
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(along, side), along], 1)
    bare = shape.sleeve.kind == "none"
    colour = shape.skin.back if bare else shape.sleeve.colour
    half = 0.5 * float(np.linalg.norm(shoulder - end)) + 0.05
    radius = 0.05 if bare else 0.053 + 0.5 * shape.sleeve.looseness
    material = Material(colour=colour, wrap=0.3 if bare else 0.0, gloss=0.05)
    mesh = _egg(0.5 * (shoulder + end), axes, np.array([radius, radius, half]), 4.0)
    return Body(mesh=mesh, material=material, label=label)


def _body(
    centre: Floats,
    axes: Floats,
    radii: tuple[float, float, float],
    material: Material,
    *,
    power: float = 2.0,
) -> Body:
    return Body(mesh=_egg(centre, axes, np.array(radii), power), material=material, label=FIRST_ARM)


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
