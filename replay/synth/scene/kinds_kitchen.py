"""Cutlery and small kitchen tools."""

from __future__ import annotations

import numpy as np

from ..world import Mesh, Rgb
from .kinds import STEEL, Model, builds, mottled, piece
from .shapes import (
    arc,
    cut_out,
    cylinder,
    joined,
    moved,
    revolve,
    ring,
    rounded_box,
    scaled,
    tube,
    turned,
    vessel,
)


def _bowl_of_spoon(long: float, wide: float, deep: float) -> Mesh:
    """A spoon's bowl about the origin, its rim at ``z = 0``."""
    curve = [(np.sin(a), -np.cos(a)) for a in np.radians(np.linspace(12, 90, 6))]
    shell = vessel([(r, z + 1.0) for r, z in curve], 0.08, 0.06, 20)
    return moved(scaled(shell, long, wide, deep), z=-deep)


@builds("spoon")
def spoon(rng: np.random.Generator, tone: Rgb) -> Model:
    size = rng.uniform(0.75, 1.0)
    head = moved(_bowl_of_spoon(0.03, 0.02, 0.008), z=0.009)
    stem = tube(
        [(0.027, 0, 0.0085), (0.045, 0, 0.012), (0.09, 0, 0.008), (0.14, 0, 0.004)],
        [0.002, 0.0016, 0.002, 0.0025],
        flat=2.2,
        segments=10,
    )
    return Model(parts=(piece(scaled(joined(head, stem), size, size, 1), tone, 0.8),))


@builds("fork")
def fork(rng: np.random.Generator, tone: Rgb) -> Model:
    size = rng.uniform(0.8, 1.0)
    tines = [
        tube(
            [(0.0, 0.8 * y, 0.006), (-0.02, y, 0.004), (-0.045, y, 0.008)],
            [0.0013, 0.0013, 0.0008],
            segments=6,
        )
        for y in (-0.0085, -0.0028, 0.0028, 0.0085)
    ]
    palm = moved(rounded_box((0.03, 0.021, 0.0025), 0.0012, 2), x=0.012, z=0.0045)
    stem = tube(
        [(0.022, 0, 0.006), (0.05, 0, 0.011), (0.09, 0, 0.008), (0.135, 0, 0.004)],
        [0.002, 0.0016, 0.002, 0.0025],
        flat=2.2,
        segments=10,
    )
    return Model(parts=(piece(scaled(joined(*tines, palm, stem), size, size, 1), tone, 0.8),))


@builds("knife")
def knife(rng: np.random.Generator, tone: Rgb) -> Model:
    long, high = rng.uniform(0.09, 0.15), rng.uniform(0.022, 0.032)
    outline = [
        (0, 0),
        (-long * 0.6, 0.0),
        (-long * 0.88, high * 0.35),
        (-long, high * 0.8),
        (-long * 0.9, high),
        (0, high),
    ]
    blade = moved(cut_out(outline[::-1], 0.0018, bevel=0.0006), y=-high / 2, z=0.007)
    path = [(0.0, 0, 0.008), (0.03, 0, 0.009), (0.07, 0, 0.008), (0.1, 0, 0.007)]
    grip = tube(path, [0.0065, 0.008, 0.007, 0.0085], flat=1.35, segments=12, up=(0, 0, 1))
    return Model(parts=(piece(blade, STEEL, 0.9), piece(grip, tone, 0.3)))


@builds("chopsticks")
def chopsticks(rng: np.random.Generator, tone: Rgb) -> Model:
    def stick(y: float, lean: float) -> Mesh:
        return tube(
            [(-0.11, y + lean, 0.0028), (0.0, y, 0.0034), (0.11, y - lean, 0.004)],
            [0.0018, 0.003, 0.0038],
            segments=8,
        )

    lean = rng.uniform(-0.006, 0.006)
    return Model(parts=(piece(joined(stick(-0.007, 0.0), stick(0.007, lean)), tone, 0.35),))


@builds("spatula")
def spatula(rng: np.random.Generator, tone: Rgb) -> Model:
    outline = [
        (-0.045, -0.03),
        (0.035, -0.036),
        (0.042, 0.0),
        (0.035, 0.036),
        (-0.045, 0.03),
        (-0.056, 0),
    ]
    blade = cut_out(outline, 0.003, bevel=0.001)
    stem = tube(
        [(-0.045, 0, 0.004), (-0.08, 0, 0.012), (-0.14, 0, 0.016), (-0.22, 0, 0.012)],
        [0.004, 0.0045, 0.006, 0.008],
        flat=1.5,
    )
    return Model(parts=(piece(joined(blade, stem), tone, 0.3),))


