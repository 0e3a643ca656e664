"""The stroke detector on made-up hands, whose strokes are known."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.measure.stroke_scenes import (
    Move,
    Scene,
    Script,
    Seeing,
    idle_scene,
    pointing_scene,
    see,
)
from streaming.config import config_path, load
from streaming.events import CameraMotion, Hand, HandsSeen, Stroke, StrokeEnd, StrokesSeen
from streaming.stroke_path import sample
from streaming.stroke_settings import StrokeSettings
from streaming.strokes import StrokeDetector

CLEAN = Seeing(noise=0.0008, outliers=0.0, missed=0.0, blur=20.0, turn=0.0, drift=0.0)
FRAME = 1 / 30


def point(x: float, y: float, *, lasts: float = 0.35, rests: float = 0.6) -> Move:
    return Move(kind="stroke", to=(x, y), lasts=lasts, rests=rests)


def back(x: float, y: float, *, rests: float = 0.1) -> Move:
    return Move(kind="retraction", to=(x, y), lasts=0.5, rests=rests)


def hand(*moves: Move, start: tuple[float, float] = (0.05, 0.2), **more: Any) -> Script:
    return Script(start=start, waits=0.5, moves=moves, **more)


def film(*scripts: Script, seeing: Seeing = CLEAN, seed: int = 0) -> Scene:
    return see(list(scripts), seeing, np.random.default_rng(seed))


def detect(frames: Any, settings: StrokeSettings | None = None) -> list[tuple[float, Any]]:
    """Everything said, each with the time of the frame that brought it out."""
    detector = StrokeDetector(settings)
    said: list[tuple[float, Any]] = []
    for hands, motion in frames:
        for event in (hands, motion):
            said += [(hands.time, one) for one in detector.push(event)]
    return said + [(math.inf, one) for one in detector.finish()]


def strokes(frames: Any) -> list[Stroke]:
    return [one for _, one in detect(frames) if isinstance(one, Stroke)]


# --- what is a stroke ------------------------------------------------------------------------


def test_stroke_is_found_with_its_apex_tip_and_end() -> None:
    scene = film(hand(point(-0.05, -0.1), back(0.1, 0.55)))
    said = detect(scene.frames)
    [(at, stroke)] = [(at, one) for at, one in said if isinstance(one, Stroke)]
    [end] = [one for _, one in said if isinstance(one, StrokeEnd)]
    [true] = scene.strokes
    assert stroke.apex == pytest.approx(true.apex, abs=2 * FRAME)
    assert at - true.apex < 0.15
    assert true.onset - FRAME <= stroke.onset < stroke.apex
    assert end == StrokeEnd(index=0, offset=pytest.approx(true.offset, abs=0.1))
    tip = (true.place[0] / CLEAN.tall / CLEAN.aspect + 0.5, true.place[1] / CLEAN.tall + 0.5)
    assert stroke.tip == pytest.approx(tip, abs=0.01)
    assert stroke.knuckle[1] > stroke.tip[1]  # the finger points up
    assert stroke.quality > 0.8


def test_two_strokes_in_a_row_are_two() -> None:
    scene = film(hand(point(-0.1, -0.1), point(0.1, -0.05, rests=0.4), back(0.1, 0.55)))
    found = strokes(scene.frames)
    assert [one.index for one in found] == [0, 1]
    for one, true in zip(found, scene.strokes, strict=True):
        assert one.apex == pytest.approx(true.apex, abs=2 * FRAME)


@pytest.mark.parametrize(("rests", "count"), [(0.35, 2), (0.9, 3)])
def test_hand_near_its_last_target_points_only_if_it_stays_there(rests: float, count: int) -> None:
    """A hand that waits for its next word draws back a little and hovers."""
    wait = Move(kind="other", to=(0.0, -0.12), lasts=0.35, rests=rests)
    scene = film(hand(point(-0.1, -0.1), wait, point(0.15, 0.05), back(0.1, 0.55)))
    assert len(strokes(scene.frames)) == count


@pytest.mark.parametrize(("first", "clear", "count"), [(0.12, False, 2), (0.10, True, 1)])
def test_hand_near_a_doubtful_stroke_points_sooner_than_near_a_clear_one(
    first: float, clear: bool, count: int
) -> None:
    there = point(0.05, first, lasts=0.5, rests=0.8)
    onward = point(0.05, first - 0.1, rests=0.35)
    found = strokes(film(hand(there, onward, back(0.1, 0.55))).frames)
    assert (found[0].quality > 0.6) == clear
    assert len(found) == count


def test_hand_lost_in_its_quick_way_and_found_again_at_the_target_is_a_stroke() -> None:
    scene = film(hand(point(-0.05, -0.12), back(0.1, 0.55)))
    [true] = scene.strokes
    frames = [
        (hands if not true.onset + 0.05 < hands.time < true.apex else replace(hands, hands=()), m)
        for hands, m in scene.frames
    ]
    [found] = strokes(frames)
    assert true.apex <= found.apex <= true.apex + 2 * FRAME


def test_hand_first_seen_at_rest_in_the_picture_is_a_stroke_of_lower_quality() -> None:
    scene = film(hand(point(-0.05, -0.12, rests=0.9), back(0.1, 0.55)))
    [true] = scene.strokes
    frames = [
        (hands if hands.time >= true.apex else replace(hands, hands=()), motion)
        for hands, motion in scene.frames
    ]
    [found] = strokes(frames)
    assert found.apex == pytest.approx(true.apex, abs=2 * FRAME)
    assert found.quality < 0.95


def test_still_hand_points_at_nothing() -> None:
    assert strokes(film(hand(Move(kind="other", to=(0.05, 0.2), lasts=1, rests=4))).frames) == []


def test_open_hand_that_moves_and_rests_points_at_nothing() -> None:
    script = hand(point(-0.1, -0.1), point(0.1, 0.0), curl=1.0, pointing=0.0)
    assert strokes(film(script).frames) == []


def test_hand_that_only_passes_points_at_nothing() -> None:
    script = replace(
        hand(Move(kind="other", to=(0.45, 0.1), lasts=1.5, rests=0.5)), start=(-0.45, -0.1)
    )
    assert strokes(film(script).frames) == []


def test_beats_point_at_nothing() -> None:
    up = Move(kind="beat", to=(0.05, 0.15), lasts=0.15, rests=0.04)
    down = Move(kind="beat", to=(0.05, 0.2), lasts=0.15, rests=0.06)
    assert strokes(film(hand(up, down, up, down)).frames) == []


def test_small_shifts_of_a_resting_hand_point_at_nothing() -> None:
    shifts = [
        Move(kind="fidget", to=(0.05 + 0.012 * (index % 2), 0.2), lasts=0.3, rests=0.6)
        for index in range(5)
    ]
    assert strokes(film(hand(*shifts)).frames) == []


def test_still_hand_seen_from_a_turning_head_points_at_nothing() -> None:
    turning = replace(CLEAN, turn=0.3, bob=0.02)
    script = hand(Move(kind="other", to=(0.05, 0.1), lasts=1, rests=4), start=(0.05, 0.1))
    assert strokes(film(script, seeing=turning).frames) == []


def test_same_strokes_from_a_turning_and_walking_head() -> None:
    script = hand(point(-0.1, -0.1), point(0.1, -0.05, rests=0.4), back(0.1, 0.55))
    still = strokes(film(script).frames)
    moving = strokes(film(script, seeing=replace(CLEAN, turn=0.3, bob=0.015)).frames)
    assert len(moving) == len(still) == 2
    for one, other in zip(still, moving, strict=True):
        assert one.apex == pytest.approx(other.apex, abs=1.01 * FRAME)


def test_swapped_track_numbers_make_no_stroke() -> None:
    left = hand(Move(kind="other", to=(-0.15, 0.1), lasts=1, rests=2), start=(-0.15, 0.1))
    right = hand(Move(kind="other", to=(0.15, 0.1), lasts=1, rests=2), start=(0.15, 0.1))
    scene = film(replace(left, side="left"), right)
    frames = [
        (replace(hands, hands=swapped(hands.hands) if 1 < hands.time < 2 else hands.hands), motion)
        for hands, motion in scene.frames
    ]
    assert strokes(frames) == []


def swapped(hands: tuple[Hand, ...]) -> tuple[Hand, ...]:
    """The two hands with each other's track number and side."""
    one, other = hands
    return (
        replace(other, track=one.track, side=one.side),
        replace(one, track=other.track, side=other.side),
    )


