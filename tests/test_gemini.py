"""Gemini, asked with its real client over real sockets; a stand-in answers."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import socket
import traceback
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

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
from streaming.models import gemini as gemini_module
from streaming.models.gemini import GeminiEndpoint, thinking
from tests.standins.faults import Fault
from tests.standins.gemini import KEY, GeminiStandIn, Reply, refusal, said
from tests.standins.http_server import Cut, Pause, Reset, Step, Told

pytestmark = pytest.mark.threads

SCHEMA = {"type": "object", "properties": {"point": {"type": "array"}}, "required": ["point"]}
QUICK = Generation(within=10.0)
QUICKER = Generation(within=1.5)
FILM = FilmPart(content=bytes(range(256)) * 40, until=1.0)


@pytest.fixture(autouse=True)
def _no_key_in_any_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert KEY not in caplog.text
    assert all(KEY not in repr(vars(record)) for record in caplog.records)


@pytest.fixture
def _small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Films do not fit into a request."""
    monkeypatch.setattr(gemini_module, "MOST_INLINE", 1000)


def question(*parts: Part, system: str = "Be brief.") -> Request:
    return Request(
        system=system,
        parts=parts or (TextPart(text="What is meant?"),),
        schema=SCHEMA,
        interface="frames",
        prompt="en/1",
        words="none",
        asked_at=10.0,
    )


@contextlib.asynccontextmanager
async def endpoint(
    at: GeminiStandIn | str, model: str = "gemini-3-flash", key: str = KEY
) -> AsyncIterator[GeminiEndpoint]:
    made = GeminiEndpoint(model, key=key, base_url=at if isinstance(at, str) else at.url)
    try:
        yield made
    finally:
        await made.aclose()


async def asked(
    made: GeminiEndpoint, request: Request | None = None, generation: Generation = QUICK
) -> tuple[list[str], Completion]:
    pieces: list[str] = []
    completions: list[Completion] = []
    async for one in made.stream(request or question(), generation):
        match one:
            case TextPiece():
                assert not completions
                pieces.append(one.text)
            case Completion():
                completions.append(one)
    (completion,) = completions
    assert "".join(pieces) == completion.text
    return pieces, completion


async def failure(
    made: GeminiEndpoint, request: Request | None = None, generation: Generation = QUICK
) -> AttemptFailed:
    with pytest.raises(AttemptFailed) as raised:
        await asked(made, request, generation)
    return clean(raised.value)


async def until(there: Callable[[], object]) -> None:
    while not there():  # noqa: ASYNC110 (it happens in another thread)
        await asyncio.sleep(0.01)


def clean(error: AttemptFailed) -> AttemptFailed:
    """It is one line, and nothing that hangs on it tells the key."""
    assert "\n" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    everything = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    assert KEY not in everything
    return error


async def told(answer: str | Reply | Fault | Told, generation: Generation = QUICK) -> Completion:
    with GeminiStandIn(lambda _: answer) as gemini:
        async with endpoint(gemini) as made:
            return (await asked(made, generation=generation))[1]


async def failed(
    answer: str | Reply | Fault | Told, generation: Generation = QUICK
) -> AttemptFailed:
    with GeminiStandIn(lambda _: answer) as gemini:
        async with endpoint(gemini) as made:
            error = await failure(made, generation=generation)
        assert len(gemini.requests) <= 1  # the library does not try again by itself
    return error


async def test_answer_streams_in_and_ends_with_its_costs() -> None:
    reply = Reply(
        pieces=('{"point":', " [1, 2]}"),
        thoughts="Hm.",
        usage={
            "promptTokenCount": 900,
            "cachedContentTokenCount": 300,
            "candidatesTokenCount": 12,
            "thoughtsTokenCount": 40,
        },
    )
    with GeminiStandIn(lambda _: reply) as gemini:
        async with endpoint(gemini) as made:
            pieces, completion = await asked(made)
    assert pieces == ['{"point":', " [1, 2]}"]
    assert completion == Completion(
        text='{"point": [1, 2]}',
        finish="stop",
        usage=Usage(sent=900, cached=300, written=12, thought=40),
        served_by="gemini-3-flash-001",
    )
    assert gemini.paid == {gemini.requests[0]["digest"]: 1}


