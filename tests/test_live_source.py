"""The source of a live session: what goes in from one thread comes out in another."""

from __future__ import annotations

import asyncio
import threading

import cv2
import numpy as np
import pytest

from server.jpeg import JpegError, decode_jpeg, jpeg_size
from server.live_source import LiveSource
from server.settings import LiveLimits
from streaming.clock import LiveClock
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds, SourceNote, VideoFrame


class HandClock:
    """Moves when told."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> Seconds:
        return self.time

    def reach(self, time: Seconds) -> None:
        self.time = max(self.time, time)


def picture(width: int, height: int) -> np.ndarray:
    return np.zeros((height, width, 3), dtype=np.uint8)


def sound(seconds: float) -> np.ndarray:
    return np.zeros((1, round(seconds * SAMPLE_RATE)), dtype=np.float32)


def source(limits: LiveLimits | None = None) -> LiveSource:
    return LiveSource(limits or LiveLimits(), clock=HandClock())


def test_everything_is_drained_after_the_close_and_then_it_is_over() -> None:
    live = source()
    live.sound(sound(0.5), rate=SAMPLE_RATE, time=0.0)
    live.picture(picture(8, 6), time=0.4)
    live.close("done")
    live.close("done again")
    live.picture(picture(8, 6), time=0.5)
    events = list(live.events())
    assert sum(len(one.samples) for one in events if isinstance(one, AudioBlock)) == 8000
    assert [one.time for one in events if isinstance(one, VideoFrame)] == [0.4]
    notes = [one.text for one in events if isinstance(one, SourceNote)]
    assert notes == ["done"]
    assert live.take(8) == []
    assert live.closed == "done"
    assert live.came == 2


def test_a_picture_that_is_missed_does_not_move_the_clock_to_where_its_sender_says() -> None:
    """Silence up to there would fill the memory."""
    clock = HandClock()
    live = LiveSource(LiveLimits(), clock=clock)
    live.sound(sound(0.5), rate=SAMPLE_RATE, time=0.0)
    for time in (1e9, 2.0**63 / 1e6, 0.1):
        live.miss(time)
    assert clock.now() < 10.0
    live.close("done")
    events = list(live.events())
    assert sum(len(one.samples) for one in events if isinstance(one, AudioBlock)) < 10 * SAMPLE_RATE


def test_a_picture_of_another_size_keeps_the_shape_of_what_it_shows() -> None:
    live = source(LiveLimits(pictures=10))
    for number, size in enumerate([(640, 480), (480, 640), (1280, 720)]):
        live.picture(picture(*size), time=number / 2)
        live.sound(sound(0.5), rate=SAMPLE_RATE, time=number / 2)
    live.close("done")
    events = list(live.events())
    frames = [one for one in events if isinstance(one, VideoFrame)]
    shown = [(frame.image.shape[:2], round(frame.aspect, 3)) for frame in frames]
    assert {shape for shape, _ in shown} == {(480, 640)}
    assert [aspect for _, aspect in shown] == [1.333, 0.75, 1.778]
    notes = [one.text for one in events if isinstance(one, SourceNote)]
    assert notes[0] == "picture size changes from 640x480 to 480x640"


def test_a_picture_that_is_too_large_is_scaled_down() -> None:
    live = source(LiveLimits(max_side=320))
    live.picture(picture(1280, 720), time=0.0)
    live.close("done")
    (frame,) = [one for one in live.events() if isinstance(one, VideoFrame)]
    assert frame.image.shape == (180, 320, 3)
    assert frame.aspect == pytest.approx(16 / 9)


def test_who_waits_is_woken_by_what_comes() -> None:
    live = source()
    taken: list[object] = []
    waiting = threading.Thread(target=lambda: taken.extend(live.take(8)))
    waiting.start()
    live.note("hello", "from another thread")
    waiting.join(5.0)
    assert [one.text for one in taken if isinstance(one, SourceNote)] == ["from another thread"]


async def test_a_live_clock_begins_with_the_media_and_is_never_behind_them() -> None:
    clock = LiveClock()
    waited = asyncio.create_task(clock.wait_until(1.0))
    await asyncio.sleep(5.0)
    assert clock.now() == 0.0
    clock.reach(0.2)
    await asyncio.sleep(0.5)
    assert clock.now() == pytest.approx(0.7)
    clock.reach(0.6)
    assert clock.now() == pytest.approx(0.7)
    clock.reach(0.9)
    assert clock.now() == pytest.approx(0.9)
    await waited
    assert clock.now() >= 1.0


def test_the_size_of_a_jpeg_is_read_before_it_is_decoded() -> None:
    _, encoded = cv2.imencode(".jpg", picture(64, 48))
    jpeg = encoded.tobytes()
    assert jpeg_size(jpeg) == (64, 48)
    assert decode_jpeg(jpeg, 64 * 48).shape == (48, 64, 3)
    with pytest.raises(JpegError, match="64x48"):
        decode_jpeg(jpeg, 64 * 48 - 1)


@pytest.mark.parametrize("cut", [0, 1, 2, 20, 160])
def test_what_is_no_whole_jpeg_is_refused(cut: int) -> None:
    _, encoded = cv2.imencode(".jpg", picture(64, 48))
    with pytest.raises(JpegError):
        decode_jpeg(encoded.tobytes()[:cut], 10_000)


def test_a_small_jpeg_that_would_be_decoded_for_minutes_is_refused() -> None:
    options = [int(cv2.IMWRITE_JPEG_PROGRESSIVE), 1]
    _, encoded = cv2.imencode(".jpg", np.zeros((48, 64, 3), np.uint8), options)
    content = encoded.tobytes()
    assert decode_jpeg(content, 64 * 48).shape == (48, 64, 3)
    last = content[content.rindex(b"\xff\xda") : -2]
    with pytest.raises(JpegError, match="scans"):
        decode_jpeg(content[:-2] + last * 100 + content[-2:], 64 * 48)
