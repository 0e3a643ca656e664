"""Thousands of hostile requests and messages against the whole application.

None may crash it (an exception that leaves the application fails the test), hang it, reach the file
system, or leave anything behind.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import struct
import threading
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import psutil
import pytest
from aiortc import RTCPeerConnection
from starlette.applications import Starlette
from starlette.types import Message

from server.app import build_app
from server.guard import Guard, GuardSettings
from server.hub import Hub
from server.settings import ServerSettings
from server.whip_offer import OfferError, read_fragment, read_offer
from tests.guard_maker import (
    CONNECT,
    SECRET,
    Wire,
    binary,
    body,
    call,
    limits,
    request,
    text,
    token,
    websocket,
)
from tests.pretend_pipeline import PretendEngines

pytestmark = pytest.mark.threads

HELLO = {"type": "hello", "version": 1, "format": "pcm+jpeg", "language": "en", "token": SECRET}
BEARER = ("authorization", f"Bearer {SECRET}")
OPEN = limits(requests=1e9, requests_burst=1e9, messages=1e9, messages_burst=1e9)
SECRETS = (b"root:", b"[project]", b"import ", SECRET.encode())
PIECES = (
    *(
        "",
        "..",
        ".",
        "static",
        "feed",
        "ingest",
        "whip",
        "sessions",
        "record",
        "metrics",
        "healthz",
    ),
    *(
        "app.js",
        "index.html",
        "etc",
        "passwd",
        "%2e%2e",
        "..%2f",
        "a" * 3000,
        "\x00",
        "\\",
        "ü",
        "*",
    ),
    *("~", "server", "pyproject.toml", "__init__.py", "C:", "{session}", "//", ";", "%", "%zz"),
)
HOSTS = ("127.0.0.1", "localhost:1", "evil.example", "", "[::1", "a" * 300, "127.0.0.1\x00")
METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT", "TRACE", "", "G T", "get")
NAMES = (
    *("origin", "content-length", "content-type", "authorization", "range", "if-match", "cookie"),
    *("if-none-match", "if-modified-since", "transfer-encoding", "accept", "upgrade", "x", "host"),
)
VALUES = (
    *("", "null", "0", "-1", "9" * 40, "bytes=0-", "bytes=9-1,2-3", "bytes=" + "0-0," * 900, "*"),
    *("application/sdp", "chunked", "http://evil.example", "http://127.0.0.1", f"Bearer {SECRET}"),
    *("application/trickle-ice-sdpfrag", "ü", "\x7f", "Mon, 99 Foo 2026 99:99:99 GMT", "x" * 9000),
)


def served(*, sessions: int = 64) -> tuple[Starlette, Hub]:
    settings = ServerSettings(sessions=sessions)
    hub = Hub(settings, PretendEngines(), cores=64)
    guard = Guard(GuardSettings(token=token(), limits=OPEN))
    return build_app(hub, guard, settings), hub


async def settled(hub: Hub) -> None:
    """Wait until every session has worked off what it had."""
    async with asyncio.timeout(10):
        while hub.sessions:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def hostile_request(made: random.Random) -> tuple[Any, list[Message]]:
    path = "/" + "/".join(made.choices(PIECES, k=made.randrange(1, 5)))
    headers = [(made.choice(NAMES), made.choice(VALUES)) for _ in range(made.randrange(5))]
    if made.random() < 0.7:
        headers.append(BEARER)
    if made.random() < 0.02:
        headers += [("x", "y")] * 100
    pieces = [made.randbytes(made.choice((0, 1, 50, 40_000))) for _ in range(made.randrange(4))]
    scope = request(
        path,
        method=made.choice(METHODS),
        host=made.choice(HOSTS) if made.random() < 0.3 else "127.0.0.1",
        headers=headers,
        raw=made.choice((None, b"", b"/%2e%2e/%2e%2e", made.randbytes(9)))
        if made.random() < 0.1
        else None,
        query=made.choice((b"", b"language=en", b"token=x", b"%zz=%", b"a=" + b"[" * 3000)),
    )
    return scope, body(*pieces)


async def test_hostile_requests() -> None:
    app, hub = served()
    made = random.Random(1)
    seen: dict[int, int] = {}
    for _ in range(3000):
        scope, coming = hostile_request(made)
        wire = await call(app, scope, *coming)
        if not wire.sent:
            continue  # its client left within the body
        seen[wire.status] = seen.get(wire.status, 0) + 1
        assert wire.status < 500, (scope, wire.body)
        assert "content-security-policy" in wire.headers
        if wire.status >= 400:
            assert not any(secret in wire.body for secret in SECRETS), scope
    assert {200, 400, 403, 404, 405} <= set(seen), seen
    await settled(hub)


async def test_no_path_reaches_a_file_that_is_not_the_pages() -> None:
    app, _ = served()
    ups = ("..", "%2e%2e", "..%2f", "%252e%252e", "....", "..;", "..\\", "\x00..", "/..")
    targets = ("pyproject.toml", "etc/passwd", "app.py", "commands/serve.py", "__init__.py")
    for folder in ("", "static/", "feed/", "sessions/"):
        for up in ups:
            for depth in range(1, 8):
                for target in targets:
                    path = "/" + folder + f"{up}/" * depth + target
                    wire = await call(app, request(path, headers=[BEARER]))
                    assert wire.status in (400, 404), path


def jpeg() -> bytes:
    _, made = cv2.imencode(".jpg", np.zeros((48, 64, 3), dtype=np.uint8))
    return made.tobytes()


def broken(made: random.Random, content: bytes) -> bytes:
    """``content`` with some of it changed, cut or doubled."""
    changed = bytearray(content)
    for _ in range(made.randrange(1, 8)):
        if changed:
            changed[made.randrange(len(changed))] = made.randrange(256)
    if made.random() < 0.3:
        del changed[made.randrange(len(changed) + 1) :]
    if made.random() < 0.1:
        changed *= 2
    return bytes(changed)


def hostile_message(made: random.Random, picture: bytes) -> Message:
    kind = made.choice((0, 1, 1, 1, 2, 2, 3, 255))
    time = made.choice((0, 1, made.randrange(10_000_000), 2**63, 2**64 - 1, 10**12))
    media = made.choice((b"", b"\0", bytes(640), made.randbytes(640), picture))
    if made.random() < 0.3:
        media = broken(made, picture)
    return made.choice(
        (
            binary(struct.pack(">BQ", kind, time) + media),
            binary(struct.pack(">BQ", kind, time) + media),
            binary(made.randbytes(made.randrange(20))),
            text({"type": "clock", "sent": made.choice((0, -1e308, True, None, "x", [], 10**30))}),
            text(
                '{"type":"clock","sent":'
                + made.choice(("NaN", "Infinity", "1e999", "9" * 400))
                + "}"
            ),
            text({"type": made.choice(("hello", "State", "", None, 1, [], "\ud800"))}),
            text(made.choice(("", "{", "[" * 5000, "null", "\x00", "1", '"x"'))),
        )
    )


def hostile_hello(made: random.Random) -> Message:
    if made.random() < 0.6:
        return text(HELLO)
    changed = {
        **HELLO,
        made.choice(list(HELLO)): made.choice((None, 1, "", [], {}, "x" * 300, 1e400, "zz-\x00")),
    }
    return made.choice((text(changed), text("[" * 9000), binary(b""), text(json.dumps(HELLO)[:-1])))


async def hostile_connections(app: Starlette, hub: Hub, made: random.Random, count: int) -> int:
    """Open ``count`` WebSockets that misbehave, and return how many messages they sent."""
    sent, picture = 0, jpeg()
    for _ in range(count):
        path = made.choice(("/ingest", "/ingest", "/ingest", "/feed/x", "/feed/", "/nothing"))
        messages = [hostile_message(made, picture) for _ in range(made.randrange(60))]
        wire = await call(app, websocket(path), CONNECT, hostile_hello(made), *messages)
        assert not any(SECRET in one.get("text", "") for one in wire.sent)
        sent += len(messages)
    await settled(hub)
    return sent


async def test_hostile_messages_leave_nothing_behind() -> None:
    app, hub = served()
    made = random.Random(2)
    await hostile_connections(app, hub, made, 25)
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    threads, tasks = threading.active_count(), len(asyncio.all_tasks())
    sent = await hostile_connections(app, hub, made, 100)
    gc.collect()
    assert sent > 2000
    assert len(asyncio.all_tasks()) <= tasks
    assert threading.active_count() <= threads + 8  # asyncio's pool fills up, once
    assert process.memory_info().rss - before < 30 << 20


async def test_a_full_server_still_refuses_in_words() -> None:
    app, hub = served(sessions=1)
    stay = asyncio.Event()

    async def wait() -> None:
        await stay.wait()

    held = Wire([CONNECT, text(HELLO)], wait=wait, end="websocket.disconnect")
    first = asyncio.create_task(app(websocket(), held.receive, held.send))
    async with asyncio.timeout(5):
        while not held.said:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    for _ in range(50):
        wire = await call(app, websocket(), CONNECT, text(HELLO))
        assert [one["type"] for one in wire.said] == ["refused"]
    stay.set()
    await first
    await settled(hub)


async def offer() -> str:
    peer = RTCPeerConnection()
    peer.addTransceiver("audio", direction="sendonly")
    peer.addTransceiver("video", direction="sendonly")
    await peer.setLocalDescription(await peer.createOffer())
    made: str = peer.localDescription.sdp
    await peer.close()
    return made


def hostile_sdp(made: random.Random, lines: list[str]) -> bytes:
    """An offer with lines changed, left out, doubled or exchanged."""
    changed = list(lines)
    for _ in range(made.randrange(1, 6)):
        place = made.randrange(len(changed))
        other = made.choice(lines)
        edits: tuple[Callable[[str], str], ...] = (
            lambda line: "",
            lambda line, other=other: f"{line}\r\n{other}",  # type: ignore[misc]
            lambda line: line[: len(line) // 2],
            lambda line: line.replace("1", "99999999999999999999"),
            lambda line: line.replace(" ", ""),
            lambda line: line + " " + "x" * 500,
            lambda line: line.partition(":")[0] + ":",
            lambda line: "".join(chr(made.randrange(1, 300)) for _ in line),
            lambda line: line * 50,
        )
        changed[place] = made.choice(edits)(changed[place])
    whole = "\r\n".join(changed).encode()
    return broken(made, whole) if made.random() < 0.2 else whole


async def test_hostile_offers_are_read_or_refused() -> None:
    made = random.Random(3)
    lines = (await offer()).split("\r\n")
    read = refused = 0
    for _ in range(1500):
        try:
            read_offer(hostile_sdp(made, lines), OPEN, candidates=8)
            read += 1
        except OfferError:
            refused += 1
    assert min(read, refused) > 50
    for _ in range(500):
        try:
            read_fragment(hostile_sdp(made, lines), ("0", "1"), candidates=8)
        except OfferError:
            refused += 1


async def test_hostile_offers_get_an_answer_and_end() -> None:
    app, hub = served()
    made = random.Random(4)
    lines = (await offer()).split("\r\n")
    answered = []
    for _ in range(150):
        sdp = hostile_sdp(made, lines)
        headers = [BEARER, ("content-type", "application/sdp"), ("content-length", str(len(sdp)))]
        wire = await call(app, request("/whip", method="POST", headers=headers), *body(sdp))
        assert wire.status < 500, sdp
        answered.append(wire.status)
        if wire.status == 201:
            place = wire.headers["location"]
            ended = await call(app, request(place, method="DELETE", headers=[BEARER]))
            assert ended.status == 200
    assert {201, 400} <= set(answered)
    await settled(hub)
