"""Checks that no decision used the future: the audit of a replayed clip.

A clip is replayed once more, cut at a time T. What the cut run knew by T must equal, line by line,
what the full run knew by T. Both runs are in ``fast`` pace, where nothing depends on the machine.
Lines that only the end of a stream brought out are left aside: the cut run's end is not the clip's.

The cut is made where the stream leaves the source, so what is proven is that nothing behind the
source uses what the source has not sent yet. A component that opened the clip by itself would not
be seen; components are given no path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from streaming.events import Seconds

CUT_SHARES: tuple[float, ...] = (0.35, 0.6, 0.85)
"""Where to cut, as shares of the clip's length."""
_HALF_STEP: Seconds = 5e-7
"""Times in a trace are rounded to the microsecond: a cut lies between two of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first line on which the two runs disagree.

    Attributes:
        cut: Where the clip was cut.
        full: The full run's line, or None when it has none left.
        prefix: The cut run's line, or None when it has none left.
    """

    cut: Seconds
    full: str | None
    prefix: str | None

    def __str__(self) -> str:
        return (
            f"cut at {self.cut:.3f} s, the full run says {_short(self.full)} "
            f"where the cut run says {_short(self.prefix)}"
        )


def cut_times(duration: Seconds, shares: Sequence[float] = CUT_SHARES) -> tuple[Seconds, ...]:
    """Times at which to cut a clip of this length."""
    return tuple(
        round(duration * share, 3) + _HALF_STEP for share in shares if duration * share > 0
    )


def decisions(lines: Iterable[str], *, until: Seconds) -> list[str]:
    """The lines of a trace that were known by ``until`` and not only brought out by the end."""
    kept = []
    for text in lines:
        line: dict[str, Any] = json.loads(text)
        if line["type"] in ("Header", "End") or line.get("finish"):
            continue
        if line["known_at"] <= until:
            kept.append(text.rstrip("\n"))
    return kept


def compare(full: Iterable[str], prefix: Iterable[str], *, cut: Seconds) -> Difference | None:
    """The first difference between two traces up to ``cut``, or None when they agree."""
    ours, theirs = decisions(full, until=cut), decisions(prefix, until=cut)
    for position in range(max(len(ours), len(theirs))):
        one = ours[position] if position < len(ours) else None
        other = theirs[position] if position < len(theirs) else None
        if one != other:
            return Difference(cut=cut, full=one, prefix=other)
    return None


def _short(line: str | None) -> str:
    if line is None:
        return "nothing"
    return line if len(line) <= 160 else line[:157] + "…"
