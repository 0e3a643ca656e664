"""The whole pipeline on the clips that the repository ships."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from client.commands.demo import CLIPS
from replay.audit import CUT_SHARES
from replay.batch import BatchSettings, Result, audit_clip, run_many
from replay.bench import EcogBench, bench_ecog, write_scores
from replay.jobs import Jobs, jobs_from
from replay.run import replay_clip
from streaming.build import Engines, EngineSettings

NAMES = [
    "en1_easy_0_0000",
    "en3_easy_0_0004",
    "zh2_easy_0_0002",
    "en4_real_0_0003",
    "zh3_real_0_0001",
    "zh5_real_0_0005",
]


@pytest.fixture(scope="module")
def engines() -> Engines:
    return Engines(EngineSettings())


@pytest.fixture(scope="module")
def jobs() -> Jobs:
    return jobs_from([CLIPS], language="auto")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, jobs: Jobs) -> tuple[Path, list[Result]]:
    """Every shipped clip, replayed once."""
    out = tmp_path_factory.mktemp("run")
    return out, list(run_many(jobs.jobs, BatchSettings(out=out)))


def trace(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_every_clip_is_replayed(run: tuple[Path, list[Result]], jobs: Jobs) -> None:
    out, results = run
    assert not jobs.failed
    assert [result.job.name for result in results] == NAMES
    for result in results:
        assert result.error == ""
        lines = trace(out / result.job.name)
        assert lines[0]["type"] == "Header"
        assert lines[-1]["type"] == "End"
        assert lines[-1]["complete"]
        assert (out / result.job.name / "last.jpg").is_file()
        assert json.loads((out / result.job.name / "answer.json").read_text())["point_list"]


def test_what_was_known_only_grows(run: tuple[Path, list[Result]]) -> None:
    out, results = run
    for result in results:
        known = [line["known_at"] for line in trace(out / result.job.name)[1:-1]]
        assert known == sorted(known)


def test_committed_words_are_in_order_and_inside_the_clip(
    run: tuple[Path, list[Result]],
) -> None:
    out, results = run
    for result in results:
        lines = trace(out / result.job.name)
        words = [line for line in lines if line["type"] == "Word"]
        ends = [0.0, *(word["offset"] for word in words)]
        assert all(end <= word["onset"] for end, word in zip(ends, words, strict=False))
        assert ends[-1] <= lines[-1]["duration"]


def test_every_deictic_is_bound_exactly_once(run: tuple[Path, list[Result]]) -> None:
    out, results = run
    for result in results:
        lines = trace(out / result.job.name)
        deictics = [line["index"] for line in lines if line["type"] == "Deictic"]
        bound = [
            line["deictic"]
            for line in lines
            if line["type"] == "Binding" and line["deictic"] is not None
        ]
        assert bound == deictics
        strokes = [line["stroke"] for line in lines if line["type"] == "Binding"]
        given = [stroke for stroke in strokes if stroke is not None]
        assert len(given) == len(set(given))


def test_when_is_right_on_nearly_every_referent(run: tuple[Path, list[Result]], jobs: Jobs) -> None:
    out, results = run
    assert jobs.tree is not None
    from replay.bench import prediction_of
    from replay.out_folder import PREDICTIONS
    from replay.predictions import PredictionLog

    with PredictionLog(out / PREDICTIONS, fresh=True) as log:
        for result in results:
            log.append(prediction_of(result))
    scores = write_scores(jobs.tree, jobs.jobs, out)
    assert scores.overall.scores.t >= 0.9


@pytest.mark.parametrize("name", ["en4_real_0_0003", "zh5_real_0_0005"])
def test_no_decision_uses_the_future(
    run: tuple[Path, list[Result]], engines: Engines, name: str
) -> None:
    out, results = run
    result = next(result for result in results if result.job.name == name)
    assert result.outcome is not None
    differences = audit_clip(
        result.job, out / name, result.outcome, engines=engines, shares=CUT_SHARES
    )
    assert differences == ()


def test_two_fast_replays_are_byte_identical(
    run: tuple[Path, list[Result]], engines: Engines, tmp_path: Path
) -> None:
    out, results = run
    job = results[1].job
    asyncio.run(replay_clip(job, tmp_path, engines=engines, pace="fast"))
    first = (out / job.name / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    second = (tmp_path / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    assert first[:-1] == second[:-1]
    ends = [json.loads(text) for text in (first[-1], second[-1])]
    for end in ends:
        del end["wall"]
    assert ends[0] == ends[1]


def test_interrupted_bench_goes_on_where_it_stopped(tmp_path: Path) -> None:
    settings = BatchSettings(out=tmp_path / "run")
    ran: list[str] = []
    bench_ecog(
        EcogBench(root=CLIPS, settings=settings, limit=1),
        on_result=lambda result: ran.append(result.job.name),
    )
    scores = bench_ecog(
        EcogBench(root=CLIPS, settings=settings, limit=2),
        on_result=lambda result: ran.append(result.job.name),
    )
    assert ran == NAMES[:2]
    assert scores.complete
    assert len(scores.clips) == 2
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["clips"] == NAMES[:2]


def test_bench_refuses_to_mix_two_systems(tmp_path: Path) -> None:
    settings = BatchSettings(out=tmp_path / "run")
    bench_ecog(EcogBench(root=CLIPS, settings=settings, limit=1))
    other = BatchSettings(out=tmp_path / "run", engines=EngineSettings(asr="base"))
    with pytest.raises(
        ValueError, match="holds a run with another config; start over with --fresh"
    ):
        bench_ecog(EcogBench(root=CLIPS, settings=other, limit=1))
