"""Scored runs read back from disk, to stand in one table: run folders, or files of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replay.answers import AnswersError, read_answers
from replay.egoextra.questions import Question
from replay.egoextra.scoring import score_egoextra
from replay.egoextra.tables import Run, Way
from replay.loose_json import Fields, UnreadableJsonError, read_object
from replay.out_folder import PREDICTIONS, RUN


def read_run(path: Path, questions: Sequence[Question], *, errors_as_wrong: bool = False) -> Run:
    """Score a run folder, or a file of answers, which is taken to be read the paper's first way.

    A run over one protocol is scored over the questions of that one.

    Raises:
        AnswersError: If it is neither, or a run of another benchmark.
        OSError: If it cannot be read.
    """
    answers, system, way = path, path.stem, Way()
    if path.is_dir():
        answers = path / PREDICTIONS
        try:
            facts = read_object(path / RUN)
        except UnreadableJsonError as error:
            raise AnswersError(f"{path}: no run folder: {error}") from error
        if facts.table("benchmark").text("name") != "egoextra":
            raise AnswersError(f"{path}: a run of another benchmark than egoextra")
        asked = facts.table("facts")
        system, way = facts.text("model") or path.name, way_of(asked)
        only = asked.text("protocol")
        questions = [one for one in questions if not only or one.protocol == only]
    scores = score_egoextra(
        questions, read_answers(answers).answers, errors_as_wrong=errors_as_wrong
    )
    return Run(system=system, way=way, scores=scores)


def way_of(facts: Fields) -> Way:
    """How a run read its questions, from the facts in its ``run.json``."""
    return Way(
        sampling=facts.text("sampling") or Way().sampling,
        length=facts.number("length") or Way().length,
        transcript=facts.text("words") not in ("", "none"),
        stream=facts.text("mode") == "stream",
    )
