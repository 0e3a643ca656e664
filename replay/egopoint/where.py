"""Asking where the finger points, on every picture: a benchmark of our own on EgoPoint's pictures.

A multiple choice seldom tells which thing its answer is about; a point does. Each picture is asked
about once. The point is the thing's whose box it lies in (of several the smallest), else the
nearest one's within a short reach, else nothing's. Things are the user's, with boxes, or
object-like regions that our local model finds (:mod:`streaming.models.local_regions`).

On pictures where our hand tracker finds a hand, an answer is about exactly one of these:

* **ray**: what the pointing ray hits,
* **nearest**: of the other things the one nearest to the hand,
* **salient**: of the rest the one that stands out most,
* **other**: any other thing,
* **nothing**: no thing, or no point can be read.

The rates of ``nearest`` and ``salient`` stand beside those of pointing at any thing of the picture
by chance. The ray is our own and errs: what it hits is no annotated truth.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from replay.answers import Answer
from replay.benchmark import Item, Outcome, Question
from replay.egopoint.dataset import EgoPointSet
from replay.egopoint.questions import EgoPointSettings, read_settings
from replay.egopoint.sighting import Sight
from replay.jobs import NotReplayed
from replay.media.still import read_still
from replay.scoring.bootstrap import DEFAULT, Resampling
from replay.scoring.outcomes import clustered
from replay.scoring.paper_values import PaperRow, PaperTable, Share, share
from streaming.asking.endpoint import CoordOrder
from streaming.asking.request import PicturePart, Request, TextPart
from streaming.picture_jpeg import jpeg_of

About: TypeAlias = Literal["ray", "nearest", "salient", "other", "nothing"]
ABOUT: tuple[About, ...] = get_args(About)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_THOUGHTS_END = "</think>"
_SCALE = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereScores:
    """What came of a run.

    Attributes:
        pictures: That were to be asked about.
        without_hand: Pictures on which no hand was found, or that could not be looked at.
        missing, failed: Pictures with a hand and without an answer.
        outcomes: Of the answered pictures with a hand; each has 1 for what it is about.
        by_chance: The rate of each kind when any thing of a picture is as likely.
    """

    pictures: int
    without_hand: int
    missing: tuple[str, ...]
    failed: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    by_chance: Mapping[About, float]

    @property
    def complete(self) -> bool:
        return not self.missing and not self.failed

    def rate(self, about: About) -> float:
        """Share of the answers that are about it; NaN without one."""
        values = [one.values[about] for one in self.outcomes]
        return sum(values) / len(values) if values else math.nan

    def as_json(self) -> dict[str, Any]:
        return {
            "pictures": self.pictures,
            "with_hand": self.pictures - self.without_hand,
            "answered": len(self.outcomes),
            "missing": list(self.missing),
            "errors": list(self.failed),
            "about": {
                name: {"rate": _number(self.rate(name)), "chance": _number(self.by_chance[name])}
                for name in ABOUT
            },
        }

    def remarks(self) -> list[str]:
        lines = [
            f"a hand was found on {self.pictures - self.without_hand} of {self.pictures} pictures; "
            "only these count"
        ]
        if self.missing or self.failed:
            lines.append(
                f"{len(self.failed)} pictures failed and {len(self.missing)} were not asked about; "
                "the run is incomplete, run it again"
            )
        return lines


class EgoPointWhere:
    """Where the finger points, on each picture of a set that was looked at.

    Args:
        data: The set.
        sights: What was seen on its pictures.
        coord_order: Order of a point's two numbers, a property of the model.
        things: Where the things are from, for the record: ``objects`` or ``regions``.
        settings: Wording and size; the project's own without.
    """

    name, title = "egopoint-where", "EgoPoint-Bench, where the finger points"

    def __init__(
        self,
        data: EgoPointSet,
        sights: Mapping[str, Sight],
        *,
        coord_order: CoordOrder = "xy",
        things: str = "regions",
        settings: EgoPointSettings | None = None,
    ) -> None:
        self._data = data
        self._sights = sights
        self._order: CoordOrder = coord_order
        self._things = things
        self._settings = settings or read_settings()
        self._pictures = {item.image_id: item.image for item in data.items}

    @property
    def left_out(self) -> Sequence[NotReplayed]:
        return ()

    def facts(self) -> dict[str, Any]:
        return {
            "data": str(self._data.path.resolve()),
            "sha256": hashlib.sha256(self._data.path.read_bytes()).hexdigest(),
            "images": str(self._data.images.resolve()),
            "things": self._things,
            "coord_order": self._order,
            "settings": asdict(self._settings.where),
        }

    def items(self) -> list[Item]:
        """The pictures on which a hand was found."""
        tokens = self._settings.where.tokens
        return [
            Item(
                key=image_id,
                group=image_id,
                sources=(path,),
                questions=(
                    Question(
                        id=image_id, compose=partial(self._request, image_id), max_tokens=tokens
                    ),
                ),
            )
            for image_id, path in self._pictures.items()
            if self._has_hand(image_id)
        ]

    def _has_hand(self, image_id: str) -> bool:
        sight = self._sights.get(image_id)
        return sight is not None and sight.looked.has_hand

    def _request(self, image_id: str) -> Request:
        settings = self._settings
        image = read_still(self._pictures[image_id], max_side=settings.side)
        order = "[x, y]" if self._order == "xy" else "[y, x]"
        return Request(
            system=settings.system,
            parts=(
                PicturePart(jpeg=jpeg_of(image, quality=settings.quality), until=0.0),
                TextPart(text=settings.where.question.format(order=order), until=0.0),
            ),
            schema=None,
            interface=self.name,
            prompt=settings.where.prompt,
            words="none",
            asked_at=0.0,
        )

    def score(
        self, items: Sequence[Item], answers: Sequence[Answer], *, errors_as_wrong: bool = False
    ) -> WhereScores:
        given = {answer.id: answer for answer in answers}
        failed = tuple(
            item.key for item in items if item.key in given and given[item.key].error is not None
        )
        counted = [
            item.key
            for item in items
            if item.key in given and (errors_as_wrong or item.key not in failed)
        ]
        return WhereScores(
            pictures=len(self._pictures),
            without_hand=sum(not self._has_hand(image_id) for image_id in self._pictures),
            missing=tuple(item.key for item in items if item.key not in given),
            failed=failed,
            outcomes=tuple(self._outcome(image_id, given[image_id]) for image_id in counted),
            by_chance=chances([self._sights[image_id] for image_id in counted]),
        )

    def _outcome(self, image_id: str, answer: Answer) -> Outcome:
        point = None if answer.error is not None else point_of(answer.output, self._order)
        about = about_of(point, self._sights[image_id], reach=self._settings.where.reach)
        return Outcome(
            key=image_id,
            group=image_id,
            values={name: float(name == about) for name in ABOUT},
            answered=answer.error is None,
        )

    def tables(self, scores: WhereScores, *, system: str = "this run") -> list[PaperTable]:
        return [where_table(scores, system=system)]

    def files(self, answers: Sequence[Answer]) -> Mapping[str, Any]:
        return {
            "points.json": {
                answer.id: None if point is None else list(point)
                for answer in answers
                if answer.error is None
                for point in (point_of(answer.output, self._order),)
            }
        }


def point_of(text: str, order: CoordOrder) -> tuple[float, float] | None:
    """The first two numbers of an answer as ``(x, y)`` in fractions; None where they are none."""
    numbers = _NUMBER.findall(text.rpartition(_THOUGHTS_END)[2])[:2]
    if len(numbers) < 2:
        return None
    first, second = (float(number) / _SCALE for number in numbers)
    if not (0 <= first <= 1 and 0 <= second <= 1):
        return None
    return (first, second) if order == "xy" else (second, first)


def about_of(point: tuple[float, float] | None, sight: Sight, *, reach: float) -> About:
    """What an answer is about."""
    if point is None:
        return "nothing"
    place = _thing_at(point[0] * sight.width, point[1] * sight.height, sight, reach=reach)
    return "nothing" if place is None else kinds_of(sight)[place]


def kinds_of(sight: Sight) -> dict[int, About]:
    """What each thing of a picture is, by its place."""
    looked = sight.looked
    kinds: dict[int, About] = dict.fromkeys(range(len(sight.objects)), "other")
    if looked.hit is not None:
        kinds[looked.hit] = "ray"
    orders: tuple[tuple[About, tuple[int, ...]], ...] = (
        ("nearest", looked.by_distance),
        ("salient", looked.by_salience),
    )
    for name, order in orders:
        place = next((place for place in order if kinds.get(place) == "other"), None)
        if place is not None:
            kinds[place] = name
    return kinds


def chances(sights: Sequence[Sight]) -> dict[About, float]:
    """The rate of each kind over some pictures, when any thing is as likely to be answered."""
    counted = [sight for sight in sights if sight.objects]
    if not counted:
        return dict.fromkeys(ABOUT, math.nan)
    shares = [(Counter(kinds_of(sight).values()), len(sight.objects)) for sight in counted]
    return {
        name: sum(kinds[name] / number for kinds, number in shares) / len(counted) for name in ABOUT
    }


def where_table(
    scores: WhereScores, *, system: str = "this run", how: Resampling = DEFAULT
) -> PaperTable:
    """What answers are about, beside chance."""
    told = {
        "ray": "what the ray hits",
        "nearest": "nearest to the hand, not hit",
        "salient": "most salient of the rest",
        "other": "another thing",
        "nothing": "nothing",
    }
    rows = []
    for name in ABOUT:
        chance = scores.by_chance[name]
        rows.append(
            PaperRow(
                keys=(told[name],),
                cells=(
                    share(clustered(scores.outcomes, name, how=how)),
                    None if math.isnan(chance) else Share(value=chance),
                ),
            )
        )
    return PaperTable(
        name="egopoint_where",
        title=f"Where the finger points, by the model’s points (%), {system}",
        keys=("the point is on",),
        columns=("rate", "any thing"),
        rows=tuple(rows),
        notes=(*scores.remarks(), f"{len(scores.outcomes)} answers."),
    )


def _thing_at(x: float, y: float, sight: Sight, *, reach: float) -> int | None:
    """The thing whose box holds a point, of several the smallest; else the nearest within reach."""
    ranked = []
    for place, one in enumerate(sight.objects):
        x1, y1, x2, y2 = one.box
        off = math.hypot(max(x1 - x, 0.0, x - x2), max(y1 - y, 0.0, y - y2))
        if off <= reach * sight.height:
            ranked.append((off, (x2 - x1) * (y2 - y1), place))
    return min(ranked)[2] if ranked else None


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
