"""What a run over a benchmark leaves beside its answers: scores, tables, the authors' own files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from replay.answers import Answer
from replay.benchmark import Benchmark, Scores
from replay.export import FOLDER as TABLES
from replay.export import write_exports
from replay.out_folder import SCORES
from replay.run import write_json
from replay.scoring.tables_json import encode_tables

RESULTS, OUTCOMES = "results", "outcomes"

S = TypeVar("S", bound=Scores)


def write_run_files(
    benchmark: Benchmark[S], scores: S, answers: Sequence[Answer], out: Path
) -> None:
    """Write ``scores.json``, ``tables/`` and ``results/`` of a run folder."""
    write_scores(benchmark, scores, out)
    write_tables(benchmark, scores, out)
    for name, content in benchmark.files(answers).items():
        path = out / RESULTS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, content)


def write_tables(benchmark: Benchmark[S], scores: S, out: Path) -> None:
    """Write the tables for people, and as JSON with all remarks for the report."""
    tables = benchmark.tables(scores)
    write_exports(tables, out)
    content = {"tables": encode_tables(tables), "remarks": list(scores.remarks())}
    write_json(out / TABLES / "tables.json", content)


def write_scores(benchmark: Benchmark[S], scores: S, out: Path) -> None:
    """Write ``scores.json``: what the benchmark says, and each outcome for comparisons."""
    listed = [
        {
            "key": one.key,
            "group": one.group,
            "values": dict(one.values),
            "answered": one.answered,
        }
        for one in scores.outcomes
    ]
    content = {"benchmark": benchmark.name, "complete": scores.complete, **scores.as_json()}
    write_json(out / SCORES, content | {OUTCOMES: listed})
