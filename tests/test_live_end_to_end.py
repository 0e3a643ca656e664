"""A shipped clip sent to a real server with the real models: its words and strokes come back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from replay.measure.live_recording import replayed
from replay.source import open_source
from server.settings import LiveLimits, ServerSettings
from streaming.build import Engines, EngineSettings
from streaming.events import AudioBlock, VideoFrame
from tests.live_maker import picture_message, serving, sound_message, welcome

pytestmark = pytest.mark.realtime
CLIP = next((Path(__file__).parents[1] / "replay/clips/easy/data_en/指令3").glob("*.mp4"))
BEGIN, UNTIL = 2.3, 4.0
"""Seconds of the clip in which "leave this thing" is said, and pointed at."""


@pytest.mark.threads
async def test_the_words_and_strokes_of_a_clip_come_back_and_its_recording_replays(
    tmp_path: Path,
) -> None:
    engines = Engines(EngineSettings())
    # A busy machine may stop for long between two messages of this program's own client.
    patient = ServerSettings(
        live=LiveLimits(silence_after=60.0, silence_most=60.0),
        record=True,
        recordings=str(tmp_path),
    )
    async with serving(engines, patient) as (address, hub):
        await hub.prepare("en")
        async with connect(f"ws://{address}/ingest") as socket:
            said = await welcome(socket)
            reading = asyncio.create_task(read(f"ws://{address}{said['feed']}"))
            await send_clip(socket)
            await socket.send(json.dumps({"type": "end"}))
            lines = await reading
    words = {line["text"].lower(): line for line in lines if line["type"] == "Word"}
    assert "this" in words
    assert words["this"]["onset"] == pytest.approx(3.02 - BEGIN, abs=0.2)
    assert "Deictic" in {line["type"] for line in lines}
    assert any(line["hands"] for line in lines if line["type"] == "HandsSeen")
    assert [line["type"] for line in lines[-2:]] == ["End", "Recording"]
    again = await replayed(recorded(tmp_path), name="clip", language="en", engines=engines)
    assert again.kinds["words"].total == len(words)
    # A machine that was too busy may leave out steps of hearing, and says so.
    assert again.all_same or "hops_skipped" in again.reasons or not again.exact


def recorded(folder: Path) -> Path:
    (film,) = folder.glob("*.mkv")
    return film


async def send_clip(socket: Any) -> None:
    """At real time's pace: faster, pictures would be left out."""
    loop = asyncio.get_running_loop()
    began = loop.time() - BEGIN
    for event in open_source(CLIP, until=UNTIL, max_side=640).events():
        if isinstance(event, AudioBlock) and event.onset >= BEGIN:
            await asyncio.sleep(began + event.offset - loop.time())
            await socket.send(sound_message(event.onset - BEGIN, event.samples))
        elif isinstance(event, VideoFrame) and event.time >= BEGIN:
            await asyncio.sleep(began + event.time - loop.time())
            await socket.send(picture_message(event.time - BEGIN, event.image))


async def read(address: str) -> list[dict[str, Any]]:
    async with connect(address) as feed:
        return [json.loads(text) async for text in feed]
