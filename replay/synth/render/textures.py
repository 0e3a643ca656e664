"""Textures in linear light, each with its smaller copies, end to end in one array."""

from __future__ import annotations

import math
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
def _bilinear(
    values: Any, levels: Any, texture: int, level: int, u: float, v: float
) -> tuple[float, float, float]:
    first = levels[texture, level, 0]
    height, width = levels[texture, level, 1], levels[texture, level, 2]
    x, y = (u - math.floor(u)) * width - 0.5, (v - math.floor(v)) * height - 0.5
    column, row = math.floor(x), math.floor(y)
    right, down = x - column, y - row
    other_column = column + 1 if column + 1 < width else 0
    other_row = row + 1 if row + 1 < height else 0
    column = column if column >= 0 else width - 1
    row = row if row >= 0 else height - 1
    top, bottom = first + row * width, first + other_row * width
    a, b, c, d = top + column, top + other_column, bottom + column, bottom + other_column
    p, q = (1.0 - right) * (1.0 - down), right * (1.0 - down)
    r, s = (1.0 - right) * down, right * down
    return (
        p * values[a, 0] + q * values[b, 0] + r * values[c, 0] + s * values[d, 0],
        p * values[a, 1] + q * values[b, 1] + r * values[c, 1] + s * values[d, 1],
        p * values[a, 2] + q * values[b, 2] + r * values[c, 2] + s * values[d, 2],
    )


@inlined
def look_up(
    values: Any, levels: Any, texture: int, u: float, v: float, footprint: float
) -> tuple[float, float, float]:
    """The texture at ``(u, v)``, blurred over the share ``footprint`` of its area."""
    texels = footprint * levels[texture, 0, 1] * levels[texture, 0, 2]
    whole = 0
    while texels > 4.0 and whole < LEVELS - 2:
        texels *= 0.25
        whole += 1
    # Between the levels only half of the way is blended: the other half is one level, for speed.
    part = min(max(0.75 * texels - 1.0, 0.0), 1.0)
    if part == 1.0:
        return _bilinear(values, levels, texture, whole + 1, u, v)
    red, green, blue = _bilinear(values, levels, texture, whole, u, v)
    if part == 0.0:
        return red, green, blue
    other_red, other_green, other_blue = _bilinear(values, levels, texture, whole + 1, u, v)
    return (
        red + part * (other_red - red),
        green + part * (other_green - green),
        blue + part * (other_blue - blue),
    )