@builds("whisk")
def whisk(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.linspace(-np.pi, np.pi, 17)
    loops = []
    for turn in (0, 60, 120):
        path = np.stack(
            [
                -0.045 - 0.052 * np.cos(a / 1.0) * np.where(np.abs(a) < np.pi, 1, 1),
                0.026 * np.sin(a),
                0 * a,
            ],
            1,
        )
        loops.append(
            turned(tube(path[:-1], 0.0009, loop=True, segments=5, up=(0.1, 0.1, 1)), "x", turn)
        )
    wires = moved(joined(*loops), z=0.026)
    grip = tube([(0.0, 0, 0.026), (0.05, 0, 0.018), (0.11, 0, 0.009)], [0.006, 0.008, 0.009])
    return Model(parts=(piece(wires, STEEL, 0.8), piece(grip, tone, 0.4)))


@builds("sponge")
def sponge(rng: np.random.Generator, tone: Rgb) -> Model:
    wide, deep = rng.uniform(0.085, 0.1), rng.uniform(0.06, 0.068)
    soft = mottled(rng, rounded_box((wide, deep, 0.022), 0.004, 2), 0.1, 0.004)
    pad = moved(rounded_box((wide, deep, 0.009), 0.003, 1), z=0.021)
    rough: Rgb = (0.1, 0.3, 0.16) if tone[1] < 0.6 or tone[0] > 0.6 else (0.16, 0.2, 0.4)
    return Model(parts=(piece(soft, tone, 0.0), piece(pad, rough, 0.0)))


@builds("bottle_cap")
def bottle_cap(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.arange(42) * (2 * np.pi / 42)
    radius = 0.0145 + 0.0005 * np.where(np.arange(42) % 2 == 0, 1, -1)
    outline = np.stack([radius * np.cos(a), radius * np.sin(a)], 1)
    skirt = cut_out(outline, 0.011)
    top = moved(cylinder(0.0138, 0.0015, bevel=0.0007, segments=24), z=0.0105)
    return Model(parts=(piece(joined(skirt, top), tone, 0.3),))


@builds("corkscrew")
def bottle_opener(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.arange(20) * (2 * np.pi / 20)
    outer = np.stack([0.021 * np.cos(a), 0.021 * np.sin(a)], 1)
    inner = np.stack([0.0135 * np.cos(a), 0.012 * np.sin(a)], 1)
    head = ring(outer, inner, 0.004)
    grip = moved(rounded_box((0.075, 0.018, 0.008), 0.0038, 2), x=0.055)
    return Model(parts=(piece(head, STEEL, 0.8), piece(grip, tone, 0.5)))


@builds("peeler")
def peeler(rng: np.random.Generator, tone: Rgb) -> Model:
    grip = tube(
        [(0.0, 0, 0.008), (0.05, 0, 0.009), (0.1, 0, 0.008)], [0.006, 0.0085, 0.008], flat=1.3
    )
    fork = joined(
        tube([(0.0, 0, 0.008), (-0.014, 0.022, 0.008), (-0.03, 0.024, 0.008)], 0.0028, segments=8),
        tube(
            [(0.0, 0, 0.008), (-0.014, -0.022, 0.008), (-0.03, -0.024, 0.008)], 0.0028, segments=8
        ),
    )
    blade = moved(rounded_box((0.009, 0.05, 0.0022), 0.001, 1), x=-0.028, z=0.007)
    return Model(parts=(piece(joined(grip, fork), tone, 0.35), piece(blade, STEEL, 0.9)))


@builds("rolling_pin")
def rolling_pin(rng: np.random.Generator, tone: Rgb) -> Model:
    r, half = rng.uniform(0.018, 0.024), rng.uniform(0.09, 0.11)
    end = [
        (0.0, -half - 0.05),
        *arc((0.003, -half - 0.043), 0.008, -80, 20, 4),
        (0.008, -half - 0.006),
        (0.006, -half),
    ]
    profile = [*end, (r - 0.004, -half), (r, -half + 0.004)]
    whole = revolve([*profile, *((a, -z) for a, z in reversed(profile))], 24)
    return Model(parts=(piece(moved(turned(whole, "y", 90), z=r), tone, 0.3),))


@builds("cutting_board")
def cutting_board(rng: np.random.Generator, tone: Rgb) -> Model:
    size = (rng.uniform(0.19, 0.23), rng.uniform(0.12, 0.15), rng.uniform(0.012, 0.02))
    return Model(parts=(piece(mottled(rng, rounded_box(size, 0.004), 0.05, 0.02), tone, 0.2),))
