"""Pointing strokes: which hand movements are pointing gestures, and when they reach their apex.

Fingertip paths are taken in the stabilised view (the head's motion out) and in metres at the hand.
The apex is the first moment of the hold, where the approach ends, across the picture and in depth.
A stroke is said once, as soon as it is certain, and never revised; strokes come in order of apex.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from streaming.events import (
    CameraMotion,
    Counters,
    HandsSeen,
    Seconds,
    Stroke,
    StrokeEnd,
    StrokesSeen,
)
from streaming.stroke_path import Sample, sample
from streaming.stroke_phases import Arrival, HandPhases
from streaming.stroke_settings import StrokeSettings

_SAME_TRACK = 0.05
"""Metres by which the tracker's own word for the same hand counts as nearer."""
_SIZE_RATIO = 2.0
"""Largest change of a hand's size in the picture from one sight to the next."""
_COINCIDE = 0.06
"""Metres between the index fingers of what is one hand found twice."""


@dataclass(slots=True)
class _Actor:
    """One hand as the strokes see it: it outlives gaps and changes of track number."""

    phases: HandPhases
    track: int
    last: Sample
    stroke: int | None = None
    waiting: Arrival | None = None


class StrokeDetector:
    """Finds pointing strokes from hands and camera motion.

    A frame is judged when its hands and its camera motion are both there; the two may come in any
    interleaving. :class:`StrokesSeen` follows every frame, with or without hands.
    """

    accepts: tuple[type, ...] = (HandsSeen, CameraMotion)

    def __init__(self, settings: StrokeSettings | None = None) -> None:
        self._settings = settings or StrokeSettings()
        self._hands: deque[HandsSeen] = deque()
        self._motions: deque[CameraMotion] = deque()
        self._motion = CameraMotion(time=-math.inf, confidence=0.0)
        self._actors: list[_Actor] = []
        self._began: Seconds | None = None
        self._seen_until: Seconds = -math.inf
        self._count = 0
        self.counters = Counters()

    def push(self, event: HandsSeen | CameraMotion) -> list[Stroke | StrokeEnd | StrokesSeen]:
        if isinstance(event, HandsSeen):
            self._hands.append(event)
        else:
            self._motions.append(event)
        said: list[Stroke | StrokeEnd | StrokesSeen] = []
        while self._hands and self._motions:
            hands, motion = self._hands[0], self._motions[0]
            if motion.time < hands.time:
                self._motions.popleft()
                continue
            self._hands.popleft()
            if motion.time > hands.time:
                self.counters.add("stroke_frames_unmatched")
                motion = self._standing(hands.time)
            else:
                self._motions.popleft()
            said += self._frame(hands, motion)
        return said

    def finish(self) -> list[Stroke | StrokeEnd | StrokesSeen]:
        said: list[Stroke | StrokeEnd | StrokesSeen] = []
        while self._hands:
            hands = self._hands.popleft()
            said += self._frame(hands, self._standing(hands.time))
        for actor in self._actors:
            actor.phases.close()
        said += self._release(math.inf)
        for actor in self._actors:
            said += self._end(actor)
        said.append(StrokesSeen(until=math.inf))
        return said

    def _standing(self, time: Seconds) -> CameraMotion:
        """What to go by when a frame's camera motion never came."""
        return CameraMotion(
            time=time, to_stable=self._motion.to_stable, anchor=self._motion.anchor, confidence=0.0
        )

    def _frame(
        self, hands: HandsSeen, motion: CameraMotion
    ) -> list[Stroke | StrokeEnd | StrokesSeen]:
        said: list[Stroke | StrokeEnd | StrokesSeen] = []
        if motion.anchor != self._motion.anchor and self._actors:
            said += self._cut()
        if self._began is None:
            self._began = hands.time
        self._motion = motion
        reading = self._settings.reading
        sights = [
            one
            for hand in hands.hands
            if (one := sample(hands.time, hand, motion, hands.aspect, reading)) is not None
        ]
        seen = self._assign(sights, hands.time)
        for actor, sight in seen:
            actor.last, actor.track = sight, sight.hand.track
            arrival = actor.phases.push(sight, floor=self._seen_until)
            actor.waiting = arrival or actor.waiting
        for actor in self._actors:
            actor.phases.wait(hands.time)
        said += self._release(hands.time)
        for actor in self._actors:
            if actor.waiting is None:
                said += self._end(actor)
        self._forget(hands.time)
        until = self._watermark(hands.time)
        if until > self._seen_until:
            self._seen_until = until
            said.append(StrokesSeen(until=until))
        return said

    def _cut(self) -> list[Stroke | StrokeEnd | StrokesSeen]:
        """The background is another one: paths from before do not go on."""
        self.counters.add("stroke_cuts")
        said: list[Stroke | StrokeEnd | StrokesSeen] = []
        for actor in self._actors:
            actor.phases.close()
        said += self._release(math.inf)
        for actor in self._actors:
            said += self._end(actor)
        self._actors = []
        self._began = None
        return said

    def _assign(self, sights: list[Sample], time: Seconds) -> list[tuple[_Actor, Sample]]:
        """Which actor each sight shows, nearest first; new ones begin where none fits."""
        pairs = sorted(
            (gap, number, index)
            for number, one in enumerate(sights)
            for index, actor in enumerate(self._actors)
            if (gap := self._gap(actor, one)) is not None
        )
        taken: dict[int, int] = {}
        for _, number, index in pairs:
            if number not in taken and index not in taken.values():
                taken[number] = index
        seen = [(self._actors[index], sights[number]) for number, index in taken.items()]
        for number, one in enumerate(sights):
            if number in taken:
                continue
            if any(_coincide(one, other) for _, other in seen):
                self.counters.add("stroke_hands_doubled")
                continue
            assert self._began is not None
            entered = time - self._began >= self._settings.newcomer
            actor = _Actor(
                phases=HandPhases(self._settings, entered=entered),
                track=one.hand.track,
                last=one,
            )
            self._actors.append(actor)
            seen.append((actor, one))
        return sorted(seen, key=lambda pair: pair[1].hand.track)

    def _gap(self, actor: _Actor, one: Sample) -> float | None:
        """Metres from where the actor was last seen, or None when it cannot be the same hand."""
        between = one.time - actor.last.time
        metre = max(one.metre, actor.last.metre)
        if metre > _SIZE_RATIO * min(one.metre, actor.last.metre):
            return None
        gap = float(np.linalg.norm(one.place - actor.last.place)) / metre
        same = actor.track == one.hand.track
        if between > self._settings.gone and gap > 0.05 and not same:
            return None  # unseen for long and elsewhere: it enters anew
        fastest = self._settings.fastest if same else self._settings.fastest_anew
        if gap > fastest * between + 0.02:
            return None
        if actor.last.hand.side != one.hand.side and not same:
            gap += _SAME_TRACK
        return gap if not same else gap - _SAME_TRACK

    def _release(self, now: Seconds) -> list[Stroke | StrokeEnd | StrokesSeen]:
        """Say the certain strokes before which no other apex can come any more."""
        said: list[Stroke | StrokeEnd | StrokesSeen] = []
        ready = sorted(
            (arrival.apex, index)
            for index, actor in enumerate(self._actors)
            if (arrival := actor.waiting) is not None
        )
        limit = min((self._earliest(actor, now) for actor in self._actors), default=math.inf)
        for apex, index in ready:
            if apex > limit:
                break
            actor = self._actors[index]
            assert actor.waiting is not None
            said.append(self._stroke(actor, actor.waiting))
        return said

    def _earliest(self, actor: _Actor, now: Seconds) -> Seconds:
        """No stroke of this hand that is not yet certain has its apex before this."""
        if actor.waiting is not None or math.isinf(now):
            return math.inf
        since = actor.phases.open_since
        if since is not None:
            return since
        if actor.phases.is_resting:
            return now
        return now - self._settings.settle

    def _stroke(self, actor: _Actor, arrival: Arrival) -> Stroke:
        stroke = Stroke(
            index=self._count,
            onset=arrival.onset,
            apex=arrival.apex,
            tip=arrival.tip,
            knuckle=arrival.knuckle,
            side=arrival.sample.hand.side,
            track=arrival.sample.hand.track,
            quality=arrival.quality,
        )
        self._count += 1
        self.counters.add("strokes")
        actor.stroke, actor.waiting = stroke.index, None
        return stroke

    def _end(self, actor: _Actor) -> list[StrokeEnd]:
        ended, actor.phases.ended = actor.phases.ended, None
        if ended is None or actor.stroke is None:
            return []
        index, actor.stroke = actor.stroke, None
        return [StrokeEnd(index=index, offset=ended)]

    def _forget(self, now: Seconds) -> None:
        self._actors = [
            actor
            for actor in self._actors
            if now - actor.last.time <= self._settings.memory or actor.waiting is not None
        ]

    def _watermark(self, now: Seconds) -> Seconds:
        """No stroke that is still to be said has its apex before this."""
        until = now - self._settings.settle
        for actor in self._actors:
            if actor.waiting is not None:
                until = min(until, actor.waiting.apex)
            elif (since := actor.phases.open_since) is not None:
                until = min(until, since)
        return until


def _coincide(one: Sample, other: Sample) -> bool:
    """Whether two sights of one frame are one hand found twice."""
    metre = max(one.metre, other.metre)
    return float(np.linalg.norm(one.place - other.place)) < _COINCIDE * metre
