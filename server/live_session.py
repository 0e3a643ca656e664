"""One live session: what comes in by :attr:`LiveSession.ingest` comes out as events by its feed."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import math
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from server.feed import Feed
from server.governor import Pressure
from server.guard_log import RECORDED
from server.hurry import Hurry
from server.ingest import Ingest
from server.journey import Journey, read_captured
from server.live_source import LiveSource
from server.measured import Measured
from server.recording import RecordingSettings, RecordingState, RecordingSwitch
from server.recording_tee import Tee, Unheard
from server.settings import Level, ServerSettings
from streaming.build import Pipeline
from streaming.clock import LiveClock, Stopwatch, utc_now
from streaming.config import config_path, load
from streaming.events import Seconds
from streaming.failures import leaves, one_line, root_cause
from streaming.grounding import Task
from streaming.machine import describe_machine
from streaming.recorder import Recorder
from streaming.session import Load, Session
from streaming.trace import FORMAT_VERSION
from streaming.version import VERSION

LOOK_EVERY: Seconds = 5.0
_KEPT_AGES = 2000
_TOLD_AGES = 250
_MOVED: Seconds = 0.002
_log = logging.getLogger(__name__)


class SessionEngines(Protocol):
    """The models, as :class:`streaming.build.Engines` has them."""

    description: dict[str, Any]

    def pipeline(self, *, task: Task, language: str) -> AbstractContextManager[Pipeline]: ...

    def weights(self, language: str) -> dict[str, str]: ...


class LiveSession:
    """Runs the pipeline on what comes in.

    Args:
        engines: The models.
        task: What is asked of the stream.
        language: Spoken language.
        kind: How the media comes: ``websocket``, ``whip`` or ``pull``.
        settings: Of the server.
        loading: Held while models are loaded, so that no two sessions load the same.
        measured: Told of every line, and of the counters in the end.

    Attributes:
        id: Cannot be guessed; who knows it may read the feed.
        name: In records.
        feed: The session's events.
        journey: How long media and lines are on their way.
        recording: Switched on and off while the session runs, and off at first.
        source: What the pipeline takes from.
    """

    def __init__(
        self,
        engines: SessionEngines,
        *,
        task: Task,
        language: str,
        kind: str = "websocket",
        settings: ServerSettings | None = None,
        loading: asyncio.Lock | None = None,
        measured: Measured | None = None,
    ) -> None:
        settings = settings or ServerSettings()
        self.id = secrets.token_urlsafe(16)
        self.kind = kind
        self.language = language
        self._clock = LiveClock()
        self.journey = Journey(clock=asyncio.get_running_loop().time, session_now=self._clock.now)
        self.feed = Feed(settings.feed, sent=self.journey.sent)
        self._engines = engines
        self._settings = settings
        self._task = task
        # A stream that the server fetches is tried again for as long as it takes.
        self._idle = math.inf if kind == "pull" else settings.live.idle
        self.source = LiveSource(settings.live, clock=self._clock)
        # The id lets whoever knows it read the feed, so it goes into no record.
        self.name = secrets.token_hex(4)
        self.recording = RecordingSwitch(
            Unheard(self.source, self._recording_failed),
            folder=Path(settings.recordings),
            name=self.name,
            settings=_recording_settings(),
        )
        self._hurry = Hurry(self.source)
        self._loading = loading or asyncio.Lock()
        self._measured = measured
        self._started = asyncio.Event()
        self._level = Level()
        self._failure: str | None = None
        self._counters: dict[str, int] = {}
        self._loop = asyncio.get_running_loop()
        self._stopping: asyncio.Task[RecordingState] | None = None
        self._recorded: str | None = None
        self._tell_facts()

    @property
    def ingest(self) -> Ingest:
        """Where sound and pictures go."""
        return self.source

    def state(self) -> dict[str, Any]:
        """How the session stands, for people and programs."""
        if self._failure is not None:
            stands = "failed"
        elif not self._started.is_set():
            stands = "loading"
        else:
            stands = "live" if self.source.closed is None else "ending"
        return {
            "session": self.id,
            "kind": self.kind,
            "language": self.language,
            "state": stands,
            "time": round(self._clock.now(), 3),
            "pictures_a_second": self._level.pictures,
            "hop_stride": self._level.stride,
            "readers": self.feed.readers,
            "recording": self._recorded is not None,
            "recording_name": self._recorded,
            "counters": {**self.source.counters.counts, **self._counters},
        }

    def now(self) -> Seconds:
        """Where the session stands on its timeline; 0 until something has come."""
        return self._clock.now()

    def captured(self, message: Mapping[str, Any]) -> None:
        """Take what the sender says about its clock, and tell who reads.

        Raises:
            JourneyError: If it says nothing usable.
        """
        before, said = self.journey.captured, read_captured(message)
        self.journey.captured = said
        if before is None or abs(before.zero - said.zero) > _MOVED:
            line = {"zero": round(1000 * said.zero, 3), "within": round(1000 * said.within, 3)}
            self.feed.publish({"type": "Captured", **line})

    async def started(self) -> None:
        """Return when the models are loaded.

        Raises:
            RuntimeError: If they could not be; the text is one line.
        """
        await self._started.wait()
        if self._failure is not None:
            raise RuntimeError(self._failure)

    async def record(self, on: bool) -> RecordingState:
        """Switch recording on or off, and tell who reads.

        Raises:
            OSError: If the folder for recordings cannot be made.
        """
        switch = self.recording.start if on else self.recording.stop
        state = await asyncio.to_thread(switch)
        for path in () if on else state.files:
            logging.getLogger(RECORDED).info("recorded %s", path)
        name = state.name if state.active else None
        if name != self._recorded:
            self._recorded = name
            self._tell_facts()
            self.feed.publish({"type": "Recording", "on": state.active, "name": name})
        return state

    async def _record_from_the_start(self) -> None:
        if not self._settings.record:
            return
        try:
            await self.record(True)
        except OSError as error:
            _log.warning("cannot record: %s", error)
            self.source.note("recording_failed", f"the server cannot write there: {error.strerror}")

    def _recording_failed(self) -> None:
        """The recording has ended by itself. From any thread."""

        def stop() -> None:
            self._stopping = self._loop.create_task(self.record(False))

        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(stop)

    def pressure(self) -> Pressure:
        """How far behind the session was since the last call."""
        return self._hurry.pressure()

    def set_level(self, level: Level, *, sessions: int, cores: int) -> None:
        """Do as much as ``level`` says, and tell who reads."""
        if level == self._level:
            return
        self._level = level
        self.source.thin(level.pictures)
        self._hurry.stride = level.stride
        hops = "each" if level.stride == 1 else f"one in {level.stride}"
        self._tell_facts()
        self.feed.publish(
            {
                "type": "Status",
                "pictures_a_second": level.pictures,
                "hop_stride": level.stride,
                "text": f"{sessions} on {cores} cores: up to {level.pictures:g} pictures a second "
                f"are looked at, {hops} of the steps of hearing is taken",
            }
        )

    async def run(self) -> None:
        """Run until :attr:`ingest` is closed and everything is worked off.

        Raises:
            BaseExceptionGroup: As :meth:`streaming.session.Session.run`; the feed has said it.
        """
        try:
            async with AsyncExitStack() as stack:
                pipeline = await stack.enter_async_context(
                    opened(self._engines, self._task, self.language, self._loading)
                )
                self._started.set()
                await self._stream(pipeline)
        except asyncio.CancelledError:
            self.feed.publish({"type": "Failed", "text": "the session was cut off"})
            raise
        except (Exception, BaseExceptionGroup) as error:  # said, then raised again
            if any(isinstance(one, asyncio.CancelledError) for one in leaves(error)):
                raise
            self._failure = one_line(root_cause(error))
            self.feed.publish({"type": "Failed", "text": self._failure})
            raise
        finally:
            self.source.close("the session has ended")
            self._started.set()
            self._tell_facts()
            try:
                await self.record(False)
            finally:  # last: who reads that it is over finds its place free
                self.feed.close()

    async def _stream(self, pipeline: Pipeline) -> None:
        tee = Tee(self.source, self.recording)
        recorder = Recorder(
            self._keep,
            clock=self._clock,
            pace="live",
            listeners=(
                self.feed.publish,
                self._hurry.line,
                tee.told,
                *([] if self._measured is None else [self._measured.line]),
            ),
        )
        self._hurry.backlog = pipeline.backlog
        session = Session(
            hearing=pipeline.hearing,
            seeing=pipeline.seeing,
            understanding=pipeline.understanding,
            model=pipeline.model,
            clock=self._clock,
            pace="live",
            recorder=recorder,
            backlog=self._hurry,
            attending=pipeline.attending,
        )
        recorder.header(self._describe(pipeline.model.name))
        await self._record_from_the_start()
        watch, started = Stopwatch(), utc_now()
        looking = asyncio.create_task(self._look_after(session.load))
        try:
            await session.run(tee)
        finally:
            looking.cancel()
        session.counters.merge([*pipeline.asked, self.source.counters])
        self._counters = dict(sorted(session.counters.counts.items()))
        if self._measured is not None:
            self._measured.ended(self._counters)
        _thin_ages(session.load, _TOLD_AGES)
        wall = {"started": started, **session.wall(watch), "journey": self.journey.as_json()}
        recorder.end({"complete": True, "counters": self._counters, "wall": wall})

    def _keep(self, text: str) -> None:
        """Give a line of the trace, in its order, to the recording if that is on."""
        if self.recording.state().active or text.startswith('{"type":"Header"'):
            self.recording.line(json.loads(text))

    async def _look_after(self, load: Load) -> None:
        """End the session when nothing comes for long, and keep its memory flat."""
        loop = asyncio.get_running_loop()
        came, since = -1, loop.time()
        while True:
            await asyncio.sleep(min(LOOK_EVERY, self._idle / 2))
            _forget_ages(load, _KEPT_AGES)
            if self.source.came != came:
                came, since = self.source.came, loop.time()
            elif loop.time() - since >= self._idle:
                self.ingest.close(f"nothing came for {self._idle:g} s")

    def _describe(self, model: str) -> dict[str, Any]:
        return {
            "format": FORMAT_VERSION,
            "version": VERSION,
            "clip": self.name,
            "source": {"name": self.kind, "duration": None, "video": True, "audio": True},
            "pace": "live",
            "language": self.language,
            "model": model,
            "config": self._engines.description,
            "weights": self._engines.weights(self.language),
            "machine": describe_machine(),
        }

    def _tell_facts(self) -> None:
        state = self.state()
        state.pop("readers")
        self.feed.facts = state


@asynccontextmanager
async def opened(
    engines: SessionEngines, task: Task, language: str, loading: asyncio.Lock
) -> AsyncIterator[Pipeline]:
    """A pipeline whose models are loaded in a thread, one at a time by ``loading``.

    Raises:
        WeightsError, ModelError: As :meth:`streaming.build.Engines.pipeline`.
    """
    context = engines.pipeline(task=task, language=language)
    async with loading:
        pipeline = await asyncio.to_thread(context.__enter__)
    try:
        yield pipeline
    finally:
        await asyncio.shield(_closed(pipeline, context))


async def _closed(pipeline: Pipeline, context: AbstractContextManager[Pipeline]) -> None:
    await pipeline.aclose()
    await asyncio.to_thread(context.__exit__, None, None, None)


@functools.cache
def _recording_settings() -> RecordingSettings:
    return load(RecordingSettings, config_path("recording.toml"))


def _forget_ages(load: Load, keep: int) -> None:
    ages: Sequence[list[float]] = (load.frame_age, load.block_age, load.loop_lag)
    for one in ages:
        del one[: max(0, len(one) - keep)]


def _thin_ages(load: Load, most: int) -> None:
    """Leave at most ``most`` of each, evenly spread: enough for quantiles."""
    for one in (load.frame_age, load.block_age, load.loop_lag):
        one[:] = one[:: max(1, math.ceil(len(one) / most))]
