"""Hostile clients on real sockets: too slow, too many, too greedy."""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from server.guard import Guard, GuardSettings, uvicorn_options
from server.tls import self_made_certificate
from tests.guard_maker import SECRET, Echo, limits, token

pytestmark = pytest.mark.threads

PATIENT = limits(requests=1e6, requests_burst=1e6)


@contextlib.asynccontextmanager
async def served(
    settings: GuardSettings, app: ASGIApp | None = None
) -> AsyncIterator[tuple[int, uvicorn.Server]]:
    """A server on a free port of this machine."""
    options = {**uvicorn_options(settings), "port": 0, "log_config": None, "log_level": "critical"}
    options["timeout_graceful_shutdown"] = 1
    wrapped = Guard(settings).wrap(app or Echo())
    server = uvicorn.Server(uvicorn.Config(wrapped, lifespan="off", **options))
    running = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[1], server
    finally:
        server.should_exit = True
        await running


async def reads(port: int, sent: bytes, *, most: float = 3.0) -> bytes:
    """What comes back until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        async with asyncio.timeout(most):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        await shut(writer)


async def upgraded(port: int, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A WebSocket on which anything can be sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(asked(path, more=UPGRADE))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
    return reader, writer


async def shut(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()


async def empty(server: uvicorn.Server, *, within: float = 3.0) -> None:
    """Wait until the server has let go of every connection."""
    async with asyncio.timeout(within):
        while server.server_state.connections:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def asked(path: str = "/", *, more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n".encode()


UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", asked() + b"GET /"]
)
async def test_headers_that_never_end_are_not_waited_for(sent: bytes) -> None:
    async with served(GuardSettings(limits=limits(header_seconds=0.2))) as (port, server):
        await reads(port, sent)
        await empty(server)


async def test_headers_that_drip_are_not_waited_for() -> None:
    async with served(GuardSettings(limits=limits(header_seconds=0.2))) as (port, server):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(3):
                while True:
                    writer.write(b"x: y\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.02)
        await shut(writer)
        await empty(server)


async def test_a_client_that_does_not_read_is_cut() -> None:
    """However little is left to be read."""

    async def big(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(400):
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
        await send({"type": "http.response.body"})

    settings = GuardSettings(limits=limits(stall_seconds=0.2))
    async with served(settings, big) as (port, server):
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(asked())
        await asyncio.sleep(0.05)
        assert server.server_state.connections
        await empty(server)
        await shut(writer)


async def test_only_so_many_connections_are_open() -> None:
    async with served(GuardSettings(limits=limits(connections_each=3))) as (port, server):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert await reads(port, asked()) == b""
        for _, writer in held:
            await shut(writer)
        await empty(server)
        assert (await reads(port, asked(more="Connection: close\r\n"))).startswith(b"HTTP/1.1 200")


async def test_empty_fragments_do_not_pile_up() -> None:
    async with served(GuardSettings()) as (port, server):
        reader, writer = await upgraded(port, "/ingest")
        writer.write(masked(2, fin=False) + masked(0, fin=False) * 300)
        async with asyncio.timeout(3):
            assert struct.pack("!H", 1009) + b"too many fragments" in await reader.read()
        await shut(writer)
        await empty(server)


async def test_no_more_fragments_are_read_than_may_be() -> None:
    async with served(GuardSettings()) as (port, server):
        reader, writer = await upgraded(port, "/ingest")
        writer.write(masked(2, fin=False) + masked(0, fin=False) * 100_000)
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(3):
                assert len(await reader.read()) < 100
        await shut(writer)
        await empty(server)


async def test_pings_whose_answers_nobody_reads_do_not_pile_up() -> None:
    settings = GuardSettings(limits=limits(stall_seconds=0.5))
    async with served(settings) as (port, server):
        _, writer = await upgraded(port, "/feed/x")
        pings = masked(9, b"x" * 125) * 2000
        most = 0
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(5):
                while True:
                    writer.write(pings)
                    await writer.drain()
                    await asyncio.sleep(0)
                    for one in server.server_state.connections:
                        most = max(most, one.transport.get_write_buffer_size())
        await shut(writer)
        await empty(server)
        assert most < 1 << 20


async def test_the_server_ends_in_the_moment_in_which_a_client_closes() -> None:
    async with served(GuardSettings(limits=limits())) as (port, server):
        _, writer = await upgraded(port, "/feed/x")
        (one,) = server.server_state.connections
        one.conn.receive_data(masked(8, b"\x03\xe8"))
        server.should_exit = True
        await empty(server)
    await shut(writer)


async def test_a_message_that_is_too_long_is_not_kept() -> None:
    async with served(GuardSettings(limits=limits(message=1000))) as (port, _):
        async with connect(f"ws://127.0.0.1:{port}/ingest") as socket:
            await socket.send(b"x" * 1001)
            with pytest.raises(ConnectionClosed) as caught:
                await socket.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1009


async def test_garbage_does_no_harm() -> None:
    made = random.Random(7)
    beginnings = (
        b"",
        asked(),
        b"POST ",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    )
    async with served(GuardSettings(limits=PATIENT)) as (port, server):
        for number in range(300):
            beginning = beginnings[number % 4]
            if beginning:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            else:
                _, writer = await upgraded(port, made.choice(("/ingest", "/feed/x")))
            writer.write(beginning + made.randbytes(made.randrange(1, 4096)))
            await shut(writer)
        answer = await reads(port, asked(more="Connection: close\r\n"))
        assert answer.startswith(b"HTTP/1.1 200")
        await empty(server)
        assert not server.server_state.tasks


async def test_the_server_says_nothing_about_itself() -> None:
    async with served(GuardSettings()) as (port, _):
        answer = await reads(port, asked(more="Connection: close\r\n"))
    assert b"\r\nserver:" not in answer.lower()
    assert b"\r\ncontent-security-policy: default-src 'none'" in answer


async def test_tls_with_a_self_made_certificate(tmp_path: Path) -> None:
    made = self_made_certificate(["127.0.0.1"], folder=tmp_path)
    settings = GuardSettings(host="127.0.0.1", token=token(), certificate=made)
    trusts = ssl.create_default_context(cafile=str(made.certificate))
    async with served(settings) as (port, server):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusts)
        shown = writer.get_extra_info("ssl_object")
        assert shown.version() in ("TLSv1.2", "TLSv1.3")
        writer.write(asked("/metrics", more="Connection: close\r\n"))
        assert (await reader.read()).startswith(b"HTTP/1.1 401")
        await shut(writer)
        address = f"wss://127.0.0.1:{port}/ingest"
        own = f"https://127.0.0.1:{port}"
        offered = ["deixis", f"bearer.{SECRET}"]
        async with connect(address, ssl=trusts, origin=own, subprotocols=offered) as socket:  # type: ignore[arg-type]
            await socket.send("hi")
            assert await socket.recv() == "1"
            assert socket.subprotocol == "deixis"
        with pytest.raises(InvalidStatus, match="403"):
            await connect(address, ssl=trusts, origin="https://evil.example")  # type: ignore[arg-type]
        assert not (await reads(port, asked())).startswith(b"HTTP/1.1 2")
        await empty(server)


def masked(opcode: int, payload: bytes = b"", *, fin: bool = True) -> bytes:
    """A client's frame, with a mask of zeros."""
    head = bytes([(0x80 if fin else 0) | opcode, 0x80 | len(payload)])
    return head + bytes(4) + payload


@pytest.mark.parametrize("head", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
async def test_what_is_no_request_ends_a_connection_that_is_still_answered(
    head: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused as soon as its headers are read, and what follows them is no body."""
    begun = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with served(GuardSettings(limits=PATIENT, token=token())) as (port, server):
        caplog.set_level("ERROR", logger="uvicorn.error")
        said = await reads(port, head + begun + b"zz\r\n")
        await empty(server)
    assert said.count(b"HTTP/1.1 400") == 1
    assert not [record for record in caplog.records if record.exc_info]
