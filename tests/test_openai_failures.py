"""What goes wrong at OpenAI-compatible servers, through the real library and a real socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
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
    Overloaded,
    Rejected,
    ServerFault,
    TooSlow,
    Unreachable,
)
from streaming.models.openai_failures import Server, wait_asked
from streaming.models.openai_reading import Reading
from tests.openai_asking import KEY, answer_of, delta, endpoint, events, failure_of, raw, refusal
from tests.standins.faults import Fault
from tests.standins.http_server import Pause, Told
from tests.standins.openai_chat import (
    MODEL,
    OpenAiStandIn,
    Reply,
    event,
)

pytestmark = pytest.mark.threads


@pytest.fixture
def server() -> Iterator[OpenAiStandIn]:
    with OpenAiStandIn() as opened:
        yield opened


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
        (500, {"message": "image input is not supported"}, Rejected, "does not take this (500)"),
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
