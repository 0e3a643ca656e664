"""``deixis bench``: run a model over a benchmark and score it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from client.choices import Count, LanguageName, ModelName
from client.commands.score import print_scores
from client.printing import plain_console, printable
from client.usage import UsageError
from replay.batch import BatchError, BatchSettings, Result
from replay.bench import EcogBench, bench_ecog
from replay.scoring.ecog import EcogScores
from replay.scoring.ecog_json import as_json as scores_as_json
from streaming.build import EngineSettings, language_code


def ecog(
    root: Path,
    *,
    out: Path,
    model: ModelName = "local",
    language: LanguageName = "auto",
    asr: str = "auto",
    limit: Count | None = None,
    workers: Count = 1,
    pace: Literal["fast", "realtime"] = "fast",
    audit: Annotated[bool, Parameter(negative=())] = False,
    fresh: Annotated[bool, Parameter(negative=())] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Run a model over an EcoG-Bench tree and score it; goes on where it stopped.

    Parameters
    ----------
    root
        Root of the tree.
    out
        Run folder.
    model
        `local`, or `scripted:FILE` for answers from a recording.
    language
        `auto` takes each clip's own, from the name of its folder.
    asr
        Whisper model, as in `deixis replay`.
    limit
        Run only the first so many clips.
    workers
        Number of processes; each loads its own models (about 0.6 GB).
    pace
        `fast` (deterministic) or `realtime`.
    audit
        Check for each clip that is run that no decision used the future (in `fast` pace).
    fresh
        Forget what the run folder holds and start over.
    as_json
        Print the scores as one JSON object.
    """
    engines = EngineSettings(model=model, asr=asr)
    try:
        settings = BatchSettings(out=out, pace=pace, engines=engines, audit=audit)
    except BatchError as error:
        raise UsageError(str(error)) from error
    bench = EcogBench(
        root=root,
        settings=settings,
        language=language_code(language),
        limit=limit,
        workers=workers,
        fresh=fresh,
    )
    console = plain_console(stderr=as_json)
    scores, failed = _run(bench, console)
    if as_json:
        print(json.dumps(scores_as_json(scores)))
    else:
        print_scores(scores, scores_as_json(scores), Console())
        console.print(f"run folder: {printable(str(out))}")
    return 1 if failed else 0


def _run(bench: EcogBench, console: Console) -> tuple[EcogScores, list[Result]]:
    """Run with a progress bar; the scores, and the clips that failed or used the future."""
    failed: list[Result] = []
    with clip_progress(console) as progress:
        bar = progress.add_task("clips", total=None)

        def planned(total: int, done: int) -> None:
            progress.update(bar, total=total, completed=done)

        def came(result: Result) -> None:
            progress.advance(bar)
            if result.error or result.differences:
                failed.append(result)
                why = result.error or "; ".join(map(str, result.differences or ()))
                progress.console.print(f"{printable(result.job.name)}: {printable(why)}")

        scores = bench_ecog(bench, on_plan=planned, on_result=came)
    return scores, failed


def clip_progress(console: Console) -> Progress:
    """A bar that counts clips."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
