"""Accuracy on EgoPoint-Bench: share of right answers, multiple choice and true-or-false together.

Conventions: an answer is right when it reads as the truth does (:mod:`replay.egopoint.reading`);
open questions are listed and in no mean. Every mean is over items, not over pictures; intervals
draw pictures.

1. A picture that is missing makes its items wrong, as in the authors' scripts, and so does an item
   without any answer, which also makes the run incomplete.
2. A failed model call is left out of every mean and makes the run incomplete; with
   ``errors_as_wrong`` it is wrong.

Baselines, over the items that count: **majority** answers each type with its most frequent truth
(of equally frequent ones the first by name), which shows how far a constant comes; **random** is
what guessing among an item's options, or True and False, gets on average.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from replay.answers import Answer
from replay.benchmark import UNASKABLE, Outcome
from replay.egopoint.dataset import CLOSED, DIMENSIONS, LEVELS, EgoPointItem
from replay.egopoint.reading import Rules, answer_of, truth_of
from replay.jobs import NotReplayed

MEASURE = "accuracy"
VARIANTS: Mapping[str, Rules] = {
    "no_is_true": Rules(no_is_true=True),
    "only_a_to_d": Rules(only_a_to_d=True),
    "keeps_thoughts": Rules(keeps_thoughts=True),
}
"""Rules of the authors' scripts that differ from ours, one at a time."""

Status: TypeAlias = Literal["answered", "no_picture", "missing", "error"]
Group: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemScore:
    """One item with what was said to it.

    Attributes:
        item: The question.
        truth: The right answer, as read.
        said: The answer, as read; empty without one.
        output: The model's text.
        status: What there is.
        error: Why there is no answer.
        counts: It is in the means.
        chance: How likely a guess meets the truth.
        right: The answer reads as the truth does.
    """

    item: EgoPointItem
    truth: str
    said: str = ""
    output: str = ""
    status: Status = "answered"
    error: str = ""
    counts: bool = True
    chance: float = 0.0
    right: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Right answers of a number of items; tallies add up.

    Attributes:
        right, total: Items.
        majority: How many of them a constant answer of each type would meet.
        random: How many guessing meets on average.
    """

    right: int = 0
    total: int = 0
    majority: int = 0
    random: float = 0.0

    @property
    def accuracy(self) -> float:
        """0...1; NaN without an item."""
        return self.right / self.total if self.total else math.nan

    def as_json(self) -> dict[str, Any]:
        def share(count: float) -> float | None:
            return count / self.total if self.total else None

        return {
            "accuracy": share(self.right),
            "right": self.right,
            "items": self.total,
            "majority": share(self.majority),
            "random": share(self.random),
        }


@dataclass(frozen=True, kw_only=True)
class EgoPointScores:
    """A scored run.

    Attributes:
        items: Every item of the run, in its order.
        left_out: Entries that could not be asked.
        unknown: Answers to no item of the run.
        variants: Accuracy by another rule of the authors' scripts, see :data:`VARIANTS`.
        constants: The most frequent truth of each type.
    """

    items: tuple[ItemScore, ...]
    left_out: tuple[NotReplayed, ...] = ()
    unknown: tuple[str, ...] = ()
    variants: Mapping[str, Tally] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def counted(self) -> Sequence[ItemScore]:
        """The items that the means are over."""
        return [one for one in self.items if one.counts and one.item.is_scored]

    @property
    def complete(self) -> bool:
        return all(one.status in ("answered", "no_picture") for one in self.items)

    @property
    def outcomes(self) -> Sequence[Outcome]:
        return tuple(outcome_of(one) for one in self.counted)

    @cached_property
    def overall(self) -> Tally:
        return self.tally(self.counted)

    def tally(self, items: Iterable[ItemScore]) -> Tally:
        """The tally of some of the items."""
        right = total = majority = 0
        random = 0.0
        for one in items:
            total += 1
            right += one.right
            majority += one.truth == self.constants.get(one.item.kind)
            random += one.chance
        return Tally(right=right, total=total, majority=majority, random=random)

    def grouped(self, *by: str) -> dict[Group, Tally]:
        """Tallies by ``kind``, ``dimension`` and ``level``, in the benchmark's order."""
        parts: dict[Group, list[ItemScore]] = {}
        for one in self.counted:
            parts.setdefault(tuple(getattr(one.item, name) for name in by), []).append(one)
        ordered = sorted(parts, key=lambda group: [_place(name) for name in group])
        return {group: self.tally(parts[group]) for group in ordered}

    def as_json(self) -> dict[str, Any]:
        def flat(name: str) -> dict[str, Any]:
            return {group[0]: tally.as_json() for group, tally in self.grouped(name).items()}

        counts = Counter(one.status for one in self.items)
        return {
            "overall": self.overall.as_json(),
            "by_type": flat("kind"),
            "by_dimension": flat("dimension"),
            "by_level": flat("level"),
            "cross": [
                {"dimension": group[0], "deixis_level": group[1], "type": group[2]}
                | tally.as_json()
                for group, tally in self.grouped("dimension", "level", "kind").items()
            ],
            "constants": dict(self.constants),
            "variants": {name: tally.as_json() for name, tally in self.variants.items()},
            "counts": {status: counts[status] for status in sorted(counts)},
            "errors": [
                {"id": one.item.id, "reason": one.error}
                for one in self.items
                if one.status == "error"
            ],
            "missing": [one.item.id for one in self.items if one.status == "missing"],
            "no_picture": [one.item.id for one in self.items if one.status == "no_picture"],
            "left_out": [{"source": o.source, "reason": o.reason} for o in self.left_out],
            "unknown": list(self.unknown),
            "open_ended": [
                {
                    "id": one.item.id,
                    "question": one.item.question,
                    "reference": one.truth,
                    "output": one.said,
                }
                for one in self.items
                if not one.item.is_scored and one.status == "answered"
            ],
        }

    def remarks(self) -> list[str]:
        def told(status: Status, text: str) -> list[str]:
            ids = [one.item.id for one in self.items if one.status == status]
            return [f"{len(ids)} {text}: {_named(ids)}"] if ids else []

        opened = sum(not one.item.is_scored and one.status == "answered" for one in self.items)
        errors_count = any(one.status == "error" and one.counts for one in self.items)
        how = "counted as wrong" if errors_count else "not counted"
        lines = told("error", f"model errors, {how}; the run is incomplete, run it again")
        lines += told("missing", "items without an answer, counted as wrong")
        lines += told("no_picture", "items whose picture cannot be read, counted as wrong")
        if self.left_out:
            lines.append(f"{len(self.left_out)} entries left out:")
            lines += [f"  {one.source}: {one.reason}" for one in self.left_out]
        if self.unknown:
            lines.append(f"{len(self.unknown)} answers to no item: {_named(self.unknown)}")
        if opened:
            lines.append(f"{opened} open answers are listed in the JSON and in no mean")
        return lines


