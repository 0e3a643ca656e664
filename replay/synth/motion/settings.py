"""Numbers of the movement, from ``configs/synth_motion.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from replay.synth.script import Difficulty
from streaming.config import config_path, load
from streaming.events import Seconds

Level = Literal["L1", "L2", "L3", "L4"]
Span = tuple[float, float]
"""Least and most; drawn evenly between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSettings:
    """Apex minus word onset.

    Attributes:
        bias: Mean of the speakers' own mean lags, seconds.
        bias_spread: Standard deviation of the speakers' means.
        spread: Standard deviation of a speaker's lags around that.
        free: Share that is timed as in free speech.
        earliest, latest: No lag lies beyond.
    """

    bias: Seconds
    bias_spread: Seconds
    spread: Seconds
    free: float
    earliest: Seconds
    latest: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldSettings:
    """How holds differ from the annotated windows.

    Attributes:
        scale: Factor on the windows' median.
        spread: Factor on the logarithm's spread around it.
        shortest: No hold is shorter.
    """

    scale: float
    spread: float
    shortest: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSettings:
    """How an arm points and what else it does.

    Attributes:
        wearer, across, left, right: Weights of whose arm it is and where it comes from.
        near: Metres from fingertip to target, as most strokes are.
        far: The same for the others (even in the logarithm), ``far_share`` of them.
        error: Standard deviation of the pointing direction, degrees.
        tempo: Factor on the time that a movement takes.
        correction: Chance that an approach ends with a correction.
        tremor: Millimetres RMS at 8 to 12 Hz; ``drift`` those below 1.5 Hz.
        start_away, start_fidget: Chance that the arm is out of the scene at first, or fidgets; else
            it rests on the table.
        leave: Chance that it leaves the scene after the last stroke; else it rests.
        idle: Chance that a gap which is long enough is filled with something that is no stroke.
        beat, fidget, touch, cross, sweep, absence: Weights of what fills it.
    """

    wearer: float
    across: float
    left: float
    right: float
    near: Span
    far: Span
    far_share: float
    error: float
    tempo: Span
    correction: float
    tremor: Span
    drift: Span
    start_away: float
    start_fidget: float
    leave: float
    idle: float
    beat: float
    fidget: float
    touch: float
    cross: float
    sweep: float
    absence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSettings:
    """How the wearer's head moves. Angles are degrees, lengths millimetres.

    Attributes:
        follow: Share of the way to what is looked at that the head turns; the eyes do the rest.
        lag: From the look to the head's turn, seconds.
        sway: RMS of breathing and balance at 0.2 to 0.5 Hz.
        wander: RMS of slow turning at 0.1 to 0.7 Hz.
        jitter: RMS of turning at 2 to 6 Hz.
        bob: Height of the walking bob at 1.8 Hz; ``bob_share`` the chance that the wearer walks.
        quick: Chance of a quick turn aside and back.
        still: Share of the movement that is left at the end of the clip.
    """

    follow: Span
    lag: Span
    sway: Span
    wander: Span
    jitter: Span
    bob: Span
    bob_share: float
    quick: float
    still: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSettings:
    """One difficulty."""

    lags: LagSettings
    holds: HoldSettings
    arm: ArmSettings
    head: HeadSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TravelSettings:
    """Time that a reach takes: ``base + slope * log2(distance / width + 1)`` (Fitts, 1954).

    Attributes:
        base, slope: Seconds.
        width: Of what is pointed at, metres.
        least: No unhurried reach is quicker.
        hurry: Share of the time in which it can be done.
    """

    base: Seconds
    slope: Seconds
    width: float
    least: Seconds
    hurry: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionSettings:
    """All of it.

    Attributes:
        windows: Of each level, the annotated windows' 5 %, 50 % and 95 % quantiles, seconds.
        lead: How long before the apex such a window begins, typically.
        travel: How long reaches take.
    """

    lead: Seconds
    windows: dict[str, tuple[Seconds, Seconds, Seconds]]
    travel: TravelSettings
    easy: LevelSettings
    real: LevelSettings
    hard: LevelSettings

    def of(self, difficulty: Difficulty) -> LevelSettings:
        return {"easy": self.easy, "real": self.real, "hard": self.hard}[difficulty]


@cache
def motion_settings() -> MotionSettings:
    """The project's own."""
    return load(MotionSettings, config_path("synth_motion.toml"))
