"""Fasteners, machine parts, and what a workshop uses up."""

from __future__ import annotations

import numpy as np

from ..world import Rgb
from .kinds import BLACK, BRASS, STEEL, WHITE, Model, builds, piece
from .labels import band_label, label_picture
from .palette import both, lighter
from .shapes import (
    ball,
    cut_out,
    cylinder,
    joined,
    laid,
    moved,
    polygon,
    revolve,
    ring,
    rounded_box,
    scaled,
    tube,
    turned,
)


@builds("spray_can")
def spray_can(rng: np.random.Generator, tone: Rgb) -> Model:
    text = str(rng.choice(["PAINT", "LUBE", "GREASE", "PRIMER", "VARNISH"]))
    r, high = 0.0325, rng.uniform(0.14, 0.18)
    body = revolve(
        [
            (0, 0.003),
            (r - 0.002, 0),
            (r, 0.003),
            (r, high * 0.84),
            (r * 0.75, high * 0.9),
            (0, high * 0.9),
        ],
        34,
    )
    cap = moved(cylinder(r * 0.78, high * 0.2, bevel=0.004, segments=30), z=high * 0.87)
    art = label_picture(rng, text, ground=tone, ratio=1.3, height=150, fill=0.55)
    return Model(
        parts=(
            piece(body, STEEL, 0.7),
            piece(cap, lighter(tone, -0.2), 0.4),
            band_label(art, r, 0.004, high * 0.835, gloss=0.5),
        ),
        text=text,
        faces_wearer=True,
    )


@builds("glue_tube")
def glue_tube(rng: np.random.Generator, tone: Rgb) -> Model:
    text = str(rng.choice(["GLUE", "EPOXY", "SILICON", "PASTE"]))
    body = tube(
        [(-0.05, 0, 0.003), (-0.03, 0, 0.007), (0.0, 0, 0.0105), (0.035, 0, 0.0115)],
        [0.0025, 0.0065, 0.0105, 0.0115],
        segments=18,
    )
    flat = moved(rounded_box((0.012, 0.034, 0.003), 0.001, 1), x=-0.052, z=0.0015)
    neck = moved(
        turned(
            revolve([(0, 0), (0.0085, 0), (0.007, 0.022), (0.003, 0.03), (0, 0.03)], 16), "y", 90
        ),
        x=0.042,
        z=0.0115,
    )
    return Model(
        parts=(piece(joined(scaled(body, 1, 1.35, 1), flat), tone, 0.5), piece(neck, BLACK, 0.4)),
        text=None,
        details={"contents": both(text.lower(), "胶")},
    )


def thread(radius: float, low: float, high: float, pitch: float) -> list[tuple[float, float]]:
    """A profile that looks like a thread."""
    turns = max(2, round((high - low) / pitch))
    steps = np.arange(2 * turns + 1)
    return [
        (radius if k % 2 else radius * 0.82, low + (high - low) * k / (2 * turns)) for k in steps
    ]


@builds("screw")
def screw(rng: np.random.Generator, tone: Rgb) -> Model:
    r, long = rng.uniform(0.0018, 0.0026), rng.uniform(0.022, 0.045)
    head = revolve([(0, 0), (r * 2.1, 0), (r * 2.1, 0.0008), (r, r * 1.4), (0, r * 1.4)], 20)
    slot = joined(
        rounded_box((r * 2.6, r * 0.5, 0.0006), 0.0001, 1),
        rounded_box((r * 0.5, r * 2.6, 0.0006), 0.0001, 1),
    )
    shank = revolve([(0, r), *thread(r, r * 1.2, long * 0.82, 0.0016), (0, long)], 14)
    lie = laid(joined(head, shank), moved(slot, z=-0.0003), tilt=83)
    return Model(parts=(piece(lie[0], tone, 0.85), piece(lie[1], BLACK, 0.1)))


@builds("bolt")
def bolt(rng: np.random.Generator, tone: Rgb) -> Model:
    r, long = rng.uniform(0.003, 0.006), rng.uniform(0.025, 0.05)
    head = cut_out(polygon(6, r * 1.85), r * 1.2, bevel=r * 0.15)
    shank = revolve(
        [(0, r), (r * 0.95, r), *thread(r, r * 1.4 + long * 0.2, long, 0.0018), (0, long)], 16
    )
    lie = laid(head, shank, tilt=85)
    return Model(parts=(piece(joined(*lie), tone, 0.85),))


@builds("nut")
def nut(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.0035, 0.0075)
    return Model(
        parts=(piece(ring(polygon(6, r * 1.85, per_side=5), polygon(30, r), r * 1.6), tone, 0.85),)
    )


@builds("washer")
def washer(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.0055, 0.0125)
    return Model(
        parts=(
            piece(
                ring(polygon(30, r), polygon(30, r * rng.uniform(0.45, 0.6)), 0.0016), tone, 0.85
            ),
        )
    )


