"""EgoPoint-Bench as a :class:`replay.benchmark.Benchmark`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from replay.answers import Answer, AnswerFile, AnswersError, counting, read_answers
from replay.benchmark import UNASKABLE, Item, Question
from replay.egopoint.dataset import (
    EgoPointError,
    EgoPointItem,
    EgoPointSet,
    as_entries,
    entry_ids,
    image_id_of,
)
from replay.egopoint.questions import (
    EgoPointSettings,
    Reading,
    asked_at,
    read_settings,
    request_for,
)
from replay.egopoint.scoring import EgoPointScores, score_egopoint
from replay.egopoint.spoken import Heard
from replay.egopoint.tables import egopoint_tables
from replay.jobs import NotReplayed
from replay.loose_json import Fields, UnreadableJsonError, parse
from replay.scoring.paper_values import PaperTable
from streaming.asking.request import Request
from streaming.events import Seconds

NAME, TITLE = "egopoint", "EgoPoint-Bench"
_NO_PICTURE = "IMAGE_NOT_FOUND"
"""What the authors' scripts write in place of an answer where there is no picture."""


class EgoPoint:
    """The benchmark over one file of items.

    Args:
        data: The items.
        reading: How pictures are had: as they are, or as the end of a short clip.
        heard: Questions as they were heard, by the items' names, in the streamed reading; None asks
            them as they are written.
        settings: Wording and size; the project's own without.
    """

    name, title = NAME, TITLE

    def __init__(
        self,
        data: EgoPointSet,
        *,
        reading: Reading = "still",
        heard: Mapping[str, Heard] | None = None,
        settings: EgoPointSettings | None = None,
    ) -> None:
        self._data = data
        self._reading: Reading = reading
        self._heard = heard
        self._settings = settings or read_settings()
        self._items = {item.id: item for item in data.items}

    @property
    def left_out(self) -> Sequence[NotReplayed]:
        return self._data.left_out

    def facts(self) -> dict[str, Any]:
        return {
            "data": str(self._data.path.resolve()),
            "sha256": hashlib.sha256(self._data.path.read_bytes()).hexdigest(),
            "images": str(self._data.images.resolve()),
            "reading": self._reading,
            "question": "text" if self._heard is None else "speech",
            "settings": self._settings.asked(),
        }

    def items(self) -> list[Item]:
        return [self._asked(item) for item in self._data.items]

    def _asked(self, item: EgoPointItem) -> Item:
        settings = self._settings
        question = Question(
            id=item.id,
            asked_at=self._asked_at(item),
            compose=partial(self._request, item),
            max_tokens=settings.closed_tokens if item.is_scored else settings.open_tokens,
        )
        return Item(key=item.id, group=item.image_id, sources=(item.image,), questions=(question,))

    def _request(self, item: EgoPointItem) -> Request:
        heard = None if self._heard is None else self._heard[item.id].text
        return request_for(
            item, self._settings, reading=self._reading, question=heard, at=self._asked_at(item)
        )

    def _asked_at(self, item: EgoPointItem) -> Seconds:
        return asked_at(self._reading) if self._heard is None else self._heard[item.id].at

    def score(
        self, items: Sequence[Item], answers: Sequence[Answer], *, errors_as_wrong: bool = False
    ) -> EgoPointScores:
        return score_egopoint(
            [self._items[item.key] for item in items],
            answers,
            left_out=self._data.left_out,
            errors_as_wrong=errors_as_wrong,
        )

    def tables(self, scores: EgoPointScores, *, system: str = "this run") -> list[PaperTable]:
        return egopoint_tables(scores, system=system)

    def files(self, answers: Sequence[Answer]) -> Mapping[str, Any]:
        given = {answer.id: answer for answer in answers}
        scores = score_egopoint(self._data.items, answers)
        details = [
            {
                "image_id": one.item.image_id,
                "question": one.item.question,
                "options": list(one.item.options) or None,
                "answer": one.item.answer,
                "dimension": one.item.dimension,
                "deixis_level": one.item.level,
                "type": one.item.kind,
                "model_output": one.output if one.status == "answered" else _NO_PICTURE,
                "extracted_answer": one.said,
                "parsed_ground_truth": one.truth,
                "is_correct": one.right if one.item.is_scored else None,
            }
            for one in scores.items
            if one.item.id in given and one.status in ("answered", "no_picture")
        ]
        return {"egopoint_results.json": {"details": details}}


def read_egopoint_answers(path: Path, data: EgoPointSet) -> AnswerFile:
    """Answers in our own lines, or in the authors' results: a list with ``model_output``.

    An entry of such a list belongs to the item with its picture and question; without those fields
    to the item at its place.

    Raises:
        AnswersError: If it is neither.
        OSError: If it cannot be read.
    """
    try:
        value = parse(path.read_bytes())
    except UnreadableJsonError:
        value = None
    if not (isinstance(value, list) or (isinstance(value, dict) and "details" in value)):
        read = read_answers(path)
        if not read.answers:
            raise AnswersError(f"{path} holds no answers")
        return read
    try:
        entries = as_entries(value, path)
    except EgoPointError as error:
        raise AnswersError(str(error)) from error
    if not any("model_output" in entry for entry in entries):
        raise AnswersError(f"{path}: no entry has a model_output")
    answers = [
        _answer(id, entry)
        for id, entry in zip(_matched(entries, data), entries, strict=True)
        if "model_output" in entry
    ]
    chosen = counting(answers)
    return AnswerFile(answers=chosen, superseded=len(answers) - len(chosen))


def _matched(entries: Sequence[dict[str, Any]], data: EgoPointSet) -> list[str]:
    """The item's name for each entry of a results file."""
    by_question: dict[tuple[str, str], list[str]] = {}
    for item in data.items:
        by_question.setdefault((item.image_id, item.question), []).append(item.id)
    names = []
    for name, entry in zip(entry_ids(entries), entries, strict=True):
        read = Fields(entry)
        alike = by_question.get((image_id_of(read), read.text("question").strip()))
        names.append(alike.pop(0) if alike else name)
    return names


def _answer(id: str, entry: Mapping[str, Any]) -> Answer:
    output = entry["model_output"]
    text = output if isinstance(output, str) else ""
    if text == _NO_PICTURE:
        return Answer(id=id, error="no picture, by the results file", kind=UNASKABLE)
    return Answer(id=id, output=text)
