"""Movement of generated arms: where and when they point, and how they get there."""

from __future__ import annotations

import itertools
import math
import time as clock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.synth.motion import (
    ArmMotion,
    Obstacle,
    Target,
    draw_arm,
    draw_holds,
    other_hand,
    place_arm,
    plan_gestures,
)
from replay.synth.motion.curves import draw_wobble, minimum_jerk, steps, turn_between, turned
from replay.synth.motion.placement import KINDS
from replay.synth.script import Difficulty
from tests.motion_fakes import POSES, StickArm, tip_at

LEVELS: tuple[Difficulty, ...] = ("easy", "real", "hard")
HALF_FRAME = 1 / 60
seeds = st.integers(0, 2**32 - 1)
levels = st.sampled_from(LEVELS)
modest = settings(deadline=None, max_examples=5)


def things(rng: np.random.Generator, count: int = 6) -> list[Obstacle]:
    """Cylinders on the table that stand free."""
    found: list[Obstacle] = []
    while len(found) < count:
        centre, radius = rng.uniform((-0.35, 0.15), (0.35, 0.5)), float(rng.uniform(0.015, 0.045))
        free = (math.dist(centre, one.centre) > radius + one.radius + 0.06 for one in found)
        if all(free):
            height = float(rng.uniform(0.02, 0.14))
            found.append(Obstacle(centre=centre, radius=radius, height=height))
    return found


def motion(
    seed: int, level: Difficulty, *, strokes: int = 3, kind: str | None = None, apart: float = 2.0
) -> ArmMotion:
    """A clip's movement with strokes ``apart`` seconds apart."""
    rng = np.random.default_rng(seed)
    table = things(rng)
    targets = [
        Target(point=np.array([*one.centre, 0.6 * one.height]), radius=one.radius)
        for one in table[:strokes]
    ]
    kinds = KINDS if kind is None else (kind,)
    apexes = [2.4 + apart * number for number in range(strokes)]
    return plan_gestures(
        rng,
        level,
        placement=draw_arm(rng, level, kinds=kinds),
        arm=StickArm(),
        poses=POSES,
        targets=targets,
        apexes=apexes,
        holds=np.minimum(draw_holds(rng, "L3", strokes, level), 1.3).tolist(),
        seconds=(apexes[-1] if apexes else 2.0) + 2.6,
        obstacles=table,
    )


def tips(made: ArmMotion, times: np.ndarray) -> np.ndarray:
    return np.array([tip_at(StickArm(), made.pose(float(time))) for time in times])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_minimum_jerk_starts_and_ends_at_rest(share: float) -> None:
    near = share + np.array([-1e-4, 0.0, 1e-4])
    assert np.ptp(minimum_jerk(near)) < 1e-9
    assert minimum_jerk(share) == share


def test_minimum_jerk_peaks_in_the_middle_at_15_eighths_of_its_mean_speed() -> None:
    shares = np.linspace(0, 1, 2001)
    speed = np.gradient(minimum_jerk(shares), shares)
    assert shares[speed.argmax()] == pytest.approx(0.5, abs=1e-3)
    assert speed.max() == pytest.approx(1.875, abs=1e-3)


def test_overlapping_steps_add_up() -> None:
    path = steps(np.zeros(2), [(0.0, 1.0, np.array([1.0, 0.0])), (0.5, 1.0, np.array([0.0, 2.0]))])
    assert path.at(-1.0) == pytest.approx([0.0, 0.0])
    assert path.at(1.0) == pytest.approx([1.0, 1.0])
    assert path.at(2.0) == pytest.approx([1.0, 2.0])


def test_a_step_without_time_is_refused() -> None:
    with pytest.raises(ValueError, match="a step lasts 0"):
        steps(np.zeros(1), [(0.0, 0.0, np.ones(1))])


