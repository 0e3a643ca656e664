"""What a pointing still shows, as questions need it: things with their facts, hand, target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from replay.synth.scene.layout import gap
from streaming.events import Point

Where = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """An object that can be seen.

    Attributes:
        name: What only it is called in this scene, without an article.
        noun: Its kind's name.
        alike: Things of one key look so alike that their nouns are no fair alternatives.
        colour: What one calls its main colour; None when nobody would say one.
        family: Colours of one family are not told apart.
        use: What it is for, such as "used for drinking", "contains milk".
        text: The words printed on it.
        legible: Whether they can be read in the picture.
        centre: World coordinates, metres.
        footprint: Convex outline on the table, counter-clockwise, metres.
        seen: Its middle in the picture, shares of width and height.
        share: Of the picture that it covers.
    """

    label: int
    name: str
    noun: str
    alike: str
    colour: str | None
    family: str
    category: str
    material: str
    use: str
    qualities: frozenset[str]
    text: str | None
    legible: bool
    centre: Where
    footprint: tuple[tuple[float, float], ...]
    height: float
    seen: Point
    share: float

    def gap(self, other: Thing) -> float:
        """Metres between the two on the table, about."""
        return max(0.0, gap(np.array(self.footprint), np.array(other.footprint)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One still.

    Attributes:
        things: All objects that are seen well enough to be asked about.
        target: Label of what the pointing ray hits; None: the bare table.
        place: Where it hits, world coordinates.
        tip: The index fingertip, world coordinates.
    """

    things: tuple[Thing, ...]
    target: int | None
    place: Where
    tip: Where

    @property
    def thing(self) -> Thing | None:
        """What is pointed at."""
        return next((thing for thing in self.things if thing.label == self.target), None)

    def rivals(self) -> tuple[Thing, ...]:
        """The other things, those first that are mistaken for the target.

        The one nearest to the hand, the one that takes up most of the picture, then those nearest
        to where the ray ends.
        """
        others = [thing for thing in self.things if thing.label != self.target]
        if not others:
            return ()
        nearest = min(others, key=lambda thing: math.dist(thing.centre, self.tip))
        largest = max(others, key=lambda thing: thing.share)
        rest = sorted(others, key=lambda thing: math.dist(thing.centre, self.place))
        return tuple(dict.fromkeys([nearest, largest, *rest]))
