"""Gemini's Live API, through the real client library, against a server that speaks its protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.genai import types
from google.genai._live_converters import _LiveServerMessage_from_mldev

from streaming.asking.endpoint import (
    AttemptFailed,
    Blocked,
    EmptyReply,
    Overloaded,
    Rejected,
    ServerFault,
    TooSlow,
    Unreachable,
)
from streaming.events import Answer, AudioBlock, SpeechEnd, SpeechStart, VideoFrame, Word
from streaming.grounding import Query, Task
from streaming.grounding_choice import Pointed
from streaming.grounding_frames import View, decoded
from streaming.models.gemini_live import GeminiLiveModel
from streaming.models.gemini_live_settings import LiveSettings
from tests.standins.gemini_live import KEY, PATH, GeminiLiveStandIn, Said, camel, every_message

WRITES = "gemini-live-2.5-flash-preview"
SPEAKS = "gemini-2.5-flash-native-audio-preview-12-2025"
THIRD = "gemini-3.1-flash-live-preview"
MUG = json.dumps(
    {
        "reasoning": "The finger is on it.",
        "explicit_command": "Take the mug.",
        "selected_options": ["A"],
        "point_list": [
            {
                "type": "target_object",
                "description": "mug",
                "point": [500, 250],
                "timestamp": 1200,
            }
        ],
    }
)
PIECES = (MUG[:60], MUG[60:-2], MUG[-2:])
QUICK = LiveSettings(
    connect_within=3.0,
    answer_within=2.0,
    settle_within=1.0,
    resume_after=0.05,
    leave_before=0.1,
    audio_held=1.0,
)

pytestmark = pytest.mark.threads

Server = Callable[..., contextlib.AbstractContextManager[GeminiLiveStandIn]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificate")


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Starts a stand-in that the client library trusts."""

    @contextlib.contextmanager
    def start(*said: Said, **more: Any) -> Iterator[GeminiLiveStandIn]:
        made = GeminiLiveStandIn(*said, folder=folder, **more)
        monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
        with made:
            yield made

    return start


@contextlib.asynccontextmanager
async def live(
    url: str, model: str = WRITES, *, key: str = KEY, settings: LiveSettings = QUICK
) -> AsyncIterator[GeminiLiveModel]:
    made = GeminiLiveModel(model, key=key, base_url=url, settings=settings)
    try:
        yield made
    finally:
        await made.close()


def query(turn: int = 0, *, at: float = 1.5, last: View | None = None) -> Query:
    return Query(
        turn=turn,
        asked_at=at,
        task=Task(object_choices=("A. Mug", "B. Cup"), referents=1),
        pointed=(Pointed(kind="object", time=1.2, stroke=0, probability=0.9),),
        words=(Word(text="this", onset=1.0, offset=1.3),),
        last=last,
    )


def block(number: int) -> AudioBlock:
    return AudioBlock(onset=number * 0.032, samples=np.full(512, number / 1000, np.float32))


def frame(time: float, value: int = 0) -> VideoFrame:
    return VideoFrame(time=time, image=np.full((48, 64, 3), value, np.uint8))


async def answers(model: GeminiLiveModel, asked: Query) -> list[Answer]:
    return [answer async for answer in model.ground(asked)]


async def until(holds: Callable[[], bool], *, within: float = 3.0) -> None:
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110 - what it waits for happens in another thread
            await asyncio.sleep(0.005)


def test_server_messages_are_those_that_the_library_knows() -> None:
    for message in every_message():
        known = types.LiveServerMessage._from_response(
            response=_LiveServerMessage_from_mldev(message), kwargs={}
        )
        again = known.model_dump(mode="json", by_alias=True, exclude_none=True)
        assert camel(again) == message


# --- turns -----------------------------------------------------------------------------------


async def test_answer_streams_and_ends(server: Server) -> None:
    with server(Said(pieces=PIECES, pause=0.02)) as standin:
        async with live(standin.url) as model:
            *partial, final = await answers(model, query(7))
    assert partial
    assert not any(answer.final for answer in partial)
    assert (final.final, final.turn, final.raw) == (True, 7, MUG)
    assert (final.text, final.reasoning) == ("Take the mug.", "The finger is on it.")
    (mug,) = final.referents
    assert (mug.label, mug.point, mug.time, mug.stroke) == ("A", (0.25, 0.5), 1.2, 0)
    assert model.counters.counts["live_tokens_sent"] == 120


