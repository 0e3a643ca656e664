"""How a server's clock stands to this machine's, from questions and answers."""

from __future__ import annotations

import json
import time as wall
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ASK_EVERY = 2.0
ASK_SOON, SOON = 0.2, 8
"""Seconds between questions, and so many of them come sooner at first."""
_KEPT = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One question and its answer, milliseconds.

    Attributes:
        ahead: How much the server's steady clock is ahead of ours.
        way: There and back.
    """

    ahead: float
    way: float


class ServerClock:
    """The answer with the shortest way tells most: its error is at most half of that way.

    Attributes:
        delay: Of the last answer, there and back, seconds; None before there was one.
    """

    def __init__(self) -> None:
        self._kept: deque[Compared] = deque(maxlen=_KEPT)
        self._asked = 0
        self.delay: float | None = None

    def question(self) -> str:
        """What to send now."""
        self._asked += 1
        return json.dumps({"type": "clock", "sent": round(wall.monotonic() * 1000, 3)})

    def pause(self) -> float:
        """Seconds until the next question."""
        return ASK_SOON if self._asked < SOON else ASK_EVERY

    def take(self, answer: Mapping[str, Any]) -> None:
        """Take an answer; one of a server that tells no steady clock only tells the delay."""
        sent, steady = answer.get("sent"), answer.get("steady")
        if isinstance(sent, bool) or not isinstance(sent, int | float):
            return
        received = wall.monotonic() * 1000
        self.delay = max(0.0, (received - sent) / 1000)
        if not isinstance(steady, bool) and isinstance(steady, int | float) and received >= sent:
            ahead = steady - (sent + received) / 2
            self.compare(Compared(ahead=ahead, way=received - sent))

    def compare(self, compared: Compared) -> None:
        """Take a comparison."""
        self._kept.append(compared)

    @property
    def best(self) -> Compared | None:
        """The comparison that tells most."""
        return min(self._kept, key=lambda one: one.way, default=None)

    def captured(self, zero: float, *, unix: bool = False) -> str | None:
        """The message that says when capture time 0 was; None before the clocks were compared.

        Args:
            zero: On this machine's monotonic clock, seconds.
            unix: Say it by the wall clock as well.
        """
        best = self.best
        if best is None:
            return None
        said: dict[str, Any] = {
            "type": "captured",
            "zero": round(1000 * zero + best.ahead, 3),
            "within": round(best.way / 2, 3),
        }
        if unix:
            said["unix"] = round(1000 * (wall.time() - wall.monotonic() + zero), 3)
        return json.dumps(said)
