"""Where the wearer's head-mounted camera is and looks.

Most of the time a head turns little: the eyes do most of the looking. Slow sway and wander, fine
jitter, turns that follow what is looked at, now and then a quick look aside, and the bob of someone
who walks on the spot add up. How far each goes is set so that the background moves in the picture
as it does in real head-mounted footage (``configs/synth_motion.toml``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from replay.synth.motion.curves import Steps, Wobble, draw_wobble, minimum_jerk, steps, xyz
from replay.synth.motion.placement import draw_eye
from replay.synth.motion.settings import HeadSettings, Span, motion_settings
from replay.synth.script import Difficulty
from replay.synth.world import Floats, Pose
from streaming.events import Seconds

Gaze = Sequence[tuple[Seconds, Floats]]

STRIDE = 1.8
"""Steps a second."""
_MARGIN = 0.82
"""What has to be seen lies within this share of the picture's half width and height."""
_STILL: Seconds = 0.3
_SETTLE: Seconds = 0.4
_TRIES = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadMotion:
    """The camera's way through a clip.

    Attributes:
        seconds: Length of the clip.
        eye: Where the camera is on average, shape ``(3,)``.
        turns: Yaw (to the right), pitch (down) and roll, radians, by steps.
        quick: Looks aside and back, likewise.
        sway: Of the place, metres. ``wander`` and ``jitter``: of the three angles, radians.
        bob: Height of the walking bob, metres; 0: does not walk.
        phase: Of the steps, radians.
        still: Share of sway, wander, jitter and bob that is left at the end.
    """

    seconds: Seconds
    eye: Floats
    turns: Steps
    quick: Steps
    sway: Wobble
    wander: Wobble
    jitter: Wobble
    bob: float
    phase: float
    still: float

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        difficulty: Difficulty,
        seconds: Seconds,
        *,
        gaze: Gaze,
        fov: float = 75.0,
        aspect: float = 4.0 / 3.0,
        middle: Floats | None = None,
        eye: Floats | None = None,
    ) -> HeadMotion:
        """Draw how the wearer sits or stands, and moves.

        Args:
            rng: Source of every draw.
            difficulty: Its settings are used.
            seconds: Length of the clip.
            gaze: When each target has to be seen and where it is: seconds and shape ``(3,)``, in
                order. All of them have to be seen in the last frame as well.
            fov: Horizontal field of view, degrees.
            aspect: Width over height of the picture.
            eye: Where the camera is on average; None: drawn.
            middle: What the head rests on; None: the middle of the targets and the table.
        """
        knobs = motion_settings().of(difficulty).head
        points = [point for _, point in gaze]
        table = np.array([0.0, 0.32, 0.02])
        if middle is None:
            middle = 0.5 * table + 0.5 * np.mean(points, axis=0) if points else table
        eye = draw_eye(rng) if eye is None else eye
        rest = np.array([*_angles(middle - eye), math.radians(rng.normal(0.0, 1.5))])
        drawn = cls(
            seconds=seconds,
            eye=eye,
            turns=_following(rng, knobs, gaze, eye, rest),
            quick=_quick(rng, knobs, gaze, seconds),
            sway=draw_wobble(rng, 0.001 * rng.uniform(*knobs.sway), low=0.2, high=0.5),
            wander=_turning(rng, knobs.wander, low=0.1, high=0.7),
            jitter=_turning(rng, knobs.jitter, low=2.0, high=6.0),
            bob=_bob(rng, knobs),
            phase=float(rng.uniform(0.0, 2.0 * math.pi)),
            still=knobs.still,
        )
        return drawn._seeing(gaze, fov, aspect, rest)

    def at(self, time: Seconds) -> Pose:
        """The camera's pose; its axes are right, down and ahead."""
        left = self._left(time)
        yaw, pitch, roll = (
            self.turns.at(time)
            + self.quick.at(time)
            + left * (self.wander.at(time) + self.jitter.at(time))
        )
        place = self.eye + left * self.sway.at(time)
        if self.bob:
            beat = 2.0 * math.pi * STRIDE * time + self.phase
            high, aside = 0.5 * self.bob * left, 0.6 * self.bob * left
            place = place + xyz(aside * math.sin(0.5 * beat), 0.0, high * math.sin(beat))
            roll += 0.6 * high * math.sin(0.5 * beat + 0.5)
            pitch += 0.5 * high * math.sin(beat + 1.0)
        return Pose(rotation=_facing(yaw, pitch, roll), position=place)

    def describe(self) -> dict[str, Any]:
        """What was drawn, for the truth."""
        return {
            "eye": [round(float(value), 4) for value in self.eye],
            "walks": self.bob > 0.0,
            "quick_turns": len(self.quick.starts) // 2,
        }

    def _left(self, time: Seconds) -> float:
        """How much of the small movement is left: less of it when the clip ends."""
        done = float(minimum_jerk((time - (self.seconds - _STILL - _SETTLE)) / _SETTLE))
        return 1.0 - (1.0 - self.still) * done

    def _seeing(self, gaze: Gaze, fov: float, aspect: float, rest: Floats) -> HeadMotion:
        """The nearest calmer movement that keeps in view what has to be seen."""
        wide = _MARGIN * math.tan(math.radians(fov / 2))
        end = (self.seconds, [point for _, point in gaze])
        sights = [(time, [point]) for time, point in gaze] + [end]
        motion = self
        for calmer in np.linspace(1.0, 0.0, _TRIES):
            motion = replace(
                self,
                turns=_scaled(self.turns, float(calmer)),
                quick=_scaled(self.quick, 1.0 if calmer > 0.5 else 0.0),
                wander=replace(self.wander, amplitudes=calmer * self.wander.amplitudes),
            )
            if all(
                _sees(motion.at(time), point, wide, aspect)
                for time, points in sights
                for point in points
            ):
                return motion
        return motion


