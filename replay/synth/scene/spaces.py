"""Free places on the table, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..world import Floats
from .layout import Place, distance
from .palette import Names, both
from .settings import Level, Settings
from .view import View

Side = Literal["left", "right", "front", "behind"]

_WAYS: dict[Side, tuple[float, float]] = {
    "left": (-1.0, 0.0),
    "right": (1.0, 0.0),
    "front": (0.0, -1.0),
    "behind": (0.0, 1.0),
}
_SIDE_NAMES: dict[Side, Names] = {
    "left": both("to the left of", "左边"),
    "right": both("to the right of", "右边"),
    "front": both("in front of", "前面"),
    "behind": both("behind", "后面"),
}
_REGIONS: dict[tuple[int, int], Names] = {
    (0, 0): both("at the front left of the table", "桌面左前方"),
    (1, 0): both("at the front of the table", "桌面正前方"),
    (2, 0): both("at the front right of the table", "桌面右前方"),
    (0, 1): both("at the left side of the table", "桌面左侧"),
    (1, 1): both("in the middle of the table", "桌面中央"),
    (2, 1): both("at the right side of the table", "桌面右侧"),
    (0, 2): both("at the back left of the table", "桌面左后方"),
    (1, 2): both("at the back of the table", "桌面正后方"),
    (2, 2): both("at the back right of the table", "桌面右后方"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FreePlace:
    """A free place on the table.

    Attributes:
        x, y: Its middle, metres.
        radius: Nothing stands within it, metres.
        beside: Number of the thing that it is named after, or None.
        side: On which side of that thing.
        region: Column and row of the table's third, if it is named after that.
    """

    x: float
    y: float
    radius: float
    beside: int | None = None
    side: Side | None = None
    region: tuple[int, int] | None = None


def name_of(place: FreePlace, objects: Sequence[Names]) -> Names:
    """What the place is called; ``objects``: names in the middle of a sentence."""
    if place.beside is not None and place.side is not None:
        thing, side = objects[place.beside], _SIDE_NAMES[place.side]
        return both(
            f"Empty space {side['en']} the {thing['en']}", f"{thing['zh']}{side['zh']}的空位"
        )
    region = _REGIONS[place.region or (1, 1)]
    return both(f"Empty space {region['en']}", f"{region['zh']}的空位")


class FreePlaces:
    """Finds free places among things and clutter.

    Args:
        things: Where the things stand.
        labels: The things' outlines as the camera sees them, numbered from 1.
    """

    def __init__(
        self,
        settings: Settings,
        level: Level,
        view: View,
        things: Sequence[Place],
        labels: NDArray[np.uint8],
    ) -> None:
        self._settings = settings
        self._level = level
        self._view = view
        self._things = things
        self._labels = labels

    def draw(self, rng: np.random.Generator) -> tuple[FreePlace, ...]:
        """As many as the settings ask for, if there are; those at left and right first."""
        fewest, most = self._settings.spaces
        wanted = int(rng.integers(fewest, most + 1))
        chosen: list[FreePlace] = []
        lateral = self._candidates(rng, ("left", "right"))
        others = self._candidates(rng, ("front", "behind"))
        regional = self._regions(rng)
        aside = max(2, wanted - int(rng.integers(0, 3)))
        for pool, limit in (
            (lateral, aside), (others, wanted), (regional, wanted), (lateral, wanted),
        ):  # fmt: skip
            for place in pool:
                if len(chosen) < limit and self._distinct(place, chosen):
                    chosen.append(place)
        order = rng.permutation(len(chosen))
        return tuple(chosen[i] for i in order)

    def _candidates(self, rng: np.random.Generator, sides: tuple[Side, ...]) -> list[FreePlace]:
        """At most one on each of these sides of each thing, in random order."""
        found = []
        for number in rng.permutation(len(self._things)):
            for i in rng.permutation(len(sides)):
                place = self._beside(rng, int(number), sides[i])
                if place is not None:
                    found.append(place)
        return found

    def _beside(self, rng: np.random.Generator, number: int, side: Side) -> FreePlace | None:
        thing, way = self._things[number], np.asarray(_WAYS[side])
        smallest, largest = self._settings.space_radius
        reach = float(((thing.footprint - thing.middle) @ way).max())
        across = np.array([-way[1], way[0]])
        for _ in range(6):
            away = reach + smallest + rng.uniform(0.012, 0.05)
            aside = rng.uniform(-0.12, 0.12) * away
            middle = thing.middle + away * way + aside * across
            radius = min(largest, self._room(middle))
            if radius < smallest or not self._seen(middle, smallest):
                continue
            near = [distance(other.footprint, middle) for other in self._things]
            if near[number] > min(near) + 0.02:
                continue
            return FreePlace(
                x=float(middle[0]), y=float(middle[1]), radius=radius, beside=number, side=side
            )
        return None

    def _regions(self, rng: np.random.Generator) -> list[FreePlace]:
        """The freest of a few draws in each third of the table, in random order."""
        found = []
        for cell in rng.permutation(9):
            column, row = int(cell % 3), int(cell // 3)
            best: FreePlace | None = None
            for _ in range(8):
                middle = self._in_cell(rng, column, row)
                radius = min(self._settings.space_radius[1], self._room(middle))
                if best is not None and radius <= best.radius:
                    continue
                if radius >= self._settings.space_radius[0] + 0.01 and self._seen(middle, radius):
                    best = FreePlace(
                        x=float(middle[0]), y=float(middle[1]), radius=radius, region=(column, row)
                    )
            if best is not None:
                found.append(best)
        return found

    def _edges(self) -> tuple[float, float, float, float]:
        """Where the table's thirds meet: two ``x``, two ``y``."""
        settings = self._settings
        x = self._level.reach / 3
        y = (self._level.far - settings.near) / 3
        return -x, x, settings.near + y, settings.near + 2 * y

    def _in_cell(self, rng: np.random.Generator, column: int, row: int) -> Floats:
        """A point well within a third of the table each way."""
        settings, (left, right, low, high) = self._settings, self._edges()
        spans = (
            ((-self._level.reach, left), (left, right), (right, self._level.reach))[column],
            ((settings.near, low), (low, high), (high, self._level.far))[row],
        )
        return np.array([rng.uniform(a + 0.15 * (b - a), b - 0.15 * (b - a)) for a, b in spans])

    def region_of(self, x: float, y: float) -> tuple[int, int]:
        """Column and row of the table's third that holds a point."""
        left, right, low, high = self._edges()
        return int(x > left) + int(x > right), int(y > low) + int(y > high)

    def _room(self, middle: Floats) -> float:
        """How large a circle about the point is free."""
        return min(distance(thing.footprint, middle) for thing in self._things)

    def _seen(self, middle: Floats, radius: float) -> bool:
        """Whether the circle lies in the picture and most of it behind nothing."""
        settings = self._settings
        if not (settings.near - 0.03 < middle[1] < self._level.far + 0.03):
            return False
        angle = np.arange(12) * (2 * np.pi / 12)
        shares = np.concatenate([np.zeros(1), np.full(12, 0.5), np.full(12, 0.95)])
        ways = np.concatenate([[0.0], angle, angle])
        points = np.stack(
            [
                middle[0] + radius * shares * np.cos(ways),
                middle[1] + radius * shares * np.sin(ways),
                np.zeros(25),
            ],
            1,
        )
        if not self._view.holds(points):
            return False
        pixels = self._view.project(points).astype(int)
        hidden = self._labels[pixels[:, 1], pixels[:, 0]] > 0
        return not hidden[0] and float(hidden.mean()) < 0.35

    def _distinct(self, place: FreePlace, chosen: Sequence[FreePlace]) -> bool:
        """Whether nobody could take the place for one of those chosen, or the reverse."""
        for other in chosen:
            if np.hypot(place.x - other.x, place.y - other.y) < self._settings.space_gap:
                return False
            if self._also_fits(place, other) or self._also_fits(other, place):
                return False
        return True

    def _also_fits(self, place: FreePlace, other: FreePlace) -> bool:
        """Whether the name of ``other`` could be said of ``place`` too."""
        if other.beside is None or other.side is None:
            return self.region_of(place.x, place.y) == other.region
        way = np.asarray(_WAYS[other.side])
        off = np.array([place.x, place.y]) - self._things[other.beside].middle
        along = float(off @ way)
        across = abs(float(off @ np.array([-way[1], way[0]])))
        near = distance(self._things[other.beside].footprint, np.array([place.x, place.y])) < 0.2
        return along > 0 and across < 0.9 * along and near
