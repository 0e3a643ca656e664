"""Which pictures a model is shown under a budget of visual tokens, and how large.

=========== ================================================================================
``uniform`` as many pictures as the budget allows, whole, spread evenly
``roi``     as many as possible, the hands (and where somebody looks) cut out at full resolution,
            the rest of each reduced as far as the budget needs; then fewer pictures
``apex``    whole, those first in which a hand points most, of equals the newest
=========== ================================================================================

The last picture is always among them, as answers refer to it, and pictures stay in order of time.
When not even one fits, the last is made smaller until it does. Without a budget every picture is
sent whole, whatever the choice.

It works on a request, whoever composed it: a picture that goes takes the time tag before it with
it, and nothing else changes. So every interface and every benchmark can be asked with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from string import Template
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streaming.asking.request import Part, PicturePart, Request, TextPart
from streaming.asking.visual_regions import area, around, merge, widened
from streaming.asking.visual_tokens import Detail, TokenFormula, VisualTokens
from streaming.config import config_path, load
from streaming.events import Point, Seconds
from streaming.grounding_frames import Box, decoded
from streaming.picture_jpeg import jpeg_of, square_pixels

FramesChoice: TypeAlias = Literal["uniform", "roi", "apex"]
FRAMES_CHOICES: tuple[FramesChoice, ...] = ("uniform", "roi", "apex")

_LONGEST_TAG = 64
_SAME: Seconds = 1e-6
_SMALLEST = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHand:
    """A hand in a still picture.

    Attributes:
        box: Around its landmarks.
        pointing: How much its pose points, 0...1.
    """

    box: Box
    pointing: float


class HandFinder(Protocol):
    """Finds hands in one picture at a time."""

    def find(self, image: NDArray[np.uint8]) -> Sequence[SeenHand]:
        """Hands of an RGB picture, whatever was looked at before; may be called by any thread."""
        ...


GazeAt: TypeAlias = Callable[[Seconds], Point | None]
"""Where somebody looks at a media time, as fractions of the picture; None when it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualSettings:
    """Settings of :class:`VisualBudget`, see ``configs/visual_budget.toml``.

    Attributes:
        sides: Longest sides that the rest of a picture may be reduced to, falling, pixels.
        margin: Room around a hand, as a share of its box.
        gaze_share: Side of the square around a gaze, as a share of the shorter side.
        whole_from: A region that covers more of the picture than this stands for all of it.
        quality: Of the JPEGs.
        version: Of the two texts.
        explained: What cut-outs are, said once.
        zoom: The tag before one, with ``$left``, ``$right``, ``$top`` and ``$bottom``.
        tokens: What pictures cost.
    """

    sides: tuple[int, ...]
    margin: float
    gaze_share: float
    whole_from: float
    quality: int
    version: int
    explained: str
    zoom: str
    tokens: VisualTokens

    def __post_init__(self) -> None:
        if not self.sides or list(self.sides) != sorted(self.sides, reverse=True):
            raise ValueError(f"sides {self.sides} must fall")
        if self.sides[-1] < _SMALLEST or self.margin < 0 or not 0 < self.gaze_share <= 1:
            raise ValueError(
                f"sides must be {_SMALLEST} or more, margin {self.margin} not negative, gaze_share "
                f"{self.gaze_share} a share"
            )
        if not 0 < self.whole_from <= 1 or not 1 <= self.quality <= 100:
            raise ValueError(f"whole_from {self.whole_from} or quality {self.quality} do not fit")
        if set(Template(self.zoom).get_identifiers()) != {"left", "right", "top", "bottom"}:
            raise ValueError("zoom must name left, right, top and bottom")


