"""What things are called: true, and each name fits one thing only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .choice import Thing
from .kinds import PATTERNS
from .layout import Place, gap
from .palette import Names, both
from .settings import Level

_AT: dict[str, Names] = {
    "left": both("left {name}", "左边的{name}"),
    "right": both("right {name}", "右边的{name}"),
    "middle": both("middle {name}", "中间的{name}"),
    "nearer": both("nearer {name}", "近处的{name}"),
    "farther": both("farther {name}", "远处的{name}"),
    "front": both("front {name}", "前面的{name}"),
    "back": both("back {name}", "后面的{name}"),
}
_BESIDE = both("{name} next to the {thing}", "{thing}旁边的{name}")
_QUOTE = both('{name} with "{text}" on it', "写着“{text}”的{name}")
_CLEAR = 0.05
"""Steps between look-alikes below this are not told by eye, metres."""


def plain_name(thing: Thing) -> Names:
    """Colour and noun as in the middle of a sentence."""
    noun = both(*thing.kind.names)
    if not thing.kind.says_colour:
        return noun
    pattern, colour = PATTERNS[thing.kind.pattern], thing.colour.names
    article = "an" if colour["en"][0] in "aeiou" else "a"
    return both(
        pattern["en"].format(noun=noun["en"], colour=colour["en"], a=article),
        pattern["zh"].format(noun=noun["zh"], colour=colour["zh"]),
    )


def as_title(name: Names) -> Names:
    """The name as it stands in a list."""
    return both(name["en"][:1].upper() + name["en"][1:], name["zh"])


def draw_names(
    rng: np.random.Generator, level: Level, things: Sequence[Thing], places: Sequence[Place]
) -> tuple[Names, ...] | None:
    """A name for each thing, as in the middle of a sentence; None if some cannot be told apart."""
    names: list[Names | None] = [None] * len(things)
    for number, thing in enumerate(things):
        if thing.twins is None:
            names[number] = _single_name(rng, level, thing)
    for group in sorted({thing.twins for thing in things if thing.twins is not None}):
        members = [number for number, thing in enumerate(things) if thing.twins == group]
        told = _by_neighbour(rng, level, things, places, members) or _by_place(
            rng, things, places, members
        )
        if told is None:
            return None
        for number, name in zip(members, told, strict=True):
            names[number] = name
    whole = tuple(name for name in names if name is not None)
    different = all(len({name[lang] for name in whole}) == len(things) for lang in ("en", "zh"))
    return whole if different else None


def _single_name(rng: np.random.Generator, level: Level, thing: Thing) -> Names:
    name = plain_name(thing)
    text = thing.model.text
    if text is not None and thing.kind.quote and rng.random() < level.quotes:
        return _filled(_QUOTE, name=name, text=both(text, text))
    return name


def _by_place(
    rng: np.random.Generator,
    things: Sequence[Thing],
    places: Sequence[Place],
    members: Sequence[int],
) -> list[Names] | None:
    """Left, middle, right; or nearer, farther; None if they do not stand like that."""
    spots = np.array([places[number].middle for number in members])
    spread = spots.max(0) - spots.min(0)
    for axis in (0, 1) if spread[0] >= 0.8 * spread[1] else (1, 0):
        order = np.argsort(spots[:, axis], kind="stable")
        step = float(np.diff(spots[order, axis]).min())
        if step < _CLEAR or spread[axis] < 0.5 * spread[1 - axis]:
            continue
        if axis == 0:
            ends = ("left", "right")
        else:
            ends = (("nearer", "farther"), ("front", "back"))[int(rng.integers(2))]
        words = [ends[0], *["middle"] * (len(members) - 2), ends[1]]
        told: list[Names] = [{}] * len(members)
        for rank, i in enumerate(order):
            told[i] = _filled(_AT[words[rank]], name=plain_name(things[members[i]]))
        return told
    return None


def _by_neighbour(
    rng: np.random.Generator,
    level: Level,
    things: Sequence[Thing],
    places: Sequence[Place],
    members: Sequence[int],
) -> list[Names] | None:
    """By what each stands beside, if all have a neighbour of their own."""
    if rng.random() >= level.beside:
        return None
    anchors = [n for n, thing in enumerate(things) if thing.twins is None]
    told: list[Names] = []
    used: set[int] = set()
    for number in members:
        own = [gap(places[n].footprint, places[number].footprint) for n in anchors]
        best = int(np.argmin(own)) if own else -1
        if best < 0 or own[best] > 0.09 or anchors[best] in used:
            return None
        anchor = anchors[best]
        rest = [
            gap(places[anchor].footprint, places[other].footprint)
            for other in members
            if other != number
        ]
        if min(rest) < own[best] + 0.07 or min(rest) < 2.0 * own[best]:
            return None
        used.add(anchor)
        told.append(
            _filled(_BESIDE, name=plain_name(things[number]), thing=plain_name(things[anchor]))
        )
    return told


def _filled(pattern: Names, **words: Names) -> Names:
    return both(
        pattern["en"].format(**{key: word["en"] for key, word in words.items()}),
        pattern["zh"].format(**{key: word["zh"] for key, word in words.items()}),
    )
