"""What kinds of things there are: their names and uses, and what builds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from streaming import config

from ..world import Material, Mesh, Rgb
from .palette import COLOUR_LISTS, Names, both

Setting = Literal["Kitchen", "Office", "Industrial"]
SETTINGS: tuple[Setting, ...] = ("Kitchen", "Office", "Industrial")

Size = Literal["tiny", "small", "medium", "large"]
SIZES: tuple[Size, ...] = ("tiny", "small", "medium", "large")

Quality = Literal["container", "edible", "sharp", "electronic", "fragile", "cutting", "writing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of one material. Edges sharper than ``crease`` degrees stay visible."""

    mesh: Mesh
    material: Material
    crease: float = 38.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A thing standing on ``z = 0`` about the origin, its front (if any) towards ``-y``.

    Attributes:
        text: Words printed on it, as one reads them.
        faces_wearer: It stands with its front to the wearer, more or less, as labelled things do.
        details: Further facts for questions.
    """

    parts: tuple[Part, ...]
    text: str | None = None
    faces_wearer: bool = False
    details: dict[str, Names] = field(default_factory=dict)


Builder = Callable[[np.random.Generator, Rgb], Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of thing, as ``configs/synth_kinds.toml`` describes it.

    Attributes:
        names: The noun without a colour, English and Chinese.
        settings: Initials of the settings in which it is found.
        colours: Keys of the colours it comes in; ``@plain`` and ``@many`` stand for lists. One
            alone is not said: a lemon is a lemon.
        group: Kinds of one group look so alike that colour or place must tell them apart; empty:
            its own key.
        pattern: How noun and colour make a name.
        quote: A name that quotes the printed text as ``{text}`` after the rest; empty: none does.
        use: What it is for, as one says in each language.
    """

    names: tuple[str, str]
    settings: str
    size: Size
    category: str
    colours: tuple[str, ...]
    use: tuple[str, str]
    material: str
    qualities: tuple[Quality, ...] = ()
    group: str = ""
    pattern: Literal["plain", "handle", "cap", "icing", "sleeve", "pot", "strap", "wheel"] = "plain"
    quote: bool = False

    @property
    def palette(self) -> tuple[str, ...]:
        """Keys of the colours it comes in."""
        return tuple(key for name in self.colours for key in COLOUR_LISTS.get(name, (name,)))

    @property
    def says_colour(self) -> bool:
        """Whether its colour is part of its name."""
        return len(self.palette) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalogue:
    """The file's contents."""

    kinds: dict[str, Kind]


BUILDERS: dict[str, Builder] = {}
"""What makes each kind, by key."""

CATEGORIES: dict[str, Names] = {
    "drinkware": both("drinkware", "饮具"),
    "tableware": both("tableware", "餐具"),
    "cutlery": both("cutlery", "刀叉餐具"),
    "cookware": both("cookware", "炊具"),
    "fruit": both("fruit", "水果"),
    "vegetable": both("vegetable", "蔬菜"),
    "food": both("food", "食品"),
    "drink": both("drink", "饮料"),
    "cleaning": both("cleaning supply", "清洁用品"),
    "stationery": both("stationery", "文具"),
    "reading": both("reading matter", "书刊"),
    "electronics": both("electronics", "电子产品"),
    "tool": both("tool", "工具"),
    "fastener": both("fastener", "紧固件"),
    "part": both("machine part", "机械零件"),
    "toy": both("toy", "玩具"),
    "personal": both("personal item", "随身物品"),
    "container": both("container", "容器"),
    "supply": both("workshop supply", "车间用品"),
}

MATERIALS: dict[str, str] = {
    "ceramic": "陶瓷", "metal": "金属", "steel": "钢", "plastic": "塑料", "wood": "木头",
    "paper": "纸", "cardboard": "纸板", "glass": "玻璃", "rubber": "橡胶", "food": "食物",
    "foam": "海绵", "brass": "黄铜", "leather": "皮革", "wax": "蜡", "fabric": "布",
}  # fmt: skip

"""Materials in English and Chinese."""

PATTERNS: dict[str, Names] = {
    "plain": both("{colour} {noun}", "{colour}{noun}"),
    "handle": both("{noun} with {a} {colour} handle", "{colour}手柄的{noun}"),
    "icing": both("{noun} with {colour} icing", "{colour}糖霜的{noun}"),
    "cap": both("{noun} with {a} {colour} cap", "{colour}盖子的{noun}"),
    "sleeve": both("{noun} with {a} {colour} sleeve", "{colour}封套的{noun}"),
    "pot": both("{noun} in {a} {colour} pot", "{colour}花盆的{noun}"),
    "strap": both("{noun} with {a} {colour} strap", "{colour}表带的{noun}"),
    "wheel": both("{noun} with {a} {colour} wheel", "{colour}手轮的{noun}"),
}
"""How noun and colour make a name; ``{a}`` is the colour's article."""


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Kind]:
    """All kinds by key, in the order of ``configs/synth_kinds.toml``."""
    return config.load(_Catalogue, config.config_path("synth_kinds.toml")).kinds


def builds(key: str) -> Callable[[Builder], Builder]:
    """Register the function that follows as the one that makes things of this kind."""

    def register(build: Builder) -> Builder:
        BUILDERS[key] = build
        return build

    return register


def paint(colour: Rgb, gloss: float = 0.3) -> Material:
    """A plain surface."""
    return Material(colour=colour, gloss=gloss)


def piece(shape: Mesh, colour: Rgb, gloss: float = 0.3, crease: float = 38.0) -> Part:
    """A part of one plain colour."""
    return Part(mesh=shape, material=paint(colour, gloss), crease=crease)


WOOD: Rgb = (0.70, 0.52, 0.33)
STEEL: Rgb = (0.62, 0.63, 0.66)
DARK_STEEL: Rgb = (0.30, 0.31, 0.33)
BLACK: Rgb = (0.09, 0.09, 0.10)
WHITE: Rgb = (0.92, 0.92, 0.90)
BRASS: Rgb = (0.72, 0.56, 0.25)


def mottled(rng: np.random.Generator, shape: Mesh, strength: float, scale: float = 0.02) -> Mesh:
    """The shape with soft spots about ``scale`` metres apart, as grown things have them."""
    waves = rng.normal(0, 1 / scale, (6, 3))
    phase = rng.uniform(0, 2 * np.pi, 6)
    tone = np.sin(shape.vertices @ waves.T + phase).mean(1) * 2
    change = rng.uniform(0.4, 1.0, 3) * strength
    tint = 1.0 + tone[:, None] * change
    return Mesh(
        vertices=shape.vertices,
        faces=shape.faces,
        uv=shape.uv,
        tint=np.clip(tint, 0.3, 1.6).astype(np.float32),
    )
