"""How long media and lines are on their way."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import numpy as np
import pytest
from av import VideoFrame
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from websockets.asyncio.client import connect

from client.publishing.server_clock import ServerClock
from server.feed import Feed
from server.journey import KEPT, Journey, JourneyError, read_captured
from server.rtc_journey import PeerJourney
from server.rtc_tracks import PeerMedia
from tests.live_maker import serving, sound_message, welcome
from tests.pretend_pipeline import PretendEngines
from tests.test_live_server import SILENT
from tests.whip_maker import MadeSession, Taken


class Now:
    """A clock that is set by hand, and a session's that began ``late`` after it."""

    def __init__(self, late: float = 0.0) -> None:
        self.time = 100.0
        self.late = late

    def __call__(self) -> float:
        return self.time

    def session(self) -> float:
        return self.time - 100.0 - self.late


def test_the_way_is_from_the_glass_to_arrival_and_from_there_to_the_session() -> None:
    now = Now(late=2.05)
    journey = Journey(clock=now, session_now=now.session)
    journey.captured = read_captured({"zero": 2000.0, "within": 1.0})
    now.time = 103.08
    journey.came("pictures", time=1.0, taken=1.0, arrived=3.06)
    told = journey.as_json()
    way = {"network_ms": [60.0], "decoding_ms": [20.0], "whole_ms": [80.0]}
    assert told["pictures"] == way
    assert told["sound"]["whole_ms"] == []
    assert told["lead_ms"] == 50.0  # the session's clock began when its first picture had come
    assert told["within_ms"] == 1.0


def test_a_sender_that_says_nothing_is_measured_from_arrival() -> None:
    now = Now()
    journey = Journey(clock=now, session_now=now.session)
    now.time = 101.0
    journey.came("sound", time=1.0, taken=1.0, arrived=0.99)
    told = journey.as_json()
    assert told["sound"] == {"network_ms": [], "decoding_ms": [10.0], "whole_ms": []}
    assert told["lead_ms"] is None


def test_what_is_kept_and_told_is_bounded() -> None:
    now = Now()
    journey = Journey(clock=now, session_now=now.session)
    for _ in range(3 * KEPT):
        journey.sent(0.001)
    assert 200 <= len(journey.as_json()["feed_ms"]) <= 250


@given(
    st.dictionaries(
        st.sampled_from(["zero", "within", "unix", "late", "sent"]),
        st.none() | st.booleans() | st.floats() | st.text() | st.lists(st.integers()),
    )
)
def test_any_message_is_read_or_refused(message: dict[str, Any]) -> None:
    journey = Journey(clock=lambda: 0.0, session_now=lambda: 0.0)
    with contextlib.suppress(JourneyError):
        assert abs(read_captured(message).zero) <= 86_400
    with contextlib.suppress(JourneyError):
        assert json.loads(json.dumps(journey.answer(message), allow_nan=False))["type"] == "clock"


class Steps:
    """A peer whose pictures are caught at 5 s and later, come after 30 ms and are handed on after
    20 ms more; its wall clock is two hours off.
    """

    def __init__(self) -> None:
        self.now = Now()
        self.journey = Journey(clock=self.now, session_now=self.now.session)
        self.peer = PeerJourney(self.journey, now=self.now)

    def picture(self, caught: float, *, count: int) -> None:
        self.now.time = 100.0 + caught + 0.03
        self.peer.packet("pictures", ssrc=7, rtp=count % 2**32, rate=90_000)
        self.now.time += 0.02
        self.peer.came("pictures", rtp=count % 2**32, time=caught - 5.0, length=0.0)


def test_a_peers_way_is_known_once_it_has_reported_and_compared_clocks() -> None:
    steps = Steps()
    steps.picture(5.0, count=2**32 - 900)
    steps.journey.captured = read_captured({"zero": 5000.0, "within": 1.0, "unix": 7_200_000.0})
    steps.picture(5.1, count=2**32 + 8_100)
    assert steps.journey.as_json()["pictures"]["network_ms"] == []
    since_1900 = 2_208_988_800.0 + 7_200.0
    steps.peer.report(ssrc=7, rtp=2**32 - 900, wall=since_1900)
    steps.picture(5.2, count=2**32 + 17_100)
    told = steps.journey.as_json()["pictures"]
    assert told["network_ms"] == [pytest.approx(30.0, abs=0.02)]
    assert told["whole_ms"] == [pytest.approx(50.0, abs=0.02)]
    assert len(told["decoding_ms"]) == 3


