"""What went wrong at an OpenAI-compatible server, in the words that those who ask understand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from streaming.asking.endpoint import (
    AttemptFailed,
    Blocked,
    Overloaded,
    Rejected,
    ServerFault,
    TooSlow,
)
from streaming.events import Seconds

_LONGEST = 300
"""Characters of a server's own words that are shown."""
_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_BLOCKING = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AN_EPOCH = 1e9
"""Numbers from here on are points in time, not spans."""


class Server:
    """Where a model is asked, and texts about it that hold no secret.

    Args:
        name: Of the endpoint, as on the command line.
        url: The base URL as it is shown: without credentials and query.
        secrets: Texts that must never be shown.
    """

    def __init__(self, name: str, url: str, secrets: tuple[str, ...] = ()) -> None:
        self.name = name
        self.url = url
        self._secrets = tuple(secret for secret in secrets if secret)

    def line(self, text: str) -> str:
        """One line saying where it was and ``text``, secrets masked."""
        return f"{self.name} at {self.url}: {self.shown(text)}"

    def shown(self, words: str) -> str:
        """Somebody's words on one line, secrets masked, cut where they are very long."""
        for secret in self._secrets:
            words = words.replace(secret, "***")
        words = re.sub(r"\bsk-[\w*.-]+", "***", " ".join(words.split()))
        return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def failure_of_status(
    server: Server, status: int, headers: Mapping[str, str], body: object, *, with_key: bool
) -> AttemptFailed:
    """The failure that an HTTP status of 300 or more means.

    Args:
        server: Who sent it.
        status: The status.
        headers: Its headers, names in lower case.
        body: Decoded JSON, or text.
        with_key: Whether a key was sent.
    """
    said = server.shown(said_by(body))
    also = f": {said}" if said else ""
    codes = _codes(body)
    if codes & _BLOCKING:
        return Blocked(server.line(f"the content was refused{also}"))
    if status == 401:
        # Their text is left out: it tends to quote the key.
        what = "the key is not accepted; check it" if with_key else "a key is wanted; give one"
        return Rejected(server.line(f"{what} (401)"))
    if status == 429 and codes & _MONEY:
        return Rejected(server.line(f"the account has no credit left (429){also}"))
    if status in (429, 503, 529):
        text = "too many requests" if status == 429 else "the server is overloaded"
        return Overloaded(server.line(f"{text} ({status}){also}"), retry_after=wait_asked(headers))
    if status == 408:
        return TooSlow(server.line(f"the server gave up waiting (408){also}"))
    if status >= 500 and "not supported" in said:
        # So llama.cpp's server says that it was started without the part that sees.
        return Rejected(server.line(f"the server does not take this ({status}){also}"))
    if status >= 500:
        text = f"the server failed ({status}){also or _page_hint(headers)}"
        return ServerFault(server.line(text), retry_after=wait_asked(headers))
    return Rejected(server.line(_refusal(server, status, headers, also)))


def _refusal(server: Server, status: int, headers: Mapping[str, str], also: str) -> str:
    if status < 400:
        return f"the server sends us elsewhere ({status}); correct the base URL"
    if status == 404:
        model = server.name.partition(":")[2]
        hint = f"; check that {model} is its name there, and the base URL, which often ends in /v1"
        return f"not found (404){also}{hint}"
    if status == 413:
        return f"the request is too large (413){also}; send fewer or smaller pictures"
    what = "not allowed" if status in (402, 403) else "the request is refused"
    return f"{what} ({status}){also or _page_hint(headers)}"


def failure_in_stream(server: Server, error: object) -> AttemptFailed:
    """The failure that an error object in the middle of an answer means."""
    said = said_by(error) or "no reason given"
    text = server.line(f"the answer broke off: {said}")
    codes = _codes(error)
    numbers = [int(code) for code in codes if code.isdecimal()]
    if codes & _BLOCKING:
        return Blocked(text)
    if codes & _MONEY:
        return Rejected(text)
    if {429, 503, 529} & set(numbers) or any(
        "rate_limit" in code or "overloaded" in code for code in codes
    ):
        return Overloaded(text)
    if any(400 <= number < 500 for number in numbers) or "invalid_request_error" in codes:
        return Rejected(text)
    return ServerFault(text)


