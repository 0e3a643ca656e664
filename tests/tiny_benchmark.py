"""A whole benchmark in a few lines: sums, asked as text, some of which share a sheet of paper."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from replay.answers import Answer
from replay.benchmark import UNASKABLE, Item, Outcome, Question, UnaskableError
from replay.jobs import NotReplayed
from replay.scoring.outcomes import clustered
from replay.scoring.paper_values import PaperRow, PaperTable, percent, share
from streaming.asking.request import Request, TextPart


@dataclass(frozen=True, slots=True, kw_only=True)
class SumScores:
    """How many sums were right."""

    outcomes: tuple[Outcome, ...]
    failed: tuple[Answer, ...]
    total: int

    @property
    def complete(self) -> bool:
        return not self.failed and len(self.outcomes) == self.total

    @property
    def accuracy(self) -> float:
        right = [one.values["right"] for one in self.outcomes]
        return sum(right) / len(right) if right else math.nan

    def as_json(self) -> dict[str, Any]:
        return {"accuracy": None if math.isnan(self.accuracy) else self.accuracy}

    def remarks(self) -> list[str]:
        return [f"{one.id}: {one.error}" for one in self.failed]


class Sums:
    """Reads ``{"sheets": [{"name": …, "sums": [[1, 2], …]}]}``."""

    name = "sums"
    title = "Sums"

    def __init__(self, path: Path) -> None:
        self._path = path
        sheets = json.loads(path.read_text(encoding="utf-8"))["sheets"]
        self.left_out = [
            NotReplayed(source=sheet["name"], reason="an empty sheet")
            for sheet in sheets
            if not sheet["sums"]
        ]
        self._sheets = {sheet["name"]: sheet["sums"] for sheet in sheets if sheet["sums"]}
        self._truth = {
            f"{name}/{place}": sum(terms)
            for name, sums in self._sheets.items()
            for place, terms in enumerate(sums)
        }

    def facts(self) -> dict[str, Any]:
        return {"data": str(self._path.resolve()), "prompt": "en/1"}

    def items(self) -> list[Item]:
        return [
            Item(
                key=name,
                group=name,
                questions=tuple(
                    Question(
                        id=f"{name}/{place}",
                        compose=partial(self._request, terms),
                        max_tokens=8,
                    )
                    for place, terms in enumerate(sums)
                ),
            )
            for name, sums in self._sheets.items()
        ]

    def _request(self, terms: Sequence[int]) -> Request:
        if min(terms) < 0:
            raise UnaskableError(f"{terms}: no negative numbers")
        return Request(
            system="You add numbers.",
            parts=(TextPart(text=" + ".join(map(str, terms)) + " = ?"),),
            schema=None,
            interface="text",
            prompt="en/1",
            words="none",
            asked_at=0.0,
        )

    def score(
        self, items: Sequence[Item], answers: Sequence[Answer], *, errors_as_wrong: bool = False
    ) -> SumScores:
        given = {answer.id: answer for answer in answers}
        asked = [(item, question.id) for item in items for question in item.questions]
        failed = tuple(
            answer for _, id in asked if (answer := given.get(id)) and answer.error is not None
        )
        lost = {one.id for one in failed if not errors_as_wrong and one.kind != UNASKABLE}
        outcomes = tuple(
            Outcome(
                key=id,
                group=item.group,
                values={"right": float(given[id].output.strip() == str(self._truth[id]))},
                answered=given[id].error is None,
            )
            for item, id in asked
            if id in given and id not in lost
        )
        return SumScores(outcomes=outcomes, failed=failed, total=len(asked))

    def tables(self, scores: SumScores, *, system: str = "this run") -> list[PaperTable]:
        found = clustered(scores.outcomes, "right")
        rows = (
            PaperRow(keys=(system,), cells=(share(found), len(scores.outcomes))),
            PaperRow(keys=("an abacus",), cells=(percent(99.0), None), ours=False),
        )
        return [
            PaperTable(
                name="sums", title="Sums", keys=("system",), columns=("right", "n"), rows=rows
            )
        ]

    def files(self, answers: Sequence[Answer]) -> Mapping[str, Any]:
        return {"sums.json": {answer.id: answer.output for answer in answers}}
