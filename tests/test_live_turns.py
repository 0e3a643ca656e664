"""Turns: a slow model's answer is stopped by the speaker and by newer questions."""

from __future__ import annotations

import asyncio
import json
import queue
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

import numpy as np
import pytest
from websockets.asyncio.client import connect

from streaming.answering import Answering
from streaming.clock import FastClock
from streaming.component import Chain
from streaming.events import (
    Answer,
    AnswerStopped,
    AudioBlock,
    Counters,
    DeicticsSeen,
    SpeechStart,
    VideoFrame,
    Word,
)
from streaming.grounding import Grounder, Query, Task
from streaming.recorder import Recorder
from streaming.session import Session
from streaming.stage import Channel, Item
from tests.live_maker import serving, sound_message, welcome
from tests.pretend_pipeline import PretendEngines, hear
from tests.test_grounding import in_order, run, spoken_turn, utterance

BLOCK = 0.02


class SlowModel:
    """Says half of each answer at once, and the rest when it is let."""

    name = "slow"
    coord_order: Literal["xy", "yx"] = "xy"

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.said = asyncio.Event()
        self.go_on = asyncio.Event()

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        self.begun.append(query.turn)
        try:
            yield answer(query.turn, "the", final=False)
            self.said.set()
            await self.go_on.wait()
            yield answer(query.turn, "the cup", final=True)
        finally:
            self.ended.append(query.turn)


def answer(turn: int, text: str, *, final: bool) -> Answer:
    return Answer(turn=turn, referents=(), frame_time=0.0, text=text, final=final, model="slow")


def question(turn: int) -> Query:
    return Query(turn=turn, asked_at=0.0, task=Task(), pointed=())


class Talk:
    """An :class:`Answering` with its channel, and what it recorded."""

    def __init__(self, model: SlowModel, *, barge_in: bool = True, waits: bool = False) -> None:
        self.items: list[Item] = []
        self.counters = Counters()
        self.channel = Channel(None)
        self.answering = Answering(
            model,
            record=lambda stage, item: self.items.append(item),
            counters=self.counters,
            waits=waits,
            barge_in=barge_in,
            within=60.0,
        )

    async def ask(self, turn: int, *, known_at: float) -> None:
        await self.channel.send(Item(known_at=known_at, events=(question(turn),)))

    async def speak(self, utterance: int, *, known_at: float) -> None:
        """The speaker begins; what hearing tells of it arrives where answers are waited for."""
        began = SpeechStart(utterance=utterance, onset=known_at)
        told = self.answering.heard(Item(known_at=known_at, events=(began,)))
        if told:
            await self.channel.send(Item(known_at=known_at, events=told))

    @property
    def said(self) -> list[tuple[str, int]]:
        told = []
        for item in self.items:
            for event in item.events:
                kind = type(event).__name__
                if isinstance(event, Answer):
                    kind = "final" if event.final else "partial"
                if isinstance(event, AnswerStopped):
                    kind = event.reason
                told.append((kind, event.turn))
        return told


async def test_speaking_again_stops_the_answer_and_the_next_one_comes_whole() -> None:
    model = SlowModel()
    talk = Talk(model)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(talk.answering.run(talk.channel, group))
        await talk.ask(0, known_at=1.0)
        await model.said.wait()
        await talk.speak(1, known_at=2.0)
        model.said.clear()
        await talk.ask(1, known_at=4.0)
        await model.said.wait()
        model.go_on.set()
        await talk.channel.close()
        await running
    assert talk.said == [
        ("Asked", 0),
        ("partial", 0),
        ("interrupted", 0),
        ("Asked", 1),
        ("partial", 1),
        ("final", 1),
    ]
    assert model.ended == [0, 1]
    assert talk.counters.counts == {"answers_interrupted": 1}
    known = [item.known_at for item in talk.items]
    assert known == sorted(known)