def load_visual_settings() -> VisualSettings:
    """The project's own settings.

    Raises:
        ConfigError: If they are missing or do not fit.
    """
    return load(VisualSettings, config_path("visual_budget.toml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualUse:
    """What the pictures of a request cost, by estimate.

    Attributes:
        pictures: That are sent, cut-outs included.
        left_out: Pictures that are not.
        cut_outs: Regions at full resolution.
        tokens: Of all that are sent.
        offered: Of all pictures as they were composed.
    """

    pictures: int
    left_out: int
    cut_outs: int
    tokens: int
    offered: int

    def described(self) -> dict[str, int]:
        """For a record."""
        return {
            "pictures": self.pictures,
            "left_out": self.left_out,
            "cut_outs": self.cut_outs,
            "tokens": self.tokens,
            "offered": self.offered,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Picture:
    """A picture of a request, and what of the request belongs to it.

    ``first`` and ``place`` are the positions of its time tag, or of itself, and of itself.
    """

    part: PicturePart
    first: int
    place: int
    image: NDArray[np.uint8]

    @property
    def size(self) -> tuple[int, int]:
        return self.image.shape[1], self.image.shape[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What becomes of one picture: its longest side, and what is cut out of it."""

    side: int
    regions: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualBudget:
    """Chooses among the pictures of a request.

    Attributes:
        choice: ``uniform``, ``roi`` or ``apex``.
        most: Most visual tokens of a request; None for as many as there are.
        formula: What a picture costs.
        hands: Finds hands, for ``roi`` and ``apex``.
        gaze: Where somebody looks; None when nothing tells.
        detail: How finely pictures are looked at.
        settings: The numbers.
    """

    choice: FramesChoice
    most: int | None
    formula: TokenFormula
    hands: HandFinder | None = None
    gaze: GazeAt | None = None
    detail: Detail = "auto"
    settings: VisualSettings = field(default_factory=load_visual_settings)

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 1:
            raise ValueError(f"a budget of {self.most} visual tokens")
        if self.choice != "uniform" and self.hands is None:
            raise ValueError(f"{self.choice} needs something that finds hands")

    def facts(self) -> dict[str, Any]:
        """In what two parts of a run have to agree."""
        return {
            "choice": self.choice,
            "most": self.most,
            "formula": self.formula.source,
            "gaze": self.gaze is not None,
            "version": self.settings.version,
        }

    def applied(self, request: Request) -> tuple[Request, VisualUse]:
        """The request with the pictures that are chosen, and what they cost."""
        pictures = _pictures_of(request)
        if not pictures:
            return request, VisualUse(pictures=0, left_out=0, cut_outs=0, tokens=0, offered=0)
        plans = self._plans(pictures)
        parts = list(self._written(request, pictures, plans))
        tokens = sum(self._cost(pictures[place], plan) for place, plan in plans.items())
        cut_outs = sum(len(plan.regions) for plan in plans.values())
        use = VisualUse(
            pictures=len(plans) + cut_outs,
            left_out=len(pictures) - len(plans),
            cut_outs=cut_outs,
            tokens=tokens,
            offered=sum(self._whole(picture) for picture in pictures),
        )
        return replace(request, parts=tuple(parts)), use

    # --- what each costs ----------------------------------------------------------------------

    def _tokens(self, width: int, height: int) -> int:
        return self.formula.tokens(width, height, detail=self.detail)

    def _whole(self, picture: _Picture) -> int:
        return self._tokens(*picture.size)

    def _cost(self, picture: _Picture, plan: _Plan) -> int:
        own = self._tokens(*_fitted(picture.size, plan.side))
        return own + sum(self._tokens(*_region_size(picture, box)) for box in plan.regions)

    def _fits(self, pictures: Sequence[_Picture], plans: dict[int, _Plan]) -> bool:
        if self.most is None:
            return True
        return sum(self._cost(pictures[place], plan) for place, plan in plans.items()) <= self.most

    # --- what is chosen -----------------------------------------------------------------------

    def _plans(self, pictures: Sequence[_Picture]) -> dict[int, _Plan]:
        """A plan for each picture that is sent, by its position."""
        match self.choice:
            case "uniform":
                order = [spread(len(pictures), count) for count in range(len(pictures), 0, -1)]
                chosen = self._first_that_fits(pictures, order)
            case "apex":
                chosen = self._by_pointing(pictures)
            case "roi":
                chosen = self._with_regions(pictures)
        return chosen or {len(pictures) - 1: self._smallest(pictures[-1])}

    def _first_that_fits(
        self, pictures: Sequence[_Picture], choices: Sequence[Sequence[int]]
    ) -> dict[int, _Plan]:
        for places in choices:
            plans = {place: _Plan(side=max(pictures[place].size)) for place in places}
            if self._fits(pictures, plans):
                return plans
        return {}

    def _by_pointing(self, pictures: Sequence[_Picture]) -> dict[int, _Plan]:
        last = len(pictures) - 1
        ranked = sorted(range(last), key=lambda place: (-self._pointing(pictures[place]), -place))
        plans: dict[int, _Plan] = {}
        for place in (last, *ranked):
            wider = plans | {place: _Plan(side=max(pictures[place].size))}
            if self._fits(pictures, wider):
                plans = wider
            elif place == last:
                return {}
        return dict(sorted(plans.items()))

    def _pointing(self, picture: _Picture) -> float:
        assert self.hands is not None, "checked when it was made"
        return max((hand.pointing for hand in self.hands.find(picture.image)), default=0.0)

    def _with_regions(self, pictures: Sequence[_Picture]) -> dict[int, _Plan]:
        regions = [self._regions(picture) for picture in pictures]
        for count in range(len(pictures), 0, -1):
            places = spread(len(pictures), count)
            for side in (max(max(p.size) for p in pictures), *self.settings.sides):
                plans = {place: _reduced(pictures[place], side, regions[place]) for place in places}
                if self._fits(pictures, plans):
                    return plans
        return {}

    def _regions(self, picture: _Picture) -> tuple[Box, ...]:
        """The hands and the gaze of a picture, those that overlap as one."""
        assert self.hands is not None, "checked when it was made"
        boxes = [widened(hand.box, self.settings.margin) for hand in self.hands.find(picture.image)]
        looked = None if self.gaze is None else self.gaze(picture.part.until)
        if looked is not None:
            boxes += around(looked, self.settings.gaze_share, picture.size)
        merged = merge(boxes)
        if any(area(box) > self.settings.whole_from for box in merged):
            return (Box(left=0.0, top=0.0, right=1.0, bottom=1.0),)
        return tuple(merged)

    def _smallest(self, picture: _Picture) -> _Plan:
        """The largest side at which one picture fits, or the smallest that there is."""
        for side in self.settings.sides:
            plan = _Plan(side=min(side, max(picture.size)))
            if self._fits([picture], {0: plan}):
                return plan
        return _Plan(side=min(self.settings.sides[-1], max(picture.size)))

    # --- what is sent -------------------------------------------------------------------------

    def _written(
        self, request: Request, pictures: Sequence[_Picture], plans: dict[int, _Plan]
    ) -> list[Part]:
        written: list[Part] = []
        at = {picture.first: number for number, picture in enumerate(pictures)}
        place, explained = 0, False
        while place < len(request.parts):
            if place not in at:
                written.append(request.parts[place])
                place += 1
                continue
            number = at[place]
            picture, plan = pictures[number], plans.get(number)
            place = picture.place + 1
            if plan is None:
                continue
            written += request.parts[picture.first : picture.place]
            written.append(self._resized(picture, plan.side))
            for box in plan.regions:
                if not explained:
                    written.append(TextPart(text=self.settings.explained))
                    explained = True
                written += self._cut_out(picture, box)
        return written

    def _resized(self, picture: _Picture, side: int) -> PicturePart:
        if side >= max(picture.size):
            return picture.part
        image = square_pixels(picture.image, side=side)
        return replace(picture.part, jpeg=jpeg_of(image, quality=self.settings.quality))

    def _cut_out(self, picture: _Picture, box: Box) -> list[Part]:
        rows, columns = _slices(picture, box)
        jpeg = jpeg_of(
            np.ascontiguousarray(picture.image[rows, columns]), quality=self.settings.quality
        )
        edges = {
            name: f"{round(1000 * getattr(box, name))}"
            for name in ("left", "right", "top", "bottom")
        }
        until = picture.part.until
        return [
            TextPart(text=Template(self.settings.zoom).substitute(edges), until=until),
            PicturePart(jpeg=jpeg, until=until, what="region"),
        ]


def spread(total: int, count: int) -> list[int]:
    """``count`` positions among ``total``, evenly apart, the last one among them."""
    if count == 1:
        return [total - 1]
    return [round(number * (total - 1) / (count - 1)) for number in range(count)]


def _reduced(picture: _Picture, side: int, regions: tuple[Box, ...]) -> _Plan:
    """Its regions cut out, the rest reduced; no cut-outs where it is whole anyway."""
    own = max(picture.size)
    return _Plan(side=own) if side >= own else _Plan(side=side, regions=regions)


def _fitted(size: tuple[int, int], side: int) -> tuple[int, int]:
    scale = min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _slices(picture: _Picture, box: Box) -> tuple[slice, slice]:
    width, height = picture.size
    left, top = min(width - 1, int(box.left * width)), min(height - 1, int(box.top * height))
    right, bottom = round(box.right * width), round(box.bottom * height)
    return slice(top, max(top + 1, bottom)), slice(left, max(left + 1, right))


def _region_size(picture: _Picture, box: Box) -> tuple[int, int]:
    rows, columns = _slices(picture, box)
    return columns.stop - columns.start, rows.stop - rows.start


def _pictures_of(request: Request) -> list[_Picture]:
    pictures: list[_Picture] = []
    for place, part in enumerate(request.parts):
        if isinstance(part, PicturePart):
            before = request.parts[place - 1] if place else None
            first = place - 1 if _is_tag(before, part) else place
            pictures.append(_Picture(part=part, first=first, place=place, image=decoded(part.jpeg)))
    return pictures


def _is_tag(part: Part | None, picture: PicturePart) -> bool:
    """Whether a part is the time tag of the picture behind it."""
    return (
        isinstance(part, TextPart)
        and part.text.startswith("<")
        and len(part.text) <= _LONGEST_TAG
        and part.until is not None
        and abs(part.until - picture.until) < _SAME
    )
