"""Keyboards, phones, batteries and the like."""

from __future__ import annotations

import numpy as np

from ..world import Mesh, Rgb
from .kinds import BLACK, BRASS, STEEL, WHITE, Model, builds, piece
from .labels import label_picture, top_label
from .palette import both, lighter
from .shapes import (
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


def _keys(columns: int, rows: int, pitch: float, size: float, height: float) -> Mesh:
    """Key caps on a grid about the origin."""
    cap = rounded_box((size, size, height), height * 0.3, 1)
    spots = [
        ((i - (columns - 1) / 2) * pitch, (j - (rows - 1) / 2) * pitch)
        for i in range(columns)
        for j in range(rows)
    ]
    return joined(*(moved(cap, x, y) for x, y in spots))


@builds("keyboard")
def keyboard(rng: np.random.Generator, tone: Rgb) -> Model:
    pitch, columns = 0.0185, int(rng.choice([10, 11, 12]))
    wide, deep = pitch * columns + 0.012, pitch * 4 + 0.03
    case = rounded_box((wide, deep, 0.012), 0.004, 1)
    simple = [(x, y) for x in range(columns) for y in range(3)]
    cap = plain_box(0.0155, 0.0155, 0.005)
    caps = [
        moved(cap, (x - (columns - 1) / 2) * pitch, (y - 0.5) * pitch, 0.0118) for x, y in simple
    ]
    bar = moved(plain_box(pitch * 5, 0.0155, 0.005), 0.0, -1.5 * pitch, 0.0118)
    letters: Rgb = lighter(tone, 0.2) if sum(tone) < 0.8 else lighter(tone, -0.12)
    return Model(
        parts=(piece(case, tone, 0.3), piece(joined(*caps, bar), letters, 0.25)),
        faces_wearer=True,
        details={"parts": both("keys", "有按键")},
    )


@builds("mouse")
def mouse(rng: np.random.Generator, tone: Rgb) -> Model:
    curve = [(np.cos(a), np.sin(a)) for a in np.radians(np.linspace(0, 90, 9))]
    shell = scaled(revolve([(0, 0), (0.96, 0), *curve[:-1], (0, 1)], 28), 0.031, 0.054, 0.035)
    wheel = moved(
        turned(cylinder(0.006, 0.006, bevel=0.001, segments=16), "y", 90), -0.003, 0.03, 0.029
    )
    seam = tube([(0, 0.02, 0.0336), (0, 0.036, 0.0268), (0, 0.047, 0.0175)], 0.0008, segments=5)
    return Model(
        parts=(
            piece(shell, tone, 0.45, 60),
            piece(joined(wheel, seam), lighter(tone, -0.6 if sum(tone) > 1 else 0.3), 0.3),
        )
    )


@builds("phone")
def phone(rng: np.random.Generator, tone: Rgb) -> Model:
    wide, deep = rng.uniform(0.068, 0.076), rng.uniform(0.142, 0.16)
    body = rounded_box((wide, deep, 0.0085), 0.0035, 3)
    if rng.random() < 0.65:
        face = np.full((200, 96, 3), 10, np.uint8)
        if rng.random() < 0.5:
            face[:] = label_picture(
                rng,
                str(rng.choice(["10:24", "08:05", "14:37"])),
                ground=(0.1, 0.14, 0.25),
                ratio=0.48,
                height=200,
                plain=True,
            )
        extra = (top_label(face, wide - 0.006, deep - 0.008, z=0.0085, gloss=0.9),)
        return Model(
            parts=(piece(body, tone, 0.6), *extra), details={"side": both("screen up", "屏幕朝上")}
        )
    bump = moved(
        rounded_box((0.028, 0.032, 0.0025), 0.001, 1),
        -wide / 2 + 0.02,
        deep / 2 - 0.022,
        0.0082,
    )
    lenses = joined(
        *(
            moved(
                cylinder(0.0055, 0.0015, segments=18),
                -wide / 2 + 0.02,
                deep / 2 - 0.022 + s * 0.0075,
                0.0105,
            )
            for s in (-1, 1)
        )
    )
    return Model(
        parts=(piece(joined(body, bump), tone, 0.6), piece(lenses, BLACK, 0.9)),
        details={"side": both("screen down", "屏幕朝下")},
    )


@builds("remote")
def remote_control(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.044, 0.16, 0.018), 0.006, 2)
    pads = moved(_keys(3, 6, 0.0125, 0.008, 0.002), y=-0.02, z=0.0175)
    wheel = moved(cylinder(0.014, 0.002, bevel=0.0006, segments=24), y=0.045, z=0.0175)
    power = moved(cylinder(0.004, 0.0022, bevel=0.0006, segments=14), -0.013, 0.069, 0.0175)
    light: Rgb = (0.6, 0.6, 0.6) if sum(tone) < 1.2 else (0.25, 0.25, 0.27)
    return Model(
        parts=(
            piece(body, tone, 0.35),
            piece(joined(pads, wheel), light, 0.2),
            piece(power, (0.75, 0.1, 0.1), 0.3),
        )
    )


