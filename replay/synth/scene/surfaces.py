"""Textures of tables, floors, walls and cloths: made from noise, and tileable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..world import Floats, Rgb
from .kinds import Setting

SIZE = 1024
"""Side of a texture, pixels."""

Texture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What a table top or floor is covered with.

    Attributes:
        key: What it is.
        period: Metres after which it repeats.
        colour: Its mean, sRGB.
    """

    key: str
    texture: Texture
    period: float
    gloss: float
    colour: Rgb


def noise(
    rng: np.random.Generator, *, coarse: tuple[float, float], falloff: float = 1.2, size: int = SIZE
) -> Floats:
    """Tileable noise with mean 0 and spread 1, shape ``(size, size)``.

    Args:
        coarse: Largest wave along the rows and the columns, as shares of the side; a small one
            makes the noise streaky across it.
        falloff: How fast finer waves fade.
    """
    spectrum = np.fft.rfft2(rng.standard_normal((size, size), np.float32))
    down = np.fft.fftfreq(size)[:, None] * size * coarse[1]
    across = np.fft.rfftfreq(size)[None, :] * size * coarse[0]
    wave = np.sqrt(down**2 + across**2).astype(np.float32)
    spectrum *= np.where(wave < 0.8, 0.0, 1.0 / (1.0 + wave) ** falloff)
    field = np.fft.irfft2(spectrum, (size, size))
    return np.asarray((field - field.mean()) / (field.std() + 1e-9), np.float64)


def _painted(base: Rgb, change: Floats, spread: float | Floats) -> Texture:
    """The base colour with its lightness changed, shape ``(h, w, 3)``."""
    light = 1.0 + np.asarray(spread) * change
    colour = np.asarray(base) * 255.0
    return np.clip(light[..., None] * colour, 0, 255).astype(np.uint8)


def _surface(key: str, texture: Texture, period: float, gloss: float) -> Surface:
    mean = texture.reshape(-1, 3).mean(0) / 255.0
    return Surface(
        key=key,
        texture=texture,
        period=period,
        gloss=gloss,
        colour=(float(mean[0]), float(mean[1]), float(mean[2])),
    )


_WOODS: tuple[Rgb, ...] = (
    (0.66, 0.48, 0.31), (0.55, 0.37, 0.22), (0.42, 0.27, 0.17), (0.78, 0.64, 0.46),
    (0.33, 0.21, 0.14), (0.72, 0.58, 0.42), (0.58, 0.47, 0.37),
)  # fmt: skip
_LAMINATES: tuple[Rgb, ...] = (
    (0.88, 0.87, 0.84), (0.78, 0.78, 0.77), (0.62, 0.64, 0.66), (0.30, 0.31, 0.33),
    (0.83, 0.78, 0.68), (0.55, 0.62, 0.60), (0.17, 0.17, 0.18), (0.70, 0.66, 0.60),
)  # fmt: skip


def _pick(rng: np.random.Generator, colours: tuple[Rgb, ...]) -> Rgb:
    base = np.asarray(colours[int(rng.integers(len(colours)))]) * rng.uniform(0.92, 1.06)
    return float(base[0]), float(base[1]), float(base[2])


def wood(rng: np.random.Generator) -> Surface:
    """Boards with grain along the columns or the rows."""
    boards = int(rng.choice([1, 4, 5, 7]))
    row = np.arange(SIZE)
    board = row * boards // SIZE
    slow = noise(rng, coarse=(1.0, 0.35), falloff=2.2)
    fine = noise(rng, coarse=(0.9, 0.012), falloff=1.1)
    shift = rng.integers(0, SIZE, boards)
    columns = (np.arange(SIZE)[None, :] + shift[board][:, None]) % SIZE
    slow, fine = slow[row[:, None], columns], fine[row[:, None], columns]
    rings = np.sin((row[:, None] / SIZE * boards + 0.35 * slow) * 2 * np.pi * rng.integers(2, 5))
    pores = np.clip(noise(rng, coarse=(0.06, 0.004), falloff=0.8) - 1.7, 0, 1)
    change = 0.5 * slow + 0.7 * fine + 0.5 * rings - 1.6 * pores
    change += 0.9 * rng.standard_normal(boards)[board][:, None]
    if boards > 1:
        edge = (row * boards % SIZE) < 2 * boards
        change[edge] -= 4.0
    texture = _painted(_pick(rng, _WOODS), change, rng.uniform(0.05, 0.085))
    if rng.random() < 0.25:
        texture = np.ascontiguousarray(texture.transpose(1, 0, 2))
    return _surface("wood", texture, float(rng.uniform(0.6, 0.95)), float(rng.uniform(0.1, 0.5)))


def laminate(rng: np.random.Generator) -> Surface:
    """Plain, with fine specks and a little wear."""
    speck = noise(rng, coarse=(0.01, 0.01), falloff=0.6)
    wear = noise(rng, coarse=(0.7, 0.7), falloff=1.8)
    texture = _painted(_pick(rng, _LAMINATES), 0.02 * speck + 0.018 * wear, 1.0)
    return _surface("laminate", texture, 0.7, float(rng.uniform(0.1, 0.5)))


