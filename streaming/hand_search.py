"""Finding hands and following them, with a bounded number of model runs.

Two small models share the work: one proposes palms in a square of the picture, the other reads a
hand in a square around it. A known hand costs one run a picture, in the square that its landmarks
of the picture before span. The rest goes into looking for further hands: in the neighbourhood of a
hand just lost, where something moves, then in a fixed plan of overlapping squares, since a small
hand in a wide picture is lost on the palm detector unless it is enlarged.

The budget counts model runs per second of *media* time, never seconds of the machine, so what is
found does not depend on the machine. One run costs about the same with either model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streaming.hand_geometry import (
    HAND_INPUT,
    PALM_INPUT,
    FoundHand,
    HandReading,
    Palm,
    Square,
    cut,
    hand_points,
    palms_of,
    square_around,
    world_points,
)
from streaming.hand_plan import (
    Grey,
    Image,
    is_flat,
    moving_square,
    small_grey,
    square_pixels,
    tiles,
)
from streaming.hand_sight import Sight, apart, found_hand, is_plausible, logit, weigh, within

_OTHER_SIZE = 1.6
"""A palm in a known hand whose square differs by more is another reading of its size."""
_AGAIN = 7.5
"""Side of the square in which the palm of a hand is looked for again, in palm lengths."""
_PRESENCE_RATE = 0.1
"""Weight of the newest presence in a hand's running mean."""