def said_by(body: object) -> str:
    """A server's own words in an error's body; empty for a web page, or when there are none."""
    error = _error(body)
    if isinstance(error, Mapping):
        for name in ("message", "error", "msg", "detail"):
            if isinstance(error.get(name), str) and error[name]:
                return str(error[name])
        if isinstance(detail := error.get("detail"), list):  # pydantic's list of complaints
            return "; ".join(_complaint(item) for item in detail)
    if isinstance(error, str) and not error.lstrip().startswith("<"):
        return error
    return ""


def field_named(body: object) -> str:
    """The field that an error says it is about, or empty."""
    error = _error(body)
    return str(error.get("param") or "") if isinstance(error, Mapping) else ""


def wait_asked(headers: Mapping[str, str]) -> Seconds | None:
    """How long a server asks to wait, or None when it does not say.

    Read from ``retry-after-ms``, ``retry-after`` (seconds, or a date, which is compared with the
    server's own) and, when those are missing, the longest of the ``x-ratelimit-reset…`` headers
    (``17s``, ``1m2s``, or a point in time) whose budget is used up.
    """
    now = _date(headers.get("date"))
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return wait / 1000
    if after := headers.get("retry-after"):
        if (wait := _number(after)) is not None:
            return wait
        then = _date(after)
        return max(0.0, then - now) if then is not None and now is not None else _span(after)
    waits = [
        wait
        for name, value in headers.items()
        if name.startswith("x-ratelimit-reset")
        and headers.get(name.replace("reset", "remaining"), "0") in ("0", "-1")
        and (wait := _until(value, now)) is not None
    ]
    return max(waits, default=None)


def _until(value: str, now: float | None) -> Seconds | None:
    number = _number(value)
    if number is None:
        return _span(value)
    if number < _AN_EPOCH:
        return number
    seconds = number / 1000 if number > _AN_EPOCH * 100 else number
    return None if now is None else max(0.0, seconds - now)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _span(value: str) -> Seconds | None:
    """Seconds of a span such as ``1m2.5s``."""
    value = value.strip().lower()
    if not re.fullmatch(f"(?:{_SPAN.pattern})+", value):
        return None
    return math.fsum(float(number) * _UNITS[unit] for number, unit in _SPAN.findall(value))


def _date(value: str | None) -> float | None:
    """Seconds since 1970 of an HTTP date."""
    try:
        date = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    # An HTTP date is UTC whether or not it says so.
    return date.timestamp() if date.tzinfo is not None else (date - _EPOCH) / timedelta(seconds=1)


_EPOCH = parsedate_to_datetime("Thu, 01 Jan 1970 00:00:00 -0000")


def _error(body: object) -> object:
    if isinstance(body, Mapping):
        return body.get("error") or body
    return body


def _codes(body: object) -> set[str]:
    """What an error calls itself: its code and its type."""
    error = _error(body)
    if not isinstance(error, Mapping):
        return set()
    inner = error.get("innererror")
    more = [inner.get("code")] if isinstance(inner, Mapping) else []
    return {str(name) for name in (error.get("code"), error.get("type"), *more) if name}


def _complaint(item: Any) -> str:
    if not isinstance(item, Mapping):
        return str(item)
    where = ".".join(str(step) for step in item.get("loc") or ())
    return f"{where}: {item.get('msg', '')}" if where else str(item.get("msg", ""))


def _page_hint(headers: Mapping[str, str]) -> str:
    if "html" in headers.get("content-type", ""):
        return ": a web page came; the base URL may be wrong, it often ends in /v1"
    return ""


def decoded(text: str) -> object:
    """JSON where ``text`` is that, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
