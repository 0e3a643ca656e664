"""One session: the stages wired together, from a source's events to answers.

``source -> hearing, seeing -> (join) understanding -> answering``; hearing and seeing each run in a
worker thread of their own, so that a slow one never holds up the other or the event loop. What an
edge does when its reader is slow:

* sound is never dropped; a transcript that is behind skips hops and counts them;
* in ``realtime`` and ``live`` pace the newest video frame wins, older ones are dropped and counted;
* sight that is far ahead of a stuck hearing waits, and so drops frames: memory stays bounded;
* an answer under way is stopped by a newer question, and by the speaker who speaks again
  (:mod:`streaming.answering`); a model that does not answer is given up after
  :data:`ANSWER_WITHIN`;
* in ``fast`` pace every edge waits, so nothing is dropped and nothing depends on the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

from streaming.answering import Answering
from streaming.clock import Clock, Pace, Stopwatch, thread_cpu_seconds
from streaming.component import Chain
from streaming.events import (
    AnswerStopped,
    AudioBlock,
    CameraMotion,
    Counters,
    HandsSeen,
    Seconds,
    Skipped,
    SourceNote,
    SpeechEnd,
    SpeechStart,
    VideoFrame,
)
from streaming.grounding import Model, ModelError
from streaming.recorder import Recorder
from streaming.stage import Channel, Item, Join, batches, run_stage

LOOP_LAG_EVERY: Seconds = 0.1
ANSWER_WITHIN: Seconds = 120.0
"""Wall seconds that a model may take; one that is stuck must not hold up the session's end."""
PICTURES_AHEAD = 128
"""How many pictures wait for a hearing that is behind: 4 s at 30 a second."""
_DECODE_BATCH = 8
_SIGHT = VideoFrame | HandsSeen | CameraMotion
"""What goes to seeing. A source whose pictures have stopped says itself that there is no hand."""
_FORWARD: dict[str, tuple[type, ...]] = {
    "seeing": (VideoFrame,),
    "understanding": (AnswerStopped,),
}
"""What passes a stage without being of it."""


class Backlog(Protocol):
    """A component that wants to know how far behind it runs."""

    def set_backlog(self, seconds: Seconds) -> None: ...


Attended: TypeAlias = AudioBlock | VideoFrame | SpeechStart | SpeechEnd


@runtime_checkable
class Attending(Protocol):
    """A model that follows the stream itself, beside the questions that it is asked.

    Attributes:
        name: As of every model.
        counters: What happened; the session's from its end on.
    """

    name: str
    counters: Counters

    def attend(self, event: Attended) -> None:
        """Take sound and pictures, in order, the moment the clock releases them, and where speech
        begins and ends when hearing has found out. Must not block.
        """
        ...

    async def close(self) -> None:
        """The session has ended, or could not go on."""
        ...


@runtime_checkable
class Taking(Protocol):
    """A source that knows what has come so far, so that nothing waits for what comes next."""

    def take(self, most: int) -> list[Any]:
        """Wait for at least one event; empty when the source has ended. Runs in a thread."""
        ...

    def stop(self) -> None:
        """The session takes no more: a ``take`` that waits returns."""
        ...


@dataclass(slots=True)
class Load:
    """What a session measured of itself; all of it wall-clock, so it goes to one place.

    Attributes:
        frame_age: Seconds from a frame's time to the moment its hands were known.
        block_age: Seconds from the end of an audio block to the moment hearing took it.
        loop_lag: How late the event loop woke up, seconds, sampled ten times a second.
        thread_cpu: CPU seconds of each worker thread.
    """

    frame_age: list[float] = field(default_factory=list)
    block_age: list[float] = field(default_factory=list)
    loop_lag: list[float] = field(default_factory=list)
    thread_cpu: dict[str, float] = field(default_factory=dict)


