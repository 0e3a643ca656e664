"""Which hand of this frame is which hand of the frames before.

Lengths here are in frame heights, so that they mean the same in wide and in tall pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streaming.events import Point, Seconds, Side

PALM = (0, 5, 9, 13, 17)
"""Wrist and knuckles: the part of the hand that fingers do not move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackSettings:
    """When a hand counts as the one seen before.

    Attributes:
        reach: Largest jump between prediction and sight, in palm lengths.
        memory: A hand not seen for longer than this has left, seconds; in slow streams, a hand
            not seen in the picture before.
        size_ratio: Largest change of palm size between two sights of one hand.
        side_memory: Sights over which the side is averaged.
        swap_score: Average side score against the track's side at which it is another hand.
    """

    reach: float = 1.6
    memory: Seconds = 0.25
    size_ratio: float = 2.0
    side_memory: float = 12.0
    swap_score: float = 0.75

    def __post_init__(self) -> None:
        if self.reach <= 0 or self.memory <= 0 or self.size_ratio < 1:
            raise ValueError(
                f"reach {self.reach}, memory {self.memory} must be positive and size_ratio "
                f"{self.size_ratio} at least 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a hand of one frame is called."""

    track: int
    side: Side


@dataclass(slots=True, eq=False)
class _Track:
    number: int
    place: Point
    size: float
    time: Seconds
    velocity: Point
    rightness: float
    """Running mean of the signed side score: 1 surely right, -1 surely left."""
    side: Side

    def predicted(self, time: Seconds) -> Point:
        ahead = time - self.time
        return (
            self.place[0] + self.velocity[0] * ahead,
            self.place[1] + self.velocity[1] * ahead,
        )


Sight = tuple[Sequence[Point], Side, float]
"""Landmarks (fractions of the frame), side and how sure the side is, 0.5...1."""


class HandTracks:
    """Keeps the identity of hands by position, velocity, size and side."""

    def __init__(self, settings: TrackSettings) -> None:
        self._settings = settings
        self._tracks: list[_Track] = []
        self._next = 0
        self._before: Seconds | None = None

    def assign(self, sights: Sequence[Sight], *, time: Seconds, aspect: float) -> list[Name]:
        """Name the hands of the frame at ``time``, in the order given.

        Pairs are made from the nearest on; a hand without a near enough track gets a new one.
        """
        interval = time - self._before if self._before is not None else 0.0
        self._before = time
        # A slow stream must not lose every hand between two pictures.
        memory = max(self._settings.memory, 1.5 * interval)
        self._tracks = [track for track in self._tracks if time - track.time <= memory]
        places = [_place(landmarks, aspect) for landmarks, _, _ in sights]
        sizes = [_size(landmarks, aspect) for landmarks, _, _ in sights]
        pairs = sorted(
            (gap, index, number)
            for index, (place, size) in enumerate(zip(places, sizes, strict=True))
            for number, track in enumerate(self._tracks)
            if (gap := self._gap(track, place, size, sights[index], time)) is not None
        )
        taken: dict[int, _Track] = {}
        for _, index, number in pairs:
            track = self._tracks[number]
            if index not in taken and track not in taken.values():
                taken[index] = track
        names = []
        for index, (_, side, score) in enumerate(sights):
            track = taken.get(index) or self._begin(side)
            self._update(track, places[index], sizes[index], side, score, time)
            names.append(Name(track=track.number, side=track.side))
        return names

    def _gap(
        self, track: _Track, place: Point, size: float, sight: Sight, time: Seconds
    ) -> float | None:
        """Distance in palm lengths, or None when it can't be the same hand."""
        settings = self._settings
        if not 1 / settings.size_ratio <= size / track.size <= settings.size_ratio:
            return None
        gap = min(math.dist(track.predicted(time), place), math.dist(track.place, place))
        gap /= max(size, track.size)
        _, side, score = sight
        if gap > settings.reach:
            return None
        against = side != track.side and score > settings.swap_score
        return gap + (settings.reach / 4 if against else 0.0)

    def _begin(self, side: Side) -> _Track:
        track = _Track(
            number=self._next,
            place=(0.0, 0.0),
            size=1.0,
            time=-math.inf,
            velocity=(0.0, 0.0),
            rightness=0.0,
            side=side,
        )
        self._next += 1
        self._tracks.append(track)
        return track

    def _update(
        self, track: _Track, place: Point, size: float, side: Side, score: float, time: Seconds
    ) -> None:
        ahead = time - track.time
        track.velocity = (
            ((place[0] - track.place[0]) / ahead, (place[1] - track.place[1]) / ahead)
            if math.isfinite(ahead) and ahead > 0
            else (0.0, 0.0)
        )
        signed = (2 * score - 1) * (1 if side == "right" else -1)
        track.rightness += (signed - track.rightness) / self._settings.side_memory
        if track.rightness * (1 if track.side == "right" else -1) < -0.1:
            track.side = side
        track.place, track.size, track.time = place, size, time


def _place(landmarks: Sequence[Point], aspect: float) -> Point:
    """Centre of the palm, in frame heights."""
    return (
        sum(landmarks[i][0] for i in PALM) / len(PALM) * aspect,
        sum(landmarks[i][1] for i in PALM) / len(PALM),
    )


def _size(landmarks: Sequence[Point], aspect: float) -> float:
    """Size of the hand in frame heights: wrist to middle knuckle, or the palm's breadth."""
    at = [(x * aspect, y) for x, y in landmarks]
    return max(math.dist(at[0], at[9]), math.dist(at[5], at[17]), 1e-6)
