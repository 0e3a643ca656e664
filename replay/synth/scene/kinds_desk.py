"""Stationery, books, and what else lies on a desk."""

from __future__ import annotations

import numpy as np

from ..world import Mesh, Rgb
from .kinds import BLACK, STEEL, WHITE, Model, Part, builds, mottled, piece
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
    polygon,
    revolve,
    ring,
    rounded_box,
    scaled,
    tube,
    turned,
)

_PAPER: Rgb = (0.9, 0.88, 0.82)


@builds("book")
def book(rng: np.random.Generator, tone: Rgb) -> Model:
    text = str(
        rng.choice(
            [
                "ATLAS",
                "ALGEBRA",
                "THE\nSEA",
                "BIRDS",
                "POEMS",
                "HISTORY",
                "OPTICS",
                "CHESS",
                "TRAVEL",
                "MUSIC\nTODAY",
                "THE\nRIVER",
                "COOKING",
            ]
        )
    )
    wide, deep, thick = rng.uniform(0.12, 0.16), rng.uniform(0.17, 0.22), rng.uniform(0.015, 0.035)
    cover = rounded_box((wide, deep, 0.0025), 0.001, 1)
    spine = moved(rounded_box((0.004, deep, thick), 0.0015, 1), x=-wide / 2 + 0.002)
    pages = moved(
        rounded_box((wide - 0.008, deep - 0.008, thick - 0.004), 0.0008, 1), x=-0.002, z=0.002
    )
    art = label_picture(rng, text, ground=tone, ratio=wide / deep, height=256)
    return Model(
        parts=(
            piece(joined(cover, moved(cover, z=thick - 0.0025), spine), tone, 0.35),
            piece(pages, _PAPER, 0.0),
            top_label(art, wide - 0.004, deep - 0.004, z=thick, gloss=0.35),
        ),
        text=text.replace("\n", " "),
        faces_wearer=True,
    )


@builds("notebook")
def notebook(rng: np.random.Generator, tone: Rgb) -> Model:
    wide, deep, thick = rng.uniform(0.1, 0.15), rng.uniform(0.145, 0.2), 0.011
    block = rounded_box((wide, deep, thick), 0.001, 1)
    cover = moved(rounded_box((wide + 0.003, deep + 0.003, 0.0015), 0.0006, 1), z=thick)
    wire = tube(
        [(0.0045 * np.cos(a), 0.0, 0.0045 * np.sin(a)) for a in np.arange(8) * np.pi / 4],
        0.0006,
        loop=True,
        segments=4,
        up=(0, 1, 0),
    )
    rings = [
        moved(wire, -wide / 2, y, thick * 0.7) for y in np.linspace(-deep * 0.44, deep * 0.44, 16)
    ]
    parts = [piece(block, _PAPER, 0.0), piece(cover, tone, 0.25), piece(joined(*rings), STEEL, 0.7)]
    text = None
    if rng.random() < 0.6:
        text = str(rng.choice(["NOTES", "IDEAS", "LOG", "PLAN", "LAB 3"]))
        art = label_picture(rng, text, ground=_PAPER, ratio=2.0, height=96, plain=True)
        parts.append(
            top_label(art, wide * 0.6, wide * 0.3, z=thick + 0.0015, at=(0.0, deep * 0.15))
        )
    return Model(parts=tuple(parts), text=text, faces_wearer=True)


def _lying_rod(profile: list[tuple[float, float]], segments: int = 16) -> Mesh:
    whole = turned(revolve(profile, segments), "y", 90)
    return moved(whole, z=-float(whole.vertices[:, 2].min()))


@builds("pen")
def pen(rng: np.random.Generator, tone: Rgb) -> Model:
    r, half = rng.uniform(0.0045, 0.0055), 0.068
    barrel = revolve(
        [(0, -half + 0.012), (r * 0.9, -half + 0.012), (r, -half + 0.02), (r, 0.04), (0, 0.04)], 16
    )
    tip = revolve([(0, -half), (0.0008, -half), (r * 0.85, -half + 0.013), (0, -half + 0.013)], 14)
    cap = revolve(
        [(0, 0.038), (r * 1.08, 0.038), (r * 1.08, half - 0.004), (r * 0.7, half), (0, half)], 16
    )
    clip = moved(rounded_box((0.0025, 0.0016, 0.036), 0.0007, 1), y=-r * 1.3, z=half - 0.04)
    body: Rgb = tone if rng.random() < 0.6 else lighter(tone, 0.1)
    parts = [(barrel, body), (tip, (0.65, 0.65, 0.67)), (joined(cap, clip), lighter(tone, -0.25))]
    return Model(
        parts=tuple(piece(moved(turned(m, "y", 90), z=r * 1.08), c, 0.55) for m, c in parts)
    )


