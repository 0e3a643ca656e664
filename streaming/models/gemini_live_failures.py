"""What went wrong with a live session, in the words that every endpoint uses.

The library raises its own errors, the WebSocket library's, and those of the network. A server says
most of what it has against a client in the code and reason with which it closes the connection
(RFC 6455, section 7.4).
"""

from __future__ import annotations

import asyncio

import pydantic
from google.genai import errors
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidProxy,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from streaming.asking.endpoint import (
    AttemptFailed,
    Overloaded,
    Rejected,
    ServerFault,
    TooSlow,
    Unreachable,
)

LIBRARY_ERRORS = (
    errors.APIError,
    WebSocketException,
    OSError,
    EOFError,
    TimeoutError,
    ValueError,  # what came is no JSON; pydantic's and the library's own refusals as well
    AttributeError,  # the library takes JSON that is no object for one
)
"""All that the library is known to raise while it connects, sends and receives."""

_LONGEST_REASON = 200
_OF_QUOTA = ("quota", "exhausted", "rate limit", "credit", "billing", "too many")
_OF_KEY = ("api key", "api_key", "permission", "unauthenticated", "credential", "token")


class LiveFault:
    """Turns errors into failures of one line each, without the key.

    Args:
        model: Name as on the command line, to begin the line with.
        where: The server's host.
        key: What must never be seen.
    """

    def __init__(self, *, model: str, where: str, key: str) -> None:
        self._from = f"{model} at {where}"
        self._key = key

    def of(self, error: BaseException) -> AttemptFailed:
        """The failure that ``error`` is."""
        match error:
            case AttemptFailed():
                return error
            case errors.APIError():
                return self.closed(int(error.code or 0), _reason(error))
            case ConnectionClosed():
                frame = error.rcvd
                return self.closed(frame.code, frame.reason) if frame else self.closed(1006, "")
            case InvalidStatus():
                body = error.response.body.decode(errors="replace") if error.response.body else ""
                return self.closed(error.response.status_code, body)
            case pydantic.ValidationError():
                # Its text quotes what it was given.
                return ServerFault(self.line("sent a message that is none of its protocol"))
            case TimeoutError() | asyncio.TimeoutError():
                return TooSlow(self.line("is not reached in the time allowed; check the network"))
            case InvalidURI() | InvalidProxy():
                why = "has an address that cannot be used; check the base URL and the proxy"
                return Rejected(self.line(why))
            case InvalidHandshake() | OSError() | EOFError():
                why = getattr(error, "strerror", None) or str(error) or type(error).__name__
                return Unreachable(
                    self.line(f"is not reached: {why}; check the network and the base URL")
                )
            case _:
                return ServerFault(self.line("sent a message that is none of its protocol"))

    def closed(self, code: int, reason: str) -> AttemptFailed:
        """The failure behind a close code, or behind the HTTP status of the handshake."""
        said = f" ({code}: {reason})" if reason.strip() else f" ({code})"
        about = reason.lower()
        if code in (1013, 429, 503, 529) or any(word in about for word in _OF_QUOTA):
            return Overloaded(self.line(f"takes no more for now{said}; check the quota or wait"))
        if code in (401, 403) or (
            code in (1007, 1008, 400) and any(word in about for word in _OF_KEY)
        ):
            return Rejected(self.line(f"refuses the key{said}; check GEMINI_API_KEY"))
        if code in (404, 1008):
            return Rejected(
                self.line(f"refuses the session{said}; check that the model is a live one")
            )
        if code in (1003, 1007, 1009, 1010) or 400 <= code < 500:
            return Rejected(
                self.line(
                    f"does not take what was sent{said}; check modality and ask_with in "
                    "configs/gemini_live.toml"
                )
            )
        if code in (1002, 1011, 1014) or 500 <= code < 600:
            return ServerFault(self.line(f"failed{said}; try again"))
        return Unreachable(self.line(f"closed the connection{said}; try again"))

    def line(self, what: str) -> str:
        """One line, without the key."""
        whole = " ".join(f"{self._from} {what}".split())
        return whole.replace(self._key, "(key)") if self._key else whole


def _reason(error: errors.APIError) -> str:
    said = error.message or error.details or ""
    text = said if isinstance(said, str) else str(said)
    return " ".join(text.split())[:_LONGEST_REASON]