@builds("calculator")
def calculator(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.075, 0.13, 0.013), 0.004, 2)
    pads = moved(_keys(4, 5, 0.0155, 0.0115, 0.003), y=-0.018, z=0.0125)
    text = str(rng.choice(["3.14159", "1024", "42", "365", "88.5", "7700"]))
    face = label_picture(
        rng, text, ground=(0.62, 0.68, 0.58), ink=(0.1, 0.12, 0.1), ratio=2.6, height=80, plain=True
    )
    shade: Rgb = lighter(tone, 0.55) if sum(tone) < 1.4 else lighter(tone, -0.6)
    return Model(
        parts=(
            piece(body, tone, 0.35),
            piece(pads, shade, 0.25),
            top_label(face, 0.06, 0.023, z=0.013, at=(0.0, 0.044), gloss=0.6),
        ),
        text=text,
        faces_wearer=True,
    )


@builds("usb_stick")
def usb_stick(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.04, 0.0175, 0.008), 0.002, 2)
    plug = moved(rounded_box((0.014, 0.012, 0.0045), 0.0004, 1), x=0.026, z=0.0018)
    return Model(parts=(piece(body, tone, 0.4), piece(plug, STEEL, 0.8)))


@builds("battery")
def battery(rng: np.random.Generator, tone: Rgb) -> Model:
    r, half = 0.0072, 0.0242
    if rng.random() < 0.3:
        r, half = 0.0052, 0.0215
    case = revolve([(0, -half), (r, -half), (r, half - 0.001), (0, half - 0.001)], 24)
    ends = joined(
        revolve(
            [
                (0, half - 0.0012),
                (r * 0.9, half - 0.0012),
                (r * 0.9, half),
                (0.0028, half),
                (0.0026, half + 0.0012),
                (0, half + 0.0012),
            ],
            20,
        ),
        revolve(
            [
                (0, -half - 0.0004),
                (r * 0.9, -half - 0.0004),
                (r * 0.9, -half + 0.0003),
                (0, -half + 0.0003),
            ],
            20,
        ),
    )
    tip = revolve(
        [
            (r * 0.97, half * 0.5),
            (r * 1.005, half * 0.5),
            (r * 1.005, half - 0.0009),
            (r * 0.97, half - 0.0009),
            (r * 0.97, half * 0.5),
        ],
        24,
    )
    lie = [moved(turned(m, "y", 90), z=r) for m in (case, ends, tip)]
    return Model(
        parts=(piece(lie[0], tone, 0.5), piece(lie[1], STEEL, 0.8), piece(lie[2], BRASS, 0.7))
    )


@builds("coil_cable")
def coiled_cable(rng: np.random.Generator, tone: Rgb) -> Model:
    turns, r = 3, rng.uniform(0.032, 0.045)
    a = np.linspace(0, 2 * np.pi * turns, 26 * turns)
    wobble = 1 + 0.08 * np.sin(a * 0.73 + rng.uniform(0, 6))
    path = np.stack(
        [r * wobble * np.cos(a), r * wobble * np.sin(a), 0.0028 + 0.004 * a / (2 * np.pi)], 1
    )
    tail = path[-1] + np.outer(np.linspace(0.2, 1, 5), [0.02, 0.05, -path[-1][2] + 0.003])
    plug = moved(
        rounded_box((0.012, 0.022, 0.007), 0.002, 1),
        float(tail[-1][0]),
        float(tail[-1][1]) + 0.008,
    )
    return Model(
        parts=(
            piece(tube(np.concatenate([path, tail]), 0.0023, segments=7), tone, 0.3),
            piece(plug, lighter(tone, -0.3), 0.3),
        )
    )


@builds("charger")
def charger(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.042, 0.042, 0.03), 0.006, 2)
    pins = joined(
        *(
            moved(
                turned(cylinder(0.0022, 0.018, bevel=0.0008, segments=10), "x", 90), x, -0.02, 0.015
            )
            for x in (-0.0095, 0.0095)
        )
    )
    return Model(parts=(piece(body, tone, 0.45), piece(pins, STEEL, 0.8)))


@builds("earbuds")
def earbud_case(rng: np.random.Generator, tone: Rgb) -> Model:
    body = rounded_box((0.058, 0.046, 0.023), 0.011, 3)
    lamp = moved(cylinder(0.001, 0.0006, segments=8), y=0.0, z=0.0228)
    return Model(parts=(piece(body, tone, 0.65), piece(lamp, lighter(tone, -0.6), 0.3)))