@builds("nail")
def nail(rng: np.random.Generator, tone: Rgb) -> Model:
    long, r = rng.uniform(0.04, 0.08), rng.uniform(0.0013, 0.002)
    body = revolve(
        [(0, 0), (r * 2.2, 0), (r * 2.2, 0.001), (r, 0.0022), (r, long - 0.005), (0, long)], 12
    )
    return Model(parts=(piece(laid(body, tilt=87)[0], tone, 0.8),))


@builds("anchor")
def wall_plug(rng: np.random.Generator, tone: Rgb) -> Model:
    long, r = rng.uniform(0.028, 0.042), rng.uniform(0.003, 0.0042)
    ribs = [(r * (1.0 if k % 2 else 0.8), long * (0.1 + 0.6 * k / 8)) for k in range(9)]
    foot, tip = [(0, 0), (r * 1.25, 0), (r * 1.25, 0.0015)], [(r * 0.7, long), (0, long)]
    return Model(parts=(piece(laid(revolve([*foot, *ribs, *tip], 14))[0], tone, 0.3),))


@builds("gear")
def gear(rng: np.random.Generator, tone: Rgb) -> Model:
    teeth, r = int(rng.integers(12, 22)), rng.uniform(0.016, 0.03)
    outer = []
    for k in range(teeth):
        for share, reach in ((0.0, 0.86), (0.25, 0.87), (0.38, 1.0), (0.62, 1.0), (0.75, 0.87)):
            a = 2 * np.pi * (k + share) / teeth
            outer.append((r * reach * np.cos(a), r * reach * np.sin(a)))
    n, high = len(outer), rng.uniform(0.006, 0.01)
    plate = ring(outer, polygon(n, r * 0.25), high)
    hub = moved(ring(polygon(30, r * 0.42), polygon(30, r * 0.25), high * 0.5), z=high)
    return Model(
        parts=(piece(joined(plate, hub), tone, 0.75, 25),),
        details={"teeth": both(f"{teeth} teeth", f"{teeth}个齿")},
    )


@builds("spring")
def spring(rng: np.random.Generator, tone: Rgb) -> Model:
    turns, r, wire = int(rng.integers(5, 8)), rng.uniform(0.006, 0.01), 0.0011
    a = np.linspace(0, 2 * np.pi * turns, 14 * turns)
    path = np.stack(
        [0.0048 * (a / (2 * np.pi) - turns / 2), r * np.cos(a), r + wire + r * np.sin(a)], 1
    )
    return Model(parts=(piece(tube(path, wire, segments=6, up=(1.0, 0.0, 0.0)), tone, 0.85),))


@builds("bearing")
def bearing(rng: np.random.Generator, tone: Rgb) -> Model:

    r, high, n = rng.uniform(0.011, 0.02), rng.uniform(0.006, 0.009), 32
    shells = joined(
        ring(polygon(n, r), polygon(n, r * 0.8), high),
        ring(polygon(n, r * 0.58), polygon(n, r * 0.38), high),
    )
    bead = ball(r * 0.11, rings=6, segments=10)
    beads = joined(
        *(
            moved(bead, r * 0.69 * np.cos(a), r * 0.69 * np.sin(a), high * 0.6)
            for a in np.arange(9) * 2 * np.pi / 9
        )
    )
    floor = moved(ring(polygon(n, r * 0.81), polygon(n, r * 0.57), high * 0.4), z=0.0005)
    return Model(parts=(piece(joined(shells, beads), tone, 0.9), piece(floor, BLACK, 0.1)))


@builds("pipe")
def pipe_piece(rng: np.random.Generator, tone: Rgb) -> Model:
    r, long = rng.uniform(0.009, 0.016), rng.uniform(0.05, 0.12)
    wall = ring(polygon(28, r), polygon(28, r * 0.8), long)
    return Model(parts=(piece(laid(wall)[0], tone, 0.7),))


@builds("elbow")
def pipe_elbow(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.009, 0.013)
    a = np.radians(np.linspace(0, 90, 9))
    bend = np.stack([0.026 * np.cos(a) - 0.026, 0.026 * np.sin(a), np.full(9, r * 1.2)], 1)
    body = tube(
        np.concatenate([[[0, -0.014, r * 1.2]], bend, [[-0.04, 0.026, r * 1.2]]]), r, segments=16
    )
    collar = ring(polygon(24, r * 1.2), polygon(24, r * 0.9), 0.01)
    ends = joined(
        moved(turned(collar, "x", 90), y=-0.014, z=r * 1.2),
        moved(turned(collar, "y", 90), x=-0.05, y=0.026, z=r * 1.2),
    )
    return Model(parts=(piece(joined(body, ends), tone, 0.75),))


