"""A stand-in for servers of the OpenAI chat protocol, such as OpenAI, vLLM and Ollama.

``/v1/chat/completions``, at once or streamed, and ``/v1/models``. It is as strict about what comes
as those are: an unknown model, a picture that is none, or a wrong key is refused.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.standins.faults import Fault
from tests.standins.http_server import Asked, Cut, HttpStandIn, Pause, Reset, Step, Told

MODEL = "pointer-7b"
GOOD_TEXT = '{"explicit_command": "Take it.", "selected_options": ["A"], "point_list": []}'
_PIECE = 6
_HUGE_PIECES = 16
_FOREVER = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A good answer in detail.

    Attributes:
        text: What is said.
        thoughts: Said before, as ``reasoning_content``.
        refusal: The model's refusal.
        finish: As in ``finish_reason``; None leaves it out.
        done: Whether ``[DONE]`` ends the stream.
    """

    text: str = GOOD_TEXT
    thoughts: str = ""
    refusal: str = ""
    finish: str | None = "stop"
    done: bool = True


Answering: TypeAlias = Callable[[dict[str, Any]], "str | Reply | Fault | Told"]


class OpenAiStandIn:
    """The server; a context manager.

    Args:
        answer: From the parsed body of a request to a text, a reply in detail, a fault, or what is
            sent byte by byte.
        models: The models that are served.
        key: The key that is wanted; None takes any.
        lacks: What it refuses: ``response_format``, ``json_schema``, ``stream_options``,
            ``logprobs``, ``max_tokens``, ``temperature``, ``reasoning_effort``; or ``stream``,
            which it ignores.
        retry_after: What is said with ``TOO_MANY_RETRY_AFTER``.
    """

    def __init__(
        self,
        answer: Answering = lambda body: Fault.NORMAL,
        *,
        models: tuple[str, ...] = (MODEL,),
        key: str | None = None,
        lacks: Collection[str] = (),
        retry_after: str = "1",
    ) -> None:
        self._answer = answer
        self._models = models
        self._key = key
        self._lacks = frozenset(lacks)
        self._retry_after = retry_after
        self._digests: dict[int, str] = {}
        self._server = HttpStandIn(self._told)

    def __enter__(self) -> OpenAiStandIn:
        self._server.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.__exit__(*raised)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"{self._server.url}/v1"

    @property
    def asked(self) -> list[Asked]:
        """All requests, in order of arrival."""
        return self._server.asked

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The chat requests, in order of arrival."""
        return [
            json.loads(asked.body)
            for asked in self._server.asked
            if asked.path.endswith("/chat/completions")
        ]

    @property
    def paid(self) -> Counter[str]:
        """How many answers were sent whole, by digest of the request: those are paid for."""
        digests = dict(self._digests)
        return Counter(digests[number] for number in self._server.sent_whole(digests))

    def _told(self, asked: Asked) -> Told:
        if self._key is not None and asked.headers.get("authorization") != f"Bearer {self._key}":
            sent = asked.headers.get("authorization", "").removeprefix("Bearer ")
            return _error(401, f"Incorrect API key provided: {sent}.", code="invalid_api_key")
        if asked.method == "GET" and asked.path == "/v1/models":
            listed = [{"id": name, "object": "model", "created": 1} for name in self._models]
            return _json(200, {"object": "list", "data": listed})
        if asked.method != "POST" or asked.path != "/v1/chat/completions":
            return _error(404, f"Invalid URL ({asked.method} {asked.path})")
        body = json.loads(asked.body)
        if (refused := self._refused(body)) is not None:
            return refused
        said = self._answer(body)
        if isinstance(said, Told):
            return said
        if said is Fault.NORMAL:
            said = Reply()
        elif said is Fault.TRUNCATED:
            said = Reply(text=GOOD_TEXT[: len(GOOD_TEXT) // 2], finish="length")
        elif isinstance(said, str):
            said = Reply(text=said)
        if isinstance(said, Fault):
            return self._faulty(said, body)
        self._digests[asked.number] = request_digest(body)
        return self._good(said, body)

    def _refused(self, body: Mapping[str, Any]) -> Told | None:
        if body["model"] not in self._models:
            text = f"The model `{body['model']}` does not exist."
            return _error(404, text, code="model_not_found", param="model")
        for field in sorted(self._lacks & body.keys() - {"stream"}):
            if field == "max_tokens":
                text = (
                    "Unsupported parameter: 'max_tokens' is not supported with this model. "
                    "Use 'max_completion_tokens' instead."
                )
                return _error(400, text, code="unsupported_parameter", param=field)
            if field == "temperature":
                if body[field] == 1:
                    continue
                text = (
                    "Unsupported value: 'temperature' does not support 0 with this model. "
                    "Only the default (1) value is supported."
                )
                return _error(400, text, code="unsupported_value", param=field)
            complaint = {"type": "extra_forbidden", "loc": ["body", field], "input": body[field]}
            complaint["msg"] = "Extra inputs are not permitted"
            return _json(422, {"detail": [complaint]})
        held = body.get("response_format", {}).get("type")
        if held == "json_schema" and "json_schema" in self._lacks:
            text = "'response_format.type' must be one of: text, json_object"
            return _error(400, text, param="response_format.type")
        return _wrong_content(body)

    def _faulty(self, fault: Fault, body: Mapping[str, Any]) -> Told:
        match fault:
            case Fault.TOO_MANY | Fault.TOO_MANY_RETRY_AFTER:
                told = _error(429, "Rate limit reached.", code="rate_limit_exceeded")
                if fault is Fault.TOO_MANY_RETRY_AFTER:
                    told.headers["Retry-After"] = self._retry_after
                return told
            case Fault.SERVER_ERROR:
                return _error(500, "The server had an error.", kind="server_error")
            case Fault.WRONG_TYPE:
                page = b"<!doctype html><title>Welcome</title><p>It works."
                return Told(headers={"Content-Type": "text/html"}, steps=[page])
            case Fault.BLOCKED:
                return self._good(Reply(text="", finish="content_filter"), body)
            case Fault.EMPTY:
                return self._good(Reply(text=""), body)
            case Fault.HUGE:
                return self._good(Reply(text="x" * (1 << 20)), body, times=_HUGE_PIECES)
            case Fault.MALFORMED:
                return self._broken(body, b'data: {"id": "chatcmpl-1", "choices": [{"del\n\n')
            case Fault.SLOW:
                return self._broken(body, Pause(_FOREVER))
            case Fault.RESET:
                return self._broken(body, Reset())
            case _:
                return self._broken(body, Cut())

    def _good(self, reply: Reply, body: Mapping[str, Any], *, times: int = 1) -> Told:
        if not self._streams(body):
            return _json(200, _whole(reply, body, times))
        steps = list(_events(reply, body, times))
        return Told(headers=_EVENT_STREAM, steps=steps, chunked=True)

    def _broken(self, body: Mapping[str, Any], step: Step) -> Told:
        """An answer that goes wrong with ``step`` in its middle."""
        if not self._streams(body):
            whole = _json(200, _whole(Reply(), body, 1))
            start = bytes(whole.steps[0])[:40]  # type: ignore[arg-type]
            if isinstance(step, bytes):
                return Told(headers=whole.headers, steps=[start])
            return Told(headers=whole.headers, steps=[start, step], chunked=True)
        start_events = list(_events(Reply(), body, 1))[:4]
        return Told(headers=_EVENT_STREAM, steps=[*start_events, step], chunked=True)

    def _streams(self, body: Mapping[str, Any]) -> bool:
        return bool(body.get("stream")) and "stream" not in self._lacks


_EVENT_STREAM = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


def request_digest(body: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of what is asked: model and messages, however the answer is wanted."""
    asked = json.dumps([body["model"], body["messages"]], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def event(chunk: Mapping[str, Any]) -> bytes:
    """A chunk as one server-sent event."""
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def _events(reply: Reply, body: Mapping[str, Any], times: int) -> Iterator[bytes]:
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body["model"],
    }

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event(head | {"choices": [choice | more]})

    yield chunk({"role": "assistant", "content": ""})
    for thought in _pieces(reply.thoughts):
        yield chunk({"reasoning_content": thought})
    pieces = [reply.text] if times > 1 else _pieces(reply.text)
    for piece in pieces * times:
        logprobs = _logprobs([piece]) if body.get("logprobs") else None
        yield chunk({"content": piece}, logprobs=logprobs)
    if reply.refusal:
        yield chunk({"refusal": reply.refusal})
    if reply.finish is not None:
        yield chunk({}, reply.finish)
    if body.get("stream_options", {}).get("include_usage"):
        yield event(head | {"choices": [], "usage": _usage(reply, body)})
    if reply.done:
        yield b"data: [DONE]\n\n"


