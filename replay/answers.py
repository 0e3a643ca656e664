"""Answers of models to a benchmark's questions, as JSON lines.

A line is ``{"id", "output"}`` or, where there is no answer, ``{"id", "error", "kind"}``. Beside an
output may stand ``finish`` (``length`` when it was cut off), ``chances`` (pairs of a token and its
log-probability), ``alternatives`` (such pairs of the likeliest tokens at each), ``seconds``,
``sent`` and ``written`` (tokens). Of several lines for one question an answer counts before an
error, and then the last one: a run that goes on appends, it never rewrites.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from replay.line_log import LineLog, split_lines
from replay.loose_json import Fields, finite
from streaming.events import Seconds

Chance: TypeAlias = tuple[str, float]
"""A token of the answer and its log-probability (natural logarithm)."""


class AnswersError(ValueError):
    """A file that holds no answers; the text names the file and the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model said to one question, or that it failed.

    Attributes:
        id: The question's.
        output: The model's own text, whole.
        error: What went wrong, or None for an answer.
        kind: Kind of the failure, see :mod:`streaming.asking.endpoint`; ``source`` when the
            question could not be put.
        cut_off: The text reached the longest that was allowed.
        chances: Of its tokens, in order; empty when they are not known.
        alternatives: The likeliest tokens of each of ``chances``; empty when they are not known.
        seconds: That the last attempt took; None when the answer was there already.
        sent, written: Tokens; 0 when they are not known.
    """

    id: str
    output: str = ""
    error: str | None = None
    kind: str = ""
    cut_off: bool = False
    chances: tuple[Chance, ...] = ()
    alternatives: tuple[tuple[Chance, ...], ...] = ()
    seconds: Seconds | None = None
    sent: int = 0
    written: int = 0

    def as_line(self) -> dict[str, Any]:
        line: dict[str, Any] = {"id": self.id}
        if self.error is not None:
            return line | {"error": self.error, "kind": self.kind}
        line["output"] = self.output
        if self.cut_off:
            line["finish"] = "length"
        if self.chances:
            line["chances"] = [list(chance) for chance in self.chances]
        if self.alternatives:
            line["alternatives"] = [[list(one) for one in place] for place in self.alternatives]
        if self.seconds is not None:
            line["seconds"] = round(self.seconds, 3)
        return line | {name: n for name in ("sent", "written") if (n := getattr(self, name))}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFile:
    """The answers of a file that count.

    Attributes:
        answers: One for each question, in the order in which they first came.
        superseded: Lines that another line of their question stands before.
        torn: The last line was cut off by a crash and is not among them.
    """

    answers: tuple[Answer, ...]
    superseded: int = 0
    torn: bool = False


def counting(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """Of the answers to each question the one that counts."""
    chosen: dict[str, Answer] = {}
    for answer in answers:
        before = chosen.get(answer.id)
        if before is None or answer.error is None or before.error is not None:
            chosen[answer.id] = answer
    return tuple(chosen.values())


def read_answers(path: Path) -> AnswerFile:
    """Read a file of answers.

    Raises:
        AnswersError: If a line is no answer (a torn last line is passed over).
        OSError: If the file cannot be read.
    """
    lines, torn = split_lines(path.read_bytes())
    read = [_read(line, where=f"{path}, line {number}") for number, line in lines]
    answers = counting(read)
    return AnswerFile(answers=answers, superseded=len(read) - len(answers), torn=torn)


def _read(line: bytes, *, where: str) -> Answer:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise AnswersError(f"{where}: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise AnswersError(f'{where}: no answer; expected {{"id": ..., "output": ...}}')
    read = Fields(value)
    failed = value.get("error")
    if failed or "output" not in value:
        said = failed if isinstance(failed, str) else "no reason given"
        return Answer(id=read.text("id"), error=said, kind=read.text("kind") or "failed")
    output, chances = value["output"], _chances(read.items("chances"))
    return Answer(
        id=read.text("id"),
        output=output if isinstance(output, str) else _as_text(output),
        cut_off=read.text("finish") == "length",
        chances=chances,
        alternatives=_alternatives(read.items("alternatives"), len(chances)),
        seconds=read.number("seconds"),
        sent=max(0, read.count("sent") or 0),
        written=max(0, read.count("written") or 0),
    )


def _as_text(output: Any) -> str:
    """Nothing as an empty text, and a parsed output as its JSON again."""
    return "" if output is None else json.dumps(output, ensure_ascii=False)


def _chances(listed: Sequence[Any]) -> tuple[Chance, ...]:
    """The pairs; a list with anything else in it counts as none."""
    found: list[Chance] = []
    for one in listed:
        if not isinstance(one, list) or len(one) != 2 or not isinstance(one[0], str):
            return ()
        logprob = finite(one[1])
        if logprob is None:
            return ()
        found.append((one[0], logprob))
    return tuple(found)


def _alternatives(listed: Sequence[Any], places: int) -> tuple[tuple[Chance, ...], ...]:
    """Those of each place; none where there are not as many places as chances."""
    if len(listed) != places:
        return ()
    return tuple(_chances(place) if isinstance(place, list) else () for place in listed)


class AnswerLog(LineLog):
    """Appends answers to a file, one synced line each; a context manager.

    Attributes:
        answered: Questions that have an answer already, kept up to date.

    Raises:
        AnswersError: If the file holds something else than answers.
    """

    def __init__(self, path: Path) -> None:
        self.answered: set[str] = set()
        if path.exists():
            kept = read_answers(path).answers
            self.answered = {answer.id for answer in kept if answer.error is None}
        super().__init__(path)

    def append(self, answer: Answer) -> None:
        """Write one line and wait until it is on disk."""
        self.write(answer.as_line())
        if answer.error is None:
            self.answered.add(answer.id)