def test_new_track_number_in_the_hold_does_not_end_or_repeat_the_stroke() -> None:
    scene = film(hand(point(-0.05, -0.1, rests=1.0), back(0.1, 0.55)))
    [true] = scene.strokes
    frames = [
        (
            replace(
                hands,
                hands=tuple(
                    replace(one, track=7 if hands.time > true.apex + 0.3 else 0)
                    for one in hands.hands
                ),
            ),
            motion,
        )
        for hands, motion in scene.frames
    ]
    said = detect(frames)
    assert len([one for _, one in said if isinstance(one, Stroke)]) == 1
    [end] = [one for _, one in said if isinstance(one, StrokeEnd)]
    assert end.offset == pytest.approx(true.offset, abs=0.1)


def test_hand_found_twice_makes_one_stroke() -> None:
    scene = film(hand(point(-0.05, -0.1), back(0.1, 0.55)))
    frames = [
        (
            replace(
                hands, hands=tuple(replace(one, track=n) for one in hands.hands for n in (0, 1))
            ),
            motion,
        )
        for hands, motion in scene.frames
    ]
    assert len(strokes(frames)) == 1


def test_two_hands_point_in_order_of_apex() -> None:
    one = hand(point(-0.2, -0.1, rests=1.5), start=(-0.1, 0.2), side="left")
    other = hand(
        Move(kind="other", to=(0.1, 0.2), lasts=0.2, rests=0.1), point(0.2, -0.1), start=(0.1, 0.2)
    )
    found = strokes(film(one, other, seeing=replace(CLEAN, aspect=2.0)).frames)
    assert [stroke.index for stroke in found] == [0, 1]
    assert [stroke.side for stroke in found] == ["left", "right"]
    assert found[0].apex < found[1].apex


