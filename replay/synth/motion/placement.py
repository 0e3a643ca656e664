"""Whose arm points, where it comes from, and what it can point at."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from replay.synth.motion.curves import xyz
from replay.synth.motion.settings import motion_settings
from replay.synth.script import Difficulty
from replay.synth.world import Floats, Pose
from streaming.events import Side

ArmKind = Literal["wearer", "across", "left", "right"]
"""``wearer``: the wearer's own. Else the partner's, who is across the table or at its side."""

KINDS: tuple[ArmKind, ...] = ("wearer", "across", "left", "right")

EYE: Floats = np.array([0.0, -0.33, 0.5])
"""Where the camera is, when nothing else is known."""

_WIDE = 95.0
"""Field of view in degrees beyond which a partner's plain body would fill much of the picture."""
_NEARER = 0.006
"""Metres by which a partner beside sits nearer to the wearer for each degree beyond that."""
_PREFERENCE = 8.0
"""Logarithm by which a metre aside makes the nearer person likelier."""
_SHOULDER = 0.04
"""Metres by which a shoulder stays beyond the border: its flesh, less what heads turn aside."""


class Bent(Protocol):
    """Joint angles of a hand; :class:`replay.synth.hand.Fingers`."""

    @staticmethod
    def blend(a: Any, b: Any, w: float) -> Any: ...


class PosedArm(Protocol):
    """An arm in one pose; :class:`replay.synth.hand.ArmPose`, a dataclass."""

    @property
    def wrist(self) -> Pose: ...
    @property
    def fingers(self) -> Any: ...
    @property
    def elbow(self) -> Floats: ...
    @property
    def shoulder(self) -> Floats | None: ...


class PointingArm(Protocol):
    """What the movement needs of :class:`replay.synth.hand.Arm`."""

    def point(
        self, tip: Floats, towards: Floats, shoulder: Floats, roll: float, fingers: Any
    ) -> Any: ...
    def rest(
        self, wrist: Floats, towards: Floats, shoulder: Floats, roll: float, fingers: Any
    ) -> Any: ...
    def landmarks(self, pose: Any) -> Floats: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HandPoses:
    """Joint angles that one clip's hand takes.

    Attributes:
        pointing: At the target.
        relaxed: On the way and while waiting.
        resting: On the table.
        fumbling: At something that is touched, and between fidgets.
    """

    pointing: Bent
    relaxed: Bent
    resting: Bent
    fumbling: Bent


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Target:
    """What a stroke points at.

    Attributes:
        point: Where the pointing ray goes, shape ``(3,)``.
        radius: How far from there a ray still hits.
        height: Top of what stands there, metres over the table.
    """

    point: Floats
    radius: float
    height: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Obstacle:
    """An upright cylinder on the table that hands go round.

    Attributes:
        centre: Of its foot, shape ``(2,)`` or ``(3,)``; only x and y count.
        radius, height: Metres.
    """

    centre: Floats
    radius: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArmPlacement:
    """Where an arm comes from.

    Attributes:
        kind: Whose it is and from where.
        side: Which hand.
        shoulder: Shape ``(3,)``.
        rest: Wrist of the hand that rests on the table, shape ``(3,)``.
        away: Wrist of the arm that is out of the scene, shape ``(3,)``.
        lean: How far the shoulder may come forward, metres.
        reach: From the shoulder to the fingertip, metres, without strain.
    """

    kind: ArmKind
    side: Side
    shoulder: Floats
    rest: Floats
    away: Floats
    lean: float
    reach: float = 0.71

    @property
    def forward(self) -> Floats:
        """From the person over the table, level, shape ``(3,)``."""
        ahead = {"wearer": (0.0, 1.0), "across": (0.0, -1.0), "left": (1.0, 0.0)}
        return np.array([*ahead.get(self.kind, (-1.0, 0.0)), 0.0])

    def describe(self) -> dict[str, Any]:
        """For the truth."""
        return {
            "kind": self.kind,
            "side": self.side,
            "shoulder": [round(float(value), 4) for value in self.shoulder],
            "rest": [round(float(value), 4) for value in self.rest],
        }


