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
from streaming.hand_pose import straightness
from streaming.stroke_settings import ReadingSettings

_FINGER = (5, 6, 7, 8)
"""Joints of the index finger, knuckle to tip: their mean is less noisy than the tip."""
_LITTLE = (17, 18, 19, 20)
_FOUR = ((5, 6, 7, 8), (9, 10, 11, 12), (13, 14, 15, 16), (17, 18, 19, 20))
_MISREAD = 0.15
"""A hand that points less than this may be read with its fingers in the wrong order."""
_PALM_METRES = (((0, 9), 0.090), ((5, 17), 0.065), ((0, 5), 0.092))
"""Lengths in an adult hand, for detectors that give no points in space."""
_PALM = (0, 5, 9, 13, 17)
_WRIST_IN = (0.25, 0.05)
"""Palm lengths from the border at which a wrist is surely in the picture, and probably not."""
_READING = ReadingSettings()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """One sight of a hand.

    Attributes:
        time: The frame's.
        place: The index finger's middle in the stabilised view, heights, shape ``(2,)``.
        tip: The tip of the finger that points there.
        knuckle: That finger's base joint there.
        finger: Number of that joint.
        metre: Heights to a metre at the hand.
        size: Logarithm of the palm's size in the picture, heights.
        pose: How much the finger points, 0...1.
        unread: How likely it does though ``pose`` does not say so: it is short in the picture.
        curled: How likely all fingers are read as curled, 0...1.
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
    finger: int
    metre: float
    size: float
    pose: float
    unread: float
    curled: float
    cut: float
    entering: float
    motion: CameraMotion
    hand: Hand
    aspect: float


def sample(
    time: Seconds,
    hand: Hand,
    motion: CameraMotion,
    aspect: float,
    reading: ReadingSettings = _READING,
) -> Sample | None:
    """A sight of ``hand``, or None when its points lie beyond the stabilised view's horizon."""
    points, finger = pointer(hand, aspect)
    joints = [hand.landmarks[joint] for joint in (*_FINGER, finger[0], finger[-1])]
    matrix = geometry.to_matrix(motion.to_stable)
    whole = np.column_stack([np.asarray(joints, np.float64), np.ones(len(joints))]) @ matrix.T
    if (whole[:, 2] < 0.05).any() or not np.isfinite(whole).all():
        return None
    stable = whole[:, :2] / whole[:, 2:] * (aspect, 1.0)
    cut, entering = _out(hand, aspect)
    metre = heights_to_a_metre(hand, aspect)
    return Sample(
        time=time,
        place=stable[: len(_FINGER)].mean(axis=0),
        tip=stable[-1],
        knuckle=stable[-2],
        finger=finger[0],
        metre=metre,
        size=_size(hand, aspect),
        pose=points,
        unread=_unread(hand, aspect, metre, reading),
        curled=_curled(hand, aspect, reading),
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


def pointer(hand: Hand, aspect: float) -> tuple[float, tuple[int, ...]]:
    """How much the hand points, 0...1, and the joints of the finger that does, knuckle to tip.

    A reader that takes a hand for the other one counts its fingers from the wrong side: what it
    calls the little finger is then the index finger.
    """
    own = pose(hand, aspect)
    if own >= _MISREAD:
        return own, _FINGER
    other = 0.7 * _lead(hand, aspect, _LITTLE, straight=(1.12, 1.04))
    return (other, _LITTLE) if other > max(own, 0.1) else (own, _FINGER)


def pose(hand: Hand, aspect: float) -> float:
    """How much the hand points, 0...1: by its pose, or by the index finger leading the others.

    Seen from behind, curled fingers hide under the hand and are guessed stretched; then the index
    finger still lies ahead of the others, and straight: a straight finger is so in any picture.
    """
    return max(hand.pointing, 0.7 * _lead(hand, aspect, _FINGER, straight=(1.06, 1.02)))


def _lead(
    hand: Hand, aspect: float, finger: tuple[int, ...], *, straight: tuple[float, float]
) -> float:
    """How far a finger lies ahead of the others in the picture, if it is straight there, 0...1.

    ``straight``: its length along its joints, in lengths from knuckle to tip, at which it is bent,
    and is straight.
    """
    flat = np.asarray(hand.landmarks, np.float64) * (aspect, 1.0)
    knuckle, tip = finger[0], finger[-1]
    along = flat[tip] - flat[knuckle]
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return 0.0
    others = [other for other in (8, 12, 16, 20) if other != tip]
    reach = max(float((flat[other] - flat[knuckle]) @ along) for other in others) / length**2
    bent = float(np.linalg.norm(np.diff(flat[list(finger)], axis=0), axis=1).sum()) / length
    return ramp(1 - reach, 0.08, 0.48) * ramp(bent, *straight)


def _unread(hand: Hand, aspect: float, metre: float, reading: ReadingSettings) -> float:
    """How little the pose of a finger so short in the picture can be read, 0...1."""
    flat = np.asarray([hand.landmarks[5], hand.landmarks[8]], np.float64) * (aspect, 1.0)
    length = float(np.linalg.norm(flat[1] - flat[0]))
    return max(ramp(length / metre, *reading.foreshortened), ramp(length, *reading.small))


def _curled(hand: Hand, aspect: float, reading: ReadingSettings) -> float:
    """How likely all four fingers are read as curled, 0...1."""
    if len(hand.world) == len(hand.landmarks):
        points = np.asarray(hand.world, np.float64)
    else:
        flat = np.asarray(hand.landmarks, np.float64) * (aspect, 1.0)
        points = np.column_stack([flat, np.zeros(len(flat))])
    return ramp(max(straightness(points, finger) for finger in _FOUR), *reading.curled)


def _size(hand: Hand, aspect: float) -> float:
    """Logarithm of the palm's size in the picture, heights."""
    flat = np.asarray([hand.landmarks[joint] for joint in _PALM], np.float64) * (aspect, 1.0)
    return 0.5 * math.log(max(1e-8, float(((flat - flat.mean(axis=0)) ** 2).sum())))


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
