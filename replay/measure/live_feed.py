"""Reads a session's feed as a page does, on the server's clock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time as wall
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from client.publishing.server_clock import ServerClock
from replay.measure.live_processes import LiveMeasureError
from streaming.events import Seconds

_DENSE = frozenset({"HandsSeen", "CameraMotion", "StrokesSeen", "DeicticsSeen"})
_WITHIN: Seconds = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A line, and when it came.

    Attributes:
        line: As it was sent.
        at: On this machine's monotonic clock, seconds.
    """

    line: dict[str, Any]
    at: Seconds


@dataclass(slots=True)
class Watched:
    """What came of one session; times on the server's steady clock (:mod:`server.journey`).

    Attributes:
        received: Lines but the densest, in order.
        clock: Ours against the server's.
        origin: Where the session's time 0 lies on the steady clock, by the last answer.
        down: Seconds from when a line was emitted until it came, every line.
    """

    received: list[Received] = field(default_factory=list)
    clock: ServerClock = field(default_factory=ServerClock)
    origin: Seconds | None = None
    down: list[Seconds] = field(default_factory=list)

    def steady(self, at: Seconds) -> Seconds:
        """A moment of ours on the server's steady clock.

        Raises:
            LiveMeasureError: If the clocks were not compared.
        """
        best = self.clock.best
        if best is None:
            raise LiveMeasureError("the server did not answer what time it is")
        return at + best.ahead / 1000

    def of(self, *kinds: str) -> list[Received]:
        """The lines of these types."""
        return [one for one in self.received if one.line.get("type") in kinds]

    def last(self, kind: str) -> dict[str, Any]:
        """The last line of this type.

        Raises:
            LiveMeasureError: If none came.
        """
        lines = self.of(kind)
        if not lines:
            raise LiveMeasureError(f"no {kind} line came")
        return lines[-1].line

    @property
    def zero(self) -> Seconds:
        """When the sender's capture time 0 was.

        Raises:
            LiveMeasureError: If the sender did not say.
        """
        return float(self.last("Captured")["zero"]) / 1000

    @property
    def journey(self) -> dict[str, Any]:
        """What the server measured of the ways.

        Raises:
            LiveMeasureError: If the session did not end well.
        """
        found: dict[str, Any] = self.last("End")["wall"]["journey"]
        return found


async def watch(host: str, session: str) -> Watched:
    """Read a feed to its end.

    Raises:
        LiveMeasureError: If there is none.
    """
    watched = Watched()
    try:
        async with connect(f"ws://{host}/feed/{session}", max_size=1 << 26) as socket:
            asking = asyncio.create_task(_ask(socket, watched))
            try:
                async for text in socket:
                    _take(json.loads(text), watched)
            finally:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
    except (OSError, InvalidHandshake, ConnectionClosed) as error:
        raise LiveMeasureError(f"the feed broke off ({type(error).__name__})") from None
    return watched


async def _ask(socket: ClientConnection, watched: Watched) -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await socket.send(watched.clock.question())
            await asyncio.sleep(watched.clock.pause())


def _take(line: dict[str, Any], watched: Watched) -> None:
    at = wall.monotonic()
    match line.get("type"):
        case "State":
            watched.received += [Received(line=one, at=at) for one in line["lines"]]
            return
        case "clock":
            watched.clock.take(line)
            if line["server"] > 0:
                watched.origin = (line["steady"] - line["server"]) / 1000
            return
    if "emitted_at" in line and watched.origin is not None and watched.clock.best is not None:
        watched.down.append(watched.steady(at) - watched.origin - line["emitted_at"])
    if line.get("type") not in _DENSE:
        watched.received.append(Received(line=line, at=at))
