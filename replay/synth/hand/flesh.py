"""The skin of a hand and an arm around their bones, as one mesh in a pose at rest.

Coordinates as in :mod:`.skeleton`; the arm is stretched out along ``-y``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from replay.synth.hand.fingers import Finger, Fingers, Thumb
from replay.synth.hand.skeleton import Joints, Skeleton, hand_joints
from replay.synth.hand.surface import Capsule, joined_fields, smooth_union, surface_of, table
from replay.synth.world import Floats

AT_REST: Final = Fingers(
    thumb=Thumb(flexion=6.0, abduction=2.0, mcp=8.0, ip=8.0),
    index=Finger.bent(6.0, 8.0, abduction=7.0),
    middle=Finger.bent(6.0, 8.0),
    ring=Finger.bent(6.0, 8.0, abduction=6.0),
    little=Finger.bent(6.0, 8.0, abduction=9.0),
)
"""The pose that the mesh is made in: no digit touches another."""

PALM: Final = 5
"""Number of the palm among a hand's parts; the digits come first, the thumb 0."""

STEP: Final = 0.0033
CUT: Final = -0.045
"""Where the modelled hand ends, and rings of the arm go on; ``y``, metres."""

_RADII: Final = (
    (0.0128, 0.0112, 0.0100, 0.0076),
    (0.0108, 0.0090, 0.0079, 0.0063),
    (0.0110, 0.0092, 0.0081, 0.0065),
    (0.0104, 0.0087, 0.0077, 0.0061),
    (0.0092, 0.0076, 0.0067, 0.0054),
)
"""Half the width of each digit at its joints and its tip."""

