"""Hand tools."""

from __future__ import annotations

import numpy as np

from ..world import Floats, Mesh, Rgb
from .kinds import BLACK, DARK_STEEL, STEEL, Model, builds, piece
from .kinds_parts import thread
from .labels import front_label, label_picture
from .shapes import (
    cut_out,
    cylinder,
    grid_faces,
    joined,
    laid,
    mesh,
    mirrored,
    moved,
    revolve,
    rounded_box,
    scaled,
    tube,
    turned,
)


@builds("screwdriver")
def screwdriver(rng: np.random.Generator, tone: Rgb) -> Model:
    size = rng.uniform(0.8, 1.1)
    r = 0.0145 * size
    grip = revolve(
        [
            (0, 0),
            (r * 0.6, 0),
            (r * 0.95, 0.006),
            (r, 0.03 * size),
            (r * 0.88, 0.06 * size),
            (r * 1.02, 0.078 * size),
            (r * 0.62, 0.092 * size),
            (r * 0.5, 0.1 * size),
            (0, 0.1 * size),
        ],
        10,
    )
    low, high = 0.098 * size, (0.098 + rng.uniform(0.07, 0.11)) * size
    shaft = revolve(
        [
            (0, low),
            (0.003, low),
            (0.003, high - 0.008),
            (0.0034, high - 0.006),
            (0.0012, high),
            (0, high),
        ],
        12,
    )
    lie = laid(grip, shaft)
    return Model(parts=(piece(lie[0], tone, 0.5, 30), piece(lie[1], STEEL, 0.9)))


def _wrench_outline(long: float, jaw: float) -> Floats:
    """An open-ended wrench along ``x``: a jaw at ``+x``, a hexagonal-looking head at ``-x``."""
    half, bar = long / 2, jaw * 0.42
    head = jaw * 1.05
    a = np.radians(np.linspace(200, 330, 8))
    lower = [(half - head + head * np.cos(t), head * np.sin(t)) for t in a]
    mouth = [
        (half - 0.2 * head, -jaw * 0.5),
        (half - head * 1.15, -jaw * 0.5),
        (half - head * 1.4, 0.0),
        (half - head * 1.15, jaw * 0.5),
        (half - 0.2 * head, jaw * 0.5),
    ]
    upper = [(x, -y) for x, y in reversed(lower)]
    back = [
        (-half + head * 0.8 * (1 + np.cos(t)), head * 0.8 * np.sin(t))
        for t in np.radians(np.linspace(60, 300, 13))
    ]
    points = [
        *lower,
        *mouth,
        *upper,
        (half - head * 2.3, bar),
        (-half + head * 1.9, bar),
        *back,
        (-half + head * 1.9, -bar),
        (half - head * 2.3, -bar),
    ]
    return np.asarray(points)


@builds("wrench")
def wrench(rng: np.random.Generator, tone: Rgb) -> Model:
    long = rng.uniform(0.12, 0.18)
    plate = cut_out(_wrench_outline(long, 0.0155), 0.006, bevel=0.0012)
    return Model(parts=(piece(plate, tone, 0.85),))


def _plier_half(side: float) -> tuple[Mesh, Mesh]:
    jaw = cut_out(
        [
            (0.012, -0.009),
            (0.012, 0.011),
            (-0.01, 0.012),
            (-0.046, 0.005),
            (-0.048, 0.0006),
            (-0.008, 0.0006),
        ],
        0.0075,
        bevel=0.001,
    )
    path = [
        (0.008, -0.003, 0.004),
        (0.028, -0.012, 0.0045),
        (0.065, -0.021, 0.0055),
        (0.105, -0.018, 0.0055),
    ]
    grip = tube(path, [0.0055, 0.0062, 0.0068, 0.0058], flat=1.1, segments=10)
    if side < 0:
        jaw, grip = mirrored(jaw), mirrored(grip)
    return moved(jaw, z=0.001), moved(grip, z=0.0013)


