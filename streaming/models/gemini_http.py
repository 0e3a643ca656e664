"""The HTTP client that google-genai is given, and what its failures mean.

The library tries again by itself in places, follows redirects with the key in a header, and reads
answers of any length into memory. So it gets a client of ours, which looks at each answer before
the library does: a refusal is read here and raised as :class:`Refused`, what is no answer of the
protocol as :class:`NoAnswer`, and an answer ends at :data:`MOST_BYTES`.
"""

from __future__ import annotations

import functools
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

import httpx2
from google.genai import errors, types

from streaming.asking.endpoint import (
    AttemptFailed,
    Overloaded,
    Rejected,
    ServerFault,
    TooSlow,
    Unreachable,
)
from streaming.events import Seconds

MOST_BYTES = 32 << 20
"""Of one answer on the wire, JSON and its escapes included."""
_MOST_OF_A_REFUSAL = 64 << 10
_MOST_QUOTED = 240
_CONNECT_WITHIN: Seconds = 15.0
_TYPES = ("text/event-stream", "application/json")
_UPLOAD = "x-goog-upload-command"


class NoAnswer(Exception):
    """What came is no answer of the protocol."""


class Refused(Exception):
    """A status other than success.

    Attributes:
        status: The HTTP status.
        headers: Of the answer.
        body: The JSON object in it, with ``message`` and the like; empty when there is none.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        self.body = body


LIBRARY_FAILURES = (
    Refused,
    NoAnswer,
    errors.APIError,
    httpx2.HTTPError,
    httpx2.StreamError,
    # Where an answer has another shape than the library expects, it fails in one of these ways.
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
)


def http_options(server: str) -> types.HttpOptions:
    """What google-genai is given: one attempt a request, through clients of ours.

    Close the asynchronous one with :func:`aclose`; the library does not.
    """
    return types.HttpOptions(
        base_url=server,
        api_version="v1beta",
        retry_options=None,
        httpx_async_client=_Client(
            verify=_trusted(),
            follow_redirects=False,  # they would carry the key to another host
            headers={"Accept-Encoding": "identity"},  # lest a small answer unpack to a huge one
            event_hooks={"request": [_bound_connecting], "response": [_look_at]},
        ),
        # Not used, but the library reads the certificates again for each that it makes itself.
        httpx_client=httpx2.Client(verify=_trusted()),
        async_client_args={"ssl": _trusted()},
    )


class _Client(httpx2.AsyncClient):
    """Closes answers that were given up in their middle, which google-genai leaves open.

    Otherwise the event loop does, in its end: all layers of each at once, which fails with a
    traceback on stderr.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._given: WeakSet[httpx2.Response] = WeakSet()

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        response = await super().send(request, **options)
        self._given.add(response)
        return response

    async def aclose(self) -> None:
        for response in list(self._given):
            await response.aclose()
        await super().aclose()


async def aclose(options: types.HttpOptions) -> None:
    """Close the clients of ``options``."""
    if options.httpx_async_client is not None:
        await options.httpx_async_client.aclose()
    if options.httpx_client is not None:
        options.httpx_client.close()


@functools.cache
def _trusted() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


async def _bound_connecting(request: httpx2.Request) -> None:
    timeouts = dict(request.extensions.get("timeout", {}))
    wanted = timeouts.get("connect")
    timeouts["connect"] = _CONNECT_WITHIN if wanted is None else min(wanted, _CONNECT_WITHIN)
    request.extensions["timeout"] = timeouts


async def _look_at(response: httpx2.Response) -> None:
    """Raise if it is no answer; bound its length otherwise.

    Raises:
        Refused: If its status is not one of success.
        NoAnswer: If it is of another type than the protocol's.
    """
    if not response.is_success:
        raise Refused(response.status_code, response.headers, await _refusal(response))
    request = response.request
    command = request.headers.get(_UPLOAD)
    kind = response.headers.get("content-type", "nothing").split(";")[0].strip().lower()
    if command is None and request.method != "DELETE" and kind not in _TYPES:
        raise NoAnswer(f"it sent {kind}, expected one of {', '.join(_TYPES)}")
    if command not in (None, "start") and "x-goog-upload-status" not in response.headers:
        raise NoAnswer("it took a piece of a film without saying so (no X-Goog-Upload-Status)")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


async def _refusal(response: httpx2.Response) -> dict[str, Any]:
    read = b""
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > _MOST_OF_A_REFUSAL:
            return {}
    try:
        told = json.loads(read)
    except (ValueError, RecursionError):
        return {}
    if isinstance(told, list) and told:  # where a stream was asked for
        told = told[0]
    error = told.get("error") if isinstance(told, dict) else None
    return error if isinstance(error, dict) else {}


