"""Replaying one clip as a stream, and leaving its record on disk.

A clip's folder gets ``trace.jsonl`` (line by line, while it runs), ``answer.json``, ``last.jpg``,
``apex_<stroke>.jpg`` and, for a clip of a benchmark, ``truth.json``. A clip that is only watched
gets ``query/`` in the place of an answer (:mod:`replay.asking.saved_query`).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import cv2
import numpy as np
import psutil
from numpy.typing import NDArray

from replay.asking.saved_query import save_query
from replay.ecog import video_size, write_truth
from replay.jobs import Job
from replay.media.cutting import FileFilm
from replay.out_folder import TRACE, check_clip_folder
from replay.source import SourceInfo, open_source
from streaming.build import Engines, Pipeline
from streaming.clock import Clock, FastClock, Pace, RealtimeClock, Stopwatch, utc_now
from streaming.events import Answer, Seconds, VideoFrame
from streaming.grounding import Model, Query
from streaming.machine import describe_machine
from streaming.recorder import Listener, Recorder
from streaming.session import Session
from streaming.trace import FORMAT_VERSION
from streaming.version import VERSION

_BESIDE_TRACE = ("answer.json", "last.jpg", "truth.json")
JPEG_QUALITY = 85
MAX_SIDE = 1920
"""Larger pictures are scaled down: 4K costs four times as much and finds no more hands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a clip.

    Attributes:
        answer: The last final answer, or None when nothing was asked.
        coord_order: Order of the two numbers of a point in the answer's raw text.
        counters: As in the trace's last line.
        lines: Number of trace lines by type.
        duration: Media seconds.
        wall: Seconds that it took.
        cpu: CPU seconds that it took.
    """

    name: str
    answer: Answer | None
    coord_order: Literal["xy", "yx"]
    counters: dict[str, int]
    lines: dict[str, int]
    duration: Seconds
    wall: float
    cpu: float


class _Witness:
    """Stands before the model and keeps the pictures and answers that pass by."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.is_silent = isinstance(model, _Silence)
        self.name = model.name
        self.coord_order = model.coord_order
        self.apexes: dict[int, bytes] = {}
        self.query: Query | None = None
        self.answer: Answer | None = None

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        self.query = query
        for keyframe in query.keyframes:
            self.apexes[keyframe.stroke.index] = keyframe.jpeg
        async for answer in self._model.ground(query):
            if answer.final:
                self.answer = answer
            yield answer


class _Silence:
    """Stands where the model would, and says nothing."""

    name = "none"
    coord_order: Literal["xy", "yx"] = "xy"

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        return
        yield


async def replay_clip(
    job: Job,
    folder: Path,
    *,
    engines: Engines,
    pace: Pace,
    listeners: Sequence[Listener] = (),
    watch_only: bool = False,
) -> Outcome:
    """Stream one clip through the pipeline and write its record into ``folder``.

    With ``watch_only`` no model is asked: the last query is saved, for models to be asked later.

    Raises:
        SourceError: If the clip cannot be opened.
        OutFolderError: If the folder holds somebody else's files.
        BaseExceptionGroup: As :meth:`streaming.session.Session.run`.
    """
    with contextlib.ExitStack() as stack:
        source = open_source(job.path, until=job.until, max_side=MAX_SIDE)
        pipeline = stack.enter_context(
            engines.pipeline(task=job.task, language=job.language, film=FileFilm(job.path))
        )
        stream = stack.enter_context(_new_trace(folder))
        events = stack.enter_context(contextlib.closing(source.events()))
        lines: Counter[str] = Counter()
        clock: Clock = FastClock() if pace == "fast" else RealtimeClock()
        recorder = Recorder(
            lambda text: print(text, file=stream),
            clock=clock,
            pace=pace,
            listeners=(lambda line: lines.update([line["type"]]), *listeners),
        )
        witness, last = _Witness(_Silence() if watch_only else pipeline.model), _LastFrame()
        recorder.header(_header(job, source.info, witness.name, engines, pace))
        session = _session(pipeline, witness, clock=clock, pace=pace, recorder=recorder)
        started, watch = utc_now(), Stopwatch()
        async with contextlib.aclosing(pipeline):
            await session.run(last.watch(events))
        session.counters.merge(pipeline.asked)
        _write_beside(folder, job, witness, last.image)
        if watch_only and witness.query is not None:
            save_query(witness.query, folder)
        counters = dict(sorted(session.counters.counts.items()))
        wall = {"started": started, **session.wall(watch), "rss_mb": _rss_mb()}
        recorder.end({"complete": True, "counters": counters, "wall": wall})
        return Outcome(
            name=job.name,
            answer=witness.answer,
            coord_order=witness.coord_order,
            counters=counters,
            lines=dict(lines),
            duration=recorder.duration,
            wall=watch.wall(),
            cpu=watch.cpu(),
        )