@builds("pliers")
def pliers(rng: np.random.Generator, tone: Rgb) -> Model:
    one, two = _plier_half(1.0), _plier_half(-1.0)
    pin = moved(cylinder(0.006, 0.0105, bevel=0.001, segments=18), x=0.006)
    return Model(
        parts=(
            piece(joined(one[0], two[0], pin), DARK_STEEL, 0.7),
            piece(joined(one[1], two[1]), tone, 0.4),
        )
    )


@builds("hammer")
def hammer(rng: np.random.Generator, tone: Rgb) -> Model:
    handle = tube(
        [
            (0.006, 0, 0.0135),
            (0.07, 0, 0.0135),
            (0.15, 0, 0.0125),
            (0.21, 0, 0.0125),
            (0.235, 0, 0.0125),
        ],
        [0.008, 0.0085, 0.0105, 0.012, 0.0125],
        flat=0.85,
        segments=12,
    )
    face = revolve(
        [
            (0, -0.05),
            (0.0118, -0.05),
            (0.013, -0.047),
            (0.013, -0.034),
            (0.009, -0.028),
            (0.0095, 0.0),
            (0.0115, 0.014),
            (0.0105, 0.02),
            (0, 0.02),
        ],
        20,
    )
    claw = scaled(
        revolve([(0, 0.018), (0.011, 0.018), (0.0085, 0.036), (0.003, 0.056), (0, 0.057)], 14),
        1.0,
        1.0,
        1.0,
    )
    head = moved(turned(joined(face, claw), "x", 90), z=0.0135)
    return Model(parts=(piece(head, DARK_STEEL, 0.7), piece(handle, tone, 0.3)))


@builds("tape_measure")
def tape_measure(rng: np.random.Generator, tone: Rgb) -> Model:
    text = str(rng.choice(["3 m", "5 m", "8 m"]))
    body = rounded_box((0.068, 0.036, 0.062), 0.014, 3)
    art = label_picture(
        rng, text, ground=(0.1, 0.1, 0.1), ink=(0.95, 0.9, 0.3), height=96, plain=True
    )

    tongue = moved(rounded_box((0.03, 0.018, 0.0012), 0.0004, 1), x=0.045, z=0.003)
    hook = moved(rounded_box((0.0015, 0.019, 0.011), 0.0005, 1), x=0.06)
    return Model(
        parts=(
            piece(body, tone, 0.4),
            front_label(art, 0.036, 0.036, y=0.018, z=0.032),
            piece(tongue, (0.9, 0.78, 0.15), 0.3),
            piece(hook, STEEL, 0.8),
        ),
        text=text,
        faces_wearer=True,
    )


@builds("cutter")
def utility_knife(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.13, 0.022, 0.012), 0.004, 2)
    slider = moved(rounded_box((0.016, 0.01, 0.005), 0.0015, 1), x=-0.02, z=0.0115)
    blade = moved(
        cut_out([(0, -0.008), (0.02, -0.008), (0.033, 0.008), (0, 0.008)], 0.001), x=0.062, z=0.005
    )
    return Model(
        parts=(piece(body, tone, 0.35), piece(slider, BLACK, 0.3), piece(blade, STEEL, 0.9))
    )


@builds("brush")
def paint_brush(rng: np.random.Generator, tone: Rgb) -> Model:
    wide = rng.uniform(0.022, 0.045)
    grip = tube(
        [(0.0, 0, 0.008), (0.03, 0, 0.008), (0.08, 0, 0.007), (0.12, 0, 0.008)],
        [0.0085, 0.006, 0.0075, 0.006],
        flat=1.4,
        segments=12,
    )
    band = moved(rounded_box((0.03, wide, 0.013), 0.003, 1), x=-0.018, z=0.0015)
    hair = moved(
        scaled(rounded_box((0.05, wide * 0.95, 0.011), 0.005, 2), 1, 1, 1), x=-0.053, z=0.0022
    )
    return Model(
        parts=(
            piece(grip, tone, 0.45),
            piece(band, STEEL, 0.8),
            piece(hair, (0.3, 0.2, 0.12), 0.05),
        )
    )


