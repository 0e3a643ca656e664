"""Colours that objects come in: what they are called and what they look like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..script import Language
from ..world import Rgb

Names = dict[Language, str]
"""The same thing said in each language."""


def both(en: str, zh: str) -> Names:
    """A name in both languages."""
    return {"en": en, "zh": zh}


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """A colour that people name.

    Attributes:
        looks: sRGB; a thing has one of these, or something between two.
        family: Colours of one family are not used to tell two things apart.
    """

    key: str
    names: Names
    looks: tuple[Rgb, ...]
    family: str


def _rgb(text: str) -> Rgb:
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return red, green, blue


def _colour(key: str, en: str, zh: str, looks: str, family: str) -> Colour:
    return Colour(key=key, names=both(en, zh), looks=tuple(map(_rgb, looks.split())), family=family)


COLOURS: dict[str, Colour] = {
    colour.key: colour
    for colour in (
        _colour("red", "red", "红色", "b81c1c c8281e a51520", "red"),
        _colour("orange", "orange", "橙色", "e06a14 ea7d22 d85e10", "orange"),
        _colour("yellow", "yellow", "黄色", "e8c21c f0cc38 dcb414", "yellow"),
        _colour("green", "green", "绿色", "227a3a 2c8c44 1c6a34", "green"),
        _colour("light_green", "light green", "浅绿色", "86bf5c 98cc74 7ab450", "green"),
        _colour("dark_green", "dark green", "深绿色", "12422a 164c30 0f3a22", "green"),
        _colour("cyan", "teal", "青色", "14848c 1c949a 107680", "cyan"),
        _colour("blue", "blue", "蓝色", "1e4cb0 2456c0 1a449c", "blue"),
        _colour("light_blue", "light blue", "浅蓝色", "7cb0dc 8cbce4 6ca4d2", "blue"),
        _colour("dark_blue", "dark blue", "深蓝色", "14244e 1a2c5a 101e44", "blue"),
        _colour("purple", "purple", "紫色", "6a2c94 783aa4 5c2484", "purple"),
        _colour("pink", "pink", "粉色", "e28aa8 ea9cb6 da7a9c", "pink"),
        _colour("brown", "brown", "棕色", "6c4222 7a4c2a 5e381c", "brown"),
        _colour("beige", "beige", "米色", "d8c6a4 e0d0b2 ccb894", "white"),
        _colour("white", "white", "白色", "e6e4de eeece8 dcdad6", "white"),
        _colour("grey", "grey", "灰色", "7c7e80 8a8c8e 6c6e72", "grey"),
        _colour("silver", "silver", "银色", "a8aab0 b4b6ba 9c9ea4", "grey"),
        _colour("black", "black", "黑色", "1c1c1e 26262a 141416", "black"),
        _colour("golden", "golden", "金色", "b88c34 c49a44 a87e2c", "yellow"),
        _colour("wooden", "wooden", "木制", "b48a58 a67c4a c09a6a", "brown"),
    )
}

PLAIN = (
    "red", "orange", "yellow", "green", "cyan", "blue", "purple", "pink", "brown", "white", "grey",
    "black",
)  # fmt: skip
"""Colours that nobody mixes up."""

MANY = (*PLAIN, "light_green", "dark_green", "light_blue", "dark_blue", "beige")
"""What painted and plastic things come in."""


COLOUR_LISTS: dict[str, tuple[str, ...]] = {"@plain": PLAIN, "@many": MANY}
"""Names for these in settings."""


def shade(rng: np.random.Generator, colour: Colour) -> Rgb:
    """A look of the colour, a little off each of its examples."""
    weights = rng.dirichlet(np.full(len(colour.looks), 0.7))
    look = weights @ np.asarray(colour.looks)
    look = np.clip(look * rng.uniform(0.92, 1.06), 0.02, 0.96)
    return float(look[0]), float(look[1]), float(look[2])


def lighter(rgb: Rgb, by: float) -> Rgb:
    """The colour moved towards white (``by`` > 0) or black (``by`` < 0), at most 1 all the way."""
    end = 1.0 if by > 0 else 0.0
    red, green, blue = (value + (end - value) * abs(by) for value in rgb)
    return red, green, blue
