"""When an approach has ended, and which finger points, on made-up sights of hands."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from replay.measure.stroke_scenes import Move, Scene, Script, Seeing, see
from streaming.events import CameraMotion, Hand, Stroke
from streaming.stroke_path import Sample, pointer, sample
from streaming.stroke_settings import ReadingSettings, SettlingSettings
from streaming.stroke_settling import approach_end, settled
from streaming.strokes import StrokeDetector

SETTLING = SettlingSettings()
FRAME = 1 / 30
CLEAN = Seeing(noise=0.0008, outliers=0.0, missed=0.0, blur=20.0, turn=0.0, drift=0.0)


def film(*moves: Move, seed: int = 0) -> Scene:
    script = Script(start=(0.05, 0.2), waits=0.5, moves=moves)
    return see([script], CLEAN, np.random.default_rng(seed))


def said(scene: Scene) -> list[tuple[float, Stroke]]:
    """The strokes of a scene, each with the time of the frame that brought it out."""
    detector = StrokeDetector()
    found = []
    for hands, motion in scene.frames:
        for event in (hands, motion):
            found += [(hands.time, one) for one in detector.push(event) if isinstance(one, Stroke)]
    found += [(math.inf, one) for one in detector.finish() if isinstance(one, Stroke)]
    return found


def pointing_hand() -> Hand:
    """A hand of a made-up scene that points."""
    scene = film(Move(kind="stroke", to=(-0.05, -0.1), lasts=0.35, rests=0.6))
    return scene.frames[-20][0].hands[0]


def sights(places: list[float], sizes: list[float]) -> list[Sample]:
    """Sights of one hand at 30 a second: metres to the right, and logarithms of its size."""
    one = sample(0.0, pointing_hand(), CameraMotion(time=0.0), CLEAN.aspect)
    assert one is not None
    return [
        replace(one, time=number * FRAME, place=np.array([place * one.metre, 0.0]), size=size)
        for number, (place, size) in enumerate(zip(places, sizes, strict=True))
    ]


def test_hand_has_settled_where_it_stopped() -> None:
    samples = sights([0.05, 0.03, 0.01, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 8)
    assert settled(samples, SETTLING).first == 3


def test_hand_that_shrinks_in_its_place_has_not_settled_before_it_stops_to() -> None:
    sizes = [0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert settled(sights([0.0] * 11, sizes), SETTLING).first == 6


def test_hand_that_sways_where_it_lies_has_settled_when_it_came() -> None:
    swaying = [0.025 * FRAME * number for number in range(15)]
    samples = sights([-0.2, -0.1, -0.03, *swaying], [0.0] * 18)
    assert settled(samples, SETTLING).first == 3
    assert settled(samples, replace(SETTLING, sway=0.0)).first > 6


def test_size_that_goes_up_and_down_by_no_more_than_it_is_read_to_moves_no_hand() -> None:
    sizes = [0.02, 0.02, 0.02, -0.02, -0.02, -0.02, 0.0, 0.0, 0.0, 0.0]
    samples = sights([-0.1, -0.03, *[0.0] * 8], sizes)
    assert settled(samples, SETTLING).first == 2
    exact = replace(SETTLING, unsure=0.0, near=0.003, sway=0.0)
    assert settled(samples, exact).first > 4


def test_noise_widens_the_place_where_a_hand_lies() -> None:
    jumping = [0.01 * (-1) ** number for number in range(12)]
    found = settled(sights(jumping, [0.0] * 12), SETTLING)
    assert found.near > SETTLING.near
    assert found.first == 0


def test_end_of_a_creeping_approach_is_later_than_the_first_sight_near_it() -> None:
    shares = [min(1.0, number * FRAME / 0.6) for number in range(30)]
    way = [0.4 * (1 - share**3 * (10 - 15 * share + 6 * share**2)) for share in shares]
    samples = sights(way, [0.0] * 30)
    rest = samples[14:]
    first = settled(rest, SETTLING).first
    end = approach_end(rest, samples[:15], 0.0, SETTLING)
    assert end > first
    assert rest[end].time == pytest.approx(0.6, abs=1.5 * FRAME)


def test_approach_that_was_not_seen_ends_where_the_hand_is_first_seen() -> None:
    samples = sights([0.3, *[0.0] * 8], [0.0] * 9)
    late = [samples[0], *(replace(one, time=one.time + 0.3) for one in samples[1:])]
    assert approach_end(late[1:], late[:2], 0.0, SETTLING) == 0


def test_short_hold_is_told_as_the_hand_leaves_it() -> None:
    scene = film(
        Move(kind="stroke", to=(-0.05, -0.12), lasts=0.5, rests=0.1),
        Move(kind="retraction", to=(0.1, 0.55), lasts=0.5, rests=0.2),
    )
    [true] = scene.strokes
    [(at, stroke)] = said(scene)
    assert abs(stroke.apex - true.apex) < 2.5 * FRAME
    assert stroke.apex <= at < true.offset + 0.2


def test_finger_that_is_counted_from_the_wrong_side_still_points() -> None:
    right = pointing_hand()
    order = [0, 1, 2, 3, 4, *range(17, 21), *range(13, 17), *range(9, 13), *range(5, 9)]
    wrong = replace(
        right,
        landmarks=tuple(right.landmarks[joint] for joint in order),
        world=tuple(right.world[joint] for joint in order) if right.world else (),
        pointing=0.0,
    )
    points, finger = pointer(wrong, CLEAN.aspect)
    assert finger[-1] == 20
    assert points > 0.4
    one = sample(0.0, wrong, CameraMotion(time=0.0), CLEAN.aspect)
    assert one is not None
    assert tuple(one.tip / (CLEAN.aspect, 1.0)) == pytest.approx(right.landmarks[8])


def test_pointing_index_finger_stays_the_one_that_points() -> None:
    assert pointer(pointing_hand(), CLEAN.aspect)[1] == (5, 6, 7, 8)


def test_hand_whose_fingers_are_all_read_as_curled_is_a_fist() -> None:
    fingers = ((5, 6, 7, 8), (9, 10, 11, 12), (13, 14, 15, 16), (17, 18, 19, 20))
    world = np.zeros((21, 3))
    for number, joints in enumerate(fingers):
        away = 0.02 * number
        for joint, along in zip(joints, (0.09, 0.12, 0.11, 0.08), strict=True):
            world[joint] = (along, away, 0.0)
    fist = replace(
        pointing_hand(), world=tuple((x, y, z) for x, y, z in world.tolist()), pointing=0.0
    )
    one = sample(0.0, fist, CameraMotion(time=0.0), CLEAN.aspect)
    pointing = sample(0.0, pointing_hand(), CameraMotion(time=0.0), CLEAN.aspect)
    assert one is not None
    assert one.curled == 1.0
    assert pointing is not None
    assert pointing.curled == 0.0


def test_read_lengths_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="small"):
        ReadingSettings(small=(0.03, 0.05))
