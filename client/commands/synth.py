"""``deixis synth``: make pointing clips with exact truth."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, cast

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console
from rich.progress import Progress

from client.choices import Count
from client.printing import plain_console, printable
from client.progress import counting_progress
from client.usage import UsageError
from replay.synth.folder import Made, SetSummary, make_set
from replay.synth.orders import DIFFICULTIES, LANGUAGES, Frames, SetPlan
from replay.synth.script import Difficulty, Language

Flag = Annotated[bool, Parameter(negative=())]


def synth(
    *,
    out: Path,
    clips: Count,
    seed: Annotated[int, Parameter(validator=Number(gte=0))] = 0,
    levels: str = "L1,L2,L3,L4",
    languages: str = ",".join(LANGUAGES),
    difficulty: str = "real",
    benchmark: Literal["ecog", "egopoint"] = "ecog",
    size: str = "640x480",
    fps: int = 30,
    workers: Count | None = None,
    fresh: Flag = False,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Make egocentric pointing clips, or stills, with exact truth; goes on where it stopped.

    The same seed gives the same bytes, and clip number i is the same however many are asked for.

    Parameters
    ----------
    out
        Folder of the set; it becomes a benchmark tree with a truth.json beside it.
    clips
        How many clips (or stills).
    seed
        Everything that is drawn follows from it.
    levels
        Levels of EcoG-Bench, separated by commas.
    languages
        `en`, `zh` or both, separated by commas.
    difficulty
        `easy`, `real` (like real footage) or `hard`; several, separated by commas, take turns and
        get a folder each.
    benchmark
        `ecog`: clips in EcoG-Bench's format; `egopoint`: stills with questions in EgoPoint-Bench's
        (in English; levels and languages are not used).
    size
        Width and height of the pictures, such as `1920x1080`.
    fps
        Frames a second.
    workers
        Number of processes; one a core unless said otherwise.
    fresh
        Delete what an earlier run made in this folder and start over.
    as_json
        Print one JSON object: {wanted, complete, made, failed: [{name, reason}], clips_per_minute,
        cpu_seconds_per_clip}.
    """
    plan = _plan(clips, seed, levels, languages, difficulty, size, fps)
    console = plain_console(stderr=as_json)
    count = workers or os.cpu_count() or 1
    spent: list[float] = []
    with counting_progress(console) as progress:
        planned, came = _listeners(progress, spent)
        make = _maker(benchmark)
        summary = make(plan, out, workers=count, fresh=fresh, on_plan=planned, on_clip=came)
    _say(summary, out, spent, console, as_json=as_json)
    return 1 if summary.failed else 0


def _maker(benchmark: Literal["ecog", "egopoint"]) -> Callable[..., SetSummary]:
    if benchmark == "ecog":
        return make_set
    from replay.synth.stills_folder import make_stills

    return make_stills


def _plan(
    clips: int, seed: int, levels: str, languages: str, difficulty: str, size: str, fps: int
) -> SetPlan:
    width, cross, height = size.partition("x")
    if not (cross and width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size is {size!r}, expected something like 640x480")
    try:
        plan = SetPlan(
            clips=clips,
            seed=seed,
            levels=_listed(levels),
            languages=cast(tuple[Language, ...], _listed(languages)),
            difficulties=cast(tuple[Difficulty, ...], _listed(difficulty)),
            frames=Frames(width=int(width), height=int(height), fps=fps),
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    known = [name for name in DIFFICULTIES if name in plan.difficulties]
    return replace(plan, difficulties=tuple(known))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _listeners(
    progress: Progress, spent: list[float]
) -> tuple[Callable[[int, int], None], Callable[[Made], None]]:
    bar = progress.add_task("clips", total=None)

    def planned(total: int, done: int) -> None:
        progress.update(bar, total=total, completed=done)

    def came(made: Made) -> None:
        progress.advance(bar)
        if made.error is None:
            spent.append(made.cpu_seconds)
        else:
            progress.console.print(f"{made.order.name}: {printable(made.error)}")

    return planned, came


def _say(
    summary: SetSummary, out: Path, spent: list[float], console: Console, *, as_json: bool
) -> None:
    each = sum(spent) / len(spent) if spent else math.nan
    if as_json:
        document = {
            "wanted": summary.wanted,
            "complete": summary.complete,
            "made": summary.made,
            "failed": [{"name": made.order.name, "reason": made.error} for made in summary.failed],
            "clips_per_minute": _finite(summary.clips_per_minute),
            "cpu_seconds_per_clip": _finite(each),
        }
        print(json.dumps(document, ensure_ascii=False, allow_nan=False))
        return
    console.print(f"{summary.complete} of {summary.wanted} in {printable(str(out))}")
    if summary.made:
        pace = f"{summary.clips_per_minute:.1f} a minute, {each:.1f} CPU seconds each"
        console.print(f"made {summary.made}: {pace}")


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 2)
