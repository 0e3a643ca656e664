"""The guard applied to requests and messages, without a network and on virtual time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from server.guard import Guard, GuardSettings
from tests.guard_maker import (
    CONNECT,
    SECRET,
    Echo,
    Wire,
    binary,
    body,
    call,
    guard,
    limits,
    open_guard,
    request,
    text,
    websocket,
)

BEARER = ("authorization", f"Bearer {SECRET}")


def sized(count: int) -> list[tuple[str, str]]:
    return [("content-length", str(count))]


def ticking(**settings: Any) -> Guard:
    """A guard on the loop's own, virtual time."""
    return Guard(GuardSettings(**settings))


async def test_every_answer_has_the_headers_that_protect() -> None:
    app = guard().wrap(Echo())
    for scope in (request(), request(host="evil.example"), request(method="TRACE")):
        headers = (await call(app, scope)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "camera=(self), microphone=(self)" in headers["permissions-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


async def test_an_application_may_say_more_than_the_guard() -> None:
    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"Referrer-Policy", b"origin")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body"})

    wire = await call(guard().wrap(own), request())
    names = [name.lower() for name, _ in wire.sent[0]["headers"]]
    assert names.count(b"referrer-policy") == 1


async def test_a_refusal_is_counted_and_closes() -> None:
    gate = guard()
    wire = await call(gate.wrap(Echo()), request(host="evil.example"))
    assert wire.status == 403
    assert wire.headers["connection"] == "close"
    assert gate.metrics.value("deixis_refused_total", reason="host") == 1


async def test_a_body_arrives_whole() -> None:
    echo = Echo()
    scope = request("/whip", method="POST", headers=sized(6))
    wire = await call(guard().wrap(echo), scope, *body(b"abc", b"def"))
    assert (wire.status, wire.body) == (200, b"abcdef")


async def test_a_body_that_says_it_is_too_long_is_not_even_read() -> None:
    echo = Echo()
    scope = request("/whip", method="POST", headers=sized(1 << 40))
    wire = await call(guard().wrap(echo), scope)
    assert (wire.status, echo.bodies) == (413, [])


@pytest.mark.parametrize("said", ["transfer-encoding", "content-length"])
async def test_a_body_that_grows_too_long_is_cut(said: str) -> None:
    echo = Echo()
    headers = [(said, "chunked" if said == "transfer-encoding" else "4")]
    scope = request("/whip", method="POST", headers=headers)
    wire = Wire(body(*[b"x" * 10_000] * 1000))
    await guard().wrap(echo)(scope, wire.receive, wire.send)
    assert (wire.status, echo.bodies) == (413, [])
    assert len(wire.coming) > 990


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "", "9" * 30, "1, 1"])
async def test_a_length_that_is_none_is_refused(length: str) -> None:
    scope = request("/whip", method="POST", headers=[("content-length", length)])
    assert (await call(guard().wrap(Echo()), scope)).status == 400


async def test_a_body_that_drips_in_is_given_up() -> None:
    async def drip() -> None:
        await asyncio.sleep(3600)

    wire = Wire(body(b"x", b"y")[:1], wait=drip)
    scope = request("/whip", method="POST", headers=sized(100))
    await ticking().wrap(Echo())(scope, wire.receive, wire.send)
    assert wire.status == 408
    assert asyncio.get_running_loop().time() < 11


async def test_a_client_that_leaves_within_its_body_is_let_go() -> None:
    echo = Echo()
    wire = await call(guard().wrap(echo), request(method="POST", headers=sized(9)))
    assert (wire.sent, echo.bodies) == ([], [])


async def test_a_websocket_without_a_token_talks_after_its_hello() -> None:
    echo = Echo()
    hello = {"type": "hello", "token": SECRET}
    wire = await call(open_guard().wrap(echo), websocket(), CONNECT, text(hello), binary(b"abc"))
    assert [one.get("bytes") for one in echo.messages] == [None, b"abc"]
    assert json.loads(echo.messages[0]["text"]) == hello
    assert wire.said == [1, 2]


@pytest.mark.parametrize(
    "first",
    [
        text({"type": "hello"}),
        text({"token": "wrong"}),
        text({"token": {"a": 1}}),
        text([SECRET]),
        text(SECRET),
        text("{" * 5000),
        text("[" * 10_000),
        binary(SECRET.encode()),
        binary(b""),
    ],
)
async def test_a_websocket_with_a_wrong_hello_hears_nothing(first: Message) -> None:
    echo = Echo()
    wire = await call(open_guard().wrap(echo), websocket("/feed/x"), CONNECT, first)
    assert echo.messages == []
    assert [one["type"] for one in wire.said] == ["refused"]
    assert wire.code == 1008


