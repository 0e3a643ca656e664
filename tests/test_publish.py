"""Streams sent to live servers: what arrives, and what happens when a server is not there."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from websockets.asyncio.server import ServerConnection, serve

from client.cli import run
from client.publishing.link import LinkLost, PublishError, plain_fingerprint
from client.publishing.pieces import FilePieces, Piece
from client.publishing.publisher import Progress, Publisher
from client.publishing.pulled import PulledPieces, is_live
from client.publishing.websocket import WebSocketLink, ingest_address, open_websocket
from streaming.clock import FastClock
from streaming.events import AudioBlock, VideoFrame
from tests.ingest_taker import Taken
from tests.media_maker import write_clip
from tests.tcp_sender import Sender

HEAD = struct.Struct(">BQ")
EVENTS = (0.3, 0.7)


@dataclass(slots=True)
class Pretended:
    """A server that keeps what it is sent. ``greet`` answers the hello."""

    taken: Taken = field(default_factory=Taken)
    hellos: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    break_after: int | None = None
    refusal: str | None = None

    async def __call__(self, socket: ServerConnection) -> None:
        if socket.request is not None and socket.request.path.startswith("/feed/"):
            return  # it has nothing to say
        self.hellos.append(json.loads(await socket.recv()))
        if self.refusal is not None:
            await socket.send(json.dumps({"type": "refused", "text": self.refusal}))
            return
        await socket.send(json.dumps({"type": "welcome", "session": "s1", "feed": "/feed/s1"}))
        count = 0
        async for message in socket:
            if isinstance(message, str):
                if await self._text(socket, json.loads(message)):
                    return
                continue
            self._media(message)
            count += 1
            if count == self.break_after:
                self.break_after = None
                socket.transport.abort()
                return

    async def _text(self, socket: ServerConnection, message: dict[str, Any]) -> bool:
        self.texts.append(message["type"])
        if message["type"] == "clock":
            await socket.send(json.dumps({**message, "server": 1.0}))
        return bool(message["type"] == "end")

    def _media(self, message: bytes) -> None:
        kind, microseconds = HEAD.unpack_from(message)
        media, time = message[HEAD.size :], microseconds / 1e6
        if kind == 1:
            samples = np.frombuffer(media, "<i2").astype(np.float32)[None, :] / 32768
            self.taken.sound(samples, rate=16_000, time=time)
        else:
            image = cv2.imdecode(np.frombuffer(media, np.uint8), cv2.IMREAD_COLOR_RGB)
            self.taken.picture(np.asarray(image, np.uint8), time=time)


@contextlib.asynccontextmanager
async def pretended(server: Pretended) -> AsyncIterator[str]:
    async with serve(server, "127.0.0.1", 0) as listening:
        yield f"ws://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


def clip(folder: Path, **how: Any) -> Path:
    return write_clip(folder / "made.mkv", seconds=1.0, events=EVENTS, **how)


def opening(url: str, **how: Any) -> Callable[[], Awaitable[WebSocketLink]]:
    return lambda: open_websocket(url, **how)


@pytest.mark.threads
async def test_a_file_arrives_with_its_times(tmp_path: Path) -> None:
    path, server = clip(tmp_path), Pretended()
    async with pretended(server) as url:
        pieces = FilePieces(path, loop=False)
        progress = await Publisher(pieces, opening(url, token="secret", language="zh")).run()
        await pieces.close()
    taken = server.taken
    assert [frame.time for frame in taken.frames] == pytest.approx(
        [index / 30 for index in range(30)], abs=0.001
    )
    assert taken.flashes() == pytest.approx(EVENTS, abs=1 / 30)
    assert taken.clicks() == pytest.approx(EVENTS, abs=0.002)
    assert server.hellos == [
        {
            "type": "hello",
            "version": 1,
            "format": "pcm+jpeg",
            "language": "zh",
            "resume": True,
            "token": "secret",
        }
    ]
    assert server.texts[-1] == "end"
    assert progress.pictures == 30
    assert progress.delay is not None
    assert progress.delay < 1.0


@pytest.mark.threads
async def test_a_broken_connection_is_made_again_and_the_stream_goes_on(tmp_path: Path) -> None:
    path, server = clip(tmp_path), Pretended(break_after=20)
    async with pretended(server) as url:
        pieces = FilePieces(path, loop=False)
        progress = await Publisher(pieces, opening(url)).run()
    assert progress.connections == 2
    assert len(server.hellos) == 2
    assert progress.seconds == pytest.approx(1.0, abs=0.01)
    onsets = [time for time, _, _ in server.taken.sounds]
    (anew,) = [after for before, after in itertools.pairwise(onsets) if after < before]
    assert anew <= 0.15  # times begin with the connection
    assert server.texts[-1] == "end"


@pytest.mark.threads
async def test_a_refusal_is_told_and_not_tried_again(tmp_path: Path) -> None:
    server = Pretended(refusal="it is full")
    async with pretended(server) as url:
        with pytest.raises(PublishError, match="it is full"):
            await Publisher(FilePieces(clip(tmp_path), loop=False), opening(url)).run()
    assert len(server.hellos) == 1


@pytest.mark.threads
async def test_no_server_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(PublishError, match=r"no connection .* is the server running") as caught:
        await Publisher(
            FilePieces(clip(tmp_path), loop=False), opening("ws://127.0.0.1:9", token="geheim")
        ).run()
    assert "geheim" not in str(caught.value)


@pytest.mark.threads
async def test_a_loop_goes_on_in_time(tmp_path: Path) -> None:
    class Looped(FilePieces):
        async def next(self) -> tuple[float, Piece] | None:
            return None if self._reached > 2.5 else await super().next()

    path = clip(tmp_path)
    pieces, starts = Looped(path, loop=True, clock=FastClock()), []
    while (given := await pieces.next()) is not None:
        time, piece = given
        if isinstance(piece, AudioBlock):
            starts.append(time)
    await pieces.close()
    assert starts == sorted(starts)
    assert starts[-1] > 2.0


class Fake:
    """A link that breaks when it is told to."""

    def __init__(self, breaks: list[int]) -> None:
        self.name, self.delay = "fake", None
        self.zero: float | None = None
        self._breaks = breaks
        self.sent: list[tuple[float, Piece]] = []

    async def send(self, piece: Piece, *, time: float) -> None:
        self.sent.append((time, piece))
        if self._breaks and len(self.sent) == self._breaks[0]:
            self._breaks.pop(0)
            raise LinkLost("gone")

    async def close(self) -> None: ...


class Steady:
    """Pictures, ten a second, that say themselves how late they are."""

    def __init__(self, lags: list[float]) -> None:
        self._lags = iter(lags)
        self._time = -0.1
        self._lag = 0.0

    async def next(self) -> tuple[float, Piece] | None:
        lag = next(self._lags, None)
        if lag is None:
            return None
        self._time, self._lag = self._time + 0.1, lag
        image = np.zeros((4, 4, 3), np.uint8)
        return self._time, VideoFrame(time=self._time, image=image)

    def lag(self) -> float:
        return self._lag

    def resume(self) -> None: ...

    async def close(self) -> None: ...


async def test_late_pictures_are_left_out_and_counted() -> None:
    link = Fake([])

    async def connect() -> Fake:
        return link

    progress = await Publisher(Steady([0.0, 0.6, 3.0, 0.1]), connect).run()
    assert (progress.pictures, progress.skipped) == (2, 2)


async def test_waits_grow_and_end() -> None:
    attempts: list[float] = []
    loop = asyncio.get_running_loop()

    async def connect() -> Fake:
        attempts.append(loop.time())
        if len(attempts) == 1:
            return Fake([1])
        raise LinkLost("no answer")

    shown: list[str | None] = []
    publisher = Publisher(Steady([0.0] * 9), connect, lambda now: shown.append(now.problem))
    with pytest.raises(PublishError, match="no answer after 8 attempts"):
        await publisher.run()
    waits = np.diff(attempts)
    assert list(waits) == pytest.approx([0.5, 1, 2, 4, 8, 8, 8])
    assert "no answer" in shown


@pytest.mark.parametrize(
    ("url", "why"),
    [("ws://", "no host"), ("ws://me:word@host", "no password")],
)
def test_addresses_that_cannot_be_used_are_refused(url: str, why: str) -> None:
    with pytest.raises(PublishError, match=why) as caught:
        ingest_address(url)
    assert "word@" not in str(caught.value)


def test_the_path_of_the_ingest_is_filled_in() -> None:
    assert ingest_address("ws://host:1") == "ws://host:1/ingest"
    assert ingest_address("wss://host/deep/ingest") == "wss://host/deep/ingest"


def test_fingerprints_are_read_in_every_writing() -> None:
    assert plain_fingerprint("AB:" * 31 + "AB") == "ab" * 32
    with pytest.raises(PublishError, match="32 pairs"):
        plain_fingerprint("AB:CD")


@pytest.mark.realtime
@pytest.mark.threads
async def test_a_pulled_stream_arrives_in_step(tmp_path: Path) -> None:
    content = write_clip(
        tmp_path / "made.ts", seconds=2.0, events=(0.5, 1.5), audio_codec="mp2"
    ).read_bytes()

    sender, server, enough = Sender(content, 1), Pretended(), asyncio.Event()

    def look(progress: Progress) -> None:
        if progress.seconds > 1.8:
            enough.set()

    async with pretended(server) as url:
        pieces = PulledPieces(sender.address)
        running = asyncio.create_task(Publisher(pieces, opening(url), look).run())
        async with asyncio.timeout(10):
            await enough.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await pieces.close()
    sender.join()
    clicks = np.asarray(server.taken.clicks())
    assert server.taken.flashes()
    for flash in server.taken.flashes():
        assert np.abs(clicks - flash).min() < 1 / 30 + 0.01


def test_cameras_and_addresses_are_told_from_files() -> None:
    assert is_live("camera")
    assert is_live("camera:1")
    assert is_live("rtsp://host/x")
    assert not is_live("camera.mp4")


def test_wrong_use_ends_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["publish", "x.mp4", "ftp://host"]) == 2
    assert run(["publish", str(tmp_path / "none.mp4"), "ws://127.0.0.1:9"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "no such file" in said[1]


def test_the_command_says_how_it_went(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = clip(tmp_path)

    async def go() -> int:
        async with pretended(Pretended()) as url:
            return await asyncio.to_thread(run, ["publish", str(path), url])

    assert asyncio.run(go()) == 0
    said = capsys.readouterr().out
    assert "ended: 1.0 s, 30 pictures" in said
