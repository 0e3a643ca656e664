"""A benchmark run: kept line by line, gone on with, never mixed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import replay.batch
from replay.batch import BatchSettings, Result
from replay.bench import BenchError, EcogBench, bench_ecog
from replay.out_folder import OutFolderError, claimed
from replay.predictions import read_predictions
from tests.ecog_maker import TreeMaker
from tests.pretend_pipeline import PretendEngines

pytestmark = pytest.mark.threads


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    maker = TreeMaker(tmp_path / "tree")
    for name in ("a.mp4", "b.mp4", "c.mp4"):
        maker.clip(name=name)
    return maker.write()


@pytest.fixture(autouse=True)
def pretend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay.batch, "Engines", lambda settings: PretendEngines())


def bench(tree: Path, out: Path, **more: Any) -> list[str]:
    """Run, and name the clips that were run."""
    settings = BatchSettings(out=out, pace=more.pop("pace", "fast"))
    came: list[str] = []
    keep: Callable[[Result], None] = lambda result: came.append(result.job.name)  # noqa: E731
    bench_ecog(EcogBench(root=tree, settings=settings, **more), on_result=keep)
    return came


def test_clips_without_an_answer_are_run_again(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert bench(tree, out) == ["a", "b", "c"]
    lines = read_predictions(out / "predictions.jsonl").lines
    assert [line.error for line in lines] == ["the model gave no answer"] * 3
    assert bench(tree, out) == ["a", "b", "c"]


def test_clips_with_an_answer_are_not(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    bench(tree, out, limit=1)
    with (out / "predictions.jsonl").open("a") as stream:
        stream.write('{"video_name": "a.mp4", "instruction": 3, "output": "{}", ')
        stream.write('"folder": "data_en/env1/指令3"}\n{"video_name": "b.mp4", "instr')
    assert bench(tree, out) == ["b", "c"]
    assert json.loads((out / "run.json").read_text())["clips"] == ["a", "b", "c"]


@pytest.mark.parametrize("changed", [{"pace": "realtime"}, {"language": "zh"}])
def test_run_made_otherwise_is_refused(changed: dict[str, Any], tree: Path, tmp_path: Path) -> None:
    bench(tree, tmp_path / "run", limit=1)
    with pytest.raises(OutFolderError, match=f"another {next(iter(changed))}; start over"):
        bench(tree, tmp_path / "run", **changed)
    assert bench(tree, tmp_path / "run", limit=1, fresh=True, **changed) == ["a"]


def test_run_over_another_tree_is_refused(tree: Path, tmp_path: Path) -> None:
    bench(tree, tmp_path / "run", limit=1)
    other = TreeMaker(tmp_path / "other").clip().write()
    with pytest.raises(OutFolderError, match="another benchmark"):
        bench(other, tmp_path / "run")


def test_predictions_of_nobody_are_refused(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "predictions.jsonl").write_text("")
    (out / "log.txt").write_text("mine")
    with pytest.raises(OutFolderError, match="predictions of an unknown run"):
        bench(tree, out)
    bench(tree, out, limit=1, fresh=True)
    assert (out / "log.txt").read_text() == "mine"


def test_folder_that_another_run_writes_is_refused(tree: Path, tmp_path: Path) -> None:
    with claimed(tmp_path / "run"), pytest.raises(OutFolderError, match="another run"):
        bench(tree, tmp_path / "run")


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"limit": 0}, {"limit": -3}])
def test_numbers_below_one_are_refused(wrong: dict[str, int], tree: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="from 1 on"):
        bench(tree, tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()
