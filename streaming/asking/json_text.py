"""From a model's text to the JSON value that stands in it.

EcoG-Bench's own way, step by step, oddities included. The text is tried, in this order:

1. inside a ```` ```json ```` fence; as it is; inside any fence; from the first ``{`` to the last
   ``}``;
2. then, on that last, ``]]`` to ``]``, ``}}`` to ``}`` and trailing commas removed, together. This
   also destroys several points for one referent;
3. then a missing ``]`` before the last two braces when only white space parts them.

A number that Python refuses to read, or nesting too deep for it, ends the search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Repair(StrEnum):
    """What it took to parse an output."""

    NONE = "none"
    JSON_FENCE = "json_fence"
    FENCE = "fence"
    BRACES = "braces"
    BRACKETS = "brackets_and_commas"
    CLOSING_BRACKET = "closing_bracket"
    UNPARSABLE = "unparsable"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """An output's JSON value, None when there is none, and what it took to get at it."""

    value: Any
    repair: Repair


def parse_output(text: str) -> Parsed:
    """The JSON value that stands in a model's text, with the benchmark's own repairs."""
    text = text.strip()
    if not text:
        return Parsed(value=None, repair=Repair.EMPTY)
    for repair, candidate in _candidates(text):
        try:
            return Parsed(value=json.loads(candidate), repair=repair)
        except json.JSONDecodeError:
            continue
        except (ValueError, RecursionError):
            break
    return Parsed(value=None, repair=Repair.UNPARSABLE)


def _candidates(text: str) -> Iterator[tuple[Repair, str]]:
    _, opened, rest = text.partition("```json")
    if opened:
        # The next mark of the same kind ends it too, as it begins with a fence.
        yield Repair.JSON_FENCE, rest.partition("```")[0].strip()
    yield Repair.NONE, text
    _, opened, rest = text.partition("```")
    inside, closed, _ = rest.partition("```")
    if opened and closed:
        yield Repair.FENCE, inside.removeprefix("json").strip()
    first, last = text.find("{"), text.rfind("}")
    if first < 0 or last < first:
        return
    braces = text[first : last + 1]
    yield Repair.BRACES, braces
    mended = braces.replace("]]", "]").replace("}}", "}")
    mended = re.sub(r",\s*([\]}])", r"\1", mended)
    yield Repair.BRACKETS, mended
    yield Repair.CLOSING_BRACKET, re.sub(r"\}\s*\}\Z", "}]}", mended)
