"""The session: order, drops, superseding, clean ends."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Literal

import numpy as np
import pytest

import streaming.session
from streaming.clock import FastClock, Pace, RealtimeClock
from streaming.component import Chain
from streaming.events import (
    Answer,
    AudioBlock,
    Counters,
    HandsSeen,
    SourceNote,
    VideoFrame,
    Word,
)
from streaming.grounding import ModelError, Query, Task
from streaming.recorder import Recorder
from streaming.session import Session

BLOCK = 512 / 16_000


def block(onset: float) -> AudioBlock:
    return AudioBlock(onset=onset, samples=np.zeros(512, np.float32))


def frame(time: float) -> VideoFrame:
    return VideoFrame(time=time, image=np.zeros((4, 4, 3), np.uint8))


def clip(seconds: float, *, fps: float = 30.0) -> list[Any]:
    """Blocks and frames in order of availability."""
    blocks = [block(i * BLOCK) for i in range(int(seconds / BLOCK))]
    frames = [frame(i / fps) for i in range(int(seconds * fps))]
    return sorted(
        [*blocks, *frames], key=lambda e: e.offset if isinstance(e, AudioBlock) else e.time
    )


class Says:
    """A component made of one function."""

    def __init__(self, accepts: type, say: Callable[[Any], list[Any]]) -> None:
        self.accepts: tuple[type, ...] = (accepts,)
        self.counters = Counters()
        self._say = say

    def push(self, event: Any) -> list[Any]:
        return self._say(event)

    def finish(self) -> list[Any]:
        return []


def word_each_half_second(event: AudioBlock) -> list[Any]:
    return (
        [Word(text="this", onset=event.onset, offset=event.offset)]
        if int(event.offset * 2) != int(event.onset * 2)
        else []
    )


def query(turn: int) -> Query:
    return Query(turn=turn, asked_at=0.0, task=Task(), pointed=())


class EchoModel:
    """Answers with the turn's number, after ``delay`` seconds."""

    name = "echo"
    coord_order: Literal["xy", "yx"] = "xy"

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        await asyncio.sleep(self._delay)
        yield Answer(turn=query.turn, referents=(), frame_time=0.0, text=f"answer {query.turn}")


class BrokenModel(EchoModel):
    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        raise ModelError("no key")
        yield


def seen(event: VideoFrame) -> list[Any]:
    return [HandsSeen(time=event.time, hands=())]


def ask_at_words() -> Callable[[Any], list[Any]]:
    turns = iter(range(100))
    return lambda event: [query(next(turns))]


async def stream(
    events: list[Any] | Iterator[Any],
    *,
    pace: Pace = "fast",
    hear: Callable[[Any], list[Any]] = word_each_half_second,
    see: Callable[[Any], list[Any]] = seen,
    understand: tuple[type, Callable[[Any], list[Any]]] | None = None,
    model: EchoModel | None = None,
) -> tuple[list[dict[str, Any]], Session]:
    lines: list[str] = []
    clock = FastClock() if pace == "fast" else RealtimeClock()
    recorder = Recorder(lines.append, clock=clock, pace=pace)
    session = Session(
        hearing=Chain([("hear", Says(AudioBlock, hear))]),
        seeing=Chain([("see", Says(VideoFrame, see))]),
        understanding=Chain([("ask", Says(*(understand or (Word, ask_at_words()))))]),
        model=model or EchoModel(),
        clock=clock,
        pace=pace,
        recorder=recorder,
    )
    await session.run(events)
    recorder.end({"complete": True})
    return [json.loads(line) for line in lines], session


def of_type(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["type"] == kind]


@pytest.mark.threads
async def test_trace_is_in_order_of_what_was_known_when() -> None:
    lines, _ = await stream(clip(2.0))
    assert len(of_type(lines, "HandsSeen")) == 60
    assert [line["text"] for line in of_type(lines, "Answer")] == [f"answer {i}" for i in range(3)]
    known = [line["known_at"] for line in lines if "known_at" in line]
    assert known == sorted(known)
    assert all(line["emitted_at"] == line["known_at"] for line in lines if "known_at" in line)


@pytest.mark.threads
async def test_two_fast_runs_say_the_same() -> None:
    first, _ = await stream(clip(2.0))
    second, _ = await stream(clip(2.0))
    assert first == second


@pytest.mark.threads
async def test_notes_are_recorded_and_counted() -> None:
    note = SourceNote(kind="audio_gap", onset=0.1, offset=0.2, text="gap")
    lines, session = await stream([note, *clip(0.2)])
    assert of_type(lines, "SourceNote")[0]["text"] == "gap"
    assert session.counters.counts["audio_gap"] == 1


@pytest.mark.threads
async def test_slow_sight_drops_frames_in_realtime_and_none_in_fast() -> None:
    def slow(event: VideoFrame) -> list[Any]:
        time.sleep(0.1)  # the machine is slow, whatever the session's clock says
        return seen(event)

    lines, session = await stream(clip(0.6), pace="realtime", see=slow)
    skipped = session.counters.counts["frames_skipped"]
    assert skipped > 0
    assert len(of_type(lines, "Skipped")) == skipped
    assert len(of_type(lines, "HandsSeen")) == 18 - skipped
    assert len(of_type(lines, "Word")) == 1
    fast, session = await stream(clip(0.6), see=slow)
    assert len(of_type(fast, "HandsSeen")) == 18
    assert "frames_skipped" not in session.counters.counts


