"""Responses on disk: what was paid for is never asked again, and a run can be replayed offline.

A file of JSON lines, one response a line, each written through to the disk before it is used::

    {"format": 1, "key": "9f…", "request": "3a…", "model": "gemini:NAME", "identity": {…},
     "coord_order": "yx", "generation": {…}, "interface": "bound", "prompt": "en/1",
     "words": "ours", "text": "…", "finish": "stop", "usage": {…}, "served_by": "…"}

``key`` is the digest of all that decides the text: endpoint, generation and request. A text is used
again only if it would come out the same: at temperature 0, from a model that takes that. One that
was cut off at its longest is such a text. Any other is recorded with ``"repeatable":false``, to be
replayed but never taken for an answer. Keys of providers, headers and pictures are never in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, MutableMapping
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from streaming.asking.endpoint import (
    Completion,
    CoordOrder,
    Endpoint,
    Generation,
    TokenChance,
    Usage,
)
from streaming.asking.request import Request
from streaming.grounding_query import ModelError

RESPONSES_FORMAT = 1
_BEGINNING = b'{"format": 1, "key": "'
_NOT_OURS = "{path} holds no recorded responses; name another file"

Flights: TypeAlias = "MutableMapping[str, asyncio.Future[Completion | ModelError | None]]"
"""Requests that are being asked, by key; None stands for one whose asker was cancelled."""


class ResponsesError(ModelError):
    """A file of responses that cannot be used. The text is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A recorded response.

    Attributes:
        key: As :func:`response_key`.
        request: Digest of the request.
        model: Name of the endpoint.
        identity: Its identity.
        coord_order: Of the points in the text.
        generation: As :meth:`streaming.asking.endpoint.Generation.as_key`.
        interface, prompt, words: As in the request.
        completion: What came.
    """

    key: str
    request: str
    model: str
    identity: dict[str, str]
    coord_order: CoordOrder
    generation: dict[str, Any]
    interface: str
    prompt: str
    words: str
    completion: Completion = field(repr=False)


def response_key(endpoint: Endpoint, generation: Generation, request: Request) -> str:
    """SHA-256, in hex, of all that decides the text of a response."""
    whole = [endpoint.identity, generation.as_key(), request.digest()]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def is_repeatable(response: Response) -> bool:
    """Whether a response would be the same again."""
    return response.completion.repeatable and response.generation.get("temperature") == 0


def describe_response(
    endpoint: Endpoint, generation: Generation, request: Request, completion: Completion
) -> Response:
    """The record of a response."""
    return Response(
        key=response_key(endpoint, generation, request),
        request=request.digest(),
        model=endpoint.name,
        identity=dict(endpoint.identity),
        coord_order=endpoint.coord_order,
        generation=generation.as_key(),
        interface=request.interface,
        prompt=request.prompt,
        words=request.words,
        completion=completion,
    )


class ResponseCache:
    """Responses by key, in memory and in a file that no other process writes meanwhile.

    A last line that was torn by a crash is mended when the file is opened. Close it after use.

    Args:
        path: The file; made, with its folder, when there is none.

    Attributes:
        path: The same.
        passed_over: Lines that could not be read.
        flights: Requests that are being asked, so that equal ones are asked once.

    Raises:
        ResponsesError: If another process writes it, or it cannot be read or is something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.passed_over = 0
        self.flights: Flights = {}
        self._by_key: dict[str, Response] = {}
        self._once: list[Response] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ResponsesError(f"responses {path}: {error.strerror or error}") from error
        try:
            self._claim()
            self._read_and_mend()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._by_key) + len(self._once)

    def __iter__(self) -> Iterator[Response]:
        return chain(self._by_key.values(), self._once)

    def get(self, key: str) -> Response | None:
        """The response of ``key``, if it would be the same again."""
        return self._by_key.get(key)

    def add(self, response: Response) -> None:
        """Write a response through to the disk; then it can be got, if it is repeatable.

        Raises:
            ResponsesError: If it cannot be written (disk full); nothing of it stays in the file.
        """
        if response.key in self._by_key:
            return
        line = encode_response(response) + b"\n"
        try:
            end = os.lseek(self._file, 0, os.SEEK_END)
            try:
                _write_whole(self._file, line)
                os.fsync(self._file)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, end)
                raise
        except OSError as error:
            raise ResponsesError(f"responses {self.path}: {error.strerror or error}") from error
        self._take(response)

    def _take(self, response: Response) -> None:
        if is_repeatable(response):
            self._by_key[response.key] = response
        else:
            self._once.append(response)

    def close(self) -> None:
        """Close the file and let others write it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _claim(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResponsesError(
                f"another process is writing responses {self.path}; wait for it or name another "
                "file"
            ) from None

    def _read_and_mend(self) -> None:
        try:
            content = _read_whole(self._file)
            whole = content.rfind(b"\n") + 1
            torn = content[whole:]
            if torn and _decoded(torn) is not None:  # only the line's end is missing
                os.lseek(self._file, 0, os.SEEK_END)
                _write_whole(self._file, b"\n")
            elif torn:
                if not (whole or torn.startswith(_BEGINNING[: len(torn)])):
                    raise ResponsesError(_NOT_OURS.format(path=self.path))
                content = content[:whole]
            found, broken = _responses(content, self.path)
            if len(content) == whole and torn:
                os.ftruncate(self._file, whole)
                broken += 1
            os.fsync(self._file)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise ResponsesError(f"responses {self.path}: {error.strerror or error}") from error
        self.passed_over = broken
        for response in found:
            self._take(response)


def read_responses(path: Path) -> list[Response]:
    """The responses of a file that may still be written; lines that cannot be read are left out.

    Raises:
        ResponsesError: If it cannot be read, or no line of it is a response.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResponsesError(f"responses {path}: {error.strerror or error}") from error
    found, _ = _responses(content, path)
    if not found:
        raise ResponsesError(f"responses {path}: there are none in it")
    return found


