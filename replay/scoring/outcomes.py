"""Intervals and comparisons of any benchmark's outcomes, its groups drawn again as one.

Entries that share a picture, a film or a speaker are no independent samples: the group is what is
drawn (:mod:`replay.scoring.bootstrap`, where a group stands for a clip). A group's value is the
mean over its entries and its weight their number, so that the estimate is the mean over entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.benchmark import Outcome
from replay.loose_json import Fields
from replay.scoring.bootstrap import DEFAULT, Difference, Interval, Resampling, compare, interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedOutcomes:
    """The second run against the first, over the entries that both answered.

    Attributes:
        difference: Of one measure.
        both: Entries that are compared.
        only_first, only_second: Entries that one of them answered; they are left out.
    """

    difference: Difference
    both: int
    only_first: int
    only_second: int


def clustered(outcomes: Sequence[Outcome], measure: str, *, how: Resampling = DEFAULT) -> Interval:
    """A measure's mean over the entries that have it, with its interval; NaN without one."""
    entries = [(one.group, one.values[measure]) for one in outcomes if measure in one.values]
    return clustered_values(entries, how=how)


def clustered_values(
    entries: Sequence[tuple[str, float]], *, how: Resampling = DEFAULT
) -> Interval:
    """As :func:`clustered`, of groups and values."""
    values, weights = _grouped(entries)
    return interval(values, weights or None, how=how)


def paired_outcomes(
    first: Sequence[Outcome],
    second: Sequence[Outcome],
    measure: str,
    *,
    how: Resampling = DEFAULT,
) -> PairedOutcomes:
    """Compare two runs entry by entry, by the groups of the first."""
    before = {o.key: o for o in first if o.answered and measure in o.values}
    after = {o.key: o for o in second if o.answered and measure in o.values}
    both = [key for key in before if key in after]
    groups = [before[key].group for key in both]
    ours, weights = _grouped(
        [(g, before[k].values[measure]) for g, k in zip(groups, both, strict=True)]
    )
    theirs, _ = _grouped([(g, after[k].values[measure]) for g, k in zip(groups, both, strict=True)])
    return PairedOutcomes(
        difference=compare(ours, theirs, weights or None, how=how),
        both=len(both),
        only_first=len(before) - len(both),
        only_second=len(after) - len(both),
    )


def measures_of(outcomes: Sequence[Outcome]) -> list[str]:
    """The measures that any outcome has, in the order in which they first come."""
    return list(dict.fromkeys(name for outcome in outcomes for name in outcome.values))


def read_outcomes(scores: Fields) -> tuple[Outcome, ...]:
    """The outcomes of a ``scores.json``; what is malformed is left out."""
    return tuple(
        Outcome(
            key=one.text("key"),
            group=one.text("group") or one.text("key"),
            values={
                name: value
                for name, value in one.table("values").all_numbers().items()
                if 0 <= value <= 1
            },
            answered=one.flag("answered") is not False,
        )
        for one in scores.tables("outcomes")
        if one.text("key")
    )


def _grouped(entries: Sequence[tuple[str, float]]) -> tuple[list[float], list[float]]:
    """Mean and number of each group's entries, groups in order of name."""
    sums: dict[str, tuple[float, int]] = {}
    for group, value in entries:
        total, number = sums.get(group, (0.0, 0))
        sums[group] = (total + value, number + 1)
    ordered = [sums[group] for group in sorted(sums)]
    return [total / number for total, number in ordered], [float(number) for _, number in ordered]
