"""What sits on the skin: nails, a ring, a watch. Each follows one bone.

Coordinates as in :mod:`.skeleton`, in the pose at rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from replay.synth.hand.flesh import AT_REST, PALM, Flesh
from replay.synth.hand.rig import BONES, FIRST_DIGIT, FORE_WRIST
from replay.synth.hand.skeleton import Joints, Skeleton, hand_joints
from replay.synth.world import Floats

NAIL_RINGS: Final = (0.0, 0.45, 0.8, 1.0)
NAIL_SIDES: Final = 14
_BAND_SIDES: Final = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Worn:
    """A mesh at rest.

    Attributes:
        vertices: Shape ``(n, 3)``.
        faces: Shape ``(m, 3)``.
        bones: Of each vertex, the one that it follows, shape ``(n,)``.
        shade: Of each vertex, 0: as the material, 1: as light as the mesh gets, shape ``(n,)``.
    """

    vertices: Floats
    faces: NDArray[np.int32]
    bones: NDArray[np.int64]
    shade: Floats

    @property
    def weights(self) -> NDArray[np.float32]:
        """Of all bones, shape ``(n, BONES)``."""
        return np.eye(BONES, dtype=np.float32)[self.bones]


def nails(flesh: Flesh, skeleton: Skeleton) -> Worn:
    """The five nails; the shade is that of their free edges."""
    sheets = [
        _nail(flesh, joints, number) for number, joints in enumerate(hand_joints(skeleton, AT_REST))
    ]
    return _joined(sheets)


def _nail(flesh: Flesh, joints: Joints, number: int) -> Worn:
    base, end, turn = joints.points[2], joints.points[3], joints.turns[2]
    length = float(np.linalg.norm(end - base))
    angles = np.linspace(0, 2 * np.pi, NAIL_SIDES, endpoint=False)
    # Between an ellipse and a rectangle, as nails are.
    x, y = (np.sign(c) * np.abs(c) ** 0.72 for c in (np.cos(angles), np.sin(angles)))
    disc = np.concatenate([[[0.0, 0.0]]] + [r * np.stack([x, y], axis=1) for r in NAIL_RINGS[1:]])
    wide = length * (0.27 if number else 0.28) * (0.92 if number == 4 else 1.0)
    across, along = wide * disc[:, 0], length * (0.80 + 0.27 * disc[:, 1])
    flat = base + across[:, None] * turn[:, 0] + along[:, None] * turn[:, 1]
    height = 0.0004 * (1 - 0.9 * (disc**2).max(axis=1) ** 4)
    vertices = _on_skin(flesh, number, flat, turn[:, 2], length) + height[:, None] * turn[:, 2]
    first = 1 + np.arange(NAIL_SIDES)
    after = np.roll(first, -1)
    faces = [np.stack([np.zeros_like(first), first, after], axis=1)]
    for ring in range(len(NAIL_RINGS) - 2):
        a, b = first + ring * NAIL_SIDES, after + ring * NAIL_SIDES
        c, d = a + NAIL_SIDES, b + NAIL_SIDES
        faces += [np.stack([a, c, d], axis=1), np.stack([a, d, b], axis=1)]
    return Worn(
        vertices=vertices,
        faces=np.concatenate(faces).astype(np.int32),
        bones=np.full(len(vertices), FIRST_DIGIT + 6 * number + 5),
        shade=np.clip((disc[:, 1] - 0.55) / 0.3, 0.0, 1.0),
    )


def _on_skin(flesh: Flesh, part: int, points: Floats, out: Floats, reach: float) -> Floats:
    """Each point moved along ``out``, at most by ``reach``, to where a part's flesh ends."""
    low, high = np.zeros(len(points)), np.full(len(points), reach)
    for _ in range(16):
        middle = (low + high) / 2
        inside = flesh.parts(points + middle[:, None] * out)[part] < 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.asarray(points + low[:, None] * out, np.float64)