def holds_responses(path: Path) -> bool:
    """Whether the first line of a file is a recorded response."""
    try:
        with path.open("rb") as file:
            return _decoded(file.readline()) is not None
    except OSError:
        return False


def encode_response(response: Response) -> bytes:
    """A line of the file, without its end."""
    completion = response.completion
    line: dict[str, Any] = {
        "format": RESPONSES_FORMAT,
        "key": response.key,
        "request": response.request,
        "model": response.model,
        "identity": response.identity,
        "coord_order": response.coord_order,
        "generation": response.generation,
        "interface": response.interface,
        "prompt": response.prompt,
        "words": response.words,
        "text": completion.text,
        "finish": completion.finish,
        "usage": asdict(completion.usage),
        "served_by": completion.served_by,
    }
    if not completion.repeatable:
        line["repeatable"] = False
    if completion.chances:
        line["chances"] = [_encoded_chance(chance) for chance in completion.chances]
    # Half a surrogate pair, which UTF-8 has no bytes for, becomes the escape that JSON has for it.
    return json.dumps(line, ensure_ascii=False).encode("utf-8", errors="backslashreplace")


def _responses(content: bytes, path: Path) -> tuple[list[Response], int]:
    lines = [line for line in content.split(b"\n") if line.strip()]
    decoded = [_decoded(line) for line in lines]
    found = [response for response in decoded if response is not None]
    if lines and not found:
        raise ResponsesError(_NOT_OURS.format(path=path))
    return found, len(lines) - len(found)


def _decoded(line: bytes) -> Response | None:
    try:
        fields = json.loads(line)
        if fields["format"] != RESPONSES_FORMAT or fields["coord_order"] not in ("xy", "yx"):
            return None
        if fields["finish"] not in ("stop", "length") or not isinstance(fields["text"], str):
            return None
        return Response(
            **{name: str(fields[name]) for name in ("key", "request", "model")},
            **{name: str(fields[name]) for name in ("interface", "prompt", "words")},
            identity=dict(fields["identity"]),
            coord_order=fields["coord_order"],
            generation=dict(fields["generation"]),
            completion=Completion(
                text=fields["text"],
                finish=fields["finish"],
                usage=_usage(fields["usage"]),
                chances=tuple(map(_chance, fields.get("chances", ()))),
                served_by=str(fields["served_by"]),
                repeatable=fields.get("repeatable", True) is True,
            ),
        )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None


def _encoded_chance(chance: TokenChance) -> list[Any]:
    """``[token, logprob]``, and the alternatives in the same way where there are any."""
    told = [[one.token, one.logprob] for one in chance.alternatives]
    return [chance.token, chance.logprob, *([told] if told else [])]


def _chance(line: list[Any]) -> TokenChance:
    token, logprob, *more = line
    return TokenChance(
        token=str(token),
        logprob=float(logprob),
        alternatives=tuple(map(_chance, more[0])) if more else (),
    )


def _usage(fields: dict[str, int]) -> Usage:
    if not all(type(count) is int and count >= 0 for count in fields.values()):
        raise ValueError("tokens are counted in whole numbers, from 0")
    return Usage(**fields)


def _read_whole(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(file, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _write_whole(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