def test_mirrored_hands_make_mirrored_strokes() -> None:
    scene = film(hand(point(-0.1, -0.1), point(0.08, -0.05), back(0.1, 0.55)))
    for one, other in zip(strokes(scene.frames), strokes(mirrored(scene)), strict=True):
        assert other.apex == one.apex
        assert other.side != one.side
        assert other.tip == pytest.approx((1 - one.tip[0], one.tip[1]))


def mirrored(scene: Scene) -> list[tuple[HandsSeen, CameraMotion]]:
    """The scene in a mirror; its camera stands still."""
    return [
        (
            replace(
                hands,
                hands=tuple(
                    replace(
                        one,
                        side="left" if one.side == "right" else "right",
                        landmarks=tuple((1 - x, y) for x, y in one.landmarks),
                        world=tuple((-x, y, z) for x, y, z in one.world),
                    )
                    for one in hands.hands
                ),
            ),
            motion,
        )
        for hands, motion in scene.frames
    ]


# --- what the stream guarantees --------------------------------------------------------------


@given(seed=st.integers(0, 10_000), cut=st.floats(0.05, 0.95))
@settings(max_examples=25)
def test_decisions_of_a_prefix_are_the_prefix_of_the_decisions(seed: int, cut: float) -> None:
    frames = pointing_scene(seed).frames
    kept = frames[: max(1, int(cut * len(frames)))]
    until = kept[-1][0].time
    whole = [item for item in detect(frames) if item[0] <= until]
    assert [item for item in detect(kept) if item[0] <= until] == whole


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_watermark_is_honest_rises_and_follows_every_frame(seed: int) -> None:
    scene = pointing_scene(seed)
    seen, marks = -math.inf, {}
    for at, one in detect(scene.frames):
        match one:
            case StrokesSeen():
                assert one.until > seen
                assert one.until <= at
                seen = one.until
                marks[at] = one.until
            case Stroke():
                assert one.apex >= seen
                assert one.apex <= at
            case _:
                pass
    assert seen == math.inf
    for hands, _ in scene.frames:
        # Undecided arrivals hold it back, but never for longer than the detector's patience.
        latest = max((until for at, until in marks.items() if at <= hands.time), default=-math.inf)
        assert latest >= hands.time - StrokeSettings().patience - 0.4


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_strokes_are_numbered_in_order_and_each_ends_once_after_its_apex(seed: int) -> None:
    said = [one for _, one in detect(pointing_scene(seed).frames)]
    found = [one for one in said if isinstance(one, Stroke)]
    ends = {one.index: one.offset for one in said if isinstance(one, StrokeEnd)}
    assert [one.index for one in found] == list(range(len(found)))
    assert all(one.apex <= other.apex for one, other in pairwise(found))
    assert len([one for one in said if isinstance(one, StrokeEnd)]) == len(found)
    assert all(ends[one.index] >= one.apex for one in found)
    for end in (one for one in said if isinstance(one, StrokeEnd)):
        before = said[: said.index(end)]
        assert any(isinstance(one, Stroke) and one.index == end.index for one in before)


