"""How much sessions may do, by how far behind they are: in virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.governor import Governor, Pressure
from server.hurry import Hurry
from server.live_source import LiveSource
from server.settings import Level, LiveLimits, LoadPolicy, read_server_settings
from streaming.clock import FastClock
from streaming.events import SAMPLE_RATE

IDLE = Pressure(lag=0.0, skipped=0.0)
BEHIND = Pressure(lag=2.0, skipped=0.0)
SKIPPING = Pressure(lag=0.0, skipped=0.5)
POLICY = LoadPolicy(
    levels=(
        Level(),
        Level(pictures=15.0),
        Level(pictures=10.0),
        Level(pictures=10.0, stride=2),
        Level(pictures=5.0, stride=3),
    ),
)


class Course:
    """Looks once a second at sessions that are as ``pressed`` says at each level."""

    def __init__(self, pressed: Callable[[int], list[Pressure]], *, sessions: int = 1) -> None:
        self.governor = Governor(POLICY, cores=8)
        self.governor.resize(sessions)
        self.pressed = pressed
        self.now = 0.0
        self.levels = [self.at]

    @property
    def at(self) -> int:
        return POLICY.levels.index(self.governor.level)

    def go(self, seconds: float) -> Course:
        for _ in range(int(seconds)):
            self.now += 1.0
            self.governor.look(self.pressed(self.at), now=self.now)
            if self.at != self.levels[-1]:
                self.levels.append(self.at)
        return self


def test_pictures_go_first_and_hops_after_them() -> None:
    course = Course(lambda level: [BEHIND]).go(60)
    assert course.levels == [0, 1, 2, 3, 4]
    strides = [POLICY.levels[at].stride for at in course.levels]
    assert strides == sorted(strides)


def test_one_session_that_is_behind_is_enough_and_all_do_less() -> None:
    assert Course(lambda level: [IDLE, BEHIND, IDLE]).go(5).at == 1


def test_skipped_pictures_take_no_hop_away() -> None:
    assert Course(lambda level: [SKIPPING]).go(120).levels == [0, 1, 2]


def test_a_short_delay_changes_nothing() -> None:
    course = Course(lambda level: [IDLE])
    for _ in range(20):
        course.pressed = lambda level: [BEHIND]
        course.go(2)
        course.pressed = lambda level: [IDLE]
        course.go(1)
    assert course.levels == [0]


def test_what_passes_comes_back_up_slowly() -> None:
    course = Course(lambda level: [BEHIND]).go(30)
    course.pressed = lambda level: [IDLE]
    assert course.go(POLICY.better_after - 1).at == 4
    assert course.go(200).levels == [0, 1, 2, 3, 4, 3, 2, 1, 0]


def test_it_does_not_swing_where_one_step_more_is_too_much() -> None:
    course = Course(lambda level: [BEHIND] if level < 2 else [IDLE]).go(3600)
    assert set(course.levels) == {0, 1, 2}
    assert len(course.levels) - 3 <= 2 * 3600 / POLICY.longest + 10
    assert course.at == 2 or course.levels[-2] == 2


@pytest.mark.parametrize(("cores", "pictures"), [(1.8, 7.5), (1.04, 5.0), (0.7, 3.0), (0.1, 3.0)])
def test_four_sessions_find_their_level_when_others_take_part_of_the_machine(
    cores: float, pictures: float
) -> None:
    policy = read_server_settings().load
    governor = Governor(policy, cores=2)
    governor.resize(4)
    levels = []
    for second in range(1, 3601):
        share = governor.level.pictures / policy.levels[0].pictures
        cost = policy.seeing * share + policy.hearing / governor.level.stride
        pressure = BEHIND if 4 * cost > cores else IDLE
        levels.append(governor.look([pressure] * 4, now=float(second)))
    least = min(one.pictures for one in levels[60:])
    assert least == pictures
    assert sum(one.pictures == pictures for one in levels) > 0.9 * len(levels)


def test_each_level_of_the_server_is_less_than_the_one_before() -> None:
    levels = read_server_settings().load.levels
    for more, less in itertools.pairwise(levels):
        assert less.pictures <= more.pictures
        assert less.stride >= more.stride
        assert less != more


def test_between_behind_and_not_behind_it_stays() -> None:
    middle = Pressure(lag=(POLICY.behind + POLICY.ahead) / 2, skipped=0.0)
    course = Course(lambda level: [BEHIND]).go(8)
    level = course.at
    course.pressed = lambda level: [middle]
    assert course.go(600).at == level


def test_a_session_that_hears_nothing_holds_nobody_up() -> None:
    silent = Pressure(lag=None, skipped=0.0)
    course = Course(lambda level: [BEHIND]).go(8)
    course.pressed = lambda level: [silent]
    assert course.go(300).at == 0


def test_more_sessions_begin_where_they_should_fit_and_fewer_do_more() -> None:
    policy = read_server_settings().load
    governor = Governor(policy, cores=2)
    pictures = []
    for sessions in (1, 2, 4, 2, 1, 0):
        governor.resize(sessions)
        pictures.append(governor.level.pictures)
    assert pictures[0] == pictures[4] == pictures[5] == 30.0
    assert pictures[2] < pictures[1] == pictures[3] <= pictures[0]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.lists(
            st.builds(
                Pressure,
                lag=st.none() | st.floats(min_value=0.0, max_value=60.0),
                skipped=st.floats(min_value=0.0, max_value=1.0),
            ),
            max_size=4,
        ),
        max_size=80,
    )
)
def test_it_moves_one_level_at_a_time_and_never_sooner_than_it_may(
    looks: list[list[Pressure]],
) -> None:
    governor, now, moved = Governor(POLICY, cores=2), 0.0, -1e9
    for pressures in looks:
        before, now = POLICY.levels.index(governor.level), now + 1.0
        after = POLICY.levels.index(governor.look(pressures, now=now))
        assert abs(after - before) <= 1
        if after != before:
            least = POLICY.worse_after if after > before else POLICY.better_after
            assert now - moved >= min(least, POLICY.worse_after)
            moved = now


def test_the_least_wait_of_a_look_counts_and_each_look_begins_anew() -> None:
    hurry = Hurry(LiveSource(LiveLimits(), clock=_Clock()))
    assert hurry.pressure() == Pressure(lag=None, skipped=0.0)
    for behind in (0.8, 0.1, 0.6):
        hurry.set_backlog(behind)
    for line in ({"type": "HandsSeen"}, {"type": "Skipped", "what": "frame", "count": 3}):
        hurry.line(line)
    assert hurry.pressure() == Pressure(lag=0.1, skipped=0.75)
    assert hurry.pressure() == Pressure(lag=None, skipped=0.0)


def test_a_stride_leaves_whole_hops_out() -> None:
    told: list[float] = []

    class Backlog:
        def set_backlog(self, seconds: float) -> None:
            told.append(seconds)

    hurry = Hurry(LiveSource(LiveLimits(), clock=_Clock()))
    hurry.backlog, hurry.stride = Backlog(), 2
    for _ in range(SAMPLE_RATE // 160):
        hurry.set_backlog(0.0)
    assert 0.0 in told
    assert max(told) > 1000.0


class _Clock(FastClock):
    def reach(self, time: float) -> None:
        """It stands still."""
