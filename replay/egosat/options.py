"""Four options for a question: the right one, two from nearby in time, and an absurd one.

The hard negatives (``prev``, ``future``) are the interactions next to the right one in time: they
use the same things in the same place, and were or will be right at another moment. The ``absurd``
one comes from another video, or from far away in the same one, and is the least like the others
among some that a seeded generator draws. Four different actions are needed; where there are not,
there is no question. The order is drawn last. Each question has a generator of its own, seeded by
its name, so that no question changes another.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.egosat.embedding import Embedder
from replay.egosat.names import LETTERS
from replay.egosat.narrations import Interval, Segment
from replay.egosat.settings import BuildingSettings

_TRIES = 40
_DIGITS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option and where it comes from: ``gt``, ``prev``, ``future`` or ``absurd``."""

    text: str
    source: str


class OptionSampler:
    """Draws options.

    Args:
        intervals: All annotations: what absurd options are drawn from.
        embedder: Says which action is least like others.
        settings: How near and how far.
        seed: Of the draws.
    """

    def __init__(
        self,
        intervals: Sequence[Interval],
        embedder: Embedder,
        settings: BuildingSettings,
        *,
        seed: int,
    ) -> None:
        self._embedder = embedder
        self._settings = settings
        self._seed = seed
        self._all = [(one.video, segment) for one in intervals for segment in one.segments]

    def choice(self, interval: Interval, right: Segment, name: str) -> dict[str, Any] | None:
        """The ``mcq`` of a query, or None where there are no four different actions.

        Args:
            interval: Where the question is asked.
            right: What it asks for, one of the interval's segments.
            name: Of the question: it seeds the draws.
        """
        rng = random.Random(f"{self._seed}/{name}")
        options = [Option(text=right.action, source="gt"), *self._nearby(interval, right)]
        if len(options) < len(LETTERS) - 1:
            return None
        absurd = self._absurd(interval, right, options, rng)
        if absurd is None:
            return None
        options.append(absurd)
        rng.shuffle(options)
        place = next(number for number, one in enumerate(options) if one.source == "gt")
        return {
            "answer": LETTERS[place],
            "answer_idx": place,
            "options": [one.text for one in options],
            "option_sources": [one.source for one in options],
        }

    def _nearby(self, interval: Interval, right: Segment) -> list[Option]:
        """One before and one after; two of one side where the other has none."""
        at = interval.segments.index(right)
        before = self._distinct(interval.segments[:at][::-1], right, "prev")
        after = self._distinct(interval.segments[at + 1 :], right, "future")
        chosen = [*before[:1], *after[:1], *before[1:], *after[1:]]
        return list({one.text: one for one in reversed(chosen)}.values())[::-1][:2]

    def _distinct(self, segments: Sequence[Segment], right: Segment, source: str) -> list[Option]:
        near = [one for one in segments if abs(one.start - right.start) <= self._settings.near]
        actions = dict.fromkeys(one.action for one in near if one.action != right.action)
        return [Option(text=action, source=source) for action in actions]

    def _absurd(
        self, interval: Interval, right: Segment, options: Sequence[Option], rng: random.Random
    ) -> Option | None:
        taken = [one.text for one in options]
        drawn: dict[str, None] = {}
        for _ in range(_TRIES):
            video, segment = rng.choice(self._all)
            elsewhere = video != interval.video
            far = abs(segment.start - right.start) >= self._settings.far
            if segment.action not in taken and (elsewhere or far):
                drawn[segment.action] = None
            if len(drawn) == self._settings.candidates:
                break
        if not drawn:
            return None
        candidates = sorted(drawn)
        likeness = self._embedder.embed(candidates) @ self._embedder.embed(taken).T
        closest = np.round(likeness.max(axis=1), _DIGITS)
        return Option(text=candidates[int(closest.argmin())], source="absurd")
