"""The endpoint of OpenAI-compatible servers, through the real library and a real socket."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.asking.endpoint import (
    AttemptFailed,
    Blocked,
    Completion,
    EmptyReply,
    Exhausted,
    Generation,
    Overloaded,
    Rejected,
    ServerFault,
    TextPiece,
    TokenChance,
    TooSlow,
    Unreachable,
    Usage,
)
from streaming.asking.request import FilmPart, Part, PicturePart, Request, TextPart
from streaming.grounding_query import ModelError
from streaming.models.openai_body import refused_feature
from streaming.models.openai_chat import OpenAiEndpoint
from streaming.models.openai_failures import Server, wait_asked
from streaming.models.openai_reading import Reading
from tests.standins.faults import Fault
from tests.standins.http_server import Asked, Cut, HttpStandIn, Pause, Told
from tests.standins.openai_chat import (
    GOOD_TEXT,
    MODEL,
    OpenAiStandIn,
    Reply,
    event,
    request_digest,
)

pytestmark = pytest.mark.threads

KEY = "sk-thisKeyIsSecret0123456789"
JPEG = b"\xff\xd8\xff\xe0 a picture"
SCHEMA = {
    "type": "object",
    "properties": {"selected_options": {"type": "array", "items": {"type": "string"}}},
    "required": ["selected_options"],
    "additionalProperties": False,
}


def request(*parts: Part, schema: dict[str, Any] | None = SCHEMA) -> Request:
    return Request(
        system="Answer in JSON.",
        parts=parts or (TextPart(text="Which one?"), PicturePart(jpeg=JPEG, until=1.0)),
        schema=schema,
        interface="frames",
        prompt="en/1",
        words="ours",
        asked_at=2.0,
    )


@asynccontextmanager
async def endpoint(
    url: str, *, key: str | None = None, model: str = MODEL, **more: Any
) -> AsyncIterator[OpenAiEndpoint]:
    opened = OpenAiEndpoint(model, key=key, base_url=url, **more)
    try:
        yield opened
    finally:
        await opened.aclose()


async def answer_of(
    opened: OpenAiEndpoint, asked: Request | None = None, **generation: Any
) -> Completion:
    """The completion; the pieces must add up to it."""
    pieces: list[str] = []
    async for told in opened.stream(asked or request(), Generation(**{"within": 5.0} | generation)):
        if isinstance(told, Completion):
            assert "".join(pieces) == told.text
            return told
        pieces.append(told.text)
    raise AssertionError("no completion came")


async def failure_of(opened: OpenAiEndpoint, **generation: Any) -> AttemptFailed:
    with pytest.raises(AttemptFailed) as failed:
        await answer_of(opened, **generation)
    assert "\n" not in str(failed.value)
    return failed.value


def raw(told: Told) -> Callable[[dict[str, Any]], Told]:
    return lambda body: told


def events(*chunks: bytes, status: int = 200) -> Told:
    headers = {"Content-Type": "text/event-stream"}
    return Told(status=status, headers=headers, steps=chunks, chunked=True)


def delta(text: str, finish: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


def refusal(status: int, error: object, **headers: str) -> Told:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": error}).encode()
    return Told(status=status, headers={"Content-Type": "application/json"} | named, steps=[body])


@pytest.fixture
def server() -> Iterator[OpenAiStandIn]:
    with OpenAiStandIn() as opened:
        yield opened


# --- good answers


async def test_text_comes_in_pieces_and_then_whole(server: OpenAiStandIn) -> None:
    async with endpoint(server.url) as opened:
        told = [piece async for piece in opened.stream(request(), Generation())]
    assert isinstance(told[0], TextPiece)
    assert len(told) > 5
    last = told[-1]
    assert isinstance(last, Completion)
    assert (last.text, last.finish, last.served_by) == (GOOD_TEXT, "stop", MODEL)
    assert last.usage.sent > 0
    assert last.usage.cached == last.usage.sent // 2
    assert last.usage.written == 13


async def test_request_is_sent_as_the_protocol_has_it(server: OpenAiStandIn) -> None:
    async with endpoint(server.url) as opened:
        await answer_of(opened, detail="high", max_tokens=77)
    (body,) = server.bodies
    assert body["messages"] == [
        {"role": "system", "content": "Answer in JSON."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Which one?"},
                {
                    "type": "image_url",
                    "image_url": {
                        "url": "data:image/jpeg;base64," + base64.b64encode(JPEG).decode(),
                        "detail": "high",
                    },
                },
            ],
        },
    ]
    assert (body["temperature"], body["max_tokens"]) == (0.0, 77)
    assert body["stream_options"] == {"include_usage": True}
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert body["response_format"]["json_schema"]["strict"] is True
    assert "logprobs" not in body
    assert "reasoning_effort" not in body


async def test_open_schema_is_not_asked_for_strictly(server: OpenAiStandIn) -> None:
    schema = {"type": "object", "properties": {"a": SCHEMA, "b": {"type": "string"}}}
    async with endpoint(server.url) as opened:
        await answer_of(opened, request(schema=schema))
    assert server.bodies[0]["response_format"]["json_schema"]["strict"] is False


async def test_texts_alone_go_as_one_string_and_free_text_without_format(
    server: OpenAiStandIn,
) -> None:
    texts = (TextPart(text="one"), TextPart(text="two"))
    async with endpoint(server.url) as opened:
        await answer_of(opened, request(*texts, schema=None))
        await answer_of(opened, request(*texts), json_mode=False)
    for body in server.bodies:
        assert body["messages"][1]["content"] == "one\ntwo"
        assert "response_format" not in body


async def test_film_goes_as_video_url_where_it_is_taken(server: OpenAiStandIn) -> None:
    film = FilmPart(content=b"\0\0\0\x18ftyp", until=1.5)
    async with endpoint(server.url, takes_films=True) as opened:
        await answer_of(opened, request(TextPart(text="Look."), film))
    sent = server.bodies[0]["messages"][1]["content"][1]
    encoded = base64.b64encode(film.content).decode()
    assert sent == {
        "type": "video_url",
        "video_url": {"url": f"data:video/mp4;base64,{encoded}"},
    }


async def test_film_is_not_sent_to_a_server_that_takes_none(server: OpenAiStandIn) -> None:
    async with endpoint(server.url) as opened:
        with pytest.raises(Rejected, match="films are not sent"):
            await answer_of(opened, request(FilmPart(content=b"film", until=1.5)))
    assert server.asked == []


async def test_log_probabilities_come_when_asked_for(server: OpenAiStandIn) -> None:
    async with endpoint(server.url) as opened:
        assert (await answer_of(opened)).chances == ()
        chances = (await answer_of(opened, logprobs=True)).chances
    assert "".join(chance.token for chance in chances) == GOOD_TEXT
    assert chances[0] == TokenChance(token=GOOD_TEXT[:6], logprob=-0.25)


@pytest.mark.parametrize("lacks", [(), ("stream",)])
async def test_thoughts_are_counted_and_are_no_text(lacks: tuple[str, ...]) -> None:
    reply = Reply(text="<think>b</think>C", thoughts="a long thought before it")
    with OpenAiStandIn(lambda body: reply, lacks=lacks) as server:
        async with endpoint(server.url) as opened:
            completion = await answer_of(opened, thinking_budget=0)
    assert completion.text == "<think>b</think>C"
    assert (completion.usage.thought, completion.usage.written) == (4, 3)
    assert server.bodies[0]["reasoning_effort"] == "none"


async def test_server_that_does_not_stream_is_read_all_the_same() -> None:
    with OpenAiStandIn(lacks=("stream",)) as server:
        async with endpoint(server.url) as opened:
            completion = await answer_of(opened, logprobs=True)
    assert completion.text == GOOD_TEXT
    assert len(completion.chances) == 13


async def test_answer_cut_off_at_the_longest_is_told_by_its_finish() -> None:
    with OpenAiStandIn(lambda body: Fault.TRUNCATED) as server:
        async with endpoint(server.url) as opened:
            completion = await answer_of(opened)
    assert completion.finish == "length"
    assert GOOD_TEXT.startswith(completion.text)


async def test_text_that_is_whole_is_kept_when_the_connection_breaks_after_it() -> None:
    told = events(delta("Whole."), delta("", "stop"))
    told = Told(headers=told.headers, steps=[*told.steps, Cut()], chunked=True)
    with OpenAiStandIn(raw(told)) as server:
        async with endpoint(server.url) as opened:
            assert (await answer_of(opened)).text == "Whole."


async def test_done_without_a_reason_is_an_end() -> None:
    with OpenAiStandIn(lambda body: Reply(finish=None)) as server:
        async with endpoint(server.url) as opened:
            assert (await answer_of(opened)).finish == "stop"


async def test_done_in_the_text_is_no_end() -> None:
    with OpenAiStandIn(raw(events(delta("data: [DONE]\ndata: [DONE]\n")))) as server:
        async with endpoint(server.url) as opened:
            assert isinstance(await failure_of(opened), Unreachable)


async def test_many_answers_come_at_once(server: OpenAiStandIn) -> None:
    asked = [request(TextPart(text=f"Number {number}?")) for number in range(8)]
    async with endpoint(server.url) as opened:
        completions = await asyncio.gather(*(answer_of(opened, each) for each in asked))
    assert [completion.text for completion in completions] == [GOOD_TEXT] * 8
    assert sorted(server.paid.values()) == [1] * 8
    assert set(server.paid) == {request_digest(body) for body in server.bodies}


# --- what servers lack


@pytest.mark.parametrize(
    ("lacks", "left_out", "tries"),
    [
        ({"stream_options"}, {"stream_options": 1}, 2),
        ({"json_schema"}, {"json_schema": 1}, 2),
        ({"response_format"}, {"json_schema": 1, "json_object": 1}, 3),
        ({"logprobs"}, {"logprobs": 1}, 2),
        ({"max_tokens", "temperature"}, {"max_tokens": 1, "temperature": 1}, 3),
        ({"reasoning_effort"}, {"reasoning_effort": 1}, 2),
        (
            {"stream_options", "response_format", "logprobs", "max_tokens", "temperature"},
            dict.fromkeys(
                (
                    "stream_options",
                    "json_schema",
                    "json_object",
                    "logprobs",
                    "max_tokens",
                    "temperature",
                ),
                1,
            ),
            7,
        ),
    ],
)
async def test_what_a_server_refuses_is_left_out_and_remembered(
    lacks: set[str], left_out: dict[str, int], tries: int
) -> None:
    with OpenAiStandIn(lacks=lacks) as server:
        async with endpoint(server.url) as opened:
            first = await answer_of(opened, logprobs=True, thinking_budget=0)
            assert len(server.bodies) == tries
            await answer_of(opened, logprobs=True, thinking_budget=0)
    assert len(server.bodies) == tries + 1
    assert opened.left_out == left_out
    assert first.text == GOOD_TEXT
    assert sum(server.paid.values()) == 2
    assert (first.usage == Usage()) == ("stream_options" in lacks)
    assert ("max_completion_tokens" in server.bodies[-1]) == ("max_tokens" in lacks)


async def test_refusal_of_a_value_is_no_lack_of_the_field() -> None:
    text = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens."
    told = refusal(400, {"message": text, "param": "max_tokens", "code": "invalid_value"})
    with OpenAiStandIn(raw(told)) as server:
        async with endpoint(server.url) as opened:
            failed = await failure_of(opened)
    assert isinstance(failed, Rejected)
    assert "at most 4096" in str(failed)
    assert len(server.bodies) == 1


def test_unread_body_is_not_blamed_on_the_format() -> None:
    body = {"response_format": {"type": "json_schema"}, "max_tokens": 5}
    assert refused_feature("could not parse the JSON body of your request", body) is None
    assert refused_feature("messages must contain the word 'json'", body) == "json_schema"


# --- what goes wrong


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        (Fault.SLOW, TooSlow, "no whole answer within 0.4 s"),
        (Fault.CUT, Unreachable, "the connection broke"),
        (Fault.RESET, Unreachable, "the connection broke"),
        (Fault.MALFORMED, ServerFault, "what came is no"),
        (Fault.TOO_MANY, Overloaded, "too many requests"),
        (Fault.TOO_MANY_RETRY_AFTER, Overloaded, "too many requests"),
        (Fault.SERVER_ERROR, ServerFault, "the server failed (500): The server had an error."),
        (Fault.BLOCKED, Blocked, "content filter"),
        (Fault.EMPTY, EmptyReply, "without text"),
        (Fault.WRONG_TYPE, ServerFault, "a web page came"),
    ],
)
@pytest.mark.parametrize("lacks", [(), ("stream",)])
async def test_fault_is_told_by_its_kind(
    fault: Fault, kind: type[AttemptFailed], says: str, lacks: tuple[str, ...]
) -> None:
    with OpenAiStandIn(lambda body: fault, lacks=lacks) as server:
        async with endpoint(server.url, key=KEY) as opened:
            failed = await failure_of(opened, within=0.4 if fault is Fault.SLOW else 10.0)
    assert type(failed) is kind
    assert says in str(failed)
    assert server.url in str(failed)
    assert failed.retry_after == (1.0 if fault is Fault.TOO_MANY_RETRY_AFTER else None)
    assert len(server.bodies) == 1
    assert (failed.usage.sent > 0) == (fault in (Fault.BLOCKED, Fault.EMPTY))


async def test_huge_answer_is_given_up_early() -> None:
    with OpenAiStandIn(lambda body: Fault.HUGE) as server:
        async with endpoint(server.url) as opened:
            failed = await failure_of(opened, max_tokens=100)
    assert isinstance(failed, ServerFault)
    assert "longer than 71936 characters" in str(failed)
    assert server.paid == {}


@pytest.mark.parametrize("status", [200, 500])
async def test_line_without_an_end_is_given_up(status: int) -> None:
    endless = events(b"data: {", *[b"x" * 65536] * 64, status=status)
    with OpenAiStandIn(raw(endless)) as server:
        async with endpoint(server.url, most_bytes=1 << 20) as opened:
            failed = await failure_of(opened)
    assert isinstance(failed, ServerFault)
    assert "larger than 1048576 bytes" in str(failed)


async def test_thoughts_that_take_everything_are_told_from_an_empty_answer() -> None:
    reply = Reply(text="", thoughts="so many thoughts", finish="length")
    with OpenAiStandIn(lambda body: reply) as server:
        async with endpoint(server.url) as opened:
            failed = await failure_of(opened)
    assert isinstance(failed, Exhausted)
    assert failed.usage.thought == 3


async def test_refusal_of_the_model_is_a_block() -> None:
    reply = Reply(text="", refusal="I can't help\nwith that.")
    with OpenAiStandIn(lambda body: reply) as server:
        async with endpoint(server.url) as opened:
            failed = await failure_of(opened)
    assert isinstance(failed, Blocked)
    assert "I can't help with that." in str(failed)


async def test_stream_without_an_end_is_a_broken_connection() -> None:
    reply = Reply(text="Take the", finish=None, done=False)
    with OpenAiStandIn(lambda body: reply) as server:
        async with endpoint(server.url) as opened:
            failed = await failure_of(opened)
    assert isinstance(failed, Unreachable)
    assert "broke off after 8 characters" in str(failed)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "engine died", "type": "InternalServerError", "code": 500}, ServerFault),
        ({"message": "slow down", "code": 429}, Overloaded),
        ({"message": "slow down", "type": "rate_limit_error"}, Overloaded),
        ({"message": "too long", "type": "BadRequestError", "code": 400}, Rejected),
        ({"message": "no money", "code": "insufficient_quota"}, Rejected),
        ({"message": "not this", "code": "content_filter"}, Blocked),
        ("it broke", ServerFault),
    ],
)
async def test_error_in_the_stream_is_told_by_its_kind(
    error: object, kind: type[AttemptFailed]
) -> None:
    with OpenAiStandIn(raw(events(delta("Take"), event({"error": error})))) as server:
        async with endpoint(server.url) as opened:
            failed = await failure_of(opened)
    assert type(failed) is kind
    assert (error["message"] if isinstance(error, dict) else str(error)) in str(failed)


@pytest.mark.parametrize(
    ("status", "error", "kind", "says"),
    [
        (400, {"message": "context length"}, Rejected, "refused (400): context length"),
        (400, {"message": "no", "code": "content_policy_violation"}, Blocked, "refused"),
        (402, {"message": "credits"}, Rejected, "not allowed (402): credits"),
        (403, {"message": "your region"}, Rejected, "not allowed (403): your region"),
        (404, {"message": "no such model"}, Rejected, f"check that {MODEL} is its name"),
        (408, "late", TooSlow, "gave up waiting"),
        (413, {"message": "big"}, Rejected, "fewer or smaller pictures"),
        (429, {"message": "pay", "type": "insufficient_quota"}, Rejected, "no credit left"),
        (502, {"message": "gateway"}, ServerFault, "failed (502): gateway"),
        (503, {"message": "Loading model"}, Overloaded, "overloaded (503): Loading model"),
        (529, "overloaded", Overloaded, "(529)"),
        (307, "there", Rejected, "correct the base URL"),
    ],
)
async def test_status_is_told_by_its_kind(
    status: int, error: object, kind: type[AttemptFailed], says: str
) -> None:
    with OpenAiStandIn(raw(refusal(status, error))) as server:
        async with endpoint(server.url) as opened:
            failed = await failure_of(opened)
    assert type(failed) is kind
    assert says in str(failed)
    assert len(server.bodies) == 1


async def test_error_page_of_a_proxy_is_not_quoted() -> None:
    page = Told(
        status=502, headers={"Content-Type": "text/html"}, steps=[b"<html>Bad Gateway</html>"]
    )
    with OpenAiStandIn(raw(page)) as server:
        async with endpoint(server.url) as opened:
            failed = await failure_of(opened)
    assert isinstance(failed, ServerFault)
    assert "a web page came" in str(failed)
    assert "<html>" not in str(failed)


async def test_wrong_path_is_told_with_the_url(server: OpenAiStandIn) -> None:
    async with endpoint(server.url.removesuffix("/v1")) as opened:
        failed = await failure_of(opened)
    assert isinstance(failed, Rejected)
    assert "ends in /v1" in str(failed)


async def test_server_that_is_not_there_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        async with endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}/v1") as opened:
            failed = await failure_of(opened)
            with pytest.raises(Unreachable, match="no connection"):
                await opened.check()
    assert isinstance(failed, Unreachable)


async def test_answer_that_is_not_wanted_any_more_is_hung_up() -> None:
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slowly(body: dict[str, Any]) -> Fault:
        loop.call_soon_threadsafe(arrived.set)
        return Fault.SLOW

    with OpenAiStandIn(slowly) as server:
        async with endpoint(server.url) as opened:
            asking = asyncio.create_task(answer_of(opened, within=60.0))
            await arrived.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking


async def test_time_allowed_holds_for_drops_that_never_end() -> None:
    told = events(*[delta("a ")] * 3)
    drops = [step for chunk in told.steps for step in (chunk, Pause(0.15))]
    with OpenAiStandIn(raw(Told(headers=told.headers, steps=drops, chunked=True))) as server:
        async with endpoint(server.url) as opened:
            assert isinstance(await failure_of(opened, within=0.3), TooSlow)


# --- keys


async def test_key_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told = refusal(400, {"message": f"you sent {KEY} with {KEY[:12]}***"})
    with OpenAiStandIn(raw(told), key=KEY) as server:
        async with endpoint(server.url, key=KEY) as opened:
            failed = await failure_of(opened)
            line = await opened.check()
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
        async with endpoint(server.url, key="sk-wrongKey999") as refused:
            wrong = await failure_of(refused)
        async with endpoint(server.url) as without:
            missing = await failure_of(without)
    shown = [str(failed), repr(failed), line, repr(opened), str(opened.identity), caplog.text]
    shown += [str(wrong), repr(refused), str(failed.__cause__), str(wrong.__cause__)]
    assert not any(secret in text for text in shown for secret in (KEY, KEY[:12], "wrongKey"))
    assert "the key is not accepted" in str(wrong)
    assert "a key is wanted" in str(missing)


async def test_key_of_the_environment_goes_to_no_other_server(
    server: OpenAiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    async with endpoint(server.url) as opened:
        await answer_of(opened)
        await opened.check()
    assert not any(KEY in value for asked in server.asked for value in asked.headers.values())


async def test_credentials_of_the_url_are_used_and_not_shown(
    server: OpenAiStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = server.url.replace("http://", "http://me:pass%40word@")
    async with endpoint(url + "?version=1") as opened:
        await answer_of(opened)
        line = await opened.check()
    assert opened.identity == {"provider": "openai", "model": MODEL, "server": server.url}
    sent = server.asked[0].headers["authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"me:pass@word"
    assert server.asked[0].query == {"version": ["1"]}
    assert not any(secret in caplog.text + line for secret in ("pass%40word", "pass@word"))


@pytest.mark.parametrize("key", ["sk-1\nX: 2", "ключ-тайна", "two words", " "])
def test_key_that_cannot_be_sent_is_refused_unseen(key: str) -> None:
    with pytest.raises(ModelError) as failed:
        OpenAiEndpoint(MODEL, key=key)
    assert key.strip() == "" or key.strip() not in str(failed.value)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://", "http://h:99999/"])
def test_url_that_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(ModelError, match="expected one such as http://localhost:8000/v1"):
        OpenAiEndpoint(MODEL, key=None, base_url=url)


# --- checks


async def test_check_says_whether_the_model_is_served() -> None:
    names = tuple(f"model-{number}" for number in range(7))
    with OpenAiStandIn(models=names) as server:
        async with endpoint(server.url, model="model-3") as opened:
            assert "reached, and model-3 is served" in await opened.check()
        async with endpoint(server.url, model="other") as opened:
            line = await opened.check()
    assert line.endswith("there is: model-0, model-1, model-2, model-3, model-4 and 2 more")


@pytest.mark.parametrize(
    ("body", "says"), [(b"<html>Hello", "a web page"), (b'{"a": 1}', "no list"), (b"[", "no list")]
)
async def test_check_of_something_else_fails(body: bytes, says: str) -> None:
    def page(asked: Asked) -> Told:
        return Told(headers={"Content-Type": "text/html"}, steps=[body])

    with HttpStandIn(page) as other:
        async with endpoint(other.url) as opened:
            with pytest.raises(ServerFault, match=says):
                await opened.check()


async def test_check_tells_of_a_wrong_key() -> None:
    with OpenAiStandIn(key=KEY) as server:
        async with endpoint(server.url, key="sk-other") as opened:
            with pytest.raises(Rejected, match="not accepted"):
                await opened.check()


# --- waiting


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Tue, 01 Dec 2026 10:00:30 GMT"}, None),
        (
            {
                "retry-after": "Tue, 01 Dec 2026 10:00:30 GMT",
                "date": "Tue, 01 Dec 2026 10:00:00 GMT",
            },
            30.0,
        ),
        ({"x-ratelimit-reset-requests": "1m2s"}, 62.0),
        ({"x-ratelimit-reset-tokens": "17s", "x-ratelimit-reset-requests": "120ms"}, 17.0),
        (
            {
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "1000",
                "x-ratelimit-reset-requests": "8.5s",
                "x-ratelimit-remaining-requests": "0",
            },
            8.5,
        ),
        ({"x-ratelimit-reset": "1796119212000", "date": "Tue, 01 Dec 2026 10:00:00 GMT"}, 12.0),
        ({"x-ratelimit-reset": "12"}, 12.0),
    ],
)
def test_wait_is_read_from_the_headers(headers: dict[str, str], wait: float | None) -> None:
    assert wait_asked(headers) == wait


async def test_wait_comes_with_the_failure() -> None:
    told = refusal(429, {"message": "slow down"}, x_ratelimit_reset_requests="17s")
    with OpenAiStandIn(raw(told)) as server:
        async with endpoint(server.url) as opened:
            assert (await failure_of(opened)).retry_after == 17.0


# --- nothing that comes is trusted

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "content",
                    "logprobs",
                    "usage",
                    "finish_reason",
                    "refusal",
                    "completion_tokens_details",
                    "index",
                    "type",
                    "text",
                    "error",
                    "code",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(chunks=st.lists(json_values, max_size=4), done=st.booleans())
def test_any_json_is_an_answer_or_a_failure(chunks: list[object], done: bool) -> None:
    reading = Reading(Server("openai:m", "http://h/v1"), max_tokens=10)
    told: object
    try:
        for chunk in chunks:
            reading.push(chunk)
        told = reading.complete(done=done)
    except AttemptFailed as failed:
        told = failed
    if isinstance(told, Completion):
        assert told.text.strip()
    else:
        assert str(told).startswith("openai:m at http://h/v1: ")
        assert "\n" not in str(told)


@pytest.mark.parametrize("chunk", [b"null", b"[]", b'"text"', b"7", b'{"choices": 3}', b"\xff\xfe"])
async def test_chunk_that_is_none_is_a_fault_of_the_server(chunk: bytes) -> None:
    with OpenAiStandIn(raw(events(b"data: " + chunk + b"\n\n"))) as server:
        async with endpoint(server.url) as opened:
            assert isinstance(await failure_of(opened), ServerFault)
