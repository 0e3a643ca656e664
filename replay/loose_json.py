"""Reading JSON that others wrote: nothing in it is trusted, nothing in it raises later.

A :class:`Fields` gives each value with the type that was asked for, or an empty one of that type.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LONGEST_FILE = 256 * 1024 * 1024
"""A JSON document above this many bytes is refused, not read into memory."""


class UnreadableJsonError(ValueError):
    """Text that is no JSON, or no JSON that can be used here; the message says why."""


def _refuse_constant(name: str) -> None:
    raise UnreadableJsonError(f"{name} is no JSON number")


def parse(text: str | bytes) -> Any:
    """The value of a JSON text. NaN and the infinities are refused, as the standard says.

    Raises:
        UnreadableJsonError: If it cannot be parsed, whatever the reason.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise UnreadableJsonError(f"no UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise UnreadableJsonError(f"{error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise UnreadableJsonError("nested too deeply") from error
    except ValueError as error:  # an integer of thousands of digits
        raise UnreadableJsonError(str(error)) from error


def parse_object(text: str | bytes) -> Fields:
    """The fields of a JSON object.

    Raises:
        UnreadableJsonError: If it is something else.
    """
    value = parse(text)
    if not isinstance(value, dict):
        raise UnreadableJsonError(f"expected an object, got {type(value).__name__}")
    return Fields(value)


def read_object(path: Path) -> Fields:
    """The fields of the JSON object in a file.

    Raises:
        UnreadableJsonError: If the file is absent, too long, or holds something else.
    """
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise UnreadableJsonError(f"{path.name}: over {LONGEST_FILE} bytes")
        return parse_object(path.read_bytes())
    except OSError as error:
        raise UnreadableJsonError(f"{path.name}: {error.strerror or error}") from error
    except UnreadableJsonError as error:
        raise UnreadableJsonError(f"{path.name}: {error}") from error


def finite(value: Any) -> float | None:
    """``value`` as a finite float, or None when it is none (a bool is none)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object whose values are asked for by type."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key)
        return value if isinstance(value, str) else default

    def number(self, key: str) -> float | None:
        return finite(self.values.get(key))

    def count(self, key: str) -> int | None:
        number = self.number(key)
        return None if number is None else int(number)

    def flag(self, key: str) -> bool | None:
        value = self.values.get(key)
        return value if isinstance(value, bool) else None

    def table(self, key: str) -> Fields:
        value = self.values.get(key)
        return Fields(value) if isinstance(value, dict) else Fields()

    def tables(self, key: str) -> list[Fields]:
        return [Fields(item) for item in self.items(key) if isinstance(item, dict)]

    def texts(self, key: str) -> list[str]:
        return [item for item in self.items(key) if isinstance(item, str)]

    def numbers(self, key: str) -> list[float]:
        return [number for item in self.items(key) if (number := finite(item)) is not None]

    def items(self, key: str) -> list[Any]:
        value = self.values.get(key)
        return value if isinstance(value, list) else []

    def children(self) -> dict[str, Fields]:
        """The values that are objects themselves, by key."""
        return {key: Fields(value) for key, value in self.values.items() if isinstance(value, dict)}

    def all_numbers(self) -> dict[str, float]:
        """The values that are numbers, by key."""
        return {key: number for key in self.values if (number := self.number(key)) is not None}

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def __bool__(self) -> bool:
        return bool(self.values)
