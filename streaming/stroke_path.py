"""The path of one hand's index finger, in the stabilised view and in metres.

Positions are in heights of the stabilised view (``x`` times the aspect, ``y``); lengths between
them become metres through the size of the hand in the picture, so that a far small hand and a near
large one go through the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streaming import geometry
from streaming.events import CameraMotion, Hand, Point, Seconds

_FINGER = (5, 6, 7, 8)
"""Joints of the index finger, knuckle to tip: their mean is less noisy than the tip."""
_PALM_METRES = (((0, 9), 0.090), ((5, 17), 0.065), ((0, 5), 0.092))
"""Lengths in an adult hand, for detectors that give no points in space."""
_PALM = (0, 5, 9, 13, 17)
_WRIST_IN = (0.25, 0.05)
"""Palm lengths from the border at which a wrist is surely in the picture, and probably not."""

_FORESHORTENED = (0.06, 0.045)
"""Metres from knuckle to tip, in the picture, at which a finger's pose is read, and is not."""
_SMALL = (0.07, 0.045)
"""Heights from knuckle to tip at which it is read, and is not."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """One sight of a hand.

    Attributes:
        time: The frame's.
        place: The index finger's middle in the stabilised view, heights, shape ``(2,)``.
        tip: The fingertip there.
        knuckle: The finger's base joint there.
        metre: Heights to a metre at the hand.
        pose: How much the finger points, 0...1.
        unread: How likely it does though ``pose`` does not say so: it is short in the picture.
        cut: Share of the palm beyond the picture's border.
        entering: How likely the wrist is beyond it, as that of a hand that only comes in, 0...1.
        motion: Where the background was.
        hand: As it was seen.
        aspect: Of the frame.
    """

    time: Seconds
    place: NDArray[np.float64]
    tip: NDArray[np.float64]
    knuckle: NDArray[np.float64]
    metre: float
    pose: float
    unread: float
    cut: float
    entering: float
    motion: CameraMotion
    hand: Hand
    aspect: float


def sample(time: Seconds, hand: Hand, motion: CameraMotion, aspect: float) -> Sample | None:
    """A sight of ``hand``, or None when its points lie beyond the stabilised view's horizon."""
    joints = [hand.landmarks[joint] for joint in _FINGER]
    matrix = geometry.to_matrix(motion.to_stable)
    whole = np.column_stack([np.asarray(joints, np.float64), np.ones(len(joints))]) @ matrix.T
    if (whole[:, 2] < 0.05).any() or not np.isfinite(whole).all():
        return None
    stable = whole[:, :2] / whole[:, 2:] * (aspect, 1.0)
    cut, entering = _out(hand, aspect)
    metre = heights_to_a_metre(hand, aspect)
    return Sample(
        time=time,
        place=stable.mean(axis=0),
        tip=stable[-1],
        knuckle=stable[0],
        metre=metre,
        pose=pose(hand, aspect),
        unread=_unread(hand, aspect, metre),
        cut=cut,
        entering=entering,
        motion=motion,
        hand=hand,
        aspect=aspect,
    )


def heights_to_a_metre(hand: Hand, aspect: float) -> float:
    """How many frame heights a metre at the hand measures."""
    flat = np.asarray(hand.landmarks, np.float64) * (aspect, 1.0)
    if len(hand.world) == len(hand.landmarks):
        space = np.asarray(hand.world, np.float64)[:, :2]
        spread = float(((space - space.mean(axis=0)) ** 2).sum())
        if spread > 1e-9:
            return math.sqrt(float(((flat - flat.mean(axis=0)) ** 2).sum()) / spread)
    return max(
        1e-6,
        *(float(np.linalg.norm(flat[a] - flat[b])) / metres for (a, b), metres in _PALM_METRES),
    )


def pose(hand: Hand, aspect: float) -> float:
    """How much the hand points, 0...1: by its pose, or by the index finger leading the others.

    Seen from behind, curled fingers hide under the hand and are guessed stretched; then the index
    finger still lies ahead of the others, and straight: a straight finger is so in any picture.
    """
    flat = np.asarray(hand.landmarks, np.float64) * (aspect, 1.0)
    along = flat[8] - flat[5]
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return hand.pointing
    others = max(float((flat[tip] - flat[5]) @ along) for tip in (12, 16, 20)) / length**2
    bent = float(np.linalg.norm(np.diff(flat[[5, 6, 7, 8]], axis=0), axis=1).sum()) / length
    lead = ramp(1 - others, 0.08, 0.48) * ramp(bent, 1.06, 1.02)
    return max(hand.pointing, 0.7 * lead)


def _unread(hand: Hand, aspect: float, metre: float) -> float:
    """How little the pose of a finger so short in the picture can be read, 0...1."""
    flat = np.asarray([hand.landmarks[5], hand.landmarks[8]], np.float64) * (aspect, 1.0)
    length = float(np.linalg.norm(flat[1] - flat[0]))
    return max(ramp(length / metre, *_FORESHORTENED), ramp(length, *_SMALL))


def ramp(value: float, zero: float, one: float) -> float:
    """0 at ``zero``, 1 at ``one`` and beyond, straight in between."""
    return min(1.0, max(0.0, (value - zero) / (one - zero)))


def _out(hand: Hand, aspect: float) -> tuple[float, float]:
    """Share of the palm beyond the picture's border, and how likely the wrist is, 0...1.

    A reader of hands squeezes what it cannot see into the picture, so a wrist that lies on the
    border counts as beyond it, and one near it in part.
    """
    flat = np.asarray([hand.landmarks[joint] for joint in _PALM], np.float64)
    inside = (np.minimum(flat, 1 - flat) * (aspect, 1.0)).min(axis=1)
    palm = float(np.linalg.norm((flat[2] - flat[0]) * (aspect, 1.0)))
    return float((inside < 0).mean()), ramp(float(inside[0]) / max(palm, 1e-6), *_WRIST_IN)


def middle(samples: Sequence[Sample]) -> NDArray[np.float64]:
    """Where the finger mostly was, shape ``(2,)``."""
    return np.median([one.place for one in samples], axis=0)


def typical_metre(samples: Sequence[Sample]) -> float:
    """Heights to a metre, over several sights."""
    return float(np.median([one.metre for one in samples]))


def speeds(samples: Sequence[Sample], *, span: Seconds) -> list[float]:
    """Metres a second at each sample, over at least ``span`` around it where the path allows."""
    metre = typical_metre(samples)
    found = []
    for index, one in enumerate(samples):
        before, after = index, index
        while before > 0 and one.time - samples[before].time < span / 2:
            before -= 1
        while after + 1 < len(samples) and samples[after].time - one.time < span / 2:
            after += 1
        between = samples[after].time - samples[before].time
        moved = float(np.linalg.norm(samples[after].place - samples[before].place))
        found.append(moved / metre / between if between > 0 else 0.0)
    return found


def in_frame(place: NDArray[np.float64], at: Sample) -> Point:
    """A place of the stabilised view as a point of the frame of ``at``."""
    back = geometry.invert(at.motion.to_stable)
    return geometry.apply(back, (float(place[0]) / at.aspect, float(place[1])))
