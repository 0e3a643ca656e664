"""Tables of an EcoG-Bench run as plain values, for the terminal and for the report alike.

They are made from the JSON object of :mod:`replay.scoring.ecog_json` (``scores.json`` of a run),
so both show the same numbers. Nothing in it is trusted: what is absent or malformed is an empty
cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from replay.loose_json import Fields
from replay.scoring.published import ABLATION, PUBLISHED, Published

Cell: TypeAlias = float | int | None
"""A float is a percentage, an int a count, None an empty cell."""

MEASURES = ("cls", "s", "t", "eco", "seq")
FAILURES = {
    "only_what": "only what",
    "only_where": "only where",
    "only_when": "only when",
    "joint": "two or three",
}
_LEVELS = ("L1", "L2", "L3", "L4")
_GROUPS = {"by_level": "", "by_instruction": "instruction ", "by_language": "", "by_scene": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: its heading, a cell for each column, and whether it is our own result."""

    heading: str
    cells: tuple[Cell, ...]
    ours: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose first column holds the rows' headings.

    Attributes:
        name: Stable name, as in ``scores``.
        title: For a person.
        columns: Headings of the cells.
        note: One line below it, or empty.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""


def show(cell: Cell) -> str:
    """A cell as text: percentages with one decimal."""
    if cell is None:
        return "–"
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell)


def ecog_tables(scores: Mapping[str, Any], *, system: str = "this run") -> list[Table]:
    """All tables of a run; those without a row are left out.

    Args:
        scores: The JSON object of :func:`replay.scoring.ecog_json.as_json`.
        system: What to call the run beside the published systems.
    """
    read = Fields(scores)
    tables = (
        published_table(read, system=system),
        level_table(read, system=system),
        group_table(read),
        failure_table(read),
        repair_table(read),
    )
    return [table for table in tables if table.rows]


def published_table(read: Fields, *, system: str) -> Table:
    """The run beside the published systems, overall."""
    ours = [
        Row(heading=system, cells=_percent(read.table("overall"))),
        Row(
            heading=f"{system}, by referent",
            cells=_percent(read.table("overall_referent_weighted")),
        ),
    ]
    published = [
        Row(heading=_title(row), cells=(None, None, row.t, row.eco, row.seq), ours=False)
        for row in (*PUBLISHED, *ABLATION[1:])
    ]
    return Table(
        name="published",
        title="EcoG-Bench, overall (%)",
        columns=MEASURES,
        rows=(*ours, *published),
        note="Published: 811 clips, arXiv 2603.07966. Compare only when this run has them all: "
        + _size(read),
    )


def level_table(read: Fields, *, system: str) -> Table:
    """eco by level, beside the published systems that state it."""
    levels = read.table("by_level")
    ours = (*(levels.table(level).number("eco") for level in _LEVELS),)
    overall = read.table("overall").number("eco")
    published = [
        Row(
            heading=_title(row),
            cells=(*(row.eco_by_level.get(level) for level in _LEVELS), row.eco),
            ours=False,
        )
        for row in PUBLISHED
        if row.eco_by_level
    ]
    return Table(
        name="levels",
        title="eco by level (%)",
        columns=(*_LEVELS, "all"),
        rows=(Row(heading=system, cells=(*map(_hundred, ours), _hundred(overall))), *published),
    )


def group_table(read: Fields) -> Table:
    """The five measures by level, instruction, language and scene."""
    counts = read.table("counts")
    rows = []
    for group, prefix in _GROUPS.items():
        for name, measured in read.table(group).children().items():
            clips = counts.table(group).table(name).count("clips")
            rows.append(Row(heading=prefix + name, cells=(clips, *_percent(measured))))
    clips = counts.table("overall").count("clips")
    rows.append(Row(heading="all", cells=(clips, *_percent(read.table("overall")))))
    return Table(
        name="groups",
        title="By level, instruction, language and scene (%)",
        columns=("clips", *MEASURES),
        rows=tuple(rows),
        note="Means of clip means.",
    )


def failure_table(read: Fields) -> Table:
    """Why referents are not eco-right, by level."""
    counts = read.table("counts")
    named = [*counts.table("by_level").children().items(), ("all", counts.table("overall"))]
    return Table(
        name="failures",
        title="Referents that failed, by what was wrong",
        columns=("referents", *FAILURES.values()),
        rows=tuple(
            Row(
                heading=name,
                cells=(
                    group.count("referents"),
                    *(group.table("failures").count(kind) for kind in FAILURES),
                ),
            )
            for name, group in named
            if group
        ),
    )


def repair_table(read: Fields) -> Table:
    """How outputs had to be mended before they could be parsed."""
    repairs = read.table("repairs")
    return Table(
        name="repairs",
        title="Outputs, by what it took to parse them",
        columns=("outputs",),
        rows=tuple(
            Row(heading=name.replace("_", " "), cells=(repairs.count(name),))
            for name in repairs.values
        ),
    )


def _title(row: Published) -> str:
    return row.system if row.interface == "human" else f"{row.system}, {row.interface}"


def _size(read: Fields) -> str:
    counted = read.table("counts").table("overall")
    return f"{counted.count('clips') or 0} clips, {counted.count('referents') or 0} referents."


def _percent(measured: Fields) -> tuple[Cell, ...]:
    return tuple(_hundreds(measured.number(name) for name in MEASURES))


def _hundreds(values: Iterable[float | None]) -> list[float | None]:
    return [_hundred(value) for value in values]


def _hundred(fraction: float | None) -> float | None:
    return None if fraction is None else 100.0 * fraction