async def test_hanging_up_waits_for_what_the_last_answer_cost(server: Server) -> None:
    with server(Said(pieces=(MUG,), ends_after=0.2)) as standin:
        async with live(standin.url) as model:
            await answers(model, query())
    assert model.counters.counts["live_tokens_sent"] == 120
    assert model.counters.counts["live_tokens_written"] == 30


async def test_hanging_up_waits_no_longer_than_a_turn_may_take_to_end(server: Server) -> None:
    with server(Said(pieces=(MUG,), ends_after=60.0)) as standin:
        async with live(standin.url) as model:
            await answers(model, query())
            async with asyncio.timeout(10):
                await model.close()
    assert "live_tokens_sent" not in model.counters.counts


async def test_setup_says_what_the_session_needs(server: Server) -> None:
    with server(Said(pieces=PIECES)) as standin:
        async with live(standin.url) as model:
            await answers(model, query())
    (heard,) = standin.connections
    assert (heard.path, heard.key) == (PATH, KEY)
    setup = heard.setup
    assert setup["model"] == f"models/{WRITES}"
    assert setup["generationConfig"] == {"responseModalities": ["TEXT"], "temperature": 0.0}
    assert setup["realtimeInputConfig"]["automaticActivityDetection"] == {"disabled": True}
    assert setup["sessionResumption"] == {}
    assert setup["contextWindowCompression"] == {"slidingWindow": {}}
    assert "outputAudioTranscription" not in setup


async def test_receiving_goes_on_across_turns(server: Server) -> None:
    said = [Said(pieces=(MUG.replace("mug", f"mug {k}"),)) for k in range(4)]
    with server(*said) as standin:
        async with live(standin.url) as model:
            for turn in range(4):
                final = (await answers(model, query(turn)))[-1]
                assert final.referents[0].description == f"mug {turn}"
    assert len(standin.connections) == 1


async def test_sound_and_pictures_go_out_in_order_and_at_their_rate(server: Server) -> None:
    last = View(time=2.4, image=np.full((48, 64, 3), 200, np.uint8))
    with server(Said(pieces=PIECES)) as standin:
        async with live(standin.url) as model:
            model.attend(frame(0.0))
            await until(lambda: bool(standin.connections and standin.connections[0].pictures))
            for number in range(80):
                model.attend(block(number))
                model.attend(frame(number * 0.032))
                await asyncio.sleep(0.001)
            await answers(model, query(at=2.5, last=last))
    (heard,) = standin.connections
    samples = np.frombuffer(heard.sound, "<i2").reshape(80, 512)
    assert (samples == np.round(np.arange(80) / 1000 * 32767)[:, None]).all()
    assert len(heard.pictures) == 4  # at 0, 1 and 2 s, and the one that points shall lie on
    assert all(jpeg.startswith(b"\xff\xd8") for jpeg in heard.pictures)
    content = [message for message in heard.messages if "clientContent" in message]
    assert heard.messages[-1] == content[0]
    assert "video" in heard.messages[-2]["realtimeInput"]
    assert "this 1000 1300" in content[0]["clientContent"]["turns"][0]["parts"][0]["text"]


async def test_newest_picture_replaces_one_that_waits(server: Server) -> None:
    with server(Said(pieces=PIECES)) as standin:
        async with live(standin.url) as model:
            for second in range(3):
                model.attend(frame(float(second), 100 * second))
            await answers(model, query())
    assert len(standin.connections[0].pictures) == 1
    assert model.counters.counts["live_pictures_replaced"] == 2


async def test_model_that_speaks_is_read_from_its_transcription(server: Server) -> None:
    said = Said(pieces=("You mean ", "option A, the mug."), pause=0.02, spoken=True)
    with server(said) as standin:
        async with live(standin.url, SPEAKS) as model:
            *partial, final = await answers(model, query())
    setup = standin.connections[0].setup
    assert setup["generationConfig"]["responseModalities"] == ["AUDIO"]
    assert setup["outputAudioTranscription"] == {}
    assert partial[0].text == "You mean"
    assert final.text == final.raw == "You mean option A, the mug."
    assert [(one.label, one.time, one.point) for one in final.referents] == [("A", 1.2, None)]


