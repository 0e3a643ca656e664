"""The numbers of the live server, from ``configs/server.toml``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from server.pull_settings import PullSettings
from server.whip_settings import WhipSettings
from streaming.config import build, config_path, read_toml
from streaming.events import Seconds


def _above_zero(settings: object, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if value <= 0:
            raise ValueError(f"{name} is {value}, expected above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLimits:
    """What a session's source waits for, and when it stops waiting.

    Attributes:
        pictures: Most pictures that wait to be looked at; the newest win.
        spacing: Seconds between two pictures that go on, though more may have come at once.
        hold: Seconds that a picture waits for the sound before it.
        silence_after: Seconds without sound after which silence takes its place.
        silence_most: The same where sound was found to come later than that.
        blind_after: Seconds without a picture after which no hand is seen.
        blind_every: Seconds between two such statements.
        ahead: Seconds ahead of the clock at which a time is a jump.
        absurd: Seconds that hearing may be behind before sound is left out.
        idle: Seconds without anything after which a session ends.
        max_side: Larger pictures are scaled down to it.
    """

    pictures: int = 16
    spacing: Seconds = 0.016
    hold: Seconds = 0.12
    silence_after: Seconds = 2.0
    silence_most: Seconds = 5.0
    blind_after: Seconds = 1.0
    blind_every: Seconds = 0.25
    ahead: Seconds = 2.0
    absurd: Seconds = 20.0
    idle: Seconds = 60.0
    max_side: int = 1920

    def __post_init__(self) -> None:
        _above_zero(self, *(one.name for one in fields(self) if one.name != "hold"))
        if self.silence_most < self.silence_after:
            raise ValueError(
                f"silence_most is {self.silence_most}, expected at least silence_after "
                f"{self.silence_after}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLimits:
    """What is kept for readers of a session's events.

    Attributes:
        kept: Lines that late joiners get.
        queue: Lines that wait for a slow reader, who is dropped when there are more; dense lines
            are left out for him from half of it on.
        send_within: Seconds that one line may take to be sent.
    """

    kept: int = 1000
    queue: int = 400
    send_within: Seconds = 10.0

    def __post_init__(self) -> None:
        _above_zero(self, "kept", "queue", "send_within")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketLimits:
    """What a client of the WebSocket ingest may send, beside what the guard lets through.

    Attributes:
        hello_within: Seconds for the first message.
        started_within: Seconds that the models may take to be ready.
        resume_within: Seconds that a session waits for a client that was cut off.
        message_bytes: Most bytes of one message with media.
        pixels: Most pixels of a picture.
    """

    hello_within: Seconds = 10.0
    started_within: Seconds = 60.0
    resume_within: Seconds = 10.0
    message_bytes: int = 2_000_000
    pixels: int = 16_000_000

    def __post_init__(self) -> None:
        _above_zero(self, *(one.name for one in fields(self)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """How much a session may do.

    Attributes:
        pictures: Looked at, a second.
        stride: Of so many hops one is heard.
    """

    pictures: float = 30.0
    stride: int = 1

    def __post_init__(self) -> None:
        _above_zero(self, "pictures", "stride")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPolicy:
    """How sessions share the machine: all alike, fewer pictures first, then fewer hops.

    Attributes:
        seeing: CPU seconds a second that seeing costs at the first level.
        hearing: The same of hearing and the rest.
        usable: Share of the cores that sessions may use.
        levels: From everything to least.
        look_every: Seconds between two looks at how far behind the sessions are.
        behind, ahead: Seconds of lag above which a session is behind, and below which it is not.
        skipped: Share of the pictures above which too many are skipped.
        worse_after: Seconds that a session must be behind until all do less.
        better_after: Seconds that none must be until all may do more.
        longest: Most that the latter becomes when doing more has been too much.
    """

    seeing: float = 0.64
    hearing: float = 0.58
    usable: float = 0.9
    levels: tuple[Level, ...] = (Level(),)
    look_every: Seconds = 1.0
    behind: Seconds = 0.7
    ahead: Seconds = 0.3
    skipped: float = 0.1
    worse_after: Seconds = 3.0
    better_after: Seconds = 15.0
    longest: Seconds = 240.0

    def __post_init__(self) -> None:
        _above_zero(self, *(one.name for one in fields(self) if one.name != "levels"))
        if not self.levels:
            raise ValueError("levels are empty, expected at least one")
        if self.ahead > self.behind:
            raise ValueError(f"ahead is {self.ahead}, expected at most behind {self.behind}")

    def level(self, sessions: int, cores: int) -> Level:
        """The first level at which ``sessions`` fit on ``cores``, or else the last one."""
        room = self.usable * cores / max(1, sessions)
        return next((one for one in self.levels if self._cost(one) <= room), self.levels[-1])

    def _cost(self, level: Level) -> float:
        seeing = self.seeing * level.pictures / self.levels[0].pictures
        return seeing + self.hearing / level.stride


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """All of it.

    Attributes:
        sessions: Most sessions at once.
        recordings: Folder for the recordings of sessions.
        record: Record each session from its start, until somebody switches it off.
        live: Of every session's source.
        feed: Of every session's readers.
        websocket: Of the WebSocket ingest.
        load: How sessions share the machine.
        whip: Of the WebRTC ingest.
        pull: Of streams that the server fetches.
    """

    sessions: int = 4
    recordings: str = "runs/live"
    record: bool = False
    live: LiveLimits = field(default_factory=LiveLimits)
    feed: FeedLimits = field(default_factory=FeedLimits)
    websocket: WebSocketLimits = field(default_factory=WebSocketLimits)
    load: LoadPolicy = field(default_factory=LoadPolicy)
    whip: WhipSettings = field(default_factory=WhipSettings)
    pull: PullSettings = field(default_factory=PullSettings)

    def __post_init__(self) -> None:
        _above_zero(self, "sessions")


def read_server_settings(own: Path | None = None) -> ServerSettings:
    """Read ``configs/server.toml``, and ``own``, which may say some of it otherwise.

    Raises:
        ConfigError: If either is missing or says something that does not fit.
    """
    values = read_toml(config_path("server.toml"))
    if own is None:
        return build(ServerSettings, values, where="configs/server.toml")
    return build(ServerSettings, _over(values, read_toml(own)), where=str(own))


def _over(values: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """``values`` with what ``own`` says in the place of the same, table by table."""
    said = dict(values)
    for key, value in own.items():
        before = said.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            value = _over(before, value)
        said[key] = value
    return said
