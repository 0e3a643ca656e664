"""A clip pushed through a real server that records it, and the replay of that recording."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import av

from replay.jobs import jobs_from
from replay.measure.agreement import KINDS, Agreement, Run, agreement, read_run, reasons
from replay.measure.live_processes import LiveMeasureError, Sender, Served, publishing, serving
from replay.out_folder import TRACE
from replay.run import replay_clip
from streaming.build import Engines
from streaming.clock import RealtimeClock
from streaming.events import Seconds
from streaming.failures import one_line, root_cause

_TRACE_ENDING = ".trace.jsonl"
_WORKED_OFF_WITHIN: Seconds = 60.0
_LOOK_EVERY: Seconds = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A recorded session beside the replay of its recording.

    Attributes:
        name: Of the clip, or of the recording.
        kinds: By kind of decision; the live session is the first.
        reasons: Counters of the live session that explain differences.
        exact: Its pictures were recorded without loss.
        megabytes: Size of the recording.
        seconds: Length of the live session's timeline.
    """

    name: str
    kinds: dict[str, Agreement]
    reasons: dict[str, int]
    exact: bool
    megabytes: float
    seconds: Seconds

    @property
    def all_same(self) -> bool:
        return all(
            not (one.moved or one.only_first or one.only_second) for one in self.kinds.values()
        )


def recorded_trace(film: Path) -> Path:
    """The trace that a live session wrote beside its recording."""
    return film.with_name(film.stem + _TRACE_ENDING)


def is_recording(path: Path) -> bool:
    """Whether ``path`` is what a live session recorded."""
    return path.suffix == ".mkv" and recorded_trace(path).is_file()


@asynccontextmanager
async def recording_server(language: str) -> AsyncIterator[tuple[Served, Path]]:
    """A server that records every session, and the folder where that goes.

    Raises:
        LiveMeasureError: If it does not begin.
    """
    with tempfile.TemporaryDirectory(prefix="deixis-recording-") as folder:
        options = ("--record", "--recordings", folder, "--language", language)
        async with serving(*options) as served:
            yield served, Path(folder)


async def record(
    clip: Path, served: Served, folder: Path, *, sender: Sender, language: str
) -> Path:
    """Push ``clip`` through the server at its own pace, and return the recording.

    Raises:
        LiveMeasureError: If nothing came of it.
    """
    before = _films(folder)
    child = await publishing(clip, served, sender, "--language", language, "--quiet")
    if await child.ended() != 0:
        raise LiveMeasureError(f"{clip.name} was not published: {child.last_words()}")
    clock = RealtimeClock()
    while clock.now() < _WORKED_OFF_WITHIN:
        made = _films(folder) - before
        if made and all(_has_ended(recorded_trace(film)) for film in made):
            return min(made)
        await clock.wait_until(clock.now() + _LOOK_EVERY)
    raise LiveMeasureError(f"no recording of {clip.name} was finished")


def _films(folder: Path) -> set[Path]:
    return set(folder.glob("*.mkv"))


def _is_exact(film: Path) -> bool:
    """Whether no picture has lost anything: H.264 does so in RGB only, as recordings have it."""
    with av.open(str(film)) as container:
        videos = container.streams.video
        return all(one.codec_context.pix_fmt == "gbrp" for one in videos)


def _megabytes(film: Path) -> float:
    return film.stat().st_size / 1e6


def _has_ended(trace: Path) -> bool:
    """Whether the last line is there, which comes after the film is closed."""
    with trace.open("rb") as stream:
        return any(line.startswith(b'{"type":"End"') and line.endswith(b"\n") for line in stream)


async def replayed(film: Path, *, name: str, language: str, engines: Engines) -> Replayed:
    """Replay a recording in fast pace, and compare it with the live session's own trace.

    Raises:
        LiveMeasureError: If the trace beside it is damaged, or the recording cannot be replayed.
    """
    live = _read(recorded_trace(film))
    with tempfile.TemporaryDirectory(prefix="deixis-replay-") as folder:
        (job,) = jobs_from([film], language=language).jobs
        try:
            outcome = await replay_clip(job, Path(folder), engines=engines, pace="fast")
        except (OSError, ValueError, BaseExceptionGroup) as error:
            raise LiveMeasureError(f"{film.name}: {one_line(root_cause(error))}") from error
        again = _read(Path(folder) / TRACE)
    return Replayed(
        name=name,
        kinds={kind: agreement(live.decisions[kind], again.decisions[kind]) for kind in KINDS},
        reasons=reasons(live),
        exact=_is_exact(film),
        megabytes=_megabytes(film),
        seconds=outcome.duration,
    )


def _read(trace: Path) -> Run:
    """What a trace decided since its recording began, from where its times are counted."""
    try:
        with trace.open(encoding="utf-8") as lines:
            begin = float(json.loads(next(lines)).get("recorded_from", 0.0))
            run = read_run(lines, begin=begin)
    except (KeyError, ValueError, TypeError, StopIteration) as error:
        raise LiveMeasureError(f"{trace.name} is no whole trace") from error
    kept = {
        kind: [one for one in decisions if all(time is None or time >= 0 for time in one.times)]
        for kind, decisions in run.decisions.items()
    }
    return replace(run, decisions=kept)
