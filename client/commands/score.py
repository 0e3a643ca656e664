"""``deixis score``: scores of predictions against a benchmark's annotations."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from replay.ecog import load_ecog
from replay.predictions import read_predictions
from replay.scoring.ecog import EcogScores, score_ecog
from replay.scoring.ecog_json import as_json
from replay.scoring.tables import Table, ecog_tables, show

NAMES_SHOWN = 10
"""Of a list of clips, this many are named; ``--json`` has them all."""


def ecog(
    root: Path,
    predictions: Path,
    *,
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    errors_as_wrong: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Score predictions on EcoG-Bench: what, where, when, and all three together.

    Parameters
    ----------
    root
        Folder of the benchmark's tree, or any part of it.
    predictions
        JSON lines: video_name, instruction, output, coord_order.
    print_json
        Print one JSON object instead of tables.
    errors_as_wrong
        Count a failed model call as a wrong answer, as the benchmark's own code does.
    """
    tree = load_ecog(root)
    lines = read_predictions(predictions)
    scores = score_ecog(tree, lines.lines, errors_as_wrong=errors_as_wrong)
    encoded = as_json(scores) | {"torn_line": lines.torn}
    if print_json:
        print(json.dumps(encoded, allow_nan=False))  # ASCII: any terminal and pipe can take it
        return
    print_scores(scores, encoded, Console(), torn=lines.torn)


def print_scores(
    scores: EcogScores, encoded: dict[str, Any], console: Console, *, torn: bool = False
) -> None:
    """Print the tables of a run, then all that did not count or is missing."""
    for table in ecog_tables(encoded):
        console.print(rich_table(table))
    for line in remarks(scores, torn=torn):
        console.print(escape(_printable(line)), soft_wrap=True)


def rich_table(table: Table) -> RichTable:
    """A table for the terminal; our own rows stand out."""
    drawn = RichTable(title=table.title, caption=table.note or None, title_justify="left")
    drawn.add_column("")
    for column in table.columns:
        drawn.add_column(escape(column), justify="right")
    for row in table.rows:
        cells = (escape(row.heading), *map(show, row.cells))
        drawn.add_row(*cells, style="bold" if row.ours else "dim")
    return drawn


def remarks(scores: EcogScores, *, torn: bool = False) -> list[str]:
    """What a reader of the tables must know, one line each."""
    lines: list[str] = []
    if scores.errors:
        how = "counted as wrong" if scores.errors_as_wrong else "not counted"
        lines.append(
            f"{len(scores.errors)} model errors, {how}; the run is incomplete, run it again:"
        )
        lines += _some(f"  {clip.clip.video_name}: {clip.reason}" for clip in scores.errors)
    if scores.missing:
        lines.append(f"{len(scores.missing)} clips without a prediction, counted 0:")
        lines += _some(f"  {clip.clip.video_name}" for clip in scores.missing)
    if scores.left_out:
        lines.append(f"{len(scores.left_out)} clips left out:")
        lines += _some(
            f"  {clip.folder}/{clip.video_name}: {clip.reason}" for clip in scores.left_out
        )
    matching = scores.matching
    for lost, text in (
        (matching.unknown, "predictions for no clip that can be scored"),
        (matching.ambiguous, "predictions without a folder, given to several clips of one name"),
    ):
        if lost:
            lines.append(f"{len(lost)} {text}:")
            lines += _some(f"  {line.video_name}, instruction {line.instruction}" for line in lost)
    if matching.superseded:
        lines.append(f"{matching.superseded} predictions superseded by another of their clip")
    if torn:
        lines.append("the last line of the predictions was cut off and passed over")
    return lines


def _printable(line: str) -> str:
    """One line that any terminal takes: names and reasons come from elsewhere."""
    readable = line.encode(errors="replace").decode()
    return "".join(char if char.isprintable() else " " for char in readable)


def _some(lines: Iterable[str]) -> list[str]:
    named = list(lines)
    more = len(named) - NAMES_SHOWN
    return [*named[:NAMES_SHOWN], *([f"  and {more} more"] if more > 0 else [])]
