"""The page: everything about a run in one HTML file (:mod:`replay.report.html_file`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from replay.delays import MEASURES as DELAYS
from replay.latency import AGES, LatencyTally, RunLatency, stage_name
from replay.loose_json import Fields
from replay.report import plots
from replay.report.clip_view import clip_view
from replay.report.curve import FingerPaths
from replay.report.html_file import json_block, render
from replay.report.pictures import Album
from replay.report.referents import clip_answers
from replay.report.scores_view import arranged, failure_shares, headline, listed, scored_clips
from replay.run_folder import Run, read_clip
from replay.scoring.paper_values import show_ends
from replay.scoring.tables import ecog_tables, show
from replay.trace_reader import Header

MOST_POINTS, LEAST_POINTS = 40_000, 120
BENCHMARKS = {"ecog": "EcoG-Bench"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large the page may grow.

    Attributes:
        picture_bytes: Base64 of all pictures together.
        curve_points: Points of all speed curves together, about.
    """

    picture_bytes: int = 16 * 1024 * 1024
    curve_points: int = 400_000


@dataclass(slots=True)
class _Gathered:
    """What one pass over the clips found."""

    album: Album
    tally: LatencyTally = field(default_factory=LatencyTally)
    views: list[dict[str, Any]] = field(default_factory=list)
    header: Header | None = None
    started: str = ""


Progress = Callable[[int, int], None]
"""Told how many clips of how many have been read."""


def build_report(
    run: Run, *, limits: Limits | None = None, progress: Progress | None = None
) -> str:
    """The whole page.

    Raises:
        OSError: If a trace that is there cannot be read.
    """
    gathered = _gather(run, limits or Limits(), progress)
    latency = gathered.tally.total(run.name)
    overall = headline(run.scores)
    return _render(
        {
            "title": BENCHMARKS.get(run.benchmark, run.benchmark) or "Replay",
            "run_name": run.name,
            "facts": _facts(run, latency, gathered),
            "headline": overall,
            "counts": _counts(gathered.views),
            "tables": arranged(ecog_tables(run.scores.values)) if overall else [],
            "failures": failure_shares(run.scores),
            "lists": _lists(run),
            "latency": latency,
            "delays": _delay_rows(latency),
            "ages": [(AGES[name], summary) for name, summary in latency.ages.items() if summary.n],
            "components": _component_rows(latency),
            "stages": [
                (stage_name(name), latency.compute.per_second(seconds))
                for name, seconds in latency.compute.cpu_by_stage.items()
            ],
            "notes": _notes(run, latency, gathered.album),
            "setup": _setup(gathered.header),
            "clips": gathered.views,
        }
    )


def _gather(run: Run, limits: Limits, progress: Progress | None) -> _Gathered:
    folders = [trace.parent for trace in run.traces]
    apexes = sum(1 for folder in folders for _ in folder.glob("apex_*.jpg"))
    gathered = _Gathered(
        album=Album(budget=limits.picture_bytes, frames=len(folders), thumbnails=apexes)
    )
    scored = scored_clips(run.scores)
    share = limits.curve_points // max(1, len(run.traces))
    most_points = min(MOST_POINTS, max(LEAST_POINTS, share))
    for number, trace in enumerate(run.traces, start=1):
        paths = FingerPaths()
        clip = read_clip(trace, dense=paths.take)
        gathered.tally.add(clip)
        answers = clip_answers(clip, scored.find(clip.truth))
        view = clip_view(clip, paths, answers, gathered.album, most_points=most_points)
        gathered.views.append(view)
        gathered.header = gathered.header or clip.header
        if not gathered.started and clip.end is not None:
            gathered.started = clip.end.wall.started
        if progress is not None:
            progress(number, len(run.traces))
    return gathered


def _facts(run: Run, latency: RunLatency, gathered: _Gathered) -> list[tuple[str, str]]:
    languages = " + ".join(latency.languages) or run.language
    started = gathered.started.replace("T", " ").replace("+00:00", " UTC")
    return [
        (name, value)
        for name, value in (
            ("model", run.model or " + ".join(latency.models) or "unknown"),
            *asked_facts(run.facts),
            ("pace", latency.pace if run.traces else run.pace),
            ("language", languages),
            ("machine", latency.machine),
            ("started", started),
            ("clips", f"{latency.clips}, {_minutes(latency.media_seconds)} of media"),
            ("version", run.version or " + ".join(latency.versions)),
        )
        if value
    ]


