"""How much a long session remembers: made-up sound, hands and pictures through the real stages.

Nobody is listened to and nothing is looked at: the words and the hands come from a script, at the
times at which ears and eyes would have them, so that half an hour takes about a minute. All that
remembers is real: stroke detector, deixis, binder, grounder with its store of frames and words, the
session, its trace, and the live feed's memory for late readers, when that listens in.

Once a minute of the stream the process's memory and what the store holds are written down.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil

from replay.measure.stroke_scenes import Scene, Seeing, pointing_scene
from streaming.binding import Binder
from streaming.build import read_settings
from streaming.clock import FastClock
from streaming.component import Chain
from streaming.config import config_path, load
from streaming.deixis import DeixisFinder, load_lexicons
from streaming.events import (
    SAMPLE_RATE,
    Answer,
    AudioBlock,
    CameraMotion,
    Counters,
    HandsSeen,
    Seconds,
    SpeechEnd,
    SpeechSeen,
    SpeechStart,
    Utterance,
    VideoFrame,
    Word,
    WordsSeen,
)
from streaming.grounding import Grounder, Query
from streaming.prefix import PrefixSettings
from streaming.recorder import Listener, Recorder
from streaming.session import Session
from streaming.strokes import StrokeDetector

FPS = 15.0
SIZE = (480, 640)
"""Height and width of the made-up pictures."""
_SCENES = 6
_BLOCK = 1600
_AFTER: Seconds = 0.6
"""A word is committed so long after it was spoken."""
_SAID = ("please", "move", "this", "one", "over", "now")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What there was at one moment of the stream.

    Attributes:
        at: Minutes of the stream.
        rss_mb: Resident memory of the process, 10^6 bytes.
        trace_mb: Bytes of trace written so far, 10^6; they are on disk, not in memory.
        facts: Of the store, see :meth:`streaming.prefix.PrefixStore.facts`.
    """

    at: float
    rss_mb: float
    trace_mb: float
    facts: dict[str, int]


@dataclass(slots=True, kw_only=True)
class LongRun:
    """What came of it.

    Attributes:
        samples: One a minute.
        queries: How many there were.
        most_frames, most_words: The most that a query carried of the stream so far.
        counters: Of the session.
    """

    samples: list[Sample] = field(default_factory=list)
    queries: int = 0
    most_frames: int = 0
    most_words: int = 0
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def growth_mb(self) -> float:
        """Median memory of the last third less that of the middle third; NaN of a short run."""
        third = len(self.samples) // 3
        if third == 0:
            return math.nan
        rss = [sample.rss_mb for sample in self.samples]
        return float(np.median(rss[-third:]) - np.median(rss[third : 2 * third]))


async def run_long(
    minutes: float,
    trace: Path,
    *,
    listeners: Sequence[Listener] = (),
    told: Callable[[Sample], None] = lambda sample: None,
) -> LongRun:
    """Run a session of ``minutes`` in fast pace, and write its trace to ``trace``."""
    run = LongRun()
    settings = read_settings()
    grounder = Grounder(settings.grounding, prefix=load(PrefixSettings, config_path("prefix.toml")))
    with trace.open("w", encoding="utf-8", buffering=1) as stream:
        written = 0

        def write(line: str) -> None:
            nonlocal written
            written += len(line) + 1
            print(line, file=stream)

        def sampled(minute: float) -> None:
            rss = float(psutil.Process().memory_info().rss)
            run.samples.append(
                Sample(
                    at=minute,
                    rss_mb=round(rss / 1e6, 1),
                    trace_mb=round(written / 1e6, 2),
                    facts=grounder.remembered(),
                )
            )
            told(run.samples[-1])

        clock = FastClock()
        recorder = Recorder(write, clock=clock, pace="fast", listeners=listeners)
        recorder.header({"clip": "long", "source": {"name": "made up"}, "pace": "fast"})
        session = Session(
            hearing=Chain([("ears", _Ears()), ("deixis", DeixisFinder(load_lexicons()))]),
            seeing=Chain([("eyes", _Eyes()), ("strokes", StrokeDetector(settings.strokes))]),
            understanding=Chain(
                [
                    ("binding", Binder(settings.binding)),
                    ("grounding", grounder),
                    ("minutes", _Minutes(sampled)),
                ]
            ),
            model=_Listener(run),
            clock=clock,
            pace="fast",
            recorder=recorder,
        )
        # A second more, so that the last minute is a full one.
        await session.run(_source(60 * minutes + 1))
        run.counters = dict(sorted(session.counters.counts.items()))
        recorder.end({"complete": True, "counters": run.counters})
    return run


