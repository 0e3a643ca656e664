"""What one person is like, and where that person's hand waits."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.synth.motion.clearance import Clearance
from replay.synth.motion.course import Key, key_of
from replay.synth.motion.curves import LEVEL, Wobble, draw_wobble, unit, xyz
from replay.synth.motion.placement import ArmPlacement, HandPoses, PointingArm
from replay.synth.motion.settings import ArmSettings
from replay.synth.script import Difficulty
from replay.synth.world import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Habits:
    """Drawn once for a clip.

    Attributes:
        tempo: Factor on the time of reaches.
        roll: Of the hand about the index finger while pointing, degrees.
        pause: How readily the hand waits over the table between strokes, 0...1.
        tremor, drift: Small movement of the hand that is held up.
    """

    tempo: float
    roll: float
    pause: float
    tremor: Wobble
    drift: Wobble

    def describe(self) -> dict[str, float]:
        return {
            "tempo": self.tempo,
            "roll": self.roll,
            "pause": self.pause,
            "tremor_most": self.tremor.most,
            "drift_most": self.drift.most,
        }


def draw_poses(rng: np.random.Generator, difficulty: Difficulty) -> HandPoses:
    """How this person's hand looks; careless pointing is rarer on easier clips."""
    from replay.synth.hand import poses

    weights = {"easy": (4, 3, 1, 0), "real": (4, 3, 3, 1), "hard": (3, 3, 3, 3)}[difficulty]
    share = np.array(weights, np.float64) / sum(weights)
    return HandPoses(
        pointing=poses.POINTING[int(rng.choice(len(poses.POINTING), p=share))],
        relaxed=poses.RELAXED,
        resting=poses.RESTING[int(rng.integers(len(poses.RESTING)))],
        fumbling=poses.FUMBLING[int(rng.integers(len(poses.FUMBLING)))],
    )


def draw_habits(rng: np.random.Generator, knobs: ArmSettings) -> Habits:
    millimetre = 0.001
    return Habits(
        tempo=float(rng.uniform(*knobs.tempo)),
        roll=float(rng.normal(0.0, 14.0)),
        pause=float(rng.random()),
        tremor=draw_wobble(rng, millimetre * rng.uniform(*knobs.tremor), low=8.0, high=12.0),
        drift=draw_wobble(rng, millimetre * rng.uniform(*knobs.drift), low=0.15, high=1.5),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stations:
    """Where a hand can be when it does not point."""

    arm: PointingArm
    placement: ArmPlacement
    poses: HandPoses
    clearance: Clearance
    habits: Habits
    template: Any

    def at(
        self, wrist: Floats, towards: Floats, fingers: Any, *, away: bool = False, roll: float = 0.0
    ) -> Key:
        """The hand with its wrist there, or as little above as keeps it out of everything."""
        place = np.asarray(wrist, np.float64)
        pose = self.arm.rest(place, unit(towards), self.shoulder(place), roll, fingers)
        return self.raised(key_of(pose, self.arm, away=away))

    def raised(self, key: Key) -> Key:
        """The key, or one as little above it as is free."""
        for _ in range(3):
            lack = self._lack(key)
            if lack == 0.0:
                break
            key = key.moved(xyz(0.0, 0.0, lack + 0.001))
        return key

    def marks(self, fingers: Any) -> Floats:
        """Landmarks of a hand with these fingers in the wrist's own axes, shape ``(21, 3)``."""
        pose = dataclasses.replace(self.template, fingers=fingers)
        return np.asarray(pose.wrist.to_own(self.arm.landmarks(pose)))

    def _lack(self, key: Key) -> float:
        return self.clearance.lack(key.marks @ key.rotation.T + key.position)

    def shoulder(self, wrist: Floats) -> Floats:
        """Where the shoulder is when the wrist is there: it leans as far as need be."""
        way = wrist - self.placement.shoulder
        missing = float(np.linalg.norm(way)) - (self.placement.reach - 0.18)
        lean = float(np.clip(missing, 0.0, self.placement.lean))
        level = unit(np.array([way[0], way[1], 1e-9]))
        return np.asarray(self.placement.shoulder + lean * level)

    def rest(self, rng: np.random.Generator) -> Key:
        """On the table, before the person."""
        towards = self.placement.forward + xyz(0.0, 0.0, -0.22) + 0.25 * self._sideways(rng)
        key = self.at(self.placement.rest, towards, self.poses.resting)
        low = key.moved(xyz(0.0, 0.0, self.placement.rest[2] - key.position[2]))
        x, y, _ = self.placement.forward
        aside = np.array([-y, x, 0.0])
        places = [
            self.raised(low.moved(sideways * aside - back * self.placement.forward))
            for back in (0.0, 0.06, 0.12)
            for sideways in (0.0, 0.07, -0.07, 0.14, -0.14, 0.21, -0.21)
        ]
        return min(places, key=lambda place: round(float(place.position[2]), 2))

    def away(self) -> Key:
        """Out of the scene."""
        towards = self.placement.forward + xyz(0.0, 0.0, -0.3)
        return self.at(self.placement.away, towards, self.poses.relaxed, away=True)

    def hover(self, rng: np.random.Generator, over: Floats, fingers: Any) -> Key:
        """Over the table on the person's side of ``over``."""
        level = over * LEVEL
        back = unit(self.placement.shoulder * LEVEL - level + 1e-9)
        place = level + back * rng.uniform(0.18, 0.28) + xyz(0.0, 0.0, rng.uniform(0.12, 0.2))
        towards = -back + 0.2 * self._sideways(rng) + xyz(0.0, 0.0, rng.uniform(-0.5, -0.15))
        return self.at(place, towards, fingers)

    def _sideways(self, rng: np.random.Generator) -> Floats:
        x, y, _ = self.placement.forward
        return np.asarray(rng.normal() * np.array([-y, x, 0.0]))