def _sees(pose: Pose, point: Floats, wide: float, aspect: float) -> bool:
    x, y, z = pose.to_own(point)
    return bool(z > 0.05 and abs(x) < wide * z and abs(y) < wide / aspect * z)


def _angles(way: Floats) -> tuple[float, float]:
    """Yaw to the right of straight ahead (``y``) and pitch down, radians."""
    x, y, z = way
    return math.atan2(x, y), math.atan2(-z, math.hypot(x, y))


def _facing(yaw: float, pitch: float, roll: float) -> Floats:
    """Axes of a camera, as columns: right, down, ahead. ``roll`` leans it to the right."""
    sin_yaw, cos_yaw = math.sin(yaw), math.cos(yaw)
    sin_pitch, cos_pitch = math.sin(pitch), math.cos(pitch)
    ahead = np.array([sin_yaw * cos_pitch, cos_yaw * cos_pitch, -sin_pitch])
    right = np.array([cos_yaw, -sin_yaw, 0.0])
    down = np.cross(ahead, right)
    sin, cos = math.sin(roll), math.cos(roll)
    return np.column_stack([cos * right + sin * down, cos * down - sin * right, ahead])


def _turning(rng: np.random.Generator, size: Span, *, low: float, high: float) -> Wobble:
    """Turning by ``size`` degrees RMS in yaw, a little less in pitch, half as much in roll."""
    degrees = float(rng.uniform(*size))
    return draw_wobble(rng, np.radians(degrees) * np.array([1.0, 0.8, 0.5]), low=low, high=high)


def _turn_time(angle: float) -> Seconds:
    """How long a head takes to turn by ``angle`` radians."""
    return 0.28 + 0.6 * abs(angle)


def _following(
    rng: np.random.Generator, knobs: HeadSettings, gaze: Gaze, eye: Floats, rest: Floats
) -> Steps:
    """Turns towards each target, part of the way, and back in the end."""
    share = rng.uniform(*knobs.follow)
    moves: list[tuple[Seconds, Seconds, Floats]] = []
    at = np.zeros(3)
    for time, point in gaze:
        yaw, pitch = _angles(point - eye)
        aside = math.remainder(yaw - rest[0], 2.0 * math.pi)
        goal = share * np.array([aside, pitch - rest[1], 0.0])
        goal[2] = 0.12 * goal[0]
        shift = goal - at
        lasting = _turn_time(float(np.linalg.norm(shift))) * float(rng.uniform(0.9, 1.4))
        # People look before they point, so the head has mostly turned when the finger stands.
        start = time - 0.75 + float(rng.uniform(*knobs.lag)) - 0.3 * lasting
        moves.append((start, lasting, shift))
        at = goal
    if moves:
        start = gaze[-1][0] + float(rng.uniform(0.6, 1.1))
        moves.append((start, float(rng.uniform(0.5, 0.9)), -at * float(rng.uniform(0.4, 1.0))))
    else:
        moves.append((0.0, 1.0, np.zeros(3)))
    return steps(rest, moves)


def _quick(rng: np.random.Generator, knobs: HeadSettings, gaze: Gaze, seconds: Seconds) -> Steps:
    """Perhaps a look aside and back, at a time when nothing has to be seen."""
    moves: list[tuple[Seconds, Seconds, Floats]] = []
    wanted = rng.random() < knobs.quick
    onset = float(rng.uniform(0.1, max(0.2, seconds - 1.8)))
    angle = math.radians(rng.uniform(10.0, 40.0)) * float(rng.choice([-1.0, 1.0]))
    lasting = float(rng.uniform(0.3, 0.6))
    pause = float(rng.uniform(0.0, 0.2))
    shift = np.array([angle, abs(angle) * float(rng.uniform(-0.4, 0.1)), 0.1 * angle])
    ends = onset + 2 * lasting + pause
    free = all(not onset - 0.15 < time < ends + 0.15 for time, _ in gaze)
    if wanted and free and ends < seconds - _STILL - _SETTLE:
        moves = [(onset, lasting, shift), (onset + lasting + pause, lasting, -shift)]
    return steps(np.zeros(3), moves)


def _bob(rng: np.random.Generator, knobs: HeadSettings) -> float:
    walks = rng.random() < knobs.bob_share
    height = 0.001 * float(rng.uniform(*knobs.bob))
    return height if walks else 0.0


def _scaled(path: Steps, factor: float) -> Steps:
    return replace(path, shifts=factor * path.shifts)
