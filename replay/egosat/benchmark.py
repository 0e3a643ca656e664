"""EgoSAT as a :class:`replay.benchmark.Benchmark`."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from replay.answers import Answer
from replay.benchmark import Item, Question
from replay.egosat.files import Predicted
from replay.egosat.names import TASKS, Task
from replay.egosat.outcomes import group_name
from replay.egosat.prompts import EgosatTexts, read_texts
from replay.egosat.queries import FlavourChoice, Query, load_queries
from replay.egosat.requests import Wording, longest_answer, request_for
from replay.egosat.scored import EgosatScores, Taken
from replay.egosat.settings import EgosatSettings, read_settings
from replay.egosat.tables import egosat_tables
from replay.egosat.written import predicted_sets, prediction_files_of
from replay.jobs import NotReplayed
from replay.scoring.paper_values import PaperTable

NAME, TITLE = "egosat", "EgoSAT"


class Egosat:
    """The query sets below a folder, asked about films below another.

    Args:
        root: Folder of query sets.
        films: Folder of ``<video_uid>.mp4`` or ``<clip_uid>.mp4``.
        flavours, tasks: What is asked, as :func:`replay.egosat.queries.load_queries`.
        wording: Ours, or that of the query sets.
        confidence: Ask for the probabilities of tokens, which not every server gives: of letters
            (``cand_conf``) and of states.
        settings, texts: The project's own without.

    Raises:
        EgosatError: If there is no query set.
    """

    name, title = NAME, TITLE

    def __init__(
        self,
        root: Path,
        films: Path,
        *,
        flavours: FlavourChoice = "scored",
        tasks: Sequence[Task] = TASKS,
        wording: Wording = "ours",
        confidence: bool = True,
        settings: EgosatSettings | None = None,
        texts: EgosatTexts | None = None,
    ) -> None:
        self._settings = settings or read_settings()
        self._texts = texts or read_texts()
        self._films = films
        self._flavours: FlavourChoice = flavours
        self._tasks = tasks
        self._wording: Wording = wording
        self._confidence = confidence
        self._queries = load_queries(
            root,
            films,
            self._settings.windows,
            flavours=flavours,
            tasks=tasks,
            confidence=confidence,
        )
        self._by_key = {query.key: query for query in self._queries.asked}

    @property
    def left_out(self) -> Sequence[NotReplayed]:
        return self._queries.left_out

    def facts(self) -> dict[str, Any]:
        return {
            "data": str(self._queries.root.resolve()),
            "sha256": self._digest(),
            "films": str(self._films.resolve()),
            "flavours": self._flavours,
            "tasks": list(self._tasks),
            "wording": self._wording,
            "confidence": self._confidence,
            "prompt": self._texts.name,
            "settings": asdict(self._settings),
        }

    def _digest(self) -> str:
        """SHA-256 of the query sets that are asked, by path."""
        paths = sorted({query.queries.path for query in self._queries.asked})
        whole = hashlib.sha256()
        for path in paths:
            whole.update(hashlib.sha256(path.read_bytes()).digest())
        return whole.hexdigest()

    def items(self) -> list[Item]:
        return [self._item(query) for query in self._queries.asked]

    def _item(self, query: Query) -> Item:
        wanted: dict[str, Any] = {}
        asking = self._settings.asking
        if self._confidence and query.flavour in ("cand_conf", "cand_state"):
            top = asking.top_logprobs if query.flavour == "cand_conf" else 0
            wanted = {"logprobs": True, "top_logprobs": top}
        question = Question(
            id=query.key,
            asked_at=query.asked_at,
            compose=partial(request_for, query, asking, self._texts, wording=self._wording),
            max_tokens=longest_answer(query, asking),
            wanted=wanted,
        )
        predicted = Predicted(path=query.queries.path, queries=query.queries, answers={})
        return Item(
            key=query.key,
            group=group_name(predicted),
            sources=(query.film,),
            questions=(question,),
        )

    def score(
        self, items: Sequence[Item], answers: Sequence[Answer], *, errors_as_wrong: bool = False
    ) -> EgosatScores:
        asked = [self._by_key[item.key] for item in items]
        given = {answer.id: answer for answer in answers}
        taken = Taken()
        for place, predicted in predicted_sets(asked, given, errors_as_wrong=errors_as_wrong):
            taken.table.take(place, predicted)
            taken.note(place, predicted)
        failed = Counter(answer.kind or "failed" for answer in answers if answer.error is not None)
        whole = all(query.key in given and given[query.key].error is None for query in asked)
        return EgosatScores(
            taken=taken,
            complete=whole,
            bins=self._settings.scoring.bins,
            errors=dict(sorted(failed.items())),
            left_out=tuple(self._queries.left_out),
        )

    def tables(self, scores: EgosatScores, *, system: str = "this run") -> list[PaperTable]:
        return egosat_tables(scores, system=system)

    def files(self, answers: Sequence[Answer]) -> Mapping[str, Any]:
        given = {answer.id: answer for answer in answers}
        return prediction_files_of(self._queries.asked, given)
