"""Answers from a recording."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from streaming.events import Answer, Referent
from streaming.grounding import ModelError, Query
from streaming.models.scripted import ScriptedModel, query_key, recorded
from streaming.trace import dump_line, encode_event
from tests.table_maker import RED, Item, pointing_at, query, table

MUG = Item(x=200, y=260, width=40, height=40, colour=RED)


def asked(turn: int = 0) -> Query:
    return replace(query(table((MUG,)), [pointing_at(MUG.middle)]), turn=turn)


def answer(turn: int = 0, text: str = "the mug") -> Answer:
    referent = Referent(kind="object", point=(0.3, 0.5), time=1.1, label="A", confidence=0.9)
    return Answer(turn=turn, referents=(referent,), frame_time=10.0, text=text, model="local")


async def answers(path: Path, question: Query) -> list[Answer]:
    return [one async for one in ScriptedModel(path).ground(question)]


async def test_recorded_answer_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(recorded(asked(), answer()) + "\n", encoding="utf-8")
    assert await answers(path, asked(turn=3)) == [answer(turn=3)]


async def test_turn_answers_when_there_is_no_key(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    fields = {"referents": [], "frame_time": 2.0, "text": "hello"}
    path.write_text(json.dumps({"turn": 1, "answer": fields}) + "\n\n", encoding="utf-8")
    (found,) = await answers(path, asked(turn=1))
    assert found.text == "hello"


async def test_trace_is_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    lines = [
        {"type": "Header", "format": 1},
        encode_event(
            replace(answer(text="partial"), final=False),
            known_at=1.0,
            emitted_at=1.0,
            stage="answering",
        ),
        encode_event(answer(text="whole"), known_at=1.0, emitted_at=1.2, stage="answering"),
        {"type": "End", "complete": True},
    ]
    path.write_text("\n".join(dump_line(line) for line in lines), encoding="utf-8")
    (found,) = await answers(path, asked())
    assert found.text == "whole"


async def test_missing_answer_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"turn": 0, "answer": {"referents": [], "frame_time": 0}}))
    with pytest.raises(ModelError, match=r"no answer for turn 5 .*holds turns \[0\]"):
        await answers(path, asked(turn=5))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "line 1 is no JSON"),
        ("[1]", "line 1 is no JSON object"),
        ('{"answer": 3, "turn": 0}', "answer is no JSON object"),
        ('{"answer": {"referents": [], "frame_time": 0}}', "neither a turn nor a key"),
        ('{"turn": 0}', "neither an answer nor a trace's event type"),
        ('{"turn": 0, "answer": {"referents": [{}]}}', "line 1"),
    ],
)
def test_broken_recording_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=complaint):
        ScriptedModel(path)


def test_absent_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        ScriptedModel(tmp_path / "none.jsonl")


def test_key_tells_questions_apart() -> None:
    other = replace(asked(), pointed=(replace(asked().pointed[0], time=9.0),))
    assert query_key(asked()) == query_key(asked(turn=4))
    assert query_key(asked()) != query_key(other)