def draw_arm(
    rng: np.random.Generator,
    difficulty: Difficulty,
    *,
    table: tuple[float, float] = (1.2, 0.7),
    fov: float | None = None,
    kinds: tuple[ArmKind, ...] = KINDS,
    eye: Floats = EYE,
    about: Floats | None = None,
) -> ArmPlacement:
    """Draw whose arm points.

    Args:
        rng: Source of every draw.
        difficulty: Its weights are used.
        table: Width and depth of the table, metres.
        fov: The camera's horizontal field of view, degrees, when known.
        kinds: Those to choose from.
        eye: Where the camera is on average (:func:`draw_eye`); the wearer's shoulders are below it.
        about: Middle of what is pointed at, shape ``(3,)``, when known: who sits nearer points more
            often.
    """
    knobs = motion_settings().of(difficulty).arm
    weights = np.array([getattr(knobs, kind) for kind in kinds], np.float64)
    if fov is not None and fov > _WIDE and len(kinds) > 1:
        weights *= np.array([kind != "across" for kind in kinds])
    if about is not None:
        sides = np.array([{"left": -1.0, "right": 1.0}.get(kind, 0.0) for kind in kinds])
        weights *= np.exp(_PREFERENCE * sides * float(about[0]))
    if weights.sum() == 0:
        weights[:] = 1.0
    kind = kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))]
    side: Side = "right" if rng.random() < 0.8 else "left"
    placement = place_arm(rng, kind, side, table=table, eye=eye)
    if fov is None or fov <= _WIDE or kind not in ("left", "right"):
        return placement
    return _out_of_view(placement, fov, eye)


def _out_of_view(placement: ArmPlacement, fov: float, eye: Floats) -> ArmPlacement:
    """A partner beside whose shoulder a wide lens does not see, even when it leans."""
    out = -float(placement.forward[0])
    _, y, z = placement.shoulder
    nearer = min(_NEARER * (fov - _WIDE), max(0.0, y - 0.02))
    y -= nearer
    # A head that looks down at the table sees this far along its view.
    depth = 0.85 * (y - float(eye[1]) + 0.1)
    border = math.tan(math.radians(fov / 2)) * depth + _SHOULDER
    x = max(abs(float(placement.shoulder[0])), border + 0.05)
    away = abs(float(placement.away[0])) + x - abs(float(placement.shoulder[0]))
    return replace(
        placement,
        shoulder=xyz(out * x, y, z),
        rest=placement.rest - xyz(0.0, nearer, 0.0),
        away=xyz(out * away, placement.away[1] - nearer, placement.away[2]),
        lean=min(placement.lean + 0.08, x - border),
    )


def draw_eye(rng: np.random.Generator) -> Floats:
    """Where the camera of a wearer who sits or stands at the table is on average."""
    return xyz(rng.uniform(-0.1, 0.1), rng.uniform(-0.4, -0.2), rng.uniform(0.4, 0.65))


def other_hand(rng: np.random.Generator, placement: ArmPlacement) -> ArmPlacement:
    """The same person's other arm, which lies on the table."""
    x, y, _ = placement.forward
    # To the person's right; that is where the right hand is.
    across = (1.0 if placement.side == "left" else -1.0) * xyz(y, -x, 0.0)
    far = float(rng.uniform(0.3, 0.4))
    return replace(
        placement,
        side="left" if placement.side == "right" else "right",
        shoulder=placement.shoulder + far * across,
        rest=placement.rest + (far + float(rng.uniform(-0.08, 0.05))) * across,
        away=placement.away + far * across,
    )


def place_arm(
    rng: np.random.Generator,
    kind: ArmKind,
    side: Side,
    *,
    table: tuple[float, float] = (1.2, 0.7),
    eye: Floats = EYE,
) -> ArmPlacement:
    """An arm of this kind, somewhere natural."""
    width, depth = table
    hand = 1.0 if side == "right" else -1.0
    if kind == "wearer":
        # A camera on the face is a hand's breadth before the shoulders.
        out, back, down = rng.uniform((0.16, 0.07, 0.24), (0.2, 0.13, 0.3))
        shoulder = (eye[0] + hand * out, eye[1] - back, eye[2] - down)
        rest = (eye[0] + hand * rng.uniform(0.14, 0.26), rng.uniform(0.0, 0.05), 0.05)
        away = (eye[0] + hand * rng.uniform(0.3, 0.4), eye[1] - 0.1, 0.1)
        lean = 0.1
    elif kind == "across":
        x = rng.uniform(-0.15, 0.15) - hand * 0.18
        shoulder = (x, depth + rng.uniform(0.15, 0.25), rng.uniform(0.32, 0.42))
        rest = (x + rng.uniform(-0.05, 0.05), depth - rng.uniform(-0.02, 0.04), 0.05)
        away = (x * 1.4, depth + 0.45, 0.2)
        lean = 0.35
    else:
        out = 1.0 if kind == "right" else -1.0
        # The right hand of who sits on the right is the nearer one to the wearer's far side.
        y = rng.uniform(0.15, 0.4) + out * hand * 0.16
        edge = 0.5 * min(width, 1.3)
        shoulder = (out * (edge + rng.uniform(0.12, 0.25)), y, rng.uniform(0.3, 0.42))
        rest = (out * (edge - rng.uniform(0.02, 0.1)), y + rng.uniform(-0.05, 0.05), 0.05)
        away = (out * (edge + 0.65), y + rng.uniform(-0.05, 0.15), 0.2)
        lean = 0.4
    return ArmPlacement(
        kind=kind,
        side=side,
        shoulder=np.array(shoulder),
        rest=np.array(rest),
        away=np.array(away),
        lean=lean,
    )
