"""``deixis measure hands``: hand tracking on photos and videos."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from client.printing import printable
from client.usage import UsageError
from replay.measure.hands import (
    Half,
    HandCounts,
    HandMeasures,
    Label,
    hand_files,
    measure_file,
    read_labels,
)
from replay.source import SourceError
from streaming.config import config_path, load
from streaming.hands import HandSettings, HandTracker
from streaming.machine import describe_machine
from streaming.models.hands import open_hands


def hands(
    path: Path,
    /,
    *paths: Path,
    labels: Path | None = None,
    size: str = "",
    match: str = "*",
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Track hands in photos and videos; show how often they are found and what it costs.

    Photos are searched from nothing. With labels (as in tests/data/hand_boxes.json) it also says
    how often the hand was found where it is, and how often a hand was found where none is, for the
    half of the files that served to set the tracker's numbers and the half that did not.
    Exit code 1 when nothing could be played.

    Parameters
    ----------
    path
        Photo, video, or a folder of them.
    paths
        More of them.
    labels
        What a person saw in the files.
    size
        Fit the pictures into WIDTHxHEIGHT, their shape kept, black around them.
    match
        Only files with such a name, as in 'egopoint_*'.
    print_json
        Print one JSON object instead of tables.
    """
    known = read_labels(labels) if labels is not None else {}
    measured = _measure([path, *paths], known, size=_parse_size(size), match=match)
    if print_json:
        print(json.dumps(_document(measured, size), allow_nan=False))
    else:
        _show(measured, labelled=bool(known))
    return 0 if measured.files else 1


def _parse_size(size: str) -> tuple[int, int] | None:
    if not size:
        return None
    try:
        width, height = (int(part) for part in size.lower().split("x"))
    except ValueError:
        raise UsageError(f"--size {size!r} is no size; write it as 1280x720") from None
    if width < 16 or height < 16:
        raise UsageError(f"--size {size} is too small; give at least 16x16")
    return width, height


def _measure(
    paths: list[Path], labels: dict[str, Label], *, size: tuple[int, int] | None, match: str
) -> HandMeasures:
    settings = load(HandSettings, config_path("hands.toml"))
    files, failed = hand_files(paths)
    measured = []

    def make_tracker() -> HandTracker:
        return HandTracker(open_hands(settings), settings)

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        for file in progress.track([file for file in files if file.match(match)]):
            try:
                label = labels.get(file.name)
                measured.append(measure_file(file, make_tracker, label, size=size))
            except SourceError as error:
                failed.append((file.name, str(error)))
    return HandMeasures(files=tuple(measured), failed=tuple(failed))


def _groups(measured: HandMeasures) -> list[tuple[str, HandCounts]]:
    """Pooled counts that hold something, by name."""
    halves: tuple[Half | None, ...] = (None, "tune", "report")
    named = [
        (f"{what}, {half} half" if half else what, measured.pooled(photo=photo, half=half))
        for what, photo in (("photos", True), ("videos", False))
        for half in halves
    ]
    return [(name, counts) for name, counts in named if counts.frames]


def _document(measured: HandMeasures, size: str) -> dict[str, object]:
    return {
        "files": [
            {
                "name": file.name,
                "kind": "photo" if file.photo else "video",
                "half": file.half,
                "tracks": file.tracks,
                **file.counts.as_json(),
            }
            for file in measured.files
        ],
        "pooled": {name: counts.as_json() for name, counts in _groups(measured)},
        "failed": [{"name": name, "reason": reason} for name, reason in measured.failed],
        "size": size or None,
        "pace": "fast",
        "machine": describe_machine(),
    }


def _show(measured: HandMeasures, *, labelled: bool) -> None:
    table = Table(title=_title(), title_justify="left")
    table.add_column("file", overflow="fold", min_width=20)
    names = ["frames", "found", "two", "points", "ms", "fps"]
    for name in names + (["right", "false"] if labelled else []):
        table.add_column(name, justify="right")
    for file in measured.files:
        table.add_row(escape(printable(file.name)), *_cells(file.counts, labelled=labelled))
    table.add_section()
    for name, counts in _groups(measured):
        table.add_row(name, *_cells(counts, labelled=labelled), style="bold")
    console = Console()
    console.print(table)
    for name, reason in measured.failed:
        console.print(f"[red]{escape(printable(name))}[/]: {escape(reason)}", soft_wrap=True)


def _title() -> str:
    return f"hands, fast pace, CPU milliseconds a picture, one thread, {describe_machine()['cpu']}"


def _cells(counts: HandCounts, *, labelled: bool) -> list[str]:
    cells = [
        str(counts.frames),
        _percent(counts.found_share),
        str(counts.two),
        _percent(counts.pointing_share),
        f"{counts.cpu_ms:.1f}",
        f"{counts.fps:.0f}",
    ]
    if labelled:
        cells += [
            f"{counts.right}/{counts.visible}" if counts.visible else "-",
            f"{counts.false}/{counts.judged}" if counts.judged else "-",
        ]
    return cells


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"