@pytest.mark.threads
async def test_newer_question_supersedes_the_one_being_answered() -> None:
    lines, session = await stream(clip(1.6), pace="realtime", model=EchoModel(delay=0.8))
    assert [line["text"] for line in of_type(lines, "Answer")] == ["answer 2"]
    assert session.counters.counts["answers_superseded"] == 2


@pytest.mark.threads
async def test_model_failure_is_recorded_and_the_stream_goes_on() -> None:
    lines, session = await stream(clip(1.2), model=BrokenModel())
    assert [line["text"] for line in of_type(lines, "ModelFailed")] == ["no key", "no key"]
    assert session.counters.counts["model_failed"] == 2
    assert len(of_type(lines, "HandsSeen")) == 36


@pytest.mark.threads
async def test_stage_error_ends_the_session_and_is_raised() -> None:
    def broken(event: VideoFrame) -> list[Any]:
        raise ValueError("frame of the wrong shape")

    with pytest.raises(BaseExceptionGroup) as caught:
        await stream(clip(1.0), see=broken)
    assert caught.group_contains(ValueError, match="wrong shape")


@pytest.mark.threads
async def test_cancelled_session_ends() -> None:
    def endless() -> Iterator[Any]:
        time = 0.0
        while True:
            yield frame(time)
            time += 1 / 30

    task = asyncio.create_task(stream(endless(), pace="realtime"))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.threads
async def test_empty_source_gives_an_empty_trace() -> None:
    lines, _ = await stream([])
    assert [line["type"] for line in lines] == ["End"]


@pytest.mark.threads
async def test_stuck_model_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming.session, "ANSWER_WITHIN", 0.2)
    lines, session = await stream(clip(0.6), model=EchoModel(delay=3600))
    assert [line["text"] for line in of_type(lines, "ModelFailed")] == ["no answer within 0.2 s"]
    assert session.counters.counts["model_failed"] == 1
    assert len(of_type(lines, "HandsSeen")) == 18


@pytest.mark.threads
async def test_slow_hearing_loses_no_sound_and_holds_up_no_sight() -> None:
    def slow(event: AudioBlock) -> list[Any]:
        time.sleep(0.06)  # twice as long as the block lasts
        return word_each_half_second(event)

    lines, session = await stream(clip(1.2), pace="realtime", hear=slow)
    assert len(of_type(lines, "Word")) == 2
    assert len(of_type(lines, "HandsSeen")) + session.counters.counts.get("frames_skipped", 0) == 36
    seen = of_type(lines, "HandsSeen")
    late = [line["emitted_at"] - line["known_at"] for line in seen if not line.get("finish")]
    assert sorted(late)[len(late) // 2] < 0.3
    assert max(session.load.block_age) > 0.3


@pytest.mark.parametrize("left", [AudioBlock, VideoFrame])
@pytest.mark.threads
async def test_understanding_does_not_wait_for_a_stream_that_is_absent(left: type) -> None:
    """Sound alone or pictures alone are understood as they come, not at the end."""
    known: list[float] = []
    both = clip(2.0)
    events = [event for event in both if isinstance(event, left)]

    def playing() -> Iterator[Any]:
        for event in events:
            known.append(event.offset if isinstance(event, AudioBlock) else event.time)
            yield event

    reached: list[float] = []

    def note(event: Any) -> list[Any]:
        reached.append(known[-1])
        return []

    def anything(event: Any) -> list[Any]:
        return [HandsSeen(time=0.0, hands=())]

    await stream(playing(), hear=anything, see=anything, understand=(HandsSeen, note))
    assert len(reached) == len(events)
    assert reached[0] < 1.0


@pytest.mark.threads
async def test_error_of_the_source_ends_the_session_and_its_threads() -> None:
    def torn() -> Iterator[Any]:
        yield from clip(0.5)
        raise OSError("the disk is gone")

    with pytest.raises(BaseExceptionGroup) as caught:
        await stream(torn())
    assert caught.group_contains(OSError, match="the disk is gone")
    left = [one.name for one in threading.enumerate()]
    assert not [name for name in left if name.startswith(("hearing", "seeing", "decoder"))]


@pytest.mark.parametrize(
    "events",
    [
        [*(block(i * BLOCK) for i in range(20)), *(frame(0.1 + i * 1e-5) for i in range(600))],
        [*(block(i * BLOCK) for i in range(20)), *([frame(0.2)] * 400)],
        [*(frame(i / 30) for i in range(5)), *(block(i * BLOCK) for i in range(300))],
        [*(block(i * BLOCK) for i in range(3)), *(frame(i / 30) for i in range(400))],
    ],
    ids=["600 frames in a block", "400 frames at once", "sound goes on", "pictures go on"],
)
@pytest.mark.threads
async def test_fast_session_ends_however_uneven_the_streams_are(events: list[Any]) -> None:
    in_order = sorted(events, key=lambda e: e.offset if isinstance(e, AudioBlock) else e.time)
    async with asyncio.timeout(30):
        lines, _ = await stream(in_order)
    assert len(of_type(lines, "HandsSeen")) == sum(isinstance(e, VideoFrame) for e in events)


@pytest.mark.threads
async def test_sight_waits_for_a_hearing_that_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is stuck, few pictures are held in memory, and the lost ones are counted."""
    monkeypatch.setattr(streaming.session, "PICTURES_AHEAD", 5)
    stuck = iter([1.0])

    def hear(event: AudioBlock) -> list[Any]:
        time.sleep(next(stuck, 0.0))
        return []

    lines, session = await stream(clip(1.5), pace="realtime", hear=hear)
    skipped = session.counters.counts["frames_skipped"]
    assert skipped >= 10
    assert len(of_type(lines, "HandsSeen")) == 45 - skipped