@builds("pencil")
def pencil(rng: np.random.Generator, tone: Rgb) -> Model:
    r, half = 0.0037, rng.uniform(0.06, 0.088)
    shaft = turned(cut_out(polygon(6, r, turn=30), 2 * half - 0.03), "y", 90)
    shaft = moved(shaft, x=-half + 0.02)
    cone = turned(
        revolve(
            [(0, -half), (0.0009, -half + 0.003), (r * 0.92, -half + 0.0205), (0, -half + 0.0205)],
            12,
        ),
        "y",
        90,
    )
    lead = turned(
        revolve([(0, -half), (0.0004, -half), (0.001, -half + 0.004), (0, -half + 0.004)], 8),
        "y",
        90,
    )
    band = turned(
        revolve([(0, half - 0.012), (r, half - 0.012), (r, half - 0.004), (0, half - 0.004)], 14),
        "y",
        90,
    )
    rub = turned(
        revolve(
            [
                (0, half - 0.005),
                (r * 0.9, half - 0.005),
                (r * 0.85, half + 0.002),
                (0, half + 0.003),
            ],
            14,
        ),
        "y",
        90,
    )
    shapes: list[tuple[Mesh, Rgb]] = [
        (shaft, tone),
        (cone, (0.8, 0.64, 0.44)),
        (lead, BLACK),
        (band, STEEL),
        (rub, (0.85, 0.5, 0.5)),
    ]
    return Model(parts=tuple(piece(moved(m, z=r * 0.9), c, 0.35, 30) for m, c in shapes))


@builds("marker")
def marker(rng: np.random.Generator, tone: Rgb) -> Model:
    r, half = rng.uniform(0.008, 0.0095), 0.066
    body = _lying_rod([(0, -half), (r * 0.96, -half), (r, -half + 0.003), (r, 0.02), (0, 0.02)])
    cap = _lying_rod(
        [(0, 0.018), (r * 1.06, 0.018), (r * 1.06, half - 0.008), (r * 0.6, half), (0, half)]
    )
    shell: Rgb = WHITE if rng.random() < 0.5 else lighter(tone, -0.1)
    return Model(parts=(piece(moved(body, z=r * 0.06), shell, 0.4), piece(cap, tone, 0.45)))


@builds("highlighter")
def highlighter(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.075, 0.025, 0.014), 0.005, 2)
    cap = moved(rounded_box((0.042, 0.027, 0.0155), 0.005, 2), x=0.045)
    return Model(
        parts=(piece(moved(body, z=0.0007), tone, 0.4), piece(cap, lighter(tone, -0.35), 0.4))
    )


@builds("stapler")
def stapler(rng: np.random.Generator, tone: Rgb) -> Model:
    base = rounded_box((0.13, 0.032, 0.009), 0.003, 2)
    arm = moved(turned(rounded_box((0.135, 0.028, 0.021), 0.008, 2), "y", 7), x=0.0, z=0.022)
    rail = moved(turned(rounded_box((0.12, 0.017, 0.008), 0.001, 1), "y", 5), x=-0.002, z=0.012)
    post = moved(rounded_box((0.03, 0.024, 0.03), 0.003, 1), x=0.052, z=0.004)
    return Model(
        parts=(
            piece(joined(base, post), BLACK, 0.3),
            piece(arm, tone, 0.5),
            piece(rail, STEEL, 0.8),
        )
    )


@builds("tape")
def tape_roll(rng: np.random.Generator, tone: Rgb) -> Model:
    r, high = rng.uniform(0.03, 0.05), rng.uniform(0.018, 0.048)
    hole = r * rng.uniform(0.62, 0.78)
    n = 40
    roll = ring(polygon(n, r), polygon(n, hole), high)
    core = ring(polygon(n, hole + 0.0002), polygon(n, hole - 0.002), high)
    return Model(parts=(piece(roll, tone, 0.5), piece(core, (0.68, 0.55, 0.4), 0.1)))


