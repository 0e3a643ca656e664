"""A model behind an OpenAI-compatible server: OpenAI itself, vLLM, SGLang, Ollama, llama.cpp, …

Chat completions, streamed. Pictures go as data URLs, films as ``video_url`` (which vLLM and SGLang
take). What a server does not know is left out from then on: see
:mod:`streaming.models.openai_body`.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

import httpx2
from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    AsyncStream,
    DefaultAsyncHttpxClient,
)

from streaming.asking.endpoint import (
    AttemptFailed,
    Completion,
    CoordOrder,
    Generation,
    Rejected,
    ServerFault,
    TextPiece,
    TooSlow,
    Unreachable,
)
from streaming.asking.request import FilmPart, Request
from streaming.events import Seconds
from streaming.grounding_query import ModelError
from streaming.models.openai_body import REFUSING, Feature, chat_body, refused_feature
from streaming.models.openai_failures import (
    Server,
    decoded,
    failure_in_stream,
    failure_of_status,
    field_named,
    said_by,
)
from streaming.models.openai_reading import Reading

_Result = TypeVar("_Result")

_OPENAI = "api.openai.com"
_NO_KEY = "no-key"
"""Sent where no key is given: the library insists on one, and servers without keys ignore it."""
_DONE = re.compile(rb"(?:\A|[\r\n])data: ?\[DONE\]")
_BODY = "deixis.body"
_CONNECT_WITHIN: Seconds = 20.0
_CHECK_WITHIN: Seconds = 20.0


class OpenAiEndpoint:
    """One model at one server.

    Args:
        model: Its name there.
        key: The key; None for servers that want none. Keys in the environment are not looked at.
        base_url: Where the server is, such as ``http://localhost:8000/v1``; None is OpenAI's own,
            or ``OPENAI_BASE_URL``.
        takes_films: The server takes films as ``video_url``.
        coord_order: Order of the two numbers of its points.
        most_bytes: Longest answer, as it comes over the wire, that is read.

    Attributes:
        left_out: How often the server refused a part of the protocol, by its name; each was one
            more call, which is not billed.

    Raises:
        ModelError: If key or base URL cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        key: str | None,
        base_url: str | None = None,
        takes_films: bool = False,
        coord_order: CoordOrder = "xy",
        most_bytes: int = 64 << 20,
    ) -> None:
        self.name = f"openai:{model}"
        self.coord_order = coord_order
        self.takes_films = takes_films
        self.left_out: Counter[Feature] = Counter()
        self._model = model
        self._with_key = bool(key)
        headers = {"Accept-Encoding": "identity"}  # so that the bound on the answer's size holds
        query: dict[str, object] = {}
        secrets = [key or ""]
        if base_url is not None:
            parts = _checked(base_url)
            if parts.username is not None:
                headers["Authorization"] = _basic(parts)
                secrets += [unquote(parts.password or ""), parts.password or ""]
            netloc = parts.netloc.rpartition("@")[2]
            base_url = urlunsplit(parts._replace(netloc=netloc, query="", fragment=""))
            query = dict(parse_qsl(parts.query))
        self._client = AsyncOpenAI(
            api_key=_usable(key) if key else _NO_KEY,
            base_url=base_url,
            max_retries=0,
            default_headers=headers,
            default_query=query,
            http_client=DefaultAsyncHttpxClient(
                verify=_tls(), event_hooks={"response": [_Bounds(most_bytes).watch]}
            ),
        )
        url = str(self._client.base_url).rstrip("/")
        if urlsplit(url).hostname != _OPENAI:
            # The environment's own are for OpenAI alone.
            self._client.organization = self._client.project = self._client.admin_api_key = None
        self._server = Server(self.name, url, tuple(secrets))
        self.identity = {"provider": "openai", "model": model, "server": url}

    async def stream(
        self, request: Request, generation: Generation
    ) -> AsyncIterator[TextPiece | Completion]:
        """One attempt: pieces of text as they come, then one completion.

        Raises:
            AttemptFailed: If there is no whole answer.
        """
        if not self.takes_films and any(isinstance(part, FilmPart) for part in request.parts):
            raise Rejected(
                self._server.line(
                    "films are not sent to it; use interface frames, or say that it takes them"
                )
            )
        deadline = asyncio.get_running_loop().time() + generation.within
        reading = Reading(self._server, max_tokens=generation.max_tokens)
        answer = await self._opened(request, generation, deadline)
        try:
            chunks = aiter(answer)
            while True:
                try:
                    chunk = await self._before(deadline, generation.within, _following(chunks))
                except AttemptFailed:
                    if reading.ended:  # the text is whole: it is not paid for again
                        break
                    raise
                if chunk is _OVER:
                    break
                for piece in reading.push(chunk):
                    yield TextPiece(text=piece)
        finally:
            await answer.aclose()
        completion = reading.complete(done=answer.done)
        yield replace(completion, repeatable="temperature" not in self.left_out)

    async def check(self) -> str:
        """Ask which models are served.

        Raises:
            AttemptFailed: If the server does not say.
        """
        deadline = asyncio.get_running_loop().time() + _CHECK_WITHIN
        listed = await self._before(
            deadline, _CHECK_WITHIN, self._client.get("/models", cast_to=object)
        )
        models = listed.get("data") if isinstance(listed, Mapping) else None
        if not isinstance(models, list):
            if isinstance(listed, str) and listed.lstrip().startswith("<"):
                raise ServerFault(self._server.line(_A_PAGE))
            raise ServerFault(self._server.line("what came is no list of models"))
        names = [str(model["id"]) for model in models if isinstance(model, dict) and "id" in model]
        if self._model in names:
            return self._server.line(f"reached, and {self._model} is served")
        few = ", ".join(names[:5]) or "none"
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        return self._server.line(f"reached, but {self._model} is not listed; there is: {few}{more}")

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _opened(self, request: Request, generation: Generation, deadline: float) -> _Answer:
        """The answer's beginning, after leaving out what the server refuses."""
        refused: list[Feature] = []
        while True:
            lacks = {*self.left_out, *refused}
            body = chat_body(request, generation, model=self._model, lacks=lacks)
            try:
                answer = await self._before(
                    deadline, generation.within, self._posted(body, generation)
                )
            except _Refused as refusal:
                refused.append(refusal.feature)
            else:
                # Only now: a request that is refused all the same was not refused for these.
                self.left_out.update(refused)
                return answer

    async def _posted(self, body: dict[str, Any], generation: Generation) -> _Answer:
        within = generation.within
        try:
            stream = await self._client.post(
                "/chat/completions",
                cast_to=object,
                body=body,
                options={
                    "timeout": httpx2.Timeout(within, connect=min(within, _CONNECT_WITHIN)),
                    "security": {"bearer_auth": True},
                },
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except APIStatusError as error:
            feature = None
            if error.status_code in REFUSING:
                words = f"{field_named(error.body)} {said_by(error.body)}"
                feature = refused_feature(words, body)
            if feature is None:
                raise
            raise _Refused(feature) from None
        answer = _Answer(stream)
        if "html" in answer.mime:
            await answer.aclose()
            raise ServerFault(self._server.line(_A_PAGE))
        return answer

    async def _before(self, deadline: float, within: Seconds, work: Awaitable[_Result]) -> _Result:
        """The result of ``work``, with what goes wrong told as a failure of the attempt."""
        # Without the causes: those hold the request, and with it the key.
        try:
            async with asyncio.timeout_at(deadline):
                return await work
        except TimeoutError:
            raise TooSlow(self._server.line(f"no whole answer within {within:g} s")) from None
        except (APIError, httpx2.HTTPError) as error:
            raise self._failure(error, within) from None
        except (UnicodeError, ValueError) as error:
            raise ServerFault(
                self._server.line(f"what came is no JSON ({type(error).__name__})")
            ) from None

    def _failure(self, error: APIError | httpx2.HTTPError, within: Seconds) -> AttemptFailed:
        if isinstance(error, APIStatusError):
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            return failure_of_status(
                self._server, error.status_code, headers, error.body, with_key=self._with_key
            )
        cause = error.__cause__ if isinstance(error, APIConnectionError) else error
        if isinstance(cause, _TooLong):
            return ServerFault(self._server.line(str(cause)))
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            return Unreachable(
                self._server.line("no connection; check that the server runs, and the base URL")
            )
        if isinstance(error, APITimeoutError) or isinstance(cause, httpx2.TimeoutException):
            return TooSlow(self._server.line(f"no whole answer within {within:g} s"))
        if isinstance(cause, httpx2.HTTPError):
            return Unreachable(self._server.line(f"the connection broke ({type(cause).__name__})"))
        return failure_in_stream(self._server, error.body if isinstance(error, APIError) else "")


_A_PAGE = "a web page came, and no answer; the base URL may be wrong, it often ends in /v1"


class _Refused(Exception):
    """The server will not have a part of the protocol."""

    def __init__(self, feature: Feature) -> None:
        super().__init__(feature)
        self.feature = feature


class _TooLong(httpx2.ReadError):
    """An answer larger than anybody needs."""


class _Body(httpx2.AsyncByteStream):
    """An answer's body on its way, counted; it notes whether an event stream said it is over."""

    def __init__(self, inner: httpx2.AsyncByteStream, most_bytes: int) -> None:
        self._inner = inner
        self._most = most_bytes
        self._come = 0
        self._tail = b""
        self.done = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self._come += len(piece)
            if self._come > self._most:
                raise _TooLong(f"the answer is larger than {self._most} bytes")
            if not self.done:
                recent = self._tail + piece
                self.done = _DONE.search(recent) is not None
                self._tail = recent[-16:]
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounds:
    """Puts a :class:`_Body` around the body of each response."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes

    async def watch(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        body = _Body(response.stream, self._most)
        response.stream = body
        response.extensions[_BODY] = body


class _Answer:
    """An answer that has begun: its chunks, or the one that a server sends that streams none."""

    def __init__(self, stream: AsyncStream[object]) -> None:
        self._stream = stream
        self._whole = False
        self.mime = stream.response.headers.get("content-type", "").partition(";")[0].strip()

    @property
    def done(self) -> bool:
        """Whether the server said that it is over."""
        return self._whole or bool(self._stream.response.extensions[_BODY].done)

    async def __aiter__(self) -> AsyncIterator[object]:
        if self.mime == "application/json":
            chunk = decoded(str(await self._stream.response.aread(), "utf-8"))
            self._whole = True
            yield chunk
        else:
            async for chunk in self._stream:
                yield chunk

    async def aclose(self) -> None:
        await self._stream.close()


_OVER = object()


@cache
def _tls() -> ssl.SSLContext:
    """Made once: reading the certificates takes longer than all else of a new client."""
    return httpx2.create_ssl_context()


async def _following(chunks: AsyncIterator[object]) -> object:
    return await anext(chunks, _OVER)


def _checked(base_url: str) -> SplitResult:
    parts = urlsplit(base_url)
    try:
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ModelError(
            f"base URL {parts.scheme}://{parts.netloc.rpartition('@')[2]}: expected one such as "
            "http://localhost:8000/v1"
        )
    return parts


def _basic(parts: SplitResult) -> str:
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"


def _usable(key: str) -> str:
    """A key that can be a header."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError("the key holds characters that no key has; give it again")
    return key
