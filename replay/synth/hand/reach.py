"""Inverse kinematics: a hand where it has to be, on an arm that can hold it there.

World coordinates as in :mod:`replay.synth`. The hand's pose is given up to its turn about one
direction; that turn, the wrist's two angles and with them the elbow are searched for, so that
joints stay well within what they can do, the upper arm about reaches the shoulder, and nothing goes
through the table. A shoulder too far away comes nearer: people lean.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np

from replay.synth.hand.turning import UP, across, unit
from replay.synth.world import Floats

FLEXION: Final = (-70.0, 70.0)
"""Of the wrist, degrees; positive towards the palm."""
DEVIATION: Final = (-20.0, 30.0)
"""Of the wrist, degrees; positive towards the little finger."""
TURN: Final = (-75.0, 75.0)
"""How far the hand is turned from the roll that was asked for, degrees."""

ROUNDS: Final = 18
"""Of the search around the best so far; each looks at 0.6 times the distance of the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the arm has to do.

    Attributes:
        pivot: A point that stays where it is, world, shape ``(3,)``.
        axis: Unit vector about which the hand may turn, world.
        turn: Axes of the hand (``x`` as for a right one) before it turns, shape ``(3, 3)``.
        lever: The wrist minus the pivot before the hand turns, world.
        shoulder: World.
        low: Points of the hand that must stay above the table, world offsets from the pivot
            before the hand turns, shape ``(n, 3)``.
        forearm, upper_arm: Lengths, metres.
        mirror: 1 for a right hand, -1 for a left one.
    """

    pivot: Floats
    axis: Floats
    turn: Floats
    lever: Floats
    shoulder: Floats
    low: Floats
    forearm: float
    upper_arm: float
    mirror: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """An arm.

    Attributes:
        turn: Degrees that the hand turned about the axis.
        wrist, elbow, shoulder: World, shape ``(3,)`` each.
    """

    turn: float
    wrist: Floats
    elbow: Floats
    shoulder: Floats


def solve(task: Task) -> Solution:
    """The most comfortable arm."""
    rows, spacing = _grid(), _spacing()
    best = rows[np.argmin(_costs(task, rows))]
    for _ in range(ROUNDS):
        spacing = 0.6 * spacing
        rows = np.clip(best + spacing * _AROUND, *_LIMITS.T)
        best = rows[np.argmin(_costs(task, rows))]
    best = best[None, :]
    wrists, elbows, _ = _places(task, best)
    elbow = elbows[0]
    return Solution(
        turn=float(best[0, 0]),
        wrist=wrists[0],
        elbow=elbow,
        shoulder=elbow + task.upper_arm * unit(task.shoulder - elbow),
    )


def forearm_direction(flexion: Floats, deviation: Floats) -> Floats:
    """Unit vectors elbow to wrist in a right hand's coordinates, shape ``(n, 3)``."""
    bend, side = np.radians(flexion), np.radians(deviation)
    return np.stack([-np.sin(side) * np.cos(bend), np.cos(side) * np.cos(bend), np.sin(bend)], 1)


def wrist_angles(forearm: Floats) -> tuple[float, float]:
    """Flexion and deviation, degrees, of a forearm's direction in a right hand's coordinates."""
    x, y, z = forearm
    return float(np.degrees(np.arcsin(np.clip(z, -1, 1)))), float(np.degrees(np.arctan2(-x, y)))


_LIMITS: Final = np.array([TURN, FLEXION, DEVIATION])
_COUNTS: Final = (11, 15, 6)
_AROUND: Final = np.array(list(itertools.product((0.0, -1.0, 1.0), repeat=3)))


@functools.cache
def _grid() -> Floats:
    """Rows of turn, flexion and deviation to start from."""
    lines = [
        np.linspace(low, high, count) for (low, high), count in zip(_LIMITS, _COUNTS, strict=True)
    ]
    return np.asarray(np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3))


def _spacing() -> Floats:
    return np.asarray(np.ptp(_LIMITS, axis=1) / (np.array(_COUNTS) - 1), np.float64)


def _places(task: Task, angles: Floats) -> tuple[Floats, Floats, Floats]:
    """Wrists, elbows and lowest points, world, for rows of turn, flexion and deviation."""
    wrists = task.pivot + _turned(task.axis, task.lever[None, :], angles[:, 0])[:, 0]
    own = forearm_direction(angles[:, 1], angles[:, 2]) * (task.mirror, 1.0, 1.0)
    flat = np.einsum("ij,nj->ni", task.turn, own)
    along = _turned_each(task.axis, flat, angles[:, 0])
    low = task.pivot[2] + _turned(task.axis, task.low, angles[:, 0])[:, :, 2].min(axis=1)
    return wrists, wrists - task.forearm * along, low


def _turned(axis: Floats, vectors: Floats, degrees: Floats) -> Floats:
    """All vectors ``(m, 3)`` turned by each angle ``(n,)``: shape ``(n, m, 3)``."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    along = (vectors @ axis)[:, None] * axis
    side = np.cross(axis, vectors)
    return np.asarray(
        along + cos[:, None, None] * (vectors - along) + sin[:, None, None] * side, np.float64
    )


def _turned_each(axis: Floats, vectors: Floats, degrees: Floats) -> Floats:
    """Each vector ``(n, 3)`` turned by its own angle ``(n,)``."""
    cos, sin = np.cos(np.radians(degrees))[:, None], np.sin(np.radians(degrees))[:, None]
    along = (vectors @ axis)[:, None] * axis
    return np.asarray(along + cos * (vectors - along) + sin * np.cross(axis, vectors), np.float64)


def _costs(task: Task, angles: Floats) -> Floats:
    """Discomfort, shape ``(n,)``; about 1 where a joint is at its comfortable end."""
    wrists, elbows, low = _places(task, angles)
    turn, bend, side = angles.T
    cost = (turn / 45.0) ** 2 + ((bend + 8.0) / 40.0) ** 2 + ((side - 4.0) / 22.0) ** 2
    upper = np.linalg.norm(elbows - task.shoulder, axis=1)
    cost += ((upper - task.upper_arm) / 0.06) ** 2
    cost += (np.maximum(elbows[:, 2] - task.shoulder[2] + 0.06, 0.0) / 0.07) ** 2
    cost += (np.maximum(0.007 - low, 0.0) / 0.008) ** 2
    for share in (0.0, 0.35, 0.7):
        points = elbows + share * (wrists - elbows)
        deep = np.maximum(0.045 - points[:, 2], 0.0) * (points[:, 1] > -0.03)
        cost += (deep / 0.015) ** 2
    return np.asarray(cost + _elbow_cost(task, wrists, elbows), np.float64)


def _elbow_cost(task: Task, wrists: Floats, elbows: Floats) -> Floats:
    """Elbows hang: down and a little outwards of the line from the shoulder to the wrist."""
    line = wrists - task.shoulder
    line /= np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
    off = elbows - task.shoulder
    off = off - (off * line).sum(axis=1, keepdims=True) * line
    size = np.linalg.norm(off, axis=1)
    ahead = unit(across(task.pivot - task.shoulder, UP) + 1e-9)
    outward = task.mirror * np.cross(ahead, UP)
    pole = unit(outward * 0.6 - UP)
    share = (off @ pole) / np.maximum(size, 1e-9)
    return np.asarray(1.5 * (1 - share) * np.minimum(size / 0.05, 1.0), np.float64)
