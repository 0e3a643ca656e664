"""The trace: JSON lines, one event a line, the same encoding as the live feed.

Line 1 is the header (``"type": "Header"``); then events in order of ``known_at``; the last line is
``"type": "End"``. Every event line has

* ``type``: name of the event's class in :mod:`streaming.events`,
* ``known_at``: media watermark at which it became known, seconds,
* ``emitted_at``: session clock at which it was emitted, seconds (equals ``known_at`` in ``fast``),
* ``stage``: ``source``, ``hearing``, ``seeing``, ``understanding`` or ``answering``,
* ``finish``: true when only the end of the stream brought it out (absent otherwise),

and the event's own fields. Pictures and sound are not written. Times are rounded to the
microsecond, other numbers to six digits, so that a line reads back to what was written. All that
depends on the wall clock of a run in ``fast`` pace stands in the ``wall`` field of the last line.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from typing import Any

from streaming import events as _events
from streaming.events import (
    AudioBlock,
    Event,
    Seconds,
    Speech,
    SpeechSeen,
    VideoFrame,
    WordsSeen,
)

FORMAT_VERSION = 1
UNRECORDED: tuple[type, ...] = (AudioBlock, VideoFrame, Speech, SpeechSeen, WordsSeen)
"""Pictures, sound, and watermarks that later lines imply."""
RECORDED: tuple[type, ...] = tuple(
    kind for kind in typing.get_args(Event) if kind not in UNRECORDED
)
_KINDS: dict[str, type] = {kind.__name__: kind for kind in RECORDED}


class TraceError(ValueError):
    """A line that is no trace line; the text says which and why."""


def encode_event(
    event: Any, *, known_at: Seconds, emitted_at: Seconds, stage: str, finish: bool = False
) -> dict[str, Any]:
    """The JSON object of one event."""
    line: dict[str, Any] = {
        "type": type(event).__name__,
        "known_at": round(known_at, 6),
        "emitted_at": round(emitted_at, 6),
        "stage": stage,
    }
    if finish:
        line["finish"] = True
    line.update(_plain(event))
    return line


def dump_line(line: dict[str, Any]) -> str:
    """One line of JSON, without the line end."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def decode_event(line: dict[str, Any]) -> Any:
    """The event of a JSON object made by :func:`encode_event`.

    Raises:
        TraceError: If the type is unknown or its fields do not fit.
    """
    kind = _KINDS.get(str(line.get("type")))
    if kind is None:
        raise TraceError(f"unknown event type {line.get('type')!r}")
    try:
        typed: Any = _typed(kind, line)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise TraceError(f"{line.get('type')} event: {error}") from error
    return typed


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, float):
        # JSON has no infinity; a watermark of the whole stream is written as null.
        return round(value, 6) if abs(value) != float("inf") else None
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, vars(_events))


def _typed(hint: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, dict):
            raise TypeError(f"expected an object, got {value!r}")
        hints = _hints(hint)
        fields = {
            field.name: _typed(hints[field.name], value[field.name])
            for field in dataclasses.fields(hint)
            if field.name in value
        }
        return hint(**fields)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _typed(next(part for part in parts if part is not type(None)), value)
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(_typed(parts[0], item) for item in value)
        return tuple(_typed(part, item) for part, item in zip(parts, value, strict=True))
    if hint is float:
        return float("inf") if value is None else float(value)
    if origin is typing.Literal:
        if value not in parts:
            raise ValueError(f"{value!r} is not one of {', '.join(map(repr, parts))}")
    elif isinstance(hint, type) and (
        not isinstance(value, hint) or (hint is int and isinstance(value, bool))
    ):
        raise TypeError(f"expected {hint.__name__}, got {value!r}")
    return value
