"""The endpoint of OpenAI-compatible servers, through the real library and a real socket."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator

import pytest

from streaming.asking.endpoint import (
    Completion,
    Generation,
    Rejected,
    ServerFault,
    TextPiece,
    TokenChance,
    Unreachable,
    Usage,
)
from streaming.asking.request import FilmPart, TextPart
from streaming.models.openai_body import refused_feature
from tests.openai_asking import (
    JPEG,
    KEY,
    SCHEMA,
    answer_of,
    delta,
    endpoint,
    events,
    failure_of,
    raw,
    refusal,
    request,
)
from tests.standins.faults import Fault
from tests.standins.http_server import Asked, Cut, HttpStandIn, Told
from tests.standins.openai_chat import (
    GOOD_TEXT,
    MODEL,
    OpenAiStandIn,
    Reply,
    request_digest,
)

pytestmark = pytest.mark.threads


@pytest.fixture
def server() -> Iterator[OpenAiStandIn]:
    with OpenAiStandIn() as opened:
        yield opened


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


async def test_request_that_is_refused_for_other_reasons_teaches_nothing() -> None:
    told = refusal(400, {"message": "the schema of the camera's temperature is wrong"})
    with OpenAiStandIn(raw(told)) as server:
        async with endpoint(server.url) as opened:
            assert isinstance(await failure_of(opened), Rejected)
    assert len(server.bodies) == 4
    assert opened.left_out == {}


def test_fields_that_are_only_quoted_are_not_blamed() -> None:
    body = {"temperature": 0, "stream_options": {}, "logprobs": True}
    words = "[{'loc': ('body', 'logprobs'), 'input': {'stream_options': {}, 'temperature': 0}}]"
    assert refused_feature(words, body) == "logprobs"


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


async def test_order_of_coordinates_is_that_of_the_served_model(server: OpenAiStandIn) -> None:
    async with endpoint(server.url) as usual, endpoint(server.url, coord_order="yx") as other:
        assert (usual.coord_order, other.coord_order) == ("xy", "yx")
        assert usual.identity == {"provider": "openai", "model": MODEL, "server": server.url}
