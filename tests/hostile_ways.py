"""Ways to misbehave towards a live server, over its real sockets.

Each takes the server and a source of randomness, and returns how many messages it sent. What the
server does with them is judged by :mod:`tests.hostile_run`; that it cuts connections is no fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import random
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from aiortc import RTCPeerConnection
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.hostile_media import pictures, small_jpeg, sound, webm, words
from tests.hostile_sockets import HEAD, Target, ingest, send_all
from tests.test_server_hostile import METHODS, NAMES, PIECES, VALUES, hostile_sdp

_WITHIN = 0.7


Way = Callable[[Target, random.Random], Awaitable[int]]


# --- bytes ------------------------------------------------------------------------------------


async def _send_raw(target: Target, data: bytes, *, read: bool = True, linger: bool = True) -> None:
    """Open a connection, send bytes, read a little of the answer, and leave."""
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        try:
            writer.write(data)
            async with asyncio.timeout(_WITHIN):
                await writer.drain()
                if read:
                    await reader.read(2000)
        finally:
            if not linger:  # a reset in place of an orderly end
                raw = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.close()


async def garbage(target: Target, made: random.Random) -> int:
    """Bytes that are hardly HTTP."""
    starts = (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /whip HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /" + b"a" * 70_000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 3000,
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n",
    )
    tails = (
        b"",
        b"\r\n",
        b"\r\n\r\n",
        b"ffffffffffffffff\r\n",
        made.randbytes(200),
        b"5;" + b"x" * 9000,
    )
    for _ in range(20):
        await _send_raw(
            target, made.choice(starts) + made.choice(tails), linger=made.random() < 0.5
        )
    return 20


async def slow(target: Target, made: random.Random) -> int:
    """Many connections that send a byte now and then, or nothing."""

    async def one(data: bytes) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            _, writer = await asyncio.open_connection("127.0.0.1", target.port)
            try:
                for at in range(len(data)):
                    writer.write(data[at : at + 1])
                    await writer.drain()
                    await asyncio.sleep(0.1)
            finally:
                writer.close()

    begun = b"POST /whip HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\nv=0"
    await asyncio.gather(*(one(begun[: made.randrange(30)]) for _ in range(30)))
    return 30


async def half_open(target: Target, made: random.Random) -> int:
    """Requests whose answers nobody reads, and connections that are reset."""
    request = (
        f"GET /app.js HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {target.token}\r\n\r\n"
    ).encode()
    await asyncio.gather(
        *(
            _send_raw(target, request * made.randrange(1, 40), read=False, linger=False)
            for _ in range(20)
        )
    )
    return 20


# --- requests ---------------------------------------------------------------------------------


async def requests(target: Target, made: random.Random) -> int:
    """Every path, method and header in the wrong place."""
    for _ in range(40):
        path = "/" + "/".join(made.choices(PIECES, k=made.randrange(1, 5)))
        names = "".join(
            f"{made.choice(NAMES)}: {made.choice(VALUES)}\r\n" for _ in range(made.randrange(6))
        )
        token = made.choice((target.token, target.token[:-1], "", "x" * 300))
        head = (
            f"{made.choice(METHODS)} {path.replace(' ', '')} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {token}\r\nConnection: close\r\n{names}\r\n"
        )
        await _send_raw(
            target, head.encode("utf-8", "replace") + made.randbytes(made.randrange(99))
        )
    return 40


async def traversal(target: Target, made: random.Random) -> int:
    """Names that would lead out of the page's folder, or of that of the recordings."""
    ups = ("..", "%2e%2e", "..%2f", "%252e%252e", "..\\", "%c0%ae%c0%ae", "\x00..", "/..", "~")
    for _ in range(30):
        up = made.choice(ups)
        path = made.choice(("/", "/static/", "/feed/", "/sessions/")) + f"{up}/" * made.randrange(
            1, 9
        )
        path += made.choice(("etc/passwd", "pyproject.toml", "server/app.py", "record"))
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {target.token}\r\n"
        await _send_raw(target, head.encode() + b"Connection: close\r\n\r\n")
    return 30


# --- WHIP -------------------------------------------------------------------------------------


@functools.cache
def _offer_lines() -> list[str]:
    async def make() -> str:
        peer = RTCPeerConnection()
        peer.addTransceiver("audio", direction="sendonly")
        peer.addTransceiver("video", direction="sendonly")
        await peer.setLocalDescription(await peer.createOffer())
        made: str = peer.localDescription.sdp
        await peer.close()
        return made

    return asyncio.new_event_loop().run_until_complete(make()).split("\r\n")


def _offers(made: random.Random, lines: list[str]) -> bytes:
    section = next(index for index, line in enumerate(lines) if line.startswith("m="))
    head, media = lines[:section], lines[section:]
    candidate = "a=candidate:1 1 udp 1 {} {} typ host"
    return made.choice(
        (
            hostile_sdp(made, lines),
            hostile_sdp(made, lines),
            "\r\n".join([*head, *media * 1000]).encode(),
            "\r\n".join([*head, *media[:1] * 1000]).encode(),
            b"v=0\r\n" * 200_000,
            "\r\n".join([*lines, *["a=x:" + "y" * 1000] * 60]).encode(),
            "\r\n".join(
                [*lines, *(candidate.format(f"10.0.{n}.1", n % 70000) for n in range(500))]
            ).encode(),
            "\r\n".join([*lines, candidate.format("x" * 300 + ".local", 9)]).encode(),
            made.randbytes(made.randrange(3000)),
        )
    )


