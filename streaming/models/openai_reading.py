"""The answer of an OpenAI-compatible server, read chunk by chunk. Nothing in it is trusted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streaming.asking.endpoint import (
    Blocked,
    Completion,
    EmptyReply,
    Exhausted,
    ServerFault,
    TokenChance,
    Unreachable,
    Usage,
)
from streaming.models.openai_failures import Server, failure_in_stream

_CHARACTERS_A_TOKEN = 64
_CHARACTERS_ANYWAY = 65536


class Reading:
    """Gathers one answer. Sans I/O: chunks in, pieces of text out.

    Args:
        server: Who answers.
        max_tokens: How long it may be; one that goes far beyond is given up.

    Attributes:
        ended: The answer said why it ended, so that nothing of its text is missing.
    """

    def __init__(self, server: Server, *, max_tokens: int) -> None:
        self._server = server
        self._most = _CHARACTERS_ANYWAY + _CHARACTERS_A_TOKEN * max_tokens
        self._pieces: list[str] = []
        self._length = 0
        self._refusal = ""
        self._finish = ""
        self._usage = Usage()
        self._chances: list[TokenChance] = []
        self._served_by = ""

    @property
    def ended(self) -> bool:
        return bool(self._finish)

    def push(self, chunk: object) -> list[str]:
        """The pieces of text in the next chunk (or in a whole answer that came at once).

        Raises:
            AttemptFailed: If it tells of an error, is no chunk, or is far too long.
        """
        if not isinstance(chunk, Mapping):
            raise self._no_protocol(f"a chunk is {type(chunk).__name__}, no object")
        if chunk.get("error") or chunk.get("object") == "error":
            raise failure_in_stream(self._server, chunk)
        if isinstance(model := chunk.get("model"), str) and model:
            self._served_by = model
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = _usage(usage)
        choices = chunk.get("choices")
        if choices is not None and not isinstance(choices, list):
            raise self._no_protocol("its choices are no list")
        return [
            piece
            for choice in choices or ()
            if isinstance(choice, Mapping) and not choice.get("index")
            for piece in self._choice(choice)
        ]

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[str]:
        for name in ("delta", "message"):
            said = choice.get(name)
            if not isinstance(said, Mapping):
                continue
            for piece in _texts(said.get("content")):
                self._length += len(piece)
                if self._length > self._most:
                    raise ServerFault(
                        self._server.line(f"the answer is longer than {self._most} characters"),
                        usage=self._usage,
                    )
                self._pieces.append(piece)
                yield piece
            if isinstance(refusal := said.get("refusal"), str):
                self._refusal = (self._refusal + refusal)[:1000]
        self._chances.extend(_chances(choice.get("logprobs")))
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            self._finish = finish

    def complete(self, *, done: bool) -> Completion:
        """The whole answer, after the last chunk.

        Args:
            done: The stream said that it is over.

        Raises:
            AttemptFailed: If there is no whole answer.
        """
        text = "".join(self._pieces)
        line = self._server.line
        if self._refusal:
            raise Blocked(line(f"the model refuses: {self._refusal}"), usage=self._usage)
        if self._finish == "content_filter":
            raise Blocked(line("the content filter stopped the answer"), usage=self._usage)
        if self._finish == "error":
            raise ServerFault(line("the answer ended with an error"), usage=self._usage)
        if not self._finish and not done:
            raise Unreachable(
                line(f"the answer broke off after {len(text)} characters"), usage=self._usage
            )
        if not text.strip():
            if self._finish == "length":
                raise Exhausted(
                    line("thoughts took all of max_tokens and no text came; raise max_tokens"),
                    usage=self._usage,
                )
            raise EmptyReply(line("an answer without text"), usage=self._usage)
        return Completion(
            text=text,
            finish="length" if self._finish == "length" else "stop",
            usage=self._usage,
            chances=tuple(self._chances),
            served_by=self._served_by,
        )

    def _no_protocol(self, why: str) -> ServerFault:
        return ServerFault(self._server.line(f"what came is no chat completion: {why}"))


def _texts(content: object) -> Iterator[str]:
    """Of a content that is a text, or a list of parts, some of which are thoughts."""
    if isinstance(content, str) and content:
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, Mapping) and part.get("type") == "text":
                yield from _texts(part.get("text"))


def _usage(usage: Mapping[str, Any]) -> Usage:
    thought = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(
        sent=_count(usage, "prompt_tokens"),
        cached=_count(usage.get("prompt_tokens_details"), "cached_tokens"),
        written=max(0, _count(usage, "completion_tokens") - thought),
        thought=thought,
    )


def _count(counts: object, name: str) -> int:
    number = counts.get(name) if isinstance(counts, Mapping) else None
    return number if isinstance(number, int) and number > 0 else 0


def _chances(logprobs: object) -> Iterator[TokenChance]:
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    yield from _told_chances(content, "top_logprobs")


def _told_chances(content: object, alternatives: str | None) -> Iterator[TokenChance]:
    for entry in content if isinstance(content, Sequence) else ():
        if not isinstance(entry, Mapping):
            continue
        token, logprob = entry.get("token"), entry.get("logprob")
        if isinstance(token, str) and isinstance(logprob, int | float) and math.isfinite(logprob):
            others = _told_chances(entry.get(alternatives), None) if alternatives else ()
            yield TokenChance(token=token, logprob=float(logprob), alternatives=tuple(others))
