"""``deixis measure realism``: how far made clips are from real footage."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from client.choices import Count
from client.printing import printable
from client.usage import UsageError
from replay.measure.realism import Comparison, Gathered, Spread, compare, gather
from streaming.machine import describe_machine


def realism(
    made: Path,
    /,
    *,
    against: Annotated[list[Path], Parameter(consume_multiple=True, negative="")],
    workers: Count | None = None,
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Compare made clips with real footage, as our own tracker and ears take both.

    Both are watched by the hand tracker, the background follower and the stroke detector, and their
    pictures and sound are measured; every file gives at most one value of each measure. What
    differs most comes first: the distance is that of Kolmogorov and Smirnov, marked where it is
    more than chance. EcoG trees give their annotated times too, and so do tables exported from
    ELAN. The stroke windows that EcoG-Bench published are always compared with.

    Parameters
    ----------
    made
        Folder of generated clips, or a video.
    against
        Real videos, photos, sounds and annotation tables, or folders of them.
    workers
        Number of processes; as many as there are cores by default.
    print_json
        Print one JSON object: measures [{measure, unit, meaning, levels, made {n, percentiles},
        real {n, percentiles}, distance, chance, differs}], files, failed, machine.
    """
    if not against:
        raise UsageError("--against needs real files or folders to compare with")
    count = workers or os.cpu_count() or 1
    ours, theirs = _gather("made", [made], count), _gather("real", against, count)
    rows = compare(ours, theirs)
    if print_json:
        print(json.dumps(_document(rows, ours, theirs), ensure_ascii=False, allow_nan=False))
    else:
        _show(rows, ours, theirs)
    return 0


def _gather(name: str, roots: Sequence[Path], workers: int) -> Gathered:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(f"watching what is {name}", total=None)
        return gather(
            roots,
            workers=workers,
            on_file=lambda total: progress.update(bar, total=total, advance=1),
        )


def _document(rows: Sequence[Comparison], ours: Gathered, theirs: Gathered) -> dict[str, object]:
    return {
        "measures": [row.as_json() for row in rows],
        "files": {"made": ours.files, "real": theirs.files},
        "failed": [
            {"name": name, "reason": reason} for name, reason in (*ours.failed, *theirs.failed)
        ],
        "machine": describe_machine(),
    }


def _show(rows: Sequence[Comparison], ours: Gathered, theirs: Gathered) -> None:
    table = Table(
        title=f"{ours.files} made against {theirs.files} real files, most different first",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("measure", no_wrap=True, min_width=18)
    for name in ("n", "made p10/p50/p90", "n", "real p10/p50/p90", "apart", "chance"):
        table.add_column(name, justify="right", no_wrap=name in ("n", "apart", "chance"))
    table.add_column("unit", overflow="fold")
    for row in rows:
        published = row.real.n == 0 and not math.isnan(row.real.percentiles[1])
        table.add_row(
            row.measure.key,
            str(row.made.n),
            _spread(row.made),
            "pub." if published else str(row.real.n),
            _spread(row.real),
            _distance(row.distance),
            _distance(row.chance),
            row.measure.unit,
            style="bold" if row.differs else "",
        )
    console = Console()
    console.print(table)
    for name, reason in (*ours.failed, *theirs.failed):
        console.print(f"[red]{escape(printable(name))}[/]: {escape(reason)}", soft_wrap=True)
    known = [row for row in rows if not math.isnan(row.distance)]
    console.print(
        f"{sum(row.differs for row in known)} of {len(known)} measures differ by more than chance "
        "(bold); pub.: published percentiles 5/50/95, made ones likewise",
        highlight=False,
    )


def _spread(spread: Spread) -> str:
    if math.isnan(spread.percentiles[1]):
        return "–"
    return " / ".join(f"{value:.3g}" for value in spread.percentiles)


def _distance(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"