async def test_request_says_all_that_was_asked() -> None:
    jpeg = b"\xff\xd8picture\xff\xd9"
    request = question(
        TextPart(text="half a character \ud83d"),
        PicturePart(jpeg=jpeg, until=0.5),
        FILM,
        TextPart(text="Which?"),
    )
    generation = Generation(
        temperature=0.0, max_tokens=500, thinking_budget=0, detail="low", logprobs=True
    )
    with GeminiStandIn() as gemini:
        async with endpoint(gemini, "gemini-2.5-flash") as made:
            await asked(made, request, generation)
    (sent,) = gemini.requests
    assert sent["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    (content,) = sent["contents"]
    text, picture, film, _ = content["parts"]
    assert text == {"text": "half a character ?"}
    assert picture["inlineData"]["mime_type"] == "image/jpeg"
    assert base64.urlsafe_b64decode(picture["inlineData"]["data"]) == jpeg
    assert base64.urlsafe_b64decode(film["inlineData"]["data"]) == FILM.content
    assert said(sent).endswith("Which?")
    assert sent["generationConfig"] == {
        "temperature": 0.0,
        "maxOutputTokens": 500,
        "candidateCount": 1,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "thinkingConfig": {"thinking_budget": 0},
        "mediaResolution": "MEDIA_RESOLUTION_LOW",
        "responseLogprobs": True,
    }
    assert gemini.uploads == []


async def test_what_was_not_asked_for_is_not_said() -> None:
    with GeminiStandIn() as gemini:
        async with endpoint(gemini) as made:
            await asked(made, question(system=""), Generation(json_mode=False))
    (sent,) = gemini.requests
    assert set(sent["generationConfig"]) == {"temperature", "maxOutputTokens", "candidateCount"}
    assert "systemInstruction" not in sent


@pytest.mark.parametrize(
    ("model", "budget", "sent"),
    [
        ("gemini-2.5-pro", 512, {"thinking_budget": 512}),
        ("gemini-3-flash", 0, {"thinking_level": "MINIMAL"}),
        ("models/gemini-3-pro-preview", 0, {"thinking_level": "LOW"}),
        ("gemini-3.1-pro", 4096, {"thinking_level": "LOW"}),
        ("gemini-3-flash", 20000, {"thinking_level": "HIGH"}),
    ],
)
def test_thinking_is_set_in_the_words_of_the_model(
    model: str, budget: int, sent: dict[str, object]
) -> None:
    setting = thinking(model, budget)
    assert setting is not None
    assert setting.model_dump(exclude_none=True, mode="json") == sent
    assert thinking(model, None) is None


async def test_log_probabilities_are_passed_on() -> None:
    reply = Reply(pieces=("yes",), logprobs=(("ye", -0.25), ("s", -0.5)))
    completion = await told(reply, Generation(logprobs=True))
    assert completion.chances == (
        TokenChance(token="ye", logprob=-0.25),
        TokenChance(token="s", logprob=-0.5),
    )


async def test_text_at_the_longest_answer_is_told_from_none() -> None:
    cut = await told(Reply(pieces=('{"point"',), finish="MAX_TOKENS"))
    assert (cut.text, cut.finish) == ('{"point"', "length")
    usage = {"candidatesTokenCount": 0, "thoughtsTokenCount": 8192}
    error = await failed(
        Reply(pieces=(), thoughts="So much to say.", finish="MAX_TOKENS", usage=usage)
    )
    assert isinstance(error, Exhausted)
    assert error.usage.thought == 8192
    assert "8192" in str(error)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(block="PROHIBITED_CONTENT"), "PROHIBITED_CONTENT"),
        (Reply(block="OTHER"), "OTHER"),
        (Reply(pieces=("Well, ",), finish="SAFETY"), "SAFETY"),
        (Reply(finish="RECITATION"), "RECITATION"),
        (Reply(finish="IMAGE_SAFETY"), "IMAGE_SAFETY"),
        (Reply(finish="SPII"), "SPII"),
        (Reply(finish="SAFETY_OF_NEXT_YEAR"), "SAFETY_OF_NEXT_YEAR"),
        (Reply(block="NEXT_YEAR"), "NEXT_YEAR"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is not a valid")
async def test_refusal_of_the_content_says_why(reply: Reply, reason: str) -> None:
    error = await failed(reply)
    assert isinstance(error, Blocked)
    assert not error.retryable
    assert reason in str(error)
    assert error.usage.sent == 100


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(pieces=("",)), EmptyReply),
        (Reply(pieces=(" \n",)), EmptyReply),
        (Reply(finish="OTHER"), ServerFault),
        (Reply(finish="NEXT_YEAR"), ServerFault),
        (Reply(pieces=("a",), finish="MALFORMED_RESPONSE"), ServerFault),
        (Reply(pieces=("a", "b"), finish=None), Unreachable),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is not a valid")
