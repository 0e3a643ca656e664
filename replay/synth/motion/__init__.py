"""When and how the arm and the head of a generated clip move: pure functions of time.

Metres, seconds and world axes as in :mod:`replay.synth`.
"""

from replay.synth.motion.aiming import Aim
from replay.synth.motion.arm_motion import ArmMotion, Distractor, DistractorKind, StrokeTruth
from replay.synth.motion.gestures import plan_gestures
from replay.synth.motion.head import HeadMotion
from replay.synth.motion.person import draw_poses
from replay.synth.motion.placement import (
    EYE,
    ArmKind,
    ArmPlacement,
    HandPoses,
    Obstacle,
    PointingArm,
    Target,
    draw_arm,
    draw_eye,
    other_hand,
    place_arm,
)
from replay.synth.motion.timing import (
    StrokeTimes,
    draw_holds,
    draw_lags,
    draw_silent_apexes,
    fit_apexes,
    travel_time,
)

__all__ = [
    "EYE",
    "Aim",
    "ArmKind",
    "ArmMotion",
    "ArmPlacement",
    "Distractor",
    "DistractorKind",
    "HandPoses",
    "HeadMotion",
    "Obstacle",
    "PointingArm",
    "StrokeTimes",
    "StrokeTruth",
    "Target",
    "draw_arm",
    "draw_eye",
    "draw_holds",
    "draw_lags",
    "draw_poses",
    "draw_silent_apexes",
    "fit_apexes",
    "other_hand",
    "place_arm",
    "plan_gestures",
    "travel_time",
]