async def test_third_generation_is_asked_inside_an_activity(server: Server) -> None:
    with server(Said(pieces=(MUG,), spoken=True)) as standin:
        async with live(standin.url, THIRD) as model:
            model.attend(SpeechStart(utterance=0, onset=0.5))
            model.attend(block(0))
            model.attend(SpeechEnd(utterance=0, offset=1.0))
            first = (await answers(model, query()))[-1]
            second = (await answers(model, query(1)))[-1]
    assert first.referents[0].label == second.referents[0].label == "A"
    inputs = [next(iter(one["realtimeInput"])) for one in standin.connections[0].messages]
    question = ["text", "activityEnd"]
    assert inputs == ["activityStart", "audio", *question, "activityStart", *question]


async def given_up(model: GeminiLiveModel, asked: Query, standin: GeminiLiveStandIn) -> None:
    """Ask, and give the question up when the server has begun to answer."""
    asking = asyncio.create_task(answers(model, asked))
    await until(lambda: bool(standin.connections and standin.connections[0].known))
    await asyncio.sleep(0.15)
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking


async def test_picture_of_a_question_is_not_replaced_by_a_newer_one(server: Server) -> None:
    last = View(time=1.4, image=np.full((48, 64, 3), 200, np.uint8))
    with server(Said(pieces=(MUG,))) as standin:
        async with live(standin.url) as model:
            asking = asyncio.create_task(answers(model, query(last=last)))
            await asyncio.sleep(0)
            model.attend(frame(2.0, 10))
            await asking
            await until(lambda: len(standin.connections[0].pictures) == 2)
    (heard,) = standin.connections
    kinds = [next(iter(one.get("realtimeInput", one))) for one in heard.messages]
    assert kinds == ["video", "clientContent", "video"]
    levels = [int(decoded(jpeg).mean()) for jpeg in heard.pictures]
    assert levels == pytest.approx([200, 10], abs=3)


async def test_server_that_detects_speech_gets_no_activities(server: Server) -> None:
    settings = LiveSettings(server_detects_speech=True, transcribe_input=True)
    with server(Said(pieces=(MUG,), spoken=True)) as standin:
        async with live(standin.url, THIRD, settings=settings) as model:
            model.attend(SpeechStart(utterance=0, onset=0.5))
            await answers(model, query())
    (heard,) = standin.connections
    assert [list(one["realtimeInput"]) for one in heard.messages] == [["text"]]
    detection = heard.setup["realtimeInputConfig"]["automaticActivityDetection"]
    assert detection == {"disabled": False}
    assert heard.setup["inputAudioTranscription"] == {}


# --- interruption ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [WRITES, THIRD])
async def test_newer_question_interrupts_and_gets_nothing_of_the_old_answer(
    server: Server, name: str
) -> None:
    spoken = name == THIRD
    old = Said(pieces=("old ",) * 50, pause=0.05, spoken=spoken)
    with server(old, Said(pieces=(MUG,), spoken=spoken)) as standin:
        async with live(standin.url, name) as model:
            await given_up(model, query(0), standin)
            final = (await answers(model, query(1)))[-1]
    assert final.raw == MUG
    assert standin.connections[0].interrupted == 1
    assert model.counters.counts["live_answers_interrupted"] == 1
    assert "live_turns_without_end" not in model.counters.counts


async def test_speech_interrupts_and_the_question_is_put_again_when_none_follows(
    server: Server,
) -> None:
    slow = Said(pieces=('{"point_list": [{"point": [1, 2], "timestamp": 3}, ',), fault="silence")
    with server(slow, Said(pieces=(MUG,))) as standin:
        async with live(standin.url) as model:
            said: list[Answer] = []

            async def ask() -> None:
                async for answer in model.ground(query()):
                    said.append(answer)

            asking = asyncio.create_task(ask())
            await until(lambda: bool(said))
            model.attend(SpeechStart(utterance=1, onset=2.0))
            await asyncio.sleep(0.2)
            assert not [answer for answer in said if answer.final]
            model.attend(SpeechEnd(utterance=1, offset=2.2))
            await asking
    assert said[-1].final
    assert said[-1].raw == MUG
    counts = model.counters.counts
    assert (counts["live_answers_interrupted"], counts["live_answers_resumed"]) == (1, 1)
    assert standin.connections[0].interrupted == 1


