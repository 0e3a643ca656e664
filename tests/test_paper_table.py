"""A paper's table as a terminal shows it."""

from __future__ import annotations

import pytest

from client.paper_table import drawn_table
from replay.scoring.paper_values import PaperRow, PaperTable, Share, show


def table(*, trusted: bool, notes: tuple[str, ...] = ()) -> PaperTable:
    share = Share(value=0.5, low=0.4, high=0.6, trusted=trusted)
    row = PaperRow(keys=("this",), cells=(share,))
    return PaperTable(
        name="t", title="T", keys=("system",), columns=("right",), rows=(row,), notes=notes
    )


@pytest.mark.parametrize(
    ("made", "caption"),
    [
        (table(trusted=True), None),
        (table(trusted=False), "†: interval not to be trusted (few groups, or all alike)."),
        (table(trusted=False, notes=("†: see there",)), "†: see there"),
    ],
)
def test_the_mark_of_an_interval_is_explained_once(made: PaperTable, caption: str | None) -> None:
    assert drawn_table(made, name=" · ".join, cell=show).caption == caption
