"""Worker processes: results as they come, clear ends, nothing left behind."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.source import SourceError
from replay.workers import WorkerError, in_processes
from tests.worker_jobs import leave_a_file, start, work


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def run(jobs: list[int], do: Any = work) -> Iterator[Any]:
    return in_processes(start, (10,), do, jobs, workers=2)


def test_every_job_gives_its_result() -> None:
    assert sorted(run([1, 2, 3, 4])) == [10, 20, 30, 40]


def test_error_of_a_job_is_raised_here_and_ends_the_others() -> None:
    with pytest.raises(SourceError, match="job -1 cannot be done"):
        list(run([99, -1]))


def test_killed_worker_is_told_in_one_line() -> None:
    with pytest.raises(WorkerError, match=r"a worker process died.*what was finished is kept"):
        list(run([13, 99]))


def test_reader_who_stops_early_ends_the_workers() -> None:
    results = run([1, 99])
    assert next(results) == 10
    results.close()  # type: ignore[attr-defined]


def test_scratch_files_of_workers_go_in_the_end() -> None:
    (folder,) = run([1], leave_a_file)
    assert Path(folder).name.startswith("deixis-")
    assert not Path(folder).exists()