def steel(rng: np.random.Generator) -> Surface:
    """Brushed, scratched and a little stained."""
    brushed = noise(rng, coarse=(1.0, 0.004), falloff=0.7)
    stain = noise(rng, coarse=(0.5, 0.5), falloff=1.7)
    texture = _painted((0.58, 0.59, 0.61), 0.045 * brushed + 0.05 * stain, 1.0)
    for _ in range(int(rng.integers(10, 50))):
        start, way = rng.integers(0, SIZE, 2), rng.normal(0, 60, 2)
        end = start + way
        tone = float(rng.uniform(95, 190))
        cv2.line(
            texture, (int(start[0]), int(start[1])), (int(end[0]), int(end[1])),
            (tone, tone, tone), 1, cv2.LINE_AA,
        )  # fmt: skip
    return _surface("steel", texture, 0.8, float(rng.uniform(0.3, 0.7)))


def stone(rng: np.random.Generator) -> Surface:
    """Granite specks or marble veins."""
    if rng.random() < 0.5:
        grains = noise(rng, coarse=(0.02, 0.02), falloff=0.7)
        clouds = noise(rng, coarse=(0.25, 0.25), falloff=1.5)
        base = _pick(rng, ((0.45, 0.44, 0.43), (0.28, 0.28, 0.29), (0.62, 0.57, 0.5)))
        steps = np.where(grains > 1.0, 1.4, np.where(grains < -1.0, -1.5, 0.25 * grains))
        texture = _painted(base, 0.16 * steps + 0.06 * clouds, 1.0)
    else:
        clouds = noise(rng, coarse=(0.6, 0.6), falloff=1.7)
        veins = np.exp(-((noise(rng, coarse=(0.8, 0.8), falloff=1.9) / 0.07) ** 2))
        base = _pick(rng, ((0.85, 0.84, 0.82), (0.22, 0.23, 0.24), (0.8, 0.74, 0.66)))
        sign = -1.0 if base[0] > 0.5 else 1.5
        texture = _painted(base, 0.03 * clouds + sign * 0.14 * veins, 1.0)
    return _surface("stone", texture, 0.8, float(rng.uniform(0.35, 0.8)))


def cloth(rng: np.random.Generator) -> Surface:
    """A table cloth: plain weave, checks, stripes or dots."""
    hues = ((0.80, 0.20, 0.20), (0.22, 0.36, 0.62), (0.25, 0.5, 0.35), (0.85, 0.8, 0.7),
            (0.45, 0.45, 0.5), (0.88, 0.75, 0.35))  # fmt: skip
    first = np.asarray(_pick(rng, hues))
    second = np.asarray((0.92, 0.91, 0.88)) if rng.random() < 0.7 else first * 0.7
    row, column = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    times = int(rng.choice([6, 8, 12]))
    style = int(rng.integers(4))
    if style == 0:
        share = 0.5 * ((row * times % 1) < 0.5) + 0.5 * ((column * times % 1) < 0.5)
    elif style == 1:
        share = 1.0 * ((row * times % 1) < 0.35)
    elif style == 2:
        from_dot = np.hypot(row * times % 1 - 0.5, column * times % 1 - 0.5)
        share = np.clip((0.24 - from_dot) * 30, 0, 1)
    else:
        share = np.zeros_like(row)
    base = first * (1 - share[..., None]) + second * share[..., None]
    weave = np.where((np.arange(SIZE)[:, None] + np.arange(SIZE)[None, :]) % 4 < 2, 1.0, -1.0)
    folds = noise(rng, coarse=(0.8, 0.8), falloff=2.2)
    light = 1 + 0.03 * weave + 0.035 * folds + 0.02 * rng.standard_normal((SIZE, SIZE))
    texture = np.clip(base * light[..., None] * 255, 0, 255).astype(np.uint8)
    return _surface("cloth", texture, 0.5, 0.02)


def cutting_mat(rng: np.random.Generator) -> Surface:
    """A workshop's green or grey mat with lines every centimetre and five."""
    base = _pick(rng, ((0.10, 0.36, 0.27), (0.14, 0.24, 0.38), (0.22, 0.23, 0.24)))
    texture = _painted(base, noise(rng, coarse=(0.02, 0.02), falloff=0.6), 0.03)
    fine, bold = np.asarray(base) * 255 + 34, np.asarray(base) * 255 + 90
    for i in range(50):
        at = round(i * SIZE / 50)
        wide, tone = (2, bold) if i % 5 == 0 else (1, fine)
        texture[at : at + wide] = tone
        texture[:, at : at + wide] = tone
    return _surface("mat", texture, 0.5, 0.08)


