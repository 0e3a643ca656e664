"""Alignment of tracks: a sender with clocks of its own, a network in between, one timeline out."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.alignment import Alignment, AlignmentSettings, Kind

ROUND = 1 << 32
IN_STEP = 0.040


@dataclass(frozen=True, kw_only=True)
class Track:
    """One track of a made sender.

    Attributes:
        every: Seconds between two frames.
        gain: Of its clock, in seconds a second.
        first: RTP time at the true time 0.
        report_every: Seconds between two reports; none come if infinite.
        report_first: True time of the first one.
        report_noise: Seconds that a report is late at most.
        path: Seconds from being caught to being sent.
        begins: True time of its first frame.
    """

    kind: Kind
    rate: int
    every: float
    ssrc: int
    gain: float = 0.0
    first: int = 0
    report_every: float = 1.0
    report_first: float = 0.7
    report_noise: float = 0.0
    path: float = 0.0
    begins: float = 0.0

    def rtp(self, true: float) -> int:
        return (self.first + round(true * self.rate * (1 + self.gain))) % ROUND


SOUND = Track(kind="sound", rate=48_000, every=0.02, ssrc=11, report_first=1.3)
PICTURES = Track(kind="pictures", rate=90_000, every=1 / 15, ssrc=22)

Told: TypeAlias = list[tuple[float, float]]
"""True time and time told, of every frame of a track."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """What lies in between: a delay, uniform jitter on it, packets that are lost."""

    delay: float = 0.05
    jitter: float = 0.0
    loss: float = 0.0
    seed: int = 0


class Noting(Alignment):
    """Notes when each source was first reported on, which nobody can be in step before."""

    def __init__(self) -> None:
        super().__init__()
        self.reported: dict[int, float] = {}

    def report(self, *, ssrc: int, rtp: int, wall: float, arrival: float) -> None:
        self.reported.setdefault(ssrc, arrival)
        super().report(ssrc=ssrc, rtp=rtp, wall=wall, arrival=arrival)


def play(
    alignment: Alignment,
    tracks: list[Track],
    *,
    until: float,
    network: Network | None = None,
    since: float = 0.0,
    wall_gain: float = 0.0,
    wall: float = 3.9e9,
) -> dict[Kind, Told]:
    """Send what ``tracks`` catch from ``since`` to ``until``, and ask for the time of each frame.

    Frames are asked for a jitter buffer's time after they were sent, in order.
    """
    network = Network() if network is None else network
    chance = random.Random(network.seed)
    happens: list[tuple[float, int, Track, float]] = []
    for track in tracks:
        for number in range(math.ceil((until - since) / track.every)):
            true = since + number * track.every
            if true < track.begins or chance.random() < network.loss:
                continue
            sent = true + track.path + network.delay
            happens.append((sent + chance.random() * network.jitter, 0, track, true))
            happens.append((sent + network.jitter + 0.08, 2, track, true))
        reported = track.report_first
        while reported < until:
            if reported >= max(since, track.begins) and chance.random() >= network.loss:
                arrival = reported + track.path + network.delay + chance.random() * network.jitter
                happens.append((arrival, 1, track, reported))
            reported += track.report_every * (0.5 + chance.random())
    told: dict[Kind, Told] = {"sound": [], "pictures": []}
    for arrival, what, track, true in sorted(happens, key=lambda one: (one[0], one[1], one[3])):
        if what == 0:
            alignment.packet(
                track.kind,
                ssrc=track.ssrc,
                rtp=track.rtp(true),
                rate=track.rate,
                arrival=arrival,
            )
        elif what == 1:
            seen = wall + true * (1 + wall_gain) + chance.random() * track.report_noise
            alignment.report(ssrc=track.ssrc, rtp=track.rtp(true), wall=seen, arrival=arrival)
        else:
            time = alignment.time(track.kind, track.rtp(true))
            if time is not None:
                told[track.kind].append((true, time))
    return told


def apart(told: dict[Kind, Told], *, since: float, until: float = math.inf) -> float:
    """Most that pictures are apart from the sound caught with them, in seconds."""
    sound = told["sound"]
    worst, place = 0.0, 0
    for true, time in told["pictures"]:
        while place + 1 < len(sound) and sound[place + 1][0] <= true:
            place += 1
        near = sound[place]
        if since <= true < until and abs(near[0] - true) < 0.1:
            worst = max(worst, abs((time - true) - (near[1] - near[0])))
    return worst


def rises(told: Told) -> bool:
    return all(a[1] < b[1] for a, b in pairwise(told))


starts = st.one_of(st.integers(ROUND - 400_000, ROUND - 1), st.integers(0, ROUND - 1))
gains = st.floats(-0.003, 0.003)


@settings(max_examples=25)
@given(
    sound_first=starts,
    pictures_first=starts,
    sound_gain=gains,
    pictures_gain=gains,
    wall_gain=gains,
    path=st.floats(0.0, 0.3),
    seed=st.integers(0, 2**16),
    sound_every=st.sampled_from([1.0, 5.0]),
)
def test_sound_and_pictures_come_into_step_with_the_first_reports(
    sound_first: int,
    pictures_first: int,
    sound_gain: float,
    pictures_gain: float,
    wall_gain: float,
    path: float,
    seed: int,
    sound_every: float,
) -> None:
    alignment = Noting()
    told = play(
        alignment,
        [
            replace(SOUND, first=sound_first, gain=sound_gain, report_every=sound_every),
            replace(PICTURES, first=pictures_first, gain=pictures_gain, path=path),
        ],
        until=30.0,
        network=Network(jitter=0.1, loss=0.02, seed=seed),
        wall_gain=wall_gain,
    )
    assert rises(told["sound"])
    assert rises(told["pictures"])
    assert len(told["sound"]) > 0.9 * 30 / SOUND.every
    reported = max(1.3 + 1.5 * sound_every, *alignment.reported.values())
    assert apart(told, since=reported + 2.0) < IN_STEP
    assert alignment.counters.counts.get("alignment_restarts", 0) == 0


@pytest.mark.parametrize("gain", [-0.003, 0.0, 0.003])
def test_they_stay_in_step_for_ten_minutes(gain: float) -> None:
    told = play(
        Alignment(),
        [
            replace(SOUND, first=ROUND - 1_000_000, gain=gain, report_every=5.0),
            replace(PICTURES, first=ROUND - 9_000_000, path=0.15, report_noise=0.02),
        ],
        until=600.0,
        network=Network(jitter=0.1, loss=0.02, seed=7),
    )
    assert rises(told["sound"])
    assert rises(told["pictures"])
    assert apart(told, since=12.0) < IN_STEP


def test_one_report_of_each_is_enough_to_stay_in_step() -> None:
    """A sender whose clocks drift, whose reports are lost but for the first ones."""
    told = play(
        Alignment(),
        [
            replace(SOUND, gain=0.003, report_every=1e6),
            replace(PICTURES, gain=-0.003, report_every=1e6, path=0.2),
        ],
        until=60.0,
        network=Network(jitter=0.1, seed=5),
    )
    assert apart(told, since=4.0) < IN_STEP


def test_before_the_reports_arrivals_tell() -> None:
    sound, pictures = (
        replace(one, report_every=math.inf, report_first=math.inf) for one in (SOUND, PICTURES)
    )
    told = play(
        Alignment(),
        [replace(sound, first=5), replace(pictures, first=ROUND - 5)],
        until=20.0,
        network=Network(jitter=0.1, loss=0.02, seed=3),
    )
    assert apart(told, since=0.5) < IN_STEP


def test_sound_that_is_first_delayed_stays_and_the_pictures_move() -> None:
    alignment = Alignment()
    alignment.packet("sound", ssrc=11, rtp=0, rate=48_000, arrival=0.4)
    assert alignment.time("sound", 0) == 0.4
    told = play(
        alignment,
        [replace(one, report_every=math.inf, report_first=math.inf) for one in (SOUND, PICTURES)],
        until=6.0,
    )
    assert all(abs(time - true - 0.4) < 1e-6 for true, time in told["sound"])
    assert apart(told, since=2.5) < 0.005


def test_the_sound_does_not_move_when_reports_come() -> None:
    told = play(Alignment(), [SOUND, replace(PICTURES, path=0.2)], until=8.0)
    offsets = [time - true for true, time in told["sound"]]
    assert max(offsets) - min(offsets) < 1e-3
    assert apart(told, since=0.0, until=0.9) > 0.15
    assert apart(told, since=4.0) < 0.005


def test_a_move_back_is_slow_enough_to_tell_no_time_twice() -> None:
    told = play(Alignment(), [SOUND, replace(PICTURES, path=0.25)], until=8.0)
    gaps = [b[1] - a[1] for a, b in pairwise(told["pictures"])]
    assert len(told["pictures"]) == 8 * 15
    assert min(gaps) > 0.7 * PICTURES.every


def test_a_lone_wrong_report_changes_nothing() -> None:
    alignment = Alignment()
    before = play(alignment, [SOUND, PICTURES], until=10.0)
    alignment.report(ssrc=22, rtp=PICTURES.rtp(10.0), wall=3.9e9 + 17.0, arrival=10.06)
    after = play(alignment, [SOUND, PICTURES], since=10.0, until=20.0)
    assert apart(before, since=4.0) < 0.005
    assert apart(after, since=10.0) < 0.005
    assert alignment.counters.counts["alignment_reports_doubted"] == 1


@pytest.mark.parametrize("by", [3600.0, -3600.0, 5.0])
def test_a_sender_that_sets_its_clock_moves_nothing(by: float) -> None:
    alignment = Alignment()
    play(alignment, [SOUND, PICTURES], until=10.0)
    after = play(alignment, [SOUND, PICTURES], since=10.0, until=25.0, wall=3.9e9 + by)
    assert rises(after["sound"])
    assert apart(after, since=10.0) < 0.005
    assert all(abs(time - true - 0.05) < 0.02 for true, time in after["sound"])


def test_tracks_of_clocks_that_have_nothing_in_common_stay_by_arrival() -> None:
    alignment = Alignment()
    told: dict[Kind, Told] = {"sound": [], "pictures": []}
    # Two plays of one second at a time, each with the wall clock of one track.
    for second in range(10):
        for track, wall in ((SOUND, 3.9e9), (PICTURES, 17.0)):
            part = play(alignment, [track], since=float(second), until=second + 1.0, wall=wall)
            told[track.kind] += part[track.kind]
    assert apart(told, since=0.0) < IN_STEP
    assert alignment.counters.counts["alignment_clocks_apart"] == 1


@pytest.mark.parametrize("jump", [-900_000, 5_000_000, ROUND // 2])
def test_a_track_that_starts_anew_goes_on_in_step(jump: int) -> None:
    alignment = Alignment()
    play(alignment, [SOUND, PICTURES], until=10.0)
    anew = replace(PICTURES, first=(PICTURES.first + jump) % ROUND)
    told = play(alignment, [SOUND, anew], since=10.0, until=20.0)
    assert alignment.counters.counts["alignment_restarts"] == 1
    assert len(told["pictures"]) >= 148
    assert apart(told, since=10.5) < IN_STEP


def test_a_new_source_of_a_track_takes_over() -> None:
    alignment = Alignment()
    play(alignment, [SOUND, PICTURES], until=10.0)
    other = replace(SOUND, ssrc=33, first=123_456_789)
    told = play(alignment, [other, PICTURES], since=10.0, until=20.0)
    assert rises(told["sound"])
    assert apart(told, since=13.0) < IN_STEP


def test_a_track_that_stopped_is_in_step_when_it_comes_back() -> None:
    alignment = Alignment()
    play(alignment, [SOUND, PICTURES], until=5.0)
    play(alignment, [SOUND], since=5.0, until=25.0)
    told = play(alignment, [SOUND, PICTURES], since=25.0, until=30.0)
    assert apart(told, since=25.0) < 0.005


def test_a_track_whose_count_stood_still_steps_forward_with_the_next_report() -> None:
    alignment = Alignment()
    play(alignment, [SOUND, PICTURES], until=10.0)
    play(alignment, [SOUND], since=10.0, until=17.0)
    late = replace(PICTURES, first=PICTURES.first - 7 * 90_000)
    told = play(alignment, [SOUND, late], since=17.0, until=25.0)
    assert rises(told["pictures"])
    assert apart(told, since=19.0) < IN_STEP


def test_pictures_alone_have_times_too() -> None:
    told = play(Alignment(), [replace(PICTURES, first=ROUND - 1)], until=5.0)
    assert len(told["pictures"]) == 75
    assert all(abs(time - true - 0.05) < 1e-3 for true, time in told["pictures"])


def test_a_frame_that_no_packet_brought_has_no_time() -> None:
    alignment = Alignment()
    assert alignment.time("sound", 5) is None
    alignment.packet("sound", ssrc=1, rtp=0, rate=48_000, arrival=1.0)
    assert alignment.time("sound", 48_000 * 60) is None
    assert alignment.counters.counts["alignment_frames_unplaced"] == 2


def test_a_frame_that_comes_twice_is_told_once() -> None:
    alignment = Alignment()
    alignment.packet("sound", ssrc=1, rtp=0, rate=48_000, arrival=1.0)
    assert alignment.time("sound", 0) == 1.0
    assert alignment.time("sound", 0) is None


def test_a_report_of_an_unknown_source_is_counted() -> None:
    alignment = Alignment()
    alignment.report(ssrc=9, rtp=0, wall=1.0, arrival=0.0)
    assert alignment.counters.counts == {"alignment_reports_unplaced": 1}


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["packet", "report", "time"]),
            st.integers(0, 3),
            st.integers(0, ROUND - 1),
            st.floats(-1e10, 1e10),
            st.floats(0.0, 3.0),
        ),
        max_size=80,
    )
)
def test_no_input_makes_a_time_go_back(
    inputs: list[tuple[str, int, int, float, float]],
) -> None:
    alignment = Alignment()
    arrival = 0.0
    last = -math.inf
    for what, ssrc, rtp, wall, passes in inputs:
        arrival += passes
        if what == "packet":
            alignment.packet("sound", ssrc=ssrc, rtp=rtp, rate=48_000, arrival=arrival)
        elif what == "report":
            alignment.report(ssrc=ssrc, rtp=rtp, wall=wall, arrival=arrival)
        else:
            time = alignment.time("sound", rtp)
            if time is not None:
                assert math.isfinite(time)
                assert time > last
                last = time


def test_settings_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match=r"slew is 1\.5"):
        AlignmentSettings(slew=1.5)
    with pytest.raises(ValueError, match="window is 0"):
        AlignmentSettings(window=0)
    with pytest.raises(ValueError, match="rate is 0"):
        Alignment().packet("sound", ssrc=1, rtp=0, rate=0, arrival=0.0)
