"""The live server over real sockets, with a pretended pipeline."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import threading
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from server.jpeg import decode_jpeg
from server.settings import LiveLimits, ServerSettings, read_server_settings
from streaming.events import AudioBlock, Word
from tests.live_maker import HELLO, picture_message, serving, sound_message, welcome
from tests.pretend_pipeline import PretendEngines

pytestmark = pytest.mark.threads
SILENT = np.zeros(1600, dtype=np.float32)
GREY = np.full((48, 64, 3), 128, dtype=np.uint8)


async def read_all(address: str, feed: str) -> list[dict[str, Any]]:
    lines = []
    async with connect(f"ws://{address}{feed}") as socket:
        with contextlib.suppress(ConnectionClosedError):  # a code that says why
            async for text in socket:
                lines.append(json.loads(text))
    return lines


async def stream(socket: Any, seconds: float) -> None:
    """Sound and pictures, ten a second each, as fast as it goes."""
    for step in range(round(seconds * 10)):
        await socket.send(sound_message(step / 10, SILENT))
        await socket.send(picture_message(step / 10, GREY))
        await asyncio.sleep(0.005)


async def test_what_a_client_sends_comes_out_as_events() -> None:
    async with (
        serving(PretendEngines()) as (address, hub),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        assert said["type"] == "welcome"
        reading = asyncio.create_task(read_all(address, said["feed"]))
        await stream(socket, 1.2)
        await socket.send(json.dumps({"type": "end"}))
        lines = await reading
    assert lines[0]["type"] == "State"
    assert lines[0]["session"] == said["session"]
    words = [line for line in lines if line["type"] == "Word"]
    assert [round(word["offset"], 1) for word in words] == [0.5, 1.0]
    assert "HandsSeen" in {line["type"] for line in lines}
    assert "Answer" in {line["type"] for line in lines}
    assert lines[-1]["type"] == "End"
    assert lines[-1]["counters"]["closed"] == 1
    told = hub.metrics.value
    assert told("deixis_sessions_opened_total", way="websocket") == 1
    assert told("deixis_sessions") == 0
    assert told("deixis_received_total", way="websocket", media="block") == 12
    assert told("deixis_event_lag_seconds_count", event="Word") == 2
    assert told("deixis_feed_readers") == 0


async def test_a_late_joiner_gets_the_state_so_far() -> None:
    async with (
        serving(PretendEngines()) as (address, _),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        await stream(socket, 1.2)
        await asyncio.sleep(0.2)
        async with connect(f"ws://{address}{said['feed']}") as feed:
            state = json.loads(await feed.recv())
    kinds = [line["type"] for line in state["lines"]]
    assert "Header" in kinds
    assert "Word" in kinds
    assert "HandsSeen" not in kinds


async def test_the_fifth_session_is_refused_and_says_why() -> None:
    async with serving(PretendEngines()) as (address, hub):
        sockets = [await connect(f"ws://{address}/ingest") for _ in range(5)]
        said = [await welcome(socket) for socket in sockets]
        assert [one["type"] for one in said] == ["welcome"] * 4 + ["refused"]
        assert "4 at once" in said[4]["text"]
        for socket in sockets:
            await socket.close()
        for _ in range(200):
            if not hub.sessions:
                break
            await asyncio.sleep(0.01)
        assert hub.sessions == ()


async def test_a_clock_question_is_answered_with_the_sessions_time() -> None:
    async with (
        serving(PretendEngines()) as (address, _),
        connect(f"ws://{address}/ingest") as socket,
    ):
        await welcome(socket)
        await socket.send(sound_message(0.0, SILENT))
        await socket.send(json.dumps({"type": "clock", "sent": 12.5}))
        answer = json.loads(await socket.recv())
    assert answer["type"] == "clock"
    assert answer["sent"] == 12.5
    assert answer["server"] >= 100.0


@pytest.mark.parametrize(
    ("hello", "why"),
    [
        ("no json", "JSON object"),
        ("[]", "JSON object"),
        (json.dumps({**HELLO, "version": 9}), "version 1"),
        (json.dumps({**HELLO, "format": "avi"}), "format is one of"),
        (json.dumps({**HELLO, "language": "tlh"}), "tlh"),
    ],
)
async def test_a_wrong_hello_is_refused_with_the_reason(hello: str, why: str) -> None:
    async with serving(PretendEngines()) as (address, hub):
        async with connect(f"ws://{address}/ingest") as socket:
            await socket.send(hello)
            said = json.loads(await socket.recv())
        assert hub.sessions == ()
    assert said["type"] == "refused"
    assert why in said["text"]


async def test_broken_messages_are_noted_and_the_session_goes_on() -> None:
    async with (
        serving(PretendEngines()) as (address, _),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        reading = asyncio.create_task(read_all(address, said["feed"]))
        for broken in (b"", b"\x07" + bytes(20), b"\x02" + bytes(30), b"\x01" + bytes(9), "{"):
            await socket.send(broken)
        await stream(socket, 0.6)
        await socket.send(json.dumps({"type": "end"}))
        lines = await reading
    assert lines[-1]["counters"]["broken_packet"] == 5
    assert "Word" in {line["type"] for line in lines}


async def test_no_sound_waits_for_a_picture_and_of_pictures_the_newest_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()

    def decode_later(encoded: bytes, pixels: int) -> Any:
        go_on.wait()
        return decode_jpeg(encoded, pixels)

    monkeypatch.setattr("server.jpeg_inbox.decode_jpeg", decode_later)
    async with (
        serving(PretendEngines()) as (address, _),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        async with connect(f"ws://{address}{said['feed']}") as feed:
            for step in range(12):
                await socket.send(picture_message(step / 10, GREY))
                await socket.send(sound_message(step / 10, SILENT))
            lines = [json.loads(await feed.recv())]
            while lines[-1]["type"] != "Word":  # while not one picture can be decoded
                lines.append(json.loads(await feed.recv()))
            go_on.set()
            await socket.send(json.dumps({"type": "end"}))
            lines += [json.loads(text) async for text in feed]
    seen = [line["time"] for line in lines if line["type"] == "HandsSeen"]
    skipped = [line["onset"] for line in lines if line["type"] == "Skipped"]
    assert seen[0] == 0.0  # it was being decoded when the others came
    assert seen[-1] == 1.1
    assert skipped[:3] == [0.1, 0.2, 0.3]  # seeing may skip some as well
    assert lines[-1]["counters"]["pictures_dropped"] == 3


async def test_what_is_thinned_out_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []

    def decode(encoded: bytes, pixels: int) -> Any:
        decoded.append(encoded)
        return decode_jpeg(encoded, pixels)

    monkeypatch.setattr("server.jpeg_inbox.decode_jpeg", decode)
    async with (
        serving(PretendEngines()) as (address, hub),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        hub.sessions[0].source.thin(2.0)
        reading = asyncio.create_task(read_all(address, said["feed"]))
        await stream(socket, 2.0)
        await socket.send(json.dumps({"type": "end"}))
        lines = await reading
    assert len(decoded) == 4
    assert lines[-1]["counters"]["pictures_thinned"] == 16


async def test_an_unknown_session_has_no_feed() -> None:
    async with serving(PretendEngines()) as (address, _):
        lines = await read_all(address, "/feed/guessed")
    assert lines == [{"type": "refused", "text": "there is no such session, or it has ended"}]


async def test_health_tells_how_much_room_there_is() -> None:
    async with (
        serving(PretendEngines(), ServerSettings(sessions=2)) as (address, _),
        connect(f"ws://{address}/ingest") as socket,
        httpx2.AsyncClient() as http,
    ):
        await welcome(socket)
        told = (await http.get(f"http://{address}/healthz")).json()
    assert told == {"status": "ok", "sessions": 1, "room": 1}


async def test_the_end_of_the_server_ends_its_sessions() -> None:
    async with serving(PretendEngines()) as (address, _):
        socket = await connect(f"ws://{address}/ingest")
        said = await welcome(socket)
        reading = asyncio.create_task(read_all(address, said["feed"]))
        await stream(socket, 0.3)
    lines = await reading
    assert "End" in {line["type"] for line in lines}


async def test_a_recorded_session_has_a_film_and_its_trace_in_order(tmp_path: Path) -> None:
    settings = ServerSettings(recordings=str(tmp_path / "live"))
    async with (
        serving(PretendEngines(), settings) as (address, hub),
        connect(f"ws://{address}/ingest") as socket,
    ):
        said = await welcome(socket)
        session = hub.get(said["session"])
        assert session is not None
        await session.record(True)
        assert session.state()["recording"]
        await stream(socket, 1.2)
        await socket.send(json.dumps({"type": "end"}))
        await socket.wait_closed()
    (trace,) = (tmp_path / "live").glob("*.trace.jsonl")
    assert said["session"] not in trace.name
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    known = [line["known_at"] for line in lines if "known_at" in line]
    assert known == sorted(known)
    assert [line["type"] for line in lines if line["type"] in ("Header", "Word", "End")] == [
        "Header",
        "Word",
        "Word",
        "End",
    ]
    (film,) = (tmp_path / "live").glob("*.mkv")
    assert film.stat().st_size > 1000


async def test_a_session_that_fails_says_so_and_leaves_the_others_alone() -> None:
    def fail(block: AudioBlock) -> list[Word]:
        raise ValueError("no such sound")

    async with serving(PretendEngines(hear=fail)) as (address, hub):
        broken = await connect(f"ws://{address}/ingest")
        said = await welcome(broken)
        reading = asyncio.create_task(read_all(address, said["feed"]))
        other = await connect(f"ws://{address}/ingest")
        await welcome(other)
        await broken.send(sound_message(0.0, SILENT))
        lines = await reading
        assert lines[-1]["type"] == "Failed"
        assert "no such sound" in lines[-1]["text"]
        assert len(hub.sessions) == 1
        await other.close()


async def test_a_session_ends_by_itself_when_nothing_comes() -> None:
    settings = ServerSettings(live=LiveLimits(idle=0.2))
    async with serving(PretendEngines(), settings) as (address, hub):
        async with connect(f"ws://{address}/ingest") as socket:
            said = await welcome(socket)
            lines = await read_all(address, said["feed"])
        assert hub.sessions == ()
    assert lines[-1]["type"] == "End"
    assert "nothing came for 0.2 s" in {line.get("text") for line in lines}


async def test_sessions_that_share_a_machine_are_told_what_they_get() -> None:
    settings = dataclasses.replace(read_server_settings(), sessions=4)
    async with serving(PretendEngines(), settings, cores=2) as (address, hub):
        sockets = [await connect(f"ws://{address}/ingest") for _ in range(4)]
        said = [await welcome(socket) for socket in sockets]
        levels = [session.state()["pictures_a_second"] for session in hub.sessions]
        assert len(set(levels)) == 1
        assert levels[0] < 30.0
        async with connect(f"ws://{address}{said[0]['feed']}") as feed:
            state = json.loads(await feed.recv())
        status = [line for line in state["lines"] if line["type"] == "Status"]
        assert "4 on 2 cores" in status[-1]["text"]
        for socket in sockets:
            await socket.close()
