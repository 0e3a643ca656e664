"""Tables as JSON, so that a run can be shown without the benchmark that made it.

A cell is ``null``, a number or a text as it is, ``{"share": …, "low": …, "high": …, "trusted": …,
"p": …, "signed": …}`` for a fraction, or ``{"amount": …, "digits": …}``. What is read is not
trusted: a malformed cell is empty, a malformed row or table is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from replay.loose_json import Fields
from replay.scoring.paper_values import Amount, PaperCell, PaperRow, PaperTable, Share


def encode_tables(tables: Iterable[PaperTable]) -> list[dict[str, Any]]:
    """The tables as JSON values."""
    return [
        {
            "name": table.name,
            "title": table.title,
            "keys": list(table.keys),
            "columns": list(table.columns),
            "rows": [
                {
                    "keys": list(row.keys),
                    "cells": [_encode(cell) for cell in row.cells],
                    "ours": row.ours,
                    "lacks": row.lacks,
                }
                for row in table.rows
            ],
            "notes": list(table.notes),
        }
        for table in tables
    ]


def decode_tables(stated: Fields) -> list[PaperTable]:
    """The tables in ``tables`` of a JSON object."""
    found = []
    for table in stated.tables("tables"):
        keys, columns = tuple(table.texts("keys")), tuple(table.texts("columns"))
        rows = [_row(row) for row in table.tables("rows")]
        fitting = [
            row for row in rows if (len(row.keys), len(row.cells)) == (len(keys), len(columns))
        ]
        if table.text("name") and fitting:
            found.append(
                PaperTable(
                    name=table.text("name"),
                    title=table.text("title"),
                    keys=keys,
                    columns=columns,
                    rows=tuple(fitting),
                    notes=tuple(table.texts("notes")),
                )
            )
    return found


def _encode(cell: PaperCell) -> Any:
    match cell:
        case Share():
            return {
                "share": cell.value,
                "low": cell.low,
                "high": cell.high,
                "trusted": cell.trusted,
                "p": cell.p,
                "signed": cell.signed,
            }
        case Amount():
            return {"amount": cell.value, "digits": cell.digits}
        case _:
            return cell


def _row(row: Fields) -> PaperRow:
    return PaperRow(
        keys=tuple(row.texts("keys")),
        cells=tuple(_decode(cell) for cell in row.items("cells")),
        ours=row.flag("ours") is not False,
        lacks=row.text("lacks"),
    )


def _decode(cell: Any) -> PaperCell:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) and not isinstance(cell, bool):
        return cell
    if not isinstance(cell, dict):
        return None
    read = Fields(cell)
    value, amount = read.number("share"), read.number("amount")
    if value is not None:
        return Share(
            value=value,
            low=read.number("low"),
            high=read.number("high"),
            trusted=read.flag("trusted") is not False,
            p=read.number("p"),
            signed=read.flag("signed") is True,
        )
    if amount is not None:
        return Amount(value=amount, digits=min(9, max(0, read.count("digits") or 0)))
    return None