@modest
@given(seeds)
def test_a_turn_ends_where_it_should(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    first, second = (one * np.sign(np.linalg.det(one)) for one in (first, second))
    assert turned(first, turn_between(first, second)) == pytest.approx(second, abs=1e-6)


@modest
@given(seeds, levels)
def test_the_fingertip_stands_at_its_apex_and_aims_at_the_target(
    seed: int, level: Difficulty
) -> None:
    made = motion(seed, level)
    rng = np.random.default_rng(seed)
    table = things(rng)
    for stroke, one in zip(made.strokes, table, strict=False):
        tip = tips(made, np.array([stroke.apex]))[0]
        assert tip == pytest.approx(stroke.aim.tip, abs=1e-6)
        target = np.array([*one.centre, 0.6 * one.height])
        along = stroke.aim.direction
        off = np.linalg.norm(np.cross(target - tip, along))
        assert (target - tip) @ along > 0
        assert off <= 0.61 * one.radius
        finger = made.pose(stroke.apex).wrist.rotation[:, 1]
        assert finger == pytest.approx(along, abs=1e-6)


@modest
@given(seeds, levels)
def test_the_fingertip_is_slowest_about_the_apex(seed: int, level: Difficulty) -> None:
    made = motion(seed, level)
    for stroke in made.strokes:
        way = tips(made, np.arange(stroke.onset, stroke.apex, 0.005))
        approach = np.linalg.norm(np.diff(way, axis=0), axis=1) / 0.005
        moment = tips(made, np.array([stroke.apex - 0.002, stroke.apex]))
        assert np.linalg.norm(moment[1] - moment[0]) / 0.002 < 0.05 * approach.max() + 0.005


@modest
@given(seeds, levels)
def test_a_hold_stays_within_its_small_movement(seed: int, level: Difficulty) -> None:
    made = motion(seed, level)
    most = made.tremor.most + made.drift.most
    for stroke in made.strokes:
        held = tips(made, np.arange(stroke.apex, stroke.hold_offset, HALF_FRAME))
        off = np.linalg.norm(held - stroke.aim.tip, axis=1)
        assert off.max() <= most + 1e-6
        assert most < 0.04


@modest
@given(seeds, levels)
def test_phases_are_in_order(seed: int, level: Difficulty) -> None:
    made = motion(seed, level)
    assert [stroke.apex for stroke in made.strokes] == [2.4, 4.4, 6.4]
    before = 0.0
    for stroke in made.strokes:
        phases = (
            before,
            stroke.preparation,
            stroke.onset,
            stroke.window,
            stroke.apex,
            stroke.hold_offset,
        )
        assert all(a <= b for a, b in itertools.pairwise(phases))
        assert stroke.retraction_offset >= stroke.hold_offset
        assert made.at(stroke.apex) is not None
        before = stroke.hold_offset


@modest
@given(seeds, levels)
def test_the_arm_moves_without_jumps_and_not_too_fast(seed: int, level: Difficulty) -> None:
    made = motion(seed, level)
    times = np.arange(0.0, 9.0, 0.02)
    speed = np.linalg.norm(np.diff(tips(made, times), axis=0), axis=1) / 0.02
    assert speed.max() < 6.0
    elbows = np.array([made.pose(float(time)).elbow for time in times])
    assert np.linalg.norm(np.diff(elbows, axis=0), axis=1).max() / 0.02 < 6.0


@modest
@given(seeds, levels)
def test_the_hand_never_goes_through_the_table(seed: int, level: Difficulty) -> None:
    made = motion(seed, level)
    arm = StickArm()
    for time in np.arange(0.0, 9.0, 2 * HALF_FRAME):
        assert arm.landmarks(made.pose(float(time)))[:, 2].min() > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_an_arm_that_is_away_has_no_pose(kind: str) -> None:
    made = next(
        found
        for found in (motion(seed, "easy", kind=kind) for seed in range(20))
        if found.absences and found.absences[0][0] == -math.inf
    )
    offset = made.absences[0][1]
    assert made.at(0.0) is None
    assert made.at(offset - 1e-6) is None
    assert made.at(offset) is not None


def test_an_arm_without_strokes_lies_on_the_table() -> None:
    made = motion(3, "hard", strokes=0)
    assert made.strokes == ()
    assert made.at(0.0) is not None
    assert made.pose(1.0).wrist.position[2] > 0.0


def test_the_same_seed_moves_the_same_way() -> None:
    first, second = motion(11, "hard"), motion(11, "hard")
    times = np.linspace(0.0, 9.0, 50)
    assert (tips(first, times) == tips(second, times)).all()
    assert first.describe() == second.describe()


def test_distractors_lie_outside_the_strokes() -> None:
    for seed in range(5):
        made = motion(seed, "hard")
        for one in made.distractors:
            for stroke in made.strokes:
                assert not one.onset < stroke.apex < one.offset


def test_distractors_come_in_every_kind() -> None:
    seen = {
        one.kind
        for seed in range(50)
        for one in motion(seed, "hard", strokes=2, apart=5.0).distractors
    }
    assert seen == {"beat", "fidget", "touch", "cross", "sweep", "absence", "hover"}


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ValueError, match="0 targets, 1 apexes, 0 holds"):
        plan_gestures(
            np.random.default_rng(0),
            "easy",
            placement=place_arm(np.random.default_rng(0), "left", "left"),
            arm=StickArm(),
            poses=POSES,
            targets=[],
            apexes=[1.0],
            holds=[],
            seconds=3.0,
        )


