"""Tables of several runs as plain values: for the terminal, a page, a paper and a spreadsheet.

A cell keeps the number itself, as a fraction; only :func:`show` makes a text of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from replay.scoring.bootstrap import Difference, Interval

UNTRUSTED = "†"
ABSENT = "–"
SIGNIFICANCE = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A fraction, or a difference of two, with its interval.

    Attributes:
        value: 0...1, or -1...1 for a difference.
        low, high: Ends of the interval; None where none was computed.
        trusted: Whether the interval may be relied on.
        p: Of the difference, corrected; None where nothing was tested.
        signed: It is a difference.
    """

    value: float
    low: float | None = None
    high: float | None = None
    trusted: bool = True
    p: float | None = None
    signed: bool = False

    @property
    def stars(self) -> str:
        """One at p < 0.05, two at 0.01, three at 0.001."""
        if self.p is None:
            return ""
        return next((stars for limit, stars in SIGNIFICANCE if self.p < limit), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Another number, shown with so many digits after the point."""

    value: float
    digits: int = 2


PaperCell: TypeAlias = Share | Amount | int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """One row.

    Attributes:
        keys: What names it, one for each of the table's ``keys``.
        cells: One for each of the table's ``columns``.
        ours: Measured here, not published elsewhere.
        lacks: What its run lacks to be complete, or empty.
    """

    keys: tuple[str, ...]
    cells: tuple[PaperCell, ...]
    ours: bool = True
    lacks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """A table whose first columns name the rows.

    Attributes:
        name: Stable name, of the files too.
        title: For a person.
        keys: Headings of what names the rows.
        columns: Headings of the cells.
        notes: Lines below it.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if (len(row.keys), len(row.cells)) != (len(self.keys), len(self.columns)):
                raise ValueError(f"table {self.name}: row {row.keys} does not fit its columns")


def share(found: Interval | None) -> Share | None:
    """An estimate as a cell; empty without one."""
    if found is None or math.isnan(found.value):
        return None
    return Share(value=found.value, low=found.low, high=found.high, trusted=found.trusted)


def gain(found: Difference, *, p: float | None = None) -> Share | None:
    """A difference as a cell.

    Args:
        found: Of two runs.
        p: The corrected p-value, in place of its own.
    """
    if math.isnan(found.interval.value):
        return None
    tested = found.p if p is None else p
    return Share(
        value=found.interval.value,
        low=found.interval.low,
        high=found.interval.high,
        trusted=found.interval.trusted,
        p=None if math.isnan(tested) else tested,
        signed=True,
    )


def percent(value: float | None, *, signed: bool = False) -> Share | None:
    """A published percentage as a cell without an interval."""
    return None if value is None else Share(value=value / 100, signed=signed)


def show(cell: PaperCell) -> str:
    """A cell as text: ``48.1 [41.0, 55.2]``, with the mark of what is not to be trusted."""
    match cell:
        case None:
            return ABSENT
        case Share():
            parts = [show_value(cell), show_ends(cell), show_p(cell)]
            return " ".join(part for part in parts if part)
        case Amount():
            return f"{cell.value:.{cell.digits}f}"
        case _:
            return str(cell)


def show_value(cell: Share) -> str:
    """The number of a fraction, in percent with one decimal."""
    return _percent(cell.value, signed=cell.signed)


def show_ends(cell: Share) -> str:
    """The interval of a fraction, or nothing."""
    if cell.low is None or cell.high is None:
        return ""
    ends = ", ".join(_percent(end, signed=cell.signed) for end in (cell.low, cell.high))
    return f"[{ends}]" + ("" if cell.trusted else UNTRUSTED)


def show_p(cell: Share) -> str:
    """The p-value of a difference with its stars, or nothing."""
    if cell.p is None:
        return ""
    said = "p < 0.001" if cell.p < 0.001 else f"p = {cell.p:.3f}"
    return f"{said} {cell.stars}".strip()


def with_values(rows: Sequence[PaperRow]) -> tuple[PaperRow, ...]:
    """The rows that have any cell."""
    return tuple(row for row in rows if any(cell is not None for cell in row.cells))


def _percent(fraction: float, *, signed: bool) -> str:
    rounded = f"{abs(100 * fraction):.1f}"
    if rounded == "0.0":
        return rounded
    minus = "−" if fraction < 0 else ""
    return minus + rounded if minus or not signed else "+" + rounded
