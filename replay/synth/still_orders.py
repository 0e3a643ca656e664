"""Which still is to be made, and the numbers that stills are drawn with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from replay.synth.script import Difficulty
from streaming.config import config_path, load

Rng = np.random.Generator
Range = tuple[float, float]


class UnclearStillError(ValueError):
    """No draw worked out, or this one did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StillSettings:
    """``configs/synth_stills.toml``."""

    near: Range
    far: Range
    far_share: float
    shoulder: tuple[float, float, float]
    lean: float
    void_share: float
    void_radius: float
    choice_share: float
    judge_share: float
    most_strays: int
    least_share: float
    least_seen: float
    least_marks: int
    border: float
    quality: tuple[int, int]
    objects: dict[str, tuple[int, int]]


@cache
def still_settings() -> StillSettings:
    """The project's own settings."""
    return load(StillSettings, config_path("synth_stills.toml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StillOrder:
    """One still to be made; everything in it follows from this."""

    seed: int
    index: int
    difficulty: Difficulty = "real"
    width: int = 1024
    height: int = 768

    @property
    def name(self) -> str:
        """The picture's ``image_id``."""
        return f"{self.difficulty}_{self.seed}_{self.index:05d}"

    def paths(self, folder: Path) -> tuple[Path, Path]:
        """Where its picture and its record lie."""
        return folder / "images" / f"{self.name}.jpg", folder / "made" / f"{self.name}.json"

    def draws(self, attempt: int) -> tuple[Rng, ...]:
        """Generators for what is asked, scene, camera and arm; another attempt has others."""
        keys = [(self.index, attempt, part) for part in range(4)]
        return tuple(
            np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key)) for key in keys
        )
