"""Asking a model about many clips: some at once, each answer kept the moment it is there.

Answers lie in ``predictions.jsonl`` as those of any benchmark run, failures beside them as errors:
a model that failed is no wrong answer, and is asked again when the run goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.asking.cells import Cell
from replay.asking.clip_record import check_seen, write_clip_record
from replay.asking.questions import question
from replay.asking.saved_query import SavedQueryError
from replay.batch import RunRecord
from replay.jobs import Job, NotReplayed
from replay.predictions import Prediction, PredictionLog
from replay.source import SourceError
from streaming.asking.asked import AskedModel, Exchange
from streaming.asking.asker import Asker
from streaming.asking.endpoint import AttemptFailed, CoordOrder, OverBudget, Rejected
from streaming.asking.prompts import Prompts
from streaming.asking.responses import ResponsesError
from streaming.grounding import ModelError

_COMPOSED_AT_ONCE = 2
"""Clips that are decoded at once: they are what memory goes to."""
_HOPELESS = 3
"""So many equal refusals, and not one answer, end a run: a wrong key refuses every clip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """What became of the question about one clip.

    Attributes:
        exchange: None when there is no answer.
        error: Why not, in one line.
        kind: Kind of the failure, as in :mod:`streaming.asking.endpoint`, or ``clip``.
    """

    job: Job
    exchange: Exchange | None = None
    error: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """How one cell is run.

    Attributes:
        cell: Who is asked, and how.
        out: The cell's folder.
        seen: Folder of what was watched.
        facts: Of the run, for the clips' records.
        prompts: The wording.
        at_once: Questions under way at once.
        unwatched: Why clips could not be watched, by name.
    """

    cell: Cell
    out: Path
    seen: Path
    facts: dict[str, Any]
    prompts: Prompts
    at_once: int = 8
    unwatched: Mapping[str, str] = field(default_factory=dict)


async def ask_clips(
    run: CellRun,
    asker: Asker,
    jobs: Sequence[Job],
    *,
    log: PredictionLog,
    record: RunRecord,
    on_result: Callable[[Replied], None] = lambda replied: None,
    stop: asyncio.Event,
) -> None:
    """Ask about every clip, and write what comes as it comes.

    Once ``stop`` is set no clip is begun any more; what is under way is waited for, as it will be
    paid for. A reached limit of costs and a hopeless run stop in the same way.

    Raises:
        OverBudget: If the limit of costs is reached; what was answered is kept.
        Rejected: If the model refuses every clip alike.
        ResponsesError, OSError: If nothing can be written any more.
    """
    asking = _Asking(run, asker, log=log, record=record, on_result=on_result, stop=stop)
    waiting = iter(jobs)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(run.at_once, len(jobs))):
                group.create_task(asking.work(waiting))
    except* (ResponsesError, OSError) as errors:
        raise _first(errors) from None
    if asking.why is not None:
        raise asking.why


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error


class _Asking:
    def __init__(
        self,
        run: CellRun,
        asker: Asker,
        *,
        log: PredictionLog,
        record: RunRecord,
        on_result: Callable[[Replied], None],
        stop: asyncio.Event,
    ) -> None:
        self.why: OverBudget | Rejected | None = None
        self._stop = stop
        self._run = run
        self._asker = asker
        self._log = log
        self._record = record
        self._on_result = on_result
        self._composing = asyncio.Semaphore(_COMPOSED_AT_ONCE)
        # With our own times the answer is written anew, and then in our own order.
        ours = run.cell.when == "binder"
        self._order: CoordOrder = "xy" if ours else asker.endpoint.coord_order
        self._answers = 0
        self._refusals: Counter[str] = Counter()

    async def work(self, waiting: Iterator[Job]) -> None:
        """Ask about clip after clip, until none is waiting or all is to stop."""
        while not self._stop.is_set() and (job := next(waiting, None)) is not None:
            try:
                replied = await self._ask(job)
            except OverBudget as error:
                self._give_up(error)
                return
            # Nothing is awaited from here to the log: a cancel cannot part answer and record.
            self._keep(replied)
            self._on_result(replied)
            self._check_hope(replied)

    async def _ask(self, job: Job) -> Replied:
        run = self._run
        if job.name in run.unwatched:
            return Replied(job=job, error=run.unwatched[job.name], kind="clip")
        exchanges: list[Exchange] = []
        model = AskedModel(
            self._asker,
            interface=run.cell.interface,
            prompts=run.prompts,
            when=run.cell.when,
            on_exchange=exchanges.append,
        )
        try:
            async with self._composing:
                if run.cell.is_watched:
                    await asyncio.to_thread(check_seen, run.seen / job.name)
                query = await asyncio.to_thread(question, job, run.cell, run.seen)
            async for _ in model.ground(query):
                pass
        except (OverBudget, ResponsesError):
            raise
        except AttemptFailed as failure:
            return Replied(job=job, error=str(failure), kind=failure.kind)
        except (ModelError, SavedQueryError, SourceError) as error:
            return Replied(job=job, error=str(error), kind="clip")
        return Replied(job=job, exchange=exchanges[-1])

    def _keep(self, replied: Replied) -> None:
        run, job, exchange = self._run, replied.job, replied.exchange
        if exchange is not None:
            write_clip_record(
                run.out / job.name,
                job,
                exchange,
                endpoint=self._asker.endpoint,
                generation=self._asker.generation,
                facts=run.facts,
                seen=run.seen / job.name if run.cell.is_watched else None,
            )
        self._log.append(prediction_of(replied, self._order))
        if exchange is not None:
            self._record.keep([job.name])
        else:
            failed = NotReplayed(source=job.path.name, reason=replied.error)
            self._record.add_failed(failed)
        self._record.write()

    def _check_hope(self, replied: Replied) -> None:
        if replied.exchange is not None:
            self._answers += 1
        elif replied.kind == Rejected.kind:
            self._refusals[replied.error] += 1
        refused = max(self._refusals.values(), default=0)
        if self._answers == 0 and refused >= _HOPELESS:
            text = f"{replied.error}; stopped after {refused} clips, none was answered"
            self._give_up(Rejected(text))

    def _give_up(self, why: OverBudget | Rejected) -> None:
        self.why = self.why or why
        self._stop.set()


def prediction_of(replied: Replied, coord_order: CoordOrder) -> Prediction:
    """The line of ``predictions.jsonl`` about one clip."""
    clip = replied.job.clip
    assert clip is not None, "a benchmark job carries its clip"
    return Prediction(
        video_name=clip.video_name,
        instruction=clip.instruction,
        folder=clip.folder,
        output="" if replied.exchange is None else replied.exchange.answer.raw,
        coord_order=coord_order,
        error=replied.error or None,
    )
