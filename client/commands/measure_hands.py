"""``deixis measure hands``: hand tracking on photos and videos."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
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
from replay.measure.hands_made import MadeHandCounts, MadeVideo, made_videos, measure_video
from replay.measure.made_truth import by_difficulty
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
    half of the files that served to set the tracker's numbers and the half that did not. In a made
    tree (deixis synth) it says how often, how exactly and how soon the pointing hand was found,
    frame by frame and by difficulty (replay/measure/hands_made.py says what counts as what).
    Exit code 1 when nothing could be played.

    Parameters
    ----------
    path
        Photo, video, a folder of them, or a made tree.
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
    wanted = _parse_size(size)
    trees = {root: made_videos(root) for root in (path, *paths) if root.is_dir()}
    videos = [v for found in trees.values() for v in found if v.path.match(match)]
    if videos and size:
        raise UsageError("--size is for photos and videos; a made tree is measured as it is")
    others = [root for root in (path, *paths) if not trees.get(root)]
    measured = _measure(others, known, size=wanted, match=match)
    tracked, failed = _measure_made(videos)
    measured = replace(measured, failed=(*measured.failed, *failed))
    if print_json:
        document = _document(measured, size) | _made_document(tracked)
        print(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        _show(measured, tracked, labelled=bool(known))
    return 0 if measured.files or tracked else 1


Tracked = list[tuple[MadeVideo, MadeHandCounts]]


def _measure_made(videos: list[MadeVideo]) -> tuple[Tracked, list[tuple[str, str]]]:
    settings = load(HandSettings, config_path("hands.toml"))
    tracked: Tracked = []
    failed: list[tuple[str, str]] = []
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        for video in progress.track(videos):
            try:
                counts = measure_video(video, HandTracker(open_hands(settings), settings))
            except SourceError as error:
                failed.append((video.path.name, str(error)))
            else:
                tracked.append((video, counts))
    return tracked, failed


def _made_groups(tracked: Tracked) -> dict[str, MadeHandCounts]:
    groups = by_difficulty((video.truth.difficulty, counts) for video, counts in tracked)
    return {name: sum(counts, MadeHandCounts()) for name, counts in groups.items()}


def _made_document(tracked: Tracked) -> dict[str, object]:
    whole = sum((counts for _, counts in tracked), MadeHandCounts())
    return {
        "made": {
            "overall": whole.as_json(),
            "clips": [
                {
                    "name": video.truth.name,
                    "difficulty": video.truth.difficulty or None,
                    **counts.as_json(),
                }
                for video, counts in tracked
            ],
        },
        "by_difficulty": {name: c.as_json() for name, c in _made_groups(tracked).items()},
    }


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


def _show(measured: HandMeasures, tracked: Tracked, *, labelled: bool) -> None:
    console = Console()
    if measured.files or not tracked:
        console.print(_table(measured, labelled=labelled))
    if tracked:
        console.print(_made_table(tracked))
        for name, counts in _made_totals(tracked).items():
            console.print(f"{name}: {_made_line(counts)}", highlight=False)
        console.print(f"CPU on one thread, {describe_machine()['cpu']}", highlight=False)
    for name, reason in measured.failed:
        console.print(f"[red]{escape(printable(name))}[/]: {escape(reason)}", soft_wrap=True)


def _made_table(tracked: Tracked) -> Table:
    """Medians of the tip error in pixels and of the seconds after which a visit was found."""
    table = Table(
        title="the pointing hand in made clips, fast pace",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("clip", overflow="fold", min_width=19)
    for name in ("true", "found", "holds", "px", "false", "visits", "after", "ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for video, counts in tracked:
        table.add_row(escape(printable(video.truth.name)), *_made_cells(counts))
    table.add_section()
    for name, counts in _made_totals(tracked).items():
        table.add_row(name, *_made_cells(counts))
    return table


def _made_totals(tracked: Tracked) -> dict[str, MadeHandCounts]:
    whole = sum((counts for _, counts in tracked), MadeHandCounts())
    return _made_groups(tracked) | {"all": whole}


def _made_cells(counts: MadeHandCounts) -> list[str]:
    return [
        str(counts.true),
        _percent(counts.recall),
        _percent(counts.hold_recall),
        _decimal(counts.tip_error(50)[0], 1),
        str(counts.false) if counts.judged else "-",
        f"{counts.visits - counts.missed}/{counts.visits}",
        _decimal(counts.delay(50), 2),
        f"{counts.cpu_ms:.0f}",
    ]


def _made_line(counts: MadeHandCounts) -> str:
    (px50, width50), (px90, width90) = counts.tip_error(50), counts.tip_error(90)
    return (
        f"found in {_percent(counts.recall)} of {counts.true} frames, "
        f"{_percent(counts.hold_recall)} of {counts.hold} in holds; tip error p50 "
        f"{_decimal(px50, 1)} px ({_percent(width50)} of the width), p90 {_decimal(px90, 1)} px "
        f"({_percent(width90)}); false hands a minute {_decimal(counts.false_a_minute, 1)} "
        f"({counts.false} in {counts.judged_seconds:.1f} s); first found after p50 "
        f"{_decimal(counts.delay(50), 2)} s, p90 {_decimal(counts.delay(90), 2)} s, never in "
        f"{counts.missed} of {counts.visits} visits"
    )


def _decimal(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _table(measured: HandMeasures, *, labelled: bool) -> Table:
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
    return table


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
