"""Bottles, cans, jars, and boxes of food."""

from __future__ import annotations

import numpy as np

from ..world import Material, Mesh, Rgb
from .kinds import STEEL, WHITE, Model, Part, builds, piece
from .labels import band_label, front_label, label_picture
from .palette import both, lighter
from .shapes import arc, cylinder, joined, moved, revolve, rounded_box, tube, turned


def _bottle(radius: float, height: float, neck: float, *, shoulder: float) -> Mesh:
    """A closed bottle without its cap; the shoulder begins at a share of the height."""
    low = height * shoulder
    top = height * 0.93
    bend = [
        (neck + (radius - neck) * 0.5 * (1 + np.cos(np.pi * s)), low + (top * 0.93 - low) * s)
        for s in np.linspace(0, 1, 8)
    ]
    return revolve(
        [
            (0, 0.003),
            (radius * 0.8, 0),
            *arc((radius - 0.006, 0.006), 0.006, -90, 0, 3),
            *bend,
            (neck, top),
            (0, top),
        ],
        32,
    )


@builds("bottle")
def bottle(rng: np.random.Generator, tone: Rgb) -> Model:
    radius, height = rng.uniform(0.030, 0.037), rng.uniform(0.17, 0.215)
    text = str(rng.choice(["WATER", "LEMONADE", "ICED TEA", "SODA", "JUICE", "TONIC", "COLA"]))
    ground = (0.93, 0.93, 0.9) if rng.random() < 0.6 else lighter(tone, 0.55)
    picture = label_picture(rng, text, ground=ground, ratio=2.2, height=120, fill=0.55)
    cap = cylinder(0.0155, 0.02, bevel=0.002, segments=24)
    return Model(
        parts=(
            piece(_bottle(radius, height, 0.013, shoulder=0.62), tone, 0.75),
            piece(
                moved(cap, z=height * 0.91),
                lighter(tone, -0.55) if rng.random() < 0.5 else WHITE,
                0.3,
            ),
            band_label(picture, radius, height * 0.26, height * 0.52),
        ),
        text=text,
        details={"parts": both("a cap and a label", "有盖子和标签")},
        faces_wearer=True,
    )


@builds("oil_bottle")
def oil_bottle(rng: np.random.Generator, tone: Rgb) -> Model:
    radius, height = rng.uniform(0.032, 0.038), rng.uniform(0.23, 0.27)
    text = str(rng.choice(["OLIVE\nOIL", "SESAME\nOIL", "VINEGAR", "CORN OIL"]))
    picture = label_picture(rng, text, ground=(0.9, 0.86, 0.7), ratio=1.5, height=150, fill=0.55)
    return Model(
        parts=(
            piece(_bottle(radius, height, 0.012, shoulder=0.58), tone, 0.85),
            piece(
                moved(cylinder(0.0135, 0.03, bevel=0.002, segments=24), z=height * 0.89),
                (0.1, 0.1, 0.09),
                0.4,
            ),
            band_label(picture, radius, height * 0.18, height * 0.48),
        ),
        text=text.replace("\n", " "),
        faces_wearer=True,
    )


@builds("soap_bottle")
def soap_bottle(rng: np.random.Generator, tone: Rgb) -> Model:
    height = rng.uniform(0.15, 0.19)
    body = rounded_box((0.07, 0.042, height * 0.78), 0.016, 3)
    picture = label_picture(rng, "DISH\nSOAP", ground=lighter(tone, 0.75), ratio=0.8, height=160)
    top = joined(
        moved(cylinder(0.013, 0.018, bevel=0.002, segments=20), z=height * 0.77),
        moved(cylinder(0.006, height * 0.14, bevel=0.001, segments=14), z=height * 0.86),
    )
    return Model(
        parts=(
            piece(body, tone, 0.5),
            piece(top, WHITE, 0.3),
            front_label(picture, 0.036, 0.06, y=0.021, z=height * 0.4),
        ),
        text="DISH SOAP",
        faces_wearer=True,
    )