def _whole(reply: Reply, body: Mapping[str, Any], times: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text * times, "refusal": reply.refusal or None}
    if reply.thoughts:
        message["reasoning_content"] = reply.thoughts
    choice = {
        "index": 0,
        "message": message,
        "logprobs": _logprobs(_pieces(reply.text)) if body.get("logprobs") else None,
        "finish_reason": reply.finish,
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": _usage(reply, body),
    }


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def _logprobs(pieces: list[str]) -> dict[str, Any]:
    return {
        "content": [
            {"token": piece, "logprob": -0.25, "bytes": list(piece.encode()), "top_logprobs": []}
            for piece in pieces
        ],
        "refusal": None,
    }


def _usage(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    sent = len(json.dumps(body["messages"])) // 4
    thought, written = len(_pieces(reply.thoughts)), len(_pieces(reply.text))
    return {
        "prompt_tokens": sent,
        "completion_tokens": thought + written,
        "total_tokens": sent + thought + written,
        "prompt_tokens_details": {"cached_tokens": sent // 2},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }


def _wrong_content(body: Mapping[str, Any]) -> Told | None:
    """A refusal of content that is not what it says that it is."""
    for message in body["messages"]:
        content = message["content"]
        for part in [] if isinstance(content, str) else content:
            kind = part["type"]
            if kind == "text":
                continue
            mime, _, encoded = part[kind]["url"].partition(";base64,")
            try:
                content_bytes = base64.b64decode(encoded, validate=True)
            except binascii.Error:
                return _error(400, "Invalid base64.", param="messages")
            if mime == "data:image/jpeg" and not content_bytes.startswith(b"\xff\xd8"):
                return _error(
                    400, "You uploaded an unsupported image.", code="invalid_image_format"
                )
    return None


def _error(
    status: int,
    text: str,
    *,
    code: str | None = None,
    param: str | None = None,
    kind: str = "invalid_request_error",
) -> Told:
    return _json(status, {"error": {"message": text, "type": kind, "param": param, "code": code}})


def _json(status: int, value: object) -> Told:
    body = json.dumps(value).encode()
    return Told(status=status, headers={"Content-Type": "application/json"}, steps=[body])
