"""``deixis measure sync``: are sound and pictures of a live stream in step?"""

from __future__ import annotations

import asyncio
import json as json_module
import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from client.printing import plain_console
from streaming.machine import describe_machine

if TYPE_CHECKING:
    from replay.measure.sync import Heard, InStep

_FIRST = 10.0
"""Seconds of the beginning that are told apart: the sender has yet to report on its sound."""


def sync(
    *,
    sender: Literal["browser", "publish"] = "browser",
    minutes: Annotated[float, Parameter(validator=Number(gte=0.2, lte=240))] = 1.0,
    jitter: Annotated[float, Parameter(validator=Number(gte=0, lte=1000))] = 0.0,
    loss: Annotated[float, Parameter(validator=Number(gte=0, lte=50))] = 0.0,
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Publish clicks and flashes made at once by WebRTC, and see how far apart they arrive.

    The server's endpoint runs in a process of its own, the sender in another, on this machine. The
    error of a click is how much later its flash is (negative: earlier); a flash is seen up to one
    picture late. Exit code 1 when a click after the first ten seconds is out by more than 40 ms, or
    none arrived.

    Parameters
    ----------
    sender
        A real Chromium, or `deixis publish` with a clip of noise, 640x480 at 30 a second.
    minutes
        How long it streams.
    jitter
        Delay each packet by between 0 and so many milliseconds, in both directions, where the
        server's ICE takes and gives packets: no rights and no kernel module are needed.
    loss
        Lose so many percent of the packets there.
    print_json
        Print one JSON object: sender, minutes, jitter, loss, overall, first, later and by_minute
        {clicks, alone, median_ms, p95_ms, max_ms, within_40_ms}, notes and counters, machine.
    """
    from replay.measure.sync_run import SyncTask, run_sync

    task = SyncTask(sender=sender, seconds=minutes * 60, jitter=jitter / 1000, loss=loss / 100)
    progress = plain_console(stderr=True)
    heard = asyncio.run(run_sync(task, told=lambda heard: progress.print(_line(heard))))
    if print_json:
        asked = {"sender": sender, "minutes": minutes, "jitter_ms": jitter, "loss_percent": loss}
        print(json_module.dumps(asked | _as_json(heard), allow_nan=False))
    else:
        _show(heard)
    later = _parts(heard)["later"]
    return 0 if later.errors and later.within == 1.0 else 1


def _parts(heard: Heard) -> dict[str, InStep]:
    from replay.measure.sync import in_step

    errors = heard.errors()
    return {
        "overall": in_step(errors),
        "first": in_step(one for one in errors if one[0] < _FIRST),
        "later": in_step(one for one in errors if one[0] >= _FIRST),
    }


def _line(heard: Heard) -> str:
    from replay.measure.sync import by_minute

    minutes = by_minute(heard.errors())
    last = minutes[-1] if minutes else None
    if last is None or not last.errors:
        return "nothing has arrived"
    return (
        f"minute {len(minutes)}: {len(last.errors)} clicks, median {last.median * 1000:+.1f} ms,"
        f" most {last.most * 1000:.1f} ms"
    )


def _as_json(heard: Heard) -> dict[str, Any]:
    from replay.measure.sync import by_minute

    return {
        **{name: _figures(part) for name, part in _parts(heard).items()},
        "by_minute": [_figures(minute) for minute in by_minute(heard.errors())],
        "notes": dict(Counter(kind for kind, _ in heard.notes)),
        "counters": heard.counters,
        "machine": describe_machine(),
    }


def _figures(part: InStep) -> dict[str, float | int | None]:
    def rounded(value: float, digits: int) -> float | None:
        return round(value, digits) if math.isfinite(value) else None

    return {
        "clicks": len(part.errors),
        "alone": part.alone,
        "median_ms": rounded(part.median * 1000, 2),
        "p95_ms": rounded(part.p95 * 1000, 2),
        "max_ms": rounded(part.most * 1000, 2),
        "within_40_ms": rounded(part.within, 4),
    }


def _show(heard: Heard) -> None:
    from replay.measure.sync import by_minute

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for name in ("clicks", "no flash", "median ms", "p95 ms", "max ms", "within 40 ms"):
        table.add_column(name, justify="right")
    parts = _parts(heard)
    rows = [(f"minute {at}", one) for at, one in enumerate(by_minute(heard.errors()), 1)]
    rows += [
        (f"first {_FIRST:g} s", parts["first"]),
        ("after them", parts["later"]),
        ("overall", parts["overall"]),
    ]
    for name, part in rows:
        if not part.errors:
            table.add_row(name, "0", str(part.alone), *["–"] * 4)
            continue
        table.add_row(
            name,
            str(len(part.errors)),
            str(part.alone),
            f"{part.median * 1000:+.1f}",
            f"{part.p95 * 1000:.1f}",
            f"{part.most * 1000:.1f}",
            f"{part.within:.1%}",
        )
    Console().print(table)
    console = plain_console()
    for kind, text in heard.notes:
        console.print(f"{kind}: {text}")
