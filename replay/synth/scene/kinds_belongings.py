"""What people carry about, play with and keep on a shelf."""

from __future__ import annotations

import numpy as np

from ..world import Mesh, Rgb
from .kinds import BLACK, WHITE, Model, builds, mottled, piece
from .labels import band_label, front_label, label_picture, top_label
from .palette import both, lighter
from .shapes import (
    arc,
    ball,
    cut_out,
    cylinder,
    joined,
    moved,
    plain_box,
    revolve,
    ring,
    rounded_box,
    scaled,
    tube,
    turned,
)


@builds("envelope")
def envelope(rng: np.random.Generator, tone: Rgb) -> Model:
    text = str(rng.choice(["URGENT", "INVOICE", "FOR TIM", "LETTER"]))
    wide, deep = 0.19, 0.11
    art = label_picture(rng, text, ground=tone, ratio=wide / deep, height=128, plain=True)
    return Model(
        parts=(
            piece(rounded_box((wide, deep, 0.002), 0.0008, 1), tone, 0.05),
            top_label(art, wide - 0.002, deep - 0.002, z=0.002, gloss=0.03),
        ),
        text=text,
        faces_wearer=True,
    )


@builds("box")
def cardboard_box(rng: np.random.Generator, tone: Rgb) -> Model:
    size = (rng.uniform(0.08, 0.14), rng.uniform(0.07, 0.11), rng.uniform(0.05, 0.1))
    text = str(
        rng.choice(
            [
                "PARTS",
                "SCREWS",
                "FRAGILE",
                "BOLTS M6",
                "CABLES",
                "FUSES",
                "TOOLS",
                "SAMPLES",
                "BOX 7",
            ]
        )
    )
    art = label_picture(rng, text, ground=WHITE, ratio=2.0, height=96)
    tape = moved(rounded_box((size[0] * 1.002, 0.03, 0.0008), 0.0003, 1), z=size[2] - 0.0003)
    return Model(
        parts=(
            piece(mottled(rng, rounded_box(size, 0.002, 1), 0.04), tone, 0.1),
            piece(tape, lighter(tone, 0.35), 0.5),
            front_label(art, size[0] * 0.6, size[0] * 0.3, y=size[1] / 2, z=size[2] / 2),
        ),
        text=text,
        faces_wearer=True,
    )


@builds("tissue_box")
def tissue_box(rng: np.random.Generator, tone: Rgb) -> Model:
    size = (0.2, 0.11, rng.uniform(0.06, 0.085))
    tuft = revolve(
        [
            (0, 0),
            (0.022, 0),
            (0.03, 0.02),
            (0.02, 0.036),
            (0.031, 0.05),
            (0.012, 0.043),
            (0, 0.035),
        ],
        9,
    )
    hole = moved(scaled(cylinder(0.04, 0.0015, segments=28), 1.3, 0.55, 1), z=size[2] - 0.0006)
    return Model(
        parts=(
            piece(rounded_box(size, 0.003, 1), tone, 0.15),
            piece(hole, BLACK, 0.0),
            piece(moved(scaled(tuft, 1.2, 0.6, 1), z=size[2] - 0.004), WHITE, 0.0, 80),
        )
    )


@builds("flower_pot")
def flower_pot(rng: np.random.Generator, tone: Rgb) -> Model:
    r, high = rng.uniform(0.036, 0.045), rng.uniform(0.06, 0.075)
    pot = revolve(
        [
            (0, 0),
            (r * 0.7, 0),
            (r * 0.95, high * 0.8),
            (r, high * 0.8),
            (r, high),
            (r * 0.9, high),
            (r * 0.88, high * 0.85),
            (0, high * 0.85),
        ],
        30,
    )
    leaves = []
    for i in range(9):
        angle, lean = i * 2.4, float(rng.uniform(0.25, 0.85))
        tip = np.array(
            [lean * 0.07 * np.cos(angle), lean * 0.07 * np.sin(angle), high + 0.085 * (1.1 - lean)]
        )
        middle = np.array([0.4 * tip[0], 0.4 * tip[1], high + 0.05 * (1.1 - lean * 0.5)])
        leaves.append(
            tube(
                np.stack([[0.0, 0.0, high * 0.83], middle, tip]),
                [0.003, 0.011, 0.002],
                flat=0.25,
                segments=8,
                up=(np.cos(angle + 1.57), np.sin(angle + 1.57), 0.0),
            )
        )
    green: Rgb = (0.14, float(rng.uniform(0.32, 0.45)), 0.13)
    return Model(parts=(piece(pot, tone, 0.2), piece(joined(*leaves), green, 0.25, 60)))


