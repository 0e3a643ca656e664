"""The page of a run over any benchmark: what was asked, its tables, and what was answered.

It is made from the run folder alone (``run.json``, ``scores.json``, ``tables/tables.json`` and
``predictions.jsonl``), so that a benchmark needs no page of its own. Nothing in them is trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from replay.answers import Answer, AnswersError, read_answers
from replay.benchmark import Outcome
from replay.loose_json import Fields, UnreadableJsonError, read_object
from replay.out_folder import PREDICTIONS, RUN, SCORES
from replay.report.html_file import render
from replay.report.matrix_page import Tile, best_of, named, said_machine
from replay.report.page import asked_facts
from replay.report.reliability import read_reliability
from replay.scoring.outcomes import clustered, measures_of, read_outcomes
from replay.scoring.paper_values import Share, share, show, show_ends, show_p, show_value
from replay.scoring.tables_json import decode_tables
from replay.trace_reader import read_machine

TABLES_FILE = Path("tables") / "tables.json"
MOST_ANSWERS = 500
"""Of the answers so many are shown, those that are not wholly right first."""
_LONGEST = 400
"""Characters of an answer that are shown."""


_FAILED_SHOWN = 5


class BenchmarkPageError(ValueError):
    """A run folder that cannot be shown; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One entry in the list of answers."""

    key: str
    group: str
    values: Sequence[tuple[str, str]]
    output: str
    worst: float


def is_benchmark_run(folder: Path) -> bool:
    """Whether a folder holds a run over a benchmark that this page can show."""
    return (folder / TABLES_FILE).is_file()


def build_benchmark_report(folder: Path) -> str:
    """The whole page.

    Raises:
        BenchmarkPageError: If the folder's files cannot be read.
    """
    try:
        run, scores = read_object(folder / RUN), read_object(folder / SCORES)
        stated = read_object(folder / TABLES_FILE)
    except UnreadableJsonError as error:
        raise BenchmarkPageError(f"{folder}: {error}; run the benchmark again") from error
    outcomes = read_outcomes(scores)
    tables = decode_tables(stated)
    lines = _lines(outcomes, _answers(folder))
    return render(
        "benchmark.html.j2",
        {
            "title": run.table("benchmark").text("title") or run.table("benchmark").text("name"),
            "run_name": folder.resolve().name,
            "facts": _facts(run, outcomes),
            "notes": _notes(run, stated),
            "tiles": _tiles(run, outcomes),
            "tables": [(table, best_of(table), f"table-of-{table.name}") for table in tables],
            "reliability": read_reliability(scores),
            "lines": lines[:MOST_ANSWERS],
            "unshown": max(0, len(lines) - MOST_ANSWERS),
            "named": named,
        },
        scripts=("toggle.js",),
        styles=("report.css", "matrix.css"),
        filters={
            "cell": show, "share_value": show_value, "share_ends": show_ends, "share_p": show_p,
            "is_share": lambda cell: isinstance(cell, Share),
        },
    )  # fmt: skip


def _answers(folder: Path) -> dict[str, Answer]:
    try:
        return {answer.id: answer for answer in read_answers(folder / PREDICTIONS).answers}
    except (AnswersError, OSError):
        return {}


def _facts(run: Fields, outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    facts = run.table("facts")
    settings = [
        (name, value)
        for name in sorted(facts.values)
        if name not in ("sha256", "settings") and (value := facts.text(name))
    ]
    return [
        (name, value)
        for name, value in (
            ("model", run.text("model")),
            *settings,
            *asked_facts(run),
            ("entries scored", f"{len(outcomes):,}".replace(",", " ")),
            ("machine", said_machine(read_machine(run.table("machine")))),
            ("version", run.text("version")),
        )
        if value
    ]


def _notes(run: Fields, stated: Fields) -> list[str]:
    notes = stated.texts("remarks")
    failed = run.tables("failed")
    named_failed = "; ".join(
        f"{one.text('source')}: {one.text('reason')}" for one in failed[:_FAILED_SHOWN]
    )
    if failed:
        more = f" and {len(failed) - _FAILED_SHOWN} more" if len(failed) > _FAILED_SHOWN else ""
        notes.append(f"left out or failed: {named_failed}{more}")
    if run.flag("complete") is False:
        notes.append("the run is incomplete: run the same command again to go on")
    return notes


def _tiles(run: Fields, outcomes: Sequence[Outcome]) -> list[Tile]:
    tiles = []
    for name in measures_of(outcomes)[:4]:
        found = share(clustered(outcomes, name))
        if found is not None:
            about = (show_ends(found),)
            tiles.append(Tile(name=name, value=show_value(found), unit="%", about=about))
    cost = run.number("cost")
    if cost is not None:
        tiles.append(Tile(name="cost", value=f"{cost:.2f}", unit="$"))
    return tiles


def _lines(outcomes: Sequence[Outcome], answers: dict[str, Answer]) -> list[Line]:
    """The answers, those that are least right first."""
    lines = []
    for one in outcomes:
        answer = answers.get(one.key)
        output = "" if answer is None else answer.output or answer.error or ""
        lines.append(
            Line(
                key=one.key,
                group=one.group if one.group != one.key else "",
                values=[(name, f"{value:.2g}") for name, value in one.values.items()],
                output=output if len(output) <= _LONGEST else output[:_LONGEST] + "…",
                worst=min(one.values.values(), default=0.0),
            )
        )
    return sorted(lines, key=lambda line: line.worst)
