"""How much one client may ask for, and the pure counting behind it.

Time comes in as an argument everywhere, so that nothing here waits or looks at a clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from streaming.events import Seconds

Reason: TypeAlias = Literal[
    "host",
    "origin",
    "token",
    "path",
    "method",
    "headers",
    "body",
    "slow",
    "rate",
    "sockets",
    "message",
    "hello",
    "idle",
    "sdp",
    "full",
]
"""Why something was refused; a closed set, so that no client can make up a label of a metric."""
REASONS: tuple[Reason, ...] = get_args(Reason)

_CANDIDATE = b"a=candidate:"
_SECTION = b"m="


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a request goes no further.

    Attributes:
        status: Of the HTTP answer.
        reason: For the metrics.
        text: One line for the person at the other end; it quotes nothing that was sent.
        headers: That the answer needs beside the usual ones.
    """

    status: int
    reason: Reason
    text: str
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def close_code(self) -> int:
        """The same as a WebSocket's closing code (RFC 6455, section 7.4.1)."""
        return {413: 1009, 429: 1013, 503: 1013}.get(self.status, 1008)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client, and all of them, may take. Sizes in bytes.

    Attributes:
        body: Of a request.
        body_seconds: Until a request's body must be there.
        header_count, header_bytes: Of a request.
        header_seconds: From a connection, or the last answer on it, to a whole request.
        stall_seconds: That a client may leave what it is sent unread.
        connections, connections_each: Open at once, in all and from one address.
        requests, requests_burst: A second from one address, and saved up at most. A wrong token
            costs ``wrong_token`` of them.
        sockets: WebSockets open at once.
        message: Of a WebSocket's message with media.
        words: Of a WebSocket's text message, and of any message to a feed.
        fragments: Of one message.
        messages, messages_burst: A second on one WebSocket, and saved up at most; more is read
            later, not refused, so that a client that was cut off can catch up.
        bytes, bytes_burst: The same in bytes.
        hello_seconds: Until the first message.
        idle_seconds: Between the messages of a client that sends media.
        sdp, sdp_lines, sdp_sections, sdp_candidates: Of an offer, ``sdp`` in bytes.
    """

    body: int = 65_536
    body_seconds: Seconds = 10.0
    header_count: int = 64
    header_bytes: int = 16_384
    header_seconds: Seconds = 10.0
    stall_seconds: Seconds = 20.0
    connections: int = 256
    connections_each: int = 128
    requests: float = 50.0
    requests_burst: float = 400.0
    wrong_token: float = 20.0
    sockets: int = 64
    message: int = 2 << 20
    words: int = 16_384
    fragments: int = 256
    messages: float = 400.0
    messages_burst: float = 4_000.0
    bytes: float = float(8 << 20)
    bytes_burst: float = float(64 << 20)
    hello_seconds: Seconds = 10.0
    idle_seconds: Seconds = 30.0
    sdp: int = 65_536
    sdp_lines: int = 2_000
    sdp_sections: int = 8
    sdp_candidates: int = 128

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ValueError(f"limit {name!r} must be more than 0, not {getattr(self, name)}")


class Budget:
    """A bucket that fills at ``rate`` a second up to ``burst``, and from which is spent.

    It may be overdrawn by one spending; :meth:`spend` then says how long to wait until it is even.
    """

    __slots__ = ("_burst", "_left", "_rate", "_since")

    def __init__(self, *, rate: float, burst: float, now: Seconds) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._since = now

    def spend(self, amount: float, *, now: Seconds) -> Seconds:
        """Spend, whatever is left, and return the seconds until nothing is owed."""
        self._fill(now)
        self._left -= amount
        return max(0.0, -self._left / self._rate)

    def afford(self, amount: float, *, now: Seconds) -> bool:
        """Spend if so much is left; False, and nothing is spent, if it is not."""
        self._fill(now)
        if self._left < amount:
            return False
        self._left -= amount
        return True

    def _fill(self, now: Seconds) -> None:
        passed = max(0.0, now - self._since)
        self._left = min(self._burst, self._left + passed * self._rate)
        self._since = max(self._since, now)


class Budgets:
    """A budget for each address, the ``most`` lately seen of them.

    An address that was forgotten starts afresh, so whoever has more addresses than ``most`` is not
    held by this; the limits on what is open at once still hold.
    """

    def __init__(self, *, rate: float, burst: float, most: int = 4096) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._of: OrderedDict[str, Budget] = OrderedDict()

    def __len__(self) -> int:
        return len(self._of)

    def afford(self, address: str, amount: float, *, now: Seconds) -> bool:
        """Spend ``amount`` of an address's budget if it has so much."""
        return self._budget(address, now).afford(amount, now=now)

    def fine(self, address: str, amount: float, *, now: Seconds) -> None:
        """Spend ``amount``, also when it is not there."""
        self._budget(address, now).spend(amount, now=now)

    def _budget(self, address: str, now: Seconds) -> Budget:
        budget = self._of.pop(address, None)
        if budget is None:
            budget = Budget(rate=self._rate, burst=self._burst, now=now)
        self._of[address] = budget
        while len(self._of) > self._most:
            self._of.popitem(last=False)
        return budget