def _session(
    pipeline: Pipeline, witness: _Witness, *, clock: Clock, pace: Pace, recorder: Recorder
) -> Session:
    return Session(
        hearing=pipeline.hearing,
        seeing=pipeline.seeing,
        understanding=pipeline.understanding,
        model=witness,
        clock=clock,
        pace=pace,
        recorder=recorder,
        backlog=pipeline.backlog,
        attending=None if witness.is_silent else pipeline.attending,
    )


def _new_trace(folder: Path) -> TextIO:
    check_clip_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in (*folder.glob("apex_*.jpg"), *(folder / name for name in _BESIDE_TRACE)):
        stale.unlink(missing_ok=True)
    # Line by line, so that a session that is killed leaves what it knew; half a surrogate pair in a
    # file's name is written as the escape that JSON has for it.
    return (folder / TRACE).open("w", encoding="utf-8", errors="backslashreplace", buffering=1)


class _LastFrame:
    """Remembers the last picture of a stream that passes by."""

    def __init__(self) -> None:
        self.image: NDArray[np.uint8] | None = None

    def watch(self, events: Iterator[Any]) -> Iterator[Any]:
        for event in events:
            if isinstance(event, VideoFrame):
                self.image = event.image
            yield event


def _header(job: Job, info: SourceInfo, model: str, engines: Engines, pace: Pace) -> dict[str, Any]:
    return {
        "format": FORMAT_VERSION,
        "version": VERSION,
        "clip": job.name,
        "source": {
            "name": job.path.name,
            "duration": info.duration,
            "width": info.width,
            "height": info.height,
            "fps": info.fps,
            "video": info.video,
            "audio": info.audio,
        },
        "pace": pace,
        "language": job.language,
        "model": model,
        "config": engines.description,
        "weights": engines.weights(job.language),
        "machine": describe_machine(),
    }


def _write_beside(
    folder: Path, job: Job, witness: _Witness, last: NDArray[np.uint8] | None
) -> None:
    """Write what lies beside the trace: pictures, the answer, and what a benchmark expects."""
    for stroke, jpeg in sorted(witness.apexes.items()):
        (folder / f"apex_{stroke}.jpg").write_bytes(jpeg)
    if last is not None:
        bgr = cv2.cvtColor(last, cv2.COLOR_RGB2BGR)
        made, encoded = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        if made:
            (folder / "last.jpg").write_bytes(encoded.tobytes())
    if job.clip is not None:
        write_json(folder / "truth.json", write_truth(job.clip, video_size(job.path)))
    if witness.answer is not None:
        write_text(folder / "answer.json", witness.answer.raw)


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none of it."""
    partial = path.with_name(path.name + ".part")
    try:
        # Half a surrogate pair, as in a file's name that is no Unicode, becomes JSON's escape.
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON for people and programs, whole or not at all."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _rss_mb() -> float:
    return round(float(psutil.Process().memory_info().rss) / 1e6, 1)
