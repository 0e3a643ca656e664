"""How far sound and pictures of a live stream are out of step, by clicks and flashes made at once.

Conventions: times in seconds on the session's timeline. A click begins with the first loud sample
after quiet. A flash is a picture that is white on the left, while its right half fades to black:
the first such picture tells how long ago the flash began, so that neither few pictures a second nor
lost ones make it late. The error of a click is how much later than it its flash is; below zero,
earlier.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
from numpy.typing import NDArray

from streaming.events import Seconds

EVERY: Seconds = 0.8
"""From one click to the next."""
LONG: Seconds = 0.16
"""That a click is heard and a flash is seen."""
IN_STEP: Seconds = 0.040
_REACH: Seconds = EVERY / 2
_LOUD = 0.1
_BRIGHT = 128.0
_QUIET: Seconds = 0.2


class Onsets:
    """Finds clicks and flashes in what an ingest is given, in order."""

    def __init__(self) -> None:
        self._loud_until: Seconds = -math.inf
        self._bright: bool | None = None

    def click(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> Seconds | None:
        """When a click begins in a block of sound, shape ``(channels, n)``."""
        loud = np.flatnonzero(np.abs(samples).max(axis=0) > _LOUD)
        if not loud.size:
            return None
        first, last = (time + float(at) / rate for at in (loud[0], loud[-1]))
        quiet = first - self._loud_until > _QUIET
        self._loud_until = last
        return first if quiet else None

    def flash(self, image: NDArray[np.uint8], *, time: Seconds) -> Seconds | None:
        """When a flash began that a picture of it shows first."""
        half = image.shape[1] // 2
        lit, fading = float(image[:, :half].mean()), float(image[:, half:].mean())
        before, self._bright = self._bright, lit >= _BRIGHT
        if not self._bright or before is not False:
            return None
        return time - LONG * min(1.0, max(0.0, 1.0 - fading / lit))


@dataclass(frozen=True, slots=True, kw_only=True)
class InStep:
    """Errors of clicks.

    Attributes:
        errors: Of each click that has a flash, in seconds.
        alone: Clicks without a flash: it was lost, or its picture was.
    """

    errors: tuple[Seconds, ...] = ()
    alone: int = 0

    @property
    def median(self) -> Seconds:
        """With its sign."""
        return median(self.errors) if self.errors else math.nan

    @property
    def p95(self) -> Seconds:
        """Without sign."""
        sizes = sorted(map(abs, self.errors))
        return sizes[math.ceil(0.95 * len(sizes)) - 1] if sizes else math.nan

    @property
    def most(self) -> Seconds:
        """Without sign."""
        return max(map(abs, self.errors), default=math.nan)

    @property
    def within(self) -> float:
        """Share of the errors that are within :data:`IN_STEP`."""
        if not self.errors:
            return math.nan
        return sum(abs(error) <= IN_STEP for error in self.errors) / len(self.errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What arrived of a stream.

    Attributes:
        clicks, flashes: When they began, ascending.
        notes: What the session was told, kind and text.
        counters: Of the reader of its tracks.
    """

    clicks: Sequence[Seconds]
    flashes: Sequence[Seconds]
    notes: Sequence[tuple[str, str]] = ()
    counters: dict[str, int] = field(default_factory=dict)

    def errors(self) -> list[tuple[Seconds, Seconds | None]]:
        """Of each click when it was, and its error; None if no flash is near.

        The last click is left out if the pictures ended before it.
        """
        found: list[tuple[Seconds, Seconds | None]] = []
        flashes = np.asarray(self.flashes, dtype=np.float64)
        for click in self.clicks:
            place = int(np.searchsorted(flashes, click))
            near = flashes[max(0, place - 1) : place + 1] - click
            error = float(min(near, key=abs)) if near.size else math.inf
            found.append((click, error if abs(error) < _REACH else None))
        if found and found[-1][1] is None:
            found.pop()
        return found


def in_step(errors: Iterable[tuple[Seconds, Seconds | None]]) -> InStep:
    """Sum up the errors of clicks."""
    said = [error for _, error in errors]
    return InStep(
        errors=tuple(error for error in said if error is not None),
        alone=sum(error is None for error in said),
    )


def by_minute(errors: Sequence[tuple[Seconds, Seconds | None]]) -> list[InStep]:
    """The errors of each minute from the timeline's zero."""
    if not errors:
        return []
    minutes = int(errors[-1][0] // 60) + 1
    return [
        in_step(one for one in errors if int(one[0] // 60) == minute) for minute in range(minutes)
    ]
