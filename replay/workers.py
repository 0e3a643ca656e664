"""Replaying clips in several processes, which end when this one does, however it ends."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


class WorkerError(RuntimeError):
    """A worker process that died; one line saying what to do."""


def in_processes(
    start: Callable[..., None],
    arguments: tuple[Any, ...],
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int,
) -> Iterator[Result]:
    """Give the result of ``work`` for every job, in the order of finishing.

    Args:
        start: Called with ``arguments`` in every new process, once.
        work: Called in a process that was started; what it raises is raised here.
        jobs: What to work on.
        workers: Number of processes.

    Raises:
        WorkerError: If a process died. Results that were given before stand.
    """
    others = set(multiprocessing.active_children())
    with tempfile.TemporaryDirectory(prefix="deixis-") as scratch:
        pool = ProcessPoolExecutor(
            workers,
            # Not forked: a fork would copy the locks of the models' threads.
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=(scratch, start, arguments),
        )
        try:
            with _interrupts_ignored():
                pending: set[Future[Result]] = {pool.submit(work, job) for job in jobs}
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise WorkerError(
                "a worker process died, perhaps for want of memory; what was finished is kept: run "
                "the same command again, with fewer --workers if memory is short"
            ) from None
        finally:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes begun inside never see Ctrl-C: it is this process's to answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(scratch: str, start: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a terminated worker leaves behind goes with the parent's folder.
    tempfile.tempdir = scratch
    threading.Thread(target=_end_with_parent, daemon=True).start()
    start(*arguments)


def _end_with_parent() -> None:
    """A parent that was killed cannot end its workers: they see to it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
