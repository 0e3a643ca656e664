"""``deixis compare``: whether runs over the same clips differ by more than chance."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from client.paper_table import drawn_table
from client.printing import plain_console, printable
from client.usage import UsageError
from replay.export import write_exports
from replay.report.benchmark_page import is_benchmark_run
from replay.scoring.benchmark_compare import (
    compared_benchmarks,
    comparison_tables,
    open_benchmark_runs,
)
from replay.scoring.bootstrap import Difference, Interval, Resampling, holm
from replay.scoring.cells import (
    CellError,
    Paired,
    ScoredRun,
    estimates,
    is_matrix,
    open_runs,
    paired,
)
from replay.scoring.paper import paper_tables
from replay.scoring.paper_deltas import comparison_table
from replay.scoring.paper_tables import overall_table
from replay.scoring.paper_values import (
    PaperCell,
    PaperTable,
    Share,
    show,
    show_ends,
    show_p,
    show_value,
)
from replay.scoring.tables import MEASURES


def compare(
    run: Path,
    /,
    *others: Path,
    by_referent: Annotated[bool, Parameter(negative="")] = False,
    export: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Compare scored runs over the same clips: intervals, and whether differences are chance.

    Every run is set against the first, clip by clip, over the clips that both answered. A matrix
    folder stands for all of its runs; given alone, the paper's tables are printed too.

    Parameters
    ----------
    run
        A run folder of `deixis bench`, or a matrix folder; runs over one benchmark.
    others
        Further ones.
    by_referent
        Weigh each clip by its referents, in place of the mean of clip means.
    export
        Write the tables as LaTeX, CSV and Markdown to the folder `tables` in this one.
    as_json
        Print one JSON object instead of tables.
    """
    folders = (run, *others)
    if any(map(is_benchmark_run, folders)):
        _compare_benchmarks(folders, by_referent=by_referent, export=export, as_json=as_json)
        return
    notes: list[str] = []
    runs = open_runs(folders, notes)
    for note in notes:
        plain_console(stderr=True).print(f"! {printable(note)}")
    if len(runs) < 2:
        raise UsageError(f"{run}: a single run; name another one to compare it with")
    tables = _tables(runs, is_whole_matrix=is_matrix(run) and not others, by_referent=by_referent)
    _show(tables, partial(compared, runs, by_referent=by_referent), export, as_json=as_json)


def _compare_benchmarks(
    folders: tuple[Path, ...], *, by_referent: bool, export: Path | None, as_json: bool
) -> None:
    """Compare runs over a benchmark of questions."""
    if by_referent:
        raise UsageError("--by-referent is for runs over EcoG-Bench")
    if len(folders) < 2:
        raise UsageError(f"{folders[0]}: a single run; name another one to compare it with")
    runs = open_benchmark_runs(folders)
    _show(comparison_tables(runs), partial(compared_benchmarks, runs), export, as_json=as_json)


def _show(
    tables: Sequence[PaperTable],
    encoded: Callable[[], dict[str, Any]],
    export: Path | None,
    *,
    as_json: bool,
) -> None:
    written = [] if export is None else write_exports(tables, export)
    if as_json:
        print(json.dumps(encoded(), allow_nan=False))
        return
    console = Console()
    for table in tables:
        console.print(rich_table(table))
    if written:
        said = f"{len(written)} files in {printable(str(written[0].parent))}"
        plain_console().print(said)


def _tables(runs: list[ScoredRun], *, is_whole_matrix: bool, by_referent: bool) -> list[PaperTable]:
    compared_with_first = comparison_table(runs, by_referent=by_referent)
    if not compared_with_first.rows:
        raise CellError(f"no run has a clip in common with {runs[0].name}")
    if is_whole_matrix:
        return [*paper_tables(runs), compared_with_first]
    overall = overall_table(runs, by_referent=by_referent)
    ours = tuple(row for row in overall.rows if row.ours)
    return [replace(overall, rows=ours), compared_with_first]


def rich_table(table: PaperTable) -> Table:
    """A table for the terminal, each key of a row below the first on a line of its own."""
    return drawn_table(table, name=_named, cell=_stacked, least_width=18)


def _named(keys: Sequence[str]) -> str:
    first, *rest = keys
    return first + (f"\n  {' · '.join(rest)}" if rest else "")


def _stacked(cell: PaperCell) -> str:
    """The interval below its number, so that a row of them fits a terminal."""
    if not isinstance(cell, Share):
        return show(cell)
    return "\n".join(filter(None, (show_value(cell), show_ends(cell), show_p(cell))))


def compared(
    runs: list[ScoredRun], *, by_referent: bool = False, how: Resampling | None = None
) -> dict[str, Any]:
    """The comparison as a JSON object; fractions, and null for what there is no number for."""
    how = how or Resampling()
    first, *others = runs
    pairs = [paired(first, other, by_referent=by_referent, how=how) for other in others]
    corrected = {name: holm([pair.differences[name].p for pair in pairs]) for name in MEASURES}
    return {
        "resamples": how.resamples,
        "seed": how.seed,
        "level": how.level,
        "by_referent": by_referent,
        "runs": [_run_json(run, by_referent=by_referent, how=how) for run in runs],
        "against": first.name,
        "comparisons": [
            _pair_json(other, pair, {name: corrected[name][place] for name in MEASURES})
            for place, (other, pair) in enumerate(zip(others, pairs, strict=True))
        ],
    }


def _run_json(run: ScoredRun, *, by_referent: bool, how: Resampling) -> dict[str, Any]:
    found = estimates(run.clips, by_referent=by_referent, how=how)
    return {
        "name": run.name,
        "model": run.model,
        "interface": run.interface,
        "words": run.words,
        "when": run.when,
        "complete": not run.lacks,
        "missing": run.missing,
        "errors": run.errors,
        "clips": len(run.clips),
        "scores": {name: _interval_json(one) for name, one in found.items()},
    }


def _pair_json(other: ScoredRun, pair: Paired, corrected: dict[str, float]) -> dict[str, Any]:
    return {
        "run": other.name,
        "clips": pair.both,
        "only_first": pair.only_first,
        "only_this": pair.only_second,
        "differences": {
            name: _difference_json(one, corrected[name]) for name, one in pair.differences.items()
        },
    }


def _difference_json(found: Difference, corrected: float) -> dict[str, Any]:
    return _interval_json(found.interval) | {
        "p": _number(found.p),
        "p_corrected": _number(corrected),
        "exact": found.exact,
        "better": found.better,
        "worse": found.worse,
    }


def _interval_json(found: Interval) -> dict[str, Any]:
    return {
        "value": _number(found.value),
        "low": _number(found.low),
        "high": _number(found.high),
        "trusted": found.trusted,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
