"""Things to drink from, eat from and cook in."""

from __future__ import annotations

import numpy as np

from ..world import Mesh, Rgb
from .kinds import STEEL, Model, Part, builds, piece
from .palette import both
from .shapes import arc, cylinder, joined, moved, revolve, tube, turned, vessel


def _ear(radius: float, low: float, high: float, reach: float, thick: float) -> Mesh:
    """A mug's handle on the side of ``+x``."""
    angle = np.radians(np.linspace(-100, 100, 15))
    middle, half = (low + high) / 2, (high - low) / 2
    path = np.stack(
        [radius + reach * np.cos(angle) + 0.001, 0 * angle, middle + half * np.sin(angle)], 1
    )
    return tube(path, thick, flat=1.5, segments=10, up=(1.0, 0.0, 0.35))


@builds("mug")
def mug(rng: np.random.Generator, tone: Rgb) -> Model:
    radius, height = rng.uniform(0.037, 0.043), rng.uniform(0.085, 0.105)
    waist = radius * rng.uniform(0.86, 1.0)
    body = vessel(
        [
            *arc((waist - 0.006, 0.006), 0.006, -90, -10, 3),
            (0.5 * (waist + radius), height * 0.4),
            (radius, height * 0.75),
            (radius, height),
        ],
        0.0032,
        0.007,
    )
    handle = _ear(radius - 0.004, height * 0.2, height * 0.82, 0.028, 0.0045)
    parts = [piece(joined(body, handle), tone, 0.6)]
    if rng.random() < 0.4:
        parts.append(_inside(radius - 0.0034, height * 0.72, rng))
    return Model(parts=tuple(parts), details={"parts": both("a handle", "有把手")})


def _inside(radius: float, level: float, rng: np.random.Generator) -> Part:
    """Coffee, tea or milk at ``level``."""
    drinks: tuple[Rgb, ...] = ((0.16, 0.08, 0.04), (0.42, 0.2, 0.06), (0.86, 0.82, 0.74))
    surface = revolve([(0, level - 0.004), (radius, level - 0.004), (radius, level), (0, level)])
    return piece(surface, drinks[int(rng.integers(3))], 0.8)


@builds("cup")
def paper_cup(rng: np.random.Generator, tone: Rgb) -> Model:
    height, top = rng.uniform(0.085, 0.115), rng.uniform(0.038, 0.042)
    body = vessel([(top * 0.7, 0), (top * 0.72, 0.003), (top, height)], 0.0012, 0.006)
    lip = [
        (top + 0.0025 * np.cos(a), height + 0.0025 * np.sin(a))
        for a in np.linspace(0, 2 * np.pi, 9)
    ]
    return Model(parts=(piece(joined(body, revolve(lip)), tone, 0.15),))


@builds("tumbler")
def tumbler(rng: np.random.Generator, tone: Rgb) -> Model:
    height, top = rng.uniform(0.10, 0.14), rng.uniform(0.034, 0.040)
    foot = top * rng.uniform(0.75, 0.95)
    body = vessel([*arc((foot - 0.004, 0.004), 0.004, -90, 0, 2), (top, height)], 0.002, 0.007)
    return Model(parts=(piece(body, tone, 0.55),))


@builds("teacup")
def teacup(rng: np.random.Generator, tone: Rgb) -> Model:
    top, height = rng.uniform(0.036, 0.042), rng.uniform(0.05, 0.06)
    outside = [
        (top * 0.5, 0),
        (top * 0.52, 0.006),
        (top * 0.78, height * 0.35),
        (top * 0.93, height * 0.7),
        (top, height),
    ]
    return Model(
        parts=(
            piece(vessel(outside, 0.0026, 0.009), tone, 0.65),
            _inside(top * 0.9, height * 0.75, rng),
        )
    )


@builds("bowl")
def bowl(rng: np.random.Generator, tone: Rgb) -> Model:
    top, height = rng.uniform(0.058, 0.078), rng.uniform(0.05, 0.068)
    foot = top * 0.45
    curve = [
        (top * np.sin(a), height - (height - 0.006) * np.cos(a))
        for a in np.radians(np.linspace(34, 90, 7))
    ]
    body = vessel([(foot, 0), (foot, 0.006), *curve], 0.0035, 0.011)
    return Model(parts=(piece(body, tone, 0.6),))


@builds("small_bowl")
def small_bowl(rng: np.random.Generator, tone: Rgb) -> Model:
    top, height = rng.uniform(0.034, 0.042), rng.uniform(0.028, 0.036)
    curve = [
        (top * np.sin(a), height - (height - 0.004) * np.cos(a))
        for a in np.radians(np.linspace(36, 88, 6))
    ]
    body = vessel([(top * 0.55, 0), (top * 0.55, 0.004), *curve], 0.0028, 0.008)
    return Model(parts=(piece(body, tone, 0.6),))


@builds("plate")
def plate(rng: np.random.Generator, tone: Rgb) -> Model:
    top = rng.uniform(0.085, 0.115)
    outside = [(top * 0.58, 0), (top * 0.6, 0.003), (top * 0.72, 0.008), (top, 0.019)]
    return Model(parts=(piece(vessel(outside, 0.004, 0.006, 44), tone, 0.6),))