_ARM_PROFILE: Final = (
    # y as parts of the forearm (below 1) and of the upper arm, half width, half thickness
    (0.18, 0.0285, 0.0215),
    (0.30, 0.0315, 0.0255),
    (0.45, 0.0365, 0.0320),
    (0.62, 0.0420, 0.0390),
    (0.80, 0.0440, 0.0410),
    (1.00, 0.0415, 0.0400),
    (1.30, 0.0430, 0.0450),
    (1.60, 0.0465, 0.0510),
    (2.00, 0.0520, 0.0570),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """How a body is built, beside its bones.

    Attributes:
        thickness: Factor on the width of fingers.
        arm: Factor on the width of the arm.
        size: Factor on everything, as in the skeleton.
        breadth: Further factor on the palm's width, as in the skeleton.
    """

    thickness: float = 1.0
    arm: float = 1.0
    size: float = 1.0
    breadth: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Flesh:
    """Fields of a hand's parts in the pose at rest.

    Attributes:
        capsules, ends: Of the five digits and the palm, as :func:`.surface.table` makes them.
    """

    capsules: Floats
    ends: NDArray[np.int64]

    def parts(self, points: Floats) -> Floats:
        """The fields of the five digits, thumb first, and of the palm, shape ``(6, n)``."""
        return joined_fields(points, self.capsules, self.ends, _SEAMS)

    def all(self, points: Floats) -> Floats:
        """The field of all, digits apart from one another, each grown into the palm."""
        thumb, *fingers, palm = self.parts(points)
        whole = smooth_union(palm, np.min(fingers, axis=0), 0.007)
        return smooth_union(whole, thumb, 0.012)


_SEAMS: Final = np.array([0.004] * 5 + [0.010])


def flesh_of(skeleton: Skeleton, build: Build) -> Flesh:
    """The fields of a hand."""
    joints = hand_joints(skeleton, AT_REST)
    digits = [
        _digit(bones, np.array(radii) * build.size * build.thickness)
        for bones, radii in zip(joints, _RADII, strict=True)
    ]
    capsules, ends = table([*digits, _palm(joints, build)])
    return Flesh(capsules=capsules, ends=ends)


def _digit(joints: Joints, radii: Floats) -> list[Capsule]:
    """Three bones, their pads, and a bulge at the middle joint."""
    shapes = []
    for bone in range(3):
        start, end, turn = joints.points[bone], joints.points[bone + 1], joints.turns[bone]
        along, palmar = turn[:, 1], -turn[:, 2]
        if bone == 2:
            end = end - (radii[3] - 0.0036) * along
        shapes.append(
            Capsule(
                start=start,
                end=end,
                radii=(float(radii[bone]), float(radii[bone + 1])),
                axes=turn,
                flatness=1.12 if bone == 2 else 1.04,
            )
        )
        middle = start + 0.48 * (end - start) + 0.16 * radii[bone] * palmar
        reach = 0.22 * (end - start)
        fat = 0.93 * (radii[bone] + radii[bone + 1]) / 2
        shapes.append(
            Capsule(start=middle - reach, end=middle + reach, radii=(fat, fat), axes=turn)
        )
    knee, turn = joints.points[1], joints.turns[1]
    shapes.append(_ball(knee + 0.10 * radii[1] * turn[:, 2], 0.99 * radii[1], turn))
    return shapes


def _palm(joints: Sequence[Joints], build: Build) -> list[Capsule]:
    """Metacarpals, thenar and hypothenar mounds, the webs, and the wrist."""
    size, wide = build.size, build.size * build.breadth

    def at(x: float, y: float, z: float) -> Floats:
        return np.array([x * wide, y * size, z * size])

    def stick(a: Floats, b: Floats, ra: float, rb: float, flat: float = 1.0) -> Capsule:
        radii = (ra * size, rb * size)
        return Capsule(start=a, end=b, radii=radii, axes=np.eye(3), flatness=flat)

    heads = [bones.points[0] for bones in joints]
    roots = [at(-0.013, 0.014, 0.001), at(-0.004, 0.013, 0.002), at(0.006, 0.012, 0.001)]
    roots.append(at(0.015, 0.012, -0.001))
    shapes = []
    for head, root, radius in zip(heads[1:], roots, (0.0120, 0.0122, 0.0117, 0.0108), strict=True):
        sunk = head - at(0.0, 0.004, 0.0045)
        shapes.append(stick(root - at(0.0, 0.0, 0.003), sunk, 0.0150, radius))
        shapes.append(_ball(head + at(0.0, -0.001, 0.0008), 0.0105 * size, np.eye(3)))
    shapes.append(stick(at(-0.012, 0.035, -0.006), at(0.016, 0.033, -0.007), 0.0145, 0.0145))
    thumb = joints[0].points
    thenar_from, thenar_to = thumb[0] + at(0.004, 0.0, -0.001), thumb[1] + at(0.003, 0.0, -0.002)
    shapes.append(stick(thenar_from, thenar_to, 0.0150, 0.0118))
    shapes.append(stick(at(-0.010, 0.030, -0.013), at(-0.013, 0.052, -0.011), 0.0120, 0.0090))
    shapes.append(stick(at(0.019, 0.018, -0.008), at(0.0285, 0.060, -0.007), 0.0135, 0.0105))
    web = 0.55 * thumb[0] + 0.45 * thumb[1]
    shapes.append(stick(web, at(-0.020, 0.058, -0.004), 0.0075, 0.0075))
    shapes.append(stick(at(-0.021, 0.074, -0.006), at(0.028, 0.064, -0.008), 0.0095, 0.0085))
    shapes.append(stick(at(0.0, -0.30, 0.0), at(0.0, 0.006, -0.001), 0.0280, 0.0272, 1.36))
    return shapes


def _ball(centre: Floats, radius: float, axes: Floats) -> Capsule:
    return Capsule(start=centre, end=centre, radii=(float(radius), float(radius)), axes=axes)


def skin_mesh(flesh: Flesh, skeleton: Skeleton, build: Build) -> tuple[Floats, NDArray[np.int32]]:
    """Vertices ``(n, 3)`` and faces ``(m, 3)`` of hand and arm at rest."""
    points = np.concatenate([bones.points for bones in hand_joints(skeleton, AT_REST)])
    margin = 0.022 * build.size
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    low[1] = CUT * build.size
    vertices, faces = surface_of(flesh.all, low, high, STEP * build.size)
    rim = _rim(vertices, faces)
    return _with_arm(vertices, faces, rim, arm_rings(skeleton, build))


def _rim(vertices: Floats, faces: NDArray[np.int32]) -> NDArray[np.int64]:
    """The open edge of a mesh as a loop of vertices, counter-clockwise seen from ``-y``."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).tolist()
    known = {(a, b) for a, b in edges}
    following = {b: a for a, b in edges if (b, a) not in known}
    start = min(following)
    loop = [start]
    while (after := following[loop[-1]]) != start:
        loop.append(after)
    if len(loop) != len(following):
        raise RuntimeError(f"the hand's mesh has {len(following) - len(loop)} stray open edges")
    return np.array(loop)


def arm_rings(skeleton: Skeleton, build: Build) -> Floats:
    """Rows ``(y, half width, half thickness)`` of the bare arm from the cut to the shoulder."""
    rows = np.array(_ARM_PROFILE)
    parts, widths = rows[:, 0], rows[:, 1:] * build.size * build.arm
    wrist = build.size * np.array([0.028, 0.0205])
    narrow = np.clip((parts - 0.18) / 0.2, 0.0, 1.0)[:, None]
    widths = narrow * widths + (1 - narrow) * (wrist + 0.1 * (widths - wrist))
    fine = np.linspace(parts[0], parts[-1], 40)
    smooth = PchipInterpolator(parts, widths)(fine)
    forearm = np.minimum(fine, 1.0) * skeleton.forearm
    upper = np.maximum(fine - 1.0, 0.0) * skeleton.upper_arm
    return np.column_stack([-(forearm + upper), smooth])


def _with_arm(
    vertices: Floats, faces: NDArray[np.int32], rim: NDArray[np.int64], rows: Floats
) -> tuple[Floats, NDArray[np.int32]]:
    """The hand's mesh with the arm's rings grown out of its rim."""
    edge = vertices[rim]
    angles = np.arctan2(edge[:, 2], edge[:, 0])
    cut = edge[:, 1].mean()
    steps = np.linspace(cut, rows[-1, 0], 22)[1:]
    known = np.concatenate([[[cut, np.nan, np.nan]], rows])
    round_edge = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    known[0, 1:] = np.abs(edge[:, [0, 2]]).max(axis=0)
    rings = [edge]
    for y in steps:
        half = [np.interp(-y, -known[:, 0], known[:, column]) for column in (1, 2)]
        across = round_edge * np.array(half)
        rings.append(np.column_stack([across[:, 0], np.full(len(rim), y), across[:, 1]]))
    count, start = len(rim), len(vertices)
    numbers = np.concatenate([rim, start + np.arange(count * (len(rings) - 1))])
    numbers = numbers.reshape(len(rings), count)
    sheets = [_band(numbers[row], numbers[row + 1]) for row in range(len(rings) - 1)]
    tip = start + count * (len(rings) - 1)
    last = numbers[-1]
    cap = np.stack([last, np.roll(last, -1), np.full(count, tip)], axis=1)
    end = np.array([[0.0, rows[-1, 0] - 0.02, 0.0]])
    grown = np.concatenate([vertices, *rings[1:], end])
    return grown, np.concatenate([faces, *sheets, cap]).astype(np.int32)


def _band(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """Triangles between two rings of the same length."""
    one_next, two_next = np.roll(one, -1), np.roll(two, -1)
    return np.concatenate(
        [
            np.stack([one, one_next, two_next], axis=1),
            np.stack([one, two_next, two], axis=1),
        ]
    )
