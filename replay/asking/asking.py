"""Asking a model about many clips: some at once, each answer kept the moment it is there.

Answers lie in ``predictions.jsonl`` as those of any benchmark run, failures beside them as errors:
a model that failed is no wrong answer, and is asked again when the run goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from replay.asking.cells import Cell
from replay.asking.clip_record import check_seen, write_clip_record
from replay.asking.loop import COMPOSED_AT_ONCE, ask_each
from replay.asking.questions import question
from replay.asking.saved_query import SavedQueryError
from replay.asking.visual import GazeError, VisualChoice
from replay.batch import RunRecord
from replay.jobs import Job, NotReplayed
from replay.predictions import Prediction, PredictionLog
from replay.source import SourceError
from streaming.asking.asked import AskedModel, Exchange
from streaming.asking.asker import Asker
from streaming.asking.endpoint import AttemptFailed, CoordOrder, OverBudget
from streaming.asking.prompts import Prompts
from streaming.asking.responses import ResponsesError
from streaming.grounding import ModelError


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
        visual: Which of a request's pictures are sent; all of them without.
    """

    cell: Cell
    out: Path
    seen: Path
    facts: dict[str, Any]
    prompts: Prompts
    at_once: int = 8
    unwatched: Mapping[str, str] = field(default_factory=dict)
    visual: VisualChoice | None = None


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
    """Ask about every clip, and write what comes as it comes, as :func:`ask_each` does.

    Raises:
        OverBudget, Rejected, ResponsesError, OSError: As :func:`ask_each`.
    """
    asking = _Asking(run, asker, log=log, record=record)

    def keep(replied: Replied) -> None:
        asking.keep(replied)
        on_result(replied)

    await ask_each(jobs, ask=asking.ask, keep=keep, at_once=run.at_once, stop=stop, called="clips")


class _Asking:
    def __init__(
        self, run: CellRun, asker: Asker, *, log: PredictionLog, record: RunRecord
    ) -> None:
        self._run = run
        self._asker = asker
        self._log = log
        self._record = record
        self._composing = asyncio.Semaphore(COMPOSED_AT_ONCE)
        # With our own times the answer is written anew, and then in our own order.
        ours = run.cell.when == "binder"
        self._order: CoordOrder = "xy" if ours else asker.endpoint.coord_order

    async def ask(self, job: Job) -> Replied:
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
            choose=None if run.visual is None else partial(run.visual.applied, group=job.path.stem),
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
        except (ModelError, SavedQueryError, SourceError, GazeError) as error:
            return Replied(job=job, error=str(error), kind="clip")
        return Replied(job=job, exchange=exchanges[-1])

    def keep(self, replied: Replied) -> None:
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
