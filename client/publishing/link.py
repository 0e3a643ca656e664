"""What every way of sending a stream to a server has in common."""

from __future__ import annotations

import ssl
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from streaming.events import AudioBlock, VideoFrame


class PublishError(ValueError):
    """A server that will not take the stream, however often it is asked. One line."""


class LinkLost(OSError):
    """No connection, or one that broke: worth another try."""


class Link(Protocol):
    """A connection to a server that takes a stream.

    Attributes:
        name: What the server calls the session; for people.
        delay: Seconds to the server and back, or None while unknown.
        zero: When the connection's time 0 was, on this machine's monotonic clock; None until the
            first piece is sent.
    """

    name: str
    zero: float | None

    @property
    def delay(self) -> float | None: ...

    async def send(self, piece: AudioBlock | VideoFrame, *, time: float) -> None:
        """Send sound or a picture that was taken ``time`` seconds after the connection began.

        Raises:
            LinkLost: If the connection broke.
            PublishError: If the server ended it.
        """
        ...

    async def close(self) -> None:
        """End the session. Says nothing when the connection is already gone."""
        ...


def fingerprint_context() -> ssl.SSLContext:
    """TLS without a look at who signed: the certificate's fingerprint is compared instead."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def plain_fingerprint(text: str) -> str:
    """A SHA-256 fingerprint in any usual writing, as 64 small hexadecimal digits.

    Raises:
        PublishError: If it is none.
    """
    digits = text.lower().removeprefix("sha256:").replace(":", "").replace(" ", "")
    if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        raise PublishError("a fingerprint is 32 pairs of hexadecimal digits, as the server prints")
    return digits


def server_address(url: str, *, path: str) -> str:
    """``url`` with ``path`` as its path, if it has none.

    Raises:
        PublishError: If it is no address, or holds a password.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise PublishError(
            f"the server's address has no host; expected {parts.scheme or 'ws'}://HOST:PORT"
        )
    if parts.username or parts.password:
        raise PublishError("no password belongs into the address; set DEIXIS_TOKEN")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") or path))