def asked_facts(facts: Fields) -> list[tuple[str, str]]:
    """What a model was asked and what it took, as far as ``run.json`` says so."""
    whose = {"ours": "ours", "benchmark": "the benchmark’s"}
    usage = facts.table("usage")
    tokens = [
        f"{count:,} {name}".replace(",", " ")
        for name in ("sent", "cached", "written", "thought")
        if (count := usage.count(name))
    ]
    cost = facts.number("cost")
    return [
        ("interface", facts.text("interface")),
        ("words", whose.get(facts.text("words"), "")),
        ("when", {"binder": "ours", "model": "the model’s"}.get(facts.text("when"), "")),
        ("tokens", ", ".join(tokens)),
        ("cost", "" if cost is None else f"${cost:.2f}"),
    ]


def _minutes(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _counts(views: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [
        (name, sum(len(view[name]) for view in views))
        for name in ("words", "deictics", "strokes", "bindings", "answers")
    ]


def _notes(run: Run, latency: RunLatency, album: Album) -> list[str]:
    said = [*run.notes, *latency.warnings]
    if album.reduced:
        said.append("pictures are smaller than usual, to keep this file small")
    if album.left_out:
        said.append(f"{album.left_out} pictures are left out, to keep this file small")
    if album.unreadable:
        said.append(f"{album.unreadable} pictures could not be read")
    if run.scores and run.scores.flag("complete") is False:
        said.append("scores are incomplete: some clips failed or have no prediction yet")
    return said


def _lists(run: Run) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Title, explanation and rows of what was failed, left out or missing."""
    lists = [
        ("Failed", "sources that could not be replayed",
         [(one.source or "unnamed", one.reason) for one in run.failed]),
        ("Model errors", "not wrong answers: run again", listed(run.scores, "errors")),
        ("Without a prediction", "they count 0", listed(run.scores, "missing")),
        ("Left out", "clips of the benchmark that cannot be scored",
         listed(run.scores, "left_out")),
    ]  # fmt: skip
    return [entry for entry in lists if entry[2]]


def _delay_rows(latency: RunLatency) -> list[dict[str, Any]]:
    longest = max((measured.shown.p95 or 0.0 for measured in latency.delays.values()), default=0.0)
    return [
        {
            "name": DELAYS[name],
            "shown": measured.shown,
            "unaware": measured.unaware if measured.aware is not None else None,
            "at_end": measured.at_end,
            "plot": plots.rug(
                measured.samples,
                p50=measured.shown.p50,
                p95=measured.shown.p95,
                longest=max(0.5, longest * 1.15),
            ),
        }
        for name, measured in latency.delays.items()
        if measured.shown.n
    ]


def _component_rows(latency: RunLatency) -> list[dict[str, Any]]:
    cost = latency.compute
    most = max((spent.busy for spent in cost.busy.values()), default=0.0)
    return [
        {
            "name": name,
            "spent": spent,
            "per_second": cost.per_second(spent.busy),
            "cpu": cost.per_second(spent.cpu),
            "bar": plots.bar(spent.busy / most if most else None),
        }
        for name, spent in sorted(cost.busy.items(), key=lambda item: -item[1].busy)
    ]


def _setup(header: Header | None) -> list[tuple[str, str]]:
    """Settings and weights of the first clip, as JSON text."""
    if header is None:
        return []
    parts = (("settings", header.config.values), ("weights", header.weights.values))
    return [
        (name, json.dumps(values, ensure_ascii=False, indent=1)[:100_000])
        for name, values in parts
        if values
    ]


def _render(context: dict[str, Any]) -> str:
    parts = ("draw", "axis", "timeline", "pictures", "clip", "toggle", "report")
    return render(
        "report.html.j2",
        {
            **context,
            "payload": json_block({"clips": context["clips"]}),
            "percent_bar": plots.bar,
        },
        scripts=[f"{name}.js" for name in parts],
        filters={
            "seconds": _seconds,
            "milliseconds": _milliseconds,
            "cell": show,
            "ends": show_ends,
        },
    )


def _seconds(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"
