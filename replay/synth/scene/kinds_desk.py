"""Stationery and books."""

from __future__ import annotations

import numpy as np

from ..world import Mesh, Rgb
from .kinds import BLACK, STEEL, WHITE, Model, Part, builds, piece
from .labels import band_label, label_picture, top_label
from .palette import both, lighter
from .shapes import (
    cut_out,
    cylinder,
    joined,
    laid,
    mirrored,
    moved,
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
    barrel = [(0, -half), (r * 0.96, -half), (r, -half + 0.003), (r, 0.02), (0, 0.02)]
    hood = [(0, 0.018), (r * 1.06, 0.018), (r * 1.06, half - 0.008), (r * 0.6, half), (0, half)]
    body, cap = laid(revolve(barrel, 16), revolve(hood, 16))
    shell: Rgb = WHITE if rng.random() < 0.5 else lighter(tone, -0.1)
    return Model(parts=(piece(body, shell, 0.4), piece(cap, tone, 0.45)))


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
        metal, grip = (mirrored(m) for m in (metal, grip))
    return moved(turned(metal, "z", turn), z=0.003 + lift), moved(turned(grip, "z", turn), z=0.0012)


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
