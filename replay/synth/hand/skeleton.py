"""Bones of a hand and an arm, and where their joints are in a pose.

All in the hand's own coordinates, as a right hand: origin at the middle of the wrist, ``y`` along
the fingers, ``z`` out of the back of the hand, ``x`` towards the little finger. A left hand is the
mirror image (``x`` negated).

Bone lengths are those of an average adult hand (Buryanov and Kotiuk, 2010); the metacarpals' heads
stand where its palm is 85 mm wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from replay.synth.hand.fingers import Finger, Fingers, Thumb
from replay.synth.hand.turning import about_x, about_z, frame
from replay.synth.world import Floats

DIGITS: Final = ("thumb", "index", "middle", "ring", "little")

THUMB_BASE: Final = (-0.0215, 0.0205, -0.0085)
KNUCKLES: Final = (
    (-0.0275, 0.0885, 0.0020),
    (-0.0055, 0.0915, 0.0050),
    (0.0145, 0.0850, 0.0030),
    (0.0315, 0.0755, -0.0025),
)
LENGTHS: Final = (
    (0.0462, 0.0316, 0.0257),
    (0.0398, 0.0224, 0.0195),
    (0.0446, 0.0263, 0.0214),
    (0.0414, 0.0257, 0.0212),
    (0.0327, 0.0181, 0.0197),
)
"""Of the three bones of each digit, metres; the last one with its flesh."""

SPLAY: Final = (4.0, 0.0, -4.0, -9.0)
"""Degrees by which a finger at abduction 0 leaves ``y``, towards the thumb."""

ROLL: Final = (-3.0, 0.0, 5.0, 10.0)
"""Degrees by which a finger is turned about itself, so that bent fingers lean together."""

_THUMB_ALONG: Final = (-0.60, 0.72, -0.34)
_THUMB_BACK: Final = (-0.62, -0.10, 0.78)


@dataclass(frozen=True, slots=True, kw_only=True)
class Digit:
    """One digit at rest.

    Attributes:
        base: Its first joint, shape ``(3,)``.
        turn: Axes of its first bone at zero angles, shape ``(3, 3)``: ``y`` along, ``z`` its back.
        lengths: Of its three bones, metres.
    """

    base: Floats
    turn: Floats
    lengths: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """Bones of one person's arm.

    Attributes:
        digits: Thumb to little finger.
        forearm: Elbow to wrist, metres.
        upper_arm: Shoulder to elbow, metres.
    """

    digits: tuple[Digit, ...]
    forearm: float
    upper_arm: float

    @classmethod
    def of_size(
        cls, size: float, breadth: float, lengths: Sequence[Sequence[float]] | None = None
    ) -> Skeleton:
        """A hand ``size`` times as long and ``breadth`` times as broad as an average one.

        Args:
            size: Factor on all lengths.
            breadth: Further factor on widths.
            lengths: Further factors on each bone, shape ``(5, 3)``; None: ones.
        """
        scale = np.array([size * breadth, size, size])
        factors = np.ones((5, 3)) if lengths is None else np.asarray(lengths, np.float64)
        bones = np.asarray(LENGTHS) * factors * size
        turns = [frame(np.array(_THUMB_ALONG), np.array(_THUMB_BACK))]
        turns += [about_z(splay) @ _about_y(roll) for splay, roll in zip(SPLAY, ROLL, strict=True)]
        digits = tuple(
            Digit(
                base=np.array(base) * scale,
                turn=turn,
                lengths=(float(row[0]), float(row[1]), float(row[2])),
            )
            for base, turn, row in zip((THUMB_BASE, *KNUCKLES), turns, bones, strict=True)
        )
        return cls(digits=digits, forearm=0.255 * size, upper_arm=0.305 * size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joints:
    """Where the bones of one digit are.

    Attributes:
        points: Its three joints and its tip, shape ``(4, 3)``.
        turns: Axes of its three bones, shape ``(3, 3, 3)``.
        halves: Axes half-way between each bone and the one before it, shape ``(3, 3, 3)``.
    """

    points: Floats
    turns: Floats
    halves: Floats


def digit_joints(digit: Digit, name: str, pose: Thumb | Finger) -> Joints:
    """The joints of a digit in a pose."""
    full, half = _bends(name, pose, 1.0), _bends(name, pose, 0.5)
    points, turns, halves = [digit.base], [], []
    turn = digit.turn
    for length, bend, part in zip(digit.lengths, full, half, strict=True):
        halves.append(turn @ part)
        turn = turn @ bend
        turns.append(turn)
        points.append(points[-1] + length * turn[:, 1])
    return Joints(points=np.array(points), turns=np.array(turns), halves=np.array(halves))


def hand_joints(skeleton: Skeleton, fingers: Fingers) -> tuple[Joints, ...]:
    """The joints of all digits, thumb to little finger."""
    poses: tuple[Thumb | Finger, ...] = (fingers.thumb, *fingers.four)
    return tuple(
        digit_joints(digit, name, pose)
        for digit, name, pose in zip(skeleton.digits, DIGITS, poses, strict=True)
    )


def landmarks(skeleton: Skeleton, fingers: Fingers) -> Floats:
    """The 21 points in MediaPipe's order, shape ``(21, 3)``."""
    points = [np.zeros((1, 3)), *(joints.points for joints in hand_joints(skeleton, fingers))]
    return np.concatenate(points)


def _bends(name: str, pose: Thumb | Finger, share: float) -> tuple[Floats, Floats, Floats]:
    """The rotations at a digit's three joints, ``share`` of the way."""
    if isinstance(pose, Thumb):
        # A thumb that comes across the palm turns its pad towards the fingers.
        first = (
            about_x(-share * pose.flexion)
            @ about_z(share * pose.abduction)
            @ _about_y(-share * 0.5 * pose.flexion)
        )
        return first, about_x(-share * pose.mcp), about_x(-share * pose.ip)
    sign = 1.0 if name == "index" else -1.0
    first = about_z(share * sign * pose.abduction) @ about_x(-share * pose.mcp)
    return first, about_x(-share * pose.pip), about_x(-share * pose.dip)


def _about_y(degrees: float) -> Floats:
    """Turns ``z`` towards ``x``."""
    return about_z(90.0) @ about_x(degrees) @ about_z(-90.0)
