"""Replaying many clips into one run folder; a clip that fails does not end the run."""

from __future__ import annotations

import asyncio
import os
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from replay.audit import CUT_SHARES, Difference, compare, cut_times
from replay.jobs import Job, NotReplayed
from replay.out_folder import RUN, TRACE, OutFolderError
from replay.run import Outcome, replay_clip, write_json
from replay.workers import in_processes
from streaming.build import Engines, EngineSettings
from streaming.clock import Pace
from streaming.config import ConfigError
from streaming.failures import DEBUG_VARIABLE, is_own, one_line, root_cause
from streaming.machine import describe_machine
from streaming.recorder import Listener
from streaming.version import VERSION

RUN_FORMAT = 1


class BatchError(ValueError):
    """A way to run clips that cannot be; one line saying why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How a run is made.

    Attributes:
        out: The run folder.
        pace: ``fast`` or ``realtime``.
        engines: What the pipeline is built from.
        audit: Replay every clip again, cut at several times, and compare; ``fast`` pace only.
        watch_only: Ask no model; save each clip's query instead.

    Raises:
        BatchError: If an audit is asked for in another pace, which depends on the machine.
    """

    out: Path
    pace: Pace = "fast"
    engines: EngineSettings = field(default_factory=EngineSettings)
    audit: bool = False
    watch_only: bool = False

    def __post_init__(self) -> None:
        if self.audit and self.pace != "fast":
            raise BatchError(f"an audit compares runs in fast pace, not in {self.pace} pace")


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
        self._path = out / RUN
        self._facts = {"format": RUN_FORMAT, "version": VERSION, **facts}
        self._clips: list[str] = []
        self._failed: list[dict[str, str]] = []

    def keep(self, names: Iterable[str]) -> None:
        """Add clips that an earlier run finished."""
        self._clips += names

    def add(self, result: Result) -> None:
        """Add the outcome of a clip."""
        if result.outcome is not None:
            self._clips.append(result.job.name)
        else:
            self.add_failed(NotReplayed(source=result.job.path.name, reason=result.error))
        self.write()

    def add_failed(self, failed: NotReplayed) -> None:
        """Add something that could not be replayed."""
        self._failed.append({"source": failed.source, "reason": failed.reason})

    def arrange(self, names: Sequence[str]) -> None:
        """List clips in this order, those that are not named behind."""
        places = {name: place for place, name in enumerate(names)}
        self._clips.sort(key=lambda name: places.get(name, len(places)))

    def state(self, **facts: Any) -> None:
        """Say more about the run."""
        self._facts |= facts

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
    """Replay one clip, and audit it when that is asked for.

    Whatever is wrong with the clip, or with what we do with it, is its result's ``error``.

    Raises:
        OSError, RuntimeError, ConfigError, OutFolderError: What would fail every other clip too,
            such as a full disk or weights that are missing.
    """
    folder = settings.out / job.name
    try:
        outcome = asyncio.run(
            replay_clip(
                job,
                folder,
                engines=engines,
                pace=settings.pace,
                listeners=listeners,
                watch_only=settings.watch_only,
            )
        )
        differences = audit_clip(job, folder, outcome, engines=engines) if settings.audit else None
    except Exception as error:  # a bug that one clip of a thousand brings out costs that clip
        cause = root_cause(error)
        if _fails_every_clip(cause):
            raise _named(cause, folder) from error
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exception(error)
        return Result(job=job, error=one_line(cause))
    return Result(job=job, outcome=outcome, differences=differences)


def _named(cause: BaseException, folder: Path) -> BaseException:
    """The same error; a full disk or the like also says where."""
    if isinstance(cause, OSError) and cause.errno is not None and cause.filename is None:
        return OSError(cause.errno, cause.strerror, str(folder))
    return cause


def _fails_every_clip(cause: BaseException) -> bool:
    """True for what lies in the machine or the settings, not in the clip."""
    if isinstance(cause, OSError | ImportError | ConfigError | OutFolderError):
        return True
    return isinstance(cause, RuntimeError) and is_own(cause)


def audit_clip(
    job: Job,
    folder: Path,
    outcome: Outcome,
    *,
    engines: Engines,
    shares: Sequence[float] = CUT_SHARES,
) -> tuple[Difference, ...]:
    """Compare a clip's record in ``fast`` pace with replays that are cut at several times."""
    full = _lines(folder)
    differences = []
    for cut in cut_times(outcome.duration, shares):
        with tempfile.TemporaryDirectory(prefix="deixis-audit-") as scratch:
            asyncio.run(
                replay_clip(replace(job, until=cut), Path(scratch), engines=engines, pace="fast")
            )
            prefix = _lines(Path(scratch))
        found = compare(full, prefix, cut=cut)
        if found is not None:
            differences.append(found)
    return tuple(differences)


def _lines(folder: Path) -> list[str]:
    with (folder / TRACE).open(encoding="utf-8") as stream:
        return list(stream)


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
        yield from in_processes(
            _start_worker, (settings,), _work, jobs, workers=min(workers, len(jobs))
        )
        return
    engines = Engines(settings.engines)
    for job in jobs:
        yield run_one(job, settings, engines, listeners_for(job) if listeners_for else ())


_in_this_worker: tuple[BatchSettings, Engines] | None = None


def _start_worker(settings: BatchSettings) -> None:
    global _in_this_worker
    _in_this_worker = (settings, Engines(settings.engines))


def _work(job: Job) -> Result:
    assert _in_this_worker is not None, "a worker process is started before it works"
    settings, engines = _in_this_worker
    return run_one(job, settings, engines)
