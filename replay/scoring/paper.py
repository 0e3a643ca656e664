"""All tables of a matrix of runs, in the order in which they are shown and exported."""

from __future__ import annotations

from collections.abc import Sequence

from replay.scoring.bootstrap import DEFAULT, Resampling
from replay.scoring.cells import ScoredRun
from replay.scoring.paper_deltas import ablation_table, interface_table
from replay.scoring.paper_tables import (
    counter_table,
    failure_table,
    latency_table,
    level_table,
    mended_table,
    overall_table,
    published_table,
    usage_table,
)
from replay.scoring.paper_values import PaperTable


def paper_tables(runs: Sequence[ScoredRun], *, how: Resampling = DEFAULT) -> list[PaperTable]:
    """Every table that has a row.

    Args:
        runs: The cells of a matrix, or runs over the same clips.
        how: How intervals and tests draw.
    """
    tables = (
        overall_table(runs, how=how),
        level_table(runs, "eco", how=how),
        level_table(runs, "seq", how=how),
        interface_table(runs, how=how),
        ablation_table(runs, how=how),
        published_table(runs, how=how),
        overall_table(runs, by_referent=True, how=how),
        failure_table(runs),
        mended_table(runs, how=how),
        usage_table(runs),
        latency_table(runs),
        counter_table(
            runs, "parsing", "Outputs, by what the benchmark's own reading took",
            lambda run: run.scores.table("repairs"),
        ),
        counter_table(
            runs, "reading", "Answers, by what our tolerant reading took",
            lambda run: run.facts.table("counters"),
        ),
        counter_table(
            runs, "errors", "Requests that failed, by kind", lambda run: run.facts.table("errors")
        ),
    )  # fmt: skip
    return [table for table in tables if any(row.ours for row in table.rows)]
