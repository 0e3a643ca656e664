"""A session of a running server, recorded while it runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx2
import numpy as np
import pytest
from websockets.asyncio.client import connect

from replay.source import open_source
from server.settings import ServerSettings
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
    # What the pipeline was too busy for is not in it either.
    assert 0 < len(again.frames) == told["pictures"] <= 20
    assert {round(time, 3) for time in flashes(again.frames)} <= {0.5, 1.5}
    assert clicks(again.blocks) == pytest.approx([0.5, 1.5], abs=0.002)
    lines = film.with_name(film.stem + ".trace.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[0])["type"] == "Header"
    assert "HandsSeen" in {json.loads(line)["type"] for line in lines}
    assert json.loads(lines[-1])["type"] == "End"
