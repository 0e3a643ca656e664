"""An arm's movement through a clip, as a function of time."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from replay.synth.motion.aiming import Aim
from replay.synth.motion.curves import Steps, Wobble, minimum_jerk, turned
from replay.synth.motion.placement import ArmPlacement
from replay.synth.world import Floats, Pose
from streaming.events import Seconds

DistractorKind = Literal["beat", "fidget", "touch", "cross", "sweep", "absence", "hover"]
"""``beat``: the hand bounces. ``fidget``: it stirs on the table. ``touch``: it takes hold of a
thing. ``cross``: it goes through the scene. ``sweep``: it passes over an area. ``absence``: it is
out of the scene. ``hover``: it waits over the table between two strokes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StrokeTruth:
    """When one stroke's phases are, after Kendon, and where it points from.

    Attributes:
        preparation: The hand leaves for it.
        onset: The final approach begins.
        window: The fingertip is near enough for an annotator to let the stroke's window begin.
        apex: The fingertip stands where ``aim`` says.
        hold_offset: The hand leaves.
        retraction_offset: It has come to rest, or prepares the next stroke.
        aim: How it points.
    """

    preparation: Seconds
    onset: Seconds
    window: Seconds
    apex: Seconds
    hold_offset: Seconds
    retraction_offset: Seconds
    aim: Aim

    def describe(self) -> dict[str, Any]:
        """For the truth; seconds, metres, degrees."""
        return {
            "preparation": round(self.preparation, 4),
            "onset": round(self.onset, 4),
            "window": round(self.window, 4),
            "apex": round(self.apex, 4),
            "hold_offset": round(self.hold_offset, 4),
            "retraction_offset": round(self.retraction_offset, 4),
            "tip": [round(float(value), 5) for value in self.aim.tip],
            "direction": [round(float(value), 6) for value in self.aim.direction],
            "distance": round(self.aim.distance, 4),
            "error": round(self.aim.error, 3),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Distractor:
    """Movement that is no stroke."""

    kind: DistractorKind
    onset: Seconds
    offset: Seconds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turn:
    """The hand and the forearm turn between ``start`` and ``end``.

    Attributes:
        rotation: Of the wrist before, shape ``(3, 3)``.
        vector: Rotation vector in the wrist's own axes.
        elbows: From the wrist to the elbow before and after, shape ``(2, 3)``.
        shoulders: In the world before and after, shape ``(2, 3)``.
        upper_arm: From the elbow to the shoulder, metres.
    """

    start: Seconds
    end: Seconds
    rotation: Floats
    vector: Floats
    elbows: Floats
    shoulders: Floats
    upper_arm: float

    def share(self, time: Seconds) -> float:
        """How far it has come, 0...1."""
        return float(minimum_jerk((time - self.start) / (self.end - self.start)))

    def at(self, time: Seconds) -> tuple[Floats, Floats]:
        """Rotation of the wrist and way from wrist to elbow."""
        share = self.share(time)
        before, after = self.elbows
        mixed = (1.0 - share) * before + share * after
        lengths = np.linalg.norm(self.elbows, axis=1)
        length = float((1.0 - share) * lengths[0] + share * lengths[1])
        elbow = mixed * (length / max(float(np.linalg.norm(mixed)), 1e-6))
        return turned(self.rotation, share * self.vector), elbow

    def shoulder(self, time: Seconds, elbow: Floats) -> Floats:
        """Where the shoulder is while the elbow is at ``elbow``, both in the world."""
        share = self.share(time)
        wanted = (1.0 - share) * self.shoulders[0] + share * self.shoulders[1] - elbow
        return np.asarray(elbow + self.upper_arm * wanted / np.linalg.norm(wanted))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bend:
    """The fingers change between ``start`` and ``end``."""

    start: Seconds
    end: Seconds
    before: Any
    after: Any

    def at(self, time: Seconds) -> Any:
        share = float(minimum_jerk((time - self.start) / (self.end - self.start)))
        if share <= 0.0 or self.before is self.after:
            return self.before
        if share >= 1.0:
            return self.after
        return type(self.before).blend(self.before, self.after, min(1.0, share))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArmMotion:
    """Where an arm is at any time of a clip.

    Attributes:
        placement: Whose arm it is.
        strokes: In order.
        distractors: In order.
        template: Any pose of the arm; the others are made from it.
        wrist: Path of the wrist.
        turns, bends: Of hand and fingers, in order, not overlapping; at least one each.
        tremor, drift: Small movement of the wrist, weighed by ``unrest``.
        unrest: Times and weights of the small movement, two arrays; straight in between.
        absences: When the arm is out of the scene: onset and offset each.
        habits: What was drawn for this person.
    """

    placement: ArmPlacement
    strokes: tuple[StrokeTruth, ...]
    distractors: tuple[Distractor, ...]
    template: Any
    wrist: Steps
    turns: tuple[Turn, ...]
    bends: tuple[Bend, ...]
    tremor: Wobble
    drift: Wobble
    unrest: tuple[Floats, Floats]
    absences: tuple[tuple[Seconds, Seconds], ...]
    habits: dict[str, float]

    def at(self, time: Seconds) -> Any | None:
        """The arm's pose; None while it is out of the scene."""
        if any(onset <= time < offset for onset, offset in self.absences):
            return None
        return self.pose(time)

    def pose(self, time: Seconds) -> Any:
        """The arm's pose, in the scene or not."""
        turn = self.turns[_current([one.start for one in self.turns], time)]
        rotation, elbow = turn.at(time)
        weight = float(np.interp(time, *self.unrest))
        place = self.wrist.at(time) + weight * (self.tremor.at(time) + self.drift.at(time))
        return dataclasses.replace(
            self.template,
            wrist=Pose(rotation=rotation, position=place),
            elbow=place + elbow,
            shoulder=turn.shoulder(time, place + elbow),
            fingers=self.bends[_current([one.start for one in self.bends], time)].at(time),
        )

    def describe(self) -> dict[str, Any]:
        """Everything that was drawn, for the truth."""
        return {
            "arm": self.placement.describe(),
            "habits": {name: round(value, 4) for name, value in self.habits.items()},
            "strokes": [stroke.describe() for stroke in self.strokes],
            "distractors": [
                {"kind": one.kind, "onset": round(one.onset, 4), "offset": round(one.offset, 4)}
                for one in self.distractors
            ],
            "absences": [[round(a, 4), round(b, 4)] for a, b in self.absences],
        }


def _current(starts: Sequence[Seconds], time: Seconds) -> int:
    return max(0, bisect_right(starts, time) - 1)
