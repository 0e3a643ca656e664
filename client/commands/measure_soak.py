"""``deixis measure soak``: does a live server stay as small as it began?"""

from __future__ import annotations

import asyncio
import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from client.commands.demo import CLIPS
from client.printing import plain_console
from replay.discover import find_clips
from streaming.machine import describe_machine

if TYPE_CHECKING:
    from replay.measure.live_soak import Sample, Soak, Trend

_UNITS = {"rss_mb": "resident memory, MB", "descriptors": "file descriptors"}


def soak(
    clips: Path = CLIPS,
    /,
    *,
    minutes: Annotated[float, Parameter(validator=Number(gt=0))] = 30.0,
    cycles_per_minute: Annotated[float, Parameter(validator=Number(gt=0, lte=30))] = 4.0,
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Let clients come and go, some cut off, and see whether the server's process grows.

    Memory, file descriptors, threads and tasks are sampled twice a minute. Exit code 1 when one of
    them is not flat, or a client that should have been served was not. ``--json`` prints one
    object: ``minutes``, ``cycles`` (how many of each kind), ``failed``, ``samples``, ``rests``,
    ``trends`` (by gauge: medians of the first and last third, at rest before and after, least,
    most, slope a minute, what is allowed, flat), ``flat`` and ``machine``.

    Parameters
    ----------
    clips
        What the clients stream: a clip, or a folder of them; the shipped ones by default.
    minutes
        How long.
    cycles_per_minute
        How many clients come in a minute.
    print_json
        Print one JSON object instead of a table.
    """
    from replay.measure.live_soak import soak as run

    progress = plain_console(stderr=True)
    paths = [clip.path for clip in find_clips([clips]).clips]
    done = asyncio.run(
        run(
            paths,
            minutes=minutes,
            cycles_per_minute=cycles_per_minute,
            told=lambda sample: progress.print(_line(sample)),
        )
    )
    if print_json:
        print(json_module.dumps(_as_json(done, minutes), allow_nan=False))
    else:
        _show(done, minutes)
    return 0 if done.flat and not done.failed else 1


def _line(sample: Sample) -> str:
    values = ", ".join(f"{name} {value:.0f}" for name, value in sorted(sample.values.items()))
    return f"{sample.at:6.0f} s: {values}"


def _as_json(done: Soak, minutes: float) -> dict[str, Any]:
    return {
        "minutes": minutes,
        "cycles": done.cycles,
        "failed": done.failed,
        "samples": [{"at": round(one.at, 1), **one.values} for one in done.samples],
        "rests": [one.values for one in done.rests],
        "trends": {
            name: {**asdict(trend), "flat": trend.flat} for name, trend in done.trends().items()
        },
        "flat": done.flat,
        "machine": describe_machine(),
    }


def _show(done: Soak, minutes: float) -> None:
    console = plain_console()
    cycles = ", ".join(f"{count} {name}" for name, count in done.cycles.items())
    console.print(
        f"{minutes:g} minutes, {len(done.samples)} samples, {len(done.alike())} of them with as "
        f"many sessions as most; clients: {cycles}"
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("gauge")
    names = (
        "first third",
        "last third",
        "rest before",
        "after",
        "least",
        "most",
        "a minute",
        "flat",
    )
    for name in names:
        table.add_column(name, justify="right")
    for name, trend in done.trends().items():
        table.add_row(
            _UNITS.get(name, name),
            *(f"{value:.1f}" for value in _values(trend)),
            f"{trend.slope:+.3f}",
            "yes" if trend.flat else "no",
        )
    Console().print(table)
    for line in done.failed:
        console.print(f"failed: {line}")


def _values(trend: Trend) -> tuple[float, ...]:
    rests = (trend.rest_before, trend.rest_after)
    return (trend.first, trend.last, *rests, trend.least, trend.most)
