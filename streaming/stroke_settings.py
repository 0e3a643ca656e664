"""Numbers of the stroke detector, as ``configs/strokes.toml`` sets them."""

from __future__ import annotations

from dataclasses import dataclass, field

from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedSettings:
    """Seconds of hold that a stroke needs, and what adds to them.

    Attributes:
        base: For the clearest stroke.
        pose: More when the pose does not point at all.
        short: More for a short way (all of it at 4 cm, none from 9 cm on).
        slow: More for a slow way (all of it at 0.2 m/s, none from 0.6 m/s on).
        retreat: More when the finger was drawn back, against its own direction.
        beat: More when the hand swings back from a rest that was shorter than the swing; half as
            much for every swing before; and as much again when it is back where it was.
        onward: More for a way from a stroke's hold to a place near it (all of it at 13 cm, none
            from 17 cm on), times that stroke's quality: a hand that waits before the next stroke
            draws back as far.
        home: More when it is back where it was before the last stroke.
        unseen: More when the hand was first seen at rest.
        border: More when half of the palm or more lies beyond the picture's border, or, of a hand
            that has not pointed yet, the wrist.
        lost_background: More when the head's motion was not known on the way.
        paused: Less when the hand only paused on its way from the stroke before.
    """

    base: Seconds = 0.12
    pose: Seconds = 0.28
    short: Seconds = 0.2
    slow: Seconds = 0.15
    retreat: Seconds = 0.27
    beat: Seconds = 0.22
    onward: Seconds = 0.45
    home: Seconds = 0.12
    unseen: Seconds = 0.06
    border: Seconds = 0.3
    lost_background: Seconds = 0.1
    paused: Seconds = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSettings:
    """How far the fingers of a hand can be read; lengths are from knuckle to tip.

    Attributes:
        foreshortened: Metres in the picture at which a finger's pose is read, and is not.
        small: Frame heights at which it is read, and is not.
        curled: Straightness of the straightest finger (as in :mod:`streaming.hand_pose`) at which
            a hand is no fist, and is one.
        kept: For how long before it rests a hand's pose tells what it is as it rests.
    """

    foreshortened: tuple[float, float] = (0.06, 0.045)
    small: tuple[float, float] = (0.07, 0.045)
    curled: tuple[float, float] = (0.45, 0.3)
    kept: Seconds = 0.7

    def __post_init__(self) -> None:
        for name in ("foreshortened", "small", "curled"):
            read, unread = getattr(self, name)
            if not 0 < unread < read:
                raise ValueError(
                    f"{name} {read}, {unread}: expected a larger number for a finger that is read, "
                    "and a smaller one for one that is not"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlingSettings:
    """When an approach has ended.

    Attributes:
        quiet: A hand lies where it lies for this long before its stroke is told.
        latest: Where it lies is where it mostly was for the last so many seconds.
        depth: Metres that count for a change of its size by the factor e.
        unsure: How far off a size may be read, as a logarithm: a smaller change counts for none.
        near: Metres within which it lies there.
        noise: The same, in typical jumps of the path, where these are larger.
        sway: Metres a second by which it may lie farther off before that: nobody holds quite still.
    """

    quiet: Seconds = 0.1
    latest: Seconds = 0.1
    depth: float = 0.25
    unsure: float = 0.02
    near: float = 0.006
    noise: float = 1.2
    sway: float = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class StrokeSettings:
    """Numbers of the stroke detector; lengths are metres at the hand.

    Attributes:
        settle: A hand is still for this long before it can have arrived.
        still_speed: Speed below which it holds, metres a second.
        still_noise: How far the finger of a resting hand may jump about.
        leave: Distance from the hold at which the hand has left it.
        fastest: Speed beyond which it is another hand, metres a second.
        fastest_anew: The same when the tracker says that it is another one.
        gone: A hold ends when its hand is unseen for longer than this.
        memory: How long an unseen hand is remembered.
        newcomer: A hand seen after the stream ran this long without it came from outside.
        patience: An arrival that is undecided for longer than this is given up.
        pause: A stop shorter than this is a pause on one way.
        need: How long a hold a stroke needs.
        reading: How far a finger can be read.
        settling: When an approach has ended.
    """

    settle: Seconds = 0.07
    still_speed: float = 0.09
    still_noise: float = 0.005
    leave: float = 0.016
    fastest: float = 7.0
    fastest_anew: float = 3.0
    gone: Seconds = 0.45
    memory: Seconds = 3.0
    newcomer: Seconds = 0.3
    patience: Seconds = 0.6
    pause: Seconds = 0.2
    need: NeedSettings = field(default_factory=NeedSettings)
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    settling: SettlingSettings = field(default_factory=SettlingSettings)

    def __post_init__(self) -> None:
        if not 0 < self.settle <= self.need.base < self.patience:
            raise ValueError(
                f"settle {self.settle}, need.base {self.need.base}, patience {self.patience}: "
                "expected 0 < settle <= need.base < patience"
            )
