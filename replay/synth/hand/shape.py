"""Whose arm it is: bones, build, skin and clothes, drawn at random."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from replay.synth.hand.flesh import Build
from replay.synth.hand.skeleton import Skeleton
from replay.synth.script import Difficulty
from replay.synth.world import Rgb
from streaming.config import config_path, load

Side = Literal["left", "right"]
SleeveKind = Literal["none", "short", "long"]
Pattern = Literal["plain", "melange", "stripes", "checks", "knit", "denim"]

_KINDS: Final[tuple[SleeveKind, ...]] = ("none", "short", "long")
_PATTERNS: Final[tuple[Pattern, ...]] = ("plain", "melange", "stripes", "checks", "knit", "denim")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wardrobe:
    """How hands of one difficulty are drawn; see ``configs/synth_hand.toml``.

    Attributes:
        bare, short, long: How often there is no sleeve, a short one, a long one; they add to 1.
        over_hand: How often a long sleeve covers part of the hand.
        watch, ring, varnish: How often they are worn.
        size: Standard deviation of the hand's size, as a part of it.
        build: Standard deviation of thickness and breadth.
        darkest: Skin tones are drawn from 0 (lightest) to this, at most 1.
    """

    bare: float
    short: float
    long: float
    over_hand: float
    watch: float
    ring: float
    varnish: float
    size: float
    build: float
    darkest: float

    def __post_init__(self) -> None:
        if abs(self.bare + self.short + self.long - 1) > 1e-6:
            raise ValueError(
                f"bare {self.bare:g}, short {self.short:g} and long {self.long:g} do not add to 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class HandSettings:
    """A wardrobe for each difficulty."""

    easy: Wardrobe
    real: Wardrobe
    hard: Wardrobe

    def of(self, difficulty: Difficulty) -> Wardrobe:
        """The one for ``difficulty``."""
        return {"easy": self.easy, "real": self.real, "hard": self.hard}[difficulty]


@functools.cache
def hand_settings() -> HandSettings:
    """The project's own settings."""
    return load(HandSettings, config_path("synth_hand.toml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinTone:
    """Colours of skin, sRGB.

    Attributes:
        back: Of the back of the hand.
        palm: Of the palm, lighter.
        blood: Of fingertips and knuckles.
        nail, edge: Of the nails and of their free edges.
        mottling: How uneven it is, about 0.03.
    """

    back: Rgb
    palm: Rgb
    blood: Rgb
    nail: Rgb
    edge: Rgb
    mottling: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleeve:
    """What covers the arm; even a bare arm has a sleeve at the shoulder.

    Attributes:
        kind: How long it is.
        edge: Where it ends, metres before the wrist; negative: behind it, along the arm.
        looseness: Metres of air around the arm.
        folds: Height of its folds, metres.
        pattern, colour, second: What it is made of, sRGB.
        cuff: Metres of cuff, 0: a plain hem.
    """

    kind: SleeveKind
    edge: float
    looseness: float
    folds: float
    pattern: Pattern
    colour: Rgb
    second: Rgb
    cuff: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HandShape:
    """One arm and what it wears.

    Attributes:
        side: Left is the mirror image of right.
        build: Size and thickness.
        bones: Factors on each bone of each digit, shape ``(5, 3)``.
        skin: Its colours.
        sleeve: What covers the arm.
        watch, ring: Colours of what is worn; None: nothing.
        seed: Of what is uneven: mottling, folds, weave.
    """

    side: Side
    build: Build
    bones: tuple[tuple[float, float, float], ...]
    skin: SkinTone
    sleeve: Sleeve
    watch: Rgb | None
    ring: Rgb | None
    seed: int

    @property
    def skeleton(self) -> Skeleton:
        """Its bones."""
        return Skeleton.of_size(self.build.size, self.build.breadth, self.bones)

    @classmethod
    def draw(cls, rng: np.random.Generator, difficulty: Difficulty, side: Side) -> HandShape:
        """A hand at random."""
        wardrobe = hand_settings().of(difficulty)
        size = _about_one(rng, wardrobe.size) * 0.97
        build = Build(
            size=size,
            breadth=_about_one(rng, 0.6 * wardrobe.build),
            thickness=_about_one(rng, wardrobe.build),
            arm=_about_one(rng, wardrobe.build),
        )
        bones = np.clip(rng.normal(1.0, 0.025, (5, 3)), 0.93, 1.07)
        odds = [wardrobe.bare, wardrobe.short, wardrobe.long]
        kind = _KINDS[int(rng.choice(3, p=odds))]
        skin = draw_skin(rng, wardrobe)
        sleeve = draw_sleeve(rng, wardrobe, kind, size)
        watch = rng.random() < wardrobe.watch
        ring = rng.random() < wardrobe.ring
        metal = _METALS[int(rng.integers(len(_METALS)))]
        strap = _STRAPS[int(rng.integers(len(_STRAPS)))]
        return cls(
            side=side,
            build=build,
            bones=tuple((float(a), float(b), float(c)) for a, b, c in bones),
            skin=skin,
            sleeve=sleeve,
            watch=strap if watch and sleeve.edge < -0.06 * size else None,
            ring=metal if ring else None,
            seed=int(rng.integers(2**31)),
        )


_METALS: Final[tuple[Rgb, ...]] = ((0.80, 0.66, 0.36), (0.74, 0.75, 0.77))
_STRAPS: Final[tuple[Rgb, ...]] = ((0.08, 0.08, 0.09), (0.30, 0.18, 0.10), (0.62, 0.63, 0.65))

_TONES: Final = np.array(
    [
        (0.90, 0.77, 0.71),
        (0.83, 0.69, 0.61),
        (0.75, 0.59, 0.49),
        (0.63, 0.48, 0.38),
        (0.47, 0.34, 0.27),
        (0.32, 0.23, 0.18),
    ]
)
"""sRGB of the back of the hand, from light to dark."""

_PALM_FLOOR: Final = np.array([0.78, 0.55, 0.45])
_VARNISHES: Final = ((0.72, 0.08, 0.12), (0.92, 0.60, 0.66), (0.20, 0.10, 0.22), (0.90, 0.88, 0.86))

_CLOTHS: Final[tuple[Rgb, ...]] = (
    (0.12, 0.13, 0.16),
    (0.16, 0.21, 0.34),
    (0.30, 0.40, 0.55),
    (0.45, 0.46, 0.48),
    (0.70, 0.71, 0.72),
    (0.88, 0.87, 0.84),
    (0.46, 0.13, 0.14),
    (0.20, 0.33, 0.24),
    (0.55, 0.43, 0.30),
    (0.72, 0.60, 0.42),
    (0.36, 0.26, 0.40),
    (0.80, 0.52, 0.22),
)


def draw_skin(rng: np.random.Generator, wardrobe: Wardrobe) -> SkinTone:
    """A skin tone at random, every depth as often."""
    depth = rng.random() * wardrobe.darkest * (len(_TONES) - 1)
    back = np.array([np.interp(depth, range(len(_TONES)), column) for column in _TONES.T])
    back = np.clip(back * rng.normal(1.0, 0.025, 3), 0.05, 0.97)
    palm = np.clip(
        0.62 * np.maximum(back * 1.06, 0) + 0.38 * np.maximum(_PALM_FLOOR, back), 0, 0.98
    )
    blood = np.clip(palm * (1.02, 0.84, 0.84), 0, 1)
    nail = np.clip(0.6 * palm + 0.4 * np.array([0.93, 0.76, 0.74]), 0, 1)
    edge = 0.45 * nail + 0.55 * np.array([0.92, 0.88, 0.84])
    if rng.random() < wardrobe.varnish:
        nail = np.array(_VARNISHES[int(rng.integers(len(_VARNISHES)))])
        edge = nail
    return SkinTone(
        back=_rgb(back),
        palm=_rgb(palm),
        blood=_rgb(blood),
        nail=_rgb(nail),
        edge=_rgb(edge),
        mottling=float(rng.uniform(0.015, 0.045)),
    )


def draw_sleeve(
    rng: np.random.Generator, wardrobe: Wardrobe, kind: SleeveKind, size: float
) -> Sleeve:
    """A sleeve of a kind at random."""
    over = rng.random() < wardrobe.over_hand
    share = float(rng.random())
    edge = {
        "none": -0.47 - 0.04 * share,
        "short": -0.30 - 0.12 * share,
        "long": 0.015 + 0.035 * share if over else -0.035 + 0.035 * share,
    }[kind]
    first, second = (_CLOTHS[int(i)] for i in rng.choice(len(_CLOTHS), 2, replace=False))
    pattern = _PATTERNS[int(rng.choice(len(_PATTERNS), p=[0.28, 0.18, 0.14, 0.14, 0.14, 0.12]))]
    if pattern == "denim":
        first, second = (0.22, 0.30, 0.45), (0.55, 0.60, 0.68)
    loose = float(rng.uniform(0.003, 0.011))
    return Sleeve(
        kind=kind,
        edge=edge * size,
        looseness=loose,
        folds=float(rng.uniform(0.002, 0.0065)),
        pattern=pattern,
        colour=first,
        second=second,
        cuff=float(rng.uniform(0.03, 0.06)) if kind == "long" and rng.random() < 0.7 else 0.0,
    )


def _about_one(rng: np.random.Generator, deviation: float) -> float:
    """A factor near 1, never further off than two and a half deviations."""
    return float(1 + deviation * np.clip(rng.normal(), -2.5, 2.5))


def _rgb(colour: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Rgb:
    return float(colour[0]), float(colour[1]), float(colour[2])