async def test_answer_that_cannot_be_stopped_is_not_taken_for_the_next_one(server: Server) -> None:
    settings = LiveSettings(settle_within=0.05, connect_within=3.0)
    stubborn = Said(pieces=("old ", "answer"), pause=0.4, deaf=True)
    with server(stubborn, Said(pieces=(MUG,))) as standin:
        async with live(standin.url, settings=settings) as model:
            await given_up(model, query(0), standin)
            assert (await answers(model, query(1)))[-1].raw == MUG
    assert len(standin.connections) == 2
    assert model.counters.counts["live_turns_without_end"] == 1


# --- connections -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["cut", "malformed", "list", "close"])
async def test_answer_under_which_the_connection_broke_is_asked_for_again(
    server: Server, fault: Any
) -> None:
    with server(
        Said(pieces=(MUG,)), Said(pieces=(MUG[:90],), fault=fault), Said(pieces=(MUG,))
    ) as standin:
        async with live(standin.url) as model:
            await answers(model, query(0))
            final = (await answers(model, query(1)))[-1]
    assert final.raw == MUG
    first, second = standin.connections
    assert first.handle is None
    assert second.handle is not None
    assert len(second.known) == 2  # the first question, which the handle kept, and the second
    assert model.counters.counts["live_questions_repeated"] == 1
    assert "live_context_lost" not in model.counters.counts


async def test_lost_context_is_counted_when_there_is_no_handle(server: Server) -> None:
    with server(Said(fault="cut"), Said(pieces=(MUG,)), handles=False) as standin:
        async with live(standin.url) as model:
            assert (await answers(model, query()))[-1].raw == MUG
    assert [heard.handle for heard in standin.connections] == [None, None]
    assert model.counters.counts["live_context_lost"] == 1


async def test_handle_that_is_refused_gives_way_to_a_new_session(server: Server) -> None:
    with server(Said(fault="cut"), Said(pieces=(MUG,)), honours=False) as standin:
        async with live(standin.url) as model:
            assert (await answers(model, query()))[-1].raw == MUG
    assert [heard.handle for heard in standin.connections] == [None, "handle-0", None]
    assert model.counters.counts["live_context_lost"] == 1


async def test_connection_is_left_before_it_ends_and_no_sound_is_lost(server: Server) -> None:
    with server(Said(pieces=(MUG,), go_away=0.4), Said(pieces=(MUG,))) as standin:
        async with live(standin.url) as model:
            await answers(model, query(0))
            for number in range(60):
                model.attend(block(number))
                await asyncio.sleep(0.01)
            assert (await answers(model, query(1)))[-1].raw == MUG
            await until(lambda: sum(len(one.sound) for one in standin.connections) >= 60 * 1024)
    first, second = standin.connections
    assert second.handle is not None
    assert first.sound + second.sound == b"".join(
        np.full(512, round(number / 1000 * 32767), "<i2").tobytes() for number in range(60)
    )
    counts = model.counters.counts
    assert (counts["live_go_aways"], counts["live_connections"]) == (1, 2)
    assert "live_questions_repeated" not in counts


async def test_answer_that_outlasts_the_connection_is_asked_for_again(server: Server) -> None:
    long = Said(pieces=("a",) * 40, pause=0.05, go_away=0.3)
    with server(long, Said(pieces=(MUG,))) as standin:
        async with live(standin.url) as model:
            assert (await answers(model, query()))[-1].raw == MUG
    assert [heard.handle for heard in standin.connections] == [None, "handle-0"]
    assert model.counters.counts["live_questions_repeated"] == 1


async def test_message_of_an_unknown_kind_is_counted_and_passed_over(server: Server) -> None:
    with server(Said(pieces=(MUG,), fault="unknown")) as standin:
        async with live(standin.url) as model:
            assert (await answers(model, query()))[-1].raw == MUG
    assert model.counters.counts["live_messages_unknown"] == 1


# --- failures --------------------------------------------------------------------------------


def one_line_without_key(caught: pytest.ExceptionInfo[AttemptFailed], *, key: str = KEY) -> str:
    text = str(caught.value)
    assert "\n" not in text
    assert key not in text
    assert text.startswith("gemini-live:")
    return text


async def test_wrong_key_is_refused_in_one_line_without_it(server: Server) -> None:
    with server(Said(pieces=(MUG,))) as standin:
        async with live(standin.url, key="wrong-key-123") as model:
            model.attend(block(0))
            with pytest.raises(Rejected) as caught:
                await answers(model, query())
            with pytest.raises(Rejected):
                await model.check()
    text = one_line_without_key(caught, key="wrong-key-123")
    assert "check GEMINI_API_KEY" in text
    assert "wrong-key-123" not in repr(model)


