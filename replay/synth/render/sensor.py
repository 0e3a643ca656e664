"""From linear light to the picture that a camera stores: exposure, colour, noise, sharpening."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled
from replay.synth.render.lens import Lens
from replay.synth.render.looks import looks_of
from replay.synth.script import Difficulty
from replay.synth.world import Floats
from streaming.events import Seconds

GRAIN_SIZE = 512
"""Side of the tile of noise, which is laid differently over every frame."""

SETTLING = 0.25
"""Time constant in which automatic exposure follows a step, seconds."""

BRIGHTEST = 4.0
"""Where the tone curve ends, in linear light."""

TONES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A value that wanders: two slow waves, and steps that are followed with a delay.

    Attributes:
        middle: Its mean.
        waves: Amplitude, hertz and phase of each, shape ``(n, 3)``.
        steps: Time and height of each, shape ``(m, 2)``.
    """

    middle: float
    waves: Floats
    steps: Floats

    def at(self, t: Seconds) -> float:
        """The value at ``t``."""
        amplitudes, rates, phases = self.waves.T
        value = self.middle + float((amplitudes * np.sin(2 * np.pi * rates * t + phases)).sum())
        since = np.maximum(t - self.steps[:, 0], 0.0)
        return value + float((self.steps[:, 1] * (1.0 - np.exp(-since / SETTLING))).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensor:
    """What turns light into pixels, the same for a whole clip.

    Attributes:
        exposure: In stops; 0 leaves white paper in full light just unclipped.
        warmth: Natural logarithm of red over blue.
        vignetting: Stops lost in the picture's corners.
        noise: Standard deviation of the shot noise at white, and of the read noise; linear light.
        grain: Noise of unit variance, shape ``(size, size, 3)``.
        sharpening: Share of the detail that is added once more; negative: a soft lens.
        contrast, knee: Of the tone curve: see :func:`tone_curve`.
        seed: Tells how the grain is laid over each frame.
        shutter: For how long it is open, seconds.
        crf: Quality to encode with, for :func:`replay.synth.render.write_video`.
    """

    lens: Lens
    exposure: Drift
    warmth: Drift
    vignetting: float
    noise: tuple[float, float]
    grain: NDArray[np.float32] = field(repr=False)
    sharpening: float
    contrast: float
    knee: float
    seed: int
    shutter: Seconds
    crf: int

    @classmethod
    def draw(
        cls, rng: np.random.Generator, difficulty: Difficulty, lens: Lens, seconds: Seconds
    ) -> Sensor:
        """A sensor as ``configs/synth_camera.toml`` describes them, for a clip of ``seconds``."""
        looks = looks_of(difficulty)
        times = rng.uniform(0, seconds, rng.poisson(rng.uniform(*looks.step_rate) * seconds))
        heights = rng.uniform(*looks.step, len(times)) * rng.choice([-1.0, 1.0], len(times))
        return cls(
            lens=lens,
            exposure=Drift(
                middle=rng.uniform(*looks.exposure),
                waves=_waves(rng, rng.uniform(*looks.drift)),
                steps=np.stack([times, heights], axis=1),
            ),
            warmth=Drift(
                middle=rng.uniform(*looks.warmth),
                waves=_waves(rng, rng.uniform(*looks.warmth_drift)),
                steps=np.zeros((0, 2)),
            ),
            vignetting=rng.uniform(*looks.vignetting),
            noise=(rng.uniform(*looks.shot_noise), rng.uniform(*looks.read_noise)),
            grain=_grain(rng, rng.uniform(*looks.grain)),
            sharpening=rng.uniform(*looks.sharpening),
            seed=int(rng.integers(2**31)),
            shutter=rng.uniform(*looks.shutter),
            crf=int(rng.integers(looks.crf[0], looks.crf[1] + 1)),
            contrast=rng.uniform(*looks.contrast),
            knee=rng.uniform(*looks.knee),
        )

    def expose(self, rgb: NDArray[np.float32], t: Seconds) -> NDArray[np.uint8]:
        """The frame taken at ``t`` of linear light, shape ``(height, width, 3)``."""
        rng = np.random.default_rng([self.seed, round(t * 1e6)])
        offsets = rng.integers(0, GRAIN_SIZE, 2)
        warmth = self.warmth.at(t)
        gains = 2.0 ** self.exposure.at(t) * np.exp([warmth / 2, 0.0, -warmth / 2])
        tones = tone_curve(self.contrast, self.knee)
        soft = np.empty(rgb.shape, np.float32)
        _develop(rgb, gains, self.vignetting, self.noise, self.grain, offsets, tones, soft)
        out = np.empty(rgb.shape, np.uint8)
        _sharpen(soft, self.sharpening, out)
        return out


def _waves(rng: np.random.Generator, amplitude: float) -> Floats:
    return np.stack(
        [
            amplitude * np.array([0.7, 0.3]),
            [rng.uniform(0.05, 0.2), rng.uniform(0.3, 0.8)],
            rng.uniform(0, 2 * np.pi, 2),
        ],
        axis=1,
    )


def _grain(rng: np.random.Generator, spread: float) -> NDArray[np.float32]:
    """Noise, each value leaking ``spread`` of itself to its neighbours, as demosaicing does.

    Most of it is grey, and its colours are in wider spots, as cameras smooth those more.
    """
    size = (GRAIN_SIZE, GRAIN_SIZE)
    grey = _spread(rng.standard_normal((*size, 1), np.float32), spread)
    colours = rng.standard_normal((*size, 3), np.float32)
    for _ in range(2):
        colours = _spread(colours, 0.8)
    return np.asarray(0.87 * grey + 0.5 * colours, np.float32)


def _spread(noise: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    for axis in (0, 1):
        noise = noise + np.float32(share) * (np.roll(noise, 1, axis) + np.roll(noise, -1, axis))
    return np.asarray(noise / noise.std(), np.float32)


def tone_curve(contrast: float, knee: float) -> NDArray[np.float32]:
    """sRGB values 0...255 of linear light 0...:data:`BRIGHTEST`.

    Args:
        contrast: 0...1, of an S curve on the sRGB values, which leaves black, middle and white as
            they are: in the middle it is 1 + contrast / 2 times as steep as without.
        knee: Light above which highlights are rolled off; at 1 they are cut.
    """
    light = np.arange(TONES + 1) * (BRIGHTEST / TONES)
    room = max(1.0 - knee, 1e-6)
    over = np.maximum(light - knee, 0.0)
    rolled = np.where(light < knee, light, knee + room * (1 - np.exp(-over / room)))
    low, high = rolled * 12.92, 1.055 * np.maximum(rolled, 1e-9) ** (1 / 2.4) - 0.055
    value = np.clip(np.where(rolled < 0.0031308, low, high), 0.0, 1.0)
    curved = value + contrast * (value**2 * (3 - 2 * value) - value)
    return np.asarray(255.0 * curved, np.float32)


@compiled
def _develop(
    rgb: Any, gains: Any, vignetting: float, noise: Any, grain: Any, offsets: Any, tones: Any,
    out: Any,
) -> None:  # fmt: skip
    height, width = rgb.shape[:2]
    corner = (width * width + height * height) / 4.0
    shot, read = noise
    step = TONES / BRIGHTEST
    for row in range(height):
        for column in range(width):
            square = (row + 0.5 - height / 2) ** 2 + (column + 0.5 - width / 2) ** 2
            dim = 1.0 - (1.0 - 2.0**-vignetting) * square / corner
            down, along = (row + offsets[0]) % GRAIN_SIZE, (column + offsets[1]) % GRAIN_SIZE
            for channel in range(3):
                light = rgb[row, column, channel] * gains[channel] * dim
                light += grain[down, along, channel] * np.sqrt(read * read + shot * shot * light)
                place = min(max(light * step, 0.0), TONES - 1.0)
                whole = int(place)
                low = tones[whole]
                out[row, column, channel] = low + (place - whole) * (tones[whole + 1] - low)


@compiled
def _sharpen(soft: Any, strength: float, out: Any) -> None:
    height, width = soft.shape[:2]
    for row in range(height):
        above, below = max(row - 1, 0), min(row + 1, height - 1)
        for column in range(width):
            left, right = max(column - 1, 0), min(column + 1, width - 1)
            for channel in range(3):
                here = soft[row, column, channel]
                beside = (
                    soft[above, column, channel]
                    + soft[below, column, channel]
                    + soft[row, left, channel]
                    + soft[row, right, channel]
                )
                value = here + strength * (here - 0.25 * beside)
                out[row, column, channel] = int(min(max(value + 0.5, 0.0), 255.0))