async def whip(target: Target, made: random.Random) -> int:
    """Offers changed in every way; what is answered is patched, and ended or left."""
    lines = await asyncio.to_thread(_offer_lines)
    sent = 0
    async with httpx2.AsyncClient(base_url=target.url, headers=target.bearer) as client:
        for _ in range(12):
            with contextlib.suppress(httpx2.HTTPError):
                answer = await client.post(
                    "/whip",
                    content=_offers(made, lines),
                    headers={"content-type": "application/sdp"},
                    timeout=20.0,
                )
                sent += 1
                if answer.status_code != 201:
                    continue
                place = answer.headers["location"]
                for _ in range(made.randrange(4)):
                    await client.patch(
                        place,
                        content=hostile_sdp(
                            made, ["a=ice-ufrag:x", "a=ice-pwd:y", "m=audio 9 x 0"]
                        ),
                        headers={
                            "content-type": "application/trickle-ice-sdpfrag",
                            "if-match": made.choice(("*", "x", answer.headers["etag"])),
                        },
                    )
                    sent += 1
                if made.random() < 0.8:
                    await client.delete(place)
    return sent


# --- WebSockets -------------------------------------------------------------------------------


async def frames(target: Target, made: random.Random) -> int:
    """WebSocket frames that break the rules of RFC 6455."""
    upgrade = (
        f"GET /ingest HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ).encode()
    kinds = (
        b"\x82\xff" + b"\x7f" + b"\xff" * 7 + b"mask",
        b"\x01\x80mask" + b"\x00\x80mask" * 500,
        b"\x89\x80mask" * 500,
        b"\xf2\x85masktext!",
        b"\x81\x05plain",
        b"\x88\xfdmask",
        b"\x8f\x80mask",
        b"\x09\xfe\x01\x00mask",
        made.randbytes(300),
    )
    for _ in range(20):
        await _send_raw(target, upgrade + b"".join(made.choices(kinds, k=3)), linger=False)
    return 20


async def hellos(target: Target, made: random.Random) -> int:
    """First messages that are none, with tokens and secrets that are wrong."""
    bad: list[Any] = [None, 1, "", [], {}, "x" * 300, "zz-\x00", True, {"session": 1}]
    bad += [{"session": "../..", "secret": "x" * 9000}, {"session": "x", "secret": "\x00ü"}]
    for _ in range(15):
        key = made.choice(("type", "version", "format", "language", "token", "resume"))
        async with ingest(target, **{key: made.choice(bad)}) as ws:
            if ws is not None:
                await ws.send(json.dumps({"type": "end"}))
    return 15


async def origins(target: Target, made: random.Random) -> int:
    """Pages of other places."""
    sent = 0
    for origin in ("null", "http://evil.example", "http://127.0.0.1:1", "\u00fc", "file://"):
        sent += 1
        with contextlib.suppress(OSError, TimeoutError, WebSocketException, UnicodeError):
            async with connect(
                f"ws://127.0.0.1:{target.port}/ingest",
                additional_headers={"Origin": origin},
                proxy=None,
            ) as ws:
                await ws.send(json.dumps({"type": "hello", "version": 1, "token": target.token}))
                said = json.loads(await ws.recv())
                assert said["type"] != "welcome", f"a page at {origin} was let in"
    return sent


async def cut(target: Target, made: random.Random) -> int:
    """Sessions that are opened and cut off, some to be resumed."""
    sent = 0
    resume: Any = True
    for _ in range(10):
        async with ingest(target, resume=resume) as ws:
            sent += await send_all(ws, [HEAD.pack(1, 0) + bytes(3200)])
            if ws is not None:
                ws.transport.abort()
        resume = made.choice((True, {"session": os.urandom(9).hex(), "secret": "x"}))
    return sent


async def deaf(target: Target, made: random.Random) -> int:
    """Readers of a feed that never read, while much is said."""
    sent, said = 0, dict[str, Any]()
    async with ingest(target, said) as ws:
        if ws is None:
            return await send_all(None, [])
        session = said["session"]
        head = (
            f"GET /feed/{session} HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\n"
            f"Authorization: Bearer {target.token}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ).encode()
        writers = []
        for _ in range(8):
            raw = socket.socket()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            raw.setblocking(False)
            await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", target.port))
            await asyncio.get_running_loop().sock_sendall(raw, head)
            writers.append(raw)
        messages: list[bytes | str] = []
        for step in range(150):
            messages += [HEAD.pack(1, step * 20_000) + bytes(640)]
            messages += [HEAD.pack(2, step * 20_000) + small_jpeg()]
        await send_all(ws, messages)
        for raw in writers:
            raw.close()
        sent = len(writers)
    return sent


WAYS: dict[str, Way] = {
    way.__name__: way
    for way in (
        *(garbage, slow, half_open, requests, traversal, whip, pictures, sound, words, webm),
        *(frames, hellos, origins, cut, deaf),
    )
}
