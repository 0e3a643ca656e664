"""A paper's table as a terminal shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from client.printing import printable
from replay.export import first_keys
from replay.scoring.paper_values import UNTRUSTED, PaperCell, PaperTable, Share


def drawn_table(
    table: PaperTable,
    *,
    name: Callable[[Sequence[str]], str],
    cell: Callable[[PaperCell], str],
    least_width: int | None = None,
) -> Table:
    """A table for the terminal; what was published elsewhere is dim.

    Args:
        table: What to show.
        name: What stands before a row, of its keys.
        cell: A cell's text.
        least_width: Of the column of names, characters.
    """
    notes = list(table.notes)
    if _has_untrusted(table) and not any(UNTRUSTED in note for note in notes):
        notes.append(f"{UNTRUSTED}: interval not to be trusted (few groups, or all alike).")
    drawn = Table(
        title=escape(table.title),
        caption="\n".join(map(escape, notes)) or None,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    drawn.add_column(escape(", ".join(table.keys)), overflow="fold", min_width=least_width)
    for column in table.columns:
        drawn.add_column(escape(column), justify="right", overflow="fold")
    for row in table.rows:
        keys = [printable(key) for key in first_keys(row)]
        cells = [escape(cell(one)) for one in row.cells]
        drawn.add_row(escape(name(keys)), *cells, style="" if row.ours else "dim")
    return drawn


def _has_untrusted(table: PaperTable) -> bool:
    return any(
        isinstance(one, Share) and one.low is not None and not one.trusted
        for row in table.rows
        for one in row.cells
    )
