"""Replaying clips in several processes, which end when this one does, however it ends."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
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
    # Not forked: a fork would copy the locks of the models' threads. Each worker has a pipe of its
    # own: a shared queue's lock would die with the worker that holds it.
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(jobs))
    running: dict[Connection, BaseProcess] = {}
    with tempfile.TemporaryDirectory(prefix="deixis-") as scratch:
        try:
            for _ in range(min(workers, len(jobs))):
                ours, theirs = context.Pipe()
                process = context.Process(
                    target=_serve, args=(theirs, scratch, start, arguments, work), daemon=True
                )
                with _interrupts_ignored():
                    process.start()
                theirs.close()
                running[ours] = process
                ours.send(waiting.pop())
            while running:
                for pipe in connection.wait(list(running)):
                    assert isinstance(pipe, Connection)
                    yield _answer(pipe)
                    if waiting:
                        pipe.send(waiting.pop())
                    else:
                        pipe.close()
                        running.pop(pipe).join()
        finally:
            for left in running.values():
                left.kill()
                left.join()


def _answer(pipe: Connection) -> Any:
    try:
        result, error = pipe.recv()
    except (EOFError, ConnectionError):
        raise WorkerError(
            "a worker process died, perhaps for want of memory; what was finished is kept: run the "
            "same command again, with fewer --workers if memory is short"
        ) from None
    if error is not None:
        raise error
    return result


def _serve(
    pipe: Connection,
    scratch: str,
    start: Callable[..., None],
    arguments: tuple[Any, ...],
    work: Callable[[Any], Any],
) -> None:
    """A worker's life: one job after the other, until the parent closes the pipe."""
    error: BaseException | None = None
    try:
        _start(scratch, start, arguments)
    except Exception as failed:
        error = failed
    while True:
        try:
            job = pipe.recv()
        except (EOFError, ConnectionError):
            return
        try:
            result = work(job) if error is None else None
            pipe.send((result, error))
        except Exception as failed:
            pipe.send((None, failed))


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
