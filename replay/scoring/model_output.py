"""Reading what a model answered to an EcoG-Bench question.

The benchmark's own way from text to labels and points, step by step, oddities included:

1. The JSON is found in the text, with its repairs, as in :mod:`streaming.asking.json_text`.
2. A number that Python refuses to read, or nesting too deep for it, ends the search.
3. A list that begins with an object stands for that object, and then ``[y, x]`` is *not* swapped.
4. ``[y, x]`` is swapped over the whole ``point_list``, entries past the last referent included: an
   entry that this stumbles over spoils the clip. Three numbers are not swapped; of several points,
   the first one's length decides.
5. ``point_list`` absent means none; ``null``, a number, or a non-empty text or object spoils the
   clip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from streaming.asking.json_text import Parsed, Repair, parse_output

__all__ = [
    "STUMBLES",
    "BrokenAnswerError",
    "ModelAnswer",
    "Parsed",
    "Repair",
    "parse_output",
    "point_in_pixels",
    "understand",
]


class BrokenAnswerError(ValueError):
    """Structure that the benchmark's own scorer cannot take; it makes the whole clip 0."""


STUMBLES = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading and scoring hostile values raises; each makes the whole clip 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """Labels and points of one output.

    Attributes:
        labels: ``selected_options`` as stripped texts.
        entries: ``point_list`` with points as ``[x, y]``, otherwise as the model wrote it.
    """

    labels: tuple[str, ...] = ()
    entries: Sequence[Any] = ()


def understand(value: Any, coord_order: Literal["xy", "yx"]) -> ModelAnswer:
    """Labels and points of a parsed output.

    Raises:
        BrokenAnswerError: If its structure makes the whole clip 0.
    """
    swapped = coord_order == "yx"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value, swapped = value[0], False
    if not isinstance(value, dict):
        raise BrokenAnswerError(f"the output is {_kind(value)}, expected an object")
    try:
        labels = tuple(_labels(value.get("selected_options", [])))
    except STUMBLES as error:
        raise BrokenAnswerError(f"selected_options: {error}") from error
    entries = value.get("point_list", [])
    if not isinstance(entries, list):
        if isinstance(entries, str | dict) and not entries:
            return ModelAnswer(labels=labels)
        raise BrokenAnswerError(f"point_list is {_kind(entries)}, expected a list")
    if swapped:
        entries = [_map_point(entry, _swap) for entry in entries]
    return ModelAnswer(labels=labels, entries=entries)


def _labels(selected: Any) -> Iterator[str]:
    if isinstance(selected, str):
        selected = [selected]
    for label in selected if isinstance(selected, list) else []:
        yield str(label).strip()


def _map_point(entry: Any, change: Callable[[list[Any]], Any]) -> Any:
    try:
        if "point" not in entry or not isinstance(entry["point"], list):
            return entry
        return {**entry, "point": change(entry["point"])}
    except STUMBLES as error:
        raise BrokenAnswerError(f"a point_list entry is {_kind(entry)}: {error}") from error


def _swap(point: list[Any]) -> list[Any]:
    if len(point) == 2 and isinstance(point[0], int | float):
        return [point[1], point[0]]
    if point and isinstance(point[0], list) and len(point[0]) == 2:
        return [[each[1], each[0]] for each in point]
    return point


def point_in_pixels(point: Any, *, width: int, height: int) -> tuple[int, int] | None:
    """The pixel that an answered point names, truncated; None when there is no point.

    Args:
        point: ``[x, y]`` in thousandths, or several such, whose mean counts. Further numbers of a
            point are passed over.
        width, height: Of the video, in pixels.

    Raises:
        BrokenAnswerError: If it is a text, a number, or a list of something else.
    """
    if not point:
        return None
    if not isinstance(point, list):
        raise BrokenAnswerError(f"a point is {_kind(point)}, expected two numbers")
    try:
        x, y = _mean(point) if isinstance(point[0], list) else (point[0], point[1])
        return int(x * width / 1000), int(y * height / 1000)
    except STUMBLES as error:
        raise BrokenAnswerError(f"a point is no pair of numbers: {error}") from error


def _mean(points: list[Any]) -> tuple[float, float]:
    count = len(points)
    return sum(each[0] for each in points) / count, sum(each[1] for each in points) / count


def _kind(value: Any) -> str:
    return "null" if value is None else f"a {type(value).__name__}"
