"""Sampled frames: the newest at each moment, none from later, and a bounded number."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.events import VideoFrame
from streaming.grounding_frames import decoded
from streaming.prefix import PrefixSettings, SampledFrames, prefix_of

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


def test_settings_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        PrefixSettings(step=0.0)
    with pytest.raises(ValueError, match="expected 4 or more"):
        PrefixSettings(most=1)
