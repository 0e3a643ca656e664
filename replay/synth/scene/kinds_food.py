"""Fruit, vegetables, and other things to eat."""

from __future__ import annotations

import numpy as np

from ..world import Mesh, Rgb
from .kinds import WHITE, Model, builds, mottled, piece
from .labels import label_picture, top_label
from .palette import lighter
from .shapes import (
    arc,
    cut_out,
    cylinder,
    joined,
    laid,
    moved,
    revolve,
    rounded_box,
    scaled,
    tube,
    turned,
)


def _round_fruit(
    radius: float,
    *,
    dimple: float,
    squash: float = 1.0,
    belly: float = 0.0,
    steps: int = 16,
    segments: int = 26,
) -> Mesh:
    """A fruit with dimples at both ends, standing on ``z = 0``; ``belly`` > 0: wider above."""
    angles = np.radians(np.linspace(-90, 90, steps + 1))
    profile = []
    for a in angles:
        pull = 1.0 - dimple * np.exp(-(((np.pi / 2 - abs(a)) / 0.42) ** 2))
        r = radius * np.cos(a) * (1 + belly * np.sin(a))
        profile.append((max(r, 0.0), radius * squash * np.sin(a) * pull))
    profile[0], profile[-1] = (0.0, profile[0][1]), (0.0, profile[-1][1])
    low = min(z for _, z in profile)
    return revolve([(r, z - low) for r, z in profile], segments)


def _stem(height: float, length: float, thick: float) -> Mesh:
    path = [(0, 0, height - 0.006), (0.001, 0, height), (0.004, 0.001, height + length)]
    return tube(path, thick, segments=7, up=(0.0, 1.0, 0.0))


_STALK: Rgb = (0.28, 0.2, 0.1)
_LEAF: Rgb = (0.16, 0.36, 0.12)


@builds("apple")
def apple(rng: np.random.Generator, tone: Rgb) -> Model:
    radius = rng.uniform(0.034, 0.041)
    body = _round_fruit(radius, dimple=0.3, squash=0.94, belly=0.1)
    top = float(body.vertices[:, 2].max())
    body = mottled(rng, body, 0.22, 0.03)
    return Model(parts=(piece(body, tone, 0.5), piece(_stem(top - 0.004, 0.012, 0.0012), _STALK)))


@builds("orange_fruit")
def orange_fruit(rng: np.random.Generator, tone: Rgb) -> Model:
    body = mottled(rng, _round_fruit(rng.uniform(0.034, 0.041), dimple=0.06), 0.07, 0.008)
    top = float(body.vertices[:, 2].max())
    knob = moved(cylinder(0.003, 0.003, segments=8), z=top - 0.002)
    return Model(parts=(piece(body, tone, 0.4), piece(knob, _LEAF)))


@builds("tomato")
def tomato(rng: np.random.Generator, tone: Rgb) -> Model:
    radius = rng.uniform(0.028, 0.038)
    body = _round_fruit(radius, dimple=0.16, squash=0.82)
    top = float(body.vertices[:, 2].max())
    leaves = [
        tube(
            [(0.001 * np.cos(a), 0.001 * np.sin(a), top - 0.002),
             (0.010 * np.cos(a), 0.010 * np.sin(a), top + 0.002),
             (0.017 * np.cos(a), 0.017 * np.sin(a), top + 0.0015)],
            [0.002, 0.0018, 0.0006], segments=6,
        )
        for a in np.arange(5) * 2 * np.pi / 5
    ]  # fmt: skip
    return Model(parts=(piece(body, tone, 0.65), piece(joined(*leaves), _LEAF)))


@builds("lemon")
def lemon(rng: np.random.Generator, tone: Rgb) -> Model:
    half, radius = rng.uniform(0.036, 0.044), rng.uniform(0.024, 0.028)
    profile = [
        (radius * np.cos(a) ** 0.8, half * 0.86 * np.sin(a))
        for a in np.radians(np.linspace(-75, 75, 13))
    ]
    profile = [(0.0, -half), (0.004, -half + 0.001), *profile, (0.004, half - 0.001), (0.0, half)]
    return Model(parts=(piece(mottled(rng, laid(revolve(profile, 24))[0], 0.07, 0.01), tone, 0.4),))


@builds("pear")
def pear(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.03, 0.035)
    profile = [
        (0, 0.002),
        (r * 0.4, 0),
        (r * 0.85, 0.012),
        (r, 0.03),
        (r * 0.88, 0.046),
        (r * 0.58, 0.063),
        (r * 0.45, 0.078),
        (r * 0.25, 0.087),
        (0, 0.089),
    ]
    return Model(
        parts=(
            piece(mottled(rng, revolve(profile, 26), 0.15, 0.03), tone, 0.4, 70),
            piece(_stem(0.087, 0.016, 0.0013), _STALK),
        )
    )