@builds("spray_bottle")
def spray_bottle(rng: np.random.Generator, tone: Rgb) -> Model:
    body = _bottle(0.038, 0.2, 0.014, shoulder=0.55)
    picture = label_picture(
        rng,
        str(rng.choice(["CLEANER", "GLASS", "WATER"])),
        ground=WHITE,
        ratio=1.8,
        height=120,
        fill=0.55,
    )
    head = joined(
        moved(cylinder(0.0165, 0.022, bevel=0.002, segments=20), z=0.18),
        moved(turned(rounded_box((0.075, 0.022, 0.024), 0.006), "y", -6), x=-0.012, z=0.2),
        tube([(-0.026, 0, 0.205), (-0.032, 0, 0.185), (-0.027, 0, 0.165)], 0.005, flat=1.6),
    )
    return Model(
        parts=(
            piece(body, tone, 0.5),
            piece(head, lighter(tone, -0.6), 0.3),
            band_label(picture, 0.038, 0.04, 0.09),
        ),
        faces_wearer=True,
    )


@builds("soda_can")
def soda_can(rng: np.random.Generator, tone: Rgb) -> Model:
    radius, height = 0.033, float(rng.choice([0.115, 0.122, 0.09]))
    text = str(rng.choice(["COLA", "FIZZ", "ZING", "NORDA", "KIVO", "SPLASH"]))
    picture = label_picture(rng, text, ground=tone, ratio=1.1, height=160, fill=0.55)
    shell = revolve(
        [
            (0, 0.004),
            (0.022, 0.004),
            (0.025, 0),
            (radius, 0.008),
            (radius, height - 0.012),
            (0.0275, height - 0.001),
            (0.0265, height),
            (0.0255, height - 0.005),
            (0, height - 0.005),
        ],
        36,
    )
    tab = moved(rounded_box((0.024, 0.015, 0.0015), 0.0007, 1), z=height - 0.005)
    return Model(
        parts=(
            piece(joined(shell, tab), STEEL, 0.8),
            band_label(picture, radius, 0.009, height - 0.013, gloss=0.6),
        ),
        text=text,
        faces_wearer=True,
    )


@builds("tin_can")
def tin_can(rng: np.random.Generator, tone: Rgb) -> Model:
    radius, height = rng.uniform(0.034, 0.043), rng.uniform(0.06, 0.11)
    text = str(rng.choice(["TOMATO\nSOUP", "SWEET\nCORN", "BEANS", "TUNA", "PEAS", "PEACHES"]))
    picture = label_picture(rng, text, ground=tone, ratio=1.3, height=150, fill=0.55)
    rim = 0.0018
    profile = [
        (0, 0.002),
        (radius - 0.003, 0.002),
        *arc((radius, rim), rim, -150, 60, 5),
        (radius, 0.006),
    ]
    upper = [(r, height - z) for r, z in reversed(profile)]
    return Model(
        parts=(
            piece(revolve([*profile, *upper], 36), STEEL, 0.7),
            band_label(picture, radius, 0.006, height - 0.006),
        ),
        text=text.replace("\n", " "),
        faces_wearer=True,
    )


@builds("jar")
def jar(rng: np.random.Generator, tone: Rgb) -> Model:
    radius, height = rng.uniform(0.033, 0.044), rng.uniform(0.08, 0.12)
    text = str(rng.choice(["HONEY", "JAM", "SALT", "SUGAR", "SPICE", "COFFEE", "PICKLES", "TEA"]))
    shell = revolve(
        [
            (0, 0),
            *arc((radius - 0.007, 0.007), 0.007, -90, 0, 3),
            *arc((radius - 0.01, height * 0.78), 0.01, 0, 70, 3),
            (radius * 0.8, height * 0.88),
            (0, height * 0.88),
        ],
        34,
    )
    lid = moved(cylinder(radius * 0.86, height * 0.16, bevel=0.002), z=height * 0.84)
    picture = label_picture(rng, text, ground=(0.93, 0.91, 0.84), ratio=1.7, height=120, fill=0.55)
    covers: tuple[Rgb, ...] = (
        (0.72, 0.56, 0.25),
        (0.88, 0.88, 0.86),
        lighter(tone, -0.5),
        (0.14, 0.14, 0.15),
    )
    return Model(
        parts=(
            piece(shell, tone, 0.7),
            piece(lid, covers[int(rng.integers(4))], 0.5),
            band_label(picture, radius, height * 0.22, height * 0.6),
        ),
        text=text,
        details={"parts": both("a lid", "有盖子")},
        faces_wearer=True,
    )


