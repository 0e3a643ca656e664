"""A server process that is ended: its sessions end with it, and their recordings are whole."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from websockets.asyncio.client import connect

from replay.source import open_source
from tests.live_maker import picture_message, sound_message, welcome
from tests.media_maker import sorted_out

pytestmark = pytest.mark.threads


def only_film(folder: Path) -> Path:
    (film,) = folder.glob("*.mkv")
    return film


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_recordings_are_finished_when_the_server_is_ended(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with asyncio.timeout(60):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.pretend_server", str(tmp_path), "--record"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name != "DEIXIS_TOKEN"},
        )
        assert process.stdout is not None
        while not (line := (await process.stdout.readline()).decode()).startswith("open "):
            assert line
        address = line.split()[1].removeprefix("http://").rstrip("/")
        async with connect(f"ws://{address}/ingest") as socket:
            said = await welcome(socket)
            async with connect(f"ws://{address}{said['feed']}") as feed:
                for step in range(10):
                    await socket.send(sound_message(step / 10, np.full(1600, 0.1, np.float32)))
                    await socket.send(
                        picture_message(step / 10, np.full((48, 64, 3), 25 * step, np.uint8))
                    )
                lines = [json.loads(await feed.recv())]
                while lines[-1]["type"] != "HandsSeen":
                    lines.append(json.loads(await feed.recv()))
                process.send_signal(number)
                lines += [json.loads(text) async for text in feed]
        rest, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert rest.decode().endswith("ended\n")
    assert [line["text"] for line in lines if line.get("kind") == "closed"] == [
        "the server is ending"
    ]
    assert [line["type"] for line in lines[-2:]] == ["End", "Recording"]
    film = only_film(tmp_path)
    assert errors.decode() == f"INFO: recorded {film}\n"
    again = sorted_out(open_source(film).events())
    seen = [line["time"] for line in lines if line["type"] == "HandsSeen"]
    assert [frame.time for frame in again.frames] == seen
    assert len(again.sound) / 16_000 == pytest.approx(lines[-2]["duration"], abs=0.11)
    trace = film.with_name(film.stem + ".trace.jsonl").read_text("utf-8").splitlines()
    assert json.loads(trace[-1])["complete"] is True
