"""The phases of one hand's gestures: on the way, arrived, holding.

A hand that comes to rest has *arrived*; whether it arrived to point is decided by how long it holds
against how long it needs to. What looks like a stroke (a pointing finger, a long quick way out)
needs a short hold; what does not (a short way, a way back, a swing to and fro) a long one. So a
clear stroke is told early, a doubtful one late, and a pause on the way not at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from streaming.events import Point, Seconds
from streaming.stroke_path import Sample, in_frame, middle, ramp, speeds, typical_metre
from streaming.stroke_settings import StrokeSettings
from streaming.stroke_settling import approach_end, settled

_KEPT: Seconds = 1.0
"""How much of a decided rest is kept: enough to see it end."""
_LONGEST_WAY = 240
"""Most sights kept of one way: at 30 a second, 8 s without a rest."""
_LIES: Seconds = 0.4
_CREEPS: Seconds = 0.25
"""A hand has left the place where it mostly was so lately: if that was decided, and if not."""
_LEAST_SIGHTS = 3
"""Sights of a hold: in slow pictures two may happen to show one place."""
_LONGEST_CREEP: Seconds = 0.5
"""For how long after it arrived a hand may go on creeping."""
_LEAST_WAY = 0.035
"""Metres from one rest to the next below which a hand only shifts, and does not point anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A stroke of one hand that is certain.

    Attributes:
        onset, apex: As in :class:`streaming.events.Stroke`.
        tip, knuckle: At the apex, in that frame.
        sample: The sight at the apex.
        quality: 0...1.
    """

    onset: Seconds
    apex: Seconds
    tip: Point
    knuckle: Point
    sample: Sample
    quality: float


@dataclass(slots=True)
class _Rest:
    """The hand lies still.

    Attributes:
        arrived: The first sight of it.
        samples: Sights since then; once it is decided, of the last second.
        way: Sights on the way here, the last one at rest before it first.
        unseen: The hand was first seen here, or so.
        swings: How many times in a row it turned back from a rest that was shorter than the way.
        back: It is where the hand was before that rest, and did not point.
        after_stroke: The rest before it was a stroke's hold.
        paused: The rest before it was a pause between a stroke's hold and this.
        state: Whether it is undecided, a stroke, or nothing.
        apex: Of a stroke.
        quality: Of a stroke, 0...1.
    """

    arrived: Sample
    samples: list[Sample]
    way: list[Sample]
    unseen: bool
    swings: int
    back: bool
    after_stroke: bool
    paused: bool
    state: Literal["open", "stroke", "nothing"] = "open"
    apex: Seconds = -math.inf
    quality: float = 0.0


class HandPhases:
    """Follows one hand through its gestures.

    Args:
        settings: Numbers.
        entered: The hand came from outside the picture (it was not there from the start).
    """

    def __init__(self, settings: StrokeSettings, *, entered: bool) -> None:
        self._settings = settings
        self._entered = entered
        self._way: list[Sample] = []
        self._rest: _Rest | None = None
        self._before: _Rest | None = None
        self._away: list[Sample] = []
        self.ended: Seconds | None = None
        """When the hold of the last stroke ended, as soon as that is known; taken by the owner."""

    @property
    def open_since(self) -> Seconds | None:
        """When the hand arrived, while it is undecided whether it points."""
        rest = self._rest
        return rest.arrived.time if rest is not None and rest.state == "open" else None

    @property
    def is_resting(self) -> bool:
        """Whether the hand lies still."""
        return self._rest is not None

    def push(self, sample: Sample, *, floor: Seconds) -> Arrival | None:
        """Take a sight; return the stroke that it made certain.

        ``floor`` is the watermark said before: no new apex lies before it.
        """
        left = None
        if self._rest is not None and not self._stays(self._rest, sample):
            left = self._decide(leaving=True)
            self._depart(self._rest)
        if self._rest is None:
            self._way.append(sample)
            if len(self._way) > _LONGEST_WAY:
                del self._way[1]
            self._arrive(floor)
        return left or (self._decide() if self._rest is not None else None)

    def wait(self, now: Seconds) -> None:
        """Let time pass without a sight."""
        rest = self._rest
        if rest is None:
            return
        if rest.state == "open" and now - rest.arrived.time > self._settings.patience:
            rest.state = "nothing"
        if rest.state == "stroke" and now - rest.samples[-1].time > self._settings.gone:
            rest.state = "nothing"
            self.ended = max(rest.apex, rest.samples[-1].time)

    def close(self) -> None:
        """The hand will not be seen again."""
        if self._rest is not None and self._rest.state == "stroke":
            self.ended = max(self._rest.apex, self._rest.samples[-1].time)
        self._rest = None

    def _stays(self, rest: _Rest, sample: Sample) -> bool:
        """Add a sight to the rest, unless it shows that the hand has left."""
        # An approach that creeps to its end has not left; a hold that creeps away has.
        span = _CREEPS if rest.state == "open" else _LIES
        held = [one for one in rest.samples if sample.time - one.time <= span] or rest.samples[-1:]
        off = float(np.linalg.norm(sample.place - middle(held))) / typical_metre(held)
        if off <= self._settings.leave:
            self._away.clear()
            rest.samples.append(sample)
            if rest.state != "open":
                while sample.time - rest.samples[0].time > _KEPT:
                    rest.samples.pop(0)
            return True
        self._away.append(sample)
        # One sight a little off may be noise; two, or one far off, are not.
        return len(self._away) < 2 and off < 2.5 * self._settings.leave

    def _depart(self, rest: _Rest) -> None:
        if rest.state == "stroke":
            self.ended = max(rest.apex, _held_until(rest.samples))
        self._before = rest
        self._way = [rest.samples[-1], *self._away[:-1]]
        self._away = []
        self._rest = None

    def _arrive(self, floor: Seconds) -> None:
        """Begin a rest if the last sights lie still."""
        still = self._still(floor)
        if not still:
            return
        first = next(index for index, one in enumerate(self._way) if one is still[0])
        before = self._before
        self._rest = _Rest(
            arrived=still[0],
            samples=still,
            way=self._way[: first + 1],
            unseen=before is None and first == 0,
            swings=self._swings(before, self._way[: first + 1]),
            back=before is not None and self._is_back(before, still),
            after_stroke=before is not None and before.state == "stroke",
            paused=before is not None and before.state != "stroke" and before.after_stroke,
        )
        if before is None and not self._entered and first == 0:
            self._rest.state = "nothing"  # it lay there from the start
        self._way = []

    def _still(self, floor: Seconds) -> list[Sample]:
        """The last sights, if they lie still for long enough."""
        settings = self._settings
        newest = self._way[-1]
        recent = [one for one in self._way if newest.time - one.time <= settings.settle + 1e-6]
        if newest.time - recent[0].time < 0.6 * settings.settle:
            recent = self._way[-(len(recent) + 1) :]
        recent = [one for one in recent if one.time >= floor]
        if len(recent) < 2 or newest.time - recent[0].time < 0.6 * settings.settle:
            return []
        places = np.array([one.place for one in recent])
        spread = float(np.linalg.norm(places - places[-1], axis=1).max())
        allowed = settings.still_noise + settings.still_speed * (newest.time - recent[0].time)
        return recent if spread / typical_metre(recent) <= allowed else []

    @staticmethod
    def _swings(before: _Rest | None, way: list[Sample]) -> int:
        """How many times in a row the hand turned back from a rest shorter than the way took."""
        if before is None or len(before.way) < 2 or before.state == "stroke":
            return 0
        if before.after_stroke:
            return 0  # it drew back from one target before the next
        there = before.arrived.place - before.way[0].place
        back = way[-1].place - way[0].place
        gone, came = float(np.linalg.norm(there)), float(np.linalg.norm(back))
        if came > 2 * gone or float(there @ back) > -0.3 * gone * came:
            return 0
        paused = before.samples[-1].time - before.arrived.time
        brief = paused < max(0.2, way[-1].time - way[0].time)
        return before.swings + 1 if brief else 0

    @staticmethod
    def _is_back(before: _Rest, still: list[Sample]) -> bool:
        """Whether the hand is back where it was before ``before``, where it did not point."""
        if len(before.way) < 2 or before.after_stroke:
            return False
        home = before.way[0].place
        went = float(np.linalg.norm(before.arrived.place - home))
        return float(np.linalg.norm(middle(still) - home)) < 0.4 * went

    def _decide(self, *, leaving: bool = False) -> Arrival | None:
        """Tell the stroke if it is certain: the hold is long enough, and the approach has ended.

        A hand that leaves has ended it. One that does not end it at all is not waited for for ever.
        """
        rest = self._rest
        assert rest is not None
        if rest.state != "open":
            return None
        held = rest.samples[-1].time - rest.arrived.time
        need = self.need(rest)
        enough = len(rest.samples) >= _LEAST_SIGHTS and held + 1e-6 >= need
        if need <= self._settings.patience and enough:
            if not leaving and held < _LONGEST_CREEP and not self._is_quiet(rest):
                return None
            rest.state = "stroke"
            arrival = self._arrival(rest, need)
            rest.apex, rest.quality = arrival.apex, arrival.quality
            return arrival
        if held > self._settings.patience:
            rest.state = "nothing"
        return None

    def _is_quiet(self, rest: _Rest) -> bool:
        """Whether the hand has lain where it lies for long enough."""
        settling = self._settings.settling
        first = rest.samples[settled(rest.samples, settling).first]
        return rest.samples[-1].time - first.time + 1e-6 >= settling.quiet

    def need(self, rest: _Rest) -> Seconds:
        """Seconds of hold at which this rest counts as a stroke."""
        more = self._settings.need
        points, unread = self._points(rest), _unread(rest)
        total = more.base + more.pose * ramp(points, 0.65, 0.15)
        if points < 0.15:  # another gesture, if it can be read
            total += 1.0 - max(unread, _curled(rest))
        border = ramp(rest.arrived.cut, 0.0, 0.5)
        if not (rest.after_stroke or rest.paused):
            border = max(border, float(np.median([one.entering for one in rest.samples])))
        total += more.border * border
        if rest.unseen:
            return total + more.unseen
        metre = typical_metre(rest.samples)
        path, end = self._path(rest), middle(rest.samples)
        start = path[0]
        way = end - start.place
        length = float(np.linalg.norm(way)) / metre
        if length < _LEAST_WAY and not (self._before is None and self._entered):
            return total + 1.0
        if self._before is not None:
            if rest.paused:  # one way, with a pause in it
                path = self._before.way + rest.way
                length = float(np.linalg.norm(end - path[0].place)) / metre
            total += more.short * ramp(length, 0.09, 0.04)
            total += more.slow * ramp(max(speeds(path, span=0.06)), 0.6, 0.2)
        if rest.after_stroke and not rest.paused:
            assert self._before is not None  # what may have been no stroke makes none doubtful
            total += more.onward * self._before.quality * ramp(length, 0.17, 0.13)
        aim = rest.arrived.tip - rest.arrived.knuckle
        size = float(np.linalg.norm(way) * np.linalg.norm(aim))
        if size > 1e-12:
            read = 1 - unread  # where a short finger leads is not read either
            total += more.retreat * read * ramp(float(way @ aim) / size, -0.2, -0.7)
        if rest.swings:
            total += more.beat * (0.5 + 0.5 * rest.swings)
        if rest.back:
            total += more.home if rest.after_stroke else more.beat
        if min(one.motion.confidence for one in rest.way) < 0.3:
            total += more.lost_background
        if rest.paused:
            total -= more.paused * ramp(length, 0.05, 0.09)
        return max(more.base, total)

    def _path(self, rest: _Rest) -> list[Sample]:
        """The way to a rest, without the brief stop that parts it."""
        before = self._before
        if before is None or before.state != "open" or len(before.way) < 2 or rest.paused:
            return rest.way
        if before.samples[-1].time - before.arrived.time > self._settings.pause:
            return rest.way
        there = before.arrived.place - before.way[0].place
        onward = middle(rest.samples) - before.arrived.place
        gone, went = float(np.linalg.norm(there)), float(np.linalg.norm(onward))
        turned = went >= 0.2 * gone and float(there @ onward) <= -0.3 * gone * went
        return rest.way if turned else before.way + rest.way

    def _points(self, rest: _Rest) -> float:
        """How much the hand points, 0...1: as it rests, or as it came.

        A curled finger is seldom read as a pointing one, but a pointing one often as curled: far
        out it leads away from the eye, short, and the hand hides the others. On its way it was seen
        more from the side, and a hand keeps its pose.
        """
        here = float(np.quantile([one.pose for one in rest.samples], 0.75))
        way = rest.way if self._before is None else [*self._before.samples, *rest.way[1:]]
        came = [
            one.pose for one in way if rest.arrived.time - one.time <= self._settings.reading.kept
        ]
        if len(came) < _LEAST_SIGHTS:
            return here
        return max(here, _unread(rest) * float(np.quantile(came, 0.6)))

    def _arrival(self, rest: _Rest, need: Seconds) -> Arrival:
        onset = _onset(rest.way)
        first = approach_end(rest.samples, rest.way, onset, self._settings.settling)
        apex = rest.samples[first]
        fingers = [one.finger for one in rest.samples[first:]]
        finger = max(sorted(set(fingers)), key=fingers.count)
        held = [one for one in rest.samples[first:] if one.finger == finger]
        return Arrival(
            onset=min(onset, apex.time),
            apex=apex.time,
            tip=in_frame(np.median([one.tip for one in held], axis=0), apex),
            knuckle=in_frame(np.median([one.knuckle for one in held], axis=0), apex),
            sample=apex,
            quality=ramp(need, self._settings.patience + 0.1, self._settings.need.base),
        )


def _unread(rest: _Rest) -> float:
    """How little the pose of a resting hand can be read, 0...1."""
    return float(np.median([one.unread * (1 - one.entering) for one in rest.samples]))


def _curled(rest: _Rest) -> float:
    """How likely a resting hand is read as a fist, 0...1.

    From the side the hand hides where its index finger begins, and is read as a fist.
    """
    return float(np.median([one.curled for one in rest.samples]))


def _held_until(samples: list[Sample]) -> Seconds:
    """When a hand that has left its hold began to leave it."""
    last = samples[-1].time
    steady = [one for one in samples if 0.15 <= last - one.time <= 0.5] or samples[:1]
    centre, metre = middle(steady), typical_metre(samples)
    offs = [float(np.linalg.norm(one.place - centre)) / metre for one in samples]
    noise = float(np.median([float(np.linalg.norm(one.place - centre)) for one in steady]))
    near = max(0.004, 2.5 * noise / metre)
    end = len(samples) - 1
    while end > 0 and offs[end] > near:
        end -= 1
    return samples[end].time


def _onset(way: list[Sample]) -> Seconds:
    """When the last quick part of a way began."""
    if len(way) < 3:
        return way[0].time
    fast = speeds(way, span=0.06)
    peak = int(np.argmax(fast))
    start = peak
    while start > 0 and fast[start] > 0.2 * fast[peak]:
        start -= 1
    return way[start].time