@given(seed=st.integers(0, 10_000), order=st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_interleaving_of_hands_and_motion_changes_nothing(seed: int, order: Any) -> None:
    frames = pointing_scene(seed).frames
    hands = [one for one, _ in frames]
    motions = [one for _, one in frames]
    detector, said = StrokeDetector(), []
    while hands or motions:
        queue = hands if not motions or (hands and order.random() < 0.5) else motions
        said += detector.push(queue.pop(0))
    said += detector.finish()
    assert said == [one for _, one in detect(frames)]


def test_frame_without_its_motion_is_judged_when_a_later_one_comes() -> None:
    scene = film(hand(point(-0.05, -0.1), back(0.1, 0.55)))
    detector, said = StrokeDetector(), []
    for index, (hands, motion) in enumerate(scene.frames):
        said += detector.push(hands)
        if index % 5:
            said += detector.push(motion)
    said += detector.finish()
    assert len([one for one in said if isinstance(one, Stroke)]) == 1
    assert detector.counters.counts["stroke_frames_unmatched"] > 0


def test_empty_stream_says_only_that_it_is_over() -> None:
    assert StrokeDetector().finish() == [StrokesSeen(until=math.inf)]


def test_cut_ends_the_hold_and_makes_no_stroke() -> None:
    scene = film(hand(point(-0.05, -0.1, rests=2.0)))
    [true] = scene.strokes
    cut = true.apex + 1.0
    frames = [
        (hands, replace(motion, anchor=int(hands.time >= cut))) for hands, motion in scene.frames
    ]
    said = detect(frames)
    assert len([one for _, one in said if isinstance(one, Stroke)]) == 1
    [(at, end)] = [(at, one) for at, one in said if isinstance(one, StrokeEnd)]
    assert at == pytest.approx(cut, abs=FRAME)
    assert end.offset <= cut


@pytest.mark.parametrize("fps", [10, 15, 24, 25, 30, 50, 60])
def test_frame_rate_does_not_matter(fps: float) -> None:
    script = hand(point(-0.1, -0.1), point(0.1, -0.05, rests=0.5), back(0.1, 0.55))
    for uneven, skipped in ((0.0, 0.0), (0.15, 0.08)):
        seeing = replace(CLEAN, fps=fps, uneven=uneven, skipped=skipped)
        scene = film(script, seeing=seeing, seed=3)
        found = strokes(scene.frames)
        assert len(found) == 2, (fps, uneven)
        for one, true in zip(found, scene.strokes, strict=True):
            assert one.apex == pytest.approx(true.apex, abs=0.05 + 1.2 / fps)


def test_most_strokes_of_made_up_people_are_found_and_soon() -> None:
    true = found = matched = 0
    delays = []
    for seed in range(1000, 1060):
        scene = pointing_scene(seed)
        said = [(at, one) for at, one in detect(scene.frames) if isinstance(one, Stroke)]
        true += len(scene.strokes)
        found += len(said)
        for window in scene.strokes:
            inside = [at for at, one in said if window.apex - 0.1 <= one.apex <= window.offset]
            matched += bool(inside)
            delays += [at - window.apex for at in inside[:1]]
    assert matched / true >= 0.92
    assert matched / found >= 0.88
    assert np.median(delays) <= 0.15


def test_hands_that_do_other_things_make_few_strokes() -> None:
    scenes = [idle_scene(seed) for seed in range(2000, 2060)]
    found = sum(len(strokes(scene.frames)) for scene in scenes)
    assert 60 * found / sum(scene.duration for scene in scenes) < 2


# --- settings --------------------------------------------------------------------------------


def test_shipped_settings_are_the_defaults() -> None:
    assert load(StrokeSettings, config_path("strokes.toml")) == StrokeSettings()


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match=r"settle 0\.2"):
        StrokeSettings(settle=0.2)


@pytest.mark.parametrize(("wrist", "entering"), [(0.99, 1.0), (0.90, 0.0)])
def test_wrist_on_the_border_tells_a_hand_that_comes_in(wrist: float, entering: float) -> None:
    landmarks = [(0.5, wrist - 0.2)] * 21
    landmarks[0] = (0.5, wrist)
    hand = Hand(track=0, side="right", score=1.0, landmarks=tuple(landmarks))
    one = sample(1.0, hand, CameraMotion(time=1.0), 4 / 3)
    assert one is not None
    assert one.cut == 0.0
    assert one.entering == pytest.approx(entering)