async def test_no_answer_is_told_apart(reply: Reply, kind: type[AttemptFailed]) -> None:
    assert type(await failed(reply)) is kind


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.CUT, Unreachable),
        (Fault.RESET, Unreachable),
        (Fault.MALFORMED, ServerFault),
        (Fault.WRONG_TYPE, ServerFault),
        (Fault.HUGE, ServerFault),
        (Fault.SERVER_ERROR, ServerFault),
        (Fault.TOO_MANY, Overloaded),
        (Fault.TOO_MANY_RETRY_AFTER, Overloaded),
        (Fault.BLOCKED, Blocked),
        (Fault.EMPTY, EmptyReply),
    ],
)
async def test_fault_has_a_name_of_its_own(fault: Fault, kind: type[AttemptFailed]) -> None:
    error = await failed(fault)
    assert type(error) is kind
    assert error.retry_after == (17.0 if fault is Fault.TOO_MANY_RETRY_AFTER else None)
    assert str(error).startswith("gemini:gemini-3-flash: ")


async def test_slow_answer_is_given_up() -> None:
    error = await failed(Fault.SLOW, Generation(within=0.2))
    assert isinstance(error, TooSlow)
    assert "0.2 s" in str(error)


async def test_answer_that_never_ends_a_line_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streaming.models.gemini_http.MOST_BYTES", 1 << 20)
    error = await failed(
        Told(headers={"Content-Type": "text/event-stream"}, steps=[b"x" * (2 << 20), Pause(600.0)])
    )
    assert isinstance(error, ServerFault)
    assert "longer than 1 MB" in str(error)


@pytest.mark.parametrize("end", [Cut(), Reset(), Pause(600.0)])
async def test_whole_text_counts_though_the_connection_does_not_end_well(end: Step) -> None:
    event = {
        "candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3},
    }
    steps: list[Step] = [b"data: " + json.dumps(event).encode() + b"\r\n\r\n", end]
    headers = {"Content-Type": "text/event-stream"}
    completion = await told(Told(headers=headers, steps=steps, chunked=True), QUICKER)
    assert completion.text == "ok"
    assert completion.usage.sent == 3


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"candidates": 7}\n\n',
        b'data: {"candidates": [{"content": "text"}]}\n\n',
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"Hello\n\n",
        b'data: {"error": "bad"}\n\n',
        b'data: {"error": {"message": "bad"}}\n\n',
        b'data: {"usageMetadata": {"promptTokenCount": "many"}}\n\n',
    ],
)
async def test_what_is_no_answer_of_the_protocol_is_the_server_s_fault(body: bytes) -> None:
    error = await failed(Told(headers={"Content-Type": "text/event-stream"}, steps=[body]))
    assert isinstance(error, ServerFault)
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"point": [1' + "0" * 5000 + ", 2]}", '{"point": NaN}', "nothing"]
)
async def test_text_that_is_no_json_is_still_the_answer(text: str) -> None:
    assert (await told(Reply(pieces=(text,)))).text == text


def test_answer_that_is_given_up_is_closed_in_order(caplog: pytest.LogCaptureFixture) -> None:
    async def give_up() -> None:
        with GeminiStandIn(lambda _: Fault.HUGE) as server:
            async with endpoint(server) as made:
                assert isinstance(await failure(made), ServerFault)

    asyncio.run(give_up())
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_error_in_the_middle_of_a_stream_keeps_its_meaning() -> None:
    inner = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    body = b'data: {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}\n\n'
    body += json.dumps(inner, indent=2).encode()
    error = await failed(Told(headers={"Content-Type": "text/event-stream"}, steps=[body]))
    assert isinstance(error, Overloaded)
    assert "The model is overloaded." in str(error)


@pytest.mark.parametrize(
    ("answer", "kind", "wait"),
    [
        (refusal(429, "slow down", headers={"Retry-After": "2.5"}), Overloaded, 2.5),
        (
            refusal(429, "slow", headers={"Retry-After": "Mon, 30 Nov 2099 12:00:30 GMT"}),
            Overloaded,
            "later",
        ),
        (refusal(429, "slow", headers={"Retry-After": "soon"}), Overloaded, None),
        (refusal(503, "overloaded", headers={"Retry-After": "4"}), Overloaded, 4.0),
        (refusal(500, "oops"), ServerFault, None),
        (refusal(502, "bad gateway"), ServerFault, None),
        (refusal(504, "deadline"), ServerFault, None),
        (refusal(400, "Unable to process input image."), Rejected, None),
        (refusal(401, "no"), Rejected, None),
        (refusal(403, "not in your country"), Rejected, None),
        (refusal(413, "too large"), Rejected, None),
        (refusal(302, "over there", headers={"Location": "http://127.0.0.1:9/"}), Rejected, None),
        (Told(status=502, steps=[b"<html>Bad gateway</html>"]), ServerFault, None),
        (Told(status=500, steps=[b"x" * 300_000]), ServerFault, None),
        (Told(status=429, steps=[b'[{"error": {"message": "many"}}]']), Overloaded, None),
    ],
)
async def test_status_has_its_meaning(
    answer: Told, kind: type[AttemptFailed], wait: float | str | None
) -> None:
    error = await failed(answer)
    assert type(error) is kind
    if wait == "later":
        assert error.retry_after is not None
        assert error.retry_after > 86_400
    else:
        assert error.retry_after == wait


