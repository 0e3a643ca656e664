"""What the answers of one cell took and how they departed from the format, from its clips' records.

Counted anew from the disk each time, so that a run that was interrupted counts all of its parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from replay.asking.clip_record import ASKED
from replay.asking.visual import visual_totals
from replay.loose_json import Fields, UnreadableJsonError, read_object
from streaming.asking.costs import Ledger, Price
from streaming.asking.endpoint import Usage
from streaming.asking.responses import Response

_TOKENS = ("sent", "cached", "written", "thought")


def cell_totals(folders: Iterable[Path], *, price: Price | None) -> dict[str, Any]:
    """Totals over clips' folders, as :func:`totals`; those without a record are passed over."""
    records = [*filter(None, map(_record, folders))]
    counted = visual_totals(records)
    made = totals(records, price=price)
    return made if counted is None else {**made, "visual_tokens": counted}


def _record(folder: Path) -> Fields:
    try:
        return read_object(folder / ASKED)
    except UnreadableJsonError:
        return Fields()


def totals(records: Iterable[Fields], *, price: Price | None) -> dict[str, Any]:
    """Totals over what :func:`replay.asking.clip_record.describe_asked` says of each question.

    Returns:
        ``usage`` (tokens), ``cost`` (US dollars, None when the price is not known; as if nothing
        had been reused from another run), ``counters`` (departures from the answer's format, and
        ``cut_off``), ``model_seconds`` (of the last attempt, in order of the folders) and
        ``served_by``.
    """
    usage, counters = Usage(), Counter[str]()
    seconds: list[float] = []
    served: set[str] = set()
    for asked in records:
        told = asked.table("usage")
        usage += Usage(**{name: told.count(name) or 0 for name in _TOKENS})
        departures = asked.table("departures")
        counters.update({name: departures.count(name) or 0 for name in departures.values})
        counters["answers_cut_off"] += asked.text("finish") == "length"
        if not asked.values.get("from_cache"):
            seconds.append(asked.number("seconds") or 0.0)
        served.add(asked.text("served_by"))
    return {
        "usage": asdict(usage),
        "cost": None if price is None else round(price.of(usage), 6),
        "counters": dict(sorted((+counters).items())),
        "model_seconds": seconds,
        "served_by": sorted(served - {""}),
    }


def count_spent(ledger: Ledger, responses: Iterable[Response]) -> None:
    """Put what a folder's responses cost before on the account."""
    for response in responses:
        price = ledger.price_of(response.model)
        ledger.spent += 0.0 if price is None else price.of(response.completion.usage)
