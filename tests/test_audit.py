"""The audit tells a pipeline that uses the future, or the clock, from one that does not."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import replay.run
from replay.audit import Difference, compare, cut_times, decisions
from replay.batch import BatchSettings, Result, run_one
from replay.jobs import Job
from replay.run import replay_clip
from replay.source import open_source
from streaming.events import HandsSeen, StrokeEnd, VideoFrame
from tests.media_maker import write_clip
from tests.pretend_pipeline import PretendEngines, at_random_speed, hear, see

pytestmark = pytest.mark.threads


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clips") / "clip.mkv", seconds=2.0, fps=15.0)


def audited(clip: Path, out: Path, engines: PretendEngines) -> Result:
    job = Job(name="clip", path=clip)
    settings = BatchSettings(out=out, audit=True)
    return run_one(job, settings, engines)  # type: ignore[arg-type]


def test_honest_pipeline_passes(clip: Path, tmp_path: Path) -> None:
    result = audited(clip, tmp_path, PretendEngines())
    assert result.error == ""
    assert result.differences == ()


def test_waiting_for_later_frames_is_honest(clip: Path, tmp_path: Path) -> None:
    """A decision about an earlier frame that is made when the later one is there."""
    frames = itertools.count()

    def about_two_frames_ago(frame: VideoFrame) -> list[StrokeEnd]:
        return [StrokeEnd(index=next(frames), offset=max(0.0, frame.time - 0.13))]

    class Fresh(PretendEngines):
        def pipeline(self, **named: Any) -> Any:
            nonlocal frames
            frames = itertools.count()
            return super().pipeline(**named)

    assert audited(clip, tmp_path, Fresh(see=about_two_frames_ago)).differences == ()


def test_component_that_looks_at_later_frames_is_caught(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_come: list[float] = []

    def open_and_peek(path: Path, **named: Any) -> Any:
        source = open_source(path, **named)
        events = list(source.events())
        to_come[:] = [event.time for event in events if isinstance(event, VideoFrame)]
        return source

    def cheat(frame: VideoFrame) -> list[StrokeEnd]:
        later = [time for time in to_come if frame.time < time <= frame.time + 0.2]
        return [StrokeEnd(index=len(later), offset=frame.time)]

    monkeypatch.setattr(replay.run, "open_source", open_and_peek)
    result = audited(clip, tmp_path, PretendEngines(see=cheat))
    assert result.differences is not None
    assert len(result.differences) == 3
    for difference in result.differences:
        assert "StrokeEnd" in str(difference)
        line = json.loads(str(difference.full))
        assert difference.cut - 0.2 <= line["known_at"] <= difference.cut


def _by_the_clock(frame: VideoFrame) -> list[StrokeEnd]:
    return [StrokeEnd(index=time.perf_counter_ns(), offset=frame.time)]


def _by_chance(frame: VideoFrame) -> list[HandsSeen]:
    return see(frame) if random.random() < 0.5 else []


@pytest.mark.parametrize("say", [_by_the_clock, _by_chance])
def test_component_that_depends_on_the_clock_or_on_chance_is_caught(
    say: Any, clip: Path, tmp_path: Path
) -> None:
    assert audited(clip, tmp_path, PretendEngines(see=say)).differences


def test_trace_does_not_depend_on_how_fast_the_machine_is(clip: Path, tmp_path: Path) -> None:
    def trace(engines: PretendEngines, name: str) -> list[str]:
        job, folder = Job(name="clip", path=clip), tmp_path / name
        asyncio.run(replay_clip(job, folder, engines=engines, pace="fast"))  # type: ignore[arg-type]
        lines = (folder / "trace.jsonl").read_text().splitlines()
        end = json.loads(lines[-1])
        del end["wall"]
        return [*lines[:-1], json.dumps(end)]

    plain = trace(PretendEngines(), "plain")
    assert len(plain) > 30
    for name in ("slow-ears", "slow-eyes", "both"):
        slow = PretendEngines(
            hear=hear if name == "slow-eyes" else at_random_speed(hear),
            see=see if name == "slow-ears" else at_random_speed(see),
        )
        assert trace(slow, name) == plain


def lines(known: Sequence[float], *, finish: bool = False) -> list[str]:
    return [
        json.dumps({"type": "Word", "known_at": at, **({"finish": True} if finish else {})})
        for at in known
    ]


def test_comparison_stops_at_the_cut_and_leaves_out_what_the_end_brought() -> None:
    full = ['{"type":"Header"}', *lines([1.0, 2.0, 3.0]), '{"type":"End"}']
    assert compare(full, [*lines([1.0, 2.0]), *lines([2.0], finish=True)], cut=2.5) is None
    assert compare(full, lines([1.0]), cut=2.5) == Difference(
        cut=2.5, full=lines([2.0])[0], prefix=None
    )
    assert compare(lines([1.0]), lines([1.0, 1.5]), cut=2.5) == Difference(
        cut=2.5, full=None, prefix=lines([1.5])[0]
    )
    assert "says nothing" in str(compare(full, [], cut=2.5))


@given(
    time=st.floats(0, 3600),
    duration=st.floats(0.001, 3600),
    share=st.sampled_from([0.35, 0.6, 0.85]),
)
def test_cut_never_lies_on_a_time_that_rounding_moves_across_it(
    time: float, duration: float, share: float
) -> None:
    """A trace rounds times: what the source still sends must be what the trace calls known."""
    for cut in cut_times(duration, (share,)):
        for moment in (time, round(cut, 3), cut + 1e-7, cut - 1e-7):
            text = json.dumps({"type": "Word", "known_at": round(moment, 6)})
            assert bool(decisions([text], until=cut)) == (moment <= cut)