@builds("headphones")
def headphones(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.radians(np.linspace(-8, 188, 19))
    band = tube(
        np.stack([0.078 * np.cos(a), 0.085 * np.sin(a) + 0.02, np.full(19, 0.03)], 1),
        0.006,
        flat=0.5,
        segments=8,
    )
    cup = turned(cylinder(0.034, 0.022, bevel=0.006, segments=26), "y", 90)
    pad = turned(cylinder(0.03, 0.014, bevel=0.005, segments=26), "y", 90)
    cups = joined(moved(cup, 0.066, 0.0, 0.034), moved(cup, -0.088, 0.0, 0.034))
    pads = joined(moved(pad, 0.054, 0.0, 0.034), moved(pad, -0.068, 0.0, 0.034))
    return Model(parts=(piece(joined(band, cups), tone, 0.4), piece(pads, BLACK, 0.1)))


@builds("flashlight")
def flashlight(rng: np.random.Generator, tone: Rgb) -> Model:
    half, r = rng.uniform(0.055, 0.075), 0.0125
    barrel = revolve(
        [
            (0, -half),
            (r * 0.9, -half),
            (r, -half + 0.004),
            (r, half * 0.4),
            (r * 1.55, half * 0.65),
            (r * 1.55, half),
            (r * 1.35, half),
            (r * 1.2, half - 0.004),
            (0, half - 0.006),
        ],
        28,
    )
    rings = joined(
        *(
            revolve(
                [
                    (r * 0.98, z),
                    (r * 1.06, z),
                    (r * 1.06, z + 0.003),
                    (r * 0.98, z + 0.003),
                    (r * 0.98, z),
                ],
                24,
            )
            for z in np.linspace(-half + 0.01, 0, 5)
        )
    )
    glass = revolve(
        [(0, half - 0.005), (r * 1.2, half - 0.005), (r * 1.2, half - 0.0035), (0, half - 0.0035)],
        24,
    )
    lie = [moved(turned(m, "y", 90), z=r * 1.55) for m in (barrel, rings, glass)]
    return Model(
        parts=(
            piece(lie[0], tone, 0.5),
            piece(lie[1], BLACK, 0.3),
            piece(lie[2], (0.85, 0.86, 0.8), 0.9),
        )
    )


@builds("watch")
def wristwatch(rng: np.random.Generator, tone: Rgb) -> Model:
    case = cylinder(0.019, 0.009, bevel=0.0015, segments=32)
    dial = label_picture(
        rng,
        "XII",
        ground=WHITE if rng.random() < 0.5 else (0.07, 0.07, 0.09),
        height=64,
        plain=True,
    )
    straps = joined(
        *(
            moved(rounded_box((0.019, 0.075, 0.003), 0.0013, 1), y=s * 0.054, z=0.0015)
            for s in (-1, 1)
        )
    )
    bezel = ring(polygon(32, 0.0185), polygon(32, 0.0155), 0.0015)
    return Model(
        parts=(
            piece(joined(case, moved(bezel, z=0.0088)), STEEL, 0.85),
            piece(straps, tone, 0.2),
            top_label(dial, 0.0215, 0.0215, z=0.0091, gloss=0.8),
        )
    )


@builds("lighter")
def pocket_lighter(rng: np.random.Generator, tone: Rgb) -> Model:
    body = moved(
        turned(scaled(cylinder(0.012, 0.055, bevel=0.002, segments=24), 1.0, 0.55, 1.0), "y", 90),
        x=-0.03,
        z=0.012,
    )
    body = moved(turned(body, "x", 90), z=0.0066, y=0.012)
    hood = moved(rounded_box((0.016, 0.02, 0.0105), 0.002, 1), x=0.031, z=0.0015)
    return Model(parts=(piece(body, tone, 0.6), piece(hood, STEEL, 0.85)))


@builds("bulb")
def light_bulb(rng: np.random.Generator, tone: Rgb) -> Model:
    curve = [
        (0.029 * np.cos(a), 0.03 + 0.03 * np.sin(a)) for a in np.radians(np.linspace(-62, 88, 14))
    ]
    glass = revolve([(0, -0.014), (0.0125, -0.014), (0.014, -0.004), *curve, (0, 0.0602)], 28)
    thread = [
        (0.0128 + 0.0009 * np.cos(2 * np.pi * k), -0.036 + 0.023 * k / 5)
        for k in np.linspace(0, 5, 26)
    ]
    base = revolve([(0, -0.041), (0.005, -0.041), (0.0125, -0.036), *thread, (0, -0.013)], 24)
    lie = [turned(m, "y", 84) for m in (glass, base)]
    low = min(float(m.vertices[:, 2].min()) for m in lie)
    return Model(
        parts=(piece(moved(lie[0], z=-low), tone, 0.7), piece(moved(lie[1], z=-low), STEEL, 0.8))
    )


@builds("spool")
def wire_spool(rng: np.random.Generator, tone: Rgb) -> Model:
    r, high = rng.uniform(0.025, 0.035), rng.uniform(0.035, 0.05)
    flange = ring(polygon(32, r), polygon(32, 0.008), 0.003)
    core = ring(polygon(32, r * 0.5), polygon(32, 0.008), high)
    wire = [
        (r * 0.85 + 0.001 * np.cos(2 * np.pi * k), 0.003 + (high - 0.006) * k / 10)
        for k in np.linspace(0, 10, 31)
    ]
    coil = revolve([(r * 0.48, 0.003), *wire, (r * 0.48, high - 0.003), (r * 0.48, 0.003)], 28)
    return Model(
        parts=(
            piece(joined(flange, moved(flange, z=high - 0.003), core), (0.16, 0.16, 0.17), 0.3),
            piece(coil, tone, 0.6),
        )
    )
