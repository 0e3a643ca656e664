"""Open answers of a run, scored by a judge: another model, which the user names.

The benchmark's accuracy leaves open questions out. Its authors' files hold scores of 0 to 5 for
them; the judge's wording here is ours, so that scores are comparable only under one judge and one
wording, which ``run.json`` names. The judge sees the question, the reference and the answer, never
the picture. Its score is the first whole number of its answer; another number, or none, is an
unreadable judgement, which is told and counts for nothing.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from replay.answers import Answer
from replay.benchmark import Item, Outcome, Question
from replay.egopoint.dataset import DIMENSIONS, LEVELS, EgoPointItem, EgoPointSet
from replay.egopoint.questions import JudgeSettings, read_settings
from replay.egopoint.scoring import score_egopoint
from replay.jobs import NotReplayed
from replay.scoring.bootstrap import DEFAULT, Resampling
from replay.scoring.outcomes import clustered
from replay.scoring.paper_values import PaperRow, PaperTable, share
from streaming.asking.request import Request, TextPart

MEASURE = "agreement"
_NUMBER = re.compile(r"(?<![\d.])\d+(?![\d.]*\d)")
_THOUGHTS_END = "</think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeScores:
    """What the judge made of the open answers.

    Attributes:
        open_items: Open questions of the set.
        unanswered: Those without an answer to be judged.
        unreadable, failed, missing: Answers without a judgement, and why.
        outcomes: Of the judged answers, 0...1.
        groups: Dimension and deixis level of each outcome.
    """

    open_items: int
    unanswered: int
    unreadable: tuple[str, ...]
    failed: tuple[str, ...]
    missing: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    groups: Mapping[str, tuple[str, str]]

    @property
    def complete(self) -> bool:
        return not (self.failed or self.missing)

    @property
    def agreement(self) -> float:
        """Mean of the judgements, 0...1; NaN without one."""
        values = [one.values[MEASURE] for one in self.outcomes]
        return sum(values) / len(values) if values else math.nan

    def as_json(self) -> dict[str, Any]:
        return {
            "agreement": None if math.isnan(self.agreement) else self.agreement,
            "judged": len(self.outcomes),
            "open_items": self.open_items,
            "unanswered": self.unanswered,
            "unreadable": list(self.unreadable),
            "errors": list(self.failed),
            "missing": list(self.missing),
        }

    def remarks(self) -> list[str]:
        lines = []
        if self.unanswered:
            lines.append(f"{self.unanswered} of {self.open_items} open questions have no answer")
        if self.unreadable:
            lines.append(f"{len(self.unreadable)} judgements hold no score and do not count")
        if not self.complete:
            lines.append(
                f"{len(self.failed)} judgements failed and {len(self.missing)} are missing; the "
                "run is incomplete, run it again"
            )
        return lines


class EgoPointJudge:
    """The open answers of a run, as questions to a judge.

    Args:
        data: The set.
        answers: Of the run that is judged.
        settings: Wording; the project's own without.
    """

    name, title = "egopoint-judge", "EgoPoint-Bench, open answers by a judge"

    def __init__(
        self,
        data: EgoPointSet,
        answers: Sequence[Answer],
        *,
        settings: JudgeSettings | None = None,
    ) -> None:
        self._data = data
        self._settings = settings or read_settings().judge_open
        scored = score_egopoint(data.items, answers).items
        opened = [one for one in scored if one.item.kind == "Open_Ended"]
        self._open = len(opened)
        self._said = {
            one.item.id: (one.item, one.said)
            for one in opened
            if one.status == "answered" and one.said.strip()
        }

    @property
    def left_out(self) -> Sequence[NotReplayed]:
        return ()

    def facts(self) -> dict[str, Any]:
        said = hashlib.sha256()
        for id, (_, text) in sorted(self._said.items()):
            said.update(f"{id}\n{len(text)}\n{text}\n".encode(errors="surrogatepass"))
        return {
            "data": str(self._data.path.resolve()),
            "sha256": hashlib.sha256(self._data.path.read_bytes()).hexdigest(),
            "answers_sha256": said.hexdigest(),
            "settings": asdict(self._settings),
        }

    def items(self) -> list[Item]:
        return [
            Item(
                key=id,
                group=item.image_id,
                questions=(
                    Question(
                        id=id,
                        compose=partial(self._request, item, said),
                        max_tokens=self._settings.tokens,
                    ),
                ),
            )
            for id, (item, said) in self._said.items()
        ]

    def _request(self, item: EgoPointItem, said: str) -> Request:
        settings = self._settings
        text = settings.question.format(
            question=item.question, reference=item.answer, answer=said, most=settings.most
        )
        return Request(
            system=settings.system,
            parts=(TextPart(text=text),),
            schema=None,
            interface=self.name,
            prompt=settings.prompt,
            words="none",
            asked_at=0.0,
        )

    def score(
        self, items: Sequence[Item], answers: Sequence[Answer], *, errors_as_wrong: bool = False
    ) -> JudgeScores:
        given = {answer.id: answer for answer in answers}
        failed = [one.key for one in items if one.key in given and given[one.key].error]
        judged = {
            one.key: score_of(given[one.key].output, self._settings.most)
            for one in items
            if one.key in given and given[one.key].error is None
        }
        if errors_as_wrong:
            judged |= dict.fromkeys(failed, 0)
        return JudgeScores(
            open_items=self._open,
            unanswered=self._open - len(self._said),
            unreadable=tuple(id for id, score in judged.items() if score is None),
            failed=tuple(failed),
            missing=tuple(one.key for one in items if one.key not in given),
            outcomes=tuple(
                Outcome(key=one.key, group=one.group, values={MEASURE: score / self._settings.most})
                for one in items
                if (score := judged.get(one.key)) is not None
            ),
            groups={id: (item.dimension, item.level) for id, (item, _) in self._said.items()},
        )

    def tables(self, scores: JudgeScores, *, system: str = "this run") -> list[PaperTable]:
        return [judge_table(scores, system=system)]

    def files(self, answers: Sequence[Answer]) -> Mapping[str, Any]:
        return {
            "judged.json": [
                {"id": answer.id, "eval_score": score_of(answer.output, self._settings.most)}
                for answer in answers
                if answer.error is None
            ]
        }


def score_of(text: str, most: int) -> int | None:
    """The score that a judge wrote, 0 to ``most``; None when there is none."""
    found = _NUMBER.search(text.rpartition(_THOUGHTS_END)[2])
    score = None if found is None else int(found[0][:9])
    return score if score is not None and score <= most else None


def judge_table(
    scores: JudgeScores, *, system: str = "this run", how: Resampling = DEFAULT
) -> PaperTable:
    """Mean agreement by dimension and by deixis level."""
    rows = []
    for name in (*DIMENSIONS, *LEVELS, ""):
        part = [one for one in scores.outcomes if not name or name in scores.groups[one.key]]
        if part:
            cells = (share(clustered(part, MEASURE, how=how)), len(part))
            rows.append(PaperRow(keys=(name or "all",), cells=cells))
    return PaperTable(
        name="egopoint_open",
        title=f"Open answers, agreement with the reference by a judge (%), {system}",
        keys=("answers",),
        columns=("agreement", "n"),
        rows=tuple(rows),
    )
