"""A client that was cut off comes back and goes on with its session."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from server.settings import ServerSettings, WebSocketLimits
from server.ws_ingest import ProtocolError, read_hello
from tests.live_maker import HELLO, picture_message, serving, sound_message
from tests.pretend_pipeline import PretendEngines

pytestmark = pytest.mark.threads
PATIENT = ServerSettings(websocket=WebSocketLimits(resume_within=600.0))


async def hello(socket: ClientConnection, resume: Any = True) -> dict[str, Any]:
    await socket.send(json.dumps({**HELLO, "resume": resume}))
    said: dict[str, Any] = json.loads(await socket.recv())
    return said


def back(said: dict[str, Any]) -> dict[str, str]:
    return {"session": said["session"], "secret": said["secret"]}


async def a_second(socket: ClientConnection) -> None:
    """Sound and pictures, from time 0 on."""
    for step in range(10):
        await socket.send(sound_message(step / 10, np.zeros(1600, np.float32)))
        await socket.send(picture_message(step / 10, np.zeros((48, 64, 3), np.uint8)))


def cut(socket: ClientConnection) -> None:
    """As when the network is gone."""
    socket.transport.abort()


async def notes_until(feed: ClientConnection, kind: str) -> list[dict[str, Any]]:
    lines = []
    async for text in feed:
        lines.append(json.loads(text))
        if lines[-1].get("kind") == kind:
            break
    return lines


async def test_a_client_that_was_cut_off_goes_on_with_its_session() -> None:
    async with asyncio.timeout(30), serving(PretendEngines(), PATIENT) as (address, hub):
        first = await connect(f"ws://{address}/ingest")
        said = await hello(first)
        assert said["resumed"] is False
        assert said["resume_within"] == 600.0
        async with connect(f"ws://{address}{said['feed']}") as feed:
            await a_second(first)
            cut(first)
            await notes_until(feed, "connection_lost")
            async with connect(f"ws://{address}/ingest") as again:
                went_on = await hello(again, back(said))
                assert went_on["resumed"] is True
                assert went_on["session"] == said["session"]
                assert went_on["secret"] == said["secret"]
                assert [one.id for one in hub.sessions] == [said["session"]]
                await a_second(again)
                await again.send(json.dumps({"type": "end"}))
                lines = [json.loads(text) async for text in feed]
    (end,) = [line for line in lines if line["type"] == "End"]
    assert end["counters"]["resumed"] == 1
    assert end["counters"]["connection_lost"] == 1
    assert "time_jump" not in end["counters"]
    words = [line["onset"] for line in lines if line["type"] == "Word"]
    assert words == sorted(words)


async def test_a_wrong_secret_begins_a_new_session() -> None:
    async with asyncio.timeout(30), serving(PretendEngines(), PATIENT) as (address, _):
        async with connect(f"ws://{address}/ingest") as first:
            said = await hello(first)
        async with connect(f"ws://{address}/ingest") as again:
            other = await hello(again, {"session": said["session"], "secret": "ü" + said["secret"]})
            assert other["resumed"] is False
            assert other["session"] != said["session"]
            unknown = await hello_of(address, {"session": "x", "secret": ""})
            assert unknown["type"] == "welcome"


async def hello_of(address: str, resume: Any) -> dict[str, Any]:
    async with connect(f"ws://{address}/ingest") as socket:
        said = await hello(socket, resume)
        await socket.send(json.dumps({"type": "end"}))
        await socket.wait_closed()
    return said


async def test_a_connection_that_was_given_up_lets_go() -> None:
    """Its client noticed the cut first: the server still holds the old connection."""
    async with (
        asyncio.timeout(30),
        serving(PretendEngines(), PATIENT) as (address, hub),
        connect(f"ws://{address}/ingest") as first,
    ):
        said = await hello(first)
        async with connect(f"ws://{address}/ingest") as again:
            assert (await hello(again, back(said)))["resumed"] is True
            with pytest.raises(ConnectionClosed) as closed:
                await first.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4409
            await a_second(again)
            assert hub.sessions[0].source.closed is None


async def test_of_many_that_come_back_at_once_one_goes_on() -> None:
    """The last one to be welcomed; that the others leave does not end its session."""
    brief = ServerSettings(websocket=WebSocketLimits(resume_within=0.05))
    async with asyncio.timeout(30), serving(PretendEngines(), brief) as (address, hub):
        first = await connect(f"ws://{address}/ingest")
        said = await hello(first)
        sockets = [await connect(f"ws://{address}/ingest") for _ in range(6)]
        welcomes = await asyncio.gather(*(hello(socket, back(said)) for socket in sockets))
        assert {one["session"] for one in welcomes} == {said["session"]}
        staying = {asyncio.create_task(one.wait_closed()): one for one in sockets}
        while len(staying) > 1:
            gone, _ = await asyncio.wait(staying, return_when=asyncio.FIRST_COMPLETED)
            staying = {task: one for task, one in staying.items() if task not in gone}
        (last,) = staying.values()
        session = hub.sessions[0]
        await a_second(last)
        assert session.source.closed is None
        await last.send(json.dumps({"type": "end"}))
        async for _ in session.feed.subscribe():
            pass
        assert session.source.closed == "the client ended it"


async def test_who_ends_a_session_cannot_go_on_with_it() -> None:
    async with asyncio.timeout(30), serving(PretendEngines(), PATIENT) as (address, hub):
        async with connect(f"ws://{address}/ingest") as first:
            said = await hello(first)
            await first.send(json.dumps({"type": "end"}))
            await first.wait_closed()
        session = hub.get(said["session"])
        assert session is None or session.source.closed is not None
        assert (await hello_of(address, back(said)))["resumed"] is False


async def test_a_session_that_waits_makes_room_for_a_client_that_is_there() -> None:
    small = replace(PATIENT, sessions=2)
    async with asyncio.timeout(30), serving(PretendEngines(), small) as (address, hub):
        waiting = []
        for _ in range(2):
            socket = await connect(f"ws://{address}/ingest")
            said = await hello(socket)
            async with connect(f"ws://{address}{said['feed']}") as feed:
                cut(socket)
                await notes_until(feed, "connection_lost")
            waiting.append(said)
        assert len(hub.sessions) == 2
        async with connect(f"ws://{address}/ingest") as third:
            assert (await hello(third))["type"] == "welcome"
            assert hub.get(waiting[0]["session"]) is None
            assert hub.get(waiting[1]["session"]) is not None
            async with connect(f"ws://{address}/ingest") as fourth:
                assert (await hello(fourth))["type"] == "welcome"
                async with connect(f"ws://{address}/ingest") as fifth:
                    assert (await hello(fifth))["type"] == "refused"


async def test_a_client_that_does_not_come_back_is_not_waited_for_longer() -> None:
    settings = ServerSettings(websocket=WebSocketLimits(resume_within=0.05))
    async with asyncio.timeout(30), serving(PretendEngines(), settings) as (address, hub):
        socket = await connect(f"ws://{address}/ingest")
        said = await hello(socket)
        async with connect(f"ws://{address}{said['feed']}") as feed:
            cut(socket)
            lines = [json.loads(text) async for text in feed]
        closed = [line["text"] for line in lines if line.get("kind") == "closed"]
        assert closed == ["the client did not come back"]
        assert hub.get(said["session"]) is None


async def test_a_client_that_does_not_ask_for_it_is_not_waited_for() -> None:
    async with asyncio.timeout(30), serving(PretendEngines(), PATIENT) as (address, hub):
        socket = await connect(f"ws://{address}/ingest")
        said = await hello(socket, None)
        assert "secret" not in said
        async with connect(f"ws://{address}{said['feed']}") as feed:
            cut(socket)
            async for _ in feed:
                pass
        assert hub.get(said["session"]) is None


@pytest.mark.parametrize("resume", [1, "x", [], {}, {"session": 1, "secret": "x"}])
def test_nonsense_is_no_way_to_resume(resume: Any) -> None:
    with pytest.raises(ProtocolError, match="resume is true"):
        read_hello(json.dumps({**HELLO, "resume": resume}))
