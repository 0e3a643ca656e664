"""From where and along which line an arm points at a target.

The line is near the one from the shoulder to the target, as a relaxed arm would have it, but such
that neither hand nor forearm stands in an object or hides the target from the camera.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.synth.motion.clearance import FOREARM, Clearance
from replay.synth.motion.curves import LEVEL, about, any_normal, unit, xyz
from replay.synth.motion.placement import ArmPlacement, PointingArm, Target
from replay.synth.motion.settings import ArmSettings
from replay.synth.world import Floats, Pose

_HAND = np.arange(0.0, 0.2, 0.02)
"""Metres back from the fingertip: where the hand is."""
_LOWEST_TIP = 0.014
_AZIMUTHS = np.radians(np.linspace(-50, 50, 9))
_FALLS = np.radians(np.array([14, 22, 30, 38, 47, 56, 66, 76]))
_TRIED = 4
"""Candidates that are judged with the whole arm."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aim:
    """How one stroke points.

    Attributes:
        tip: The index fingertip at the apex, shape ``(3,)``.
        direction: Of the index finger, unit, shape ``(3,)``.
        distance: From the tip to the target's point, metres.
        error: Between the direction and the target's, degrees.
        shoulder: Where the shoulder is then, shape ``(3,)``.
        pose: The arm.
    """

    tip: Floats
    direction: Floats
    distance: float
    error: float
    shoulder: Floats
    pose: Any


def draw_distance(rng: np.random.Generator, knobs: ArmSettings) -> float:
    """Metres from fingertip to target."""
    low, high = knobs.far if rng.random() < knobs.far_share else knobs.near
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def lean_towards(placement: ArmPlacement, target: Floats, distance: float) -> tuple[Floats, float]:
    """Where the shoulder goes to reach ``target``, and the distance from which it can."""
    way = target - placement.shoulder
    missing = float(np.linalg.norm(way)) - distance - placement.reach
    level = unit(np.array([way[0], way[1], 0.0]))
    lean = float(np.clip(missing + 0.02, 0.0, placement.lean))
    shoulder = placement.shoulder + lean * level * LEVEL
    still = float(np.linalg.norm(target - shoulder)) - placement.reach
    return shoulder, max(distance, still)


def take_aim(
    rng: np.random.Generator,
    target: Target,
    *,
    arm: PointingArm,
    placement: ArmPlacement,
    knobs: ArmSettings,
    clearance: Clearance,
    eye: Floats,
    roll: float,
    fingers: Any,
) -> Aim:
    """Choose tip and direction for one stroke. ``eye`` is where the camera is, about."""
    shoulder, distance = lean_towards(placement, target.point, draw_distance(rng, knobs))
    lines = _candidates(rng, target.point, shoulder)
    costs = np.array(
        [_cost(line, distance, target, shoulder, clearance, eye) for line in lines]
    ) + rng.uniform(0.0, 0.25, len(lines))
    least = math.inf
    for index in np.argsort(costs, kind="stable")[:_TRIED]:
        if costs[index] > least:
            break
        tried_tip = _tip(target.point, lines[index], distance)
        aimed = unit(target.point - tried_tip)
        tried = arm.point(tried_tip, aimed, shoulder, roll, fingers)
        cost = float(costs[index]) + _cost_of(tried, arm, clearance, eye, target.point)
        if cost < least:
            tip, direction, pose, least = tried_tip, aimed, tried, cost
    distance = float(np.linalg.norm(target.point - tip))
    error = _draw_error(rng, knobs, distance, target.radius)
    miss = about(any_normal(rng, direction), error)
    pose = _turned_about(pose, tip, miss)
    return Aim(
        tip=tip,
        direction=miss @ direction,
        distance=distance,
        error=math.degrees(error),
        shoulder=shoulder,
        pose=pose,
    )


def _turned_about(pose: Any, pivot: Floats, turn: Floats) -> Any:
    """The whole arm turned a little; the shoulder gives way."""
    wrist = Pose(
        rotation=turn @ pose.wrist.rotation,
        position=pivot + turn @ (pose.wrist.position - pivot),
    )
    elbow = pivot + turn @ (pose.elbow - pivot)
    return dataclasses.replace(pose, wrist=wrist, elbow=elbow)


