"""Searching and following: what is found, at what price, and the geometry between the models."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from streaming.hand_geometry import (
    FoundHand,
    HandReading,
    Square,
    cut,
    hand_points,
    palm_anchors,
    palms_of,
    square_around,
)
from streaming.hand_plan import is_flat, moving_square, small_grey, tiles
from streaming.hand_search import HandSearch, SearchSettings
from streaming.hand_sight import evidence
from tests.hand_fakes import PaintedHands, painted, pointing_hand

Disc = tuple[float, float, float]


def found_in(
    pictures: list[tuple[Disc, ...]], *, every: int = 33, models: PaintedHands | None = None
) -> list[list[FoundHand]]:
    search = HandSearch(models or PaintedHands())
    return [
        list(search.detect(painted(*discs), milliseconds=i * every, aspect=4 / 3))
        for i, discs in enumerate(pictures)
    ]


def wrists(hands: list[FoundHand]) -> list[tuple[int, int]]:
    return [
        (round(hand.landmarks[0][0] * 640), round(hand.landmarks[0][1] * 480)) for hand in hands
    ]


def test_a_hand_is_found_in_the_first_picture_and_where_it_is() -> None:
    (hands,) = found_in([((320, 300, 80),)])
    assert len(hands) == 1
    x, y = wrists(hands)[0]
    assert abs(x - 320) < 6
    assert abs(y - 340) < 6
    assert hands[0].side == "right"


def test_a_known_hand_costs_little_more_than_one_run_of_the_hand_model_a_picture() -> None:
    models = PaintedHands()
    found_in([((320, 300, 80),)] * 61, models=models)  # two seconds
    assert 60 <= models.hand_runs <= 60 + 14
    settings = SearchSettings()
    assert models.palm_runs <= settings.first_runs + 2 * (settings.runs_second + 3)


def test_two_known_hands_cost_no_search() -> None:
    models = PaintedHands()
    settings = SearchSettings(check_every=1e9)
    search = HandSearch(models, settings)
    for i in range(60):
        search.detect(painted((160, 300, 80), (480, 300, 80)), milliseconds=i * 33, aspect=4 / 3)
    # The painted models see one disc a square, as the mean of all that is red in it, so the two
    # are told apart only by squares that hold one of them.
    palms = models.palm_runs
    search.detect(painted((160, 300, 80), (480, 300, 80)), milliseconds=2000, aspect=4 / 3)
    assert models.palm_runs == palms


def test_an_empty_picture_costs_no_more_than_the_budget() -> None:
    settings = SearchSettings()
    models = PaintedHands()
    search = HandSearch(models, settings)
    for i in range(31):
        search.detect(painted(), milliseconds=round(i * 1000 / 30), aspect=4 / 3)
    assert models.palm_runs <= settings.first_runs + settings.runs_alone + settings.most_runs
    assert models.palm_runs >= settings.runs_alone * 0.8
    assert search.runs == models.palm_runs + models.hand_runs


def test_a_black_picture_costs_nothing() -> None:
    models = PaintedHands()
    search = HandSearch(models)
    black = np.zeros((480, 640, 3), dtype=np.uint8)
    assert search.detect(black, milliseconds=0, aspect=4 / 3) == []
    assert models.palm_runs == 0


def test_a_hand_that_comes_in_is_found_at_once_where_it_moves() -> None:
    pictures: list[tuple[Disc, ...]] = [()] * 5 + [((500, 150, 70),)] * 2
    hands = found_in(pictures)
    assert [len(each) for each in hands[:5]] == [0] * 5
    assert len(hands[5]) == 1


def test_a_moving_hand_is_followed_and_a_vanished_one_dropped() -> None:
    pictures: list[tuple[Disc, ...]] = [((200 + 8 * i, 300, 80),) for i in range(20)]
    hands = found_in([*pictures, (), ()])
    assert [len(each) for each in hands] == [1] * 20 + [0, 0]
    assert abs(wrists(hands[19])[0][0] - (200 + 8 * 19)) < 40  # half the disc


def test_a_lost_hand_is_found_again_nearby() -> None:
    here: tuple[Disc, ...] = ((300, 300, 80),)
    hands = found_in([here, here, (), ((330, 290, 80),)])
    assert [len(each) for each in hands] == [1, 1, 0, 1]


def test_what_was_found_does_not_depend_on_later_pictures() -> None:
    pictures: list[tuple[Disc, ...]] = [((200 + 9 * i, 300, 80),) for i in range(8)]
    assert found_in(pictures)[:3] == found_in(pictures[:3])


def test_oblong_pixels_are_undone() -> None:
    search = HandSearch(PaintedHands())
    squeezed = painted((160, 300, 80), width=320)
    wide = search.detect(squeezed, milliseconds=0, aspect=4 / 3)
    assert len(wide) == 1
    assert abs(wide[0].landmarks[0][0] - 0.5) < 0.05


def test_close_reaches_the_models() -> None:
    models = PaintedHands()
    HandSearch(models).close()
    assert models.closed


def test_small_things_need_more_evidence_than_large_ones() -> None:
    assert evidence(0.8, 0.8, 0.1) > evidence(0.8, 0.8, 0.05) > evidence(0.8, 0.8, 0.02)
    assert evidence(0.5, 0.5, 0.05) == pytest.approx(0.0)
    assert math.isfinite(evidence(0.0, 1.0, 0.0))


@given(st.integers(100, 2000), st.integers(100, 2000))
def test_the_plan_stays_inside_the_picture_and_covers_its_lower_part(
    width: int, height: int
) -> None:
    plan = tiles(width, height)
    for square in plan:
        assert square.side <= height + 1e-6
        if width >= height:
            assert square.x - square.side / 2 >= -1e-6
            assert square.x + square.side / 2 <= width + 1e-6
    for x in np.linspace(1, width - 1, 9):
        assert any(
            abs(square.x - x) <= square.side / 2 and abs(square.y - 0.8 * height) <= square.side / 2
            for square in plan
        )


def test_motion_is_seen_outside_known_hands_only() -> None:
    before, after = small_grey(painted()), small_grey(painted((320, 240, 90)))
    square = moving_square(after, before, [], 480)
    assert square is not None
    assert abs(square.x - 320) < 15
    assert abs(square.y - 240) < 15
    assert moving_square(after, before, [Square(x=320, y=240, side=160)], 480) is None
    assert moving_square(after, None, [], 480) is None
    assert moving_square(255 - after, before, [], 480) is None  # everything changed


def test_flat_squares_are_told_from_textured_ones() -> None:
    small = small_grey(painted())
    assert not is_flat(small, Square(x=320, y=240, side=240), 480)
    assert is_flat(np.zeros_like(small), Square(x=320, y=240, side=240), 480)


# --- geometry --------------------------------------------------------------------------------


def test_the_palm_detector_has_2016_anchors_in_its_input() -> None:
    anchors = palm_anchors()
    assert anchors.shape == (2016, 2)
    assert_allclose(anchors[0], [1 / 48, 1 / 48])
    assert_allclose(anchors[-1], [1 - 1 / 24, 1 - 1 / 24])


def test_a_palm_that_points_right_is_read_in_a_square_turned_clockwise() -> None:
    logits = np.full(2016, -9.0, dtype=np.float32)
    boxes = np.zeros((2016, 18), dtype=np.float32)
    logits[0], boxes[0, 2:4] = 2.0, 48.0
    boxes[0, 4:6], boxes[0, 8:10] = (-20, 0), (20, 0)  # wrist left, middle knuckle right
    (palm,) = palms_of(logits, boxes, Square(x=96, y=96, side=192), least=0.5)
    assert palm.square.angle == pytest.approx(math.pi / 2)
    assert palm.square.side == pytest.approx(2.6 * 48)
    assert palm.square.x > palm.x  # moved on towards the fingers
    assert palm.score == pytest.approx(1 / (1 + math.exp(-2)))


@given(st.floats(50, 400), st.floats(50, 400), st.floats(40, 300), st.floats(-3.1, 3.1))
def test_points_come_back_to_where_the_square_was_cut(
    x: float, y: float, side: float, angle: float
) -> None:
    square = Square(x=x, y=y, side=side, angle=angle)
    points = np.column_stack([np.full(21, 112.0), np.full(21, 112.0), np.zeros(21)])
    reading = HandReading(presence=1.0, rightness=1.0, points=points, world=points)
    assert_allclose(hand_points(reading, square)[:, :2], [[x, y]] * 21, atol=1e-6)


@given(st.floats(-3.1, 3.1))
def test_the_square_around_a_hand_turns_with_it(angle: float) -> None:
    shape = pointing_hand()[:, :2] * 100
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    upright, turned = square_around(shape), square_around(shape @ turn.T)
    assert turned.side == pytest.approx(upright.side)
    gap = (turned.angle - upright.angle - angle + math.pi) % (2 * math.pi) - math.pi
    assert gap == pytest.approx(0.0, abs=1e-6)


def test_a_cut_shows_what_lies_in_the_square_and_black_outside() -> None:
    image = painted((320, 240, 60))
    inside = cut(image, Square(x=320, y=240, side=100), 192)
    assert inside.shape == (192, 192, 3)
    assert inside.dtype == np.float32
    assert inside[96, 96, 0] == 1.0
    corner = cut(image, Square(x=0, y=0, side=100), 192)
    assert corner[:90, :90].max() == 0.0
    shrunk = cut(image, Square(x=320, y=240, side=1000), 192)
    assert shrunk[96, 96, 0] > 0.9
    assert shrunk[5, 5].max() == 0.0


@pytest.mark.media
def test_our_reading_of_a_followed_hand_equals_mediapipe_s(shared_media: Path) -> None:
    from replay.source import open_source
    from streaming.events import VideoFrame
    from streaming.models.litert_hands import LiteRTHands
    from streaming.models.mediapipe_hands import MediaPipeHands

    theirs, ours = MediaPipeHands(), LiteRTHands()
    before: FoundHand | None = None
    gaps = []
    events = open_source(shared_media / "videos" / "egogestar_up_9.mp4", until=0.6).events()
    for event in events:
        if not isinstance(event, VideoFrame):
            continue
        height, width = event.image.shape[:2]
        hands = theirs.detect(
            event.image, milliseconds=round(event.time * 1000), aspect=event.aspect
        )
        if before is not None and hands:
            square = square_around(np.array(before.landmarks) * (width, height))
            points = hand_points(ours.hand(cut(event.image, square, 224)), square)
            gaps.append(
                np.abs(points[:, :2] - np.array(hands[0].landmarks) * (width, height)).mean()
            )
        before = hands[0] if hands else None
    theirs.close()
    ours.close()
    assert len(gaps) > 10
    assert np.median(gaps) < 0.5  # pixels


@pytest.mark.media
def test_models_say_nothing_on_stderr(
    shared_media: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from replay.media.still import read_still
    from streaming.hands import HandSettings
    from streaming.models.hands import open_hands

    image = read_still(shared_media / "hands" / "mpsamples_thumb_up.jpg")
    for detector in ("search", "mediapipe"):
        hands = open_hands(HandSettings(detector=detector))  # type: ignore[arg-type]
        for time in range(4):
            hands.detect(image, milliseconds=33 * time, aspect=image.shape[1] / image.shape[0])
        hands.close()
    assert capfd.readouterr().err == ""