async def test_check_opens_a_session(server: Server) -> None:
    with server(Said(pieces=(MUG,))) as standin:
        async with live(standin.url) as model:
            assert (await model.check()).endswith("opens a session")


@pytest.mark.parametrize(
    ("code", "why", "kind"),
    [
        (1007, "Request contains an invalid argument.", Rejected),
        (1008, "models/x is not found for API version v1beta", Rejected),
        (1011, "Internal error encountered.", ServerFault),
        (1011, "You exceeded your current quota, please check your plan.", "overloaded"),
        (1013, "", "overloaded"),
        (1000, "", Unreachable),
    ],
)
async def test_closing_is_told_apart(server: Server, code: int, why: str, kind: Any) -> None:
    settings = LiveSettings(attempts=1, connect_within=3.0)
    with server(Said(pieces=(MUG,)), refuse=(code, why)) as standin:
        async with live(standin.url, settings=settings) as model:
            with pytest.raises(AttemptFailed) as caught:
                await answers(model, query())
    assert caught.value.kind == (kind if isinstance(kind, str) else kind.kind)
    assert why in one_line_without_key(caught)


async def test_server_that_goes_on_failing_is_given_up(server: Server) -> None:
    settings = LiveSettings(attempts=2, connect_within=3.0)
    with server(Said(pieces=("x",), fault="close")) as standin:
        async with live(standin.url, settings=settings) as model:
            with pytest.raises(ServerFault, match="1011"):
                await answers(model, query())
    assert len(standin.connections) == 2


@pytest.mark.parametrize("said", [Said(fault="silence"), Said(pieces=("a",) * 99, pause=0.05)])
async def test_slow_and_silent_models_are_given_up(server: Server, said: Said) -> None:
    settings = LiveSettings(answer_within=0.4, connect_within=3.0)
    with server(said) as standin:
        async with live(standin.url, settings=settings) as model:
            before = time.monotonic()
            with pytest.raises(TooSlow) as caught:
                await answers(model, query())
    assert time.monotonic() - before < 2.5
    one_line_without_key(caught)


async def test_refused_content_and_empty_answers_are_told_apart(server: Server) -> None:
    with server(Said(reason="PROHIBITED_INPUT_CONTENT"), Said()) as standin:
        async with live(standin.url) as model:
            with pytest.raises(Blocked, match="PROHIBITED_INPUT_CONTENT"):
                await answers(model, query())
            with pytest.raises(EmptyReply, match="without a word"):
                await answers(model, query(1))


async def test_without_a_server_the_oldest_sound_goes_and_is_counted() -> None:
    settings = LiveSettings(attempts=1, audio_held=0.1, connect_within=1.0)
    async with live("https://127.0.0.1:9", settings=settings) as model:
        for number in range(10):
            model.attend(block(number))
        with pytest.raises(Unreachable) as caught:
            await answers(model, query())
    assert "check the network" in one_line_without_key(caught)
    assert model.counters.counts["live_sound_dropped"] == 7


async def test_line_that_was_given_up_is_tried_again_by_a_question_and_not_by_sound(
    server: Server,
) -> None:
    settings = LiveSettings(attempts=1, connect_within=3.0)
    with server(Said(pieces=(MUG,)), refuse=(1013, "later")) as standin:
        async with live(standin.url, settings=settings) as model:
            for turn in range(2):
                with pytest.raises(Overloaded):
                    await answers(model, query(turn))
                for number in range(5):
                    model.attend(block(number))
                    await asyncio.sleep(0.01)
    assert len(standin.connections) == 2


async def test_key_is_in_no_log(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with server(Said(pieces=(MUG,))) as standin:
        async with live(standin.url) as model:
            await answers(model, query())
    assert not [
        record
        for record in caplog.records
        if KEY in record.getMessage() and record.name != "websockets.server"  # the stand-in's own
    ]


@pytest.mark.parametrize(
    ("key", "url", "why"),
    [("", "https://127.0.0.1:9", "needs a key"), (KEY, "http://127.0.0.1:9", "https://")],
)
def test_model_without_key_or_tls_is_refused(key: str, url: str, why: str) -> None:
    with pytest.raises(Rejected, match=why):
        GeminiLiveModel(WRITES, key=key, base_url=url)