@builds("banana")
def banana(rng: np.random.Generator, tone: Rgb) -> Model:
    bend = np.radians(np.linspace(-52, 52, 17))
    radius = rng.uniform(0.095, 0.115)
    path = np.stack([radius * np.sin(bend), radius * (1 - np.cos(bend)), np.full(17, 0.0165)], 1)
    thick = 0.0165 * np.array([0.32, 0.36, 0.62, 0.85, *[1.0] * 9, 0.9, 0.7, 0.45, 0.3])
    body = mottled(rng, tube(path, list(thick), segments=9), 0.1, 0.03)
    tips = joined(
        tube(path[:2], 0.0064, segments=8),
        tube(path[-2:], 0.006, segments=8),
    )
    return Model(parts=(piece(body, tone, 0.3, 30), piece(tips, (0.22, 0.17, 0.08))))


@builds("potato")
def potato(rng: np.random.Generator, tone: Rgb) -> Model:
    half, r = rng.uniform(0.035, 0.05), rng.uniform(0.024, 0.03)
    profile = [
        (max(r * np.cos(a), 0.0) * (1 + 0.08 * np.sin(2 * a)), half * np.sin(a))
        for a in np.radians(np.linspace(-90, 90, 13))
    ]
    profile[0], profile[-1] = (0.0, -half), (0.0, half)
    return Model(
        parts=(
            piece(
                mottled(rng, scaled(laid(revolve(profile, 24))[0], 1, 1.1, 0.9), 0.16, 0.012),
                tone,
                0.1,
            ),
        )
    )


@builds("onion")
def onion(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.03, 0.037)
    profile = [
        (0, 0.001),
        (r * 0.3, 0),
        (r * 0.8, r * 0.4),
        (r, r * 0.85),
        (r * 0.9, r * 1.25),
        (r * 0.5, r * 1.6),
        (r * 0.16, r * 1.8),
        (0.003, r * 2.15),
        (0, r * 2.17),
    ]
    return Model(parts=(piece(mottled(rng, revolve(profile, 26), 0.14, 0.02), tone, 0.5, 60),))


@builds("carrot")
def carrot(rng: np.random.Generator, tone: Rgb) -> Model:
    length, r = rng.uniform(0.12, 0.16), rng.uniform(0.012, 0.016)
    profile = [
        (0, -length / 2),
        (0.0015, -length / 2),
        (r * 0.55, -length * 0.15),
        (r, length * 0.42),
        (r * 0.8, length * 0.49),
        (0, length / 2),
    ]
    body = laid(revolve(profile, 16))[0]
    z = r
    leaves = joined(
        *(
            tube(
                [
                    (length / 2 - 0.004, 0, z),
                    (length / 2 + 0.02, y, z + 0.002),
                    (length / 2 + 0.035, 2 * y, z - 0.003),
                ],
                [0.003, 0.002, 0.001],
                segments=6,
            )
            for y in (-0.005, 0.0, 0.006)
        )
    )
    return Model(parts=(piece(mottled(rng, body, 0.1, 0.01), tone, 0.3), piece(leaves, _LEAF)))


@builds("cucumber")
def cucumber(rng: np.random.Generator, tone: Rgb) -> Model:
    half, r = rng.uniform(0.075, 0.1), rng.uniform(0.017, 0.021)
    profile = [
        (0, -half),
        *arc((0.0, -half + r), r, -75, -5, 4),
        *arc((0.0, half - r), r, 5, 75, 4),
        (0, half),
    ]
    return Model(parts=(piece(mottled(rng, laid(revolve(profile, 20))[0], 0.22, 0.02), tone, 0.4),))


@builds("egg")
def egg(rng: np.random.Generator, tone: Rgb) -> Model:
    half, r = rng.uniform(0.027, 0.030), rng.uniform(0.021, 0.023)
    profile = [
        (max(r * np.cos(a), 0.0) * (1 - 0.13 * np.sin(a)), half * np.sin(a))
        for a in np.radians(np.linspace(-90, 90, 15))
    ]
    profile[0], profile[-1] = (0.0, -half), (0.0, half)
    return Model(parts=(piece(laid(revolve(profile, 24))[0], tone, 0.25),))


@builds("bread_roll")
def bread_roll(rng: np.random.Generator, tone: Rgb) -> Model:
    r, h = rng.uniform(0.035, 0.045), rng.uniform(0.038, 0.048)
    curve = [
        (r * np.cos(a), h * 0.3 + h * 0.7 * np.sin(a)) for a in np.radians(np.linspace(0, 90, 9))
    ]
    body = revolve([(0, 0), (r * 0.8, 0), (r * 0.97, h * 0.12), *curve[:-1], (0, h)], 28)
    body = scaled(body, rng.uniform(1.0, 1.35), 1.0, 1.0)
    return Model(parts=(piece(mottled(rng, body, 0.2, 0.02), tone, 0.15),))


