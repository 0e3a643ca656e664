"""Latency as plain JSON values: the contract of ``deixis latency --json``.

::

    {"runs": [RUN...], "comparisons": [COMPARISON...]}

    RUN = {"run", "pace", "machine", "model", "language", "version",
           "clips": int, "broken": int, "faults": int, "media_seconds": float,
           "delays": {name: {"about": text, "unit": "s", "at_end": int,
                             "unaware": SUMMARY, "aware": SUMMARY | null}},
           "ages": {name: {"about": text, "unit": "ms", ...SUMMARY}},
           "counters": {name: int}, "skipped": {what: int},
           "compute": {"real_time_factor", "cpu_per_second", "cpu_seconds", "wall_seconds",
                       "rss_mb", "media_seconds",
                       "cpu_by_stage": {stage: CPU s per media s},
                       "components": {name: {"busy", "per_second", "cpu_per_second", "longest",
                                             "steps"}}},
           "live": null | {"sessions": int, "compared": int, "within": s | null,
                           "glass": {name: {"about": text, "unit": "s", ...SUMMARY}},
                           "ways": {name: {"about": text, "unit": "ms", ...SUMMARY}}},
           "notes": [text]}
    SUMMARY = {"n": int, "p50", "p95", "p99", "max": float | null}
    COMPARISON = {"base": run, "other": run, "warnings": [text],
                  "delays": {name: {"p50": CHANGE, "p95": CHANGE}}, "ages": likewise,
                  "compute": {"real_time_factor": CHANGE, "cpu_per_second": CHANGE}}
    CHANGE = {"base", "other", "delta", "ratio": float | null}

``aware`` is null in ``fast`` pace, ``p99`` under 100 samples. A comparison takes the aware delays
when both runs have them, else the unaware ones of both, and says which in ``"compared"``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from replay.delays import MEASURES
from replay.latency import AGES, Change, RunLatency, Summary, comparable
from replay.latency_live import WAYS, LiveLatency


def latency_document(runs: Sequence[RunLatency]) -> dict[str, Any]:
    """The whole document: every run, and each further run against the first."""
    return {
        "runs": [_run(run) for run in runs],
        "comparisons": [_comparison(runs[0], other) for other in runs[1:]],
    }


def delay_pair(base: RunLatency, other: RunLatency, measure: str) -> tuple[Summary, Summary, str]:
    """The two summaries of a delay that may be compared, and which they are."""
    left, right = base.delays[measure], other.delays[measure]
    if left.aware is not None and right.aware is not None:
        return left.aware, right.aware, "aware"
    return left.unaware, right.unaware, "unaware"


def _run(run: RunLatency) -> dict[str, Any]:
    return {
        "run": run.name,
        "pace": run.pace,
        "machine": run.machine,
        "model": " + ".join(run.models),
        "language": " + ".join(run.languages),
        "version": " + ".join(run.versions),
        "clips": run.clips,
        "broken": run.broken,
        "faults": run.faults,
        "media_seconds": _rounded(run.media_seconds),
        "delays": {
            name: {
                "about": MEASURES[name],
                "unit": "s",
                "at_end": measured.at_end,
                "unaware": _summary(measured.unaware),
                "aware": None if measured.aware is None else _summary(measured.aware),
            }
            for name, measured in run.delays.items()
        },
        "ages": {
            name: {"about": AGES[name], "unit": "ms", **_summary(summary)}
            for name, summary in run.ages.items()
        },
        "counters": run.counters,
        "skipped": run.skipped,
        "compute": _compute(run),
        "live": None if run.live is None else _live(run.live),
        "notes": list(run.notes),
    }


def _live(live: LiveLatency) -> dict[str, Any]:
    return {
        "sessions": live.sessions,
        "compared": live.compared,
        "within": _rounded(live.within),
        "glass": {
            name: {"about": MEASURES[name], "unit": "s", **_summary(summary)}
            for name, summary in live.glass.items()
        },
        "ways": {
            name: {"about": WAYS[name], "unit": "ms", **_summary(summary)}
            for name, summary in live.ways.items()
        },
    }


def _compute(run: RunLatency) -> dict[str, Any]:
    cost = run.compute
    return {
        "real_time_factor": _rounded(cost.real_time_factor),
        "cpu_per_second": _rounded(cost.cpu_per_second),
        "cpu_seconds": _rounded(cost.cpu_seconds),
        "wall_seconds": _rounded(cost.wall_seconds),
        "rss_mb": _rounded(cost.rss_mb),
        "media_seconds": _rounded(cost.media_seconds),
        "cpu_by_stage": {
            name: _rounded(cost.per_second(seconds)) for name, seconds in cost.cpu_by_stage.items()
        },
        "components": {
            name: {
                "busy": _rounded(spent.busy),
                "per_second": _rounded(cost.per_second(spent.busy)),
                "cpu_per_second": _rounded(cost.per_second(spent.cpu)),
                "longest": _rounded(spent.longest),
                "steps": spent.steps,
            }
            for name, spent in cost.busy.items()
        },
    }


def _comparison(base: RunLatency, other: RunLatency) -> dict[str, Any]:
    pairs = {name: delay_pair(base, other, name) for name in MEASURES}
    return {
        "base": base.name,
        "other": other.name,
        "warnings": list(comparable(base, other)),
        "compared": next(iter(pairs.values()))[2],
        "delays": {name: _changes(left, right) for name, (left, right, _) in pairs.items()},
        "ages": {name: _changes(base.ages[name], other.ages[name]) for name in AGES},
        "compute": {
            "real_time_factor": _change(
                base.compute.real_time_factor, other.compute.real_time_factor
            ),
            "cpu_per_second": _change(base.compute.cpu_per_second, other.compute.cpu_per_second),
        },
    }


def _changes(base: Summary, other: Summary) -> dict[str, Any]:
    return {"p50": _change(base.p50, other.p50), "p95": _change(base.p95, other.p95)}


def _change(base: float | None, other: float | None) -> dict[str, Any]:
    change = Change(base=base, other=other)
    return {
        "base": _rounded(base),
        "other": _rounded(other),
        "delta": _rounded(change.delta),
        "ratio": _rounded(change.ratio),
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "n": summary.n,
        "p50": _rounded(summary.p50),
        "p95": _rounded(summary.p95),
        "p99": _rounded(summary.p99),
        "max": _rounded(summary.most),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)
