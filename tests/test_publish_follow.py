"""``deixis publish`` to a real server: its view, a cut that it gets over, and how it ends."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.publishing.following import Following, feed_address
from client.publishing.publisher import Publisher
from client.publishing.websocket import WebSocketLink, WebSocketWay
from streaming.events import AudioBlock, VideoFrame
from tests.live_maker import serving
from tests.media_maker import write_clip
from tests.pretend_pipeline import PretendEngines

pytestmark = pytest.mark.threads
BLOCK = 1600


class Pieces:
    """Two seconds of a stream, at no pace at all; ``cut`` breaks the connection within."""

    def __init__(self) -> None:
        self.link: WebSocketLink | None = None
        self.cut_at: int | None = None
        self._count = 0

    async def next(self) -> tuple[float, AudioBlock | VideoFrame] | None:
        index = self._count
        self._count += 1
        if index == self.cut_at and self.link is not None:
            self.link._socket.transport.abort()
        if index >= 40:
            return None
        time = index // 2 / 10
        if index % 2:
            return time, VideoFrame(time=time, image=np.zeros((48, 64, 3), np.uint8))
        return time, AudioBlock(onset=time, samples=np.zeros(BLOCK, np.float32))

    def lag(self) -> float:
        return 0.0

    def resume(self) -> None: ...

    async def close(self) -> None: ...


async def test_a_cut_is_got_over_in_the_same_session() -> None:
    async with asyncio.timeout(30), serving(PretendEngines()) as (address, hub):
        way, pieces = WebSocketWay(f"ws://{address}", language="en"), Pieces()
        pieces.cut_at = 15
        seen: list[set[str]] = []

        async def connecting() -> WebSocketLink:
            pieces.link = await way()
            seen.append({session.id for session in hub.sessions})
            return pieces.link

        progress = await Publisher(pieces, connecting).run()
    assert (progress.connections, progress.resumed) == (2, 1)
    assert len(seen[0]) == 1
    assert seen[0] == seen[1]


async def test_the_feed_is_followed_to_its_end() -> None:
    lines: list[dict[str, Any]] = []
    told: list[str] = []
    async with asyncio.timeout(30), serving(PretendEngines()) as (address, _):
        following = Following(
            f"ws://{address}", token=None, fingerprint=None, show=lines.append, tell=told.append
        )
        way = WebSocketWay(f"ws://{address}", language="en")
        publisher = Publisher(Pieces(), way, lambda done: following.begin(done.session))
        await publisher.run()
        await following.finish(within=20)
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "Header"
    assert kinds[-1] == "End"
    assert {"Word", "Asked", "Answer", "HandsSeen"} <= set(kinds)
    assert told == []


async def test_a_server_without_a_feed_is_no_failure() -> None:
    told: list[str] = []
    async with asyncio.timeout(30), serving(PretendEngines()) as (address, _):
        for url in (f"ws://{address}", "http://127.0.0.1:9"):
            following = Following(
                url, token=None, fingerprint=None, show=lambda line: None, tell=told.append
            )
            following.begin("nobody")
            await following.finish(within=20)
    assert told == ["the server does not show what it makes of this stream"]


def test_the_feed_lies_on_the_same_server() -> None:
    assert feed_address("https://host:1/whip?x=1", "a/b") == "wss://host:1/feed/a%2Fb"
    assert feed_address("ws://host", "s") == "ws://host/feed/s"


async def test_ctrl_c_ends_a_stream_cleanly(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "made.mkv", seconds=1.0, events=(0.5,))
    async with asyncio.timeout(60), serving(PretendEngines()) as (address, hub):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "client.cli", "publish", str(path), f"ws://{address}"),
            "--loop",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        said = b""
        while b"word" not in said:
            said += await process.stdout.read(1000)
        (session,) = hub.sessions
        process.send_signal(signal.SIGINT)
        rest, errors = await process.communicate()
        assert process.returncode == 130
        assert errors.decode() == "deixis: interrupted; what was finished is kept\n"
        assert re.search(rb"connected: session", said + rest)
        assert session.source.closed == "the client ended it"
        assert json.loads(await anext(session.feed.subscribe()))["type"] == "State"
