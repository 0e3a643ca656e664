"""``deixis measure live``: from the glass to the page, with every process as people run it."""

from __future__ import annotations

import asyncio
import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from client.commands.demo import CLIPS
from client.printing import plain_console
from replay.jobs import Job, jobs_from
from streaming.machine import describe_machine

if TYPE_CHECKING:
    from replay.measure.live_run import Clip, LiveRun
    from replay.quantiles import Summary

AIMS: dict[str, tuple[str, float]] = {
    "added_transport": ("p95", 0.12),
    "word_seen": ("p50", 1.2),
    "binding": ("p50", 0.8),
}
"""What should be reached on two cores with the shipped clips: quantile and seconds."""


def live(
    clips: Path = CLIPS,
    /,
    *,
    sender: Literal["ws", "whip"] = "ws",
    sessions: Annotated[int, Parameter(validator=Number(gte=1, lte=16))] = 1,
    seconds: Annotated[float, Parameter(validator=Number(gte=5, lte=3600))] = 45.0,
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Publish clips to a live server and measure how soon each thing is on its feed.

    The server and the sender run in processes of their own; the feed is read as the page reads it,
    and all clocks are compared with the server's. Each clip goes once, and its last picture stays
    for five seconds, so that nothing is brought out by its end. ``--json`` prints one object:
    ``sender``, ``sessions``, ``clips``, ``words`` (of the truth, and found), ``seconds`` (of
    media), ``cpu_per_second`` (of the server, a session), ``added_transport`` (``p50``, ``p95``),
    ``events`` and ``ways`` (by name: ``n, p50, p95, p99, most`` in seconds; events also
    ``media_p50``, of the media that had to be seen first, and ``at_end``), ``aims``, ``shares`` (of
    several sessions), ``refused`` and ``machine``.

    Parameters
    ----------
    clips
        A clip, a folder of clips, or a benchmark tree, whose words are then the truth; the shipped
        clips by default.
    sender
        `ws` for a WebSocket, `whip` for WebRTC.
    sessions
        More than one run at once, for as long as `--seconds` says, and one sender more than the
        server takes is tried.
    seconds
        How long several sessions run.
    print_json
        Print one JSON object instead of tables.
    """
    from replay.measure.live_run import run_at_once, run_one_by_one

    progress = plain_console(stderr=True)
    jobs = [_clip(job) for job in jobs_from([clips], language="auto").jobs]
    if not jobs:
        progress.print(f"no clip in {clips}")
        return 1
    if sessions == 1:
        run = asyncio.run(run_one_by_one(jobs, sender, told=progress.print))
    else:
        run = asyncio.run(
            run_at_once(jobs, sender, sessions=sessions, seconds=seconds, told=progress.print)
        )
    if print_json:
        print(json_module.dumps(_as_json(run), allow_nan=False))
    else:
        _show(run)
    return 0


def _clip(job: Job) -> Clip:
    from replay.measure.live_figures import Spoken
    from replay.measure.live_run import Clip

    words = () if job.clip is None else job.clip.words
    spoken = [Spoken(text=w.text, offset=w.end_ms / 1000) for w in words if w.end_ms is not None]
    return Clip(path=job.path, language=job.language, words=tuple(spoken))


def _reached(run: LiveRun) -> dict[str, dict[str, Any]]:
    found = run.samples.summaries()
    reached = {}
    for name, (quantile, aim) in AIMS.items():
        value = (
            run.samples.added(quantile)
            if name == "added_transport"
            else getattr(found[name], quantile)
        )
        met = None if value is None else value <= aim
        reached[name] = {"quantile": quantile, "aim": aim, "reached": value, "met": met}
    return reached


def _as_json(run: LiveRun) -> dict[str, Any]:
    from replay.measure.live_figures import EVENTS, WAYS
    from replay.quantiles import summarise

    found = run.samples.summaries()
    return {
        "sender": run.sender,
        "sessions": max(1, len(run.shares)),
        "clips": run.clips,
        "words": {"spoken": run.samples.spoken, "found": run.samples.matched},
        "seconds": run.media_seconds,
        "cpu_per_second": run.cpu_per_second,
        "added_transport": {name: run.samples.added(name) for name in ("p50", "p95")},
        "events": {
            name: {
                **asdict(found[name]),
                "media_p50": summarise(run.samples.media[name]).p50,
                "at_end": run.samples.at_end[name],
            }
            for name in EVENTS
        },
        "ways": {name: asdict(found[name]) for name in WAYS},
        "aims": _reached(run),
        "shares": [asdict(share) for share in run.shares],
        "refused": run.refused,
        "machine": describe_machine(),
    }


def _show(run: LiveRun) -> None:
    from replay.measure.live_figures import EVENTS, WAYS
    from replay.quantiles import summarise

    console, found = plain_console(), run.samples.summaries()
    machine = describe_machine()
    console.print(
        f"{run.clips} clips, {run.media_seconds:.0f} s, by {run.sender}, on {machine['cpu']}, "
        f"{machine['cores']} cores; {run.samples.matched} of {run.samples.spoken} words of the "
        f"truth found"
    )
    events = _table("on the feed after it happened, seconds", "media p50", "at end")
    for name, about in EVENTS.items():
        media = summarise(run.samples.media[name]).p50
        events.add_row(
            about,
            *_cells(found[name], 3),
            "-" if media is None else f"{media:.3f}",
            str(run.samples.at_end[name]),
        )
    ways = _table("on the way, milliseconds")
    for name, about in WAYS.items():
        ways.add_row(about, *_cells(found[name], 1, factor=1000))
    Console().print(events)
    Console().print(ways)
    for name, one in _reached(run).items():
        if one["reached"] is not None:
            verdict = "reached" if one["met"] else "missed"
            console.print(
                f"{name.replace('_', ' ')} {one['quantile']}: {one['reached']:.3f} s, "
                f"aim {one['aim']:g} s: {verdict}"
            )
    if run.cpu_per_second is not None:
        console.print(f"server: {run.cpu_per_second:.2f} CPU seconds a second of a session")
    _show_shares(run)


def _show_shares(run: LiveRun) -> None:
    if not run.shares:
        return
    console = plain_console()
    for number, share in enumerate(run.shares, start=1):
        word = "-" if share.word is None else f"{share.word:.2f} s"
        behind = "-" if share.hearing_behind is None else f"{share.hearing_behind:.2f} s"
        console.print(
            f"session {number}: {share.pictures:.1f} pictures a second looked at, "
            f"{share.skipped:.1f} skipped, hearing {behind} behind, word after {word}"
        )
    for text in run.shares[0].levels:
        console.print(f"  told: {text}")
    console.print(f"one more was told: {run.refused or 'nothing, it was let in'}")


def _table(title: str, *more: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("what")
    for name in ("n", "p50", "p95", "most", *more):
        table.add_column(name, justify="right")
    return table


def _cells(summary: Summary, digits: int, *, factor: float = 1.0) -> list[str]:
    values = (summary.p50, summary.p95, summary.most)
    cells = ("-" if value is None else f"{value * factor:.{digits}f}" for value in values)
    return [str(summary.n), *cells]
