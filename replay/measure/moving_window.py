"""Looking at a clip through a window that moves over its frames, as a head would move.

The window has four fifths of the frame's width and height. It pans slowly, bobs and sways as at a
walk (the sway at half the pace of the bob), and shakes. The clip's name decides its smooth way: of
64 that come from the name, the first that holds the fingertip at every annotated apex, else the
first that holds it at the most. It lies on whole pixels, so nothing is resampled, and never leaves
the frame, so nothing is made up. It does not turn about the line of sight, and shows no parallax.

Places are fractions of the *whole* frame unless said otherwise, times media seconds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streaming.events import Point, Seconds, VideoFrame

SIZE = 0.8
"""Width and height of the window, shares of the frame's."""

MARGIN = 0.04
"""How far inside a window an annotated fingertip must lie."""

_ROOM = 1 - SIZE
_WAYS = 64
_HAIR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """One sine of a window's way.

    Attributes:
        reach: How far it goes to either side, as a share of the frame.
        hertz: Its pace.
        phase: Radians at time 0.
    """

    reach: float
    hertz: float
    phase: float

    def at(self, time: Seconds) -> float:
        return self.reach * math.sin(2 * math.pi * self.hertz * time + self.phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window that moves over the frames; without waves it stands still.

    Attributes:
        home: Upper left corner around which it moves.
        across, down: Its motion.
    """

    home: Point = (_ROOM / 2, _ROOM / 2)
    across: tuple[Wave, ...] = ()
    down: tuple[Wave, ...] = ()

    def __post_init__(self) -> None:
        for home, waves in zip(self.home, (self.across, self.down), strict=True):
            reach = sum(wave.reach for wave in waves)
            if not (reach - _HAIR <= home <= _ROOM - reach + _HAIR):
                raise ValueError(
                    f"a window at {home:.3f} that moves by {reach:.3f} leaves the frame: "
                    f"expected both sides within 0...{_ROOM:.3f}"
                )

    @property
    def fastest(self) -> Point:
        """Bound of its speed: widths and heights of the frame a second."""
        across, down = (
            sum(2 * math.pi * wave.hertz * wave.reach for wave in waves)
            for waves in (self.across, self.down)
        )
        return across, down

    def corner(self, time: Seconds) -> Point:
        """Its upper left corner."""
        return (
            self.home[0] + sum(wave.at(time) for wave in self.across),
            self.home[1] + sum(wave.at(time) for wave in self.down),
        )

    def holds(self, point: Point, time: Seconds, *, margin: float = 0.0) -> bool:
        """Whether it shows a point of the frame, at least ``margin`` from its border."""
        return all(
            margin - _HAIR <= place - corner <= SIZE - margin + _HAIR
            for place, corner in zip(point, self.corner(time), strict=True)
        )

    def in_frame(self, point: Point, time: Seconds) -> Point:
        """Where in the frame a point given as fractions of the window lies."""
        corner = self.corner(time)
        return corner[0] + point[0] * SIZE, corner[1] + point[1] * SIZE

    def cut(self, frame: VideoFrame) -> VideoFrame:
        """What it shows of a frame, on whole pixels."""
        height, width = frame.image.shape[:2]
        tall, wide = round(SIZE * height), round(SIZE * width)
        x, y = self.corner(frame.time)
        left = min(max(round(x * width), 0), width - wide)
        top = min(max(round(y * height), 0), height - tall)
        shown = np.ascontiguousarray(frame.image[top : top + tall, left : left + wide])
        return replace(frame, image=shown)


def still_window(tips: Iterable[Point]) -> Window:
    """The window nearest to the middle that holds the fingertips, all of them if one can."""
    tips = list(tips)
    home = []
    for axis in (0, 1):
        corner = _ROOM / 2
        if tips:
            places = [tip[axis] for tip in tips]
            corner = max(corner, max(places) + MARGIN - SIZE)
            corner = min(corner, min(places) - MARGIN)
        home.append(min(max(corner, 0.0), _ROOM))
    return Window(home=(home[0], home[1]))


def moving_window(name: str, tips: Sequence[tuple[Seconds, Point]]) -> Window:
    """A window that moves as a head does, its way chosen by ``name``.

    Args:
        name: Of the clip; the same name moves the same way.
        tips: Apexes and the fingertips that it should hold then.
    """
    ways = (_way(name, number) for number in range(_WAYS))
    return max(ways, key=lambda way: sum(way.holds(tip, at, margin=MARGIN) for at, tip in tips))


def _way(name: str, number: int) -> Window:
    digest = hashlib.sha256(f"{number} {name}".encode("utf-8", "surrogatepass")).digest()
    shares = iter([byte / 256 for byte in digest])

    def wave(reach: float, slowest: float, quickest: float) -> Wave:
        pace = slowest + (quickest - slowest) * next(shares)
        return Wave(reach=reach * _ROOM, hertz=pace, phase=2 * math.pi * next(shares))

    # Walking: the picture bobs at each step and sways at every other.
    bob = wave(0.22, 1.6, 2.1)
    sway = Wave(reach=0.08 * _ROOM, hertz=bob.hertz / 2, phase=2 * math.pi * next(shares))
    return Window(
        across=(wave(0.30, 0.2, 0.45), sway, wave(0.10, 2.3, 3.3)),
        down=(wave(0.12, 0.15, 0.3), bob, wave(0.12, 2.3, 3.3)),
    )