class _Bounded(httpx2.AsyncByteStream):
    """A body that may not grow longer than :data:`MOST_BYTES`."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for piece in self._body:
            read += len(piece)
            if read > MOST_BYTES:
                raise NoAnswer(f"its answer is longer than {MOST_BYTES >> 20} MB")
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


@dataclass(frozen=True, slots=True)
class Wording:
    """Writes the texts of failures.

    Attributes:
        name: Of the endpoint, with which they begin.
        server: Where it is.
        secret: What must not appear in any text.
    """

    name: str
    server: str
    secret: str

    def __repr__(self) -> str:
        return f"Wording({self.name!r})"

    def line(self, text: object) -> str:
        """What others said, as one short line without the secret."""
        said = str(text)
        for form in (self.secret, quote(self.secret, safe="")):
            said = said.replace(form, "[key]")
        said = " ".join(said.split())
        return said if len(said) <= _MOST_QUOTED else f"{said[:_MOST_QUOTED]}…"

    def failure(self, error: BaseException) -> AttemptFailed:
        """What a failure of the library, one of :data:`LIBRARY_FAILURES`, means."""
        match error:
            case Refused():
                return self.refused(error)
            case errors.APIError():
                return self.refused(Refused(error.code or 500, {}, _in_stream(error)))
            case httpx2.ConnectTimeout():
                return Unreachable(f"{self.name}: no connection to {self.server} in time")
            case httpx2.ConnectError():
                said = self.line(error)
                return Unreachable(
                    f"{self.name}: no connection to {self.server}: {said}; check network and server"
                )
            case httpx2.TimeoutException():
                return TooSlow(f"{self.name}: no answer from {self.server} in time")
            case httpx2.TransportError():
                said = self.line(error) or type(error).__name__
                return Unreachable(f"{self.name}: no whole answer from {self.server}: {said}")
            case _:
                said = self.line(error) or type(error).__name__
                return ServerFault(f"{self.name}: not an answer of its protocol: {said}")

    def refused(self, refusal: Refused) -> AttemptFailed:
        """What a status means, with the server's own words."""
        status, message = (
            refusal.status,
            self.line(refusal.body.get("message") or "no reason given"),
        )
        said = f"({status}): {message}"
        wait = _wait(refusal)
        if status == 429:
            return Overloaded(f"{self.name}: too many requests {said}", retry_after=wait)
        if status in (503, 529):
            return Overloaded(f"{self.name}: the server is overloaded {said}", retry_after=wait)
        if status == 408 or status >= 500:
            return ServerFault(f"{self.name}: the server failed {said}", retry_after=wait)
        if status == 401 or "API_KEY_INVALID" in _reasons(refusal):
            return Rejected(f"{self.name}: the key is not accepted {said}; check the key")
        if status == 403:
            return Rejected(f"{self.name}: not permitted {said}; check what the key is allowed")
        if status == 404:
            return Rejected(
                f"{self.name}: not found {said}; check the model's name, and the server "
                f"({self.server})"
            )
        if status == 413:
            return Rejected(f"{self.name}: the request is too large {said}")
        if status < 400:
            return Rejected(f"{self.name}: {self.server} points elsewhere {said}; check the server")
        return Rejected(f"{self.name}: the request is not accepted {said}")


def _in_stream(error: errors.APIError) -> dict[str, Any]:
    """An error that came inside an answer of status 200."""
    told = error.details
    inner = told.get("error") if isinstance(told, dict) else None
    return inner if isinstance(inner, dict) else {}


def _details(refusal: Refused) -> list[dict[str, Any]]:
    details = refusal.body.get("details")
    return [one for one in details if isinstance(one, dict)] if isinstance(details, list) else []


def _reasons(refusal: Refused) -> set[str]:
    return {str(one.get("reason")) for one in _details(refusal)}


def _wait(refusal: Refused) -> Seconds | None:
    """Seconds to wait as asked for by header (RFC 9110, 10.2.3) or by ``google.rpc.RetryInfo``."""
    asked = refusal.headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", asked):
        return float(asked)
    try:  # a date, against the server's own clock
        until = parsedate_to_datetime(asked)
        now = parsedate_to_datetime(refusal.headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        pass
    for detail in _details(refusal):
        delay = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)s", str(detail.get("retryDelay")))
        if delay is not None:
            return float(delay[1])
    return None