def ring(flesh: Flesh, skeleton: Skeleton) -> Worn:
    """A ring on the ring finger."""
    joints = hand_joints(skeleton, AT_REST)[3]
    centre = 0.56 * joints.points[0] + 0.44 * joints.points[1]
    bone = FIRST_DIGIT + 6 * 3 + 1
    return _band(flesh, 3, centre, joints.turns[0], width=0.0036, height=0.0013, bone=bone)


def watch(flesh: Flesh, size: float) -> Worn:
    """A watch above the wrist; the shade is that of its dial."""
    centre = np.array([0.0, -0.034 * size, 0.0])
    strap = _band(flesh, PALM, centre, np.eye(3), width=0.018, height=0.0030, bone=FORE_WRIST)
    top = float(strap.vertices[:, 2].max())
    dial = _dial(np.array([0.0, centre[1], top - 0.001]), radius=0.0175, height=0.006)
    return _joined([strap, dial])


def _band(
    flesh: Flesh,
    part: int,
    centre: Floats,
    turn: Floats,
    *,
    width: float,
    height: float,
    bone: int,
) -> Worn:
    """A band tight around what lies about ``centre`` along ``turn``'s ``y``."""
    angles = np.linspace(0, 2 * np.pi, _BAND_SIDES, endpoint=False)
    outs = np.cos(angles)[:, None] * turn[:, 0] + np.sin(angles)[:, None] * turn[:, 2]
    profile = ((-0.5, -0.4), (-0.42, 0.8), (-0.2, 1.0), (0.2, 1.0), (0.42, 0.8), (0.5, -0.4))
    rows = []
    for along, up in profile:
        middle = centre + along * width * turn[:, 1]
        middles = np.broadcast_to(middle, outs.shape)
        skin = _on_skin(flesh, part, middles, outs, 0.05)
        rows.append(skin + up * height * outs)
    numbers = np.arange(len(rows) * _BAND_SIDES).reshape(len(rows), _BAND_SIDES)
    return Worn(
        vertices=np.concatenate(rows),
        faces=_sheet(numbers),
        bones=np.full(numbers.size, bone),
        shade=np.zeros(numbers.size),
    )


def _dial(centre: Floats, *, radius: float, height: float) -> Worn:
    """A flat round case that looks up."""
    angles = np.linspace(0, 2 * np.pi, _BAND_SIDES, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    up = np.array([0.0, 0.0, height])
    steps = ((1.0, -0.4, 0.0), (1.0, 0.7, 0.0), (0.93, 1.0, 0.0), (0.86, 1.0, 1.0), (0.0, 1.0, 1.0))
    rows = [centre + share * radius * circle + rise * up for share, rise, _ in steps]
    numbers = np.arange(len(rows) * _BAND_SIDES).reshape(len(rows), _BAND_SIDES)
    return Worn(
        vertices=np.concatenate(rows),
        faces=_sheet(numbers)[:, ::-1],
        bones=np.full(numbers.size, FORE_WRIST),
        shade=np.repeat([shade for _, _, shade in steps], _BAND_SIDES),
    )


def _sheet(numbers: NDArray[np.int64]) -> NDArray[np.int32]:
    """Triangles between rows of vertices that close into rings."""
    one, two = numbers[:-1], numbers[1:]
    one_next, two_next = np.roll(one, -1, axis=1), np.roll(two, -1, axis=1)
    pairs = [np.stack([one, two_next, one_next], -1), np.stack([one, two, two_next], -1)]
    return np.asarray(np.concatenate(pairs).reshape(-1, 3), np.int32)


def _joined(parts: list[Worn]) -> Worn:
    starts = np.cumsum([0] + [len(part.vertices) for part in parts[:-1]])
    return Worn(
        vertices=np.concatenate([part.vertices for part in parts]),
        faces=np.concatenate(
            [part.faces + start for part, start in zip(parts, starts, strict=True)]
        ).astype(np.int32),
        bones=np.concatenate([part.bones for part in parts]),
        shade=np.concatenate([part.shade for part in parts]),
    )