async def test_a_feed_says_nothing_before_the_token() -> None:
    """Also one that speaks first."""
    said: list[str] = []

    async def feed(socket: WebSocket) -> None:
        await socket.accept()
        said.append("secret")
        await socket.send_text("secret")

    gate = open_guard()
    app = Starlette(routes=[WebSocketRoute("/feed/{x}", feed)], middleware=list(gate.middleware()))
    wire = await call(app, websocket("/feed/x"), CONNECT, text({"token": "wrong"}))
    assert said == []
    assert [one["type"] for one in wire.said] == ["refused"]
    wire = Wire([CONNECT, text({"token": SECRET})])
    await app(websocket("/feed/x"), wire.receive, wire.send)
    assert said == ["secret"]


async def test_a_token_in_the_header_needs_no_hello() -> None:
    echo = Echo()
    scope = websocket("/feed/x", headers=[BEARER])
    await call(open_guard().wrap(echo), scope, CONNECT, text("hi"))
    assert len(echo.messages) == 1


async def test_a_browser_gets_the_subprotocol_that_it_asked_for() -> None:
    scope = websocket(subprotocols=["deixis", f"bearer.{SECRET}"])
    wire = await call(open_guard().wrap(Echo()), scope, CONNECT)
    assert wire.sent[0]["subprotocol"] == "deixis"
    assert SECRET not in repr(wire.sent)


async def test_the_application_can_ask_whether_the_token_was_shown() -> None:
    gate = open_guard()

    async def ask(request: Request) -> Response:
        return PlainTextResponse(str(gate.admits(None)))

    app = Starlette(
        routes=[Route("/x", ask), Route("/static/x", ask)], middleware=list(gate.middleware())
    )
    assert (await call(app, request("/x", headers=[BEARER]))).body == b"True"
    assert (await call(app, request("/static/x"))).body == b"False"


async def test_a_message_that_is_too_long_closes() -> None:
    gate = guard(limits=limits(message=1000, words=100))
    for path, message in (
        ("/ingest", binary(b"x" * 1001)),
        ("/ingest", text("x" * 99 + "ü")),
        ("/feed/x", binary(b"x" * 101)),
    ):
        echo = Echo()
        wire = await call(gate.wrap(echo), websocket(path), CONNECT, message)
        assert (wire.code, echo.messages) == (1009, [])


async def test_media_without_a_token_is_not_read() -> None:
    wire = await call(open_guard().wrap(Echo()), websocket(), CONNECT, binary(b"x" * 100_000))
    assert wire.code == 1009


async def test_a_silent_client_is_let_go_and_a_reader_is_not() -> None:
    async def silent() -> None:
        await asyncio.sleep(1000)

    loop = asyncio.get_running_loop()
    for path, coming, until in (
        ("/ingest", [CONNECT], 10),
        ("/ingest", [CONNECT, text("hello")], 30),
        ("/feed/x", [CONNECT], 1000),
    ):
        began = loop.time()
        wire = Wire(list(coming), wait=silent)
        await ticking().wrap(Echo())(websocket(path), wire.receive, wire.send)
        assert loop.time() - began == pytest.approx(until, abs=0.1)


async def test_a_flood_is_read_no_faster_than_agreed() -> None:
    gate = ticking(limits=limits(messages=100.0, messages_burst=200.0))
    loop = asyncio.get_running_loop()
    echo = Echo()
    await call(gate.wrap(echo), websocket(), CONNECT, *[text("x")] * 1200)
    assert len(echo.messages) == 1200
    assert loop.time() == pytest.approx(10.0, abs=0.1)
    assert gate.metrics.value("deixis_slowed_total") == 1000


async def test_only_so_many_websockets_are_open() -> None:
    gate = guard(limits=limits(sockets=2))
    app = gate.wrap(Echo())
    leave = asyncio.Event()

    async def stay() -> None:
        await leave.wait()

    wires = [Wire([CONNECT], wait=stay) for _ in range(2)]
    scope = websocket("/feed/x")
    tasks = [asyncio.create_task(app(scope, one.receive, one.send)) for one in wires]
    await asyncio.sleep(0)
    assert (await call(app, scope, CONNECT)).code == 1013
    leave.set()
    await asyncio.gather(*tasks)
    assert (await call(app, scope, CONNECT)).code is None


async def test_a_refused_websocket_is_told_why_where_that_can_be() -> None:
    scope = websocket(host="evil.example")
    scope["extensions"] = {"websocket.http.response": {}}
    wire = await call(guard().wrap(Echo()), scope, CONNECT)
    assert wire.status == 403
    assert b"does not go by that name" in wire.body
    assert "content-security-policy" in wire.headers
    wire = await call(guard().wrap(Echo()), websocket(host="evil.example"), CONNECT)
    assert wire.code == 1008


async def test_an_own_failure_is_not_hidden() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await call(guard().wrap(fails), websocket(), CONNECT)


async def test_lifespan_passes() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    await guard().wrap(app)({"type": "lifespan"}, Wire([]).receive, Wire([]).send)
    assert seen == ["lifespan"]
