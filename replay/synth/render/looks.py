"""What cameras are like: the ranges that lenses and sensors are drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from replay.synth.render.lens import Lens
from replay.synth.script import Difficulty
from streaming.config import config_path, load

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """Ranges, least and greatest, of one difficulty; comments in ``configs/synth_camera.toml``."""

    fov: Range
    barrel: Range
    shutter: Range
    exposure: Range
    drift: Range
    step_rate: Range
    step: Range
    warmth: Range
    warmth_drift: Range
    vignetting: Range
    shot_noise: Range
    read_noise: Range
    grain: Range
    sharpening: Range
    contrast: Range
    knee: Range
    crf: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraKinds:
    """The looks of each difficulty."""

    easy: Looks
    real: Looks
    hard: Looks


def looks_of(difficulty: Difficulty) -> Looks:
    """The ranges of one difficulty.

    Raises:
        ConfigError: If ``configs/synth_camera.toml`` can't be used.
    """
    kinds = load(CameraKinds, config_path("synth_camera.toml"))
    return {"easy": kinds.easy, "real": kinds.real, "hard": kinds.hard}[difficulty]


def draw_lens(rng: np.random.Generator, difficulty: Difficulty, *, width: int, height: int) -> Lens:
    """A lens as head-mounted cameras have it; the wider, the more it bends."""
    looks = looks_of(difficulty)
    fov, barrel = rng.uniform(*looks.fov), rng.uniform(*looks.barrel)
    angle = math.radians(fov) / 2
    # tan(a r) / a r = 1 + (a r)^2 / 3 + 2 (a r)^4 / 15 + ...: a lens that keeps angles.
    return Lens(
        width=width,
        height=height,
        fov=fov,
        k1=barrel * angle**2 / 3,
        k2=barrel * 2 * angle**4 / 15,
    )
