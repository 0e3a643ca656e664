"""How many tokens a picture costs a model, by what its provider states.

The formulas stand in ``configs/visual_budget.toml``, each with where it comes from:

* ``fixed``: the same number for any picture, by how finely it is looked at;
* ``tiles``: the picture is fitted into a square, then its shorter side made so long at most, and
  each tile of what is left costs so many, on top of a base; coarsely looked at, the base alone;
* ``crops``: a small picture is one tile; others are cut into crops of two thirds of the shorter
  side, within bounds, each of which costs a tile;
* ``patches``: each patch of so many pixels costs one, times a factor; above a cap the picture is
  made smaller first.

They are estimates: what a run really took stands in its ``usage``.
"""

from __future__ import annotations

import fnmatch
import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["fixed", "tiles", "crops", "patches"]
Detail: TypeAlias = Literal["low", "high", "auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFormula:
    """What a picture costs one family of models.

    Attributes:
        models: Pattern of their names, as on the command line, such as ``gemini:gemini-3*``.
        source: Where the formula is stated.
        kind: Which of the formulas.
        base: Tokens of any picture (``tiles``); of one that is looked at coarsely (``fixed``).
        each: Tokens of a tile or a crop; of a picture (``fixed``).
        fit: Side of the square that a picture is fitted into (``tiles``), pixels.
        shorter: Longest that its shorter side may be then (``tiles``), pixels.
        side: Of a tile or a patch; a picture no larger is one crop (``crops``), pixels.
        least, most: Bounds of the side of a crop, pixels.
        cap: Most patches.
        factor: Tokens of a patch.
    """

    models: str
    source: str
    kind: Kind
    base: int = 0
    each: int = 0
    fit: int = 2048
    shorter: int = 768
    side: int = 512
    least: int = 256
    most: int = 768
    cap: int = 1_000_000
    factor: float = 1.0

    def __post_init__(self) -> None:
        if min(self.fit, self.shorter, self.side, self.least, self.most, self.cap) < 1:
            raise ValueError(f"formula of {self.models}: sides and cap must be positive")
        if min(self.base, self.each) < 0 or self.factor <= 0:
            raise ValueError(f"formula of {self.models}: tokens must not be negative")

    def tokens(self, width: int, height: int, *, detail: Detail = "auto") -> int:
        """Tokens of a picture of ``width`` by ``height`` pixels.

        Raises:
            ValueError: If a side is below 1.
        """
        if width < 1 or height < 1:
            raise ValueError(f"a picture of {width} x {height} pixels")
        match self.kind:
            case "fixed":
                return self.base if detail == "low" else self.each
            case "tiles":
                return self.base + (0 if detail == "low" else self._tiles(width, height))
            case "crops":
                return self.each * self._crops(width, height)
            case "patches":
                return math.ceil(self.factor * self._patches(width, height) - 1e-9)

    def _tiles(self, width: int, height: int) -> int:
        scale = min(1.0, self.fit / max(width, height))
        scale = min(scale, self.shorter / min(width, height))
        across, down = (math.ceil(round(n * scale) / self.side) for n in (width, height))
        return self.each * max(1, across) * max(1, down)

    def _crops(self, width: int, height: int) -> int:
        if max(width, height) <= self.side:
            return 1
        unit = min(self.most, max(self.least, math.floor(min(width, height) / 1.5)))
        return math.ceil(width / unit) * math.ceil(height / unit)

    def _patches(self, width: int, height: int) -> int:
        count = math.ceil(width / self.side) * math.ceil(height / self.side)
        if count <= self.cap:
            return count
        scale = math.sqrt(self.side**2 * self.cap / (width * height))
        # Scaled down a little further, so that one side is whole patches.
        across, down = (n * scale / self.side for n in (width, height))
        scale *= min(
            math.floor(across) / across if across >= 1 else 1.0,
            math.floor(down) / down if down >= 1 else 1.0,
        )
        sides = (math.ceil(round(n * scale / self.side, 6)) for n in (width, height))
        return min(self.cap, math.prod(sides))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualTokens:
    """The formulas, the first that fits a model counts.

    Attributes:
        date: When they were looked up.
        formula: By name; the last fits any.
    """

    date: str = ""
    formula: tuple[TokenFormula, ...] = ()

    def __post_init__(self) -> None:
        if not self.formula or self.formula[-1].models != "*":
            raise ValueError('the last formula must be for models = "*"')

    def of(self, model: str) -> TokenFormula:
        """The formula of a model."""
        return next(one for one in self.formula if fnmatch.fnmatchcase(model, one.models))
