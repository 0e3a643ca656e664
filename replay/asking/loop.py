"""Asking about many things: some at once, each answer kept the moment it is there."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from streaming.asking.endpoint import OverBudget, Rejected
from streaming.asking.responses import ResponsesError

COMPOSED_AT_ONCE = 2
"""Requests that are made at once: decoded clips are what memory goes to."""
_HOPELESS = 3
"""So many equal refusals, and not one answer, end a run: a wrong key refuses everything."""


class Came(Protocol):
    """What became of one question.

    Attributes:
        error: Why there is no answer, in one line, or empty.
        kind: Kind of that failure, as in :mod:`streaming.asking.endpoint`.
    """

    @property
    def error(self) -> str: ...

    @property
    def kind(self) -> str: ...


T = TypeVar("T")
C = TypeVar("C", bound=Came)


async def ask_each(
    todo: Sequence[T],
    *,
    ask: Callable[[T], Awaitable[C]],
    keep: Callable[[C], None],
    at_once: int,
    stop: asyncio.Event,
    called: str = "questions",
) -> None:
    """Ask about each, and keep what comes as it comes.

    Once ``stop`` is set nothing is begun any more; what is under way is waited for, as it will be
    paid for. A reached limit of costs and a hopeless run stop in the same way.

    Args:
        todo: What is asked about, in order.
        ask: Asks about one.
        keep: Writes down what came. It does not wait, so that a cancel cannot part the two.
        at_once: Questions under way at once.
        stop: Ends the run when it is set.
        called: What ``todo`` are, for a person.

    Raises:
        OverBudget: If the limit of costs is reached; what was answered is kept.
        Rejected: If the model refuses everything alike.
        ResponsesError, OSError: If nothing can be written any more.
    """
    loop = _Loop(ask, keep, stop, called)
    waiting = iter(todo)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(todo))):
                group.create_task(loop.work(waiting))
    except* (ResponsesError, OSError) as errors:
        raise _first(errors) from None
    if loop.why is not None:
        raise loop.why


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error


class _Loop:
    def __init__(
        self,
        ask: Callable[[T], Awaitable[C]],
        keep: Callable[[C], None],
        stop: asyncio.Event,
        called: str,
    ) -> None:
        self.why: OverBudget | Rejected | None = None
        self._ask: Callable[..., Awaitable[Came]] = ask
        self._keep: Callable[..., None] = keep
        self._stop = stop
        self._called = called
        self._answers = 0
        self._refusals: Counter[str] = Counter()

    async def work(self, waiting: Iterator[T]) -> None:
        """Ask about one after another, until none is waiting or all is to stop."""
        while not self._stop.is_set():
            # Not a default of None: what is asked about may be anything.
            try:
                one = next(waiting)
            except StopIteration:
                return
            try:
                came = await self._ask(one)
            except OverBudget as error:
                self._give_up(error)
                return
            # Nothing is awaited from here to the log: a cancel cannot part answer and record.
            self._keep(came)
            self._check_hope(came)

    def _check_hope(self, came: Came) -> None:
        if not came.error:
            self._answers += 1
        elif came.kind == Rejected.kind:
            self._refusals[came.error] += 1
        refused = max(self._refusals.values(), default=0)
        if self._answers == 0 and refused >= _HOPELESS:
            most = max(self._refusals, key=self._refusals.__getitem__)
            text = f"{most}; stopped after {refused} {self._called}, none was answered"
            self._give_up(Rejected(text))

    def _give_up(self, why: OverBudget | Rejected) -> None:
        self.why = self.why or why
        self._stop.set()


async def until_stopped(
    work: Callable[[asyncio.Event], Awaitable[None]], *, on_stop: Callable[[], None]
) -> None:
    """Run ``work``; the first signal to stop sets its event, the next one cancels it.

    Raises:
        KeyboardInterrupt: If it was stopped, once what was under way is done.
    """
    stop = asyncio.Event()
    stopped = False

    def stopping() -> None:
        nonlocal stopped
        stopped = True
        stop.set()
        on_stop()

    with _two_signals(stopping):
        await work(stop)
    if stopped:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _two_signals(first: Callable[[], None]) -> Iterator[None]:
    """Let the first signal to stop do something milder; the next one cancels this task.

    Requests that are under way are paid for, so that they are worth waiting for.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "runs inside a task"
    asked = False

    def arrived() -> None:
        nonlocal asked
        if asked:
            task.cancel()
            return
        asked = True
        first()

    # SIGTERM and SIGHUP come as SIGINT too, from whoever runs the command; the loop would not give
    # their handlers back.
    before, caught = signal.getsignal(signal.SIGINT), False
    # Only the main thread has signals, and not every system's loop takes them.
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, arrived)
        caught = True
    try:
        yield
    finally:
        if caught:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, before)
