"""Streams published over WebRTC, to the project's own endpoint and to servers that refuse."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from client.publishing.link import LinkLost, PublishError
from client.publishing.pieces import FilePieces, Piece
from client.publishing.publisher import Publisher
from client.publishing.whip import open_whip, whip_address
from server.whip import WhipEndpoint
from streaming.events import AudioBlock
from tests.media_maker import write_clip
from tests.whip_maker import IN_STEP, MadeHub, needs_network

pytestmark = [pytest.mark.threads, pytest.mark.realtime]

SECONDS = 4.0


@contextlib.asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(10):
            while not server.started:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


def answering(status: int, text: str, **headers: str) -> Starlette:
    async def answer(request: Request) -> Response:
        assert request.headers.get("authorization", "Bearer secret") == "Bearer secret"
        return Response(text, status_code=status, headers=headers)

    return Starlette(routes=[Route("/whip", answer, methods=["POST", "DELETE"])])


class Told:
    """A file's pieces; its pictures say when they are by how much of them is white."""

    def __init__(self, pieces: FilePieces) -> None:
        self._pieces = pieces

    async def next(self) -> tuple[float, Piece] | None:
        given = await self._pieces.next()
        if given is None or isinstance(picture := given[1], AudioBlock):
            return given
        time = given[0]
        image = np.zeros_like(picture.image)
        image[: round(time / SECONDS * len(image))] = 255
        return time, replace(picture, image=image)

    def lag(self) -> float:
        return self._pieces.lag()

    def resume(self) -> None:
        self._pieces.resume()

    async def close(self) -> None:
        await self._pieces.close()


async def test_a_file_arrives_in_step(tmp_path: Path) -> None:
    needs_network()
    events = (0.8, 1.6, 2.4, 3.2)
    path = write_clip(
        tmp_path / "made.mkv", seconds=SECONDS, events=events, size=(64, 480), fps=10.0
    )
    hub = MadeHub()
    endpoint = WhipEndpoint(hub)
    async with serving(Starlette(routes=endpoint.routes())) as url:
        connect = functools.partial(open_whip, url, token="secret", language="zh")
        progress = await Publisher(Told(FilePieces(path, loop=False)), connect).run()
        (session,) = hub.sessions.values()
        await endpoint.aclose()
    assert progress.session == session.id
    assert session.language == "zh"
    assert session.ingest.closed is not None
    taken = session.ingest
    assert np.diff(taken.clicks()) == pytest.approx([0.8] * 3, abs=0.02)
    assert len(taken.pictures) > 10
    # However busy the machine is, and whichever pictures it loses: those that come say when they
    # were caught, and both tracks lie as they did.
    sound = median(np.subtract(taken.clicks(), events))
    late = [time - level / 255 * SECONDS for time, level in taken.pictures]
    assert abs(median(late[len(late) // 2 :]) - sound) < IN_STEP, (late, sound)


@pytest.mark.parametrize(
    ("status", "text", "why"),
    [
        (401, "a token is needed", "401 a token is needed; set DEIXIS_TOKEN"),
        (404, "", "refuses with 404"),
        (503, "it has 4 sessions", "it has 4 sessions"),
        (201, "no sdp", "no Location"),
        (200, "page", "refuses with 200"),
    ],
)
async def test_refusals_are_one_line(status: int, text: str, why: str) -> None:
    async with serving(answering(status, text)) as url:
        with pytest.raises(PublishError, match=why):
            await open_whip(url)


async def test_an_answer_that_is_none_is_refused() -> None:
    async with serving(answering(201, "no sdp", location="/whip")) as url:
        with pytest.raises(PublishError, match="cannot be used"):
            await open_whip(url)


async def test_a_session_on_another_host_is_not_followed() -> None:
    async with serving(answering(201, "v=0", location="http://elsewhere/x")) as url:
        with pytest.raises(PublishError, match="another host"):
            await open_whip(url, token="secret")


async def test_a_server_that_is_not_ready_or_there_may_be_asked_again() -> None:
    async with serving(answering(502, "later")) as url:
        with pytest.raises(LinkLost, match="502 later"):
            await open_whip(url)
    with pytest.raises(LinkLost, match="no connection"):
        await open_whip("http://127.0.0.1:9")


def test_addresses() -> None:
    assert whip_address("https://host") == "https://host/whip"
    assert whip_address("https://host/live/key") == "https://host/live/key"
    with pytest.raises(PublishError, match="no password"):
        whip_address("https://me:word@host")
