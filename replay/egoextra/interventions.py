"""When to speak: interventions of a system against the expert's own.

In the pro-active protocol the expert speaks up without being asked. A system that listens in is
judged by *when* it does: its intervention at ``t`` agrees with an expert's turn that begins within
``window`` of it. Each turn agrees with at most one intervention and the other way round; of all
such pairings the largest counts, as in mir_eval's ``match_events`` (Raffel et al., ISMIR 2014):
with one window on a line, pairing the earliest that agree is already largest.

Precision is the share of interventions that agree, recall the share of the expert's turns. What a
system decides from ends at its own time; see :mod:`replay.egoextra.replayed`.

A baseline that knows nothing speaks as often as the expert did, at equal steps.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionCounts:
    """Counts that add across recordings.

    Attributes:
        turns: Of the expert.
        interventions: Of the system.
        agreed: Pairs.
        lags: Of each pair, seconds from the turn's begin to the intervention; negative when the
            system spoke first.
    """

    turns: int = 0
    interventions: int = 0
    agreed: int = 0
    lags: tuple[Seconds, ...] = ()

    def __add__(self, other: InterventionCounts) -> InterventionCounts:
        return InterventionCounts(
            turns=self.turns + other.turns,
            interventions=self.interventions + other.interventions,
            agreed=self.agreed + other.agreed,
            lags=self.lags + other.lags,
        )

    @property
    def precision(self) -> float:
        return self.agreed / self.interventions if self.interventions else math.nan

    @property
    def recall(self) -> float:
        return self.agreed / self.turns if self.turns else math.nan

    @property
    def f1(self) -> float:
        """Harmonic mean of both; NaN when neither the expert nor the system spoke."""
        spoken = self.turns + self.interventions
        return 2 * self.agreed / spoken if spoken else math.nan

    @property
    def median_lag(self) -> Seconds:
        return statistics.median(self.lags) if self.lags else math.nan


def match_interventions(
    turns: Sequence[Seconds], interventions: Sequence[Seconds], *, window: Seconds
) -> InterventionCounts:
    """Pair as many interventions with the expert's turns as lie within ``window`` (inclusive).

    Args:
        turns: Begins of the expert's turns, ascending, seconds.
        interventions: When the system spoke, ascending, seconds.
        window: Largest distance of a pair, seconds.

    Raises:
        ValueError: If ``window`` is negative or a sequence is not ascending.
    """
    if not window >= 0:
        raise ValueError(f"window is {window}, expected 0 or more")
    for name, times in (("turns", turns), ("interventions", interventions)):
        if any(later < earlier for earlier, later in itertools.pairwise(times)):
            raise ValueError(f"{name} are not ascending")
    lags: list[Seconds] = []
    turn = said = 0
    while turn < len(turns) and said < len(interventions):
        lag = interventions[said] - turns[turn]
        if abs(lag) <= window + 1e-9:
            lags.append(lag)
            turn += 1
            said += 1
        elif lag < 0:
            said += 1
        else:
            turn += 1
    return InterventionCounts(
        turns=len(turns), interventions=len(interventions), agreed=len(lags), lags=tuple(lags)
    )


def regular_interventions(count: int, duration: Seconds) -> list[Seconds]:
    """``count`` times at equal steps inside ``(0, duration)``: a baseline that knows nothing."""
    return [duration * (number + 0.5) / count for number in range(count)]