async def test_newer_question_takes_the_place_of_the_one_being_answered() -> None:
    model = SlowModel()
    talk = Talk(model)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(talk.answering.run(talk.channel, group))
        await talk.ask(0, known_at=1.0)
        await model.said.wait()
        await talk.ask(1, known_at=2.0)
        model.go_on.set()
        await talk.channel.close()
        await running
    assert [kind for kind, _ in talk.said] == [
        *("Asked", "partial", "superseded", "Asked", "partial", "final")
    ]
    assert talk.counters.counts == {"answers_superseded": 1}


async def test_question_that_the_speaker_overtook_is_not_put_to_the_model() -> None:
    """Hearing was ahead of sight: speech began before the question of the turn before was out."""
    model = SlowModel()
    talk = Talk(model)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(talk.answering.run(talk.channel, group))
        await talk.speak(1, known_at=2.0)
        await talk.ask(0, known_at=1.5)
        while not talk.said:  # noqa: ASYNC110
            await asyncio.sleep(0)
        quiet = Item(known_at=2.1)
        told = talk.answering.heard(quiet)
        await talk.channel.send(Item(known_at=2.1, events=told))
        await talk.channel.close()
        await running
    assert model.begun == []
    assert talk.said == [("Asked", 0), ("interrupted", 0)]
    assert talk.answering.heard(quiet) == ()


@pytest.mark.parametrize(("barge_in", "waits"), [(False, False), (True, True)])
async def test_who_may_not_be_interrupted_is_not(barge_in: bool, waits: bool) -> None:
    """A model that hears the speaker itself, and one that the stream waits for."""
    model = SlowModel()
    talk = Talk(model, barge_in=barge_in, waits=waits)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(talk.answering.run(talk.channel, group))
        await talk.ask(0, known_at=1.0)
        await model.said.wait()
        await talk.speak(1, known_at=2.0)
        model.go_on.set()
        await talk.channel.close()
        await running
    assert talk.said[-1] == ("final", 0)
    assert talk.counters.counts == {}


def stopped(turn: int, time: float) -> list[tuple[float, Any]]:
    return [(time, AnswerStopped(turn=turn, reason="interrupted"))]


def noise() -> list[tuple[float, Any]]:
    """Speech after :func:`spoken_turn` in which nothing refers."""
    return [*utterance(5.2, 6.0, index=1), (6.7, DeicticsSeen(until=6.5))]


def test_interrupted_turn_is_part_of_the_next_question() -> None:
    alone = run(Grounder(), in_order(spoken_turn(9.0)))
    again = run(Grounder(), in_order(spoken_turn(9.0), noise(), stopped(0, 5.6)))
    assert len(alone) == 1
    assert [query.turn for _, query in again] == [0, 1]
    assert again[1][0] >= 6.0
    assert again[1][1].pointed == again[0][1].pointed
    assert again[1][1].keyframes[0].stroke == again[0][1].keyframes[0].stroke


def test_answered_turn_is_no_part_of_the_next_question() -> None:
    assert len(run(Grounder(), in_order(spoken_turn(9.0), noise()))) == 1
    assert len(run(Grounder(), in_order(spoken_turn(9.0), noise(), stopped(7, 5.6)))) == 1


class Says:
    """A component made of one function."""

    def __init__(self, accepts: tuple[type, ...], say: Callable[[Any], list[Any]]) -> None:
        self.accepts = accepts
        self.counters = Counters()
        self._say = say

    def push(self, event: Any) -> list[Any]:
        return self._say(event)

    def finish(self) -> list[Any]:
        return []


class Fed:
    """A source that has what the test gives it, when it gives it."""

    def __init__(self) -> None:
        self._coming: queue.Queue[AudioBlock | None] = queue.Queue()
        self._count = 0

    def give(self) -> None:
        onset = self._count * BLOCK
        self._coming.put(AudioBlock(onset=onset, samples=np.zeros(320, np.float32)))
        self._count += 1

    def end(self) -> None:
        self._coming.put(None)

    def take(self, most: int) -> list[Any]:
        block = self._coming.get()
        return [] if block is None else [block]

    def stop(self) -> None:
        self.end()


