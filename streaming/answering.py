"""Questions put to a model, one at a time; what nobody waits for any more is taken back.

An answer under way is stopped by a newer question (``superseded``) and by the speaker who speaks
again (``interrupted``, barge-in). Of an interruption the stages behind hearing are told, in order:
what was pointed at in the turn that got no answer then belongs to the next question.

A question asked early is superseded also when it is answered already, if more was said of its turn.

In ``fast`` pace nothing is ever stopped: each question is answered before the stream goes on.
"""

from __future__ import annotations

import asyncio
import math

from streaming.events import (
    Answer,
    AnswerStopped,
    Asked,
    Counters,
    ModelFailed,
    Seconds,
    SpeechStart,
)
from streaming.grounding import Model, ModelError, Query
from streaming.stage import Channel, Item, Record, batches

STAGE = "answering"


class Answering:
    """Asks ``model`` what comes in, and records what becomes of it.

    Args:
        model: Answers.
        record: Told of every question, answer and failure.
        counters: Counts ``answers_superseded``, ``answers_interrupted`` and ``model_failed``.
        waits: Each question is answered before the next is looked at (``fast`` pace).
        barge_in: Speech interrupts an answer. Not for a model that hears the speaker by itself.
        within: Seconds that the model may take.
    """

    def __init__(
        self,
        model: Model,
        *,
        record: Record,
        counters: Counters,
        waits: bool,
        barge_in: bool,
        within: Seconds,
    ) -> None:
        self._model = model
        self._record = record
        self._counters = counters
        self._waits = waits
        self._barge_in = barge_in and not waits
        self._within = within
        self._running: asyncio.Task[None] | None = None
        self._turn = -1
        self._taken_back = -1
        self._spoken: Seconds = -math.inf
        self._untold: list[AnswerStopped] = []

    def heard(self, item: Item) -> tuple[AnswerStopped, ...]:
        """Look whether the speaker speaks again; what hearing has to say of it to the next stage.

        Args:
            item: What hearing said.
        """
        if self._barge_in and any(isinstance(event, SpeechStart) for event in item.events):
            self._spoken = item.known_at
            if self._stop():
                self._interrupted(self._turn)
        told, self._untold = tuple(self._untold), []
        return told

    async def run(self, asked: Channel, group: asyncio.TaskGroup) -> None:
        """Until ``asked`` has ended and the last question is answered."""
        async for batch in batches(asked, 16):
            for item in batch:
                for event in item.events:
                    if isinstance(event, AnswerStopped):
                        self._say(event, item.known_at)
                    elif isinstance(event, Query):
                        await self._put(event, item.known_at, group)
                if not self._busy() and not item.finish:
                    self._record(STAGE, Item(known_at=item.known_at))
        if self._running is not None:
            await asyncio.wait({self._running})
        self._record(STAGE, Item(known_at=math.inf))

    async def _put(self, query: Query, known_at: Seconds, group: asyncio.TaskGroup) -> None:
        early = query.supersedes == self._turn != self._taken_back
        if self._stop() or early:
            self._counters.add("answers_superseded")
            self._say(AnswerStopped(turn=self._turn, reason="superseded"), known_at)
        self._turn = query.turn
        self._say(_asked(query), known_at)
        if known_at < self._spoken:
            # The speaker goes on already: hearing was ahead of the rest.
            self._interrupted(query.turn)
            return
        self._running = group.create_task(self._ask(query, known_at))
        if self._waits:
            await self._running

    def _busy(self) -> bool:
        return self._running is not None and not self._running.done()

    def _stop(self) -> bool:
        """Stop the answer under way; False when there is none."""
        if self._running is None or self._running.done():
            return False
        self._running.cancel()
        self._running = None
        return True

    def _interrupted(self, turn: int) -> None:
        self._taken_back = turn
        self._counters.add("answers_interrupted")
        self._untold.append(AnswerStopped(turn=turn, reason="interrupted"))

    def _say(self, event: Asked | Answer | AnswerStopped | ModelFailed, known_at: Seconds) -> None:
        self._record(STAGE, Item(known_at=known_at, events=(event,)))

    async def _ask(self, query: Query, known_at: Seconds) -> None:
        try:
            async with asyncio.timeout(self._within):
                async for answer in self._model.ground(query):
                    self._say(answer, known_at)
        except (ModelError, TimeoutError) as error:
            why = str(error) or f"no answer within {self._within:g} s"
            self._counters.add("model_failed")
            self._say(ModelFailed(turn=query.turn, model=self._model.name, text=why), known_at)


def _asked(query: Query) -> Asked:
    return Asked(
        turn=query.turn,
        asked_at=query.asked_at,
        deictics=tuple(one.deictic for one in query.pointed),
        strokes=tuple(one.stroke for one in query.pointed),
        last=query.final,
    )
