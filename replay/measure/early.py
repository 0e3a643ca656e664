"""What asking early gains and costs: ``python -m replay.measure.early``.

Each clip is streamed once in ``fast`` pace; what hearing, seeing and binding say goes to several
grounders side by side, one that waits for the end of each turn and one for each ``early_after``.
Behind its end a clip goes on for two seconds with silence and its last picture, as a live stream
would, so that the end of the last turn is heard and not only cut off. The local model then answers
every question.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import cyclopts
import numpy as np

from replay.jobs import Job, jobs_from
from replay.run import MAX_SIDE
from replay.source import open_source
from streaming.binding import Binder
from streaming.build import Engines, EngineSettings, read_settings
from streaming.clock import FastClock
from streaming.component import Chain
from streaming.events import (
    SAMPLE_RATE,
    Answer,
    AudioBlock,
    Counters,
    Seconds,
    VideoFrame,
)
from streaming.grounding import Grounder, Query, Task
from streaming.models.local import LocalModel
from streaming.recorder import Recorder
from streaming.session import Session

CLIPS = Path(__file__).resolve().parents[1] / "clips"
_BLOCK: Seconds = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What one ``early_after`` did to the turns of some clips.

    Attributes:
        turns: Turns that were asked about when each waits for its end.
        early: How much earlier the question that counts was asked, by turn, seconds.
        asked: Questions asked early, in all clips.
        superseded: Those of them that another one took the place of.
        same: Turns whose answer that counts says the same: referents, options and descriptions.
        apart: Between the points of two same answers, by referent, in shares of the frame.
        unmatched: Clips whose numbers of turns differ; none of their turns is in the rest.
    """

    turns: int = 0
    early: tuple[Seconds, ...] = ()
    asked: int = 0
    superseded: int = 0
    same: int = 0
    apart: tuple[float, ...] = ()
    unmatched: int = 0

    def __add__(self, other: Gain) -> Gain:
        return Gain(
            turns=self.turns + other.turns,
            early=self.early + other.early,
            asked=self.asked + other.asked,
            superseded=self.superseded + other.superseded,
            same=self.same + other.same,
            apart=self.apart + other.apart,
            unmatched=self.unmatched + other.unmatched,
        )


def main(*clips: Path, after: Sequence[Seconds] = (0.1, 0.25, 0.4)) -> None:
    """Print, for each ``after``, how much earlier turns of ``clips`` are asked and at what cost.

    Parameters
    ----------
    clips
        Files, folders or benchmark trees; the shipped clips by default.
    after
        Values of ``early_after`` to try.
    """
    engines = Engines(EngineSettings())
    gains = {one: Gain() for one in after}
    for job in jobs_from(list(clips) or [CLIPS], language="auto").jobs:
        waiting, *others = asyncio.run(_asked(job, engines, (0.0, *after)))
        whole = asyncio.run(_standing(waiting[0]))
        for one, (queries, asked) in zip(after, others, strict=True):
            gain = compared(whole, asyncio.run(_standing(queries)))
            superseded = sum(query.supersedes is not None for query in queries)
            gains[one] += replace(gain, asked=asked, superseded=superseded)
    for one, gain in gains.items():
        print(_told(one, gain))


def compared(whole: Sequence[tuple[Query, Answer]], early: Sequence[tuple[Query, Answer]]) -> Gain:
    """How the questions and answers that count differ, turn by turn.

    A point lies on the last picture of its own question, so moving hands and cameras move it.

    Args:
        whole: Of turns that were asked at their end.
        early: Of the same turns that might be asked early.
    """
    if len(whole) != len(early):
        return Gain(unmatched=1)
    same = [(one, other) for (_, one), (_, other) in zip(whole, early, strict=True)]
    same = [(one, other) for one, other in same if _said(one) == _said(other)]
    return Gain(
        turns=len(whole),
        early=tuple(
            one.asked_at - other.asked_at for (one, _), (other, _) in zip(whole, early, strict=True)
        ),
        same=len(same),
        apart=tuple(
            math.dist(one.point, other.point)
            for pair in same
            for one, other in zip(pair[0].referents, pair[1].referents, strict=True)
            if one.point is not None and other.point is not None
        ),
    )