def test_the_comparison_with_the_shortest_way_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = Now()
    monkeypatch.setattr("client.publishing.server_clock.wall.monotonic", now)
    clock = ServerClock()
    assert clock.captured(99.0) is None
    for way, ahead in ((0.4, 5.3), (0.1, 5.01), (0.3, 5.2)):
        sent = json.loads(clock.question())["sent"]
        now.time += way
        clock.take({"sent": sent, "steady": 1000 * (now.time - way / 2 + ahead)})
    told = json.loads(clock.captured(99.0) or "")
    assert told["zero"] == pytest.approx(1000 * (99.0 + 5.01))
    assert told["within"] == pytest.approx(50.0)
    assert clock.delay == pytest.approx(0.3)


async def test_a_feed_tells_how_long_a_line_waited_for_its_reader() -> None:
    waited: list[float] = []
    feed = Feed(sent=waited.append)
    async with contextlib.aclosing(feed.subscribe()) as lines:
        await anext(lines)
        feed.publish({"type": "Word"})
        feed.publish({"type": "Word"})
        feed.close()
        assert len([line async for line in lines]) == 2
    assert len(waited) == 2
    assert min(waited) >= 0.0


@pytest.mark.threads
async def test_a_reader_asks_for_the_time_and_learns_when_the_sender_began() -> None:
    async with (
        serving(PretendEngines()) as (address, hub),
        connect(f"ws://{address}/ingest") as sender,
    ):
        session = (await welcome(sender))["session"]
        async with connect(f"ws://{address}/feed/{session}") as reader:
            await reader.send("no json")
            await reader.send(json.dumps({"type": "clock", "sent": 7, "late": 3.0}))
            await sender.send(json.dumps({"type": "captured", "zero": 12.0, "within": 0.5}))
            await sender.send(sound_message(0.0, SILENT))
            came: list[dict[str, Any]] = []
            async with asyncio.timeout(20):
                while {"clock", "Captured"} - {line["type"] for line in came}:
                    came.append(json.loads(await reader.recv()))
        live = hub.get(session)
        assert live is not None
        assert live.journey.captured is not None
        assert live.journey.as_json()["reader_ms"] == [3.0]
    answer = next(line for line in came if line["type"] == "clock")
    assert answer["sent"] == 7
    assert answer["steady"] >= answer["server"]


@pytest.mark.threads
async def test_a_sender_may_ask_at_the_feed_without_reading_it() -> None:
    async with (
        serving(PretendEngines()) as (address, _),
        connect(f"ws://{address}/ingest") as sender,
    ):
        session = (await welcome(sender))["session"]
        async with connect(f"ws://{address}/feed/{session}?lines=none") as asking:
            await asking.send(json.dumps({"type": "clock", "sent": 1}))
            assert json.loads(await asking.recv())["type"] == "clock"


class Thin(Taken):
    """Leaves every other picture out, of ten a second."""

    def __init__(self) -> None:
        super().__init__()
        self.came: asyncio.Queue[float] = asyncio.Queue()

    def spares(self, time: float) -> bool:
        return round(10 * time) % 2 == 1

    def picture(self, image: NDArray[np.uint8], *, time: float, pixel_aspect: float = 1.0) -> None:
        self.came.put_nowait(time)


@pytest.mark.threads
async def test_a_peers_picture_that_would_be_left_out_is_not_converted() -> None:
    thin = Thin()
    session = MadeSession(id="s", language="en", ingest=thin)
    media = PeerMedia(session, now=asyncio.get_running_loop().time)
    grey = VideoFrame.from_ndarray(np.full((16, 16, 3), 128, dtype=np.uint8), format="rgb24")
    converting = asyncio.create_task(media._convert())
    async with asyncio.timeout(20):
        for time in (0.0, 0.2, 0.4):
            media._see(grey, time - 0.1)
            media._see(grey, time)
            assert await thin.came.get() == time
    converting.cancel()