@builds("saucer")
def saucer(rng: np.random.Generator, tone: Rgb) -> Model:
    top = rng.uniform(0.056, 0.066)
    outside = [(top * 0.5, 0), (top * 0.52, 0.002), (top * 0.7, 0.005), (top, 0.014)]
    return Model(parts=(piece(vessel(outside, 0.003, 0.005, 40), tone, 0.6),))


@builds("shaker")
def shaker(rng: np.random.Generator, tone: Rgb) -> Model:
    height = rng.uniform(0.065, 0.085)
    body = revolve(
        [
            (0, 0),
            (0.018, 0),
            (0.021, 0.006),
            (0.017, height * 0.5),
            (0.019, height * 0.72),
            (0, height * 0.72),
        ]
    )
    top = revolve(
        [
            (0, height * 0.7),
            (0.0192, height * 0.7),
            (0.0192, height * 0.8),
            *arc((0.007, height - 0.012), 0.012, 20, 90, 5),
            (0, height),
        ]
    )
    return Model(parts=(piece(body, tone, 0.6), piece(top, STEEL, 0.8)))


@builds("pepper_mill")
def pepper_mill(rng: np.random.Generator, tone: Rgb) -> Model:
    h = rng.uniform(0.15, 0.2)
    body = revolve(
        [
            (0, 0),
            (0.028, 0),
            (0.029, 0.01),
            (0.02, h * 0.3),
            (0.017, h * 0.45),
            (0.023, h * 0.66),
            (0.015, h * 0.74),
            (0.024, h * 0.78),
            (0.026, h * 0.86),
            (0.014, h * 0.95),
            (0, h * 0.955),
        ]
    )
    return Model(
        parts=(
            piece(body, tone, 0.4),
            piece(moved(cylinder(0.006, 0.012, bevel=0.002, segments=16), z=h * 0.95), STEEL, 0.8),
        )
    )


@builds("teapot")
def teapot(rng: np.random.Generator, tone: Rgb) -> Model:
    r, h = rng.uniform(0.055, 0.068), rng.uniform(0.085, 0.1)
    curve = [
        (r * np.cos(a), h * 0.48 + h * 0.5 * np.sin(a))
        for a in np.radians(np.linspace(-62, 66, 12))
    ]
    body = revolve([(0, 0.002), (r * 0.5, 0), *curve, (0, h * 0.95)], 36)
    lid = revolve(
        [
            (0, h * 0.92),
            (r * 0.42, h * 0.92),
            (r * 0.36, h),
            (0.008, h + 0.008),
            (0.006, h + 0.012),
            *arc((0.001, h + 0.02), 0.009, -50, 88, 6),
            (0, h + 0.029),
        ],
        24,
    )
    spout = tube(
        [
            (r * 0.8, 0, h * 0.3),
            (r * 1.2, 0, h * 0.42),
            (r * 1.4, 0, h * 0.7),
            (r * 1.62, 0, h * 0.88),
        ],
        [0.015, 0.012, 0.009, 0.007],
        up=(0, 1, 0),
    )
    handle = turned(_ear(r * 0.86, h * 0.2, h * 0.8, 0.042, 0.0055), "z", 180)
    return Model(
        parts=(piece(joined(body, lid, spout, handle), tone, 0.65),),
        details={"parts": both("a spout and a handle", "有壶嘴和把手")},
    )


@builds("candle")
def candle(rng: np.random.Generator, tone: Rgb) -> Model:
    r, h = rng.uniform(0.022, 0.034), rng.uniform(0.05, 0.09)
    body = revolve(
        [
            (0, 0),
            *arc((r - 0.003, 0.003), 0.003, -90, 0, 2),
            (r, h),
            (r * 0.85, h + 0.001),
            (r * 0.6, h - 0.006),
            (0, h - 0.007),
        ]
    )
    wick = tube(
        [(0, 0, h - 0.008), (0.0005, 0, h), (0.003, 0, h + 0.007)], 0.0009, segments=6, up=(0, 1, 0)
    )
    return Model(parts=(piece(body, tone, 0.3), piece(wick, (0.12, 0.1, 0.08), 0.1)))


@builds("pot")
def saucepan(rng: np.random.Generator, tone: Rgb) -> Model:
    r, h = rng.uniform(0.065, 0.078), rng.uniform(0.06, 0.08)
    body = vessel(
        [*arc((r - 0.01, 0.01), 0.01, -90, 0, 3), (r, h), (r + 0.003, h + 0.001)], 0.0025, 0.006, 40
    )
    grip = tube(
        [(r - 0.001, 0, h * 0.8), (r + 0.05, 0, h * 0.9), (r + 0.12, 0, h * 0.95)],
        [0.005, 0.008, 0.009],
        flat=1.5,
    )
    return Model(
        parts=(piece(body, tone, 0.75), piece(grip, (0.1, 0.1, 0.1), 0.3)),
        details={"parts": both("a long handle", "有长柄")},
    )


@builds("pan")
def frying_pan(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.08, 0.098)
    body = vessel(
        [(r * 0.78, 0), (r * 0.82, 0.002), (r * 0.96, 0.024), (r, 0.034)], 0.003, 0.004, 44
    )
    grip = tube(
        [(r * 0.97, 0, 0.028), (r + 0.05, 0, 0.04), (r + 0.13, 0, 0.05)],
        [0.006, 0.008, 0.01],
        flat=1.7,
    )
    return Model(parts=(piece(body, tone, 0.5), piece(grip, (0.1, 0.1, 0.1), 0.3)))
