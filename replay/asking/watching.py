"""Watching clips without asking anybody: once for all models that will be asked about them.

The folder ``seen/`` of a run is a run of its own: a folder a clip with its trace and its saved
query. A clip that was watched is not watched again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.asking.saved_query import is_saved
from replay.batch import BatchSettings, Result, RunRecord, run_many
from replay.jobs import Job
from replay.out_folder import OutFolderError, first_difference, read_run
from streaming.build import EngineSettings, describe_settings

SEEN = "seen"
_MUST_AGREE = ("language", "config", "benchmark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """How clips are watched.

    Attributes:
        out: The run's folder; what is seen goes into ``seen/`` of it.
        asr: A Whisper model, as in :class:`streaming.build.EngineSettings`.
        language: As chosen, for the record.
        benchmark: Name and root, for the record.
        workers: Number of processes.
    """

    out: Path
    asr: str = "auto"
    language: str = "auto"
    benchmark: dict[str, str]
    workers: int = 1

    @property
    def folder(self) -> Path:
        return self.out / SEEN

    def facts(self) -> dict[str, Any]:
        """What the run in ``seen/`` says about itself."""
        return {
            "command": "watch",
            "pace": "fast",
            "language": self.language,
            "model": "none",
            "config": describe_settings(EngineSettings(asr=self.asr)),
            "benchmark": self.benchmark,
        }


def watch_clips(
    watching: Watching,
    jobs: Sequence[Job],
    *,
    on_plan: Callable[[int, int], None] = lambda total, done: None,
    on_result: Callable[[Result], None] = lambda result: None,
) -> dict[str, str]:
    """Watch the clips that were not watched yet.

    Returns:
        Why clips could not be watched, by the name of their folder.

    Raises:
        OutFolderError: If the folder holds what was seen with other settings.
    """
    folder, facts = watching.folder, watching.facts()
    folder.mkdir(parents=True, exist_ok=True)
    run = read_run(folder)
    differs = None if run is None else first_difference(run, facts, _MUST_AGREE)
    if differs is not None:
        raise OutFolderError(
            f"{folder} holds what was seen with another {differs}; start over with --fresh or give "
            "another --out"
        )
    done = [job for job in jobs if is_saved(folder / job.name)]
    todo = [job for job in jobs if not is_saved(folder / job.name)]
    kept = () if run is None else [str(name) for name in run["clips"]]
    record = RunRecord(folder, facts)
    record.keep((*kept, *(job.name for job in done)))
    record.write()
    on_plan(len(jobs), len(done))
    settings = BatchSettings(out=folder, engines=EngineSettings(asr=watching.asr), watch_only=True)
    unwatched = {}
    for result in run_many(todo, settings, workers=watching.workers):
        record.add(result)
        on_result(result)
        if result.error:
            unwatched[result.job.name] = result.error
    return unwatched
