"""Requests, and an endpoint that does what a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from streaming.asking.endpoint import (
    AttemptFailed,
    Completion,
    CoordOrder,
    Generation,
    TextPiece,
    Usage,
)
from streaming.asking.request import PicturePart, Request, TextPart

ANSWER = {
    "reasoning": "The finger points at the mug.",
    "explicit_command": "Put the red mug to the left of the bowl.",
    "selected_options": ["A", "b"],
    "point_list": [
        {"type": "target_object", "description": "red mug", "point": [350, 400], "timestamp": 2300},
        {
            "type": "spatial_affordance",
            "description": "left",
            "point": [600, 500],
            "timestamp": 4300,
        },
    ],
}
TEXT = json.dumps(ANSWER)
USAGE = Usage(sent=1000, written=100, thought=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one attempt does: wait, then answer in pieces, then fail if ``failure`` says so."""

    text: str = TEXT
    pieces: int = 1
    after: float = 1.0
    finish: str = "stop"
    usage: Usage = USAGE
    failure: AttemptFailed | None = None
    ends: bool = True


Script: TypeAlias = Sequence[Told] | Callable[[Request], Told]


@dataclass
class FakeEndpoint:
    """Answers by a script: the attempts in order, or from the request."""

    script: Script = (Told(),)
    name: str = "gemini:fake"
    coord_order: CoordOrder = "xy"
    takes_films: bool = True
    identity: dict[str, str] = field(default_factory=lambda: {"provider": "fake", "model": "one"})
    asked: list[Request] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    times: list[float] = field(default_factory=list)
    left: int = 0
    closed: bool = False
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(
        self, request: Request, generation: Generation
    ) -> AsyncIterator[TextPiece | Completion]:
        number = len(self.asked)
        self.asked.append(request)
        self.times.append(asyncio.get_running_loop().time())
        self.at_once += 1
        self.begun.set()
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if callable(self.script):
                told = self.script(request)
            else:
                told = self.script[min(number, len(self.script) - 1)]
            await asyncio.sleep(told.after)
            if told.failure is not None:
                raise told.failure
            step = max(1, -(-len(told.text) // told.pieces))
            for at in range(0, len(told.text), step):
                yield TextPiece(text=told.text[at : at + step])
                await asyncio.sleep(0)
            if told.ends:
                yield Completion(
                    text=told.text,
                    finish="length" if told.finish == "length" else "stop",
                    usage=told.usage,
                    served_by="fake-1",
                )
        finally:
            self.at_once -= 1
            self.left += 1

    async def check(self) -> str:
        return "fake is well"

    async def aclose(self) -> None:
        self.closed = True


def request(text: str = "What is meant?", *, picture: bytes = b"jpeg") -> Request:
    """A request with a text and a picture."""
    return Request(
        system="You see pictures.",
        parts=(TextPart(text=text), PicturePart(jpeg=picture, until=1.0)),
        schema={"type": "object"},
        interface="frames",
        prompt="en/1",
        words="ours",
        asked_at=2.0,
    )
