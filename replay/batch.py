"""Replaying many clips into one run folder; a clip that fails does not end the run."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from replay.audit import CUT_SHARES, Difference, compare, cut_times
from replay.jobs import Job, NotReplayed
from replay.run import Outcome, replay_clip, write_json
from replay.source import SourceError
from streaming.build import Engines, EngineSettings
from streaming.clock import Pace
from streaming.machine import describe_machine
from streaming.recorder import Listener
from streaming.version import VERSION
from streaming.weights import WeightsError

RUN_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How a run is made.

    Attributes:
        out: The run folder.
        pace: ``fast`` or ``realtime``.
        engines: What the pipeline is built from.
        audit: Replay every clip again, cut at several times, and compare.
    """

    out: Path
    pace: Pace = "fast"
    engines: EngineSettings = field(default_factory=EngineSettings)
    audit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one job.

    Attributes:
        outcome: None when the clip could not be replayed.
        error: Why not, in one line; empty otherwise.
        differences: Where the audit found that the future was used; None without an audit.
    """

    job: Job
    outcome: Outcome | None = None
    error: str = ""
    differences: tuple[Difference, ...] | None = None


class RunRecord:
    """``run.json``: what the run is and which clips it holds, kept up to date while it runs."""

    def __init__(self, out: Path, facts: dict[str, Any]) -> None:
        self._path = out / "run.json"
        self._facts = {"format": RUN_FORMAT, "version": VERSION, **facts}
        self._clips: list[str] = []
        self._failed: list[dict[str, str]] = []

    def keep(self, names: Iterable[str]) -> None:
        """Add clips that an earlier, interrupted run finished."""
        self._clips += names

    def add(self, result: Result) -> None:
        """Add the outcome of a clip."""
        if result.outcome is not None:
            self._clips.append(result.job.name)
        else:
            self.add_failed(NotReplayed(source=str(result.job.path.name), reason=result.error))
        self.write()

    def add_failed(self, failed: NotReplayed) -> None:
        """Add something that could not be replayed."""
        self._failed.append({"source": failed.source, "reason": failed.reason})

    def write(self) -> None:
        write_json(
            self._path,
            {
                **self._facts,
                "machine": describe_machine(),
                "clips": list(dict.fromkeys(self._clips)),
                "failed": self._failed,
            },
        )


def run_one(
    job: Job, settings: BatchSettings, engines: Engines, listeners: Sequence[Listener] = ()
) -> Result:
    """Replay one clip, and audit it when that is asked for."""
    folder = settings.out / job.name
    try:
        outcome = asyncio.run(
            replay_clip(job, folder, engines=engines, pace=settings.pace, listeners=listeners)
        )
    except SourceError as error:
        return Result(job=job, error=str(error))
    if not settings.audit:
        return Result(job=job, outcome=outcome)
    return Result(
        job=job, outcome=outcome, differences=audit_clip(job, folder, outcome, engines=engines)
    )


def audit_clip(
    job: Job,
    folder: Path,
    outcome: Outcome,
    *,
    engines: Engines,
    shares: Sequence[float] = CUT_SHARES,
) -> tuple[Difference, ...]:
    """Compare a clip's record in ``fast`` pace with replays that are cut at several times."""
    full = (folder / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    differences = []
    for cut in cut_times(outcome.duration, shares):
        with tempfile.TemporaryDirectory(prefix="deixis-audit-") as scratch:
            asyncio.run(
                replay_clip(replace(job, until=cut), Path(scratch), engines=engines, pace="fast")
            )
            prefix = (Path(scratch) / "trace.jsonl").read_text(encoding="utf-8").splitlines()
        found = compare(full, prefix, cut=cut)
        if found is not None:
            differences.append(found)
    return tuple(differences)


def run_many(
    jobs: Sequence[Job],
    settings: BatchSettings,
    *,
    workers: int = 1,
    listeners_for: Callable[[Job], Sequence[Listener]] | None = None,
) -> Iterator[Result]:
    """Replay clips, in this process or in several, and give each result as it comes.

    Args:
        jobs: What to replay; with several workers the results come in the order of finishing.
        settings: How.
        workers: Number of processes; each loads its own models.
        listeners_for: Who watches a clip's trace lines (one worker only).
    """
    if workers > 1 and len(jobs) > 1:
        yield from _in_processes(jobs, settings, min(workers, len(jobs)))
        return
    engines = Engines(settings.engines)
    for job in jobs:
        yield run_one(job, settings, engines, listeners_for(job) if listeners_for else ())


_worker_engines: Engines | None = None


def _start_worker(settings: EngineSettings) -> None:
    global _worker_engines
    # Ctrl-C is the parent's to answer; it ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker_engines = Engines(settings)


def _work(job: Job, settings: BatchSettings) -> Result:
    if _worker_engines is None:
        raise WeightsError("a worker process has no models; this is a bug")
    return run_one(job, settings, _worker_engines)


def _in_processes(jobs: Sequence[Job], settings: BatchSettings, workers: int) -> Iterator[Result]:
    # Not forked: a fork would copy the locks of the models' threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(settings.engines,)
    )
    try:
        pending: set[Future[Result]] = {pool.submit(_work, job, settings) for job in jobs}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
