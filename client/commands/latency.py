"""``deixis latency``: where the time went in one run, or in several side by side."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from replay.delays import MEASURES
from replay.latency import AGES, Change, RunLatency, Summary, comparable, run_latency, stage_name
from replay.latency_json import delay_pair, latency_document
from replay.latency_live import WAYS, LiveLatency
from replay.run_folder import ClipRun, Run, open_run, read_clip


def latency(
    run: Path,
    /,
    *others: Path,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Say where the time went, from the traces of one run or of several.

    Delays are the moment a decision was made minus the moment it is about. In fast pace compute
    counts as zero, and only computation-unaware delays are shown.

    Parameters
    ----------
    run
        A run folder, a clip's folder, the folder of recorded live sessions, or a trace.jsonl.
    others
        Further runs to set beside the first.
    json
        Print one JSON object instead of tables (described in replay/latency_json.py).
    """
    measured = [_measure(path) for path in (run, *others)]
    if json:
        print(json_module.dumps(latency_document(measured), ensure_ascii=False))
        return
    console = Console()
    for one in measured:
        _show(console, one)
    for other in measured[1:]:
        _compare(console, measured[0], other)


def _measure(path: Path) -> RunLatency:
    opened = open_run(path)
    return run_latency(opened, _clips(opened))


def _clips(run: Run) -> Iterator[ClipRun]:
    for trace in run.traces:
        yield read_clip(trace)


def _show(console: Console, run: RunLatency) -> None:
    # Every name below comes from files: markup in it is text, not style.
    console.print(
        f"\n[bold]{escape(run.name)}[/]  {run.clips} clips, {run.media_seconds:.1f} s of media\n"
        f"pace [bold]{escape(run.pace)}[/] on [bold]{escape(run.machine)}[/], "
        f"model {escape(', '.join(run.models) or 'unknown')}"
    )
    for note in run.notes:
        console.print(f"[yellow]! {escape(note)}[/]")
    console.print(_delay_table(run))
    if run.live is not None:
        _show_live(console, run.live)
    if any(summary.n for summary in run.ages.values()):
        console.print(_age_table(run))
    if run.compute.busy:
        console.print(_compute_table(run))
    if run.compute.rss_mb is not None:
        console.print(f"resident memory: {run.compute.rss_mb:.0f} MB")
    if remembered := remembered_line(run.counters):
        console.print(remembered)
    _show_counts(console, run)


def _delay_table(run: RunLatency) -> Table:
    aware = any(measured.aware is not None for measured in run.delays.values())
    table = _table("delays, seconds")
    table.add_column("decision")
    table.add_column("n", justify="right")
    table.add_column("at end", justify="right")
    for name in ("p50", "p95", "p99", "max"):
        table.add_column(name, justify="right")
    if aware:
        table.add_column("media p50", justify="right")
    for name, measured in run.delays.items():
        shown = measured.shown
        row = [
            MEASURES[name],
            str(shown.n),
            str(measured.at_end or "–"),
            *(_number(value, 3) for value in (shown.p50, shown.p95, shown.p99, shown.most)),
        ]
        table.add_row(*row, *([_number(measured.unaware.p50, 3)] if aware else []))
    return table


def _show_live(console: Console, live: LiveLatency) -> None:
    if live.compared:
        glass = _table("from the glass to the event, seconds")
        _summary_columns(glass, "event")
        for name, summary in live.glass.items():
            if summary.n:
                glass.add_row(MEASURES[name], *_summary_cells(summary, 3))
        console.print(glass)
        within = 1000 * (live.within or 0.0)
        console.print(f"clocks compared within {within:.1f} ms; what the end brought out left out")
    if live.compared < live.sessions:
        console.print(
            f"[yellow]! {live.sessions - live.compared} of {live.sessions} live sessions do not "
            "know when things were caught: their sender did not compare clocks[/]"
        )
    ways = _table("on the way, milliseconds")
    _summary_columns(ways, "what")
    for name, summary in live.ways.items():
        ways.add_row(WAYS[name], *_summary_cells(summary, 1))
    console.print(ways)