def _said(answer: Answer) -> tuple[Any, ...]:
    return tuple(
        (one.kind, one.deictic, one.stroke, one.label, one.description) for one in answer.referents
    )


@dataclass(slots=True)
class _SideBySide:
    """Several grounders that are given the same, in the place of one."""

    grounders: list[Grounder]
    asked: list[list[Query]]
    accepts: tuple[type, ...] = Grounder.accepts
    counters: Counters = field(default_factory=Counters)

    def push(self, event: Any) -> list[Query]:
        for grounder, asked in zip(self.grounders, self.asked, strict=True):
            asked += grounder.push(event)
        return []

    def finish(self) -> list[Query]:
        for grounder, asked in zip(self.grounders, self.asked, strict=True):
            asked += grounder.finish()
        return []


class _Unasked:
    name = "none"
    coord_order: Literal["xy", "yx"] = "xy"

    async def ground(self, query: Query) -> Any:
        return
        yield


async def _asked(
    job: Job, engines: Engines, after: Sequence[Seconds]
) -> list[tuple[list[Query], int]]:
    """What each ``early_after`` asks of a clip, and how many of its questions are early."""
    settings = read_settings()
    # As live: without a benchmark's options and number of referents.
    task = Task(language=job.language)
    grounders = [Grounder(replace(settings.grounding, early_after=one), task=task) for one in after]
    beside = _SideBySide(grounders=grounders, asked=[[] for _ in after])
    clock = FastClock()
    with contextlib.ExitStack() as stack:
        source = open_source(job.path, max_side=MAX_SIDE)
        pipeline = stack.enter_context(engines.pipeline(task=task, language=job.language))
        events = stack.enter_context(contextlib.closing(source.events()))
        session = Session(
            hearing=pipeline.hearing,
            seeing=pipeline.seeing,
            understanding=Chain([("binding", Binder(settings.binding)), ("grounding", beside)]),
            model=_Unasked(),
            clock=clock,
            pace="fast",
            recorder=Recorder(lambda _: None, clock=clock, pace="fast"),
        )
        await session.run(_going_on(events, seconds=2.0))
    early = [grounder.counters.counts.get("queries_early", 0) for grounder in grounders]
    return list(zip(beside.asked, early, strict=True))


def _going_on(events: Iterator[Any], *, seconds: Seconds) -> Iterator[Any]:
    """``events``, and then silence and the last picture."""
    block: AudioBlock | None = None
    frame: VideoFrame | None = None
    for event in events:
        match event:
            case AudioBlock():
                block = event
            case VideoFrame():
                frame = event
        yield event
    ends = [block.offset if block is not None else 0.0, frame.time if frame is not None else 0.0]
    silence = np.zeros(round(_BLOCK * SAMPLE_RATE), dtype=np.float32)
    while block is not None and block.offset < max(ends) + seconds:
        block = AudioBlock(onset=block.offset, samples=silence)
        yield block
        if frame is not None and block.offset > frame.time:
            frame = replace(frame, time=block.offset)
            yield frame


async def _standing(queries: Sequence[Query]) -> list[tuple[Query, Answer]]:
    """The questions that no other took the place of, each with its final answer."""
    model = LocalModel()
    over = {query.supersedes for query in queries}
    standing = []
    for query in queries:
        if query.turn not in over:
            answers = [answer async for answer in model.ground(query)]
            standing.append((query, answers[-1]))
    return standing


def _told(after: Seconds, gain: Gain) -> str:
    if not gain.turns:
        return f"early_after {after:g} s: no turns to compare"
    sooner = [one for one in gain.early if one > 0]
    by = f" by {statistics.median(sooner):.2f} s in the median" if sooner else ""
    apart = f", points at most {max(gain.apart):.3f} apart" if gain.apart else ""
    return (
        f"early_after {after:g} s: {len(sooner)} of {gain.turns} turns asked earlier{by} "
        f"(over all turns {statistics.median(gain.early):.2f} s); "
        f"{gain.asked} early questions, {gain.superseded} of them superseded; "
        f"{gain.same} of {gain.turns} answers the same{apart}; "
        f"{gain.unmatched} clips with other turns"
    )


if __name__ == "__main__":
    cyclopts.run(main)
