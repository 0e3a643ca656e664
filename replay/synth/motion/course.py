"""Builds an arm's movement piece by piece, in order of time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from replay.synth.motion.arm_motion import Bend, Turn
from replay.synth.motion.clearance import FOREARM, Clearance
from replay.synth.motion.curves import Steps, minimum_jerk, steps, turn_between, xyz
from replay.synth.motion.placement import PointingArm
from replay.synth.motion.settings import motion_settings
from replay.synth.motion.timing import travel_time
from replay.synth.world import Floats
from streaming.events import Seconds

_HIGHEST_ARCH = 0.12
"""Metres; higher only over obstacles."""
_MOST_LIFT = 0.25
"""Metres that obstacles can add to an arch, and metres a second of the reach's time."""
_FASTEST_LIFT = 0.3
_SAMPLES = 24
_OPENING = 9
_LIFTS = 6
_FOREARM_SHARES = np.linspace(0.1, 0.8, 4)[:, None]

Moves = list[tuple[Seconds, Seconds, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one reach is put together.

    Attributes:
        approach: Share of its time at which the final approach begins.
        first: Share of its time at which the first part ends; the two overlap.
        correction: Share of the final approach that is left to a correction at its end.
        arch: Height of a free path's arch as a share of its length.
    """

    approach: float = 0.33
    first: float = 0.7
    correction: float = 0.0
    arch: float = 0.14


def draw_style(rng: np.random.Generator, *, correction: float) -> Style:
    """One reach of many; ``correction`` is the chance that it ends with one."""
    corrects = rng.random() < correction
    return Style(
        approach=float(rng.uniform(0.2, 0.42)),
        first=float(rng.uniform(0.6, 0.82)),
        correction=float(rng.uniform(0.04, 0.12)) if corrects else 0.0,
        arch=float(rng.uniform(0.06, 0.2)),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Key:
    """A place and a pose that the arm passes through at rest.

    Attributes:
        position: Of the wrist, shape ``(3,)``.
        rotation: Of the wrist, shape ``(3, 3)``.
        elbow: From the wrist to the elbow, shape ``(3,)``.
        shoulder: In the world, shape ``(3,)``.
        upper_arm: From the elbow to the shoulder, metres.
        fingers: Joint angles.
        marks: Landmarks in the wrist's own axes, shape ``(21, 3)``.
        away: Whether the arm is out of the scene there.
    """

    position: Floats
    rotation: Floats
    elbow: Floats
    shoulder: Floats
    upper_arm: float
    fingers: Any
    marks: Floats
    away: bool = False

    @property
    def tip(self) -> Floats:
        """The index fingertip in the world, shape ``(3,)``."""
        return np.asarray(self.rotation @ self.marks[8] + self.position, np.float64)

    def moved(self, shift: Floats) -> Key:
        """The same elsewhere."""
        return replace(self, position=self.position + shift)


def key_of(pose: Any, arm: PointingArm, *, away: bool = False) -> Key:
    """The arm's ``pose`` as a key."""
    shoulder = 2.0 * pose.elbow - pose.wrist.position if pose.shoulder is None else pose.shoulder
    return Key(
        position=pose.wrist.position,
        rotation=pose.wrist.rotation,
        elbow=pose.elbow - pose.wrist.position,
        shoulder=shoulder,
        upper_arm=float(np.linalg.norm(shoulder - pose.elbow)),
        fingers=pose.fingers,
        marks=pose.wrist.to_own(arm.landmarks(pose)),
        away=away,
    )


def reach_time(first: Key, second: Key) -> Seconds:
    """How long the way from one key to another takes takes at ordinary tempo, for wrist or tip."""
    wrist = float(np.linalg.norm(second.position - first.position))
    return travel_time(max(wrist, float(np.linalg.norm(second.tip - first.tip))))


class Course:
    """The movement so far. ``now`` is until when it is planned, ``key`` where the arm is then.

    Args:
        start: Where the arm is at first.
        clearance: What it keeps out of.
        marks: Gives the landmarks of a hand with such fingers, in the wrist's own axes.
    """

    def __init__(self, start: Key, clearance: Clearance, marks: Callable[[Any], Floats]) -> None:
        self._marks = marks
        self._origin = start.position
        self._clearance = clearance
        self._moves: Moves = []
        self.turns = [_still(start)]
        self.bends = [Bend(start=-1.0, end=-0.5, before=start.fingers, after=start.fingers)]
        self.unrest: list[tuple[Seconds, float]] = [(0.0, 1.0)]
        self.absences: list[tuple[Seconds, Seconds]] = []
        self._gone: Seconds | None = -math.inf if start.away else None
        self.now: Seconds = 0.0
        self.key = start

    def wait(self, until: Seconds) -> None:
        """Stay until then."""
        self.now = max(self.now, until)

    def reach(
        self,
        key: Key,
        end: Seconds,
        *,
        approach: Floats | None = None,
        style: Style | None = None,
        early_fingers: bool = False,
    ) -> Seconds:
        """Go to ``key``, from now to ``end``.

        Args:
            key: Where to.
            end: When it is there.
            approach: Direction of the final approach, unit; None: none in particular.
            style: How it is put together; None: in the middling way.
            early_fingers: The fingers are ready long before the hand.

        Returns:
            When the final approach begins.
        """
        style = style or Style()
        start, span = self.now, end - self.now
        if span <= 0:
            raise ValueError(f"a reach from {start:.3f} to {end:.3f} s: expected a later end")
        if self._gone is not None:
            self.absences.append((self._gone, start))
            self._gone = None
        turn = Turn(
            start=start + 0.06 * span,
            end=start + 0.88 * span,
            rotation=self.key.rotation,
            vector=turn_between(self.key.rotation, key.rotation),
            elbows=np.array([self.key.elbow, key.elbow]),
            shoulders=np.array([self.key.shoulder, key.shoulder]),
            upper_arm=key.upper_arm,
        )
        open_for = (0.05, 0.6) if early_fingers else (0.1, 0.8)
        bend = Bend(
            start=start + open_for[0] * span,
            end=start + open_for[1] * span,
            before=self.key.fingers,
            after=key.fingers,
        )
        self._moves += self._path(key, start, span, approach, style, turn, bend)
        self.turns.append(turn)
        self.bends.append(bend)
        self._calm(start, end)
        self.now, self.key = end, key
        if key.away:
            self._gone = end
        return start + style.approach * span

    def shift(self, by: Floats, lasting: Seconds) -> None:
        """Move the hand a little, as it is, and be there when that is over."""
        self._moves.append((self.now, lasting, by))
        self.now += lasting
        self.key = self.key.moved(by)

    def bend(self, fingers: Any, lasting: Seconds, marks: Floats) -> None:
        """Change the fingers from now on, while time does not go on."""
        self.bends.append(
            Bend(
                start=self.now,
                end=self.now + lasting,
                before=self.key.fingers,
                after=fingers,
            )
        )
        self.key = replace(self.key, fingers=fingers, marks=marks)

    def wrist(self) -> Steps:
        """The wrist's path."""
        return steps(self._origin, self._moves or [(0.0, 1.0, np.zeros(3))])

    def finish(self) -> None:
        """An arm that is out of the scene stays there."""
        if self._gone is not None:
            self.absences.append((self._gone, math.inf))

    def _calm(self, start: Seconds, end: Seconds) -> None:
        """Small movement pauses on the way, and grows again at the goal."""
        last = self.unrest[-1][0]
        self.unrest += [
            (max(start, last), 1.0),
            (max(start, last) + 0.5 * (end - max(start, last)), 0.3),
            (end, 0.0),
            (end + 0.25, 1.0),
        ]

    def _path(
        self,
        key: Key,
        start: Seconds,
        span: Seconds,
        approach: Floats | None,
        style: Style,
        turn: Turn,
        bend: Bend,
    ) -> Moves:
        """Submovements that keep clear of everything, as far as a higher arch can help."""
        ways = key.position - self.key.position
        length = float(np.linalg.norm(ways))
        if approach is None:
            corner = self.key.position + 0.5 * ways
        else:
            back = float(np.clip(0.5 * length, 0.03, 0.22))
            straight = ways / max(length, 1e-6)
            mixed = 0.55 * approach + 0.45 * straight
            corner = key.position - back * mixed / max(float(np.linalg.norm(mixed)), 0.3)
        lift = min(style.arch * length, _HIGHEST_ARCH)
        opening = self.opening(key.fingers)
        ends = np.maximum(self._lacks(self.key), self._lacks(key))
        most = lift + min(_MOST_LIFT, _FASTEST_LIFT * span)
        best: tuple[float, Moves] | None = None
        for _ in range(_LIFTS):
            raised = corner + xyz(0.0, 0.0, lift)
            moves = self._submoves(raised, key.position, start, span, style)
            lack = float((self._worst(moves, opening, start, span, turn, bend) - ends).max())
            if best is None or lack < 0.9 * best[0]:
                best = lack, moves
            if lack < 0.001 or lift >= most:
                break
            lift = min(most, lift + 1.5 * lack + 0.004)
        assert best is not None
        return best[1]

    def _submoves(
        self, corner: Floats, goal: Floats, start: Seconds, span: Seconds, style: Style
    ) -> Moves:
        last = goal - corner
        begin, left = start + style.approach * span, (1.0 - style.approach) * span
        first = (start, style.first * span, corner - self.key.position)
        if style.correction == 0.0:
            return [first, (begin, left, last)]
        most = (begin, 0.85 * left, (1.0 - style.correction) * last)
        rest = (begin + 0.62 * left, 0.38 * left, style.correction * last)
        return [first, most, rest]

    def opening(self, fingers: Any) -> list[Floats]:
        """Landmarks of the hand, in the wrist's own axes, on the way from its fingers to others."""
        now = self.key.fingers
        if now is fingers:
            return [self.key.marks]
        shares = np.linspace(0.0, 1.0, _OPENING)
        return [self._marks(type(now).blend(now, fingers, float(share))) for share in shares]

    def _lacks(self, key: Key) -> Floats:
        marks = key.marks @ key.rotation.T + key.position
        bones = key.position + _FOREARM_SHARES * key.elbow
        return self._both(marks, bones)

    def _both(self, marks: Floats, bones: Floats) -> Floats:
        hand = self._clearance.lacks(marks)
        return np.maximum(hand, self._clearance.lacks(bones, FOREARM, table=-1.0))

    def _worst(
        self,
        moves: Moves,
        opening: list[Floats],
        start: Seconds,
        span: Seconds,
        turn: Turn,
        bend: Bend,
    ) -> Floats:
        path = steps(self.key.position, moves)
        marks, bones = [], []
        for share in np.linspace(0.02, 0.98, _SAMPLES):
            time = start + share * span
            place = path.at(time)
            rotation, elbow = turn.at(time)
            bent = float(minimum_jerk((time - bend.start) / (bend.end - bend.start)))
            own = opening[round(bent * (len(opening) - 1))]
            marks.append(own @ rotation.T + place)
            bones.append(place + _FOREARM_SHARES * elbow)
        return self._both(np.array(marks), np.array(bones))


def _still(key: Key) -> Turn:
    return Turn(
        start=-1.0,
        end=-0.5,
        rotation=key.rotation,
        vector=np.zeros(3),
        elbows=np.array([key.elbow, key.elbow]),
        shoulders=np.array([key.shoulder, key.shoulder]),
        upper_arm=key.upper_arm,
    )


def tempo_time(first: Key, second: Key, tempo: float) -> Seconds:
    """As :func:`reach_time`, for a quicker or slower person."""
    return max(motion_settings().travel.least, tempo * reach_time(first, second))