@builds("hex_key")
def hex_key(rng: np.random.Generator, tone: Rgb) -> Model:
    size, r = rng.uniform(0.7, 1.2), rng.uniform(0.0018, 0.003)
    bend = [
        (0.006 - 0.006 * np.cos(a), 0.006 - 0.006 * np.sin(a)) for a in np.radians([0, 30, 60, 90])
    ]
    path = [(0.0, 0.026 * size, r), *[(x, y, r) for x, y in bend], (0.075 * size, 0.0, r)]
    return Model(parts=(piece(tube(path, r, segments=6), tone, 0.8, 25),))


@builds("level")
def spirit_level(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.2, 0.022, 0.042), 0.003, 1)
    vial = moved(
        turned(cylinder(0.0065, 0.04, bevel=0.001, segments=16), "y", 90), x=-0.02, z=0.0395
    )
    ends = joined(
        *(moved(rounded_box((0.006, 0.0235, 0.0435), 0.002, 1), x=s * 0.099) for s in (-1, 1))
    )
    return Model(
        parts=(
            piece(body, tone, 0.5),
            piece(vial, (0.65, 0.8, 0.15), 0.9),
            piece(ends, BLACK, 0.2),
        ),
        faces_wearer=True,
    )


@builds("file")
def metal_file(rng: np.random.Generator, tone: Rgb) -> Model:
    grip = revolve(
        [
            (0, 0),
            (0.009, 0.002),
            (0.0125, 0.015),
            (0.0105, 0.05),
            (0.013, 0.075),
            (0.0085, 0.09),
            (0, 0.09),
        ],
        18,
    )
    lie = laid(grip)[0]
    blade = moved(rounded_box((0.13, 0.017, 0.0045), 0.0006, 1), x=0.152, z=0.0105)
    return Model(parts=(piece(lie, tone, 0.35), piece(blade, DARK_STEEL, 0.4)))


@builds("clamp")
def clamp(rng: np.random.Generator, tone: Rgb) -> Model:
    frame = tube(
        [
            (-0.03, 0.045, 0.006),
            (0.03, 0.045, 0.006),
            (0.036, 0.03, 0.006),
            (0.036, -0.03, 0.006),
            (0.03, -0.045, 0.006),
            (-0.03, -0.045, 0.006),
        ],
        0.0055,
        flat=0.9,
        segments=10,
    )
    rod = turned(
        revolve([(0, -0.03), *thread(0.0035, -0.03, 0.075, 0.003), (0, 0.075)], 12), "x", 90
    )
    bar = moved(
        turned(cylinder(0.0022, 0.04, bevel=0.0006, segments=10), "y", 90), x=-0.02, y=-0.072
    )
    foot = moved(turned(cylinder(0.008, 0.004, segments=18), "x", 90), y=0.032)
    lifted = [moved(m, x=-0.026, z=0.0085) for m in (rod, bar, foot)]
    return Model(parts=(piece(frame, tone, 0.4), piece(joined(*lifted), STEEL, 0.8)))


@builds("drill_bit")
def drill_bit(rng: np.random.Generator, tone: Rgb) -> Model:
    r, long = rng.uniform(0.002, 0.004), rng.uniform(0.07, 0.11)
    n, rows = 14, 40
    angle = np.arange(n) * (2 * np.pi / n)
    z = np.linspace(0.35, 1.0, rows) * long
    twist = z[:, None] * 260 + angle
    flute = r * (0.78 + 0.22 * np.abs(np.cos(twist)))
    grid = np.stack(
        [flute * np.cos(angle), flute * np.sin(angle), np.broadcast_to(z[:, None], flute.shape)], -1
    )

    caps = np.array([[0, 0, z[0]], [0, 0, z[-1] + r]])
    k = np.arange(n)
    bottom = np.stack([np.full(n, rows * n), (k + 1) % n, k], 1)
    top = np.stack([np.full(n, rows * n + 1), (rows - 1) * n + k, (rows - 1) * n + (k + 1) % n], 1)
    body = mesh(
        np.concatenate([grid.reshape(-1, 3), caps]),
        np.concatenate([grid_faces(rows, n, wrap=True), bottom, top]),
    )
    shank = cylinder(r, long * 0.37, bevel=r * 0.1, segments=14)
    return Model(parts=(piece(laid(joined(body, shank))[0], tone, 0.8, 50),))
