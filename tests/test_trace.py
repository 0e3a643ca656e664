"""The trace: every event type is written and read back as it was."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming import events
from streaming.events import Partial, Stroke, StrokesSeen, Word
from streaming.trace import RECORDED, TraceError, decode_event, dump_line, encode_event

NUMBERS = st.floats(-1e5, 1e5).map(lambda value: round(value, 6))
TEXTS = st.text(max_size=8)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type, with numbers as the trace rounds them."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return made(typing.cast(type, hint))
    if origin in (typing.Union, types.UnionType):
        return st.one_of(st.none(), *(values(part) for part in parts if part is not type(None)))
    if origin is typing.Literal:
        return st.sampled_from(parts)
    if origin is tuple and parts[1:] == (Ellipsis,):
        return st.lists(values(parts[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, parts))
    return {
        float: NUMBERS,
        int: st.integers(-(2**40), 2**40),
        bool: st.booleans(),
        str: TEXTS,
    }[hint]


def made(kind: type) -> st.SearchStrategy[Any]:
    """Events of a type; spans run forwards, as the types insist."""
    hints = typing.get_type_hints(kind, vars(events))
    fields = {
        field.name: values(hints[field.name])
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
    }

    def build(chosen: dict[str, Any]) -> Any:
        for end in ("offset", "apex"):
            if "onset" in chosen and end in chosen:
                chosen["onset"], chosen[end] = sorted((chosen["onset"], chosen[end]))
        return kind(**chosen)

    return st.fixed_dictionaries(fields).map(build)


@pytest.mark.parametrize("kind", RECORDED, ids=lambda kind: kind.__name__)
@given(chosen=st.data())
def test_event_reads_back_as_it_was_written(kind: type, chosen: st.DataObject) -> None:
    event = chosen.draw(made(kind))
    line = encode_event(event, known_at=1.25, emitted_at=1.5, stage="source", finish=True)
    text = dump_line(line)
    assert "\n" not in text
    read = json.loads(text)
    assert decode_event(read) == event
    assert (read["known_at"], read["emitted_at"], read["finish"]) == (1.25, 1.5, True)
    assert dump_line(read) == text


def test_watermark_of_the_whole_stream_reads_back() -> None:
    line = encode_event(StrokesSeen(until=math.inf), known_at=1.0, emitted_at=1.0, stage="seeing")
    assert decode_event(json.loads(dump_line(line))) == StrokesSeen(until=math.inf)


def test_number_that_is_none_is_refused_when_written() -> None:
    broken = Stroke(index=0, onset=0.0, apex=1.0, tip=(math.nan, 0.0), knuckle=(0.0, 0.0))
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_line(encode_event(broken, known_at=1.0, emitted_at=1.0, stage="seeing"))


WORD = encode_event(
    Word(text="this", onset=1.0, offset=1.2), known_at=1.0, emitted_at=1.0, stage="hearing"
)


@pytest.mark.parametrize(
    "damage",
    [
        {"type": "Wurd"},
        {"type": None},
        {"onset": "soon"},
        {"onset": 2.0},
        {"text": 7},
        {"utterance": True},
        {"utterance": 1.5},
        {"timed": None},
    ],
)
def test_damaged_line_is_refused_by_name(damage: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match=r"unknown event type|Word event: "):
        decode_event(WORD | damage)


def test_missing_field_is_refused() -> None:
    with pytest.raises(TraceError, match="Partial event: "):
        decode_event({"type": "Partial", "utterance": 0})
    assert decode_event({"type": "Partial", "utterance": 0, "words": []}) == Partial(
        utterance=0, words=()
    )
