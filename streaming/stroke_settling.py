"""Whether the approach of a resting hand has ended, in the picture and in depth, and when.

An approach along the line of sight looks still in the picture before it ends, but the hand goes on
to grow or to shrink. So the hand's size counts as a third coordinate of its course, as far as it
is read: it goes up and down while a hand rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streaming.events import Seconds
from streaming.stroke_path import Sample, middle, typical_metre
from streaming.stroke_settings import SettlingSettings

_UNSEEN: Seconds = 0.12
"""A hand that was not seen for so long before it lay still may have lain there for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Since when a hand lies where it lies.

    Attributes:
        first: Number of the first sight of it there.
        near: Metres within which it lay there since.
    """

    first: int
    near: float


def course(samples: Sequence[Sample], settings: SettlingSettings) -> NDArray[np.float64]:
    """Where the hand was, metres: across the picture, and by its size; shape ``(n, 3)``."""
    places = np.array([one.place for one in samples]) / typical_metre(samples)
    sizes = settings.depth * np.array([one.size for one in samples])
    return np.column_stack([places, sizes])


def settled(samples: Sequence[Sample], settings: SettlingSettings) -> Settled:
    """Since when the hand lies where it lies at the last of ``samples`` (at least one)."""
    path = course(samples, settings)
    last = len(path) - 1
    if last < 2:
        return Settled(first=last, near=settings.near)
    smooth = path.copy()
    smooth[1:-1] = np.median([path[:-2], path[1:-1], path[2:]], axis=0)
    jumps = np.linalg.norm((path[2:] - 2 * path[1:-1] + path[:-2])[:, :2], axis=1)
    # The second difference of white noise is sqrt(6) times as rough as the noise.
    near = max(settings.near, settings.noise * float(np.median(jumps)) / 6**0.5)
    since = samples[-1].time - settings.latest - 1e-6
    here = np.median(
        [place for place, one in zip(path, samples, strict=True) if one.time >= since], axis=0
    )
    away = smooth - here
    unsure = settings.depth * settings.unsure
    away[:, 2] = np.maximum(0.0, np.abs(away[:, 2]) - unsure)
    offs = np.linalg.norm(away, axis=1)
    ages = samples[-1].time - np.array([one.time for one in samples])
    allowed = near + settings.sway * np.maximum(0.0, ages - settings.quiet)
    first = last
    while first > 0 and offs[first - 1] <= allowed[first - 1]:
        first -= 1
    return Settled(first=first, near=near + unsure)


def approach_end(
    samples: Sequence[Sample], way: Sequence[Sample], onset: Seconds, settings: SettlingSettings
) -> int:
    """Which sight of a rest is nearest to the end of the approach.

    The first one that lies where the hand then lies is early: a minimum-jerk approach (Flash and
    Hogan, 1985) creeps at its end, and has 10 (1 - s)^3 of its way left at the share s of its time.

    Args:
        samples: The rest.
        way: The way to it, its first sight included.
        onset: When the last quick part of the way began.
        settings: Numbers.
    """
    found = settled(samples, settings)
    arrived = samples[found.first].time
    unseen = len(way) < 2 or way[-1].time - way[-2].time > _UNSEEN
    if unseen and found.first <= 1:
        return found.first
    length = float(np.linalg.norm(middle(samples) - way[0].place)) / typical_metre(samples)
    if length <= found.near:
        return found.first
    took = min(0.5, max(0.0, arrived - onset))
    left = (found.near / length / 10) ** (1 / 3)
    end = arrived + took * left / (1 - left)
    later = range(found.first, len(samples))
    return min(later, key=lambda index: abs(samples[index].time - end))