class Session:
    """Runs one source through the pipeline.

    Args:
        hearing: Takes audio blocks.
        seeing: Takes video frames.
        understanding: Takes what hearing and seeing said, and the frames.
        model: Answers the queries that understanding asks.
        clock: Sets the pace.
        pace: ``fast``, ``realtime`` or ``live``.
        recorder: Told about everything.
        backlog: Told how far behind hearing is, before every audio block (not in ``fast``).
        attending: Shown the stream itself, or None; closed in the end.
    """

    def __init__(
        self,
        *,
        hearing: Chain,
        seeing: Chain,
        understanding: Chain,
        model: Model,
        clock: Clock,
        pace: Pace,
        recorder: Recorder,
        backlog: Backlog | None = None,
        attending: Attending | None = None,
    ) -> None:
        self._chains = {"hearing": hearing, "seeing": seeing, "understanding": understanding}
        self._clock = clock
        self._fast = pace == "fast"
        self._recorder = recorder
        self._backlog = backlog
        self._attending = attending
        self._reached: Seconds = 0.0
        self.counters = Counters()
        self.load = Load()
        self._answering = Answering(
            model,
            record=self._record,
            counters=self.counters,
            waits=self._fast,
            barge_in=attending is None,
            within=ANSWER_WITHIN,
        )

    async def run(self, source: Iterable[Any] | Taking) -> None:
        """Stream ``source`` (audio blocks, frames and notes in order) until it ends.

        Raises:
            ModelError: If a model that follows the stream itself would get it in ``fast`` pace:
                the stream runs ahead of the questions there, so it would see the future.
            BaseExceptionGroup: With what a stage or the source raised, after the others were
                cancelled.
        """
        if self._attending is None:
            await self._run(source)
            return
        if self._fast:
            raise ModelError(
                f"{self._attending.name} follows the stream itself, which in fast pace runs ahead "
                "of the questions; use --pace realtime"
            )
        try:
            await self._run(source)
        finally:
            await self._attending.close()
            self.counters.merge([self._attending.counters])

    async def _run(self, source: Iterable[Any] | Taking) -> None:
        with contextlib.ExitStack() as stack:
            workers = {name: stack.enter_context(_worker(name)) for name in self._chains}
            decoder = stack.enter_context(_worker("decoder"))
            async with asyncio.TaskGroup() as group:
                audio = Channel(16 if self._fast else None)
                video = self._video_channel()
                heard, seen, asked = Channel(None), Channel(4), Channel(None)
                join = Join(2, capacity=16, patience=None if self._fast else PICTURES_AHEAD)
                lag = group.create_task(self._measure_loop_lag())
                group.create_task(self._feed(source, decoder, audio, video))
                self._start_stage(group, "hearing", audio, heard, workers)
                self._start_stage(group, "seeing", video, seen, workers)
                group.create_task(join.feed(0, heard))
                group.create_task(join.feed(1, seen))
                self._start_stage(group, "understanding", join.channel, asked, workers)
                await self._answering.run(asked, group)
                lag.cancel()
            for name, worker in {**workers, "source": decoder}.items():
                self.load.thread_cpu[name] = worker.submit(thread_cpu_seconds).result()
        for chain in self._chains.values():
            self.counters.merge([chain.counters])

    def wall(self, watch: Stopwatch) -> dict[str, Any]:
        """All that depends on the wall clock, for the trace's last line.

        ``cpu_by_stage`` has the CPU seconds of each stage's thread, and under ``other`` the rest of
        the process: the event loop, the answering model and the threads that Whisper's engine and
        the codecs run for themselves.
        """
        cpu = watch.cpu()
        by_stage = {name: round(spent, 3) for name, spent in self.load.thread_cpu.items()}
        by_stage["other"] = round(max(0.0, cpu - sum(by_stage.values())), 3)
        return {
            "wall_seconds": round(watch.wall(), 3),
            "cpu_seconds": round(cpu, 3),
            "cpu_by_stage": by_stage,
            "frame_age_ms": _milliseconds(self.load.frame_age),
            "block_age_ms": _milliseconds(self.load.block_age),
            "loop_lag_ms": _milliseconds(self.load.loop_lag),
            "components": {
                name: {
                    "busy": round(chain.busy[name], 4),
                    "cpu": round(chain.cpu[name], 4),
                    "longest": round(chain.longest[name], 4),
                    "steps": chain.steps[name],
                }
                for chain in self._chains.values()
                for name in chain.busy
            },
        }

    def _video_channel(self) -> Channel:
        if self._fast:
            return Channel(8)
        return Channel(2, overflow="drop_oldest", on_drop=self._dropped)

    def _dropped(self, item: Item) -> None:
        frames = [event for event in item.events if isinstance(event, VideoFrame)]
        self.counters.add("frames_skipped", len(frames))
        skips = tuple(Skipped(what="frame", onset=f.time, offset=f.time) for f in frames)
        self._recorder.record("source", Item(known_at=self._reached, events=skips))

    def _start_stage(
        self,
        group: asyncio.TaskGroup,
        name: str,
        inbox: Channel,
        outbox: Channel,
        workers: dict[str, ThreadPoolExecutor],
    ) -> None:
        group.create_task(
            run_stage(
                self._chains[name],
                batches(inbox, 8 if self._fast or name != "seeing" else 1),
                outbox,
                name=name,
                record=self._record,
                worker=workers[name],
                before=self._tell_backlog if name == "hearing" and not self._fast else None,
                forward=_FORWARD.get(name, ()),
                beside=self._answering.heard if name == "hearing" else None,
            )
        )

    def _record(self, stage: str, item: Item) -> None:
        if stage == "seeing" and item.events and not self._fast and not item.finish:
            self.load.frame_age.append(self._clock.now() - item.known_at)
        if stage == "hearing" and self._attending is not None:
            for event in item.events:
                if isinstance(event, SpeechStart | SpeechEnd):
                    self._attending.attend(event)
        self._recorder.record(stage, item)

    def _tell_backlog(self, item: Item) -> None:
        if not item.events:
            return
        behind = max(0.0, self._clock.now() - item.known_at)
        self.load.block_age.append(behind)
        if self._backlog is not None:
            self._backlog.set_backlog(behind)

    async def _feed(
        self,
        source: Iterable[Any] | Taking,
        decoder: ThreadPoolExecutor,
        audio: Channel,
        video: Channel,
    ) -> None:
        if not isinstance(source, Taking):
            await self._play(partial(_take, iter(source)), decoder, audio, video)
            return
        try:
            await self._play(source.take, decoder, audio, video)
        finally:
            source.stop()

    async def _play(
        self,
        take: Callable[[int], list[Any]],
        decoder: ThreadPoolExecutor,
        audio: Channel,
        video: Channel,
    ) -> None:
        coming = decoder.submit(take, _DECODE_BATCH)
        while batch := await asyncio.wrap_future(coming):
            # Decoded while this batch is played, so that its first event is not late.
            coming = decoder.submit(take, _DECODE_BATCH)
            for event in batch:
                await self._release(event, audio, video)
        self._recorder.record("source", Item(known_at=math.inf))
        await audio.close()
        await video.close()

    async def _release(self, event: Any, audio: Channel, video: Channel) -> None:
        match event:
            case AudioBlock():
                self._reached = max(self._reached, event.offset)
            case VideoFrame() | HandsSeen() | CameraMotion():
                self._reached = max(self._reached, event.time)
            case SourceNote():
                self.counters.add(event.kind)
        await self._clock.wait_until(self._reached)
        item = Item(known_at=self._reached, events=(event,), sent_at=self._clock.now())
        self._recorder.record("source", item)
        if self._attending is not None and isinstance(event, AudioBlock | VideoFrame):
            self._attending.attend(event)
        # The stage that the event is not for learns how far the stream is all the same: nothing
        # that waits for both may wait for pictures that have ended, or for sound.
        for channel, kinds in ((audio, AudioBlock), (video, _SIGHT)):
            await channel.send(item if isinstance(event, kinds) else replace(item, events=()))

    async def _measure_loop_lag(self) -> None:
        if self._fast:
            return
        while True:
            due = self._clock.now() + LOOP_LAG_EVERY
            await self._clock.wait_until(due)
            self.load.loop_lag.append(self._clock.now() - due)


def _worker(name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)


def _take(events: Iterator[Any], most: int) -> list[Any]:
    taken = []
    for event in events:
        taken.append(event)
        if len(taken) == most:
            break
    return taken


def _milliseconds(seconds: list[float]) -> list[float]:
    return [round(1000 * value, 1) for value in seconds]
