"""Accuracy on Ego-EXTRA, by scenario and over all.

* A question's answer is right when the option that it chooses has the text of ``correct_answer``.
* ``average`` is the mean of the scenarios' accuracies, as in the paper's tables; ``accuracy`` is
  that over all questions, whatever scenario they have.
* An answer that chooses no option is wrong, and counted as ``invalid``; a question without an
  answer is wrong, and counted as ``missing``. A model that failed is neither right nor wrong: the
  question is left out of the count, and the run is not complete (``errors``); with
  ``errors_as_wrong`` it counts as wrong.
* An answer's ``id`` is ``<recording>/<question id>``, or the question's id alone where only one
  recording has it.

Counts add up; ratios are properties, and NaN when there is nothing to divide by.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.answers import Answer, counting
from replay.benchmark import Outcome
from replay.egoextra.answers import chosen_number
from replay.egoextra.questions import SCENARIOS, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of one group of questions.

    Attributes:
        total: Questions that count.
        right: Answered right.
        invalid: Answers that chose no option.
        missing: Questions without an answer.
        errors: Questions whose model failed; in ``total`` only when they count as wrong.
    """

    total: int = 0
    right: int = 0
    invalid: int = 0
    missing: int = 0
    errors: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.total:
            raise ValueError(f"{self.right} right of {self.total}")

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            total=self.total + other.total,
            right=self.right + other.right,
            invalid=self.invalid + other.invalid,
            missing=self.missing + other.missing,
            errors=self.errors + other.errors,
        )

    @property
    def accuracy(self) -> float:
        """Share that is right, 0 to 1."""
        return self.right / self.total if self.total else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoExtraScores:
    """The score of one run.

    Attributes:
        overall: All questions.
        by_scenario: Those of each scenario that occurs; the empty name for questions of none.
        by_protocol: Likewise.
        chance: Accuracy to expect of one who guesses.
        unknown: Answers to no question.
        listed: One for each question that counts.
        seconds: Of each answer whose time is known, ascending: from the question's end to the
            whole answer.
    """

    overall: Tally
    by_scenario: Mapping[str, Tally]
    by_protocol: Mapping[str, Tally]
    chance: float = math.nan
    unknown: int = 0
    listed: tuple[Outcome, ...] = ()
    seconds: tuple[float, ...] = ()

    @property
    def average(self) -> float:
        """Mean of the accuracies of the scenarios that have questions."""
        shares = [
            tally.accuracy for name, tally in self.by_scenario.items() if name and tally.total
        ]
        return sum(shares) / len(shares) if shares else math.nan

    @property
    def complete(self) -> bool:
        return not self.overall.errors and not self.overall.missing

    @property
    def outcomes(self) -> Sequence[Outcome]:
        return self.listed

    def as_json(self) -> dict[str, Any]:
        return {
            "average": share(self.average),
            "chance": share(self.chance),
            "overall": _tally_json(self.overall),
            "by_scenario": {name: _tally_json(one) for name, one in self.by_scenario.items()},
            "by_protocol": {name: _tally_json(one) for name, one in self.by_protocol.items()},
            "latency": {
                "n": len(self.seconds),
                "p50": share(quantile(self.seconds, 0.5)),
                "p90": share(quantile(self.seconds, 0.9)),
            },
            "unknown": self.unknown,
        }

    def remarks(self) -> Sequence[str]:
        overall, lines = self.overall, []
        if overall.errors:
            lines.append(f"{overall.errors} questions failed; run the same command again to go on")
        if overall.missing:
            lines.append(f"{overall.missing} questions without an answer, counted wrong")
        if overall.invalid:
            lines.append(f"{overall.invalid} answers chose no option, counted wrong")
        if self.unknown:
            lines.append(f"{self.unknown} answers to no question of this folder")
        if "" in self.by_scenario:
            without = self.by_scenario[""].total
            lines.append(f"{without} questions of no scenario, in the total but not the average")
        if self.seconds:
            middle, slow = quantile(self.seconds, 0.5), quantile(self.seconds, 0.9)
            lines.append(
                f"answer latency: p50 {middle:.2f} s, p90 {slow:.2f} s, n {len(self.seconds)}"
            )
        return lines


def score_egoextra(
    questions: Iterable[Question], answers: Iterable[Answer], *, errors_as_wrong: bool = False
) -> EgoExtraScores:
    """Score ``answers`` to ``questions``; the order of neither matters."""
    asked = {question.name: question for question in questions}
    ids: dict[str, list[str]] = {}
    for name, question in asked.items():
        ids.setdefault(question.id, []).append(name)
    known: dict[str, Answer] = {}
    unknown = 0
    for answer in counting(answers):
        of = _name_of(answer.id, asked, ids)
        if of is None:
            unknown += 1
        else:
            known[of] = answer
    right = {name: question.right_numbers for name, question in asked.items()}
    tallies = {
        name: _tally(question.options, right[name], known.get(name), errors_as_wrong)
        for name, question in asked.items()
    }
    seconds = sorted(one.seconds for one in known.values() if one.seconds is not None)
    overall = sum(tallies.values(), Tally())
    guesses = [len(right[name]) / len(one.options) for name, one in asked.items()]
    return EgoExtraScores(
        overall=overall,
        by_scenario=_grouped(tallies, {n: q.scenario or "" for n, q in asked.items()}, SCENARIOS),
        by_protocol=_grouped(tallies, {n: q.protocol or "" for n, q in asked.items()}, ()),
        chance=sum(guesses) / len(guesses) if guesses else math.nan,
        unknown=unknown,
        listed=tuple(
            Outcome(
                key=name,
                group=asked[name].video,
                values={"accuracy": float(tally.right)},
                answered=not (tally.missing or tally.errors),
            )
            for name, tally in tallies.items()
            if tally.total
        ),
        seconds=tuple(seconds),
    )


def _name_of(said: str, asked: Mapping[str, Question], ids: Mapping[str, list[str]]) -> str | None:
    if said in asked:
        return said
    names = ids.get(said, [])
    return names[0] if len(names) == 1 else None


def _tally(
    options: Sequence[str],
    right: Sequence[int],
    answer: Answer | None,
    errors_as_wrong: bool,
) -> Tally:
    if answer is None:
        return Tally(total=1, missing=1)
    if answer.error is not None:
        return Tally(total=int(errors_as_wrong), errors=1)
    number = chosen_number(answer.output, options)
    if number is None:
        return Tally(total=1, invalid=1)
    return Tally(total=1, right=int(number in right))


def _grouped(
    tallies: Mapping[str, Tally], groups: Mapping[str, str], order: Sequence[str]
) -> dict[str, Tally]:
    """Sums by group: those in ``order`` first, then by name."""
    sums: dict[str, Tally] = {}
    for name, tally in tallies.items():
        sums[groups[name]] = sums.get(groups[name], Tally()) + tally
    first = [name for name in order if name in sums]
    return {name: sums[name] for name in (*first, *sorted(sums.keys() - set(first)))}


def _tally_json(tally: Tally) -> dict[str, Any]:
    return {
        "accuracy": share(tally.accuracy),
        "total": tally.total,
        "right": tally.right,
        "invalid": tally.invalid,
        "missing": tally.missing,
        "errors": tally.errors,
    }


def share(value: float) -> float | None:
    """A number for JSON: None for NaN."""
    return None if math.isnan(value) else round(value, 6)


def quantile(ascending: Sequence[float], q: float) -> float:
    """The value below which a share ``q`` lies, between neighbours; NaN of nothing."""
    if not ascending:
        return math.nan
    place = q * (len(ascending) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (ascending[above] - ascending[below]) * (place - below)
