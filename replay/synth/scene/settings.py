"""Numbers of ``configs/synth_scene.toml``."""

from __future__ import annotations

from dataclasses import dataclass

from streaming import config

from ..script import Difficulty


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What one difficulty is like.

    Attributes:
        fewest, most: Objects, when nobody asks for a number.
        tiny, small, medium, large: Shares of objects' sizes.
        pairs, triples: Chance that two or three things look alike.
        fov: Horizontal, degrees, of the view that holds all objects, whatever lens is used later.
        reach: Largest ``|x|`` of an object, metres.
        far: Largest ``y`` of an object, metres.
        least: Share of that view that an object's outline covers, at least.
        gap: Between objects, at least, metres.
        seen: Share of each object's outline that nothing hides, at least.
        camouflage: Chance that an object is of the table's colour, more or less.
        near_colours: Whether colours that are easily mixed up occur.
        litter: Fewest and most pieces of clutter on the table.
        quotes: Chance that a name quotes the words printed on the thing.
        beside: Chance that a look-alike is told by what it stands beside rather than by place.
    """

    fewest: int
    most: int
    tiny: float
    small: float
    medium: float
    large: float
    pairs: float
    triples: float
    fov: float
    reach: float
    far: float
    least: float
    gap: float
    seen: float
    camouflage: float
    near_colours: bool
    litter: tuple[int, int]
    quotes: float
    beside: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of them.

    Attributes:
        eye, look_at: Where the wearer's camera is and looks, metres.
        ratio: The picture's width over its height.
        near: Smallest ``y`` of an object, metres.
        spaces: Fewest and most free places that are named.
        space_radius: Smallest and largest radius of a free place, metres.
        space_gap: Between the middles of two free places, at least, metres.
    """

    eye: tuple[float, float, float]
    look_at: tuple[float, float, float]
    ratio: float
    near: float
    spaces: tuple[int, int]
    space_radius: tuple[float, float]
    space_gap: float
    easy: Level
    real: Level
    hard: Level

    def level(self, difficulty: Difficulty) -> Level:
        """The numbers of one difficulty."""
        levels: dict[Difficulty, Level] = {"easy": self.easy, "real": self.real, "hard": self.hard}
        return levels[difficulty]


def load_settings() -> Settings:
    """The project's own settings."""
    return config.load(Settings, config.config_path("synth_scene.toml"))
