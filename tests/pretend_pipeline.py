"""A pipeline of small components in place of the models, for tests of what is around them."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Literal

from streaming.build import Pipeline
from streaming.component import Chain
from streaming.events import (
    Answer,
    AudioBlock,
    Counters,
    HandsSeen,
    Seconds,
    VideoFrame,
    Word,
)
from streaming.grounding import Model, Query, Task
from streaming.grounding_prefix import Film

Say = Callable[[Any], Sequence[Any]]


class Says:
    """A component made of one function."""

    def __init__(self, accepts: type, say: Say) -> None:
        self.accepts: tuple[type, ...] = (accepts,)
        self.counters = Counters()
        self._say = say

    def push(self, event: Any) -> Sequence[Any]:
        return self._say(event)

    def finish(self) -> list[Any]:
        return []


class EchoModel:
    """Answers with the turn's number."""

    name = "echo"
    coord_order: Literal["xy", "yx"] = "xy"

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        yield Answer(turn=query.turn, referents=(), frame_time=0.0, text=f"turn {query.turn}")


class NoBacklog:
    def set_backlog(self, seconds: Seconds) -> None:
        """Nothing is left out."""


def hear(block: AudioBlock) -> list[Word]:
    """A word at every half second."""
    if int(block.offset * 2) == int(block.onset * 2):
        return []
    return [Word(text="this", onset=block.onset, offset=block.offset)]


def see(frame: VideoFrame) -> list[HandsSeen]:
    return [HandsSeen(time=frame.time, hands=())]


def at_random_speed(say: Say) -> Say:
    """The same, on a machine that is sometimes slow."""

    def slow(event: Any) -> Sequence[Any]:
        time.sleep(random.random() * 0.004)
        return say(event)

    return slow


class PretendEngines:
    """Stands in for :class:`streaming.build.Engines`."""

    def __init__(self, *, hear: Say = hear, see: Say = see, model: Model | None = None) -> None:
        self.description: dict[str, Any] = {}
        self._hear, self._see, self._model = hear, see, model or EchoModel()

    def weights(self, language: str) -> dict[str, str]:
        return {}

    @contextlib.contextmanager
    def pipeline(
        self, *, task: Task, language: str, film: Film | None = None
    ) -> Iterator[Pipeline]:
        turns = iter(range(1000))

        def ask(word: Word) -> list[Query]:
            return [Query(turn=next(turns), asked_at=word.offset, task=task, pointed=())]

        yield Pipeline(
            hearing=Chain([("hear", Says(AudioBlock, self._hear))]),
            seeing=Chain([("see", Says(VideoFrame, self._see))]),
            understanding=Chain([("ask", Says(Word, ask))]),
            model=self._model,
            backlog=NoBacklog(),
        )