class MessageBudget:
    """How fast one WebSocket is read."""

    __slots__ = ("_bytes", "_messages")

    def __init__(self, limits: Limits, *, now: Seconds) -> None:
        self._messages = Budget(rate=limits.messages, burst=limits.messages_burst, now=now)
        self._bytes = Budget(rate=limits.bytes, burst=limits.bytes_burst, now=now)

    def spend(self, size: int, *, now: Seconds) -> Seconds:
        """Take one message of ``size`` bytes; seconds to wait before the next one is read."""
        return max(self._messages.spend(1.0, now=now), self._bytes.spend(size, now=now))


def body_length(headers: Mapping[bytes, bytes]) -> int | None:
    """What a request says about its body: its length, 0 for none, None when it comes in chunks.

    Raises:
        ValueError: If the length is no number.
    """
    if b"transfer-encoding" in headers:
        return None
    said = headers.get(b"content-length", b"0")
    if not said.isdigit() or len(said) > 18:
        raise ValueError("content-length is no number")
    return int(said)


def check_headers(headers: list[tuple[bytes, bytes]], limits: Limits) -> Refusal | None:
    """Refuse too many or too long headers."""
    if len(headers) > limits.header_count:
        return Refusal(
            status=431, reason="headers", text=f"more than {limits.header_count} headers"
        )
    if sum(len(name) + len(value) for name, value in headers) > limits.header_bytes:
        return Refusal(
            status=431, reason="headers", text=f"headers of more than {limits.header_bytes} bytes"
        )
    return None


def check_sdp(offer: bytes, limits: Limits) -> Refusal | None:
    """Refuse an offer that is no text, or has more parts than any real client sends.

    It is looked at before a parser is, whose work may grow faster than its input.
    """
    if len(offer) > limits.sdp:
        return Refusal(status=413, reason="sdp", text=f"an offer of more than {limits.sdp} bytes")
    try:
        offer.decode("utf-8")
    except UnicodeDecodeError:
        return Refusal(status=400, reason="sdp", text="the offer is not UTF-8")
    if b"\0" in offer or not offer.startswith(b"v=0"):
        return Refusal(status=400, reason="sdp", text="the offer is no SDP: it starts with v=0")
    lines = [line.strip() for line in offer.split(b"\n")]
    counts = {
        "lines": (len(lines), limits.sdp_lines),
        "media sections": (_starting(lines, _SECTION), limits.sdp_sections),
        "candidates": (_starting(lines, _CANDIDATE), limits.sdp_candidates),
    }
    for what, (count, most) in counts.items():
        if count > most:
            return Refusal(status=400, reason="sdp", text=f"an offer with more than {most} {what}")
    return None


def _starting(lines: list[bytes], prefix: bytes) -> int:
    return sum(line.startswith(prefix) for line in lines)