def workbench(rng: np.random.Generator) -> Surface:
    """A worn bench top: stained wood with scratches and spots of oil."""
    top = wood(rng)
    dirt = np.clip(noise(rng, coarse=(0.5, 0.5), falloff=1.5) - 0.3, 0, 2)
    scratch = np.clip(noise(rng, coarse=(0.3, 0.006), falloff=0.9) - 2.0, 0, 1)
    light = 1 - 0.16 * dirt + 0.25 * scratch
    grey = top.texture.mean(-1, keepdims=True)
    faded = 0.55 * top.texture + 0.45 * grey
    texture = np.clip(faded * light[..., None] * 0.9, 0, 255).astype(np.uint8)
    return _surface("workbench", texture, top.period, 0.08)


_TABLES: dict[Setting, tuple[tuple[Callable[[np.random.Generator], Surface], float], ...]] = {
    "Kitchen": ((wood, 0.4), (stone, 0.25), (laminate, 0.15), (cloth, 0.2)),
    "Office": ((wood, 0.4), (laminate, 0.5), (cutting_mat, 0.1)),
    "Industrial": ((workbench, 0.35), (steel, 0.3), (cutting_mat, 0.15), (laminate, 0.2)),
}


def draw_table(rng: np.random.Generator, setting: Setting) -> Surface:
    """A table top as they are found in the setting."""
    makers = _TABLES[setting]
    weights = np.array([weight for _, weight in makers])
    return makers[int(rng.choice(len(makers), p=weights / weights.sum()))][0](rng)


def draw_wall(rng: np.random.Generator, colour: Rgb) -> Texture:
    """Plaster, wallpaper with stripes, or tiles, out of focus."""
    size = 256
    light = 0.012 * noise(rng, coarse=(0.9, 0.9), falloff=1.6, size=size)
    light += 0.006 * noise(rng, coarse=(0.03, 0.03), falloff=0.8, size=size)
    style = float(rng.random())
    if style < 0.2:
        stripes = np.sin(np.arange(size) * 2 * np.pi * int(rng.choice([5, 8])) / size)
        light = light + 0.06 * np.clip(3 * stripes, -1, 1)[None, :]
    elif style < 0.4:
        step = size // int(rng.choice([4, 8]))
        joint = np.zeros((size, size))
        joint[::step] = joint[:, ::step] = 1.0
        tone = rng.normal(0, 0.02, (size // step, size // step)).repeat(step, 0).repeat(step, 1)
        light = light + tone - 0.14 * cv2.GaussianBlur(joint, (0, 0), 0.8)
    return _painted(colour, light, 1.0)


def draw_floor(rng: np.random.Generator, setting: Setting) -> Surface:
    """Boards, tiles, carpet or concrete, coarse enough for its distance."""
    style = int(rng.integers(4))
    if style == 0 and setting != "Industrial":
        return boards(rng)
    if style <= 1:
        return _tiles(rng)
    fine = noise(rng, coarse=(0.02, 0.02), falloff=0.5, size=256)
    slow = noise(rng, coarse=(0.9, 0.9), falloff=1.7, size=256)
    base = _pick(
        rng, ((0.50, 0.49, 0.47), (0.36, 0.38, 0.42), (0.55, 0.48, 0.41), (0.3, 0.32, 0.3))
    )
    rough = 0.6 * fine + 0.35 * slow if setting == "Office" else 0.3 * fine + 0.7 * slow
    return _surface("floor", _painted(base, rough, 0.05), 1.1, 0.05)


def boards(rng: np.random.Generator) -> Surface:
    """Floor boards, of a coarser texture than a table's."""
    size, count = 256, 8
    row = np.arange(size) * count // size
    grain = noise(rng, coarse=(1.0, 0.03), falloff=1.1, size=size)
    shift = rng.integers(0, size, count)[row]
    grain = grain[np.arange(size)[:, None], (np.arange(size)[None, :] + shift[:, None]) % size]
    change = 0.05 * grain + 0.06 * rng.standard_normal(count)[row][:, None]
    change[::32] -= 0.35
    ends = rng.integers(0, size, count)
    for number, end in enumerate(ends):
        change[number * 32 : number * 32 + 32, end] -= 0.35
    return _surface("boards", _painted(_pick(rng, _WOODS), change, 1.0), 1.1, 0.15)


def _tiles(rng: np.random.Generator) -> Surface:
    """Square tiles with joints."""
    size, count = 256, 4
    step = size // count
    slow = noise(rng, coarse=(0.5, 0.5), falloff=1.4, size=size)
    tone = rng.normal(0, 1, (count, count)).repeat(step, 0).repeat(step, 1)
    base = _pick(rng, ((0.78, 0.76, 0.72), (0.58, 0.55, 0.5), (0.4, 0.41, 0.43), (0.66, 0.5, 0.4)))
    texture = _painted(base, 0.03 * slow + 0.025 * tone, 1.0)
    joint = np.asarray(base) * 255 * rng.uniform(0.5, 0.8)
    texture[::step] = texture[1::step] = texture[:, ::step] = texture[:, 1::step] = joint
    return _surface("tiles", texture, float(rng.uniform(0.8, 1.4)), 0.3)
