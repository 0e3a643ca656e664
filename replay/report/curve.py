"""The fingertip's speed over the background, and where points of one frame lie in another.

Speeds are in frame heights per second, in the stabilised view of :class:`CameraMotion`, so that a
turning head moves nothing. Where a frame has no camera motion the picture itself is taken as still.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from replay.trace_reader import Recorded
from streaming.events import CameraMotion, HandsSeen, Point, Seconds, Side
from streaming.geometry import apply, invert

LONGEST_STEP: Seconds = 0.25
"""Two sightings further apart than this make no speed: the curve breaks."""
SMOOTHED_OVER = 3
SAME_FRAME_WITHIN: Seconds = 0.06

Curve: TypeAlias = list[tuple[Seconds, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedCurve:
    """Speed of one hand's index fingertip over an unbroken stretch, ``(time, speed)`` pairs."""

    side: Side
    points: Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    time: Seconds
    tip: Point
    aspect: float


@dataclass(slots=True)
class FingerPaths:
    """Takes in the per-frame events of a trace and keeps what the report draws of them."""

    _sights: dict[tuple[int, Side], list[_Sight]] = field(default_factory=dict)
    _motions: dict[Seconds, CameraMotion] = field(default_factory=dict)
    _times: list[Seconds] = field(default_factory=list)
    frames: int = 0
    frames_with_hand: int = 0

    def take(self, item: Recorded) -> None:
        """Take one :class:`HandsSeen` or :class:`CameraMotion`."""
        match item.event:
            case HandsSeen(time=time, hands=hands, aspect=aspect):
                self.frames += 1
                self.frames_with_hand += bool(hands)
                for hand in hands:
                    if len(hand.landmarks) > 8 and _is_finite(hand.tip):
                        sight = _Sight(time=time, tip=hand.tip, aspect=aspect)
                        self._sights.setdefault((hand.track, hand.side), []).append(sight)
            case CameraMotion(time=time):
                self._motions[round(time, 4)] = item.event
            case _:
                pass

    def curves(self) -> list[SpeedCurve]:
        """The speed of every hand, in stretches without a break, in order of time."""
        found = []
        for (_, side), sights in self._sights.items():
            found += [
                SpeedCurve(side=side, points=smooth(points))
                for points in self._stretches(sights)
                if len(points) > 1
            ]
        return sorted(found, key=lambda curve: curve.points[0][0])

    def _stretches(self, sights: Sequence[_Sight]) -> list[Curve]:
        stretches: list[Curve] = [[]]
        for before, after in itertools.pairwise(sights):
            speed = self._speed(before, after)
            if speed is None:
                stretches.append([])
            else:
                stretches[-1].append((after.time, speed))
        return stretches

    def _speed(self, before: _Sight, after: _Sight) -> float | None:
        step = after.time - before.time
        first, second = self._motion(before.time), self._motion(after.time)
        if not 0.0 < step <= LONGEST_STEP or first.anchor != second.anchor:
            return None
        try:
            start, goal = apply(first.to_stable, before.tip), apply(second.to_stable, after.tip)
        except ValueError:
            return None
        moved = math.hypot((goal[0] - start[0]) * after.aspect, goal[1] - start[1])
        return moved / step if math.isfinite(moved) else None

    def _motion(self, time: Seconds) -> CameraMotion:
        return self._motions.get(round(time, 4), CameraMotion(time=time, anchor=-1))

    def carry(self, point: Point, *, start: Seconds, goal: Seconds) -> Point | None:
        """Where the background under ``point`` of the frame at ``start`` lies at ``goal``.

        None when the camera's motion between the two is not known.
        """
        first, second = self._nearest_motion(start), self._nearest_motion(goal)
        if first is None or second is None or first.anchor != second.anchor:
            return None
        try:
            carried = apply(invert(second.to_stable), apply(first.to_stable, point))
        except ValueError:
            return None
        return carried if _is_finite(carried) else None

    def _nearest_motion(self, time: Seconds) -> CameraMotion | None:
        if len(self._times) != len(self._motions):
            self._times = sorted(self._motions)
        place = bisect_left(self._times, time)
        near = self._times[max(0, place - 1) : place + 1]
        best = min(near, key=lambda other: abs(other - time), default=None)
        if best is None or abs(best - time) > SAME_FRAME_WITHIN:
            return None
        return self._motions[best]


def _is_finite(point: Point) -> bool:
    return math.isfinite(point[0]) and math.isfinite(point[1])


def smooth(points: Curve) -> Curve:
    """A running mean over :data:`SMOOTHED_OVER` neighbours, for the eye."""
    half = SMOOTHED_OVER // 2
    values = [value for _, value in points]
    smoothed = []
    for index, (time, _) in enumerate(points):
        near = values[max(0, index - half) : index + half + 1]
        smoothed.append((time, sum(near) / len(near)))
    return smoothed


def thin(points: Curve, *, most: int) -> Curve:
    """At most ``most`` of the points, peaks and valleys among them.

    Each of ``most / 2`` stretches of equal length keeps its lowest and its highest point.
    """
    if len(points) <= most or most < 2:
        return points if most >= 2 else points[:most]
    parts = most // 2
    kept: Curve = []
    for part in range(parts):
        some = points[part * len(points) // parts : (part + 1) * len(points) // parts]
        ends = {min(some, key=lambda p: p[1]), max(some, key=lambda p: p[1])}
        kept += sorted(ends)
    return kept


def thin_all(
    curves: Sequence[SpeedCurve], *, most: int, windows: Sequence[tuple[Seconds, Seconds]]
) -> list[SpeedCurve]:
    """At most about ``most`` points over all curves; those inside ``windows`` go last."""
    total = sum(len(curve.points) for curve in curves)
    if total <= most:
        return list(curves)
    marked = _Windows(windows)
    inside = sum(marked.hold(time) for curve in curves for time, _ in curve.points)
    inner = min(1.0, 0.75 * most / inside) if inside else 1.0
    outer = max(0.0, most - inside * inner) / max(1, total - inside)
    thinned = []
    for curve in curves:
        points: Curve = []
        for near, run in _runs(curve.points, marked):
            share = inner if near else outer
            points += thin(run, most=max(2, int(len(run) * share)))
        thinned.append(SpeedCurve(side=curve.side, points=points))
    return thinned


def _runs(points: Curve, windows: _Windows) -> list[tuple[bool, Curve]]:
    runs: list[tuple[bool, Curve]] = []
    for point in points:
        near = windows.hold(point[0])
        if not runs or runs[-1][0] != near:
            runs.append((near, []))
        runs[-1][1].append(point)
    return runs


class _Windows:
    """Stretches of time, merged, that can be asked whether they hold a moment."""

    def __init__(self, windows: Sequence[tuple[Seconds, Seconds]]) -> None:
        self._starts: list[Seconds] = []
        self._ends: list[Seconds] = []
        for start, end in sorted(windows):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def hold(self, time: Seconds) -> bool:
        place = bisect_left(self._ends, time)
        return place < len(self._ends) and self._starts[place] <= time