@builds("donut")
def donut(rng: np.random.Generator, tone: Rgb) -> Model:
    a = np.arange(26) * (2 * np.pi / 26)
    ring = np.stack([0.026 * np.cos(a), 0.026 * np.sin(a), np.full(26, 0.015)], 1)
    dough = tube(ring, 0.0155, loop=True, segments=12)
    icing = moved(tube(ring, 0.0152, loop=True, segments=12), z=0.0022)
    return Model(
        parts=(piece(dough, (0.68, 0.44, 0.2), 0.1), piece(scaled(icing, 1, 1, 1), tone, 0.6))
    )


@builds("cheese")
def cheese(rng: np.random.Generator, tone: Rgb) -> Model:
    wide = rng.uniform(0.32, 0.5)
    angle = np.linspace(-wide, wide, 9)
    wedge = [(0.0, 0.0), *((0.095 * np.cos(a), 0.095 * np.sin(a)) for a in angle)]
    return Model(parts=(piece(cut_out(wedge, rng.uniform(0.025, 0.04), bevel=0.0015), tone, 0.25),))


@builds("chocolate")
def chocolate(rng: np.random.Generator, tone: Rgb) -> Model:
    text = str(rng.choice(["MILK\nCHOC", "DARK\n70", "HAZEL\nNUT", "COCOA"]))
    wide, deep = rng.uniform(0.14, 0.16), rng.uniform(0.068, 0.078)
    art = label_picture(rng, text, ground=tone, ratio=wide / deep, height=128)
    return Model(
        parts=(
            piece(rounded_box((wide, deep, 0.009), 0.002, 1), lighter(tone, -0.1), 0.4),
            top_label(art, wide - 0.004, deep - 0.004, z=0.009, gloss=0.4),
        ),
        text=text.replace("\n", " "),
        faces_wearer=True,
    )


@builds("strawberry")
def strawberry(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.013, 0.016)
    profile = [
        (0, -r * 1.5),
        (r * 0.3, -r * 1.42),
        (r * 0.75, -r * 0.7),
        (r, r * 0.2),
        (r * 0.8, r * 0.75),
        (0, r * 0.85),
    ]
    body = laid(revolve(profile, 18))[0]
    leaf = moved(turned(cylinder(r * 0.7, 0.0012, segments=7), "y", 90), x=r * 0.85, z=r)
    return Model(parts=(piece(mottled(rng, body, 0.15, 0.004), tone, 0.5, 60), piece(leaf, _LEAF)))


@builds("walnut")
def walnut(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.014, 0.017)
    body = mottled(rng, moved(scaled(_round_fruit(r, dimple=0.05), 1.1, 1, 1)), 0.25, 0.004)
    seam = [
        (r * 1.12 * np.cos(a), 0, r + r * 1.03 * np.sin(a)) for a in np.arange(20) * 2 * np.pi / 20
    ]
    return Model(
        parts=(
            piece(body, tone, 0.2),
            piece(
                tube(seam, 0.0012, loop=True, segments=6, up=(0, 1, 0)), lighter(tone, -0.15), 0.2
            ),
        )
    )


@builds("garlic")
def garlic(rng: np.random.Generator, tone: Rgb) -> Model:
    r = rng.uniform(0.02, 0.025)
    cloves = [
        moved(
            scaled(
                _round_fruit(r * 0.62, dimple=0.0, belly=-0.2, steps=9, segments=14), 1, 1, 1.45
            ),
            r * 0.45 * np.cos(a),
            r * 0.45 * np.sin(a),
        )
        for a in np.arange(6) * 2 * np.pi / 6
    ]
    neck = revolve([(0, r * 1.2), (r * 0.3, r * 1.2), (r * 0.14, r * 2.0), (0, r * 2.05)], 12)
    return Model(parts=(piece(mottled(rng, joined(*cloves, neck), 0.05, 0.01), tone, 0.2),))


@builds("sugar_cube")
def sugar_cube(rng: np.random.Generator, tone: Rgb) -> Model:
    side = rng.uniform(0.014, 0.017)
    return Model(parts=(piece(rounded_box((side, side, side * 0.85), 0.0012, 1), WHITE, 0.05),))


@builds("tea_bag")
def tea_bag(rng: np.random.Generator, tone: Rgb) -> Model:
    bag = scaled(rounded_box((0.05, 0.055, 0.006), 0.0029, 2), 1, 1, 1)
    string = tube(
        [(0, 0.026, 0.003), (0.006, 0.045, 0.001), (-0.004, 0.06, 0.001), (0.004, 0.075, 0.0012)],
        0.0005,
        segments=5,
    )
    tag = moved(rounded_box((0.02, 0.022, 0.0008), 0.0003, 1), 0.004, 0.085)
    return Model(
        parts=(
            piece(mottled(rng, bag, 0.12, 0.01), (0.72, 0.62, 0.45), 0.05),
            piece(string, WHITE),
            piece(tag, tone),
        )
    )
