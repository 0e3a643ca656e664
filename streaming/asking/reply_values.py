"""Labels, points and times as models write them, whatever their spelling.

Nothing here raises, whatever the value; what could not be read is None. Each departure from the
asked-for format is counted under a stable name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from streaming.asking.endpoint import CoordOrder
from streaming.events import Counters, Point, Seconds

_LONGEST_TEXT = 400
"""Labels, numbers and points are short; what is longer is prose."""
_OPTION = re.compile(r"\s*([A-Za-z0-9]{1,3})\s*[.．、:：)）\]]\s*(.*)", re.DOTALL)
_NAMED = re.compile(
    r"(?:option|choice|label|answer|object|space|选项|选择|答案|物体|位置)\s*[:：]?\s*"
    r"[(（\[\"']?\s*([A-Za-z0-9]{1,3})\b",
    re.IGNORECASE,
)
_BARE = re.compile(r"[\s(（\[{<\"'“‘*`]*([A-Za-z0-9]{1,3})[\s)）\]}>\"'”’*`.．、,，:：]*\Z")
_NUMBER = re.compile(r"[-+]?\d{1,12}(?:\.\d{1,12})?(?:[eE][-+]?\d{1,2})?")
_TIME = re.compile(
    r"\s*(?P<number>[-+]?\d{1,12}(?:\.\d{1,12})?)\s*"
    r"(?P<unit>ms|msec|msecs|millis|milliseconds?|毫秒|s|sec|secs|seconds?|秒)?\s*\Z",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\s*(?:(\d{1,2}):)?(\d{1,2}):(\d{1,2}(?:[.,]\d{1,6})?)\s*\Z")
_SECONDS_BELOW = 100.0
"""Times that are all below this, one of them with a fraction, are seconds and no milliseconds."""


def number(value: Any) -> float | None:
    """A finite number, also from a text such as ``" 350 "``; None when it is none."""
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT or not _NUMBER.fullmatch(value.strip()):
            return None
        value = value.strip()
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        read = float(value)
    except (OverflowError, ValueError):
        return None
    return read if math.isfinite(read) else None


# --- labels ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The options of a task, to find what a model chose.

    Attributes:
        texts: Text of each option by its label, without the label.
    """

    texts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, choices: Sequence[str]) -> Labels:
        """From options such as ``A. Red mug``."""
        texts: dict[str, str] = {}
        for choice in choices:
            parted = _OPTION.fullmatch(choice)
            label, text = parted.groups() if parted else (choice.strip(), choice)
            texts.setdefault(label, text.strip())
        return cls(texts=texts)

    def find(self, value: Any, counters: Counters) -> str | None:
        """The label that is meant; None when there is none."""
        text = str(value).strip() if isinstance(value, str | int) else ""
        if not text:
            return None
        if text in self.texts:
            return text
        if len(text) > _LONGEST_TEXT:
            counters.add("label_unknown")
            return None
        for candidate in _spelled(text):
            if candidate in self.texts:
                counters.add("label_with_text")
                return candidate
        label = self._by_text(text)
        if label is not None:
            counters.add("label_by_text")
            return label
        for candidate in _spelled(text):
            other = candidate.swapcase()
            if other in self.texts:
                counters.add("label_case")
                return other
        counters.add("label_unknown")
        return None

    def _by_text(self, text: str) -> str | None:
        """The one option whose text is meant by ``text``."""
        sought = _plain(text)
        if not sought:
            return None
        plain = {label: _plain(option) for label, option in self.texts.items()}
        for fits in (
            [label for label, option in plain.items() if option == sought],
            [label for label, option in plain.items() if option and option in sought],
            [label for label, option in plain.items() if len(sought) > 3 and sought in option],
        ):
            if len(fits) == 1:
                return fits[0]
        return None


def _spelled(text: str) -> Iterator[str]:
    """Labels that a text may begin with or name: ``A. Cup``, ``(a)``, ``Option A``."""
    bare = _BARE.match(text)
    if bare:
        yield bare[1]
    named = _NAMED.match(text.lstrip(" *\"'“‘(（[`"))
    if named:
        yield named[1]
    parted = _OPTION.match(text.lstrip(" *\"'“‘(（[`"))
    if parted:
        yield parted[1]


def _plain(text: str) -> str:
    """A text without case, spaces and punctuation."""
    return "".join(character for character in text.casefold() if character.isalnum())


# --- points ----------------------------------------------------------------------------------

_POINT_KEYS = ("point", "points", "point_2d", "coordinates", "position", "box_2d", "bbox_2d")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawPoint:
    """Two numbers as the model gave them, order already ``(x, y)``, scale not yet known."""

    x: float
    y: float
    fraction: bool