@builds("globe_ball")
def toy_ball(rng: np.random.Generator, tone: Rgb) -> Model:

    r = rng.uniform(0.022, 0.037)
    stripe = revolve(
        [
            (r * 0.996, -r * 0.1),
            (r * 1.004, -r * 0.1),
            (r * 1.004, r * 0.1),
            (r * 0.996, r * 0.1),
            (r * 0.996, -r * 0.1),
        ],
        32,
    )
    parts = [piece(moved(ball(r), z=r), tone, 0.55)]
    if rng.random() < 0.5:
        parts.append(piece(moved(turned(stripe, "x", float(rng.uniform(0, 60))), z=r), WHITE, 0.4))
    return Model(parts=tuple(parts))


@builds("block")
def toy_block(rng: np.random.Generator, tone: Rgb) -> Model:
    side = rng.uniform(0.028, 0.04)
    return Model(parts=(piece(rounded_box((side, side, side), 0.002, 2), tone, 0.35),))


@builds("brick")
def toy_brick(rng: np.random.Generator, tone: Rgb) -> Model:
    long = int(rng.choice([2, 3, 4]))
    body = rounded_box((0.008 * long, 0.016, 0.0096), 0.0004, 1)
    studs = [
        moved(
            cylinder(0.0024, 0.0018, segments=14),
            0.008 * (i - (long - 1) / 2),
            0.004 * s,
            0.0096 - 0.0001,
        )
        for i in range(long)
        for s in (-1, 1)
    ]
    return Model(parts=(piece(joined(body, *studs), tone, 0.6),))


@builds("dice")
def dice(rng: np.random.Generator, tone: Rgb) -> Model:
    side = rng.uniform(0.015, 0.019)
    layouts = {
        1: [(0, 0)],
        2: [(-1, -1), (1, 1)],
        3: [(-1, -1), (0, 0), (1, 1)],
        4: [(-1, -1), (1, 1), (-1, 1), (1, -1)],
        5: [(-1, -1), (1, 1), (-1, 1), (1, -1), (0, 0)],
        6: [(-1, -1), (1, 1), (-1, 1), (1, -1), (-1, 0), (1, 0)],
    }
    top = int(rng.integers(1, 7))
    sides = [top, *(k for k in range(1, 7) if k not in (top, 7 - top))]
    turns = [("x", 0.0), ("x", 90.0), ("x", -90.0), ("y", 90.0), ("y", -90.0)]
    pip = cylinder(side * 0.1, 0.0003, segments=10)
    pips = []
    for count, (axis, angle) in zip(sides, turns, strict=True):
        face = joined(
            *(
                moved(pip, u * side * 0.25, v * side * 0.25, side / 2 - 0.0001)
                for u, v in layouts[count]
            )
        )
        pips.append(moved(turned(face, axis, angle), z=side / 2))
    dots: Rgb = WHITE if sum(tone) < 1.5 else (0.08, 0.08, 0.08)
    return Model(
        parts=(
            piece(rounded_box((side, side, side), side * 0.14, 2), tone, 0.5),
            piece(joined(*pips), dots, 0.2),
        ),
        details={"top_face": both(str(top), str(top))},
    )


@builds("puzzle_cube")
def puzzle_cube(rng: np.random.Generator, tone: Rgb) -> Model:
    side = 0.056
    body = rounded_box((side, side, side), 0.003, 1)
    looks: tuple[Rgb, ...] = (
        (0.75, 0.12, 0.1),
        (0.1, 0.5, 0.2),
        (0.12, 0.25, 0.65),
        (0.88, 0.75, 0.1),
        (0.85, 0.4, 0.08),
        (0.9, 0.9, 0.88),
    )
    tile = plain_box(side * 0.29, side * 0.29, 0.0006)
    spots = [
        moved(tile, u * side * 0.315, v * side * 0.315, side / 2 - 0.0002)
        for u in (-1, 0, 1)
        for v in (-1, 0, 1)
    ]
    heaps: list[list[Mesh]] = [[] for _ in looks]
    for axis, angle in (("x", 0.0), ("x", 90.0), ("x", -90.0), ("y", 90.0), ("y", -90.0)):
        for spot in spots:
            heaps[int(rng.integers(6))].append(moved(turned(spot, axis, angle), z=side / 2))
    tiles = [
        piece(joined(*heap), look, 0.4) for heap, look in zip(heaps, looks, strict=True) if heap
    ]
    return Model(parts=(piece(body, BLACK, 0.3), *tiles))