def test_strokes_that_follow_too_soon_are_refused() -> None:
    targets = [Target(point=np.array([x, 0.3, 0.05]), radius=0.03) for x in (-0.3, 0.3)]
    with pytest.raises(ValueError, match="no time to reach"):
        plan_gestures(
            np.random.default_rng(0),
            "easy",
            placement=place_arm(np.random.default_rng(0), "right", "right"),
            arm=StickArm(),
            poses=POSES,
            targets=targets,
            apexes=[2.0, 2.55],
            holds=[0.5, 0.5],
            seconds=5.0,
        )


def test_a_wearer_has_the_shoulder_under_the_camera() -> None:
    eye = np.array([0.05, -0.3, 0.55])
    for side, sign in (("right", 1.0), ("left", -1.0)):
        placed = place_arm(np.random.default_rng(1), "wearer", side, eye=eye)  # type: ignore[arg-type]
        aside, ahead, up = placed.shoulder - eye
        assert aside * sign > 0.1
        assert ahead < 0
        assert up < -0.2


def test_a_wide_lens_shows_no_partner_without_a_body() -> None:
    kinds = {draw_arm(np.random.default_rng(seed), "hard", fov=110.0).kind for seed in range(40)}
    assert kinds == {"wearer", "left", "right"}


def test_who_sits_nearer_points_more_often() -> None:
    spot = np.array([0.25, 0.3, 0.0])
    kinds = [draw_arm(np.random.default_rng(n), "real", about=spot).kind for n in range(200)]
    assert kinds.count("right") > 5 * kinds.count("left")


@pytest.mark.parametrize("fov", [100.0, 110.0])
def test_a_wide_lens_does_not_see_the_shoulder_of_who_sits_beside(fov: float) -> None:
    eye = np.array([0.0, -0.33, 0.5])
    pitch = math.atan2(0.5, 0.65)
    ahead = np.array([0.0, math.cos(pitch), -math.sin(pitch)])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        placed = draw_arm(rng, "hard", fov=fov, kinds=("left", "right"), eye=eye)
        leaning = placed.shoulder + placed.lean * placed.forward - eye
        assert abs(leaning[0]) > math.tan(math.radians(fov / 2)) * (leaning @ ahead)


def test_the_other_hand_lies_on_the_other_side() -> None:
    rng = np.random.default_rng(2)
    for kind in KINDS:
        one = place_arm(rng, kind, "right")
        two = other_hand(rng, one)
        to_left = np.cross((0.0, 0.0, 1.0), one.forward)
        assert two.side == "left"
        assert (two.shoulder - one.shoulder) @ to_left > 0.2


@modest
@given(seeds)
def test_wobble_keeps_its_size(seed: int) -> None:
    wobble = draw_wobble(np.random.default_rng(seed), 0.002, low=8.0, high=12.0)
    values = np.array([wobble.at(time) for time in np.arange(0.0, 60.0, 0.03)])
    assert values.std(axis=0) == pytest.approx([0.002] * 3, rel=0.25)
    assert np.linalg.norm(values, axis=1).max() <= wobble.most


def test_a_pose_costs_less_than_a_millisecond() -> None:
    made = motion(5, "hard")
    start = clock.process_time()
    for time in np.linspace(0.0, 8.0, 500):
        made.at(float(time))
    assert (clock.process_time() - start) / 500 < 0.001
