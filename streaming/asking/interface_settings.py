"""What the input interfaces send, as far as it can be chosen: ``configs/interfaces.toml``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from streaming.config import config_path, load


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSettings:
    """Settings of the interface ``bound``.

    Attributes:
        keyframe_side, crop_side, marked_side, last_side: Longest sides of its pictures, pixels.
        quality: Of the JPEGs, 1 to 100.
        most_gestures: Most gestures that are shown.
        arrow: How far an arrow reaches beyond the fingertip, in lengths of the finger.
        doubt: A binding less likely than this is shown with frames around it.
        frames_around: So many, at most.
        most_frames: In all.
    """

    keyframe_side: int = 768
    crop_side: int = 512
    marked_side: int = 768
    last_side: int = 1920
    quality: int = 90
    most_gestures: int = 6
    arrow: float = 0.6
    doubt: float = 0.3
    frames_around: int = 4
    most_frames: int = 12

    def __post_init__(self) -> None:
        sides = (self.keyframe_side, self.crop_side, self.marked_side, self.last_side)
        if min(sides) < 1 or not 1 <= self.quality <= 100:
            raise ValueError(f"sides {sides} must be positive, quality {self.quality} 1 to 100")
        if (
            self.most_gestures < 1
            or self.arrow <= 0
            or min(self.frames_around, self.most_frames) < 0
        ):
            raise ValueError(
                f"most_gestures {self.most_gestures} and arrow {self.arrow} must be positive, "
                f"frames_around {self.frames_around}, most_frames {self.most_frames} not negative"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceSettings:
    """Settings of all interfaces.

    Attributes:
        frames_transcript: ``frames`` has the words as plain text, as in EcoG-Bench's paper.
        frames_last: Whether the last frame follows the sampled ones: ``always``, ``never``, or
            ``live`` for all but a benchmark's questions.
        bound: Of the interface ``bound``.
    """

    frames_transcript: bool = True
    frames_last: Literal["never", "live", "always"] = "live"
    bound: BoundSettings = field(default_factory=BoundSettings)


@cache
def load_interface_settings() -> InterfaceSettings:
    """The project's own settings, read once.

    Raises:
        ConfigError: If they are missing or do not fit.
    """
    return load(InterfaceSettings, config_path("interfaces.toml"))
