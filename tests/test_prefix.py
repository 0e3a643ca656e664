"""What is remembered of a stream: the newest frame at each moment, bounded, and every word."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.events import AudioBlock, VideoFrame, Word
from streaming.grounding_frames import decoded
from streaming.prefix import PrefixSettings, PrefixStore, SampledFrames, prefix_of

SMALL = PrefixSettings(step=0.5, side=16)


def picture(time: float, *, size: tuple[int, int] = (12, 16), **fields: float) -> VideoFrame:
    return VideoFrame(time=time, image=np.full((*size, 3), 90, np.uint8), **fields)


def sampled(times: list[float], settings: PrefixSettings = SMALL) -> SampledFrames:
    frames = SampledFrames(settings)
    for time in times:
        frames.add(picture(time))
    return frames


def taken(times: list[float], until: float = math.inf) -> list[float]:
    return [frame.time for frame in sampled(times).up_to(until)]


def test_frame_on_the_moment_is_taken() -> None:
    times = [k / 30 for k in range(61)]
    assert taken(times) == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_frame_before_the_moment_is_taken_where_none_falls_on_it() -> None:
    times = [k / 25 for k in range(51)]
    # As the benchmark's index int(t * fps): 12 and 37 at 25 frames a second.
    assert taken(times) == [0.0, 12 / 25, 1.0, 37 / 25, 2.0]


@pytest.mark.parametrize("fps", [24, 25, 29.97, 30, 50, 59.94, 60])
def test_frames_are_those_of_the_benchmark(fps: float) -> None:
    times = [k / fps for k in range(int(fps * 5))]
    indices = [int(k / 2 * fps) for k in range(10) if int(k / 2 * fps) < len(times)]
    assert taken(times) == [index / fps for index in indices]


def test_moment_waits_for_the_frame_that_shows_which_was_newest() -> None:
    times = [0.0, 0.48]
    assert taken(times) == [0.0]
    assert taken([*times, 0.52]) == [0.0, 0.48]


def test_moment_before_the_first_frame_has_none() -> None:
    assert taken([1.2, 1.4, 1.6]) == [1.4]


def test_frame_that_serves_two_moments_is_kept_once() -> None:
    frames = sampled([0.0, 0.4, 2.1]).up_to(math.inf)
    assert [(frame.time, frame.sampled_at) for frame in frames] == [(0.0, 0.0), (0.4, 0.5)]


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=40, unique=True),
    st.integers(0, 400),
)
def test_frames_up_to_a_moment_are_the_newest_of_theirs(ticks: list[int], cut: int) -> None:
    times = sorted(tick / 100 for tick in ticks)
    until = cut / 100
    seen = [time for time in times if time <= until]
    wanted = []
    for k in range(1 + int(until / 0.5)):
        before = [time for time in times if time <= k / 2]
        if before and before[-1] not in wanted and k / 2 <= max(times):
            wanted.append(before[-1])
    assert taken(times, until) == wanted
    # A stream that ends there has sampled nothing else, and nothing later.
    assert all(time in wanted for time in taken(seen))


def test_old_frames_are_thinned_when_there_are_too_many() -> None:
    times = [k / 10 for k in range(2000)]
    frames = sampled(times, PrefixSettings(step=0.5, side=16, most=16)).up_to(math.inf)
    assert len(frames) <= 16
    assert frames[0].time == 0.0
    assert [frame.time for frame in frames[-4:]] == [198.0, 198.5, 199.0, 199.5]
    steps = np.diff([frame.time for frame in frames])
    assert steps[0] > 20
    assert all(a >= b for a, b in itertools.pairwise(steps))


def test_pictures_are_shown_with_square_pixels_and_bounded_sides() -> None:
    (frame,) = prefix_of([picture(0.0, size=(40, 60), pixel_aspect=2.0)], SMALL).frames
    assert decoded(frame.jpeg).shape == (5, 16, 3)


HOURS = PrefixSettings(side=16, older_side=8)
"""The project's own policy, over pictures that cost nothing."""


@functools.cache
def remembered(seconds: float, settings: PrefixSettings = HOURS) -> SampledFrames:
    return sampled([k / 2 for k in range(round(seconds * 2) + 1)], settings)


