"""Colours of skin over a hand: palm, knuckles, creases, mottling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.synth.hand.flesh import AT_REST, Flesh
from replay.synth.hand.rig import smooth_step
from replay.synth.hand.shape import HandShape
from replay.synth.hand.skeleton import hand_joints
from replay.synth.world import Floats


def skin_colours(
    shape: HandShape, flesh: Flesh, vertices: Floats, normals: Floats
) -> NDArray[np.float64]:
    """sRGB of each vertex of the skin at rest, shape ``(n, 3)``."""
    tone = shape.skin
    back, palm, blood = (np.array(c) for c in (tone.back, tone.palm, tone.blood))
    palmar = smooth_step(-normals[:, 2], -0.15, 0.45)
    palmar *= smooth_step(vertices[:, 1], -0.03, 0.02)
    colours = back + palmar[:, None] * (palm - back)
    rng = np.random.default_rng(shape.seed)
    spots = mottled(rng, vertices, scale=0.012) + 0.6 * mottled(rng, vertices, scale=0.004)
    redness = 0.5 * np.clip(mottled(rng, vertices, scale=0.02), 0, 1) * palmar
    factors = np.ones(len(vertices))
    joints = hand_joints(shape.skeleton, AT_REST)
    nearest = np.argmin(flesh.parts(vertices)[:5], axis=0)
    scale = shape.build.size
    for number, digit in enumerate(joints):
        mine = nearest == number
        for bone in range(3):
            own = (vertices - digit.points[bone]) @ digit.turns[bone] / scale
            above = own[:, 2] > 0
            inside = mine & (np.linalg.norm(own, axis=1) < 0.03)
            near = np.exp(-((own[:, 1] / 0.0065) ** 2)) * inside
            redness = np.maximum(redness, (0.45 if bone else 0.3) * near * above)
            if bone:
                crease = np.exp(-((own[:, 1] / 0.0016) ** 2)) * inside
                factors *= 1 - np.where(above, 0.10, 0.13) * crease
        own = (vertices - digit.points[2]) @ digit.turns[2]
        length = float(np.linalg.norm(digit.points[3] - digit.points[2]))
        share = own[:, 1] / length
        redness = np.maximum(redness, 0.75 * mine * smooth_step(share, 0.45, 0.95))
    colours = colours + (0.8 * redness)[:, None] * (blood - colours)
    colours *= (factors * (1 + tone.mottling * spots))[:, None]
    return np.asarray(np.clip(colours, 0.02, 1.0), np.float64)


def mottled(rng: np.random.Generator, points: Floats, *, scale: float) -> Floats:
    """Smooth noise of unit spread at ``points``, uneven over ``scale`` metres."""
    waves = rng.normal(0.0, 1 / scale, (10, 3))
    phases = rng.uniform(0.0, 2 * np.pi, 10)
    return np.asarray(np.cos(points @ waves.T + phases).mean(axis=1) * np.sqrt(20), np.float64)
