"""Things that hands do which are no strokes: beats, fidgets, touching, crossing, sweeping, leaving.

Each begins where the arm is, needs some time at least, and leaves the arm wherever it ends; the
next reach goes from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from replay.synth.motion.arm_motion import Distractor, DistractorKind
from replay.synth.motion.course import Course, Key, tempo_time
from replay.synth.motion.curves import LEVEL, unit, xyz
from replay.synth.motion.person import Stations
from replay.synth.motion.placement import Obstacle
from replay.synth.motion.settings import ArmSettings
from replay.synth.world import Floats
from streaming.events import Seconds

_LONGEST_BEAT: Seconds = 0.42
_LONGEST_PAUSE: Seconds = 1.1
"""A hand that has longer to wait than this does not do so in the air."""
_DRAW_BACK: Seconds = 0.42
_RAISED_ABOVE = 0.09
"""A wrist below this lies on the table, metres."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Idling:
    """Fills time on a course.

    Attributes:
        rng: Source of every draw.
        course: What is filled.
        stations: Where the hand can be.
        knobs: Weights.
        home: The hand rests on the table.
        out: The arm is out of the scene.
        middle: About where the targets are, shape ``(3,)``.
        obstacles: What can be touched.
    """

    rng: np.random.Generator
    course: Course
    stations: Stations
    knobs: ArmSettings
    home: Key
    out: Key
    middle: Floats
    obstacles: Sequence[Obstacle]

    def fill(self, until: Seconds, *, then: Key | None = None) -> list[Distractor]:
        """Perhaps do something, such that the arm can be at ``then`` by ``until``."""
        if self.rng.random() >= self.knobs.idle:
            return []
        latest = {kind: until - self._back(kind, then) for kind in _KINDS}
        ways = [
            kind
            for kind in _KINDS
            if self.course.now + self._needs(kind) <= latest[kind] and self._can(kind)
        ]
        if not ways:
            return []
        weights = np.array([getattr(self.knobs, kind) for kind in ways])
        kind = ways[int(self.rng.choice(len(ways), p=weights / weights.sum()))]
        acts: dict[DistractorKind, Callable[[Seconds], Distractor]] = {
            "beat": self.beat,
            "fidget": self.fidget,
            "touch": self.touch,
            "cross": self.cross,
            "sweep": self.sweep,
            "absence": self.absence,
        }
        done = acts[kind](latest[kind])
        if self._raised and latest[kind] - self.course.now > _LONGEST_PAUSE:
            self._go(self.home)
        return [done]

    @property
    def _raised(self) -> bool:
        return not self.course.key.away and self.course.key.position[2] > _RAISED_ABOVE

    def _back(self, kind: DistractorKind, then: Key | None) -> Seconds:
        """How long the arm needs to ``then`` from where this leaves it, and a moment."""
        if then is None:
            return 0.0
        place = self.course.key if kind == "beat" and self._raised else self.home
        if kind == "absence":
            place = self.out
        return 0.1 + tempo_time(place, then, self.stations.habits.tempo)

    def _needs(self, kind: DistractorKind) -> Seconds:
        """How long it takes at least, the way there included."""
        way = tempo_time(self.course.key, self.out if kind == "absence" else self.home, 1.0)
        if self.course.key is self.home and kind == "fidget":
            way = 0.0
        if kind == "beat":
            way = _DRAW_BACK if self._raised else 0.7
        return way + _LEAST[kind]

    def _can(self, kind: DistractorKind) -> bool:
        if getattr(self.knobs, kind) == 0.0:
            return False
        if kind == "touch":
            return self._reachable() is not None
        return kind != "absence" or not self.course.key.away

    def _go(self, key: Key, *, slower: float = 1.0) -> None:
        span = slower * tempo_time(self.course.key, key, self.stations.habits.tempo)
        self.course.reach(key, self.course.now + span)

    def _wait_some(self, until: Seconds, needs: Seconds) -> None:
        """Let some of the spare time pass first."""
        spare = until - self.course.now - needs
        if spare > 0:
            self.course.wait(self.course.now + float(self.rng.uniform(0.0, 0.6)) * spare)

    def beat(self, until: Seconds) -> Distractor:
        """Bounce up and down, one to three times, in the air before the person."""
        poses = self.stations.poses
        if self._raised:
            back = unit(self.course.key.elbow) * 0.07 + xyz(0.0, 0.0, 0.05)
            drawn_back = self.stations.raised(self.course.key.moved(back))
            self.course.reach(drawn_back, self.course.now + _DRAW_BACK)
        else:
            self._wait_some(until, 1.3)
            fingers = poses.pointing if self.rng.random() < 0.2 else poses.relaxed
            over = 0.5 * (self.middle + self.stations.placement.rest)
            self._go(self.stations.hover(self.rng, over, fingers))
        onset = self.course.now
        lowest = float((self.course.key.rotation @ self.course.key.marks.T)[2].min())
        room = float(self.course.key.position[2]) + lowest - 0.025
        size = min(float(self.rng.uniform(0.03, 0.06)), max(0.01, room))
        for _ in range(int(self.rng.integers(1, 4))):
            half = float(self.rng.uniform(0.13, 0.5 * _LONGEST_BEAT))
            if self.course.now + 2.15 * half > until and self.course.now > onset:
                break
            aside = self.rng.normal(0.0, 0.006, 2)
            down = np.array([*aside, -size * float(self.rng.uniform(0.7, 1.0))])
            self.course.shift(down, half)
            self.course.shift(-down * float(self.rng.uniform(0.9, 1.0)), half * 1.15)
        return self._told("beat", onset)

    def fidget(self, until: Seconds) -> Distractor:
        """Stir on the table: small shifts, fingers that open and close."""
        if np.linalg.norm(self.course.key.position - self.home.position) > 0.08:
            self._go(self.home)
        fumbling = self.stations.poses.fumbling
        marks = self.stations.marks(fumbling)
        busy = self.stations.raised(replace(self.course.key, fingers=fumbling, marks=marks))
        busy = self._cleared(self.course.key, busy)
        onset = self.course.now
        home = self.course.key
        rise = busy.position - home.position
        if rise[2] > 0.001:
            self.course.shift(rise, 0.2)
        for number in range(int(self.rng.integers(3, 7))):
            lasting = float(self.rng.uniform(0.18, 0.4))
            if self.course.now + lasting > until and number:
                break
            curled = number % 2 == 0
            fingers, marks = (busy.fingers, busy.marks) if curled else (home.fingers, home.marks)
            self.course.bend(fingers, lasting, marks)
            aside = np.array([*self.rng.normal(0.0, 0.016, 2), 0.003])
            goal = np.array([*home.position[:2], busy.position[2]])
            self.course.shift(goal + aside - self.course.key.position, lasting)
        return self._told("fidget", onset)

    def _cleared(self, flat: Key, busy: Key) -> Key:
        """``busy`` as high as fingers on their way there from ``flat`` need it."""
        worst = 0.0
        for marks in self.course.opening(busy.fingers):
            half = replace(flat, marks=marks)
            worst = max(worst, float(self.stations.raised(half).position[2]))
        return busy.moved(xyz(0.0, 0.0, max(0.0, worst - float(busy.position[2]))))

    def _reachable(self) -> Obstacle | None:
        """The thing nearest to the person, if it is near enough to be touched."""
        shoulder = self.stations.placement.shoulder
        best, least = None, self.stations.placement.reach - 0.05
        for one in self.obstacles:
            away = float(np.hypot(*(one.centre[:2] - shoulder[:2])))
            if 0.03 < one.height < 0.22 and 0.2 < away < least:
                best, least = one, away
        return best

    def touch(self, until: Seconds) -> Distractor:
        """Take hold of a thing, and let go again."""
        self._wait_some(until, 1.8)
        thing = self._reachable()
        assert thing is not None
        centre = np.array([thing.centre[0], thing.centre[1], 0.0])
        back = unit((self.stations.placement.shoulder - centre) * LEVEL)
        place = centre + back * (thing.radius + 0.15)
        place = place + xyz(0.0, 0.0, 0.5 * thing.height + 0.05)
        onset = self.course.now
        self._go(
            self.stations.at(place, -back + xyz(0.0, 0.0, -0.25), self.stations.poses.fumbling)
        )
        for _ in range(int(self.rng.integers(1, 3))):
            by = np.array([*self.rng.normal(0.0, 0.007, 2), float(self.rng.uniform(0.0, 0.004))])
            self.course.wait(self.course.now + float(self.rng.uniform(0.1, 0.3)))
            self.course.shift(by, 0.25)
        return self._told("touch", onset)

    def cross(self, until: Seconds) -> Distractor:
        """Go through the scene without a stop, on the way to nowhere in particular."""
        self.course.wait(min(self.course.now + 0.15, until))
        self._wait_some(until, 1.2)
        along = unit(self.middle * LEVEL - self.course.key.position * LEVEL)
        aside = np.array([-along[1], along[0], 0.0]) * float(self.rng.choice([-1.0, 1.0]))
        over = self.middle * LEVEL + 0.12 * aside
        onset = self.course.now
        self._go(self.stations.hover(self.rng, over, self.stations.poses.relaxed), slower=1.15)
        return self._told("cross", onset)

    def sweep(self, until: Seconds) -> Distractor:
        """Pass over an area with the hand: "all of this"."""
        self._wait_some(until, 1.8)
        fingers = self.stations.poses.resting
        if self.rng.random() < 0.4:
            fingers = self.stations.poses.pointing
        start = self.stations.hover(self.rng, self.middle, fingers)
        ahead = self.stations.placement.forward
        side = np.array([-ahead[1], ahead[0], 0.0]) * float(self.rng.choice([-1.0, 1.0]))
        half = side * float(self.rng.uniform(0.1, 0.16))
        self._go(start.moved(-half))
        onset = self.course.now
        there = replace(start, position=start.position + half)
        self.course.reach(there, onset + float(self.rng.uniform(0.55, 0.85)))
        return self._told("sweep", onset)

    def absence(self, until: Seconds) -> Distractor:
        """Leave the scene."""
        onset = self.course.now
        self._go(self.out)
        return Distractor(kind="absence", onset=onset, offset=max(self.course.now, until))

    def _told(self, kind: DistractorKind, onset: Seconds) -> Distractor:
        return Distractor(kind=kind, onset=onset, offset=self.course.now)


_LEAST: Final[dict[DistractorKind, Seconds]] = {
    "beat": 0.45,
    "fidget": 0.7,
    "touch": 0.9,
    "cross": 0.4,
    "sweep": 0.9,
    "absence": 0.25,
}
"""Seconds that each takes at least once the hand is there."""
_KINDS: Final = tuple(_LEAST)
