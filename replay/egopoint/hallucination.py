"""Referential hallucination: answers about what is near the hand or stands out, not what is meant.

The paper (arXiv 2604.21461) names the failure and shows examples; the measure is ours. It looks at
multiple choices whose options speak of things on the picture (:mod:`replay.egopoint.objects`), on
pictures where our hand tracker finds a hand:

* The **referent** is the thing that the right option speaks of. Where that option speaks of none
  (a material, a use, "nothing"), it is what the pointing ray hits; such items are told apart.
* The **lures** are two other things: the one nearest to the hand, and the one that stands out most.
* A lure is **offered** when an option speaks of it, and **taken** when that option was chosen. The
  rate is taken over offered, beside the rate of guessing among all options of these items. A model
  that follows lures takes them far more often than a guess would; one that is merely wrong does
  not.
* ``either`` counts an item once when both lures are offered or taken.

Items that are not answered do not count. How often the ray agrees with the referent of the right
option is reported, since it bounds what the ray can be trusted for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from replay.egopoint.looking import Looked
from replay.egopoint.objects import SeenObject, options_of
from replay.egopoint.scoring import ItemScore
from replay.scoring.bootstrap import DEFAULT, Resampling
from replay.scoring.outcomes import clustered_values
from replay.scoring.paper_values import PaperRow, PaperTable, Share, share

Lure: TypeAlias = Literal["nearest", "salient", "either"]
LURES: Mapping[Lure, str] = {
    "nearest": "nearest to the hand",
    "salient": "most salient",
    "either": "either",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One item that counts.

    Attributes:
        id, image_id: The item's, its picture's.
        by_ray: The referent is what the ray hits, as the right option speaks of nothing.
        right: The answer is right.
        ray_agrees: The ray hits the right option's thing; None where it speaks of nothing.
        lured: Of each lure that is offered, whether it was taken.
        by_guess: Of each lure that is offered, how likely a guess takes it.
    """

    id: str
    image_id: str
    by_ray: bool
    right: bool
    ray_agrees: bool | None
    lured: Mapping[Lure, bool]
    by_guess: Mapping[Lure, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hallucination:
    """What came of a run's answers.

    Attributes:
        pictures: That items ask about.
        with_objects: Pictures whose things are known.
        with_hand: Of these, pictures on which a hand was found.
        items: Answered multiple choices on pictures whose things are known.
        judged: Those of them that count: a hand, and an option that speaks of a thing.
    """

    pictures: int
    with_objects: int
    with_hand: int
    items: int
    judged: tuple[Judged, ...]

    def offered(self, lure: Lure) -> list[Judged]:
        """The items on which a lure could be taken."""
        return [one for one in self.judged if lure in one.lured]

    def taken(self, lure: Lure) -> int:
        """On how many of them it was."""
        return sum(one.lured[lure] for one in self.offered(lure))

    def rate(self, lure: Lure) -> float:
        """Taken over offered; NaN when it never was."""
        offered = self.offered(lure)
        return self.taken(lure) / len(offered) if offered else math.nan

    def guessed(self, lure: Lure) -> float:
        """The rate of guessing on the same items."""
        offered = self.offered(lure)
        return sum(one.by_guess[lure] for one in offered) / len(offered) if offered else math.nan

    @property
    def ray_agreement(self) -> tuple[int, int]:
        """Items on which the ray hits the right option's thing, of those that have one."""
        known = [one.ray_agrees for one in self.judged if one.ray_agrees is not None]
        return sum(known), len(known)

    def as_json(self) -> dict[str, Any]:
        agreed, known = self.ray_agreement
        return {
            "pictures": self.pictures,
            "pictures_with_objects": self.with_objects,
            "pictures_with_hand": self.with_hand,
            "answered_choices": self.items,
            "judged": len(self.judged),
            "judged_by_ray": sum(one.by_ray for one in self.judged),
            "right": sum(one.right for one in self.judged),
            "ray_agrees": {"items": known, "agree": agreed},
            "lures": {
                lure: {
                    "offered": len(self.offered(lure)),
                    "taken": self.taken(lure),
                    "rate": _number(self.rate(lure)),
                    "guess": _number(self.guessed(lure)),
                }
                for lure in LURES
            },
        }

    def remarks(self) -> list[str]:
        agreed, known = self.ray_agreement
        return [
            f"{self.with_objects} of {self.pictures} pictures have known things; on "
            f"{self.with_hand} of these a hand was found.",
            f"{len(self.judged)} of {self.items} answered multiple choices have an option that "
            f"speaks of a thing; on {sum(one.by_ray for one in self.judged)} the right option "
            "speaks of none, and the referent is what the ray hits.",
            f"The ray hits the right option’s thing on {agreed} of {known} items.",
        ]


def judge_answers(
    items: Sequence[ItemScore],
    objects: Mapping[str, Sequence[SeenObject]],
    looked: Mapping[str, Looked],
) -> Hallucination:
    """Judge a run's answers.

    Args:
        items: The scored items.
        objects: The things on each picture, by ``image_id``.
        looked: What was seen on each of these pictures.
    """
    pictures = {one.item.image_id for one in items}
    known = {image for image in pictures if objects.get(image)}
    choices = [
        one
        for one in items
        if one.item.kind == "Multiple_Choice"
        and one.status == "answered"
        and one.item.image_id in known
    ]
    judged = [
        _judge(one, objects[one.item.image_id], looked[one.item.image_id])
        for one in choices
        if one.item.image_id in looked
    ]
    return Hallucination(
        pictures=len(pictures),
        with_objects=len(known),
        with_hand=sum(looked[image].has_hand for image in known if image in looked),
        items=len(choices),
        judged=tuple(one for one in judged if one is not None),
    )


def _judge(one: ItemScore, objects: Sequence[SeenObject], looked: Looked) -> Judged | None:
    if not looked.has_hand:
        return None
    spoken = options_of(one.item, objects)
    if not spoken:
        return None
    named = spoken.get(one.truth)
    referent = looked.hit if named is None else named
    chosen = spoken.get(one.said)
    lures = {
        "nearest": next((place for place in looked.by_distance if place != referent), None),
        "salient": next((place for place in looked.by_salience if place != referent), None),
    }
    options = len(one.item.letters)
    offered = {name: place for name, place in lures.items() if place in spoken.values()}
    lured: dict[Lure, bool] = {}
    by_guess: dict[Lure, float] = {}
    for name, place in offered.items():
        lure: Lure = "nearest" if name == "nearest" else "salient"
        lured[lure], by_guess[lure] = chosen == place, 1 / options
    if offered:
        lured["either"] = chosen is not None and chosen in offered.values()
        by_guess["either"] = len(set(offered.values())) / options
    return Judged(
        id=one.item.id,
        image_id=one.item.image_id,
        by_ray=named is None,
        right=one.right,
        ray_agrees=None if named is None else looked.hit == named,
        lured=lured,
        by_guess=by_guess,
    )


def hallucination_table(
    found: Hallucination, *, system: str = "this run", how: Resampling = DEFAULT
) -> PaperTable:
    """How often each lure was taken, beside guessing."""
    rows = []
    for lure, text in LURES.items():
        offered = found.offered(lure)
        rate = clustered_values(
            [(one.image_id, float(one.lured[lure])) for one in offered], how=how
        )
        guess = Share(value=found.guessed(lure)) if offered else None
        rows.append(
            PaperRow(keys=(text,), cells=(len(offered), found.taken(lure), share(rate), guess))
        )
    return PaperTable(
        name="egopoint_hallucination",
        title=f"Referential hallucination (%), {system}",
        keys=("answered with the thing",),
        columns=("offered", "taken", "rate", "guessing"),
        rows=tuple(rows),
        notes=(*found.remarks(), "Intervals draw pictures."),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