class _Listener:
    """Stands where the model would: looks at what it is given, and keeps nothing of it."""

    name = "listener"
    coord_order: Literal["xy", "yx"] = "xy"

    def __init__(self, run: LongRun) -> None:
        self._run = run

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        run, prefix = self._run, query.prefix
        run.queries += 1
        run.most_frames = max(run.most_frames, len(prefix.frames))
        run.most_words = max(run.most_words, len(prefix.words))
        yield Answer(turn=query.turn, referents=(), frame_time=query.asked_at, model=self.name)


class _Minutes:
    """Tells each full minute of the stream, in the thread of the stage that remembers."""

    accepts: tuple[type, ...] = (VideoFrame,)

    def __init__(self, tell: Callable[[float], None]) -> None:
        self.counters = Counters()
        self._tell = tell
        self._next = 1

    def push(self, event: VideoFrame) -> list[Any]:
        if event.time >= 60 * self._next:
            self._tell(self._next)
            self._next += 1
        return []

    def finish(self) -> list[Any]:
        return []


# --- the script --------------------------------------------------------------------------------


@cache
def _scene(number: int) -> Scene:
    return pointing_scene(number, Seeing(fps=FPS))


def _scenes() -> Iterator[tuple[int, Seconds, Scene]]:
    """Scenes one after the other: number, begin, and what is in it."""
    number, begin = 0, 0.0
    while True:
        scene = _scene(number % _SCENES)
        yield number, begin, scene
        number, begin = number + 1, begin + math.ceil(scene.duration + 1 / FPS)


def _source(seconds: Seconds) -> Iterator[Any]:
    """Sound and pictures in order of availability."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (8, *SIZE, 3), dtype=np.uint8)
    blur = np.repeat(np.repeat(noise[:, ::8, ::8], 8, axis=1), 8, axis=2)
    silence = np.zeros(_BLOCK, np.float32)
    heard, pictures = 0, 0
    for _, begin, scene in _scenes():
        for hands, _ in scene.frames:
            time = begin + hands.time
            while (heard + 1) * _BLOCK / SAMPLE_RATE <= time:
                yield AudioBlock(onset=heard * _BLOCK / SAMPLE_RATE, samples=silence)
                heard += 1
            if time >= seconds:
                return
            # A copy, as a decoder gives: frames that are kept by mistake then cost memory.
            yield VideoFrame(time=time, image=blur[pictures % len(blur)].copy())
            pictures += 1


class _Eyes:
    """Says for each picture where the script's hand is."""

    accepts: tuple[type, ...] = (VideoFrame,)

    def __init__(self) -> None:
        self.counters = Counters()
        self._seen = _sights()

    def push(self, event: VideoFrame) -> list[HandsSeen | CameraMotion]:
        hands, motion = next(self._seen)
        assert abs(hands.time - event.time) < 1e-9, "one sight for each picture"
        return [hands, motion]

    def finish(self) -> list[Any]:
        return []


def _sights() -> Iterator[tuple[HandsSeen, CameraMotion]]:
    for number, begin, scene in _scenes():
        for hands, motion in scene.frames:
            time = begin + hands.time
            yield replace(hands, time=time), replace(motion, time=time, anchor=number)


class _Ears:
    """Says the script's words when they would have been recognised."""

    accepts: tuple[type, ...] = (AudioBlock,)

    def __init__(self) -> None:
        self.counters = Counters()
        self._coming = _speech()
        self._next = next(self._coming)

    def push(self, event: AudioBlock) -> list[Any]:
        said: list[Any] = []
        while self._next[0] <= event.offset:
            said += self._next[1]
            self._next = next(self._coming)
        words = WordsSeen(until=max(0.0, event.offset - 2 * _AFTER))
        return [*said, SpeechSeen(until=event.offset), words]

    def finish(self) -> list[Any]:
        return []


def _speech() -> Iterator[tuple[Seconds, list[Any]]]:
    """What is known of the script's speech, and when: a sentence with each stroke."""
    utterance = 0
    for _, begin, scene in _scenes():
        free = begin
        for stroke in scene.strokes:
            # The third word is the one that points.
            onset = begin + stroke.apex - 2 * 0.3
            if onset < free:
                continue
            words = tuple(
                Word(
                    text=text,
                    onset=onset + 0.3 * place,
                    offset=onset + 0.3 * place + 0.25,
                    utterance=utterance,
                )
                for place, text in enumerate(_SAID)
            )
            end = words[-1].offset
            yield onset, [SpeechStart(utterance=utterance, onset=onset)]
            for word in words:
                yield word.offset + _AFTER, [word]
            yield (
                end + _AFTER,
                [
                    SpeechEnd(utterance=utterance, offset=end),
                    Utterance(index=utterance, onset=onset, offset=end, language="en", words=words),
                ],
            )
            utterance += 1
            free = end + 2 * _AFTER