def _carton(
    rng: np.random.Generator, tone: Rgb, size: tuple[float, float, float], text: str
) -> tuple[Part, ...]:
    """A printed box: its sides plain, its front with words."""
    wide, deep, high = size
    art = label_picture(rng, text, ground=tone, ratio=wide / high, height=256)
    return (
        Part(
            mesh=rounded_box(size, 0.0016, 1),
            material=Material(colour=lighter(tone, -0.06), gloss=0.2),
        ),
        front_label(art, wide - 0.003, high - 0.003, y=deep / 2, z=high / 2),
    )


@builds("cereal_box")
def cereal_box(rng: np.random.Generator, tone: Rgb) -> Model:
    text = str(rng.choice(["SUNNY\nOATS", "CORN\nRINGS", "MUESLI", "HONEY\nPOPS", "BRAN\nFLAKES"]))
    size = (rng.uniform(0.13, 0.17), rng.uniform(0.045, 0.06), rng.uniform(0.19, 0.24))
    return Model(
        parts=_carton(rng, tone, size, text), text=text.replace("\n", " "), faces_wearer=True
    )


@builds("tea_box")
def tea_box(rng: np.random.Generator, tone: Rgb) -> Model:
    text = str(rng.choice(["GREEN\nTEA", "BLACK\nTEA", "MINT\nTEA", "ROOIBOS", "CHAI"]))
    size = (rng.uniform(0.09, 0.13), rng.uniform(0.06, 0.075), rng.uniform(0.065, 0.08))
    return Model(
        parts=_carton(rng, tone, size, text), text=text.replace("\n", " "), faces_wearer=True
    )


@builds("milk_carton")
def milk_carton(rng: np.random.Generator, tone: Rgb) -> Model:
    wide, high = rng.uniform(0.066, 0.074), rng.uniform(0.14, 0.17)
    half, ridge = wide / 2, high + 0.04
    roof = np.array(
        [
            (-half, -half, high),
            (half, -half, high),
            (half, half, high),
            (-half, half, high),
            (-half, 0, ridge),
            (half, 0, ridge),
        ]
    )
    faces = [(0, 1, 5), (0, 5, 4), (2, 3, 4), (2, 4, 5), (3, 0, 4), (1, 2, 5), (0, 3, 2), (0, 2, 1)]
    fin = moved(rounded_box((wide, 0.004, 0.018), 0.001, 1), z=ridge - 0.004)
    top = joined(Mesh(vertices=roof.astype(np.float32), faces=np.asarray(faces, np.int32)), fin)
    return Model(
        parts=(
            *_carton(rng, tone, (wide, wide, high), "MILK"),
            piece(top, lighter(tone, 0.25), 0.2),
            piece(
                moved(
                    turned(cylinder(0.012, 0.012, bevel=0.002, segments=18), "x", 52),
                    y=-0.012,
                    z=high + 0.018,
                ),
                (0.2, 0.35, 0.7),
                0.3,
            ),
        ),
        text="MILK",
        faces_wearer=True,
    )


@builds("thermos")
def thermos(rng: np.random.Generator, tone: Rgb) -> Model:
    r, h = rng.uniform(0.032, 0.038), rng.uniform(0.19, 0.24)
    body = revolve(
        [
            (0, 0),
            *arc((r - 0.004, 0.004), 0.004, -90, 0, 2),
            (r, h * 0.74),
            (r * 0.86, h * 0.78),
            (0, h * 0.78),
        ],
        36,
    )
    cup = moved(cylinder(r * 0.88, h * 0.2, bevel=0.004, segments=36), z=h * 0.78)
    band = revolve(
        [
            (r * 0.8, h * 0.765),
            (r * 0.9, h * 0.765),
            (r * 0.9, h * 0.785),
            (r * 0.8, h * 0.785),
            (r * 0.8, h * 0.765),
        ],
        36,
    )
    return Model(
        parts=(
            piece(body, tone, 0.55),
            piece(cup, lighter(tone, -0.4), 0.5),
            piece(band, STEEL, 0.8),
        )
    )


@builds("lunch_box")
def lunch_box(rng: np.random.Generator, tone: Rgb) -> Model:
    wide, deep, high = rng.uniform(0.14, 0.18), rng.uniform(0.1, 0.12), rng.uniform(0.05, 0.065)
    body = rounded_box((wide - 0.006, deep - 0.006, high * 0.8), 0.012, 3)
    lid = moved(rounded_box((wide, deep, high * 0.26), 0.006), z=high * 0.76)
    return Model(parts=(piece(body, lighter(tone, 0.45), 0.4), piece(lid, tone, 0.4)))