def _scissor_half(side: float) -> tuple[Mesh, Mesh]:
    """One blade and one loop of scissors lying along ``-x``."""
    blade = [
        (0.012, -0.006),
        (0.012, 0.005),
        (-0.03, 0.006),
        (-0.088, 0.0005),
        (-0.088, -0.0005),
        (-0.03, -0.006),
    ]
    metal = cut_out(blade, 0.0018)
    a = np.arange(22) * (2 * np.pi / 22)
    loop = np.stack([0.075 + 0.026 * np.cos(a), -0.019 + 0.016 * np.sin(a), np.full(22, 0.004)], 1)
    arm = tube(
        [(0.006, 0.001, 0.003), (0.028, -0.004, 0.004), (0.053, -0.012, 0.004)],
        [0.0045, 0.005, 0.0045],
    )
    grip = joined(tube(loop, 0.0042, loop=True, segments=9), arm)
    turn, lift = 9.0 * side, 0.0 if side > 0 else 0.0019
    if side < 0:
        metal, grip = (_flipped(m) for m in (metal, grip))
    return moved(turned(metal, "z", turn), z=0.003 + lift), moved(turned(grip, "z", turn), z=0.0012)


def _flipped(shape: Mesh) -> Mesh:
    """Mirrored in ``y``."""
    points = shape.vertices * np.array([1, -1, 1], np.float32)
    return Mesh(vertices=points, faces=shape.faces[:, ::-1].copy())


@builds("scissors")
def scissors(rng: np.random.Generator, tone: Rgb) -> Model:
    one, two = _scissor_half(1.0), _scissor_half(-1.0)
    pin = moved(cylinder(0.0035, 0.0025, bevel=0.0008, segments=14), z=0.0055)
    size = rng.uniform(0.75, 1.0)
    return Model(
        parts=(
            piece(scaled(joined(one[0], two[0], pin), size, size, 1), STEEL, 0.9),
            piece(scaled(joined(one[1], two[1]), size, size, 1), tone, 0.35),
        )
    )


@builds("eraser")
def eraser(rng: np.random.Generator, tone: Rgb) -> Model:
    block = rounded_box((0.05, 0.021, 0.0115), 0.0025, 2)
    sleeve = moved(rounded_box((0.034, 0.0218, 0.0123), 0.0006, 1), x=0.004, z=-0.0002)
    return Model(
        parts=(piece(moved(block, z=0.0002), WHITE, 0.1), piece(moved(sleeve, z=0.0002), tone, 0.2))
    )


@builds("ruler")
def ruler(rng: np.random.Generator, tone: Rgb) -> Model:
    long = float(rng.choice([0.16, 0.21]))
    plate = rounded_box((long, 0.03, 0.0026), 0.0008, 1)
    picture = np.full((48, 512, 3), np.round(np.array(tone) * 255), np.uint8)
    ink = 20 if sum(tone) > 1.2 else 235
    for i in range(1, 63):
        x = round(i * 512 / 63)
        picture[: 20 if i % 4 == 0 else 11, x : x + 2] = ink
    return Model(
        parts=(
            piece(plate, tone, 0.4),
            top_label(picture, long - 0.002, 0.028, z=0.0026, gloss=0.4),
        )
    )


@builds("paper_clip")
def paper_clip(rng: np.random.Generator, tone: Rgb) -> Model:
    size = rng.uniform(0.9, 1.5)

    def bow(x: float, r: float, start: float, stop: float) -> list[tuple[float, float, float]]:
        return [
            (x + r * np.cos(a), r * np.sin(a), 0.0) for a in np.radians(np.linspace(start, stop, 8))
        ]

    path = [
        (-0.006, 0.0034, 0.0),
        *[(x, y - 0.0002, z) for x, y, z in bow(0.008, 0.0036, 90, -90)],
        *bow(-0.008, 0.0034, -90, -270),
        *[(x, y + 0.0006, z) for x, y, z in bow(0.0045, 0.0027, 90, -90)],
        (-0.005, -0.0022, 0.0),
    ]
    wire = tube(np.array(path) * [size, size, 1] + [0, 0, 0.0007], 0.0006, segments=6)
    return Model(parts=(piece(wire, tone, 0.8),))