def steps_of(frames: SampledFrames) -> list[float]:
    times = [frame.time for frame in frames.between(0.0, math.inf)]
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def test_recent_frames_are_kept_whole() -> None:
    frames = remembered(600.0).between(600.0 - 32.0, 600.0)
    assert [frame.time for frame in frames[-65:]] == [568.0 + k / 2 for k in range(65)]


def test_older_frames_are_further_apart_the_older_they_are() -> None:
    frames = remembered(1800.0)
    steps = steps_of(frames)
    assert all(a >= b for a, b in itertools.pairwise(steps))
    times = [frame.time for frame in frames.between(0.0, math.inf)]
    assert times[0] == 0.0
    for time, step in zip(times, steps, strict=False):
        age = 1800.0 - time
        assert step <= 2 * 0.5 * max(1.0, 2 * age / 32.0)


def test_memory_grows_with_the_logarithm_of_time() -> None:
    counts = [len(remembered(seconds)) for seconds in (450, 900, 1800)]
    more = [later - earlier for earlier, later in itertools.pairwise(counts)]
    # Each doubling of the time costs the frames of one doubling of the age.
    assert all(count <= 34 for count in more)
    assert counts[-1] < 260


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=120, unique=True))
def test_first_and_recent_frames_stay_whatever_the_times(ticks: list[int]) -> None:
    settings = PrefixSettings(step=0.5, recent=4.0, side=4, older_side=4)
    times = sorted(tick / 10 for tick in ticks)
    frames = sampled(times, settings).between(0.0, math.inf)
    whole = sampled(times, PrefixSettings(step=0.5, recent=1e6, most=10_000, side=4))
    every = whole.between(0.0, math.inf)
    kept = [frame.time for frame in frames]
    assert kept[:1] == [frame.time for frame in every[:1]]
    newest = max((frame.sampled_at for frame in every), default=0.0)
    recent = [frame.time for frame in every if newest - frame.sampled_at <= 4.0]
    assert kept[len(kept) - len(recent) :] == recent
    assert set(kept) <= {frame.time for frame in every}


def test_bytes_are_bounded_and_counted() -> None:
    settings = PrefixSettings(side=64, older_side=64, most_bytes=20_000, recent=8.0)
    frames = remembered(300.0, settings)
    assert frames.bytes == sum(len(one.jpeg) for one in frames.between(0.0, math.inf))
    assert frames.peak_bytes <= 20_000
    assert frames.peak_frames >= len(frames) >= 4


def test_older_frames_are_kept_smaller() -> None:
    frames = remembered(60.0).between(0.0, math.inf)
    sides = [max(decoded(frame.jpeg).shape) for frame in frames]
    old = [60.0 - frame.sampled_at > 32.0 for frame in frames]
    assert sides == [8 if is_old else 16 for is_old in old]


def test_query_is_shown_the_newest_half_whole_and_the_rest_spread() -> None:
    shown = remembered(1800.0).up_to(1800.0)
    assert len(shown) == 64
    assert [frame.time for frame in shown[-32:]] == [1784.5 + k / 2 for k in range(32)]
    assert shown[0].time == 0.0
    assert [frame.time for frame in shown] == sorted({frame.time for frame in shown})
    assert remembered(30.0).up_to(10.0)[-1].time == 10.0


def test_words_are_kept_all_and_frames_up_to_the_query() -> None:
    store = PrefixStore(HOURS)
    for k in range(1200):
        store.add(picture(k / 2))
        store.add(Word(text="go", onset=k / 2, offset=k / 2 + 0.2))
        store.add(AudioBlock(onset=k / 2, samples=np.zeros(8, np.float32)))
    prefix = store.prefix(500.0)
    assert len(prefix.words) == 1200
    assert max(frame.time for frame in prefix.frames) <= 500.0
    facts = store.facts()
    assert facts["prefix_words"] == 1200
    assert facts["prefix_frames"] == len(store.frames)
    assert facts["prefix_bytes_most"] >= facts["prefix_bytes"] > 0


def test_settings_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        PrefixSettings(step=0.0)
    with pytest.raises(ValueError, match="expected 4 or more"):
        PrefixSettings(most=1)
