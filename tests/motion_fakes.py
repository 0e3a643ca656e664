"""A hand that is a stick with fingers, to test movement without meshes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replay.synth.motion import HandPoses
from replay.synth.world import Floats, Pose

REACH = (0.09, 0.12, 0.15, 0.18)
"""Of the index finger's joints from the wrist, metres."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StickFingers:
    """How far the other fingers are curled: 0...1."""

    curl: float

    @staticmethod
    def blend(a: StickFingers, b: StickFingers, w: float) -> StickFingers:
        if not 0.0 <= w <= 1.0:
            raise ValueError(f"weight {w}")
        return StickFingers(curl=(1.0 - w) * a.curl + w * b.curl)


@dataclass(frozen=True, slots=True, kw_only=True)
class StickPose:
    wrist: Pose
    fingers: StickFingers
    elbow: Floats
    shoulder: Floats


class StickArm:
    """Its elbow is half-way from the wrist to below the shoulder."""

    def point(
        self, tip: Floats, towards: Floats, shoulder: Floats, roll: float, fingers: StickFingers
    ) -> StickPose:
        along = towards / np.linalg.norm(towards)
        return self.rest(tip - REACH[-1] * along, along, shoulder, roll, fingers)

    def rest(
        self, wrist: Floats, towards: Floats, shoulder: Floats, roll: float, fingers: StickFingers
    ) -> StickPose:
        y = towards / np.linalg.norm(towards)
        x = np.cross(y, (0.0, 0.0, 1.0))
        x /= np.linalg.norm(x)
        back = 0.25 * (shoulder - wrist) / np.linalg.norm(shoulder - wrist)
        return StickPose(
            wrist=Pose(rotation=np.column_stack([x, y, np.cross(x, y)]), position=wrist),
            fingers=fingers,
            elbow=wrist + back,
            shoulder=shoulder,
        )

    def landmarks(self, pose: StickPose) -> Floats:
        own = np.zeros((21, 3))
        own[5:9, 1] = REACH
        for first, aside in ((1, -0.03), (9, 0.02), (13, 0.04), (17, 0.06)):
            length = 0.16 - 0.06 * pose.fingers.curl
            own[first : first + 4, 0] = aside
            own[first : first + 4, 1] = np.linspace(0.06, length, 4)
            own[first : first + 4, 2] = -0.03 * pose.fingers.curl * np.linspace(0, 1, 4)
        return pose.wrist.to_world(own)


POSES = HandPoses(
    pointing=StickFingers(curl=1.0),
    relaxed=StickFingers(curl=0.4),
    resting=StickFingers(curl=0.1),
    fumbling=StickFingers(curl=0.7),
)


def tip_at(arm: StickArm, pose: StickPose) -> Floats:
    return arm.landmarks(pose)[8]
