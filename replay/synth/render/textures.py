"""Textures in linear light, each with its smaller copies, end to end in one array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import inlined


class Texels(NamedTuple):
    """What the compiled loops see of an :class:`Atlas`.

    Attributes:
        values: Linear colours, shape ``(n, 3)``.
        levels: Of each texture and level: first texel, height, width; shape ``(t, 16, 3)``. Above
            the last level it repeats.
    """

    values: NDArray[np.float32]
    levels: NDArray[np.int32]


LEVELS = 16


def linear(srgb: NDArray[Any]) -> NDArray[np.float32]:
    """Linear light of sRGB fractions."""
    srgb = np.asarray(srgb, np.float32)
    low, high = srgb / 12.92, ((np.maximum(srgb, 0) + 0.055) / 1.055) ** 2.4
    return np.where(srgb <= 0.04045, low, high).astype(np.float32)


class Atlas:
    """Textures by number. An array that comes again gets the number that it has."""

    def __init__(self) -> None:
        self._known: list[NDArray[np.uint8]] = []
        self._values: list[NDArray[np.float32]] = []
        self._levels: list[list[tuple[int, int, int]]] = []
        self._size = 0
        self._texels: Texels | None = None

    def number(self, texture: NDArray[np.uint8]) -> int:
        """The number of ``texture``, shape ``(h, w, 3)``, sRGB.

        Raises:
            ValueError: If it has another shape or type.
        """
        for number, known in enumerate(self._known):
            if known is texture:
                return number
        if texture.ndim != 3 or texture.shape[2] != 3 or texture.dtype != np.uint8:
            raise ValueError(f"a texture of {texture.shape} {texture.dtype} is not (h, w, 3) uint8")
        self._known.append(texture)
        table = linear(np.arange(256) / 255.0)
        levels = []
        level: NDArray[np.float32] = table[texture]
        while True:
            levels.append((self._size, level.shape[0], level.shape[1]))
            self._values.append(level.reshape(-1, 3))
            self._size += level.shape[0] * level.shape[1]
            if max(level.shape[:2]) == 1 or len(levels) == LEVELS:
                break
            level = _halved(level)
        self._levels.append(levels + [levels[-1]] * (LEVELS - len(levels)))
        self._texels = None
        return len(self._known) - 1

    @property
    def texels(self) -> Texels:
        """Everything so far."""
        if self._texels is None:
            self._texels = Texels(
                np.concatenate([*self._values, np.ones((1, 3), np.float32)]),
                np.array(self._levels, np.int32).reshape(-1, LEVELS, 3),
            )
        return self._texels


def _halved(level: NDArray[np.float32]) -> NDArray[np.float32]:
    """Means of neighbours along each axis that has any."""
    for axis in (0, 1):
        size = level.shape[axis]
        if size > 1:
            even = level.take(range(0, size, 2), axis)
            odd = level.take([min(at, size - 1) for at in range(1, size + 1, 2)], axis)
            level = (even + odd) * np.float32(0.5)
    return level


@inlined
def _add_level(
    texels: Texels, texture: int, level: int, u: float, v: float, weight: float, out: Any
) -> None:
    """Add ``weight`` times the bilinear value at ``(u, v)`` to ``out``."""
    first, height, width = texels.levels[texture, level]
    x = (u - np.floor(u)) * width - 0.5
    y = (v - np.floor(v)) * height - 0.5
    column, row = int(np.floor(x)), int(np.floor(y))
    right, down = x - column, y - row
    left_column, right_column = column % width, (column + 1) % width
    top, bottom = (row % height) * width, ((row + 1) % height) * width
    one = weight * (1.0 - right) * (1.0 - down)
    two = weight * right * (1.0 - down)
    three = weight * (1.0 - right) * down
    four = weight * right * down
    for channel in range(3):
        out[channel] += (
            one * texels.values[first + top + left_column, channel]
            + two * texels.values[first + top + right_column, channel]
            + three * texels.values[first + bottom + left_column, channel]
            + four * texels.values[first + bottom + right_column, channel]
        )


@inlined
def look_up(texels: Texels, texture: int, u: float, v: float, footprint: float, out: Any) -> None:
    """The texture at ``(u, v)`` into ``out``, three values, blurred over ``footprint`` of its area.

    Args:
        footprint: Share of the texture that one pixel covers, as an area.
    """
    height, width = texels.levels[texture, 0, 1], texels.levels[texture, 0, 2]
    out[0] = out[1] = out[2] = 0.0
    level = 0.5 * np.log2(max(footprint * height * width, 1.0))
    level = min(level, LEVELS - 2.0)
    whole = int(level)
    part = level - whole
    _add_level(texels, texture, whole, u, v, 1.0 - part, out)
    if part > 0.02:
        _add_level(texels, texture, whole + 1, u, v, part, out)
