"""``deixis measure strokes``: pointing strokes against their truth, or counted where none point."""

from __future__ import annotations

import contextlib
import json as json_module
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from client.printing import printable
from client.usage import UsageError
from replay.discover import find_clips
from replay.measure.head_motion import HeadMotion, MotionCounts, replay_twice
from replay.measure.made_truth import by_difficulty
from replay.measure.moving_window import SIZE
from replay.measure.strokes import Counts, Task, Watched, count, pictures, tasks, watch
from replay.media.still import STILL_SUFFIXES
from replay.source import SourceError
from streaming.config import config_path, load
from streaming.hands import HandSettings
from streaming.machine import describe_machine


def strokes(
    *roots: Path,
    head_motion: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Find pointing strokes and compare them with what is annotated.

    An EcoG tree is compared with its stroke windows; where it has a truth.json, with all strokes
    of that, withdrawn ones included, and by difficulty. In other files and folders, still pictures
    included, strokes are counted as false ones. Exit code 1 when nothing could be watched.

    Parameters
    ----------
    roots
        Roots of EcoG trees, video files, or folders of them.
    head_motion
        Replay each clip through a still and through a moving window instead, and compare the
        strokes: the moving one pans, bobs and shakes as a walking head does.
    json
        Print one JSON object: overall, by_difficulty {name: as overall}, clips [{name, difficulty,
        ..., strokes: [{apex, said_at, quality}]}], failed [{name, reason}], busy_ms_per_frame by
        component, machine, pace. With --head-motion the clips hold pairs [{still, moving, frames}],
        missing_apexes, extra_apexes and left_out_strokes [{apex, reason}].
    """
    if not roots:
        raise UsageError("name at least one EcoG tree, video file or folder to measure")
    wanted, failed = _wanted(roots)
    if head_motion:
        return _compare_head_motion(wanted, failed, json=json)
    measured = _measure(wanted, failed)
    if json:
        print(json_module.dumps(_document(measured, failed), ensure_ascii=False, allow_nan=False))
    else:
        _show(measured, failed)
    return 0 if measured else 1


Measured = list[tuple[Task, Watched, Counts]]
Found = TypeVar("Found")


def _wanted(roots: tuple[Path, ...]) -> tuple[list[Task], list[tuple[str, str]]]:
    wanted: list[Task] = []
    failed: list[tuple[str, str]] = []
    for root in roots:
        pictures = [path for path in sorted(root.rglob("*")) if path.suffix in STILL_SUFFIXES]
        found = find_clips([*pictures, root] if root.is_dir() else [root])
        failed += [(str(bad.path), bad.reason) for bad in found.failed]
        wanted += tasks(root, [(clip.name, clip.path) for clip in found.clips])
    return wanted, failed


def _measure(wanted: list[Task], failed: list[tuple[str, str]]) -> Measured:
    from streaming.models.hands import open_hands

    settings = load(HandSettings, config_path("hands.toml"))

    def watch_whole(task: Task) -> Watched:
        with contextlib.closing(open_hands(settings)) as detector:
            return watch(pictures(task.path), detector, settings)

    return [
        (task, watched, count(task.windows, watched))
        for task, watched in _each(wanted, watch_whole, failed)
    ]


def _each(
    wanted: list[Task], work: Callable[[Task], Found], failed: list[tuple[str, str]]
) -> list[tuple[Task, Found]]:
    """What ``work`` makes of each clip; clips that cannot be opened go to ``failed``."""
    done: list[tuple[Task, Found]] = []
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        for task in progress.track(wanted, description="watching"):
            try:
                done.append((task, work(task)))
            except SourceError as error:
                failed.append((task.name, str(error)))
    return done


def _overall(measured: Measured) -> Counts:
    return sum((counts for _, _, counts in measured), Counts())


def _by_difficulty(measured: Measured) -> dict[str, Counts]:
    groups = by_difficulty((task.difficulty, counts) for task, _, counts in measured)
    return {name: sum(counts, Counts()) for name, counts in groups.items()}


def _document(measured: Measured, failed: list[tuple[str, str]]) -> dict[str, object]:
    frames = max(1, sum(watched.frames for _, watched, _ in measured))
    busy: dict[str, float] = {}
    for _, watched, _ in measured:
        for name, spent in watched.cpu.items():
            busy[name] = busy.get(name, 0.0) + spent
    return {
        "overall": _overall(measured).as_json(),
        "by_difficulty": {name: c.as_json() for name, c in _by_difficulty(measured).items()},
        "clips": [
            {
                "name": task.name,
                "difficulty": task.difficulty or None,
                **counts.as_json(),
                "strokes": [
                    {
                        "apex": round(stroke.apex, 4),
                        "said_at": round(at, 4) if math.isfinite(at) else None,
                        "quality": round(stroke.quality, 3),
                    }
                    for stroke, at in zip(watched.strokes, watched.said_at, strict=True)
                ],
            }
            for task, watched, counts in measured
        ],
        "failed": [{"name": name, "reason": reason} for name, reason in failed],
        "busy_ms_per_frame": {name: round(1000 * s / frames, 2) for name, s in busy.items()},
        "machine": describe_machine(),
        "pace": "fast",
    }


def _show(measured: Measured, failed: list[tuple[str, str]]) -> None:
    table = Table(
        title="strokes, fast pace", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("clip", overflow="fold", min_width=22)
    for name in ("s", "hands", "true", "found", "match", "in", "false", "apex error", "said after"):
        table.add_column(name, justify="right", no_wrap=name != "apex error")
    for task, _, counts in measured:
        table.add_row(escape(printable(task.name)), *_row(counts))
    table.add_section()
    whole, parts = _overall(measured), _by_difficulty(measured)
    for name, counts in parts.items():
        table.add_row(name, *_row(counts))
    table.add_row("all", *_row(whole))
    console = Console()
    console.print(table)
    _show_failed(console, failed)
    for name, counts in parts.items():
        _show_rates(console, counts, f"{name}: ")
    _show_rates(console, whole, "all: " if parts else "")
    _show_machine(console)


def _show_rates(console: Console, whole: Counts, of: str) -> None:
    told = whole.as_json()
    if whole.true:
        console.print(
            f"{of}precision {_percent(whole.precision)}, recall {_percent(whole.recall)}, apex in "
            f"window {_percent(whole.in_window_share)} (n = {whole.true}); apex error |p50| "
            f"{_ms(told['apex_error_ms_abs_p50'])}, |p90| {_ms(told['apex_error_ms_abs_p90'])}; "
            f"said after the apex p50 {_ms(told['delay_ms_p50'])}, p90 {_ms(told['delay_ms_p90'])}"
        )
    console.print(
        f"{of}false strokes a minute: {whole.false_a_minute:.2f} ({whole.false} in "
        f"{whole.seconds:.1f} s)",
        highlight=False,
    )


def _show_failed(console: Console, failed: list[tuple[str, str]]) -> None:
    for name, reason in failed:
        console.print(f"[yellow]! {escape(printable(name))}: {escape(printable(reason))}[/]")


def _show_machine(console: Console) -> None:
    machine = ", ".join(f"{name} {value}" for name, value in describe_machine().items())
    console.print(escape(machine), highlight=False)


def _row(counts: Counts) -> list[str]:
    """Cells of one clip; errors and delays are medians in milliseconds."""
    annotated = counts.true > 0
    told = counts.as_json()
    return [
        f"{counts.seconds:.1f}",
        f"{100 * counts.hands / max(1, counts.frames):.0f} %",
        str(counts.true) if annotated else "–",
        str(counts.found if annotated else counts.false),
        str(counts.matched) if annotated else "–",
        str(counts.in_window) if annotated else "–",
        str(counts.false),
        _ms(told["apex_error_ms_median"]),
        _ms(told["delay_ms_p50"]),
    ]


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.1f} %"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} ms"


def _compare_head_motion(wanted: list[Task], failed: list[tuple[str, str]], *, json: bool) -> int:
    from streaming.models.hands import open_hands

    settings = load(HandSettings, config_path("hands.toml"))
    compared = _each(
        wanted, lambda task: replay_twice(task, lambda: open_hands(settings), settings), failed
    )
    whole = sum((motion.counts for _, motion in compared), MotionCounts())
    if json:
        document = {
            "overall": whole.as_json(),
            "clips": [{"name": task.name, **motion.as_json()} for task, motion in compared],
            "failed": [{"name": name, "reason": reason} for name, reason in failed],
            "window": SIZE,
            "machine": describe_machine(),
            "pace": "fast",
        }
        print(json_module.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        _show_head_motion(compared, whole, failed)
    return 0 if compared else 1


def _show_head_motion(
    compared: list[tuple[Task, HeadMotion]], whole: MotionCounts, failed: list[tuple[str, str]]
) -> None:
    table = Table(
        title="strokes, still against moving window, apexes apart in frames, fast pace",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("clip", overflow="fold", min_width=12)
    for name in ("still", "moving", "match", "miss", "extra", "out", "p50", "p90", "max", "≤ 1"):
        table.add_column(name, justify="right", no_wrap=True)
    for task, motion in compared:
        table.add_row(escape(printable(task.name)), *_motion_row(motion.counts))
    table.add_section()
    table.add_row("all", *_motion_row(whole))
    console = Console()
    console.print(table)
    for task, motion in compared:
        for one in motion.left_out:
            console.print(
                f"[yellow]! {escape(printable(task.name))}: stroke at {one.apex:.2f} s left out: "
                f"{one.reason}[/]",
                highlight=False,
            )
    _show_failed(console, failed)
    hands = [counts.hands / max(1, counts.frames) for counts in (whole.still, whole.moving)]
    console.print(
        f"frames with a hand: still {_percent(hands[0])}, moving {_percent(hands[1])}",
        highlight=False,
    )
    if whole.still.true:
        console.print(
            f"apex in the annotated window: still {_percent(whole.still.in_window_share)}, moving "
            f"{_percent(whole.moving.in_window_share)} (n = {whole.still.true}); false strokes: "
            f"still {whole.still.false}, moving {whole.moving.false}",
            highlight=False,
        )
    _show_machine(console)


def _motion_row(counts: MotionCounts) -> list[str]:
    """Cells of one clip."""
    spread = [counts.apart_at(share) for share in (0.5, 0.9, 1.0)]
    return [
        str(counts.found_still),
        str(counts.found_moving),
        str(counts.matched),
        str(counts.missing),
        str(counts.extra),
        str(counts.left_out),
        *("–" if math.isnan(frames) else f"{frames:.1f}" for frames in spread),
        f"{counts.within}/{counts.matched}",
    ]
