"""What is sent to an OpenAI-compatible server, and what of it some servers will not have.

Servers that speak this protocol know different parts of it. A part that one refuses is left out, or
put in an older way, from then on; the refusal is told from the server's own words, as there is no
call that asks for them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, TypeAlias

from streaming.asking.endpoint import Generation
from streaming.asking.request import FilmPart, Part, PicturePart, Request, TextPart

Feature: TypeAlias = Literal[
    "json_schema",
    "json_object",
    "stream_options",
    "logprobs",
    "max_tokens",
    "temperature",
    "reasoning_effort",
]
"""A part of the protocol that a server may lack."""

REFUSING = frozenset({400, 403, 422, 501})
"""Statuses with which servers refuse a part of a request (403: OpenAI, log-probabilities)."""

_QUOTED = re.compile(r"""['"]input['"]\s*:""")
_NOT_KNOWN = (
    "unsupported",
    "not support",
    "unrecognized",
    "unknown",
    "unexpected",
    "extra",
    "not permitted",
    "not allowed",
    "deprecated",
    "instead",
)
"""Words of a refusal that is about the field itself and not about its value being too large."""
_TOLD_BY: dict[Feature, tuple[str, ...]] = {
    "stream_options": ("stream_options", "stream_options", "include_usage"),
    "logprobs": ("logprobs", "logprob"),
    "reasoning_effort": ("reasoning_effort", "reasoning", "thinking"),
    "temperature": ("temperature", "temperature"),
}
"""The field of each of these, then words that tell that a refusal is about it."""
_ABOUT_FORMAT = (
    "response_format",
    "response format",
    "schema",
    "json_object",
    "json mode",
    "word 'json'",
    "structured output",
    "guided",
    "grammar",
)


def chat_body(
    request: Request, generation: Generation, *, model: str, lacks: Collection[Feature]
) -> dict[str, Any]:
    """The body of a chat completion.

    Args:
        request: What is asked.
        generation: How the answer is generated.
        model: Name of the model at the server.
        lacks: What the server is known to refuse.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request, generation.detail),
        "stream": True,
    }
    body["max_completion_tokens" if "max_tokens" in lacks else "max_tokens"] = generation.max_tokens
    if "temperature" not in lacks:
        body["temperature"] = generation.temperature
    if "stream_options" not in lacks:
        body["stream_options"] = {"include_usage": True}
    if generation.logprobs and "logprobs" not in lacks:
        body["logprobs"] = True
        if generation.top_logprobs:
            body["top_logprobs"] = generation.top_logprobs
    if generation.thinking_budget == 0 and "reasoning_effort" not in lacks:
        body["reasoning_effort"] = "none"
    if generation.json_mode and request.schema is not None:
        if "json_schema" not in lacks:
            body["response_format"] = _held_to(request.schema)
        elif "json_object" not in lacks:
            body["response_format"] = {"type": "json_object"}
    return body


def refused_feature(words: str, body: Mapping[str, Any]) -> Feature | None:
    """Which part of ``body`` a server's refusal is about, or None when it is about none of these.

    Args:
        words: The field that the server names and its text.
        body: What was sent.
    """
    # Some servers go on to quote all that was sent, and so every field there is.
    words = _QUOTED.split(words.lower(), maxsplit=1)[0]
    for feature, (field, *told_by) in _TOLD_BY.items():
        if field in body and any(word in words for word in told_by):
            return feature
    if (
        "max_tokens" in body
        and ("max_tokens" in words or "max_completion_tokens" in words)
        and any(word in words for word in _NOT_KNOWN)
    ):
        return "max_tokens"
    held = body.get("response_format")
    if held is not None and any(word in words for word in _ABOUT_FORMAT):
        return "json_schema" if held["type"] == "json_schema" else "json_object"
    return None


def _messages(request: Request, detail: str) -> list[dict[str, Any]]:
    content: str | list[dict[str, Any]]
    texts = [part.text for part in request.parts if isinstance(part, TextPart)]
    if len(texts) == len(request.parts):
        # Every server takes a plain string; some take nothing else without pictures.
        content = "\n".join(texts)
    else:
        content = [_content(part, detail) for part in request.parts]
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": content}]


def _content(part: Part, detail: str) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case PicturePart():
            url = _inline("image/jpeg", part.jpeg)
            return {"type": "image_url", "image_url": {"url": url, "detail": detail}}
        case FilmPart():
            return {"type": "video_url", "video_url": {"url": _inline(part.mime, part.content)}}


def _inline(mime: str, content: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"


def _held_to(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": dict(schema), "strict": _is_strict(schema)},
    }


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes it: objects closed, and all of their fields required.

    A schema that is not would be refused there as a whole.
    """
    if isinstance(schema, list):
        return all(_is_strict(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    fields = schema.get("properties")
    if schema.get("type") == "object" or isinstance(fields, Mapping):
        closed = schema.get("additionalProperties") is False
        if not closed or set(fields or ()) != set(schema.get("required", ())):
            return False
    return all(_is_strict(value) for value in schema.values())