@builds("valve")
def valve_wheel(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.arange(28) * (2 * np.pi / 28)
    rim = tube(
        np.stack([0.03 * np.cos(a), 0.03 * np.sin(a), np.full(28, 0.026)], 1),
        0.004,
        loop=True,
        segments=8,
    )
    spokes = joined(
        *(
            tube([(0, 0, 0.026), (0.03 * np.cos(t), 0.03 * np.sin(t), 0.026)], 0.003, segments=7)
            for t in np.arange(4) * np.pi / 2
        )
    )
    stem = cylinder(0.007, 0.03, bevel=0.001, segments=16)
    base = moved(
        turned(cylinder(0.012, 0.07, bevel=0.001, segments=20), "y", 90), x=-0.035, z=0.012
    )
    return Model(
        parts=(piece(joined(rim, spokes), tone, 0.4), piece(joined(stem, base), BRASS, 0.7))
    )


@builds("oil_can")
def oil_can(rng: np.random.Generator, tone: Rgb) -> Model:
    body = revolve(
        [
            (0, 0),
            (0.036, 0),
            (0.038, 0.004),
            (0.038, 0.05),
            (0.03, 0.062),
            (0.008, 0.072),
            (0, 0.072),
        ],
        32,
    )
    spout = tube(
        [(0, 0, 0.068), (0.012, 0, 0.095), (0.045, 0, 0.135), (0.075, 0, 0.145)],
        [0.006, 0.0045, 0.003, 0.0018],
        segments=10,
        up=(0, 1, 0),
    )
    art = label_picture(rng, "OIL", ground=WHITE, ratio=2.4, height=80, fill=0.55)
    return Model(
        parts=(
            piece(body, tone, 0.5),
            piece(spout, STEEL, 0.8),
            band_label(art, 0.038, 0.014, 0.042),
        ),
        text="OIL",
        faces_wearer=True,
    )


@builds("toolbox")
def toolbox(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.2, 0.1, 0.06), 0.006, 2)
    lid = moved(rounded_box((0.204, 0.104, 0.026), 0.008, 2), z=0.058)
    handle = tube(
        [(-0.05, 0, 0.08), (-0.045, 0, 0.104), (0.045, 0, 0.104), (0.05, 0, 0.08)],
        0.0055,
        flat=1.6,
        up=(0, 1, 0),
    )
    locks = joined(
        *(
            moved(rounded_box((0.018, 0.006, 0.026), 0.001, 1), x=x, y=-0.0525, z=0.048)
            for x in (-0.06, 0.06)
        )
    )
    return Model(
        parts=(
            piece(body, lighter(tone, -0.25), 0.35),
            piece(lid, tone, 0.4),
            piece(joined(handle, locks), BLACK, 0.3),
        ),
        faces_wearer=True,
    )


@builds("paint_can")
def paint_can(rng: np.random.Generator, tone: Rgb) -> Model:
    r, high = rng.uniform(0.036, 0.046), rng.uniform(0.08, 0.1)
    shell = revolve(
        [
            (0, 0.002),
            (r, 0),
            (r + 0.001, 0.002),
            (r, 0.005),
            (r, high - 0.004),
            (r + 0.0015, high - 0.001),
            (r, high),
            (r - 0.004, high),
            (r - 0.005, high - 0.003),
            (0, high - 0.003),
        ],
        36,
    )
    text = str(rng.choice(["PAINT", "GLOSS", "SATIN"]))
    art = label_picture(rng, text, ground=tone, ratio=1.3, height=120, fill=0.55)
    return Model(
        parts=(piece(shell, STEEL, 0.8), band_label(art, r, 0.007, high - 0.007)),
        text=text,
        faces_wearer=True,
    )


@builds("rope")
def cable_tie_coil(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.linspace(0, 2 * np.pi * 2.6, 60)
    r = 0.04 + 0.003 * np.sin(a * 0.6)
    path = np.stack([r * np.cos(a), 0.8 * r * np.sin(a), 0.0052 + 0.0075 * a / (2 * np.pi)], 1)
    knots = 0.0048 * (1 + 0.08 * np.cos(np.arange(60) * np.pi))
    return Model(parts=(piece(tube(path, list(knots), segments=8), tone, 0.0),))


@builds("gloves")
def work_glove(rng: np.random.Generator, tone: Rgb) -> Model:
    palm = moved(rounded_box((0.085, 0.09, 0.018), 0.008, 2), y=-0.01)
    fingers = [
        tube(
            [(x, 0.025, 0.01), (x * 1.15, 0.06, 0.012), (x * 1.25, 0.06 + reach, 0.008)],
            [0.0105, 0.0105, 0.009],
            flat=1.0,
            segments=9,
        )
        for x, reach in ((-0.031, 0.025), (-0.0105, 0.037), (0.0105, 0.034), (0.031, 0.02))
    ]
    thumb = tube(
        [(0.036, -0.03, 0.01), (0.06, -0.01, 0.011), (0.068, 0.012, 0.009)],
        [0.012, 0.0115, 0.009],
        segments=9,
    )
    cuff = moved(rounded_box((0.08, 0.045, 0.016), 0.006, 2), y=-0.07)
    return Model(
        parts=(
            piece(joined(palm, *fingers, thumb), tone, 0.05),
            piece(cuff, lighter(tone, -0.4), 0.05),
        )
    )