def _summary_columns(table: Table, first: str) -> None:
    table.add_column(first)
    for name in ("n", "p50", "p95", "p99", "max"):
        table.add_column(name, justify="right")


def _summary_cells(summary: Summary, digits: int) -> list[str]:
    values = (summary.p50, summary.p95, summary.p99, summary.most)
    return [str(summary.n), *(_number(value, digits) for value in values)]


def _age_table(run: RunLatency) -> Table:
    table = _table("ages and lags, milliseconds")
    _summary_columns(table, "what")
    for name, summary in run.ages.items():
        table.add_row(AGES[name], *_summary_cells(summary, 1))
    return table


def _compute_table(run: RunLatency) -> Table:
    cost = run.compute
    table = _table("compute")
    table.add_column("component")
    for name in ("busy s", "per media s", "CPU per media s", "longest s", "steps"):
        table.add_column(name, justify="right")
    for name, spent in sorted(cost.busy.items(), key=lambda item: -item[1].busy):
        table.add_row(
            escape(name),
            f"{spent.busy:.2f}",
            _number(cost.per_second(spent.busy), 3),
            _number(cost.per_second(spent.cpu), 3),
            f"{spent.longest:.3f}",
            str(spent.steps),
        )
    table.add_section()
    table.add_row("all (real-time factor)", "", _number(cost.real_time_factor, 3))
    for name, seconds in cost.cpu_by_stage.items():
        cpu = _number(cost.per_second(seconds), 3)
        table.add_row(escape(stage_name(name)), "", "", cpu)
    table.add_row("whole process", "", "", _number(cost.cpu_per_second, 3))
    return table


def remembered_line(counters: Mapping[str, int]) -> str:
    """What sessions remembered of their streams for the model; empty where they did not.

    Counters of several clips are added up, so these are totals of all of them.
    """
    if "prefix_bytes_most" not in counters:
        return ""
    megabytes, most = (counters.get(f"prefix_{name}", 0) / 1e6 for name in ("bytes", "bytes_most"))
    return (
        f"remembered of the stream: {counters.get('prefix_frames', 0)} frames, {megabytes:.1f} MB "
        f"(at most {most:.1f} MB), {counters.get('prefix_words', 0)} words"
    )


def _show_counts(console: Console, run: RunLatency) -> None:
    if run.counters:
        named = ", ".join(f"{escape(name)} {count}" for name, count in run.counters.items())
        console.print(f"counted: {named}")


def _compare(console: Console, base: RunLatency, other: RunLatency) -> None:
    console.print(f"\n[bold]{escape(other.name)}[/] against [bold]{escape(base.name)}[/]")
    for warning in comparable(base, other):
        console.print(f"[yellow]! {escape(warning)}[/]")
    pairs = {name: delay_pair(base, other, name) for name in MEASURES}
    kind = next(iter(pairs.values()))[2]
    table = _table(f"{kind} delays (s), ages (ms), compute: base, now, difference, ratio")
    table.add_column("what")
    for name in ("p50", "now", "Δ", "×", "p95", "now", "Δ", "×"):
        table.add_column(name, justify="right")
    for name, (left, right, _) in pairs.items():
        table.add_row(MEASURES[name], *_change_cells(left, right, 3))
    table.add_section()
    for name, about in AGES.items():
        table.add_row(about, *_change_cells(base.ages[name], other.ages[name], 1))
    table.add_section()
    for about, was, now in (
        ("real-time factor", base.compute.real_time_factor, other.compute.real_time_factor),
        ("CPU s per media s", base.compute.cpu_per_second, other.compute.cpu_per_second),
    ):
        table.add_row(about, *_cells(Change(base=was, other=now), 3))
    console.print(table)


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )


def _change_cells(base: Summary, other: Summary, digits: int) -> list[str]:
    return [
        *_cells(Change(base=base.p50, other=other.p50), digits),
        *_cells(Change(base=base.p95, other=other.p95), digits),
    ]


def _cells(change: Change, digits: int) -> list[str]:
    delta = "–" if change.delta is None else f"{change.delta:+.{digits}f}"
    return [
        _number(change.base, digits),
        _number(change.other, digits),
        delta,
        _number(change.ratio, 2),
    ]


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
