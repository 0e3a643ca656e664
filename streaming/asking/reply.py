"""From a model's text to referents, with all the forgiveness that does not guess.

The benchmark's own scorer takes a text to the letter (:mod:`replay.scoring.model_output`). This
reading is for live use, and for a second, "mended" score that shows how much of a model's failure
is form. It never raises, keeps the text as it is, and counts each departure from the format.

Counters: ``think_removed``; the repair by which JSON was found (``json_fence``, ``fence``,
``braces``, ``brackets_and_commas``, ``closing_bracket``), or ``trailing_commas`` (no more than
these), ``other_object`` (one further on in the text), ``cut_off`` (its end is missing),
``unparsable``, ``empty``; ``list_for_object``, ``wrapped`` (in an object of one field);
``label_with_text``, ``label_by_text``, ``label_case``, ``label_unknown``, ``label_missing``;
``several_points``, ``point_text``, ``number_text``, ``point_by_name``, ``box_for_point``,
``point_too_long``, ``fractions``, ``clamped``, ``point_missing``; ``time_text``, ``time_seconds``,
``time_missing``; ``fewer`` and ``more`` (than the referents asked for).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from streaming.asking.endpoint import CoordOrder
from streaming.asking.json_so_far import JsonSoFar
from streaming.asking.json_text import Repair, parse_output
from streaming.asking.reply_values import Labels, raw_point, scaled, times
from streaming.events import Counters, Referent
from streaming.grounding_choice import ReferentKind
from streaming.grounding_query import Task
from streaming.models.local_answer import benchmark_output

_KEYS = frozenset({"selected_options", "point_list", "explicit_command", "reasoning"})
_TIME_KEYS = ("timestamp", "timestamp_ms", "time", "time_ms")
_THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))
_MOST_REFERENTS = 16
_MOST_OBJECTS = 32
_LONGEST_MENDED = 200_000
"""Characters that are looked at to mend a text by our own means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model's text says.

    Attributes:
        raw: The text, untouched.
        referents: As many as were asked for, or as were found when that is open; points as
            ``(x, y)`` fractions of the frame.
        command: The whole instruction in words.
        reasoning: Why.
        readable: Whether there was JSON in it.
        counters: Departures from the format, by stable name.
    """

    raw: str = field(repr=False)
    referents: tuple[Referent, ...]
    command: str = ""
    reasoning: str = ""
    readable: bool = True
    counters: dict[str, int] = field(default_factory=dict)


def read_reply(text: str, *, task: Task, coord_order: CoordOrder) -> Reply:
    """What ``text`` answers to ``task``; points are in ``coord_order``. Never raises."""
    counters = Counters()
    value = _object_in(text, counters)
    fields = value if value is not None else {}
    return Reply(
        raw=text,
        referents=_referents(fields, task, coord_order, counters),
        command=_text(fields.get("explicit_command")),
        reasoning=_text(fields.get("reasoning")),
        readable=value is not None,
        counters=counters.counts,
    )


def normalised_output(reply: Reply) -> str:
    """The reply in the benchmark's output format: points ``[x, y]``, times in milliseconds."""
    return benchmark_output(reply.referents, reasoning=reply.reasoning, command=reply.command)


def without_thoughts(text: str) -> str:
    """A text without ``<think>`` blocks; of one that is still open, nothing is left after it."""
    for opening, closing in _THOUGHTS:
        if opening not in text and closing not in text:
            continue
        head, ended, rest = text.partition(closing)
        if ended and opening not in head:  # some servers send only the end
            text = rest
        kept, at = [], 0
        while (begin := text.find(opening, at)) >= 0:
            kept.append(text[at:begin])
            end = text.find(closing, begin)
            at = len(text) if end < 0 else end + len(closing)
        text = "".join(kept) + text[at:]
    return text


# --- the JSON --------------------------------------------------------------------------------


def _object_in(text: str, counters: Counters) -> dict[str, Any] | None:
    """The answer's object, wherever in the text it stands."""
    bare = without_thoughts(text)
    if bare != text:
        counters.add("think_removed")
    if not bare.strip():
        counters.add(Repair.EMPTY.value)
        return None
    parsed = parse_output(bare)
    if parsed.repair in (Repair.BRACKETS, Repair.CLOSING_BRACKET, Repair.UNPARSABLE):
        # The benchmark's way with brackets destroys several points; commas alone may do.
        found = _without_commas(bare)
        if found is not None:
            counters.add("trailing_commas")
            return found
    found = _as_object(parsed.value, counters)
    if found is not None:
        if parsed.repair is not Repair.NONE:
            counters.add(parsed.repair.value)
        return found
    for other in _objects(bare):
        if _KEYS & set(other):
            counters.add("other_object")
            return other
    cut = _cut_off(bare)
    counters.add("unparsable" if cut is None else "cut_off")
    return cut


