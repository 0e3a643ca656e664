"""Running a benchmark: every clip once, its answer kept at once, the scores at the end.

A run that was interrupted goes on where it stopped: clips with an answer in ``predictions.jsonl``
are not run again. A folder that holds a run made otherwise (another model, language or pace) is
refused, since its scores would mix two systems.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from replay.batch import BatchSettings, Result, RunRecord, run_many
from replay.ecog import EcogTree, load_ecog
from replay.jobs import Job, NotReplayed, ecog_job, with_unique_names
from replay.out_folder import (
    PREDICTIONS,
    SCORES,
    OutFolderError,
    claimed,
    first_difference,
    forget_run,
    forget_whole,
    read_run,
)
from replay.predictions import Prediction, PredictionLog, read_predictions
from replay.run import write_json
from replay.scoring.ecog import EcogScores, score_ecog
from replay.scoring.ecog_json import as_json
from streaming.build import describe_settings
from streaming.recorder import Listener

_MUST_AGREE = ("benchmark", "pace", "language", "model", "config")
"""What two parts of one run have in common: scores of anything else would mix two systems."""


class BenchError(ValueError):
    """A benchmark run that cannot begin; one line saying why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EcogBench:
    """What an EcoG-Bench run is to do.

    Attributes:
        root: Root of the tree.
        settings: How the clips are run.
        language: ``auto`` takes each clip's own.
        limit: Run only the first so many clips; None runs all.
        workers: Number of processes.
        fresh: Forget what the folder holds and start over.
    """

    root: Path
    settings: BatchSettings
    language: str = "auto"
    limit: int | None = None
    workers: int = 1
    fresh: bool = False


def bench_ecog(
    bench: EcogBench,
    *,
    on_plan: Callable[[int, int], None] = lambda total, done: None,
    on_result: Callable[[Result], None] = lambda result: None,
    listeners_for: Callable[[Job], Sequence[Listener]] | None = None,
) -> EcogScores:
    """Run what is still to be run, then score the whole.

    Args:
        bench: What to do.
        on_plan: Told the number of clips, and how many of them are done already.
        on_result: Told about every clip.
        listeners_for: As in :func:`replay.batch.run_many`.

    Raises:
        EcogError: If the root holds no tree.
        BenchError: If ``limit`` or ``workers`` is below 1.
        OutFolderError: If the folder holds another run.
    """
    if bench.workers < 1 or (bench.limit is not None and bench.limit < 1):
        raise BenchError("--workers and --limit take a number from 1 on")
    tree = load_ecog(bench.root)
    jobs = with_unique_names(ecog_job(clip, language=bench.language) for clip in tree.clips)
    jobs = jobs[: bench.limit]
    out, facts = bench.settings.out, _facts(bench)
    with claimed(out):
        prepare(out, facts, fresh=bench.fresh)
        record = RunRecord(out, facts)
        for left in tree.left_out:
            record.add_failed(NotReplayed(source=left.video_name, reason=left.reason))
        record.write()
        with PredictionLog(out / PREDICTIONS) as log:
            done = [job for job in jobs if job_key(job) in log.answered]
            todo = [job for job in jobs if job_key(job) not in log.answered]
            record.keep(job.name for job in done)
            record.write()
            on_plan(len(jobs), len(done))
            for result in run_many(
                todo, bench.settings, workers=bench.workers, listeners_for=listeners_for
            ):
                log.append(prediction_of(result))
                record.add(result)
                on_result(result)
        return write_scores(tree, jobs, out)


def write_scores(tree: EcogTree, jobs: Sequence[Job], out: Path) -> EcogScores:
    """Score the predictions of a run folder and write ``scores.json``."""
    scores = score_ecog(part_of(tree, jobs), read_predictions(out / PREDICTIONS).lines)
    write_json(out / SCORES, as_json(scores))
    return scores


def part_of(tree: EcogTree, jobs: Sequence[Job]) -> EcogTree:
    """The tree with the clips of ``jobs`` alone."""
    run = {job.path for job in jobs}
    return replace(tree, clips=tuple(clip for clip in tree.clips if clip.video in run))


def prediction_of(result: Result) -> Prediction:
    """The line of ``predictions.jsonl`` for a clip's result."""
    clip = result.job.clip
    assert clip is not None, "a benchmark job carries its clip"
    answer = None if result.outcome is None else result.outcome.answer
    error = result.error or (None if answer is not None else "the model gave no answer")
    return Prediction(
        video_name=clip.video_name,
        instruction=clip.instruction,
        folder=clip.folder,
        output="" if answer is None else answer.raw,
        coord_order="xy" if result.outcome is None else result.outcome.coord_order,
        error=error,
    )


def job_key(job: Job) -> tuple[str, int, str]:
    """What names a benchmark job's clip among predictions."""
    assert job.clip is not None, "a benchmark job carries its clip"
    return (job.clip.video_name, job.clip.instruction, job.clip.folder)


def _facts(bench: EcogBench) -> dict[str, Any]:
    return {
        "command": "bench",
        "pace": bench.settings.pace,
        "language": bench.language,
        "model": bench.settings.engines.model,
        "config": describe_settings(bench.settings.engines),
        "benchmark": {"name": "ecog", "root": str(bench.root.resolve())},
    }


def prepare(
    out: Path, facts: dict[str, Any], *, fresh: bool, agree: Sequence[str] = _MUST_AGREE
) -> None:
    """Make the folder ready, or refuse it when it holds a run made otherwise.

    Args:
        out: The run's folder.
        facts: What the run says about itself.
        fresh: Forget what the folder holds.
        agree: In which of them two parts of one run have to agree.

    Raises:
        OutFolderError: If they do not, or the folder holds predictions of nobody knows what.
    """
    run = read_run(out)
    if fresh:
        if run is not None:
            forget_run(out, run)
        forget_whole(out)
        return
    if run is None:
        if (out / PREDICTIONS).exists():
            raise OutFolderError(
                f"{out} holds predictions of an unknown run; start over with --fresh or give "
                "another --out"
            )
        return
    differs = first_difference(run, facts, agree)
    if differs is not None:
        raise OutFolderError(
            f"{out} holds a run with another {differs}; start over with --fresh or give another "
            "--out"
        )