async def test_key_that_a_server_repeats_is_not_passed_on() -> None:
    error = await failed(refusal(400, f"what is {KEY}?\nno key"))
    assert str(error).endswith("what is [key]? no key")


async def test_wrong_key_and_unknown_model_say_what_to_do() -> None:
    with GeminiStandIn() as gemini:
        async with endpoint(gemini, key="another") as made:
            error = await failure(made)
        assert isinstance(error, Rejected)
        assert "check the key" in str(error)
        async with endpoint(gemini, "gemini-9") as made:
            error = await failure(made)
        assert isinstance(error, Rejected)
        assert "not found (404)" in str(error)


async def test_server_that_is_not_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    async with endpoint(address) as made:
        error = await failure(made)
        assert isinstance(error, Unreachable)
        assert address in str(error)
        with pytest.raises(Unreachable) as raised:
            await made.check()
        clean(raised.value)


@pytest.mark.parametrize(
    ("model", "key", "base_url"),
    [
        ("", KEY, None),
        ("../files", KEY, None),
        ("a?key=b", KEY, None),
        ("gemini-3-flash", " ", None),
        ("gemini-3-flash", f"{KEY}…", None),
        ("gemini-3-flash", f"{KEY}\n{KEY}", None),
        ("gemini-3-flash", KEY, "localhost:80"),
        ("gemini-3-flash", KEY, "ftp://host"),
        ("gemini-3-flash", KEY, f"http://user:{KEY}@host"),
        ("gemini-3-flash", KEY, f"http://host?key={KEY}"),
        ("gemini-3-flash", KEY, "http://host:port"),
    ],
)
def test_what_cannot_be_right_is_refused_before_it_is_sent(
    model: str, key: str, base_url: str | None
) -> None:
    with pytest.raises(Rejected) as raised:
        GeminiEndpoint(model, key=key, base_url=base_url)
    assert KEY not in str(raised.value)


async def test_endpoint_does_not_show_its_key() -> None:
    async with endpoint("http://127.0.0.1:9/proxy/") as made:
        assert made.identity == {
            "provider": "gemini",
            "model": "gemini-3-flash",
            "server": "http://127.0.0.1:9/proxy",
        }
        assert (made.name, made.coord_order, made.takes_films) == (
            "gemini:gemini-3-flash",
            "yx",
            True,
        )
        assert KEY not in repr(made) + repr(made._wording) + repr(made._films)


async def test_keys_of_the_environment_do_not_count(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "of-the-environment")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v9")
    await told("fine")
    assert "GOOGLE_API_KEY" not in caplog.text


async def test_check_tells_of_the_model_without_asking_it() -> None:
    with GeminiStandIn() as gemini:
        async with endpoint(gemini) as made:
            assert (
                await made.check() == "Gemini 3 Flash answers, up to 1048576 tokens in, 65536 out"
            )
        assert gemini.requests == []
        for model, key in (("gemini-3-flash", "wrong"), ("gemini-9", KEY)):
            async with endpoint(gemini, model, key) as made:
                with pytest.raises(Rejected) as raised:
                    await made.check()
                clean(raised.value)


@pytest.mark.usefixtures("_small_requests")
async def test_large_film_is_uploaded_used_and_deleted() -> None:
    with GeminiStandIn(polls_until_active=2) as gemini:
        async with endpoint(gemini) as made:
            await asked(made, question(FILM))
        (sent,) = gemini.requests
        (part,) = sent["contents"][0]["parts"]
        assert part["fileData"]["mime_type"] == "video/mp4"
        assert part["fileData"]["file_uri"].startswith(gemini.url)
        assert gemini.uploads == [FILM.content]
        assert gemini.files == {}
        assert len(gemini.deleted) == 1
        assert made.left_behind == ()


