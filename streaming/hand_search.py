"""Finding hands and following them, with a bounded number of model runs.

Two small models share the work: one proposes palms in a square of the picture, the other reads a
hand in a square around it. A known hand costs one run a picture, in the square that its landmarks
of the picture before span. The rest goes into looking for further hands: in the neighbourhood of a
hand just lost, where something moves, and in a fixed plan of overlapping squares, since a small
hand in a wide picture is lost on the palm detector unless it is enlarged.

The budget counts model runs per second of *media* time, never seconds of the machine, so what is
found does not depend on the machine. One run costs about the same with either model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import Side
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

Image = NDArray[np.uint8]
Points = NDArray[np.float64]

_PLAN = ((0.75, (1.0,)), (1.0, (0.5,)), (0.6, (0.7, 1.0)), (0.45, (0.9,)), (0.75, (0.0,)))
_SMALL = 64
"""Height of the small grey picture that motion and flatness are judged on."""


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
        evidence: Least evidence for a new hand, in nats (see :func:`evidence`).
        kept_presence: Least presence of a hand that is followed.
        first_runs: Model runs in the first picture.
        second_runs: Model runs left in a picture once a hand has been found in it.
        runs_alone: Model runs per second while no hand is known.
        runs_second: The same while one is known.
        most_runs: Most search runs in any later picture.
        lost_for: A lost hand's neighbourhood is looked at first for this long, seconds.
        same_hand: Two readings whose points lie closer than this, in hand lengths, are one hand.
    """

    hands: int = 2
    palm_score: float = 0.25
    evidence: float = 1.0
    kept_presence: float = 0.4
    first_runs: int = 20
    second_runs: int = 6
    runs_alone: float = 60.0
    runs_second: float = 10.0
    most_runs: int = 8
    lost_for: float = 0.5
    same_hand: float = 0.5

    def __post_init__(self) -> None:
        if self.hands < 1:
            raise ValueError(f"hands {self.hands}, expected at least 1")
        for name in ("palm_score", "kept_presence"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise ValueError(f"{name} {value} is outside 0...1")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Followed:
    """A hand and where to look for it next."""

    reading: HandReading
    points: Points
    world: Points
    square: Square


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
        self._next_tile = 0
        self._small: NDArray[np.float32] | None = None

    @property
    def runs(self) -> int:
        """Model runs so far."""
        return self._runs

    def detect(self, image: Image, *, milliseconds: int, aspect: float) -> Sequence[FoundHand]:
        image = _square_pixels(image, aspect)
        now = milliseconds / 1000
        self._follow(image, now)
        self._earn(milliseconds)
        self._search(image, now)
        height, width = image.shape[:2]
        return [_found(hand, width, height) for hand in self._followed]

    def close(self) -> None:
        self._models.close()

    # --- following ---------------------------------------------------------------------------

    def _follow(self, image: Image, now: float) -> None:
        """Read each known hand again where it was; forget what is no hand any more."""
        kept: list[_Followed] = []
        for hand in self._followed:
            again = self._read(image, hand.square)
            if again.reading.presence < self._settings.kept_presence or not _plausible(again):
                self._lost.append(_Lost(square=hand.square, at=now))
            elif not self._known(again.points, kept):
                kept.append(again)
        self._followed = kept
        self._lost = [lost for lost in self._lost if now - lost.at <= self._settings.lost_for]

    def _read(self, image: Image, square: Square) -> _Followed:
        self._runs += 1
        reading = self._models.hand(cut(image, square, HAND_INPUT))
        points = hand_points(reading, square)
        return _Followed(
            reading=reading,
            points=points,
            world=world_points(reading, square),
            square=square_around(points),
        )

    def _known(self, points: Points, hands: Sequence[_Followed]) -> bool:
        limit = self._settings.same_hand
        return any(_apart(points, hand.points) < limit for hand in hands)

    # --- searching ---------------------------------------------------------------------------

    def _earn(self, milliseconds: int) -> None:
        """Add the model runs that the media time since the last picture allows."""
        settings = self._settings
        if self._last is None:
            self._credit = float(settings.first_runs)
        else:
            rate = settings.runs_second if self._followed else settings.runs_alone
            earned = rate * (milliseconds - self._last) / 1000
            self._credit = min(self._credit + earned, float(settings.most_runs))
        self._last = milliseconds

    def _search(self, image: Image, now: float) -> None:
        """Spend the credit on squares of the picture, best guess first."""
        small = _small_grey(image)
        room = self._settings.hands - len(self._followed)
        if room > 0:
            for square in self._guesses(image, small, now):
                if self._credit < 1:
                    break
                self._look(image, square)
                if len(self._followed) >= self._settings.hands:
                    break
        self._small = small

    def _guesses(self, image: Image, small: NDArray[np.float32], now: float) -> Iterator[Square]:
        """Squares to look at: near lost hands, then the plan from where it was left."""
        height, width = image.shape[:2]
        for lost in self._lost:
            yield Square(x=lost.square.x, y=lost.square.y, side=2.5 * lost.square.side)
        plan = tiles(width, height)
        for _ in range(len(plan)):
            square = plan[self._next_tile % len(plan)]
            self._next_tile += 1
            if not _flat(small, square, height):
                yield square

    def _look(self, image: Image, square: Square) -> None:
        """Run the palm detector on one square and read the palms that are new."""
        self._credit -= 1
        self._runs += 1
        logits, boxes = self._models.palms(cut(image, square, PALM_INPUT))
        for palm in palms_of(logits, boxes, square, least=self._settings.palm_score):
            if len(self._followed) >= self._settings.hands or self._credit <= -2:
                return
            if not self._covered(palm):
                self._try(image, palm)

    def _covered(self, palm: Palm) -> bool:
        """Whether the palm lies in a hand that is known already."""
        return any(
            math.dist((palm.x, palm.y), (hand.square.x, hand.square.y)) < hand.square.side / 4
            for hand in self._followed
        )

    def _try(self, image: Image, palm: Palm) -> None:
        """Read a proposed palm twice: a hand stays a hand when looked at along its own axis."""
        self._credit -= 1
        first = self._read(image, palm.square)
        if first.reading.presence < 0.1 or not _plausible(first):
            return
        self._credit -= 1
        second = self._read(image, first.square)
        if not _plausible(second) or self._known(second.points, self._followed):
            return
        size = _palm_length(second.points) / image.shape[0]
        if evidence(palm.score, second.reading.presence, size) < self._settings.evidence:
            return
        self._followed.append(second)
        self._credit = min(self._credit, float(self._settings.second_runs))
        place = (second.square.x, second.square.y)
        self._lost = [
            lost
            for lost in self._lost
            if math.dist((lost.square.x, lost.square.y), place) > lost.square.side
        ]


def evidence(palm_score: float, presence: float, size: float) -> float:
    """How much speaks for a hand, as log odds in nats: 0 is even.

    What is small in the picture looks like a hand by chance far more often than what is large, so
    the size counts, with a floor and a ceiling. Fitted as a logistic model on half of the glasses
    photos that ``deixis measure hands`` is run on, and rounded.

    Args:
        palm_score: The palm detector's, 0...1.
        presence: The landmark model's on its second reading, 0...1.
        size: Palm length in picture heights.
    """
    large = min(0.5, max(-1.5, math.log(max(size, 1e-6) / 0.05)))
    return 0.6 * _logit(palm_score) + 0.5 * _logit(presence) + 2.5 * large


def _logit(probability: float) -> float:
    held = min(0.99, max(0.01, probability))
    return math.log(held / (1 - held))


def tiles(width: int, height: int) -> list[Square]:
    """The plan: overlapping squares that cover the picture, likely places first.

    Hands come in from below and the sides, mostly below; so rows go from the bottom up and columns
    from the middle out, large squares before small ones.
    """
    plan: list[Square] = []
    for share, rows in _PLAN:
        side = share * height
        columns = max(1, math.ceil((width - side) / (side * 0.5)) + 1)
        places = np.linspace(side / 2, width - side / 2, columns)
        middle_out = sorted(places.tolist(), key=lambda x: abs(x - width / 2))
        for row in rows:
            y = side / 2 + row * (height - side)
            plan += [Square(x=x, y=y, side=side) for x in middle_out]
    return plan


def _square_pixels(image: Image, aspect: float) -> Image:
    """The picture with square pixels: the models know no others."""
    height, width = image.shape[:2]
    wanted = round(height * aspect)
    if abs(wanted - width) <= 0.01 * width:
        return image
    return np.asarray(cv2.resize(image, (wanted, height)), dtype=np.uint8)


def _small_grey(image: Image) -> NDArray[np.float32]:
    height, width = image.shape[:2]
    size = (max(1, round(_SMALL * width / height)), _SMALL)
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small.mean(axis=2), dtype=np.float32)


