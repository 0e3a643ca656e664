"""Hands with arms and sleeves, made from nothing: bones, flesh, skin, cloth, and how they move."""

from replay.synth.hand.arm import Arm, ArmPose, blend_poses
from replay.synth.hand.fingers import Finger, Fingers, Thumb
from replay.synth.hand.poses import (
    FIST,
    FUMBLING,
    OPEN,
    POINTING,
    POINTING_CASUAL,
    POINTING_LOOSE,
    POINTING_OUT,
    POINTING_TUCKED,
    RESTING,
)
from replay.synth.hand.shape import HandShape

__all__ = [
    "FIST",
    "FUMBLING",
    "OPEN",
    "POINTING",
    "POINTING_CASUAL",
    "POINTING_LOOSE",
    "POINTING_OUT",
    "POINTING_TUCKED",
    "RESTING",
    "Arm",
    "ArmPose",
    "Finger",
    "Fingers",
    "HandShape",
    "Thumb",
    "blend_poses",
]
