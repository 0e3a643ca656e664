"""When the grounder asks, and what its question holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from streaming.events import (
    IDENTITY,
    Binding,
    CameraMotion,
    Deictic,
    DeicticKind,
    DeicticsSeen,
    Hand,
    HandsSeen,
    Homography,
    SpeechEnd,
    SpeechSeen,
    SpeechStart,
    Stroke,
    StrokeEnd,
    Utterance,
    VideoFrame,
    Word,
)
from streaming.grounding import Grounder, GroundingSettings, Query, Task
from streaming.grounding_frames import Box, FrameRing, Ray, crop_along
from streaming.prefix import PrefixSettings

FPS = 20


def picture(time: float) -> VideoFrame:
    """A frame whose grey level is its number."""
    level = round(time * FPS) % 200
    return VideoFrame(time=time, image=np.full((48, 64, 3), level, dtype=np.uint8))


def hand(track: int = 0) -> Hand:
    return Hand(
        track=track, side="right", score=0.9, landmarks=tuple((0.5, 0.5) for _ in range(21))
    )


def shifted(dx: float) -> Homography:
    return ((1.0, 0.0, dx), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def video(
    seconds: float,
    *,
    hands: tuple[float, float] = (0.0, 0.0),
    drift: float = 0.0,
    anchor_from: float = 1e9,
) -> list[tuple[float, Any]]:
    """Frames, hands between two times, and a camera that drifts, each with when it is known."""
    events: list[tuple[float, Any]] = []
    for k in range(round(seconds * FPS)):
        time = k / FPS
        seen = (hand(),) if hands[0] <= time < hands[1] else ()
        events.append((time, picture(time)))
        events.append((time, HandsSeen(time=time, hands=seen)))
        motion = CameraMotion(
            time=time, to_stable=shifted(drift * time), anchor=int(time >= anchor_from)
        )
        events.append((time, motion))
    return events


def stroke(index: int, apex: float, *, end: float) -> list[tuple[float, Any]]:
    """A stroke, known 0.15 s after its apex, and its end, known 0.1 s after it."""
    made = Stroke(index=index, onset=apex - 0.3, apex=apex, tip=(0.4, 0.5), knuckle=(0.5, 0.6))
    return [(apex + 0.15, made), (end + 0.1, StrokeEnd(index=index, offset=end))]


def utterance(
    onset: float, offset: float, *, index: int = 0, known: float | None = None
) -> list[tuple[float, Any]]:
    known = offset + 0.4 if known is None else known
    words = (Word(text="this", onset=onset, offset=offset, utterance=index),)
    return [
        (onset + 0.1, SpeechStart(utterance=index, onset=onset)),
        (known, SpeechEnd(utterance=index, offset=offset)),
        (known, words[0]),
        (known, Utterance(index=index, onset=onset, offset=offset, language="en", words=words)),
    ]


def deictic(
    index: int, onset: float, *, known: float, kind: DeicticKind = "object"
) -> list[tuple[float, Any]]:
    made = Deictic(index=index, text="this", onset=onset, offset=onset + 0.3, kind=kind)
    return [(known, made), (known, DeicticsSeen(until=known))]


def bound(deictic: int | None, stroke: int | None, *, known: float) -> list[tuple[float, Any]]:
    made = Binding(deictic=deictic, stroke=stroke, probability=0.9, reason="window")
    return [(known, made)]


def in_order(*parts: Sequence[tuple[float, Any]]) -> list[tuple[float, Any]]:
    return sorted(itertools.chain(*parts), key=lambda item: item[0])


def run(grounder: Grounder, events: Iterable[tuple[float, Any]]) -> list[tuple[float, Query]]:
    return [(known, query) for known, event in events for query in grounder.push(event)]


def spoken_turn(seconds: float = 5.0, **camera: Any) -> list[tuple[float, Any]]:
    return in_order(
        video(seconds, **camera),
        utterance(1.5, 2.2),
        deictic(0, 1.6, known=2.6),
        stroke(0, 1.8, end=2.5),
        bound(0, 0, known=2.7),
    )


def test_turn_is_asked_once_when_all_is_known() -> None:
    grounder = Grounder()
    asked = run(grounder, spoken_turn())
    assert len(asked) == 1
    known, query = asked[0]
    assert known == pytest.approx(2.7)
    assert query.turn == 0
    assert not query.final
    assert [(one.kind, one.deictic, one.stroke) for one in query.pointed] == [("object", 0, 0)]
    assert grounder.finish() == []


def test_keyframe_is_the_picture_at_the_apex() -> None:
    query = run(Grounder(), spoken_turn())[0][1]
    frame = query.keyframe(0)
    assert frame is not None
    assert frame.time == pytest.approx(1.8)
    assert abs(int(frame.image()[0, 0, 0]) - 1.8 * FPS) <= 2
    assert frame.hold_end == pytest.approx(2.5)
    crop = frame.cropped()
    assert 0 < crop.shape[0] < 48


def test_last_frame_is_the_newest() -> None:
    query = run(Grounder(), spoken_turn())[0][1]
    assert query.last is not None
    assert query.last.time == pytest.approx(2.7)
    assert query.asked_at == query.last.time
    assert query.words[0].text == "this"


def test_open_hold_is_waited_for_but_not_for_ever() -> None:
    events = in_order(
        video(6.0),
        utterance(1.5, 2.2),
        deictic(0, 1.6, known=2.6),
        stroke(0, 1.8, end=5.0),
        bound(0, 0, known=2.65),
    )
    known, query = run(Grounder(GroundingSettings(longest_wait=0.6)), events)[0]
    assert known == pytest.approx(2.8, abs=0.06)
    assert query.keyframes[0].hold_end is None
    assert query.pointed[0].time is not None
    assert 1.8 <= query.pointed[0].time <= 2.2


def test_speech_that_goes_on_is_waited_for() -> None:
    more = [(2.65, SpeechStart(utterance=1, onset=2.6))]
    asked = run(Grounder(), in_order(spoken_turn(), more))
    assert asked == []


def test_silent_pointing_is_asked_after_it_settles() -> None:
    heard = [(k / 10, SpeechSeen(until=k / 10)) for k in range(60)]
    events = in_order(video(6.0), heard, stroke(0, 1.8, end=2.5), bound(None, 0, known=3.0))
    known, query = run(Grounder(GroundingSettings(settle=1.0)), events)[0]
    assert known == pytest.approx(3.5)
    assert [(one.deictic, one.stroke) for one in query.pointed] == [(None, 0)]


def test_silent_pointing_needs_no_sound_at_all() -> None:
    events = in_order(video(6.0), stroke(0, 1.8, end=2.5), bound(None, 0, known=3.0))
    assert [known for known, _ in run(Grounder(), events)] == [pytest.approx(3.5)]


def test_lone_anaphor_is_no_question() -> None:
    events = in_order(
        video(5.0),
        utterance(1.5, 2.2),
        deictic(0, 1.6, known=2.6, kind="anaphor"),
        bound(0, None, known=2.7),
    )
    grounder = Grounder()
    assert run(grounder, events) == []
    assert grounder.finish() == []


def test_word_without_a_stroke_is_asked_and_stays_empty() -> None:
    events = in_order(
        video(5.0), utterance(1.5, 2.2), deictic(0, 1.6, known=2.6), bound(0, None, known=2.7)
    )
    query = run(Grounder(), events)[0][1]
    assert query.pointed[0].stroke is None
    assert query.keyframes == ()


def test_turns_follow_one_another_without_mixing() -> None:
    second = [
        *utterance(5.5, 6.2, index=1),
        *deictic(1, 5.6, known=6.6, kind="place"),
        *stroke(1, 5.8, end=6.5),
        *bound(1, 1, known=6.7),
    ]
    asked = run(Grounder(), in_order(spoken_turn(9.0), second))
    assert [query.turn for _, query in asked] == [0, 1]
    assert [one.kind for one in asked[1][1].pointed] == ["space"]
    assert [frame.stroke.index for frame in asked[1][1].keyframes] == [1]


def test_stroke_that_came_before_its_turn_is_kept() -> None:
    early = [
        *stroke(1, 2.4, end=2.9),
        *utterance(3.0, 3.4, index=1, known=3.8),
        *deictic(1, 3.05, known=3.9),
        *bound(1, 1, known=4.0),
    ]
    asked = run(Grounder(), in_order(spoken_turn(6.0), early))
    assert [[frame.stroke.index for frame in query.keyframes] for _, query in asked] == [
        [0, 1],
        [1],
    ]
    assert asked[1][1].pointed[0].stroke == 1


def test_benchmark_asks_again_at_the_end_about_everything() -> None:
    task = Task(referents=1, instruction=2, benchmark=True, object_choices=("A. mug",))
    grounder = Grounder(task=task)
    early = run(grounder, spoken_turn())
    (last,) = grounder.finish()
    assert len(early) == 1
    assert last.final
    assert last.last is not None
    assert last.last.time == pytest.approx(5.0 - 1 / FPS)
    assert last.pointed == early[0][1].pointed
    assert last.turn == 1


def test_benchmark_asks_even_about_nothing() -> None:
    grounder = Grounder(task=Task(referents=2, instruction=3, benchmark=True))
    assert run(grounder, video(2.0)) == []
    (query,) = grounder.finish()
    assert [one.kind for one in query.pointed] == ["object", "space"]
    assert all(one.time is None for one in query.pointed)


def test_pending_turn_is_asked_at_the_end() -> None:
    events = in_order(
        video(2.6),
        utterance(1.5, 2.2),
        deictic(0, 1.6, known=2.5),
        stroke(0, 1.8, end=9.0)[:1],
        bound(0, 0, known=2.5),
    )
    grounder = Grounder()
    assert run(grounder, events) == []
    (query,) = grounder.finish()
    assert query.final
    assert query.pointed[0].stroke == 0


def test_apex_is_carried_to_the_last_frame() -> None:
    query = run(Grounder(), spoken_turn(drift=0.1))[0][1]
    to_last = query.keyframes[0].to_last
    assert to_last is not None
    assert to_last[0][2] == pytest.approx(0.1 * (1.8 - 2.7), abs=1e-6)


def test_lost_background_gives_no_way_to_the_last_frame() -> None:
    query = run(Grounder(), spoken_turn(anchor_from=2.3))[0][1]
    assert query.keyframes[0].to_last is None


def test_clear_view_is_the_newest_without_a_hand() -> None:
    query = run(Grounder(), spoken_turn(hands=(1.2, 4.0), drift=0.1))[0][1]
    assert query.last is not None
    assert len(query.last.hands) == 1
    assert query.clear is not None
    assert query.clear.time == pytest.approx(1.15)
    assert query.clear.to_last is not None
    assert query.clear.to_last[0][2] == pytest.approx(0.1 * (1.15 - 2.7), abs=1e-6)


def test_question_of_a_prefix_is_the_question_of_the_whole() -> None:
    events = spoken_turn(6.0, drift=0.05)
    whole = run(Grounder(), events)
    for cut in range(0, len(events), 17):
        part = run(Grounder(), events[:cut])
        assert [known for known, _ in part] == [known for known, _ in whole[: len(part)]]
        for (_, one), (_, other) in zip(part, whole, strict=False):
            assert one.pointed == other.pointed
            assert one.keyframes[0].jpeg == other.keyframes[0].jpeg
            assert one.keyframes[0].to_last == other.keyframes[0].to_last


def test_nothing_grows_in_a_long_session() -> None:
    grounder = Grounder()
    run(grounder, video(20.0))
    ring = grounder._ring
    assert len(ring._frames) <= 0.8 * FPS + 1
    assert len(ring._hands) <= 0.8 * FPS + 1
    assert len(grounder._motions) <= 0.8 * FPS + 1


def test_oldest_keyframes_go_first_and_are_counted() -> None:
    grounder = Grounder(GroundingSettings(most_keyframes=2), task=Task(benchmark=True))
    strokes = [stroke(k, 1.0 + k, end=1.5 + k) for k in range(4)]
    run(grounder, in_order(video(6.0), *strokes))
    (query,) = grounder.finish()
    assert [frame.stroke.index for frame in query.keyframes] == [2, 3]
    assert grounder.counters.counts["keyframe_dropped"] == 2


def test_still_hand_fills_in_for_a_missing_stroke() -> None:
    events = video(4.0, hands=(1.5, 2.5))
    grounder = Grounder(task=Task(instruction=1, referents=1, benchmark=True))
    run(grounder, events)
    (query,) = grounder.finish()
    (one,) = query.pointed
    assert one.stroke == -1
    assert one.time is not None
    assert 1.5 <= one.time <= 2.5
    assert one.probability < 0.5
    frame = query.keyframe(-1)
    assert frame is not None
    assert 1.5 <= frame.time <= 2.5
    assert frame.to_last is not None


def test_beat_does_not_hide_that_a_stroke_is_missing() -> None:
    word = Deictic(index=0, text="this", onset=1.6, offset=1.9, kind="object", probability=0.97)
    beat = stroke(0, 3.4, end=3.6)
    unbound = Binding(deictic=0, stroke=None, probability=0.9, reason="window")
    grounder = Grounder(task=Task(instruction=2, referents=1, benchmark=True))
    run(grounder, in_order(video(4.0, hands=(1.5, 2.5)), beat))
    grounder.push(word)
    grounder.push(unbound)
    query = grounder.finish()[-1]
    (one,) = query.pointed
    assert (one.deictic, one.stroke) == (0, -1)


def test_still_hand_does_not_stand_beside_a_known_stroke() -> None:
    events = in_order(video(4.0, hands=(1.5, 2.7)), stroke(0, 1.8, end=2.5))
    grounder = Grounder(task=Task(instruction=3, referents=2, benchmark=True))
    run(grounder, events)
    (query,) = grounder.finish()
    assert [frame.stroke.index for frame in query.keyframes] == [0]


def test_stroke_without_a_picture_is_counted() -> None:
    grounder = Grounder()
    run(grounder, stroke(0, 1.0, end=1.5))
    assert grounder.counters.counts["stroke_without_frame"] == 1


def test_frames_nearer_than_the_gap_are_left_out() -> None:
    ring = FrameRing(span=1.0, gap=0.1)
    for k in range(20):
        ring.add_frame(picture(k / 20))
    assert len(ring._frames) <= 11
    assert ring.newest is not None
    assert ring.newest.time == pytest.approx(0.95)


def test_crop_stays_inside_and_looks_ahead() -> None:
    ray = Ray(tip=(0.5, 0.5), knuckle=(0.6, 0.6))
    box = crop_along(ray, share=0.3, aspect=4 / 3)
    assert (box.left + box.right) / 2 < 0.5
    assert (box.top + box.bottom) / 2 < 0.5
    corner = crop_along(Ray(tip=(0.0, 0.0), knuckle=(0.1, 0.1)), share=0.3, aspect=4 / 3)
    assert (corner.left, corner.top) == (0.0, 0.0)
    with pytest.raises(ValueError, match="is not a box"):
        Box(left=0.5, top=0.0, right=0.4, bottom=1.0)


def test_identity_is_the_way_when_the_camera_never_moved() -> None:
    events = [item for item in spoken_turn() if not isinstance(item[1], CameraMotion)]
    query = run(Grounder(), events)[0][1]
    assert query.keyframes[0].to_last == IDENTITY


def test_query_carries_sampled_frames_up_to_its_last_frame() -> None:
    query = run(Grounder(prefix=PrefixSettings(side=32)), spoken_turn())[0][1]
    assert [frame.time for frame in query.prefix.frames] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert query.prefix.film is None


def test_frames_are_sampled_only_on_demand() -> None:
    query = run(Grounder(), spoken_turn())[0][1]
    assert query.prefix.frames == ()


def test_question_is_asked_at_the_newest_that_is_known() -> None:
    heard = [(2.68, SpeechSeen(until=2.68))]
    query = run(Grounder(), in_order(spoken_turn(), heard))[0][1]
    assert query.last is not None
    assert query.asked_at == max(2.68, query.last.time)


def test_settings_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        GroundingSettings(ring_seconds=0.0)