class HandModels(Protocol):
    """The two models, each on one picture of its input size, values 0...1."""

    def palms(
        self, picture: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Scores before the sigmoid, shape ``(2016,)``, and boxes, shape ``(2016, 18)``."""
        ...

    def hand(self, picture: NDArray[np.float32]) -> HandReading:
        """The one hand that the square was cut around."""
        ...

    def close(self) -> None:
        """Free the models."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How much to look, and what to believe.

    Attributes:
        hands: Most hands to follow.
        palm_score: Least score of a palm worth reading.
        first_evidence: Least evidence for a new hand in the first picture, in nats (see
            :func:`streaming.hand_sight.evidence`).
        evidence: The same in later pictures: with many looks a second, chance has many tries.
        standing: Evidence below which a followed hand is dropped.
        least_presence: Least presence of a new hand, in the better of its two readings.
        kept_presence: Least presence of a hand that is followed.
        first_runs: Model runs in the first picture.
        second_runs: Model runs left in a picture once a hand has been found in it.
        runs_alone: Model runs per second while no hand is known.
        runs_second: The same while one is known.
        most_runs: Most search runs in any later picture.
        lost_for: A lost hand's neighbourhood is looked at first for this long, seconds.
        check_every: A followed hand is looked at again by the palm detector this often, seconds.
        near_evidence: More evidence that a hand needs beside a known one (it may be its arm), and
            less where one was lost a moment ago.
        same_hand: Two readings whose points lie closer than this, in palm lengths, are one hand.
    """

    hands: int = 2
    palm_score: float = 0.25
    first_evidence: float = 0.8
    evidence: float = 2.0
    standing: float = 0.8
    least_presence: float = 0.5
    kept_presence: float = 0.4
    first_runs: int = 20
    second_runs: int = 6
    runs_alone: float = 60.0
    runs_second: float = 10.0
    most_runs: int = 8
    lost_for: float = 0.5
    check_every: float = 0.5
    near_evidence: float = 1.5
    same_hand: float = 0.5

    def __post_init__(self) -> None:
        if self.hands < 1:
            raise ValueError(f"hands {self.hands}, expected at least 1")
        for name in ("palm_score", "least_presence", "kept_presence"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise ValueError(f"{name} {value} is outside 0...1")


@dataclass(slots=True, eq=False)
class _Followed:
    """A hand that is followed, and what speaks for it so far.

    ``palm`` and ``presence`` are running means of log odds: one picture proves little.
    """

    sight: Sight
    palm: float
    presence: float
    checked: float
    challenged: float = -math.inf

    def evidence(self, height: int) -> float:
        """What speaks for it in a picture of this height, nats."""
        return weigh(self.palm, self.presence, self.sight.size / height)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lost:
    square: Square
    at: float


class HandSearch:
    """A :class:`streaming.hands.HandDetector` on two bare models, with its own tracking."""

    def __init__(self, models: HandModels, settings: SearchSettings | None = None) -> None:
        self._models = models
        self._settings = settings or SearchSettings()
        self._followed: list[_Followed] = []
        self._lost: list[_Lost] = []
        self._credit = 0.0
        self._runs = 0
        self._last: int | None = None
        self._first = True
        self._next_tile = 0
        self._small: Grey | None = None

    @property
    def runs(self) -> int:
        """Model runs so far."""
        return self._runs

    def detect(self, image: Image, *, milliseconds: int, aspect: float) -> Sequence[FoundHand]:
        image = square_pixels(image, aspect)
        now = milliseconds / 1000
        self._follow(image, now)
        self._earn(milliseconds)
        self._search(image, now)
        height, width = image.shape[:2]
        return [found_hand(hand.sight, width, height) for hand in self._followed]

    def close(self) -> None:
        self._models.close()

    # --- following ---------------------------------------------------------------------------

    def _follow(self, image: Image, now: float) -> None:
        """Read each known hand again where it was; forget what is no hand any more."""
        before, self._followed = self._followed, []
        for hand in before:
            sight = self._read(image, hand.sight.square)
            if sight.reading.presence < self._settings.kept_presence or not is_plausible(sight):
                if hand.evidence(image.shape[0]) >= self._settings.evidence:
                    self._lost.append(_Lost(square=hand.sight.square, at=now))
                continue
            if self._known(sight):
                continue
            hand.sight = sight
            hand.presence += (logit(sight.reading.presence) - hand.presence) * _PRESENCE_RATE
            if now - hand.checked < self._settings.check_every or self._stands(image, hand, now):
                self._followed.append(hand)
        self._lost = [lost for lost in self._lost if now - lost.at <= self._settings.lost_for]

    def _stands(self, image: Image, hand: _Followed, now: float) -> bool:
        """Whether a hand that has been followed for a while still stands before the evidence."""
        hand.checked = now
        hand.palm += (logit(self._palm_again(image, hand.sight)) - hand.palm) / 2
        return hand.evidence(image.shape[0]) >= self._settings.standing

    def _palm_again(self, image: Image, sight: Sight) -> float:
        """The palm detector's score for a hand in a square of its own around it."""
        (x, y), size = sight.palm, sight.size
        where = Square(x=x, y=y, side=_AGAIN * size)
        self._runs += 1
        logits, boxes = self._models.palms(cut(image, where, PALM_INPUT))
        palms = palms_of(logits, boxes, where, least=0.02)
        near = [palm.score for palm in palms if math.dist((palm.x, palm.y), (x, y)) < size]
        return max(near, default=0.0)

    def _read(self, image: Image, square: Square) -> Sight:
        self._runs += 1
        reading = self._models.hand(cut(image, square, HAND_INPUT))
        points = hand_points(reading, square)
        return Sight(
            reading=reading,
            points=points,
            world=world_points(reading, square),
            square=square_around(points),
        )

    def _known(self, sight: Sight) -> bool:
        limit = self._settings.same_hand
        return any(apart(sight, hand.sight) < limit for hand in self._followed)

    # --- searching ---------------------------------------------------------------------------

    def _earn(self, milliseconds: int) -> None:
        """Add the model runs that the media time since the last picture allows."""
        settings = self._settings
        self._first = self._last is None
        if self._last is None:
            self._credit = float(settings.first_runs)
        else:
            rate = settings.runs_second if self._followed else settings.runs_alone
            earned = rate * (milliseconds - self._last) / 1000
            self._credit = min(self._credit + earned, float(settings.most_runs))
        self._last = milliseconds

    def _search(self, image: Image, now: float) -> None:
        """Spend the credit on squares of the picture, best guess first."""
        small = small_grey(image)
        guesses = self._guesses(image, small, self._small)
        self._small = small
        while self._credit >= 1 and len(self._followed) < self._settings.hands:
            square = next(guesses, None)
            if square is None:
                return
            self._look(image, square, now)

    def _guesses(self, image: Image, small: Grey, before: Grey | None) -> Iterator[Square]:
        """Squares to look at: near lost hands, where it moves, then on in the plan."""
        height, width = image.shape[:2]
        for lost in tuple(self._lost):
            yield Square(x=lost.square.x, y=lost.square.y, side=2.5 * lost.square.side)
        known = [hand.sight.square for hand in self._followed]
        moving = moving_square(small, before, known, height)
        if moving is not None:
            yield moving
        plan = tiles(width, height)
        for _ in range(len(plan)):
            square = plan[self._next_tile % len(plan)]
            self._next_tile += 1
            if not is_flat(small, square, height):
                yield square

    def _look(self, image: Image, square: Square, now: float) -> None:
        """Run the palm detector on one square and read the palms that are new."""
        self._credit -= 1
        self._runs += 1
        logits, boxes = self._models.palms(cut(image, square, PALM_INPUT))
        for palm in palms_of(logits, boxes, square, least=self._settings.palm_score):
            if len(self._followed) >= self._settings.hands or self._credit <= -3:
                return
            holder = self._holder(palm)
            if holder is None:
                self._try(image, palm, now)
            elif not 1 / _OTHER_SIZE < palm.square.side / holder.sight.square.side < _OTHER_SIZE:
                self._challenge(image, palm, holder, now)

    def _holder(self, palm: Palm) -> _Followed | None:
        """The known hand in which a palm lies, if any."""
        for hand in self._followed:
            sight, place = hand.sight, (palm.x, palm.y)
            if (
                math.dist(place, sight.palm) < sight.size
                or math.dist(place, (sight.square.x, sight.square.y)) < sight.square.side / 4
            ):
                return hand
        return None

    def _challenge(self, image: Image, palm: Palm, holder: _Followed, now: float) -> None:
        """Take another size of a known hand when the model is surer of it.

        A part of a hand that fills the picture can pass for a small hand.
        """
        if now - holder.challenged < self._settings.check_every:
            return
        holder.challenged = now
        self._credit -= 1
        first = self._read(image, palm.square)
        if not is_plausible(first):
            return
        self._credit -= 1
        sight = self._read(image, first.square)
        if is_plausible(sight) and logit(sight.reading.presence) > holder.presence + 0.5:
            holder.sight = sight
            holder.presence = logit(sight.reading.presence)

    def _try(self, image: Image, palm: Palm, now: float) -> None:
        """Read a proposed palm twice: a hand stays a hand when looked at along its own axis."""
        self._credit -= 1
        first = self._read(image, palm.square)
        if first.reading.presence < 0.1 or not is_plausible(first):
            return
        self._credit -= 1
        sight = self._read(image, first.square)
        best = max(first.reading.presence, sight.reading.presence)
        if sight.reading.presence < best - 0.3:  # the second square missed what the first one met
            sight = first
        if best < self._settings.least_presence or not is_plausible(sight) or self._known(sight):
            return
        score = logit(palm.score)
        presence = logit(best)
        size = sight.size / image.shape[0]
        needed = self._needed(sight)
        if weigh(score, presence, size) < needed:
            return
        if not self._was_lost(sight):
            self._credit -= 1
            score = (score + logit(self._palm_again(image, sight))) / 2
            if weigh(score, presence, size) < needed:
                return
        self._followed.append(_Followed(sight=sight, palm=score, presence=presence, checked=now))
        self._credit = min(self._credit, float(self._settings.second_runs))
        self._lost = [lost for lost in self._lost if not within(sight, lost.square)]

    def _needed(self, sight: Sight) -> float:
        """Evidence that a new hand needs at this place."""
        settings = self._settings
        base = settings.first_evidence if self._first else settings.evidence
        if self._was_lost(sight):
            return base - settings.near_evidence
        beside = any(
            math.dist(sight.palm, hand.sight.palm) < 2 * max(sight.size, hand.sight.size)
            for hand in self._followed
        )
        return base + (settings.near_evidence if beside else 0.0)

    def _was_lost(self, sight: Sight) -> bool:
        """Whether a hand was lost about here a moment ago."""
        return any(within(sight, lost.square) for lost in self._lost)
