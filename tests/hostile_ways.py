"""Ways to misbehave towards a live server, over its real sockets.

Each takes the server and a source of randomness, and returns how many messages it sent. What the
server does with them is judged by :mod:`tests.hostile_run`; that it cuts connections is no fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import json
import os
import random
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import av
import cv2
import httpx2
import numpy as np
from aiortc import RTCPeerConnection
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from tests.test_server_hostile import METHODS, NAMES, PIECES, VALUES, broken, hostile_sdp

HEAD = struct.Struct(">BQ")
_WITHIN = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server on this machine, and what it lets in."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


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


@contextlib.asynccontextmanager
async def _ingest(
    target: Target, welcome: dict[str, Any] | None = None, **changed: Any
) -> AsyncIterator[ClientConnection | None]:
    """A connection that was welcomed, and its welcome; None when there is no room."""
    hello = {"type": "hello", "version": 1, "format": "pcm+jpeg", "language": "en"}
    url = f"ws://127.0.0.1:{target.port}/ingest"
    async with contextlib.AsyncExitStack() as stack:
        ws: ClientConnection | None = None
        try:
            ws = await stack.enter_async_context(
                connect(url, close_timeout=1.0, max_size=1 << 20, proxy=None)
            )
            await ws.send(json.dumps({**hello, "token": target.token, **changed}))
            async with asyncio.timeout(20):
                said = json.loads(await ws.recv())
        except (OSError, TimeoutError, WebSocketException):
            said = {}
        if welcome is not None:
            welcome.update(said)
        with contextlib.suppress(OSError, TimeoutError, WebSocketException):
            yield ws if said.get("type") == "welcome" else None


async def _send_all(ws: ClientConnection | None, messages: list[bytes | str]) -> int:
    sent = 0
    if ws is None:
        await asyncio.sleep(0.3)  # there is no room just now
        return 1
    with contextlib.suppress(ConnectionClosed, OSError, TimeoutError):
        async with asyncio.timeout(20):
            for message in messages:
                await ws.send(message)
                sent += 1
    return sent


@functools.cache
def _jpeg() -> bytes:
    _, encoded = cv2.imencode(".jpg", np.full((48, 64, 3), 90, np.uint8))
    return encoded.tobytes()


def _jpeg_saying(width: int, height: int) -> bytes:
    """A small file that says that its picture is large."""
    content = bytearray(_jpeg())
    at = content.index(b"\xff\xc0")
    struct.pack_into(">HH", content, at + 5, height, width)
    return bytes(content)


@functools.cache
def _jpeg_of_scans() -> bytes:
    """A progressive picture whose last scan, of a few bytes, is said over and over."""
    options = [int(cv2.IMWRITE_JPEG_PROGRESSIVE), 1]
    _, encoded = cv2.imencode(".jpg", np.zeros((4000, 4000, 3), np.uint8), options)
    content = encoded.tobytes()
    last = content[content.rindex(b"\xff\xda") : -2]
    return content[:-2] + last * ((1_900_000 - len(content)) // len(last)) + b"\xff\xd9"


def _times(made: random.Random) -> int:
    return made.choice((0, 1, made.randrange(10**8), 2**63, 2**64 - 1, 10**15, 999_999))


async def pictures(target: Target, made: random.Random) -> int:
    """Pictures that are huge, broken or not pictures."""
    large = [_jpeg_saying(*size) for size in ((65_535, 65_535), (4000, 4000), (1, 65_535), (0, 0))]
    choices = [*large, _jpeg(), b"\xff\xd8" + b"\xff" * 5000, b"\xff\xd8\xff\xe1\xff\xff"]
    messages: list[bytes | str] = []
    for _ in range(40):
        picture = made.choice(choices)
        picture = broken(made, picture) if made.random() < 0.4 else picture
        messages.append(HEAD.pack(2, _times(made)) + picture)
    if made.random() < 0.2:
        messages.append(HEAD.pack(2, 1) + _jpeg_of_scans())
    async with _ingest(target) as ws:
        return await _send_all(ws, messages)
    return 1


async def sound(target: Target, made: random.Random) -> int:
    """Sound with absurd times and lengths."""
    messages: list[bytes | str] = [
        HEAD.pack(made.choice((1, 1, 1, 0, 3, 255)), _times(made))
        + made.choice((b"", b"\0", bytes(640), made.randbytes(640), bytes(1_500_000)))
        for _ in range(60)
    ]
    async with _ingest(target) as ws:
        return await _send_all(ws, messages)
    return 1


async def words(target: Target, made: random.Random) -> int:
    """JSON that is deep, large or strange."""
    number = ("NaN", "-Infinity", "1e999", "9" * 4000, "-1", "true", '"x"', "[]", "null")
    kinds: list[bytes | str] = [
        "[" * 8000,
        '{"a":' * 4000,
        "\x00",
        '{"type":"hello"}',
        '{"type":"\ud83d"}'.encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
        *(f'{{"type":"clock","sent":{one}}}' for one in number),
        *(f'{{"type":"clock","sent":1,"late":{one}}}' for one in number),
        *(f'{{"type":"captured","zero":{one},"within":{one}}}' for one in number),
        '{"type":"captured","zero":0,"within":0,"rtp":{' + '"1":1,' * 900 + '"2":2}}',
    ]
    async with _ingest(target) as ws:
        return await _send_all(ws, made.choices(kinds, k=40))
    return 1


@functools.cache
def _webm() -> bytes:
    out = io.BytesIO()
    with av.open(out, "w", format="webm") as container:
        stream = container.add_stream("libvpx", rate=10)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for index in range(10):
            image = np.full((48, 64, 3), 20 * index, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return out.getvalue()


async def webm(target: Target, made: random.Random) -> int:
    """WebM with absurd sizes, cut and changed anywhere."""
    content = _webm()
    if made.random() < 0.3:
        content = content[:40] + b"\x01" + b"\xff" * 7 + content[48:]
    elif made.random() < 0.3:
        at = content.find(b"\xb0\x82")  # how wide the pictures are
        content = content[:at] + b"\xb0\x84\xff\xff\xff\xff" + content[at + 4 :]
    else:
        content = broken(made, content)
    pieces = [content[at : at + 3000] for at in range(0, len(content), 3000)]
    messages: list[bytes | str] = [HEAD.pack(3, 0) + piece for piece in pieces * 2 if piece]
    async with _ingest(target, format="webm") as ws:
        return await _send_all(ws, messages)
    return 1


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
        async with _ingest(target, **{key: made.choice(bad)}) as ws:
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
        async with _ingest(target, resume=resume) as ws:
            sent += await _send_all(ws, [HEAD.pack(1, 0) + bytes(3200)])
            if ws is not None:
                ws.transport.abort()
        resume = made.choice((True, {"session": os.urandom(9).hex(), "secret": "x"}))
    return sent


async def deaf(target: Target, made: random.Random) -> int:
    """Readers of a feed that never read, while much is said."""
    sent, said = 0, dict[str, Any]()
    async with _ingest(target, said) as ws:
        if ws is None:
            return await _send_all(None, [])
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
            messages += [HEAD.pack(2, step * 20_000) + _jpeg()]
        await _send_all(ws, messages)
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
