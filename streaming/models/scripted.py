"""Answers from a recording, for tests and for replays without a model.

A recording is JSON lines, one answer a line::

    {"turn": 0, "answer": {...}}
    {"key": "3f2a…", "answer": {...}}

``answer`` holds the fields of :class:`streaming.events.Answer` as in a trace. A line with ``key``
answers the query of that :func:`query_key`, one with ``turn`` the query of that number; the key
wins. A trace is a recording too: its final ``Answer`` lines answer the turns that they name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from streaming.events import Answer
from streaming.grounding_query import ModelError, Query
from streaming.trace import TraceError, decode_event, dump_line, encode_event


class ScriptedModel:
    """Says what a recording says.

    Args:
        path: The recording.

    Raises:
        ModelError: If it cannot be read.
    """

    name: str = "scripted"
    coord_order: Literal["xy", "yx"] = "xy"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._by_turn: dict[int, Answer] = {}
        self._by_key: dict[str, Answer] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"recording {path} cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if line.strip():
                self._take(line, number)

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        """The recorded answer.

        Raises:
            ModelError: If there is none for this query.
        """
        key = query_key(query)
        found = self._by_key.get(key) or self._by_turn.get(query.turn)
        if found is None:
            raise ModelError(
                f"{self._path} has no answer for turn {query.turn} (key {key[:12]}); it holds "
                f"turns {sorted(self._by_turn)} and {len(self._by_key)} keys"
            )
        yield replace(found, turn=query.turn)

    def _take(self, line: str, number: int) -> None:
        where = f"{self._path}, line {number}"
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise ModelError(f"{where} is no JSON: {error}") from error
        if not isinstance(entry, dict):
            raise ModelError(f"{where} is no JSON object")
        if entry.get("type") == "Answer":
            answer = _decoded(entry, where)
            if answer.final:
                self._by_turn[answer.turn] = answer
        elif "answer" in entry:
            self._take_entry(entry, where)
        elif "type" not in entry:
            raise ModelError(f"{where} has neither an answer nor a trace's event type")

    def _take_entry(self, entry: dict[str, Any], where: str) -> None:
        fields = entry["answer"]
        if not isinstance(fields, dict):
            raise ModelError(f"{where}: answer is no JSON object")
        answer = _decoded({"turn": entry.get("turn", 0), **fields, "type": "Answer"}, where)
        if "key" in entry:
            self._by_key[str(entry["key"])] = answer
        elif isinstance(entry.get("turn"), int):
            self._by_turn[entry["turn"]] = answer
        else:
            raise ModelError(f"{where} names neither a turn nor a key")


def query_key(query: Query) -> str:
    """Digest of what a query asks: its words, options, moments and pictures, in hex."""
    digest = hashlib.sha256()
    asked = {
        "objects": query.task.object_choices,
        "spaces": query.task.space_choices,
        "words": [[word.text, round(word.onset, 3)] for word in query.words],
        "pointed": [
            [one.kind, None if one.time is None else round(one.time, 3), one.stroke]
            for one in query.pointed
        ],
    }
    digest.update(json.dumps(asked, ensure_ascii=False, sort_keys=True).encode())
    if query.last is not None:
        digest.update(query.last.image.tobytes())
    return digest.hexdigest()


def recorded(query: Query, answer: Answer) -> str:
    """One line of a recording, without the line end."""
    line = encode_event(
        answer, known_at=query.asked_at, emitted_at=query.asked_at, stage="answering"
    )
    for outside in ("type", "known_at", "emitted_at", "stage"):
        del line[outside]
    return dump_line({"key": query_key(query), "turn": query.turn, "answer": line})


def _decoded(entry: dict[str, Any], where: str) -> Answer:
    try:
        answer = decode_event(entry)
    except TraceError as error:
        raise ModelError(f"{where}: {error}") from error
    assert isinstance(answer, Answer)
    return answer
