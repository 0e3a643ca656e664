"""Builders for tests of the endpoint of OpenAI-compatible servers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from streaming.asking.endpoint import (
    AttemptFailed,
    Completion,
    Generation,
)
from streaming.asking.request import Part, PicturePart, Request, TextPart
from streaming.models.openai_chat import OpenAiEndpoint
from tests.standins.http_server import Told
from tests.standins.openai_chat import (
    MODEL,
    event,
)

KEY = "sk-thisKeyIsSecret0123456789"
JPEG = b"\xff\xd8\xff\xe0 a picture"
SCHEMA = {
    "type": "object",
    "properties": {"selected_options": {"type": "array", "items": {"type": "string"}}},
    "required": ["selected_options"],
    "additionalProperties": False,
}


def request(*parts: Part, schema: dict[str, Any] | None = SCHEMA) -> Request:
    return Request(
        system="Answer in JSON.",
        parts=parts or (TextPart(text="Which one?"), PicturePart(jpeg=JPEG, until=1.0)),
        schema=schema,
        interface="frames",
        prompt="en/1",
        words="ours",
        asked_at=2.0,
    )


@asynccontextmanager
async def endpoint(
    url: str, *, key: str | None = None, model: str = MODEL, **more: Any
) -> AsyncIterator[OpenAiEndpoint]:
    opened = OpenAiEndpoint(model, key=key, base_url=url, **more)
    try:
        yield opened
    finally:
        await opened.aclose()


async def answer_of(
    opened: OpenAiEndpoint, asked: Request | None = None, **generation: Any
) -> Completion:
    """The completion; the pieces must add up to it."""
    pieces: list[str] = []
    async for told in opened.stream(
        asked or request(), Generation(**{"within": 20.0} | generation)
    ):
        if isinstance(told, Completion):
            assert "".join(pieces) == told.text
            return told
        pieces.append(told.text)
    raise AssertionError("no completion came")


async def failure_of(opened: OpenAiEndpoint, **generation: Any) -> AttemptFailed:
    with pytest.raises(AttemptFailed) as failed:
        await answer_of(opened, **generation)
    assert "\n" not in str(failed.value)
    return failed.value


def raw(told: Told) -> Callable[[dict[str, Any]], Told]:
    return lambda body: told


def events(*chunks: bytes, status: int = 200) -> Told:
    headers = {"Content-Type": "text/event-stream"}
    return Told(status=status, headers=headers, steps=chunks, chunked=True)


def delta(text: str, finish: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


def refusal(status: int, error: object, **headers: str) -> Told:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": error}).encode()
    return Told(status=status, headers={"Content-Type": "application/json"} | named, steps=[body])
