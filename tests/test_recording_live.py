"""A session of a running server, recorded while it runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from websockets.asyncio.client import connect

from replay.source import open_source
from server.recording_tee import Tee
from server.settings import ServerSettings
from streaming.events import VideoFrame
from tests.ingest_taker import Taken
from tests.live_maker import picture_message, serving, sound_message, welcome
from tests.media_maker import clicks, flashes, sorted_out, tone_bursts
from tests.pretend_pipeline import PretendEngines

pytestmark = pytest.mark.threads


async def stream(socket: object, seconds: float, events: tuple[float, ...]) -> None:
    sound = tone_bursts(events, seconds=seconds, rate=16_000)[0]
    for step in range(round(seconds * 10)):
        lit = any(abs(event - step / 10) < 0.01 for event in events)
        picture = np.full((48, 64, 3), 250 if lit else 60, np.uint8)
        piece = sound[step * 1600 : (step + 1) * 1600]
        await socket.send(picture_message(step / 10, picture))  # type: ignore[attr-defined]
        await socket.send(sound_message(step / 10, piece))  # type: ignore[attr-defined]
        await asyncio.sleep(0.01)


async def test_a_session_is_recorded_while_the_switch_is_on(tmp_path: Path) -> None:
    settings = ServerSettings(recordings=str(tmp_path / "out"))
    async with (
        serving(PretendEngines(), settings) as (address, _),
        connect(f"ws://{address}/ingest") as socket,
        httpx2.AsyncClient(base_url=f"http://{address}") as web,
    ):
        session = (await welcome(socket))["session"]
        where = f"/sessions/{session}/record"
        assert (await web.post(where, json={"on": True})).json()["on"] is True
        await stream(socket, 2.0, (0.5, 1.5))
        await socket.send(json.dumps({"type": "clock", "sent": 1}))
        await socket.recv()
        told = (await web.post(where, json={"on": False})).json()
        assert (told["on"], told["dropped"], told["problem"]) == (False, 0, None)
        for body in (b"", b"[]", b'{"on": 1}', b"[" * 2000):
            assert (await web.post(where, content=body)).status_code == 400
        assert (await web.post("/sessions/x/record", json={"on": True})).status_code == 404
    (film,) = (tmp_path / "out").glob("*.mkv")
    assert session not in film.name
    again = sorted_out(open_source(film).events())
    # What the pipeline was too busy for is not in it.
    assert 0 < len(again.frames) == told["pictures"] <= 20
    assert {round(time, 3) for time in flashes(again.frames)} <= {0.5, 1.5}
    assert clicks(again.blocks) == pytest.approx([0.5, 1.5], abs=0.002)
    lines = film.with_name(film.stem + ".trace.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[0])["type"] == "Header"
    assert "HandsSeen" in {json.loads(line)["type"] for line in lines}
    assert json.loads(lines[-1])["type"] == "End"


class Given:
    """A source that has all there is."""

    def __init__(self, events: list[Any]) -> None:
        self._events = events

    def take(self, most: int) -> list[Any]:
        taken, self._events = self._events[:most], self._events[most:]
        return taken

    def close(self, reason: str) -> None: ...


def frame(time: float) -> VideoFrame:
    return VideoFrame(time=time, image=np.zeros((4, 4, 3), np.uint8))


def test_only_pictures_that_were_looked_at_are_recorded() -> None:
    times = (0.0, 0.03333333, 0.0666666, 0.1, 0.1333333)
    taken = Taken()
    tee = Tee(Given([frame(time) for time in times]), taken)  # type: ignore[arg-type]
    went_on = [event.time for event in tee.take(9) if isinstance(event, VideoFrame)]
    assert went_on == [0.0, 0.033, 0.067, 0.1, 0.133]
    assert taken.frames == []
    tee.told({"type": "HandsSeen", "time": 0.0})
    tee.told({"type": "Skipped", "what": "frame", "onset": 0.033})
    tee.told({"type": "Skipped", "what": "hop", "onset": 0.067})
    tee.told({"type": "HandsSeen", "time": 0.067})
    tee.told({"type": "HandsSeen", "time": 0.133})
    assert [one.time for one in taken.frames] == [0.0, 0.067, 0.133]


async def test_the_feed_says_whenever_recording_changes(tmp_path: Path) -> None:
    settings = ServerSettings(recordings=str(tmp_path / "out"))
    async with (
        serving(PretendEngines(), settings) as (address, hub),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        session = hub.get(said["session"])
        assert session is not None
        async with connect(f"ws://{address}{said['feed']}") as feed:
            state = json.loads(await feed.recv())
            assert (state["recording"], state["recording_name"]) == (False, None)
            await session.record(True)
            await session.record(True)
            name = session.state()["recording_name"]
            late = json.loads(await anext(session.feed.subscribe()))
            assert (late["recording"], late["recording_name"]) == (True, name)
            await stream(socket, 0.5, ())
            await socket.send(json.dumps({"type": "end"}))
            lines = [json.loads(text) async for text in feed]
    told = [(one["on"], one["name"]) for one in lines if one["type"] == "Recording"]
    assert told == [(True, name), (False, None)]
    assert (tmp_path / "out" / f"{name}.mkv").is_file()


async def test_a_recording_that_cannot_go_on_is_told(tmp_path: Path) -> None:
    settings = ServerSettings(recordings=str(tmp_path / "out"))
    async with (
        serving(PretendEngines(), settings) as (address, hub),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        session = hub.get(said["session"])
        assert session is not None
        await session.record(True)
        recording = session.recording._recording
        assert recording is not None
        recording._fail(OSError(28, "the disk is full"))
        async with asyncio.timeout(10), connect(f"ws://{address}{said['feed']}") as feed:
            sending = asyncio.create_task(stream(socket, 5.0, ()))
            lines = []
            async for text in feed:
                lines.append(json.loads(text))
                if lines[-1]["type"] == "Recording":
                    break
            sending.cancel()
    assert lines[-1] == {"type": "Recording", "on": False, "name": None}