def _draw_error(
    rng: np.random.Generator, knobs: ArmSettings, distance: float, radius: float
) -> float:
    """Radians; the ray still passes within 0.6 of the target's radius."""
    most = math.atan(0.6 * radius / max(distance, 1e-3))
    wanted = math.radians(knobs.error) * math.hypot(*rng.normal(size=2)) / math.sqrt(2.0)
    return min(most, abs(wanted))


def _tip(target: Floats, line: Floats, distance: float) -> Floats:
    tip = target - distance * line
    return np.array([tip[0], tip[1], max(_LOWEST_TIP, tip[2])])


def _candidates(rng: np.random.Generator, target: Floats, shoulder: Floats) -> list[Floats]:
    """Lines to the target, round the one from the shoulder."""
    way = target - shoulder
    natural = math.atan2(way[1], way[0])
    turn = rng.uniform(-0.06, 0.06)
    return [
        np.array(
            [
                math.cos(fall) * math.cos(natural + turn + azimuth),
                math.cos(fall) * math.sin(natural + turn + azimuth),
                -math.sin(fall),
            ]
        )
        for azimuth in _AZIMUTHS
        for fall in _FALLS
    ]


def _cost(
    line: Floats,
    distance: float,
    target: Target,
    shoulder: Floats,
    clearance: Clearance,
    eye: Floats,
) -> float:
    """How bad a line is, by the straight hand behind the tip."""
    tip = _tip(target.point, line, distance)
    hand = tip - _HAND[:, None] * line
    wrist = hand[-1]
    natural = unit(target.point + xyz(0.0, 0.0, -0.06) - shoulder)
    bend = math.acos(float(np.clip(line @ natural, -1.0, 1.0)))
    reach = float(np.linalg.norm(wrist - shoulder))
    cost = (bend / math.radians(35)) ** 2 + 60.0 * max(0.0, reach - 0.52) + _near(reach)
    cost += 60.0 * clearance.lack(hand[:3], 0.007) + 40.0 * clearance.lack(hand[3:], 0.035)
    cost += 4.0 * clearance.crosses(tip, target.point, keep=target.radius)
    return cost + _hides(hand, 0.035, eye, target.point)


def _near(reach: float) -> float:
    """A hand right before its own shoulder is awkward."""
    return 20.0 * max(0.0, 0.22 - reach)


def _cost_of(
    pose: Any, arm: PointingArm, clearance: Clearance, eye: Floats, target: Floats
) -> float:
    """How bad a pose is, by the whole arm."""
    marks = arm.landmarks(pose)
    bones = forearm_points(pose)
    whole = np.concatenate([bones, upper_arm_points(pose)])
    cost = 60.0 * clearance.lack(marks) + 20.0 * clearance.lack(bones, FOREARM, table=0.02)
    return cost + _hides(whole, 0.05, eye, target)


def _hides(points: Floats, radius: float, eye: Floats, target: Floats) -> float:
    """How much ``points``, which are that thick, stand between the eye and the target."""
    way = unit(target - eye)
    along = (points - eye) @ way
    before = (along > 0) & (along < float(np.linalg.norm(target - eye)))
    off = np.linalg.norm(points - eye - along[:, None] * way, axis=1)
    covered = np.clip(1.0 - off / radius, 0.0, 1.0) * before
    return 3.0 * float(covered.max())


def upper_arm_points(pose: Any) -> Floats:
    """Points along the upper arm, elbow first, shape ``(4, 3)``."""
    if pose.shoulder is None:
        return np.asarray(pose.elbow[None, :].repeat(4, axis=0))
    shares = np.linspace(0.0, 0.75, 4)[:, None]
    return np.asarray(pose.elbow + shares * (pose.shoulder - pose.elbow))


def forearm_points(pose: Any) -> Floats:
    """Points along the forearm, wrist first, elbow left out, shape ``(5, 3)``."""
    shares = np.linspace(0.0, 0.8, 5)[:, None]
    return np.asarray(pose.wrist.position + shares * (pose.elbow - pose.wrist.position))
