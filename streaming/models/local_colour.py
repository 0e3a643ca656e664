"""Colours as people name them.

Pixels go to OKLab (Ottosson, 2020), where distances follow the eye. A shadow scales the three
coordinates alike, so names are told by hue and by chroma over lightness, and only a little by
lightness itself (it is what parts brown from orange, pink from red, and white from black).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[np.float32]
"""Colours, shape ``(..., 3)``."""

_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    dtype=np.float32,
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ],
    dtype=np.float32,
)
_LINEAR = np.array(
    [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in np.linspace(0.0, 1.0, 256)
    ],
    dtype=np.float32,
)
_LIGHTNESS_WEIGHT = 0.35
_CHROMA_WEIGHT = 0.6
_DARKEST = 0.25
"""Below this lightness chroma is noise and no longer divided by it."""
_STEPS = 32
"""Levels of each channel in the table of names; eight grey levels make no other name."""
_SPREAD = 0.06
"""Distance at which a name is e times less likely."""


def linear(rgb: NDArray[np.uint8]) -> Pixels:
    """Linear light of sRGB bytes, 0...1."""
    return _LINEAR[rgb]


def oklab(light: Pixels) -> Pixels:
    """OKLab coordinates of linear sRGB light."""
    cones = np.cbrt(np.maximum(light @ _TO_CONES.T, 0.0))
    return np.asarray(cones @ _TO_LAB.T, dtype=np.float32)


class ColourNames:
    """Says how likely each colour name is.

    Attributes:
        names: In the order of the columns of :meth:`likelihoods`.

    Args:
        examples: For each name some colours as ``#rrggbb``.

    Raises:
        ValueError: If a colour is not written so.
    """

    def __init__(self, examples: Mapping[str, tuple[str, ...]]) -> None:
        self.names = tuple(examples)
        colours = [_parsed(text) for name in self.names for text in examples[name]]
        self._owner = np.repeat(
            np.arange(len(self.names)), [len(examples[name]) for name in self.names]
        )
        lab = oklab(linear(np.asarray(colours, dtype=np.uint8)))
        self._examples = _features(lab)
        self._table = self._best_of_bytes()

    def likelihoods(self, light: Pixels) -> NDArray[np.float32]:
        """Share of each name, shape ``(n, names)``, rows adding up to 1, for ``(n, 3)`` light."""
        features = _features(oklab(light))
        gaps = np.linalg.norm(features[:, None, :] - self._examples[None, :, :], axis=2)
        nearest = np.stack(
            [gaps[:, self._owner == index].min(axis=1) for index in range(len(self.names))], axis=1
        )
        weights = np.exp(
            -((nearest / _SPREAD) ** 2) + ((nearest.min(axis=1)) / _SPREAD)[:, None] ** 2
        )
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)

    def best(self, rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Position of the likeliest name of each sRGB pixel, shape ``rgb.shape[:-1]``."""
        level = rgb // (256 // _STEPS)
        return np.asarray(self._table[level[..., 0], level[..., 1], level[..., 2]], dtype=np.uint8)

    def _best_of_bytes(self) -> NDArray[np.uint8]:
        levels = (np.arange(_STEPS) + 0.5) * (256 / _STEPS)
        grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1)
        shares = self.likelihoods(linear(grid.astype(np.uint8)).reshape(-1, 3))
        best = shares.argmax(axis=1).reshape(_STEPS, _STEPS, _STEPS)
        return np.asarray(best, dtype=np.uint8)


def illuminants(light: Pixels) -> tuple[Pixels, ...]:
    """Gains that undo the light's colour, as guesses: none, half and the whole of a grey edge.

    A grey-edge estimate (van de Weijer et al., 2007) takes the colour of the picture's *changes*,
    so that a large coloured table does not count as coloured light.

    Args:
        light: Linear picture, shape ``(height, width, 3)``.

    Returns:
        Gains of shape ``(3,)``, to be multiplied onto linear light.
    """
    edges = np.abs(np.diff(light, axis=1))[:-1] + np.abs(np.diff(light, axis=0))[:, :-1]
    strength = np.power(np.mean(np.power(edges, 5.0), axis=(0, 1)), 0.2) + 1e-4
    gains = np.clip(strength.mean() / strength, 0.6, 1.7)
    return (
        np.ones(3, dtype=np.float32),
        np.asarray(np.sqrt(gains), dtype=np.float32),
        np.asarray(gains, dtype=np.float32),
    )


def _features(lab: Pixels) -> Pixels:
    lightness = lab[..., :1]
    chroma = lab[..., 1:] / np.maximum(lightness, _DARKEST)
    return np.concatenate([_LIGHTNESS_WEIGHT * lightness, _CHROMA_WEIGHT * chroma], axis=-1)


def _parsed(text: str) -> tuple[int, int, int]:
    digits = text.removeprefix("#")
    try:
        if len(digits) != 6:
            raise ValueError(f"{len(digits)} digits")
        red, green, blue = bytes.fromhex(digits)
    except ValueError as error:
        raise ValueError(f"colour {text!r} is not written #rrggbb: {error}") from None
    return red, green, blue