@pytest.mark.threads
async def test_barge_in_passes_through_the_whole_session() -> None:
    """Speech in the sound stops the answer, and understanding is told, in its place in order."""
    source, model = Fed(), SlowModel()
    understood: list[str] = []
    script: dict[int, Any] = {
        0: Word(text="this", onset=0.0, offset=BLOCK),
        1: SpeechStart(utterance=1, onset=BLOCK),
        2: Word(text="there", onset=2 * BLOCK, offset=3 * BLOCK),
    }
    turns = iter(range(9))

    def understand(event: Any) -> list[Any]:
        understood.append(type(event).__name__)
        return [question(next(turns))] if isinstance(event, Word) else []

    lines: list[str] = []
    clock = FastClock()
    session = Session(
        hearing=Chain(
            [("hear", Says((AudioBlock,), lambda block: [script[round(block.onset / BLOCK)]]))]
        ),
        seeing=Chain([("see", Says((VideoFrame,), lambda frame: []))]),
        understanding=Chain([("ask", Says((Word, SpeechStart, AnswerStopped), understand))]),
        model=model,
        clock=clock,
        pace="live",
        recorder=Recorder(lines.append, clock=clock, pace="live"),
    )
    async with asyncio.timeout(20):
        running = asyncio.create_task(session.run(source))
        source.give()
        await model.said.wait()
        model.said.clear()
        source.give()
        source.give()
        await model.said.wait()
        model.go_on.set()
        source.end()
        await running
    assert understood == ["Word", "SpeechStart", "AnswerStopped", "Word"]
    said = [json.loads(line) for line in lines]
    assert [(one["type"], one.get("turn")) for one in said if one["stage"] == "answering"] == [
        ("Asked", 0),
        ("Answer", 0),
        ("AnswerStopped", 0),
        ("Asked", 1),
        ("Answer", 1),
        ("Answer", 1),
    ]
    assert model.ended == [0, 1]


def speech_between_words(block: AudioBlock) -> list[Any]:
    """A word at every half second, and the speaker begins anew at 0.8 s."""
    if block.onset <= 0.8 < block.offset:
        return [SpeechStart(utterance=1, onset=block.onset)]
    return list(hear(block))


@pytest.mark.threads
async def test_a_page_is_told_what_becomes_of_every_answer() -> None:
    """Through a real server: asked, said in part, interrupted, asked again, said in full."""
    model = SlowModel()
    engines = PretendEngines(hear=speech_between_words, model=model)
    async with (
        asyncio.timeout(30),
        serving(engines) as (address, hub),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        async with connect(f"ws://{address}{said['feed']}") as feed:
            await socket.send(sound_message(0.0, np.zeros(9600, np.float32)))
            await model.said.wait()
            model.said.clear()
            await socket.send(sound_message(0.6, np.zeros(9600, np.float32)))
            await model.said.wait()
            late = json.loads(await anext(hub.sessions[0].feed.subscribe()))
            model.go_on.set()
            await socket.send(json.dumps({"type": "end"}))
            lines = [json.loads(text) async for text in feed]
    told = [
        (line["type"], line["turn"], line.get("final"), line.get("reason"))
        for line in lines
        if line.get("stage") == "answering"
    ]
    assert told == [
        ("Asked", 0, None, None),
        ("Answer", 0, False, None),
        ("AnswerStopped", 0, None, "interrupted"),
        ("Asked", 1, None, None),
        ("Answer", 1, False, None),
        ("Answer", 1, True, None),
    ]
    value = hub.metrics.value
    assert value("deixis_answers_total", outcome="cancelled") == 1
    assert value("deixis_answers_total", outcome="answered") == 1
    assert [line["type"] for line in late["lines"] if line.get("stage") == "answering"] == [
        *("Asked", "Answer", "AnswerStopped", "Asked", "Answer")
    ]