def raw_point(entry: Any, order: CoordOrder, counters: Counters) -> RawPoint | None:
    """The point of an entry of ``point_list``; of several, their mean."""
    value = entry
    if isinstance(entry, dict):
        value = next((entry[key] for key in _POINT_KEYS if key in entry), entry)
    pairs = _pairs(value, order, counters)
    if not pairs:
        return None
    if len(pairs) > 1:
        counters.add("several_points")
    x = sum(pair[0] for pair in pairs) / len(pairs)
    y = sum(pair[1] for pair in pairs) / len(pairs)
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    whole = all(float(part).is_integer() for pair in pairs for part in pair)
    return RawPoint(x=x, y=y, fraction=not whole)


def _pairs(value: Any, order: CoordOrder, counters: Counters) -> list[tuple[float, float]]:
    if isinstance(value, dict):
        x, y = number(value.get("x")), number(value.get("y"))
        if x is None or y is None:
            return []
        counters.add("point_by_name")
        return [(x, y)]
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            return []
        numbers: list[Any] = [found[0] for found in _NUMBER.finditer(value)]
        if numbers:
            counters.add("point_text")
        return _paired([number(one) for one in numbers], order, counters)
    if not isinstance(value, list) or not value:
        return []
    if isinstance(value[0], list | dict) or (
        isinstance(value[0], str) and number(value[0]) is None
    ):
        return [
            pair for one in value[:64] if one is not value for pair in _one(one, order, counters)
        ]
    if any(isinstance(one, str) for one in value[:4]):
        counters.add("number_text")
    return _paired([number(one) for one in value[:5]], order, counters)


def _one(value: Any, order: CoordOrder, counters: Counters) -> list[tuple[float, float]]:
    """A point inside a list of points; lists in it are no points any more."""
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return []
    return _pairs(value, order, counters)


def _paired(
    numbers: Sequence[float | None], order: CoordOrder, counters: Counters
) -> list[tuple[float, float]]:
    read = [one for one in numbers if one is not None]
    if len(read) != len(numbers) or len(read) < 2:
        return []
    first, second = read[0], read[1]
    if len(read) == 4:
        counters.add("box_for_point")
        first, second = (read[0] + read[2]) / 2, (read[1] + read[3]) / 2
    elif len(read) > 2:
        counters.add("point_too_long")
    return [(first, second) if order == "xy" else (second, first)]


def scaled(points: Sequence[RawPoint | None], counters: Counters) -> list[Point | None]:
    """Points as fractions of the frame: thousandths, unless all of a reply are fractions already.

    A point that lies outside the frame is moved to its border.
    """
    known = [point for point in points if point is not None]
    fractions = any(point.fraction for point in known) and all(
        0 <= part <= 1 for point in known for part in (point.x, point.y)
    )
    if fractions:
        counters.add("fractions")
    scale = 1.0 if fractions else 1000.0
    found: list[Point | None] = []
    for point in points:
        if point is None:
            found.append(None)
            continue
        x, y = point.x / scale, point.y / scale
        inside = (min(1.0, max(0.0, x)), min(1.0, max(0.0, y)))
        if inside != (x, y):
            counters.add("clamped")
        found.append(inside)
    return found


# --- times -----------------------------------------------------------------------------------


def times(values: Sequence[Any], counters: Counters) -> list[Seconds | None]:
    """Media times, from milliseconds unless a unit or all of them together say otherwise.

    Numbers without a unit are seconds only when all of a reply are below a hundred and one of them
    has a fraction. A time below zero stands for none.
    """
    read = [_time(value) for value in values]
    bare = [one.number for one in read if one is not None and one.unit == ""]
    seconds = (
        bool(bare)
        and all(abs(one) < _SECONDS_BELOW for one in bare)
        and any(one != int(one) for one in bare)
    )
    found: list[Seconds | None] = []
    for value, one in zip(values, read, strict=True):
        if one is None or one.number < 0:
            found.append(None)
            continue
        if isinstance(value, str):
            counters.add("time_text")
        if one.unit == "s" or (one.unit == "" and seconds):
            counters.add("time_seconds")
            found.append(one.number)
        else:
            found.append(one.number / 1000.0)
    return found


@dataclass(frozen=True, slots=True)
class _Time:
    number: float
    unit: str


def _time(value: Any) -> _Time | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        read = number(value)
        return None if read is None else _Time(read, "")
    if len(value) > _LONGEST_TEXT:
        return None
    value = re.sub(r"</?timestamp_ms>", " ", value).strip()
    clock = _CLOCK.match(value)
    if clock:
        hours, minutes, seconds = clock.groups()
        total = 3600 * int(hours or 0) + 60 * int(minutes) + float(seconds.replace(",", "."))
        return _Time(total, "s")
    plain = _TIME.match(value)
    if plain is None:
        return None
    unit = (plain["unit"] or "").lower()
    if unit:
        unit = "ms" if unit.startswith(("ms", "mil", "毫")) else "s"
    return _Time(float(plain["number"]), unit)