@pytest.mark.usefixtures("_small_requests")
async def test_film_of_several_pieces_arrives_whole() -> None:
    film = FilmPart(content=bytes(9 << 20), until=1.0)
    with GeminiStandIn(polls_until_active=0) as gemini:
        async with endpoint(gemini) as made:
            await asked(made, question(film))
        assert gemini.uploads == [film.content]


@pytest.mark.usefixtures("_small_requests")
async def test_film_asked_about_at_once_is_uploaded_once() -> None:
    with GeminiStandIn() as gemini:
        async with endpoint(gemini) as made:
            other = FilmPart(content=b"another" * 500, until=1.0)
            questions = [question(FILM, TextPart(text=str(n))) for n in range(4)]
            await asyncio.gather(*(asked(made, one) for one in [*questions, question(other)]))
            assert sorted(gemini.uploads) == sorted([FILM.content, other.content])
            await asked(made, questions[0])
        assert len(gemini.uploads) == 3  # it was given back in between
        assert gemini.files == {}
        again, first = gemini.requests[-1], next(r for r in gemini.requests if said(r) == "0")
        assert again["digest"] == first["digest"]


@pytest.mark.usefixtures("_small_requests")
@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.CUT, Fault.BLOCKED])
async def test_film_is_deleted_when_the_answer_fails(fault: Fault) -> None:
    with GeminiStandIn(lambda _: fault) as gemini:
        async with endpoint(gemini) as made:
            await failure(made, question(FILM))
        assert gemini.files == {}
        assert len(gemini.deleted) == 1


@pytest.mark.usefixtures("_small_requests")
@pytest.mark.parametrize("polls", [0, 10_000])
async def test_film_is_deleted_when_the_question_is_cancelled(polls: int) -> None:
    with GeminiStandIn(lambda _: Fault.SLOW, polls_until_active=polls) as gemini:
        async with endpoint(gemini) as made:
            task = asyncio.create_task(asked(made, question(FILM)))
            await until(lambda: gemini.requests if polls == 0 else gemini.files)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert gemini.files == {}
        assert len(gemini.deleted) == 1


@pytest.mark.usefixtures("_small_requests")
async def test_one_that_gives_up_leaves_the_film_to_the_others() -> None:
    with GeminiStandIn(polls_until_active=3) as gemini:
        async with endpoint(gemini) as made:
            patient = asyncio.create_task(asked(made, question(FILM)))
            error = await failure(made, question(FILM), Generation(within=0.15))
            assert isinstance(error, TooSlow)
            await patient
        assert gemini.uploads == [FILM.content]
        assert gemini.files == {}


@pytest.mark.usefixtures("_small_requests")
async def test_film_that_the_provider_cannot_read_is_rejected_with_its_reason() -> None:
    with GeminiStandIn(film_fault="The file is not a video.") as gemini:
        async with endpoint(gemini) as made:
            results = await asyncio.gather(
                *(asked(made, question(FILM)) for _ in range(2)), return_exceptions=True
            )
        for error in results:
            assert isinstance(error, Rejected)
            assert "The file is not a video." in str(error)
            assert KEY not in "".join(traceback.format_exception(error))
        assert gemini.files == {}
        assert gemini.requests == []


@pytest.mark.usefixtures("_small_requests")
async def test_wrong_key_is_found_before_a_film_is_sent() -> None:
    with GeminiStandIn() as gemini:
        async with endpoint(gemini, key="another") as made:
            assert isinstance(await failure(made, question(FILM)), Rejected)
        assert gemini.uploads == []
        assert made.left_behind == ()


@pytest.mark.usefixtures("_small_requests")
async def test_film_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streaming.models.gemini_films.READY_WITHIN", 0.2)
    with GeminiStandIn(polls_until_active=10_000) as gemini:
        async with endpoint(gemini) as made:
            error = await failure(made, question(FILM))
        assert isinstance(error, TooSlow)
        assert "film was not ready" in str(error)
        assert gemini.files == {}


@pytest.mark.usefixtures("_small_requests")
async def test_closing_ends_an_upload_and_those_who_wait_for_it() -> None:
    with GeminiStandIn(polls_until_active=10_000) as gemini:
        async with endpoint(gemini) as made:
            waiting = asyncio.create_task(asked(made, question(FILM)))
            await until(lambda: gemini.files)
        with pytest.raises(Unreachable):
            await waiting
        assert gemini.files == {}


async def test_first_piece_comes_at_once_and_a_reader_may_stop_there() -> None:
    with GeminiStandIn(lambda _: Fault.SLOW) as gemini:
        async with endpoint(gemini) as made:
            stream = made.stream(question(), QUICK)
            assert isinstance(await anext(stream), TextPiece)
            await stream.aclose()  # type: ignore[attr-defined]