def score_egopoint(
    items: Sequence[EgoPointItem],
    answers: Sequence[Answer],
    *,
    left_out: Sequence[NotReplayed] = (),
    errors_as_wrong: bool = False,
) -> EgoPointScores:
    """Score answers, at most one for each item.

    Args:
        items: What the run is over.
        answers: By the items' names; others are told apart and do not count.
        left_out: Entries that could not be asked.
        errors_as_wrong: As the module says.
    """
    given = {answer.id: answer for answer in answers}
    scored = tuple(_scored(item, given.get(item.id), errors_as_wrong) for item in items)
    known = {item.id for item in items}
    counted = [one for one in scored if one.counts and one.item.is_scored]
    return EgoPointScores(
        items=scored,
        left_out=tuple(left_out),
        unknown=tuple(answer.id for answer in answers if answer.id not in known),
        variants={name: _variant(counted, rules) for name, rules in VARIANTS.items()},
        constants=constants_of(counted),
    )


def constants_of(scored: Iterable[ItemScore]) -> dict[str, str]:
    """The most frequent truth of each type."""
    by_kind: dict[str, Counter[str]] = {}
    for one in scored:
        by_kind.setdefault(one.item.kind, Counter())[one.truth] += 1
    return {
        kind: min(counts, key=lambda truth: (-counts[truth], truth))
        for kind, counts in sorted(by_kind.items())
    }


def chance_of(item: EgoPointItem, truth: str) -> float:
    """How likely a guess meets an item's truth."""
    if item.kind == "True_False":
        return 0.5 if truth in ("True", "False") else 0.0
    if item.kind == "Open_Ended":
        return 0.0
    letters = item.letters
    return 1 / len(letters) if truth and truth in letters else 0.0


def outcome_of(one: ItemScore) -> Outcome:
    """A scored item for intervals and comparisons."""
    return Outcome(
        key=one.item.id,
        group=one.item.image_id,
        values={MEASURE: float(one.right)},
        answered=one.status in ("answered", "no_picture"),
    )


def _scored(item: EgoPointItem, answer: Answer | None, errors_as_wrong: bool) -> ItemScore:
    truth = truth_of(item)
    known = ItemScore(item=item, truth=truth, chance=chance_of(item, truth))
    if answer is None:
        return replace(known, status="missing")
    if answer.error is None:
        said = answer_of(answer.output, item)
        return replace(known, said=said, output=answer.output, right=said == truth)
    if answer.kind == UNASKABLE:
        return replace(known, status="no_picture", error=answer.error)
    return replace(known, status="error", error=answer.error, counts=errors_as_wrong)


def _variant(counted: Sequence[ItemScore], rules: Rules) -> Tally:
    """What another rule of the authors' would make of the same answers."""
    right = sum(
        one.status == "answered"
        and answer_of(one.output, one.item, rules) == truth_of(one.item, rules)
        for one in counted
    )
    return Tally(right=right, total=len(counted))


def _place(name: str) -> tuple[int, str]:
    """Where a group stands: in the benchmark's own order, others behind by name."""
    orders: tuple[tuple[str, ...], ...] = (tuple(DIMENSIONS), LEVELS, CLOSED)
    for known in orders:
        if name in known:
            return known.index(name), ""
    return len(DIMENSIONS) + 1, name


def _named(ids: Sequence[str], most: int = 5) -> str:
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more
