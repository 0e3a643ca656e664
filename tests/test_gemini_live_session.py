"""A model that follows the stream itself, in a session."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from streaming.build import EngineSettings, describe_settings, model_name
from streaming.clock import Clock, FastClock, Pace, RealtimeClock
from streaming.component import Chain
from streaming.events import (
    Answer,
    AudioBlock,
    Counters,
    SpeechEnd,
    SpeechStart,
    VideoFrame,
    Word,
)
from streaming.grounding import ModelError, Query, Task
from streaming.models.gemini_live import GeminiLiveModel, open_live
from streaming.models.gemini_live_settings import LiveSettings
from streaming.recorder import Recorder
from streaming.session import Attended, Attending, Session
from tests.pretend_pipeline import Says, hear, see
from tests.standins.gemini_live import KEY, GeminiLiveStandIn, Said
from tests.test_gemini_live import MUG, WRITES
from tests.test_session import clip, of_type

pytestmark = pytest.mark.threads


class Follower:
    """Keeps what it is shown, and when."""

    name = "follower"
    coord_order: Literal["xy", "yx"] = "xy"

    def __init__(self, clock: Clock) -> None:
        self.counters = Counters({"followed": 1})
        self.seen: list[Attended] = []
        self.early: list[Attended] = []
        self.closed = 0
        self._clock = clock

    def attend(self, event: Attended) -> None:
        self.seen.append(event)
        match event:
            case AudioBlock():
                available = event.offset
            case VideoFrame():
                available = event.time
            case _:
                return
        if self._clock.now() < available:
            self.early.append(event)

    async def close(self) -> None:
        self.closed += 1

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        yield Answer(turn=query.turn, referents=(), frame_time=0.0, text=f"turn {query.turn}")


def hear_speech(event: AudioBlock) -> list[Any]:
    """A word at every half second, inside an utterance of its own."""
    words = hear(event)
    if not words:
        return []
    (word,) = words
    return [
        SpeechStart(utterance=0, onset=word.onset),
        word,
        SpeechEnd(utterance=0, offset=word.offset),
    ]


def a_session(model: Any, clock: Clock, pace: Pace, lines: list[str], **more: Any) -> Session:
    turns = iter(range(100))

    def ask(word: Word) -> list[Query]:
        return [Query(turn=next(turns), asked_at=word.offset, task=Task(), pointed=())]

    return Session(
        hearing=Chain([("hear", Says(AudioBlock, more.pop("hear", hear_speech)))]),
        seeing=Chain([("see", Says(VideoFrame, see))]),
        understanding=Chain([("ask", Says(Word, ask))]),
        model=model,
        clock=clock,
        pace=pace,
        recorder=Recorder(lines.append, clock=clock, pace=pace),
        attending=model,
    )


async def test_model_is_shown_all_of_the_stream_in_order_and_nothing_early() -> None:
    clock = RealtimeClock()
    model = Follower(clock)
    session = a_session(model, clock, "realtime", [])
    events = clip(1.2)
    await session.run(events)
    stream = [event for event in model.seen if isinstance(event, AudioBlock | VideoFrame)]
    assert stream == events
    assert model.early == []
    marks = [event for event in model.seen if isinstance(event, SpeechStart | SpeechEnd)]
    assert [type(mark).__name__ for mark in marks] == ["SpeechStart", "SpeechEnd"] * 2
    assert model.closed == 1
    assert session.counters.counts["followed"] == 1


async def test_model_is_closed_when_the_stream_breaks() -> None:
    def torn() -> Iterator[Any]:
        yield from clip(0.2)
        raise OSError("the disk is gone")

    clock = RealtimeClock()
    model = Follower(clock)
    with pytest.raises(BaseExceptionGroup):
        await a_session(model, clock, "realtime", []).run(torn())
    assert model.closed == 1


async def test_fast_pace_is_refused_in_one_line() -> None:
    clock = FastClock()
    model = Follower(clock)
    with pytest.raises(ModelError, match=r"^follower follows .* use --pace realtime$"):
        await a_session(model, clock, "fast", []).run(clip(0.2))
    assert model.seen == []


async def test_live_model_answers_in_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiLiveStandIn(
        Said(pieces=(MUG[:50], MUG[50:]), pause=0.02), folder=tmp_path
    ) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        model = GeminiLiveModel(
            WRITES, key=KEY, base_url=server.url, settings=LiveSettings(resume_after=0.05)
        )
        lines: list[str] = []
        session = a_session(model, RealtimeClock(), "realtime", lines, hear=hear)
        await session.run(clip(1.2))
    trace = [json.loads(line) for line in lines]
    finals = [line for line in of_type(trace, "Answer") if line["final"]]
    assert finals[-1]["turn"] == 1
    assert {line["model"] for line in finals} == {f"gemini-live:{WRITES}"}
    assert not of_type(trace, "ModelFailed")
    sound = np.frombuffer(b"".join(one.sound for one in server.connections), "<i2")
    assert len(sound) == sum(len(one.samples) for one in clip(1.2) if isinstance(one, AudioBlock))
    counts = session.counters.counts
    assert len(finals) + counts.get("answers_superseded", 0) == 2
    assert counts["live_pictures_sent"] + counts.get("live_pictures_replaced", 0) == 2
    assert KEY not in "".join(lines)


async def test_failure_of_a_live_model_is_recorded_and_the_stream_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiLiveStandIn(Said(pieces=(MUG,)), folder=tmp_path) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        model = GeminiLiveModel(WRITES, key="another", base_url=server.url)
        lines: list[str] = []
        await a_session(model, RealtimeClock(), "realtime", lines, hear=hear).run(clip(1.2))
    trace = [json.loads(line) for line in lines]
    failed = of_type(trace, "ModelFailed")
    assert failed
    assert all("refuses the key" in line["text"] for line in failed)
    assert "another" not in "".join(lines)
    assert len(of_type(trace, "HandsSeen")) == 36


def test_live_model_is_known_by_its_name() -> None:
    assert model_name("gemini-live:some-model") == ("gemini-live", "some-model")
    with pytest.raises(ModelError, match="gemini-live:NAME"):
        model_name("gemini-live")


def test_records_name_the_settings_of_a_live_model() -> None:
    files = describe_settings(EngineSettings(model="gemini-live:some-model"))["files"]
    assert {"gemini_live.toml", "prompt_live.toml"} <= set(files)
    assert "gemini_live.toml" not in describe_settings(EngineSettings())["files"]


def test_live_model_is_opened_from_the_environment() -> None:
    keys = {"GOOGLE_API_KEY": f" {KEY}\n", "GOOGLE_GEMINI_BASE_URL": "https://127.0.0.1:9"}
    model = open_live("some-model", keys=keys, language="zh")
    assert model.name == "gemini-live:some-model"
    assert isinstance(model, Attending)
    with pytest.raises(ModelError, match="set GEMINI_API_KEY"):
        open_live("some-model", keys={}, language="en")
    with pytest.raises(ModelError, match="password"):
        open_live("x", keys={"GOOGLE_GEMINI_BASE_URL": "https://a:b@c"}, language="en")
