"""EcoG-Bench on disk: clips, their annotated answers, and what had to be left out."""

from replay.ecog.clips import (
    LEVELS,
    EcogAnswer,
    EcogClip,
    EcogMask,
    EcogTree,
    EcogWord,
    LeftOut,
    write_truth,
)
from replay.ecog.loader import EcogError, instruction_of, load_ecog
from replay.ecog.video import DEFAULT_SIZE, video_size

__all__ = [
    "DEFAULT_SIZE",
    "LEVELS",
    "EcogAnswer",
    "EcogClip",
    "EcogError",
    "EcogMask",
    "EcogTree",
    "EcogWord",
    "LeftOut",
    "instruction_of",
    "load_ecog",
    "video_size",
    "write_truth",
]
