"""Curves that moving people follow: minimum-jerk steps, turns, tremor.

A reach is a sum of minimum-jerk submovements that may overlap (Flash & Henis, 1991; Milner, 1992):
each alone starts and ends at rest with no acceleration, and so does their sum. Everything here is a
function of time alone, so that it can be asked in any order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from replay.synth.world import Floats
from streaming.events import Seconds

LEVEL: Floats = np.array([1.0, 1.0, 0.0])
"""Times a vector: its level part."""


def xyz(x: float, y: float, z: float) -> Floats:
    """A vector."""
    return np.array([x, y, z], np.float64)


def minimum_jerk(share: Floats | float) -> Floats:
    """How far a minimum-jerk step has come at ``share`` of its time; 0 before it, 1 after."""
    done = np.clip(share, 0.0, 1.0)
    return np.asarray(done**3 * (10.0 - 15.0 * done + 6.0 * done**2), np.float64)


def unit(vector: Floats) -> Floats:
    """``vector`` (never zero) at length 1."""
    return np.asarray(vector / np.linalg.norm(vector), np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """A value that moves by minimum-jerk steps, which add up.

    Attributes:
        origin: Before any step, shape ``(k,)``.
        starts: Of the steps, shape ``(n,)``, seconds.
        durations: Shape ``(n,)``, seconds, positive.
        shifts: How far each goes in the end, shape ``(n, k)``.
    """

    origin: Floats
    starts: Floats
    durations: Floats
    shifts: Floats

    def __post_init__(self) -> None:
        if not (self.durations > 0).all():
            raise ValueError(f"a step lasts {self.durations.min()} s, expected more than 0")

    def at(self, time: Seconds) -> Floats:
        """The value at ``time``, shape ``(k,)``."""
        done = minimum_jerk((time - self.starts) / self.durations)
        return np.asarray(self.origin + done @ self.shifts, np.float64)


def steps(origin: Floats, moves: list[tuple[Seconds, Seconds, Floats]]) -> Steps:
    """:class:`Steps` from ``(start, duration, shift)``."""
    return Steps(
        origin=np.asarray(origin, np.float64),
        starts=np.array([start for start, _, _ in moves], np.float64),
        durations=np.array([duration for _, duration, _ in moves], np.float64),
        shifts=np.array([shift for _, _, shift in moves], np.float64).reshape(-1, len(origin)),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wobble:
    """Small movement without end: sines of fixed frequency and phase.

    Attributes:
        amplitudes: Shape ``(n, k)``.
        frequencies: Shape ``(n,)``, hertz.
        phases: Shape ``(n, k)``, radians.
    """

    amplitudes: Floats
    frequencies: Floats
    phases: Floats

    def at(self, time: Seconds) -> Floats:
        """The value at ``time``, shape ``(k,)``."""
        angles = 2.0 * np.pi * self.frequencies[:, None] * time + self.phases
        return np.asarray((self.amplitudes * np.sin(angles)).sum(axis=0), np.float64)

    @property
    def most(self) -> float:
        """No value is ever longer than this."""
        return float(np.linalg.norm(np.abs(self.amplitudes).sum(axis=0)))


def draw_wobble(
    rng: np.random.Generator,
    size: float | Floats,
    *,
    low: float,
    high: float,
    count: int = 4,
    axes: int = 3,
) -> Wobble:
    """Sines between ``low`` and ``high`` hertz whose sum has the RMS ``size`` on each axis."""
    weights = rng.uniform(0.5, 1.0, (count, axes))
    weights /= np.sqrt((weights**2).sum(axis=0) / 2.0)
    return Wobble(
        amplitudes=weights * np.asarray(size, np.float64),
        frequencies=np.sort(rng.uniform(low, high, count)),
        phases=rng.uniform(0.0, 2.0 * np.pi, (count, axes)),
    )


def turn_between(first: Floats, second: Floats) -> Floats:
    """The rotation vector ``v`` with ``second = first @ exp(v)``, shape ``(3,)``."""
    return np.asarray(Rotation.from_matrix(first.T @ second).as_rotvec(), np.float64)


def turned(rotation: Floats, vector: Floats) -> Floats:
    """``rotation @ exp(vector)``: with a share of :func:`turn_between`, slerp."""
    angle = float(np.sqrt(vector @ vector))
    if angle < 1e-9:
        return rotation
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)
    return np.asarray(rotation @ turn, np.float64)


def about(axis: Floats, angle: float) -> Floats:
    """The rotation by ``angle`` radians about the unit vector ``axis``, shape ``(3, 3)``."""
    return turned(np.eye(3), np.asarray(axis, np.float64) * angle)


def any_normal(rng: np.random.Generator, direction: Floats) -> Floats:
    """A unit vector square to ``direction``, any of them equally likely."""
    vector = np.cross(direction, rng.normal(size=3))
    return unit(vector)
