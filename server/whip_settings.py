"""The numbers of WebRTC ingest, the ``[whip]`` table of ``configs/server.toml``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from streaming.events import Seconds

_ICE_URL = re.compile(r"(?:stun|turn)s?:[^\s<>\"?:]+(?::[0-9]{1,5})?(?:\?transport=(?:udp|tcp))?\Z")
_QUOTABLE = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class IceServer:
    """A STUN or TURN server, which both this server and its clients use.

    Attributes:
        url: As in RFC 7064 and RFC 7065: ``turn:turn.example.net:3478?transport=udp``.
        username: For TURN.
        credential: Its password. Clients that are let in are told it.
    """

    url: str
    username: str = ""
    credential: str = ""

    def __post_init__(self) -> None:
        if not _ICE_URL.match(self.url):
            raise ValueError(f"url is {self.url!r}, expected stun:host:port or turn:host:port")
        if not _QUOTABLE.match(self.username) or not _QUOTABLE.match(self.credential):
            raise ValueError(f"username or credential of {self.url} holds what no header carries")

    def __repr__(self) -> str:
        return f"IceServer(url={self.url!r}, …)"

    @property
    def link(self) -> str:
        """The ``Link`` header that tells a client of it (RFC 9725, section 4.6)."""
        text = f'<{self.url}>; rel="ice-server"'
        if self.username:
            text += f'; username="{self.username}"; credential="{self.credential}"'
            text += '; credential-type="password"'
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """When a track counts as stopped or silent, and how much may wait.

    Attributes:
        stopped_after: Seconds without a frame.
        silent_after: Seconds of digital silence.
        undecoded: Most encoded frames that wait to be decoded; further packets are discarded.
        unconverted: Most pictures that wait to be converted; older ones are discarded.
        pixels: Most pixels of a picture.
    """

    stopped_after: Seconds = 3.0
    silent_after: Seconds = 5.0
    undecoded: int = 60
    unconverted: int = 4
    pixels: int = 16_000_000

    def __post_init__(self) -> None:
        _above_zero(self, "stopped_after", "silent_after", "undecoded", "unconverted", "pixels")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhipSettings:
    """See :mod:`server.whip`.

    Attributes:
        ice: None by default: no other host is asked.
        candidates: Most candidates of a client that are tried, of its offer and later each.
        started_within: Seconds that the models may take to be ready.
        connected_within: Seconds that a client has to connect after its answer.
        media: Of its tracks.
    """

    ice: tuple[IceServer, ...] = ()
    candidates: int = 32
    started_within: Seconds = 60.0
    connected_within: Seconds = 20.0
    media: MediaLimits = field(default_factory=MediaLimits)

    def __post_init__(self) -> None:
        _above_zero(self, "candidates", "started_within", "connected_within")


def _above_zero(settings: object, *names: str) -> None:
    for name in names:
        if getattr(settings, name) <= 0:
            raise ValueError(f"{name} is {getattr(settings, name)}, expected above 0")
