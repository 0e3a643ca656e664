"""Many clips into one folder: a bad one costs itself alone."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import replay.batch
from client.commands.replay import stream_jobs
from client.printing import plain_console
from replay.batch import BatchError, BatchSettings, Result, run_one
from replay.jobs import Job, Jobs
from replay.out_folder import OutFolderError
from streaming.events import AudioBlock
from streaming.weights import WeightsError
from tests.media_maker import write_clip
from tests.pretend_pipeline import PretendEngines

pytestmark = pytest.mark.threads


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clips") / "clip.mkv", seconds=0.7, fps=10.0)


def failing(error: BaseException) -> PretendEngines:
    def hear(block: AudioBlock) -> list[Any]:
        raise error

    return PretendEngines(hear=hear)


def ran(clip: Path, out: Path, engines: PretendEngines) -> Result:
    return run_one(Job(name="clip", path=clip), BatchSettings(out=out), engines)  # type: ignore[arg-type]


def test_record_lies_in_the_clips_folder(clip: Path, tmp_path: Path) -> None:
    result = ran(clip, tmp_path, PretendEngines())
    assert result.outcome is not None
    lines = [
        json.loads(line) for line in (tmp_path / "clip" / "trace.jsonl").read_text().splitlines()
    ]
    assert lines[0]["type"] == "Header"
    assert lines[-1]["complete"] is True
    assert result.outcome.lines["Word"] == sum(line["type"] == "Word" for line in lines) == 1
    assert result.outcome.answer is not None
    assert (tmp_path / "clip" / "last.jpg").is_file()


def test_bug_costs_the_clip_that_brings_it_out(clip: Path, tmp_path: Path) -> None:
    result = ran(clip, tmp_path, failing(TypeError("no such thing")))
    assert result.outcome is None
    assert result.error.startswith("internal error, this is a bug: TypeError: no such thing")


def test_clip_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    assert "no such file" in ran(tmp_path / "gone.mp4", tmp_path / "run", PretendEngines()).error


@pytest.mark.parametrize("error", [WeightsError("no weights"), OSError(errno.EIO, "broken disk")])
def test_what_fails_every_clip_ends_the_run(error: Exception, clip: Path, tmp_path: Path) -> None:
    with pytest.raises(type(error)):
        ran(clip, tmp_path, failing(error))


def test_full_disk_is_named_with_its_place(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="clip") as caught:
        ran(clip, tmp_path, failing(OSError(errno.ENOSPC, "No space left on device")))
    assert caught.value.filename == str(tmp_path / "clip")


def test_somebody_elses_files_are_not_overwritten(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "clip").mkdir()
    mine = tmp_path / "clip" / "last.jpg"
    mine.write_text("mine")
    with pytest.raises(OutFolderError, match="hold"):
        ran(clip, tmp_path, PretendEngines())
    assert mine.read_text() == "mine"


def test_record_of_an_earlier_replay_is_replaced_whole(clip: Path, tmp_path: Path) -> None:
    ran(clip, tmp_path, PretendEngines())
    for stale in ("apex_7.jpg", "truth.json"):
        (tmp_path / "clip" / stale).touch()
    ran(clip, tmp_path, PretendEngines())
    assert not list((tmp_path / "clip").glob("apex_*"))
    assert not (tmp_path / "clip" / "truth.json").exists()


def test_audit_in_another_pace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BatchError, match="fast pace"):
        BatchSettings(out=tmp_path, pace="realtime", audit=True)


def streamed(jobs: Sequence[Job], out: Path, **settings: Any) -> list[Result]:
    return stream_jobs(
        Jobs(jobs=tuple(jobs)),
        BatchSettings(out=out, **settings),
        language="en",
        console=plain_console(),
    )


def clips_of(out: Path) -> list[str]:
    clips: list[str] = json.loads((out / "run.json").read_text())["clips"]
    return clips


def test_run_keeps_clips_that_were_made_the_same_way(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay.batch, "Engines", lambda settings: PretendEngines())
    streamed([Job(name="a", path=clip)], tmp_path)
    streamed([Job(name="b", path=clip), Job(name="c", path=tmp_path / "gone.mp4")], tmp_path)
    assert clips_of(tmp_path) == ["a", "b"]
    streamed([Job(name="a", path=clip)], tmp_path)
    assert clips_of(tmp_path) == ["b", "a"]
    (tmp_path / "scores.json").touch()
    streamed([Job(name="d", path=clip)], tmp_path, pace="realtime")
    assert clips_of(tmp_path) == ["d"]
    assert not (tmp_path / "scores.json").exists()


def test_interrupted_clip_is_not_in_the_run_and_finished_ones_are(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed = 0

    def interrupt_the_second_clip(block: AudioBlock) -> list[Any]:
        nonlocal pushed
        pushed += 1
        if pushed == 30:
            os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C
            time.sleep(0.1)
        return []

    engines = PretendEngines(hear=interrupt_the_second_clip)
    monkeypatch.setattr(replay.batch, "Engines", lambda settings: engines)
    with pytest.raises(KeyboardInterrupt):
        streamed([Job(name="a", path=clip), Job(name="b", path=clip)], tmp_path)
    assert clips_of(tmp_path) == ["a"]
    assert "Header" in (tmp_path / "b" / "trace.jsonl").read_text()
    assert '"End"' not in (tmp_path / "b" / "trace.jsonl").read_text()
