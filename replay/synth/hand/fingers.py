"""What the fingers of a hand do: joint angles, within what joints can do.

Angles are degrees. Flexion closes the hand; abduction spreads a finger from the middle one (the
middle finger itself towards the ring finger).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, TypeVar

COUPLING: Final = 2 / 3
"""A last joint bends by this part of the one before it: one tendon serves both."""

_SLACK: Final = 25.0
"""Degrees by which a last joint can leave that rule."""

_ROUNDING: Final = 1e-6


def _check(owner: object, limits: dict[str, tuple[float, float]]) -> None:
    for name, (low, high) in limits.items():
        value = getattr(owner, name)
        if not low - _ROUNDING <= value <= high + _ROUNDING:
            kind = type(owner).__name__.lower()
            raise ValueError(f"{kind} {name} {value:g}° is not within {low:g}…{high:g}°")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finger:
    """Joints of one of the four fingers.

    Attributes:
        mcp: Flexion of the knuckle, −10…90.
        abduction: −20…20.
        pip: Flexion of the middle joint, 0…110.
        dip: Flexion of the last joint, 0…80, near 2/3 of ``pip``.

    Raises:
        ValueError: If a joint cannot do that.
    """

    mcp: float
    pip: float
    dip: float
    abduction: float = 0.0

    def __post_init__(self) -> None:
        _check(
            self,
            {
                "mcp": (-10.0, 90.0),
                "abduction": (-20.0, 20.0),
                "pip": (0.0, 110.0),
                "dip": (
                    max(0.0, COUPLING * self.pip - _SLACK),
                    min(80.0, COUPLING * self.pip + _SLACK),
                ),
            },
        )

    @classmethod
    def bent(cls, mcp: float, pip: float, *, abduction: float = 0.0) -> Finger:
        """A finger whose last joint follows the one before it."""
        return cls(mcp=mcp, pip=pip, dip=min(80.0, COUPLING * pip), abduction=abduction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thumb:
    """Joints of the thumb.

    Attributes:
        flexion: At its base, in front of the palm towards the little finger, −20…50.
        abduction: At its base, in the palm's plane, from the index finger away, −35…20.
        mcp: −10…60.
        ip: −15…80.

    Raises:
        ValueError: If a joint cannot do that.
    """

    flexion: float
    abduction: float
    mcp: float
    ip: float

    def __post_init__(self) -> None:
        _check(
            self,
            {
                "flexion": (-20.0, 50.0),
                "abduction": (-35.0, 20.0),
                "mcp": (-10.0, 60.0),
                "ip": (-15.0, 80.0),
            },
        )


_Joints = TypeVar("_Joints", Thumb, Finger)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingers:
    """All five."""

    thumb: Thumb
    index: Finger
    middle: Finger
    ring: Finger
    little: Finger

    @staticmethod
    def blend(a: Fingers, b: Fingers, w: float) -> Fingers:
        """``a`` at ``w`` 0, ``b`` at 1.

        Raises:
            ValueError: If ``w`` is outside 0…1: joints could be bent beyond what they can.
        """
        if not 0.0 <= w <= 1.0:
            raise ValueError(f"blend weight {w:g} is not within 0…1")
        return Fingers(
            thumb=_blend(a.thumb, b.thumb, w),
            index=_blend(a.index, b.index, w),
            middle=_blend(a.middle, b.middle, w),
            ring=_blend(a.ring, b.ring, w),
            little=_blend(a.little, b.little, w),
        )

    @property
    def four(self) -> tuple[Finger, Finger, Finger, Finger]:
        """Index to little finger."""
        return self.index, self.middle, self.ring, self.little


def _blend(a: _Joints, b: _Joints, w: float) -> _Joints:
    mixed = {
        field.name: (1 - w) * getattr(a, field.name) + w * getattr(b, field.name)
        for field in fields(a)
    }
    return type(a)(**mixed)
