"""Runs over one benchmark set side by side, entry by entry, whatever the benchmark.

Each run is set against the first over the entries that both answered; groups are drawn as one, and
the p-values of each measure are corrected over all comparisons (Holm, 1979).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.benchmark import Outcome
from replay.loose_json import Fields, UnreadableJsonError, read_object
from replay.out_folder import RUN, SCORES
from replay.scoring.bootstrap import DEFAULT, Interval, Resampling, holm
from replay.scoring.cells import CellError
from replay.scoring.outcomes import (
    PairedOutcomes,
    clustered,
    measures_of,
    paired_outcomes,
    read_outcomes,
)
from replay.scoring.paper_values import PaperCell, PaperRow, PaperTable, gain, share


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRun:
    """A scored run.

    Attributes:
        name: Of its folder.
        model: As stated.
        benchmark: Name of the benchmark.
        facts: What the benchmark states of the run, such as its data's digest.
        outcomes: Of its entries.
        complete: As stated.
    """

    name: str
    model: str
    benchmark: str
    facts: Fields
    outcomes: tuple[Outcome, ...]
    complete: bool


def open_benchmark_runs(folders: Iterable[Path]) -> list[BenchmarkRun]:
    """The runs in some folders.

    Raises:
        CellError: If one cannot be read, has no scored entry, or is over another benchmark.
    """
    runs = [_open(folder) for folder in folders]
    for run in runs[1:]:
        if run.benchmark != runs[0].benchmark:
            raise CellError(
                f"{run.name} is a run over {run.benchmark}, {runs[0].name} over "
                f"{runs[0].benchmark}; compare runs over one benchmark"
            )
    return runs


def _open(folder: Path) -> BenchmarkRun:
    try:
        scores, run = read_object(folder / SCORES), read_object(folder / RUN)
    except UnreadableJsonError as error:
        raise CellError(f"{folder}: {error}; give a run folder of deixis bench") from error
    outcomes = read_outcomes(scores)
    if not outcomes:
        raise CellError(f"{folder}: {SCORES} names no scored entry")
    return BenchmarkRun(
        name=folder.resolve().name,
        model=run.text("model"),
        benchmark=scores.text("benchmark") or run.table("benchmark").text("name"),
        facts=run.table("facts"),
        outcomes=outcomes,
        complete=scores.flag("complete") is not False,
    )


def comparison_tables(
    runs: Sequence[BenchmarkRun], *, how: Resampling = DEFAULT
) -> list[PaperTable]:
    """Every run with its intervals, and each against the first.

    Raises:
        CellError: If a run has no entry in common with the first.
    """
    names = _measures(runs)
    rows = [
        PaperRow(
            keys=(run.name, run.model),
            cells=(*(share(clustered(run.outcomes, name, how=how)) for name in names),
                   len(run.outcomes)),
            lacks="" if run.complete else "not finished",
        )
        for run in runs
    ]  # fmt: skip
    overall = PaperTable(
        name="overall",
        title=f"{runs[0].benchmark}, %",
        keys=("run", "model"),
        columns=(*names, "n"),
        rows=tuple(rows),
    )
    return [overall, _against_first(runs, names, how)]


def _against_first(
    runs: Sequence[BenchmarkRun], names: Sequence[str], how: Resampling
) -> PaperTable:
    pairs = [_pairs(runs[0], other, names, how) for other in runs[1:]]
    corrected = _corrected(pairs, names)
    rows = []
    for other, pair, p in zip(runs[1:], pairs, corrected, strict=True):
        cells: list[PaperCell] = [gain(pair[name].difference, p=p[name]) for name in names]
        rows.append(PaperRow(keys=(other.name,), cells=(*cells, _most(pair))))
    return PaperTable(
        name="comparison",
        title=f"Against {runs[0].name}, points",
        keys=("run",),
        columns=(*names, "n"),
        rows=tuple(rows),
        notes=("Sign-flip tests over groups, corrected over the comparisons (Holm).",),
    )


def compared_benchmarks(
    runs: Sequence[BenchmarkRun], *, how: Resampling = DEFAULT
) -> dict[str, Any]:
    """The comparison as a JSON object; fractions, and null for what there is no number for."""
    names = _measures(runs)
    pairs = [_pairs(runs[0], other, names, how) for other in runs[1:]]
    corrected = _corrected(pairs, names)
    return {
        "benchmark": runs[0].benchmark,
        "resamples": how.resamples,
        "seed": how.seed,
        "level": how.level,
        "runs": [
            {
                "name": run.name,
                "model": run.model,
                "complete": run.complete,
                "entries": len(run.outcomes),
                "scores": {
                    name: _interval(clustered(run.outcomes, name, how=how)) for name in names
                },
            }
            for run in runs
        ],
        "against": runs[0].name,
        "comparisons": [
            {
                "run": other.name,
                "entries": _most(pair),
                "differences": {
                    name: _interval(one.difference.interval)
                    | {
                        "p": _number(one.difference.p),
                        "p_corrected": _number(p[name]),
                        "exact": one.difference.exact,
                        "entries": one.both,
                        "only_first": one.only_first,
                        "only_this": one.only_second,
                    }
                    for name, one in pair.items()
                },
            }
            for other, pair, p in zip(runs[1:], pairs, corrected, strict=True)
        ],
    }


def _measures(runs: Sequence[BenchmarkRun]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in measures_of(run.outcomes)))


def _pairs(
    first: BenchmarkRun, other: BenchmarkRun, names: Sequence[str], how: Resampling
) -> dict[str, PairedOutcomes]:
    pairs = {n: paired_outcomes(first.outcomes, other.outcomes, n, how=how) for n in names}
    if not any(one.both for one in pairs.values()):
        raise CellError(f"{other.name} has no entry in common with {first.name}")
    return pairs


def _corrected(
    pairs: Sequence[dict[str, PairedOutcomes]], names: Sequence[str]
) -> list[dict[str, float]]:
    by_name = {name: holm([pair[name].difference.p for pair in pairs]) for name in names}
    return [{name: by_name[name][place] for name in names} for place in range(len(pairs))]


def _most(pair: dict[str, PairedOutcomes]) -> int:
    return max(one.both for one in pair.values())


def _interval(found: Interval) -> dict[str, Any]:
    return {
        "value": _number(found.value),
        "low": _number(found.low),
        "high": _number(found.high),
        "trusted": found.trusted,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
