"""The hand tracker: one answer a frame, steady identities, sides, pose scores."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.config import config_path, load
from streaming.events import HandsSeen
from streaming.hand_geometry import FoundHand
from streaming.hand_pose import pointing_score
from streaming.hand_search import SearchSettings
from streaming.hand_tracks import TrackSettings
from streaming.hands import HandSettings, HandTracker
from tests.hand_fakes import ScriptedDetector, flat_hand, found, frame, pointing_hand


def seen(
    pictures: list[list[FoundHand]], *, every: float = 1 / 30, mirrored: bool = False
) -> list[HandsSeen]:
    tracker = HandTracker(ScriptedDetector(pictures), HandSettings(mirrored=mirrored))
    return [each for i in range(len(pictures)) for each in tracker.push(frame(i * every))]


def numbers(pictures: list[list[FoundHand]], **more: float) -> list[list[int]]:
    return [[hand.track for hand in each.hands] for each in seen(pictures, **more)]


def test_every_frame_gives_one_answer_also_without_hands() -> None:
    answers = seen([[], [found()], []])
    assert [len(each.hands) for each in answers] == [0, 1, 0]
    assert [each.time for each in answers] == [0.0, 1 / 30, 2 / 30]


def test_frames_whose_time_does_not_rise_are_skipped_and_counted() -> None:
    detector = ScriptedDetector([])
    tracker = HandTracker(detector)
    times = [0.0, 0.0004, 0.001, 0.0009, 0.5, 0.2, 0.501]
    answers = [each for time in times for each in tracker.push(frame(time))]
    assert detector.asked == [0, 1, 500, 501]
    assert len(answers) == 4
    assert tracker.counters.counts["hand_frames_skipped"] == 3


@given(st.lists(st.floats(0, 5), max_size=30))
def test_the_detector_sees_strictly_rising_milliseconds(times: list[float]) -> None:
    detector = ScriptedDetector([])
    tracker = HandTracker(detector)
    answers = [each for time in times for each in tracker.push(frame(time))]
    assert all(one < other for one, other in pairwise(detector.asked))
    assert len(answers) + tracker.counters.counts.get("hand_frames_skipped", 0) == len(times)


def test_finish_closes_the_detector() -> None:
    detector = ScriptedDetector([])
    HandTracker(detector).finish()
    assert detector.closed


def test_a_steady_hand_keeps_its_track() -> None:
    assert numbers([[found(0.3 + 0.01 * i)] for i in range(20)]) == [[0]] * 20


def test_a_short_gap_keeps_the_track_and_a_long_one_ends_it() -> None:
    short = [[found()], [], [], [found()]]
    assert numbers(short)[-1] == [0]
    long = [[found()], *[[]] * 12, [found()]]
    assert numbers(long)[-1] == [1]


def test_a_steady_hand_keeps_its_track_at_two_pictures_a_second() -> None:
    assert numbers([[found(0.3 + 0.05 * i)] for i in range(6)], every=0.5) == [[0]] * 6
    assert numbers([[found()], [], [found()]], every=0.5)[-1] == [1]


def test_a_jump_across_the_picture_is_another_hand() -> None:
    assert numbers([[found(0.2)], [found(0.2)], [found(0.8)]]) == [[0], [0], [1]]


def test_two_hands_keep_their_tracks_in_whatever_order_they_come() -> None:
    one, other = found(0.3, side="left"), found(0.7, side="right")
    answers = seen([[one, other], [other, one], [one, other]])
    places = [{hand.track: round(hand.wrist[0], 1) for hand in each.hands} for each in answers]
    assert places == [{0: 0.3, 1: 0.7}] * 3


def test_a_hand_that_leaves_while_the_other_stays_comes_back_as_a_new_one() -> None:
    stays, leaves = found(0.3, side="left"), found(0.8)
    pictures = [[stays, leaves], *[[stays]] * 12, [stays, leaves]]
    answers = numbers(pictures)
    assert answers[0] == [0, 1]
    assert answers[-1] == [0, 2]


def test_a_hand_of_quite_another_size_is_another_hand() -> None:
    assert numbers([[found(size=0.3)], [found(size=0.1)]]) == [[0], [1]]


def test_one_doubtful_reading_does_not_change_the_side() -> None:
    pictures = [[found(side="right")]] * 6 + [[found(side="left")]] + [[found(side="right")]] * 3
    assert {hand.side for each in seen(pictures) for hand in each.hands} == {"right"}


def test_a_mirrored_picture_swaps_left_and_right() -> None:
    assert seen([[found(side="left")]], mirrored=True)[0].hands[0].side == "right"
    assert seen([[found(side="left")]])[0].hands[0].side == "left"


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=2).map(list), st.data())
def test_no_two_hands_of_a_frame_share_a_track(
    places: list[tuple[float, float]], data: st.DataObject
) -> None:
    moves = st.floats(-0.2, 0.2)
    pictures = []
    for _ in range(6):
        pictures.append([found(x, y) for x, y in places])
        places = [(x + data.draw(moves), y + data.draw(moves)) for x, y in places]
    for each in numbers(pictures):
        assert len(set(each)) == len(each)


def test_what_was_said_does_not_depend_on_later_frames() -> None:
    pictures = [[found(0.3 + 0.02 * i)] for i in range(10)]
    assert seen(pictures)[:4] == seen(pictures[:4])


def test_a_hand_with_too_few_points_is_refused() -> None:
    with pytest.raises(ValueError, match="20 landmarks, expected 21"):
        FoundHand(
            score=1.0,
            side="left",
            side_score=1.0,
            landmarks=((0.0, 0.0),) * 20,
            depths=(0.0,) * 21,
            world=(),
        )


@pytest.mark.parametrize(
    ("kind", "values", "text"),
    [
        (TrackSettings, {"memory": 0.0}, "memory"),
        (SearchSettings, {"palm_score": 1.5}, "palm_score"),
        (SearchSettings, {"hands": 0}, "hands 0"),
    ],
)
def test_nonsense_settings_are_refused(
    kind: type[TrackSettings] | type[SearchSettings], values: dict[str, float], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        kind(**values)  # type: ignore[arg-type]


def test_the_shipped_settings_are_the_defaults() -> None:
    assert load(HandSettings, config_path("hands.toml")) == HandSettings()


def score_of(shape: np.ndarray, *, world: bool = True) -> float:
    hand = found(shape=shape)
    return pointing_score(hand.landmarks, hand.depths, hand.world if world else (), aspect=1.0)


@pytest.mark.parametrize("world", [True, False])
def test_an_index_finger_alone_points_with_or_without_the_thumb(world: bool) -> None:
    assert score_of(pointing_hand(), world=world) == 1.0
    assert score_of(flat_hand(curled=(1, 9, 13, 17)), world=world) == 1.0


@pytest.mark.parametrize(
    "curled",
    [
        (),  # open
        (1,),  # four
        (1, 5, 9, 13, 17),  # fist
        (5, 9, 13, 17),  # thumb up
        (5, 9, 13),  # call
        (9, 13),  # rock, thumb out
        (1, 9, 13),  # rock
        (13, 17),  # two
    ],
)
def test_other_poses_do_not_point(curled: tuple[int, ...]) -> None:
    assert score_of(flat_hand(curled=curled)) < 0.1


@given(st.floats(-3, 3), st.floats(-1.3, 1.3))
def test_pointing_does_not_depend_on_how_the_hand_is_turned(roll: float, tilt: float) -> None:
    around_z = np.array(
        [[np.cos(roll), -np.sin(roll), 0], [np.sin(roll), np.cos(roll), 0], [0, 0, 1]]
    )
    around_x = np.array(
        [[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]]
    )
    assert score_of(pointing_hand() @ (around_x @ around_z).T) > 0.9


@pytest.mark.media
@pytest.mark.parametrize(
    ("pattern", "points"),
    [("mpgesture_none_POINT_*", True), ("mpgesture_rock_*", False), ("mpgesture_four_*", False),
     ("mpgesture_call_*", False), ("mpsamples_thumb_up*", False)],
)  # fmt: skip
def test_real_poses_point_or_do_not(shared_media: Path, pattern: str, points: bool) -> None:
    from replay.media.still import read_still
    from streaming.events import VideoFrame
    from streaming.models.hands import open_hands

    scores = []
    for path in sorted((shared_media / "hands").glob(pattern))[:3]:
        tracker = HandTracker(open_hands())
        hands = tracker.push(VideoFrame(time=0.0, image=read_still(path)))[0].hands
        tracker.finish()
        scores += [max(hand.pointing for hand in hands)] if hands else []
    assert scores
    assert all((score > 0.8) == points for score in scores)
    assert all(score < 0.2 for score in scores) or points