def _flat(small: NDArray[np.float32], square: Square, height: int) -> bool:
    """Whether a square shows next to nothing: a black bar, a covered lens."""
    scale = _SMALL / height
    left, right = (round((square.x + end * square.side / 2) * scale) for end in (-1, 1))
    top, bottom = (round((square.y + end * square.side / 2) * scale) for end in (-1, 1))
    part = small[max(0, top) : max(1, bottom), max(0, left) : max(1, right)]
    return part.size == 0 or float(part.std()) < 2.0


def _apart(one: Points, other: Points) -> float:
    """Mean distance of two hands' points, in lengths of the larger palm."""
    size = max(_palm_length(one), _palm_length(other), 1e-6)
    return float(np.linalg.norm(one[:, :2] - other[:, :2], axis=1).mean()) / size


def _palm_length(points: Points) -> float:
    length = np.linalg.norm(points[9, :2] - points[0, :2])
    breadth = np.linalg.norm(points[5, :2] - points[17, :2])
    return float(max(length, breadth))


def _plausible(hand: _Followed) -> bool:
    """Whether the points can be a hand at all: no shrunken or exploded set."""
    size = _palm_length(hand.points)
    if not np.isfinite(hand.points).all() or size < 4:
        return False
    spread = float(np.ptp(hand.points[:, :2], axis=0).max())
    return spread < 5 * size


def _found(hand: _Followed, width: int, height: int) -> FoundHand:
    rightness = hand.reading.rightness
    side: Side = "right" if rightness >= 0.5 else "left"
    return FoundHand(
        score=hand.reading.presence,
        side=side,
        side_score=max(rightness, 1 - rightness),
        landmarks=tuple((float(x) / width, float(y) / height) for x, y, _ in hand.points),
        depths=tuple(float(z) / width for _, _, z in hand.points),
        world=tuple((float(x), float(y), float(z)) for x, y, z in hand.world),
    )
