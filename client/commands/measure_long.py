"""``deixis measure long``: how much does a session of half an hour remember?"""

from __future__ import annotations

import asyncio
import json as json_module
import math
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from client.printing import plain_console, printable
from server.feed import Feed
from streaming.clock import Stopwatch
from streaming.machine import describe_machine

if TYPE_CHECKING:
    from replay.measure.long_stream import LongRun, Sample

_ALLOWED_MB = 16.0
"""Most that memory may grow from the middle to the last third: the allocator's own play."""


def long(
    *,
    minutes: Annotated[float, Parameter(validator=Number(gte=1, lte=600))] = 30.0,
    trace: Path | None = None,
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Run a long session in fast pace over a made-up stream, and see what it remembers.

    Words and hands come from a script, so that nothing is recognised and half an hour takes about
    a minute; all that remembers is real: the stages after them, the store of frames and words, the
    trace, and a live feed with its memory for late readers. Exit code 1 when memory is not flat.

    ``--json`` prints one object: ``minutes``, ``seconds``, ``samples`` (one a minute: ``at``,
    ``rss_mb``, ``trace_mb``, ``facts`` of the store), ``queries``, ``most_frames`` and
    ``most_words`` (of the stream so far, in a query), ``growth_mb`` (median of the last third less
    that of the middle third), ``allowed_mb``, ``flat``, ``counters`` and ``machine``.

    Parameters
    ----------
    minutes
        How long the stream is.
    trace
        File to keep the trace in; without it the trace is deleted.
    print_json
        Print one JSON object instead of a table.
    """
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        run = asyncio.run(_run(minutes, trace or Path(folder) / "trace.jsonl"))
    # A run too short to have thirds says nothing about growth.
    flat = not run.growth_mb > _ALLOWED_MB
    if print_json:
        shown = _as_json(run, minutes=minutes, seconds=watch.wall(), flat=flat)
        print(json_module.dumps(shown, allow_nan=False))
    else:
        _show(run, minutes=minutes, seconds=watch.wall(), flat=flat)
    return 0 if flat else 1


async def _run(minutes: float, trace: Path) -> LongRun:
    from replay.measure.long_stream import run_long

    progress, feed = plain_console(stderr=True), Feed()
    return await run_long(
        minutes,
        trace,
        listeners=[feed.publish],
        told=lambda sample: progress.print(printable(_line(sample))),
    )


def _line(sample: Sample) -> str:
    facts = sample.facts
    return (
        f"{sample.at:4.0f} min: {sample.rss_mb:.0f} MB resident, store "
        f"{facts['prefix_frames']} frames {facts['prefix_bytes'] / 1e6:.1f} MB, "
        f"{facts['prefix_words']} words, trace {sample.trace_mb:.1f} MB on disk"
    )


def _show(run: LongRun, *, minutes: float, seconds: float, flat: bool) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("minute", "resident MB", "frames kept", "their MB", "words kept", "trace MB"):
        table.add_column(name, justify="right")
    for sample in _some(run.samples):
        facts = sample.facts
        table.add_row(
            f"{sample.at:.0f}",
            f"{sample.rss_mb:.1f}",
            str(facts["prefix_frames"]),
            f"{facts['prefix_bytes'] / 1e6:.1f}",
            str(facts["prefix_words"]),
            f"{sample.trace_mb:.1f}",
        )
    Console().print(table)
    console = plain_console()
    console.print(
        f"{minutes:g} minutes in {seconds:.0f} s; {run.queries} queries, each with at most "
        f"{run.most_frames} frames and {run.most_words} words of the stream so far"
    )
    if not math.isnan(run.growth_mb):
        console.print(
            f"memory, last third less middle third: {run.growth_mb:+.1f} MB, "
            + ("flat" if flat else f"more than {_ALLOWED_MB:g} MB: it grows")
        )


def _some(samples: list[Sample], most: int = 12) -> list[Sample]:
    """At most ``most`` of them, the last among them."""
    step = math.ceil(len(samples) / most) if samples else 1
    return samples[::-1][::step][::-1]


def _as_json(run: LongRun, *, minutes: float, seconds: float, flat: bool) -> dict[str, Any]:
    return {
        "minutes": minutes,
        "seconds": round(seconds, 1),
        "samples": [asdict(sample) for sample in run.samples],
        "queries": run.queries,
        "most_frames": run.most_frames,
        "most_words": run.most_words,
        "growth_mb": None if math.isnan(run.growth_mb) else round(run.growth_mb, 1),
        "allowed_mb": _ALLOWED_MB,
        "flat": flat,
        "counters": run.counters,
        "machine": describe_machine(),
    }