def _without_commas(text: str) -> dict[str, Any] | None:
    braces = text[text.find("{") : text.rfind("}") + 1]
    return read_closed(re.sub(r",\s*([\]}])", r"\1", braces[:_LONGEST_MENDED]))


def _as_object(value: Any, counters: Counters) -> dict[str, Any] | None:
    if isinstance(value, dict):
        inner = list(value.values())
        if len(inner) == 1 and isinstance(inner[0], dict) and _KEYS & set(inner[0]):
            counters.add("wrapped")
            return inner[0]
        return value
    if isinstance(value, list) and value and isinstance(value[0], dict):
        if _KEYS & set(value[0]):
            counters.add("list_for_object")
            return value[0]
        if any(key in value[0] for key in ("point", *_TIME_KEYS)):
            counters.add("list_for_object")
            return {"point_list": value}
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects that begin at the first braces of a text."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _cut_off(text: str) -> dict[str, Any] | None:
    reader = JsonSoFar()
    reader.feed(text[:_LONGEST_MENDED])
    return read_closed(reader.closed())


def read_closed(closed: str) -> dict[str, Any] | None:
    """The object of what :class:`JsonSoFar` closed; None without one of the answer's fields."""
    try:
        value = json.loads(closed)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _KEYS & set(value) else None


# --- its referents ---------------------------------------------------------------------------


def _referents(
    fields: dict[str, Any], task: Task, order: CoordOrder, counters: Counters
) -> tuple[Referent, ...]:
    entries = _listed(fields.get("point_list"))
    chosen = _chosen(fields.get("selected_options"), entries)
    kinds = task.kinds
    count = len(kinds) if kinds is not None else max(len(entries), len(chosen))
    given = max(len(entries), len(chosen))
    if kinds is not None and given != count and fields:
        counters.add("more" if given > count else "fewer")
    entries = _padded(entries[:count], count)
    chosen = _padded(chosen[:count], count)
    points = scaled([raw_point(entry, order, counters) for entry in entries], counters)
    moments = times([_time_of(entry) for entry in entries], counters)
    labels = Labels.of((*task.object_choices, *task.space_choices))
    made = []
    for position, entry in enumerate(entries):
        label = labels.find(chosen[position], counters) if labels.texts else None
        _count_missing(label if labels.texts else "", points[position], moments[position], counters)
        made.append(
            Referent(
                kind=_kind(entry, label, kinds, position),
                point=points[position],
                time=moments[position],
                label=label,
                description=_description(entry, label, labels),
            )
        )
    return tuple(made)


def _count_missing(label: Any, point: Any, moment: Any, counters: Counters) -> None:
    for name, value in (("label", label), ("point", point), ("time", moment)):
        if value is None:
            counters.add(f"{name}_missing")


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict):  # one referent without its list, or a list by number
        if any(key in value for key in ("point", *_TIME_KEYS)):
            return [value]
        value = list(value.values())
    return value[:_MOST_REFERENTS] if isinstance(value, list) else []


def _chosen(value: Any, entries: Sequence[Any]) -> list[Any]:
    """The options as the model names them, in order."""
    if isinstance(value, str):
        value = _split(value)
    elif isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [_label_in(one) for one in value[:_MOST_REFERENTS]]
    return [_label_in(entry) if isinstance(entry, dict) else None for entry in entries]


def _split(text: str) -> list[str]:
    """``A, b`` as two labels; a text with spaces in its parts is one option."""
    parts = [part.strip() for part in re.split(r"[,;，；、|]|->|→", text[:400])]
    return parts if all(0 < len(part) <= 3 for part in parts) else [text]


def _label_in(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return value
    keys = ("label", "option", "choice", "selected_option", "id")
    return next((value[key] for key in keys if key in value), None)


def _time_of(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return None
    return next((entry[key] for key in _TIME_KEYS if key in entry), None)


def _kind(
    entry: Any, label: str | None, kinds: Sequence[ReferentKind] | None, position: int
) -> ReferentKind:
    if kinds is not None:
        return kinds[position]
    said = _text(entry.get("type")).lower() if isinstance(entry, dict) else ""
    if said.startswith(("spatial", "space", "place")):
        return "space"
    if not said and label is not None and label.islower():
        return "space"
    return "object"


def _description(entry: Any, label: str | None, labels: Labels) -> str:
    said = _text(entry.get("description")) if isinstance(entry, dict) else ""
    return said or (labels.texts.get(label, "") if label is not None else "")


def _padded(values: list[Any], count: int) -> list[Any]:
    return values + [None] * (count - len(values))


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
