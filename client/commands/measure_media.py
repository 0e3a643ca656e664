"""``deixis measure media``: what is in files, and what it costs to decode them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from client.printing import printable
from replay.discover import find_clips
from replay.measure.media import Measured, measure_file
from streaming.machine import describe_machine


def media(
    path: Path,
    /,
    *paths: Path,
    print_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    max_side: int | None = None,
) -> int:
    """Play files as fast as they decode, and show times, sizes, rates and faults.

    Exit code 1 when nothing could be played. ``--json`` prints one object: ``files``, a list with
    ``path, container, start, declared, duration, cpu_seconds, speed`` (media seconds per CPU
    second), ``video`` (``frames, first, last, width, height, rotation, pixel_aspect, nominal_fps,
    average_fps, shortest, longest, steady, codec``) or null, ``audio`` (``first, last, sample_rate,
    channels, codec, peak``) or null, ``notes`` (how many of each kind) and ``error`` (null, or why
    the file cannot be played); ``machine``; and ``pace``, always ``fast``. Times are seconds.

    Parameters
    ----------
    path
        Video or sound file, or a folder of them.
    paths
        More of them.
    print_json
        Print one JSON object instead of a table.
    max_side
        Scale pictures down so that no side is longer, in pixels.
    """
    measured = _measure([path, *paths], max_side=max_side)
    if print_json:
        encoded = {
            "files": [each.as_json() for each in measured],
            "machine": describe_machine(),
            "pace": "fast",
        }
        print(json.dumps(encoded, allow_nan=False))  # ASCII: any terminal and pipe can take it
    else:
        _show(measured)
    return 0 if any(each.error is None for each in measured) else 1


def _measure(paths: list[Path], *, max_side: int | None) -> list[Measured]:
    found = find_clips(paths)
    measured = [Measured(path=str(bad.path), error=bad.reason) for bad in found.failed]
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        for clip in progress.track(found.clips, description="playing"):
            measured.append(measure_file(clip.path, max_side=max_side))
    return sorted(measured, key=lambda each: each.path)


def _show(measured: list[Measured]) -> None:
    table = Table(title=_title(), title_justify="left")
    table.add_column("file", overflow="fold", min_width=12)
    for name in ("seconds", "frames", "video", "size", "fps", "sound", "x real time"):
        table.add_column(name, justify="right")
    table.add_column("notes", overflow="fold", min_width=8)
    for each in measured:
        table.add_row(*_row(each))
    console = Console()
    console.print(table)
    for each in measured:
        if each.error is not None:
            line = f"[red]{escape(printable(Path(each.path).name))}[/]: {escape(each.error)}"
            console.print(line, soft_wrap=True)


def _title() -> str:
    machine = describe_machine()
    return f"decoding, fast pace, CPU seconds, one thread, {machine['cpu']}"


def _row(each: Measured) -> list[str]:
    name = escape(printable(Path(each.path).name))
    if each.error is not None:
        return [name, *["-"] * 7, "[red]cannot be played[/]"]
    video, audio = each.video, each.audio
    return [
        name,
        f"{each.duration:.2f}",
        str(video.frames) if video else "-",
        f"{video.first:.3f}-{video.last:.3f}" if video else "-",
        f"{video.width}x{video.height}" + (f" ({video.rotation}°)" if video.rotation else "")
        if video
        else "-",
        f"{video.average_fps:.2f}" + ("" if video.steady else " VFR") if video else "-",
        f"{audio.first:.3f}-{audio.last:.3f}" if audio else "-",
        f"{each.speed:.1f}" if each.speed else "-",
        ", ".join(f"{kind} {count}" for kind, count in each.notes.items()),
    ]
