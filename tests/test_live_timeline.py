"""Live sound and pictures on one timeline, with time as an argument."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.live_timeline import LiveTimeline, SourceEvent
from server.settings import LiveLimits
from streaming.events import (
    SAMPLE_RATE,
    AudioBlock,
    CameraMotion,
    HandsSeen,
    Seconds,
    Skipped,
    SourceNote,
    VideoFrame,
)

PIECE = 0.1
PICTURE = np.zeros((4, 6, 3), dtype=np.uint8)


class Feeder:
    """A timeline whose clock is never behind what has come."""

    def __init__(self, limits: LiveLimits | None = None) -> None:
        self.timeline = LiveTimeline(limits or LiveLimits())
        self.now = 0.0
        self.said: list[SourceEvent] = []

    def sound(self, time: Seconds, *, length: Seconds = PIECE, level: float = 0.5) -> None:
        samples = np.full((1, round(length * SAMPLE_RATE)), level, dtype=np.float32)
        until = self.timeline.sound(samples, rate=SAMPLE_RATE, time=time, now=self.now)
        self.reach(self.now if until is None else until)

    def picture(self, time: Seconds) -> None:
        placed = self.timeline.picture(PICTURE, time=time, pixel_aspect=1.0, now=self.now)
        self.reach(self.now if placed is None else placed)

    def reach(self, time: Seconds) -> None:
        self.now = max(self.now, time)
        self.said += self.timeline.due(self.now)

    def finish(self) -> list[SourceEvent]:
        self.said += self.timeline.finish()
        return self.said

    def pictures(self) -> list[Seconds]:
        return [round(one.time, 3) for one in self.said if isinstance(one, VideoFrame)]

    def blocks(self) -> list[AudioBlock]:
        return [one for one in self.said if isinstance(one, AudioBlock)]

    def notes(self) -> list[str]:
        return [one.kind for one in self.said if isinstance(one, SourceNote)]


def check_contiguous(blocks: list[AudioBlock]) -> None:
    end = 0.0
    for block in blocks:
        assert block.onset == pytest.approx(end, abs=1e-9)
        end = block.offset


def test_both_come_in_order_of_availability() -> None:
    feeder = Feeder()
    for step in range(10):
        feeder.picture(step * PIECE + 0.05)
        feeder.sound(step * PIECE)
    feeder.finish()
    available = [
        one.offset if isinstance(one, AudioBlock) else one.time
        for one in feeder.said
        if isinstance(one, AudioBlock | VideoFrame)
    ]
    assert available == sorted(available)
    assert len(feeder.pictures()) == 10
    check_contiguous(feeder.blocks())


def test_a_picture_waits_for_the_sound_before_it_but_not_for_long() -> None:
    feeder = Feeder()
    feeder.sound(0.0)
    feeder.picture(0.3)
    assert feeder.pictures() == []
    feeder.sound(0.1, length=0.3)
    assert feeder.pictures() == [0.3]
    feeder.picture(0.7)
    feeder.reach(0.7 + 0.119)
    assert feeder.pictures() == [0.3]
    feeder.reach(0.7 + 0.121)
    assert feeder.pictures() == [0.3, 0.7]


def test_the_newest_pictures_win() -> None:
    feeder = Feeder(LiveLimits(pictures=2))
    feeder.sound(0.0, length=0.032)
    for time in (0.10, 0.11, 0.12, 0.13):
        feeder.picture(time)
    feeder.finish()
    assert feeder.pictures() == [0.12, 0.13]
    skipped = [one.onset for one in feeder.said if isinstance(one, Skipped)]
    assert skipped == [0.10, 0.11]
    assert feeder.timeline.counters.counts["pictures_dropped"] == 2


def test_pictures_of_a_burst_go_on_one_by_one_and_hold_up_no_sound() -> None:
    feeder = Feeder()
    feeder.now = 1.0
    for step in range(10):
        feeder.timeline.picture(PICTURE, time=step / 30, pixel_aspect=1.0, now=1.0)
    feeder.sound(0.0, length=0.4)
    assert len(feeder.pictures()) == 1
    assert feeder.blocks()[-1].offset == pytest.approx(0.384)
    while feeder.timeline.wake_at() < 1.2:
        before = len(feeder.pictures())
        feeder.reach(feeder.timeline.wake_at() + 1e-6)
        assert len(feeder.pictures()) == before + 1
    assert len(feeder.pictures()) == 10
    assert feeder.now < 1.17


def test_silence_follows_the_clock_when_sound_stops() -> None:
    feeder = Feeder()
    feeder.sound(0.0, length=1.0)
    for step in range(50):
        feeder.picture(1.0 + step * PIECE)
    end = feeder.blocks()[-1].offset
    assert feeder.now - 2.1 <= end <= feeder.now - 2.0
    assert feeder.notes().count("audio_stopped") == 1
    assert len(feeder.pictures()) == 50
    check_contiguous(feeder.blocks())


def test_late_sound_is_cut_where_silence_was_and_is_waited_for_longer_from_then_on() -> None:
    feeder = Feeder()
    feeder.sound(0.0, length=1.0)
    feeder.reach(4.0)
    silent_until = feeder.blocks()[-1].offset
    feeder.sound(1.0, length=3.0)
    feeder.finish()
    assert "sound_late" in feeder.notes()
    check_contiguous(feeder.blocks())
    assert feeder.blocks()[-1].offset == pytest.approx(4.0, abs=0.04)
    loud = [block for block in feeder.blocks() if block.samples.max() > 0.4]
    assert loud[-1].offset == pytest.approx(4.0, abs=0.04)
    assert any(block.onset == pytest.approx(silent_until, abs=0.04) for block in loud)


def test_sound_that_comes_late_but_steadily_is_never_cut() -> None:
    feeder = Feeder()
    for step in range(40):
        feeder.reach(feeder.now + 2 * PIECE)
        feeder.picture(feeder.now)
        feeder.sound(step * PIECE)
    feeder.finish()
    loud = [block for block in feeder.blocks() if block.samples.max() > 0.4]
    assert len(loud) == 125
    assert "sound_late" not in feeder.notes()


def test_sound_that_pauses_shortly_is_a_gap_and_keeps_its_time() -> None:
    feeder = Feeder()
    feeder.sound(0.0)
    feeder.reach(0.5)
    feeder.sound(0.5)
    feeder.finish()
    assert "audio_gap" in feeder.notes()
    loud = [block.onset for block in feeder.blocks() if block.samples.max() > 0.4]
    assert loud[-1] == pytest.approx(0.57, abs=0.04)


def test_no_hand_is_seen_while_there_are_no_pictures() -> None:
    feeder = Feeder()
    feeder.picture(0.0)
    for step in range(30):
        feeder.sound(step * PIECE)
    unseen = [one.time for one in feeder.said if isinstance(one, HandsSeen)]
    assert unseen == sorted(unseen)
    assert unseen[-1] >= feeder.now - 1.0 - 0.36
    assert [one.time for one in feeder.said if isinstance(one, CameraMotion)] == unseen
    assert feeder.notes().count("video_stopped") == 1
    feeder.picture(3.0)
    assert feeder.pictures()[-1] == 3.0


def test_times_that_jump_back_go_on_at_the_clock_and_stay_together() -> None:
    feeder = Feeder()
    for step in range(20):
        feeder.sound(100.0 + step * PIECE)
        feeder.picture(100.0 + step * PIECE)
    assert feeder.pictures()[0] == 0.0
    feeder.reach(feeder.now + 3.0)
    again = feeder.now
    for step in range(10):
        feeder.sound(50.0 + step * PIECE)
        feeder.picture(50.0 + step * PIECE + 0.05)
    feeder.finish()
    assert feeder.notes().count("time_jump") == 1
    assert feeder.pictures()[-10] == pytest.approx(again + 0.05, abs=0.002)
    check_contiguous(feeder.blocks())
    assert feeder.blocks()[-1].offset == pytest.approx(again + 1.0, abs=0.04)


def test_a_time_far_ahead_makes_no_hours_of_silence() -> None:
    feeder = Feeder()
    feeder.sound(0.0)
    for time in (1e13, 3.0, 2e13, 5e5):
        feeder.sound(time)
        feeder.picture(time)
    feeder.finish()
    assert feeder.now < 2.0
    assert len(feeder.blocks()) < 100


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_none_is_noted(time: float) -> None:
    feeder = Feeder()
    feeder.sound(time)
    feeder.picture(time)
    feeder.finish()
    assert feeder.notes() == ["broken_packet", "broken_packet"]


def test_sound_is_left_out_only_while_hearing_is_absurdly_behind() -> None:
    feeder = Feeder()
    feeder.timeline.behind = 25.0
    feeder.sound(0.0)
    feeder.timeline.behind = 15.0
    feeder.sound(0.1)
    feeder.timeline.behind = 5.0
    feeder.sound(0.2)
    feeder.finish()
    assert feeder.notes().count("sound_left_out") == 1
    check_contiguous(feeder.blocks())
    loud = [block for block in feeder.blocks() if block.samples.max() > 0.4]
    assert loud[0].onset == pytest.approx(0.2, abs=0.04)


def test_pictures_are_thinned_evenly() -> None:
    feeder = Feeder()
    feeder.timeline.picture_every = 1 / 15
    for step in range(60):
        feeder.sound(step / 30, length=1 / 30)
        feeder.picture(step / 30)
    feeder.finish()
    assert feeder.pictures() == [round(step / 30, 3) for step in range(0, 60, 2)]
    assert feeder.timeline.counters.counts["pictures_thinned"] == 30


def test_a_picture_that_would_be_thinned_out_need_not_be_there() -> None:
    feeder = Feeder()
    assert feeder.timeline.spares(0.0) is None
    feeder.timeline.picture_every = 1 / 10
    spared = []
    for step in range(60):
        feeder.sound(step / 30, length=1 / 30)
        placed = feeder.timeline.spares(step / 30)
        if placed is None:
            feeder.picture(step / 30)
        else:
            spared.append(placed)
    feeder.finish()
    assert feeder.pictures() == [round(step / 30, 3) for step in range(0, 60, 3)]
    assert len(spared) == feeder.timeline.counters.counts["pictures_thinned"] == 40
    assert spared == sorted(spared)


def test_a_time_that_jumps_is_not_taken_for_a_picture_too_many() -> None:
    feeder = Feeder()
    feeder.timeline.picture_every = 1 / 10
    feeder.picture(1.0)
    assert feeder.timeline.spares(1.01) == pytest.approx(1.01)
    for jump in (0.99, 0.0, 60.0):
        assert feeder.timeline.spares(jump) is None


def test_a_picture_that_nobody_could_take_is_said_to_be_skipped() -> None:
    feeder = Feeder()
    feeder.sound(0.0)
    feeder.timeline.miss(0.05)
    feeder.reach(0.1)
    assert [one.onset for one in feeder.said if isinstance(one, Skipped)] == [0.05]
    assert feeder.timeline.counters.counts["pictures_dropped"] == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["sound", "picture", "wait"]),
            st.floats(-5.0, 40.0) | st.sampled_from([1e9, -1e9]),
        ),
        max_size=40,
    )
)
def test_whatever_comes_media_time_rises_and_sound_is_contiguous(
    moves: list[tuple[str, float]],
) -> None:
    feeder = Feeder()
    for kind, time in moves:
        if kind == "sound":
            feeder.sound(time)
        elif kind == "picture":
            feeder.picture(time)
        else:
            feeder.reach(feeder.now + abs(time) % 7.0)
    feeder.finish()
    check_contiguous(feeder.blocks())
    times = [one.time for one in feeder.said if isinstance(one, VideoFrame | HandsSeen)]
    assert times == sorted(times)
    assert len(feeder.blocks()) <= (feeder.now + 0.2) * SAMPLE_RATE / 512 + 1