@builds("key")
def door_key(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.arange(20) * (2 * np.pi / 20)
    bow = ring(
        np.stack([0.012 * np.cos(a), 0.012 * np.sin(a)], 1),
        np.stack([0.006 + 0.004 * np.cos(a), 0.004 * np.sin(a)], 1),
        0.0022,
    )
    steps = [
        (-0.010, -0.0035),
        (-0.010, 0.0035),
        (-0.045, 0.0035),
        (-0.048, 0.0),
        (-0.045, -0.0035),
        (-0.042, -0.0035),
        (-0.040, -0.0015),
        (-0.037, -0.0038),
        (-0.033, -0.001),
        (-0.029, -0.0038),
        (-0.025, -0.0018),
        (-0.021, -0.0038),
    ]
    blade = moved(cut_out(steps[::-1], 0.0018), z=0.0002)
    return Model(parts=(piece(joined(bow, blade), tone, 0.85),))


@builds("coin")
def coin(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.0095, 0.013)
    text = str(rng.choice(["1", "2", "5", "10", "50"]))
    art = label_picture(rng, text, ground=tone, ink=lighter(tone, -0.5), height=48, plain=True)
    disc = cylinder(r, 0.002, bevel=0.0004, segments=36)
    return Model(
        parts=(piece(disc, tone, 0.85), top_label(art, r * 1.15, r * 1.15, z=0.002, gloss=0.7)),
        text=text,
    )


@builds("glasses")
def spectacles(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.arange(22) * (2 * np.pi / 22)
    rims = [
        tube(
            np.stack([s * 0.034 + 0.026 * np.cos(a), 0 * a, 0.022 + 0.02 * np.sin(a)], 1),
            0.0018,
            loop=True,
            segments=7,
            up=(0, 1, 0),
        )
        for s in (-1, 1)
    ]
    bridge = tube(
        [(-0.009, 0, 0.027), (0, -0.003, 0.031), (0.009, 0, 0.027)],
        0.0017,
        segments=7,
        up=(0, 1, 0),
    )
    temples = [
        tube(
            [
                (s * 0.06, 0, 0.028),
                (s * 0.064, 0.012, 0.028),
                (s * 0.063, 0.08, 0.026),
                (s * 0.06, 0.125, 0.006),
            ],
            0.0018,
            segments=7,
        )
        for s in (-1, 1)
    ]
    return Model(parts=(piece(joined(*rims, bridge, *temples), tone, 0.6),))


@builds("wallet")
def wallet(rng: np.random.Generator, tone: Rgb) -> Model:
    lower = rounded_box((0.11, 0.088, 0.009), 0.004, 2)
    upper = moved(rounded_box((0.11, 0.086, 0.008), 0.0035, 2), y=0.0015, z=0.0085)
    return Model(parts=(piece(mottled(rng, joined(lower, upper), 0.1, 0.006), tone, 0.3),))


@builds("toy_car")
def toy_car(rng: np.random.Generator, tone: Rgb) -> Model:
    body = moved(rounded_box((0.072, 0.031, 0.014), 0.005, 2), z=0.006)
    cabin = moved(rounded_box((0.036, 0.027, 0.013), 0.005, 2), x=-0.003, z=0.019)
    wheel = turned(cylinder(0.0072, 0.006, bevel=0.001, segments=18), "x", 90)
    wheels = [moved(wheel, x, y, 0.0072) for x in (-0.022, 0.022) for y in (-0.011, 0.018)]
    return Model(
        parts=(
            piece(body, tone, 0.7),
            piece(cabin, (0.12, 0.16, 0.2), 0.8),
            piece(joined(*wheels), BLACK, 0.2),
        )
    )


@builds("medicine")
def medicine_bottle(rng: np.random.Generator, tone: Rgb) -> Model:

    r, high = 0.021, rng.uniform(0.055, 0.07)
    body = revolve(
        [
            (0, 0),
            *arc((r - 0.003, 0.003), 0.003, -90, 0, 2),
            (r, high * 0.85),
            (r * 0.7, high * 0.9),
            (0, high * 0.9),
        ],
        28,
    )
    cap = moved(cylinder(r * 0.9, high * 0.26, bevel=0.0015, segments=28), z=high * 0.86)
    text = str(rng.choice(["VITAMIN C", "ASPIRIN", "ZINC", "IRON"]))
    art = label_picture(rng, text, ground=WHITE, ratio=2.2, height=96, fill=0.55)
    return Model(
        parts=(
            piece(body, tone, 0.6),
            piece(cap, WHITE, 0.3),
            band_label(art, r, high * 0.18, high * 0.7),
        ),
        text=text,
        faces_wearer=True,
    )