@builds("binder_clip")
def binder_clip(rng: np.random.Generator, tone: Rgb) -> Model:
    wide = rng.uniform(0.025, 0.04)
    outline = [(-0.010, 0.0), (0.010, 0.0), (0.0015, 0.019), (-0.0015, 0.019)]
    body = moved(turned(cut_out(outline, wide), "x", 90), y=wide / 2)
    a = np.linspace(0.15, np.pi - 0.15, 9)

    def wing(side: float) -> Mesh:
        path = [
            (side * (0.004 + 0.02 * np.sin(t)), wide * 0.32 * np.cos(t), 0.018 + 0.012 * np.sin(t))
            for t in a
        ]
        return tube(path, 0.0008, segments=6, up=(0, 1, 0.2))

    return Model(parts=(piece(body, tone, 0.4), piece(joined(wing(1), wing(-1)), STEEL, 0.8)))


@builds("glue_stick")
def glue_stick(rng: np.random.Generator, tone: Rgb) -> Model:
    r, high = 0.0125, rng.uniform(0.075, 0.09)
    body = cylinder(r, high * 0.62, bevel=0.001, segments=28)
    cap = moved(cylinder(r * 1.04, high * 0.4, bevel=0.002, segments=28), z=high * 0.6)
    art = label_picture(rng, "GLUE", ground=WHITE, ratio=1.6, height=96, fill=0.55)

    return Model(
        parts=(
            piece(body, WHITE, 0.4),
            piece(cap, tone, 0.45),
            band_label(art, r, 0.008, high * 0.55),
        ),
        text="GLUE",
        faces_wearer=True,
    )


@builds("sticky_notes")
def sticky_notes(rng: np.random.Generator, tone: Rgb) -> Model:
    side, high = 0.075, rng.uniform(0.006, 0.02)
    block = rounded_box((side, side, high), 0.0006, 1)
    parts: list[Part] = [piece(block, tone, 0.05)]
    text = None
    if rng.random() < 0.6:
        text = str(rng.choice(["CALL\nANN", "3 PM", "BUY\nMILK", "ROOM\n12", "TODO", "OK"]))
        art = label_picture(rng, text, ground=lighter(tone, 0.08), ink=(0.1, 0.12, 0.4), plain=True)
        parts.append(top_label(art, side - 0.002, side - 0.002, z=high, gloss=0.02))
    return Model(
        parts=tuple(parts),
        text=None if text is None else text.replace("\n", " "),
        faces_wearer=True,
    )


@builds("pushpin")
def pushpin(rng: np.random.Generator, tone: Rgb) -> Model:
    head = revolve(
        [
            (0, 0),
            (0.0055, 0),
            (0.0055, 0.0015),
            (0.003, 0.0035),
            (0.0025, 0.009),
            (0.0045, 0.0115),
            (0.0045, 0.0125),
            (0, 0.0125),
        ],
        18,
    )
    pin = revolve([(0, -0.0105), (0.0005, -0.009), (0.0005, 0.001), (0, 0.001)], 6)
    lie = [moved(turned(m, "y", 78), z=0.0052) for m in (head, pin)]
    return Model(parts=(piece(lie[0], tone, 0.5), piece(lie[1], STEEL, 0.8)))


@builds("sharpener")
def sharpener(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.026, 0.016, 0.012), 0.0015, 1)
    blade = moved(
        turned(rounded_box((0.024, 0.009, 0.0008), 0.0003, 1), "x", 8), y=-0.002, z=0.0125
    )
    return Model(parts=(piece(body, tone, 0.4), piece(blade, STEEL, 0.9)))


@builds("pen_cup")
def pen_cup(rng: np.random.Generator, tone: Rgb) -> Model:
    n, r, high = 36, 0.038, rng.uniform(0.09, 0.1)
    wall = ring(polygon(n, r), polygon(n, r - 0.002), high)
    base = cylinder(r - 0.001, 0.003, segments=n)
    sticks = []
    for _ in range(int(rng.integers(2, 5))):
        angle, lean = rng.uniform(0, 2 * np.pi), rng.uniform(0.4, 0.75) * r
        foot = np.array([-lean * 0.5 * np.cos(angle), -lean * 0.5 * np.sin(angle), 0.006])
        top = np.array([lean * np.cos(angle), lean * np.sin(angle), high + rng.uniform(0.03, 0.06)])
        shade: Rgb = tuple(float(v) for v in rng.uniform(0.1, 0.9, 3))  # type: ignore[assignment]
        sticks.append(piece(tube([foot, top], 0.0038, segments=8), shade, 0.4))
    return Model(
        parts=(piece(joined(wall, base), tone, 0.3), *sticks),
        details={"contents": both("pens", "笔")},
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
