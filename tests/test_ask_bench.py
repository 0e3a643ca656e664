"""Models asked over a benchmark: kept answer by answer, gone on with, stopped, replayed offline."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import replay.asking.bench
import replay.asking.cell_run
from replay.asking.asking import Replied
from replay.asking.bench import AskBench, ask_ecog
from replay.asking.cell_run import CellOutcome
from replay.asking.cells import Cell
from replay.batch import Result
from replay.out_folder import OutFolderError
from replay.predictions import read_predictions
from streaming.asking.costs import Price
from streaming.asking.endpoint import Generation, OverBudget, Overloaded, Rejected, Unreachable
from streaming.asking.limits import AskingSettings, RetryPolicy
from streaming.asking.request import Request
from streaming.config import ConfigError
from tests.asking_fakes import FakeEndpoint, Told
from tests.ecog_maker import TreeMaker

pytestmark = pytest.mark.threads

NAMES = ("a.mp4", "b.mp4", "c.mp4", "d.mp4")
FRAMES = Cell(model="gemini:fake", interface="frames")


@dataclass
class View:
    """Remembers what it was shown."""

    replies: list[Replied] = field(default_factory=list)
    plans: list[tuple[str, int, int]] = field(default_factory=list)
    stops: int = 0
    on_reply: Callable[[Replied], None] = lambda replied: None

    def watching(self, total: int, done: int) -> None:
        self.plans.append(("watching", total, done))

    def watched(self, result: Result) -> None: ...

    def asking(self, cell: Cell, total: int, done: int) -> None:
        self.plans.append((cell.interface, total, done))

    def replied(self, replied: Replied) -> None:
        self.replies.append(replied)
        self.on_reply(replied)

    def answered(self, result: Result) -> None: ...

    def stopping(self) -> None:
        self.stops += 1


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    maker = TreeMaker(tmp_path / "tree")
    for number, name in enumerate(NAMES):
        word = {"text": f"word{number}", "begin_time": 10, "end_time": 90}
        maker.clip(name=name, asr_result={"text": f"word{number}", "words": [word]})
    return maker.write()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    endpoint = FakeEndpoint(script=lambda request: Told(after=0.0))
    monkeypatch.setattr(replay.asking.cell_run, "open_cell", lambda cell, keys: endpoint)
    monkeypatch.setattr(replay.asking.bench, "open_cell", lambda cell, keys: endpoint)
    quick = AskingSettings(retry=RetryPolicy(attempts=3, base=0.0, cap=0.0))
    monkeypatch.setattr(replay.asking.bench, "read_asking_settings", lambda: quick)
    return endpoint


def run(tree: Path, out: Path, view: View | None = None, **more: Any) -> tuple[CellOutcome, ...]:
    cells = more.pop("cells", (FRAMES,))
    return ask_ecog(AskBench(root=tree, out=out, cells=cells, **more), view or View())


def word_of(request: Request) -> str:
    """The word by which a request's clip is known."""
    text = " ".join(getattr(part, "text", "") for part in request.parts)
    return next(f"word{number}" for number in range(len(NAMES)) if f"word{number}" in text)


def failing_on(word: str, failure: Exception) -> Callable[[Request], Told]:
    return lambda request: Told(
        after=0.0,
        failure=failure if word_of(request) == word else None,  # type: ignore[arg-type]
    )


def test_a_clip_leaves_its_record_and_the_run_what_it_took(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    (outcome,) = run(tree, tmp_path / "run", price=Price(models="*", sent=1.0, written=2.0))
    assert outcome.is_complete
    assert outcome.facts["usage"] == {"sent": 4000, "cached": 0, "written": 400, "thought": 200}
    assert outcome.facts["cost"] == pytest.approx((4000 + 2 * 600) / 1e6)
    run_json = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run_json["clips"] == ["a", "b", "c", "d"]
    assert (run_json["interface"], run_json["words"], run_json["when"]) == (
        "frames",
        "benchmark",
        "model",
    )
    assert run_json["prompt"] == "en/1, zh/1"
    clip = tmp_path / "run" / "a"
    assert {path.name for path in clip.iterdir()} == {
        "trace.jsonl",
        "answer.json",
        "asked.json",
        "truth.json",
        "last.jpg",
    }
    asked = json.loads((clip / "asked.json").read_text())
    assert asked["text"] == (clip / "answer.json").read_text()
    assert len(asked["request"]["digest"]) == 64
    assert asked["request"]["prompt"] == "en/1"
    kinds = [json.loads(line)["type"] for line in (clip / "trace.jsonl").read_text().splitlines()]
    assert kinds == ["Header", "Answer", "End"]


def test_what_is_answered_is_not_asked_again(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    run(tree, tmp_path / "run", limit=2)
    view = View()
    run(tree, tmp_path / "run", view)
    assert view.plans == [("frames", 4, 2)]
    assert len(fake.asked) == 4


def test_a_response_that_had_come_is_not_paid_again_though_it_was_not_entered(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    run(tree, tmp_path / "run")
    (tmp_path / "run" / "predictions.jsonl").unlink()
    (tmp_path / "run" / "run.json").unlink()
    (outcome,) = run(tree, tmp_path / "run")
    assert outcome.is_complete
    assert len(fake.asked) == 4


def test_a_model_that_failed_is_no_wrong_answer_and_is_asked_again(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    fake.script = failing_on("word1", Unreachable("no connection to the fake"))
    (outcome,) = run(tree, tmp_path / "run")
    assert not outcome.is_complete
    assert outcome.facts["errors"] == {"unreachable": 1}
    assert len(outcome.scores.errors) == 1
    assert not outcome.scores.complete
    fake.script = lambda request: Told(after=0.0)
    (outcome,) = run(tree, tmp_path / "run")
    assert outcome.is_complete
    assert outcome.scores.complete
    assert outcome.facts["errors"] == {}


def test_failed_attempts_are_made_again(tree: Path, tmp_path: Path, fake: FakeEndpoint) -> None:
    tried: list[str] = []

    def script(request: Request) -> Told:
        tried.append(word_of(request))
        first = tried.count(tried[-1]) == 1
        return Told(after=0.0, failure=Overloaded("too many") if first else None)

    fake.script = script
    (outcome,) = run(tree, tmp_path / "run")
    assert outcome.is_complete
    assert sorted(tried) == sorted([f"word{number}" for number in range(4)] * 2)
    asked = json.loads((tmp_path / "run" / "a" / "asked.json").read_text())
    assert (asked["attempts"], asked["failures"]) == (2, ["overloaded"])


def test_a_refusal_of_everything_ends_the_run_early(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    fake.script = lambda request: Told(after=0.0, failure=Rejected("the key is wrong"))
    with pytest.raises(Rejected, match="the key is wrong; stopped after 3 clips, none"):
        run(tree, tmp_path / "run", at_once=1)
    assert len(fake.asked) == 3


def test_a_refusal_of_one_clip_does_not(tree: Path, tmp_path: Path, fake: FakeEndpoint) -> None:
    fake.script = failing_on("word2", Rejected("too large"))
    (outcome,) = run(tree, tmp_path / "run")
    assert outcome.facts["errors"] == {"rejected": 1}
    assert len(read_predictions(tmp_path / "run" / "predictions.jsonl").answered()) == 3


def test_the_limit_of_costs_stops_the_run_and_what_came_is_kept(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    price = Price(models="*", sent=0.0, written=1000.0)
    generation = Generation(max_tokens=200)
    cell = Cell(model="gemini:fake", interface="frames", generation=generation)
    with pytest.raises(OverBudget, match="raise --max-cost"):
        run(tree, tmp_path / "run", cells=(cell,), price=price, max_cost=0.4, at_once=1)
    # 150 tokens an answer are 0.15; a third could have come to 0.2 more than 0.3.
    assert len(fake.asked) == 2
    with pytest.raises(OverBudget):  # what the folder spent before counts
        run(tree, tmp_path / "run", cells=(cell,), price=price, max_cost=0.4, at_once=1)
    assert len(fake.asked) == 2
    (outcome,) = run(tree, tmp_path / "run", cells=(cell,), price=price, max_cost=1.0, at_once=1)
    assert outcome.is_complete
    assert len(fake.asked) == 4


def test_a_limit_without_a_price_is_refused_at_once(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    with pytest.raises(ConfigError, match="price of gemini:fake is not known"):
        run(tree, tmp_path / "run", max_cost=1.0)
    assert fake.asked == []


def test_the_first_signal_waits_for_what_is_under_way(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    view = View()
    view.on_reply = lambda replied: (
        os.kill(os.getpid(), signal.SIGINT) if len(view.replies) == 1 else None
    )
    fake.script = lambda request: Told(after=0.05)
    with pytest.raises(KeyboardInterrupt):
        run(tree, tmp_path / "run", view, at_once=1)
    assert view.stops >= 1
    answered = read_predictions(tmp_path / "run" / "predictions.jsonl").answered()
    assert len(answered) == len(fake.asked) < 4
    assert json.loads((tmp_path / "run" / "scores.json").read_text())["clips"]
    fake.script = lambda request: Told(after=0.0)
    (outcome,) = run(tree, tmp_path / "run")
    assert outcome.is_complete
    assert len(fake.asked) == 4


def test_handlers_of_signals_are_as_they_were(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def own(number: int, frame: object) -> None: ...

    before = [signal.signal(number, own) for number in numbers]
    try:
        run(tree, tmp_path / "run")
        assert [signal.getsignal(number) for number in numbers] == [own] * 3
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_the_second_signal_drops_what_is_under_way(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    def script(request: Request) -> Told:
        loop = asyncio.get_running_loop()
        if len(fake.asked) == 1:
            loop.call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
            loop.call_later(0.1, os.kill, os.getpid(), signal.SIGINT)
        return Told(after=30.0)

    fake.script = script
    view = View()
    with pytest.raises(KeyboardInterrupt):
        run(tree, tmp_path / "run", view)
    assert fake.closed
    assert view.stops == 1
    assert read_predictions(tmp_path / "run" / "predictions.jsonl").lines == ()


def test_a_recorded_run_is_replayed_offline_to_the_same_bytes(
    tree: Path, tmp_path: Path, fake: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.coord_order = "yx"
    run(tree, tmp_path / "run")
    monkeypatch.undo()
    recording = tmp_path / "run" / "responses.jsonl"
    cell = Cell(model=f"scripted:{recording}", interface="frames")
    run(tree, tmp_path / "again", cells=(cell,))
    for name in ("scores.json", "scores_mended.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    texts = [(tmp_path / out / "a" / "answer.json").read_bytes() for out in ("run", "again")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "changed",
    [
        {"interface": "frames+asr"},
        {"model": "gemini:other"},
        {"generation": Generation(temperature=0.5)},
        {"coord_order": "xy"},
    ],
)
def test_a_run_made_otherwise_is_refused(
    changed: dict[str, Any], tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    run(tree, tmp_path / "run", limit=1)
    cell = Cell(**{"model": "gemini:fake", "interface": "frames", **changed})
    with pytest.raises(OutFolderError, match=f"another {next(iter(changed))}; start over"):
        run(tree, tmp_path / "run", cells=(cell,))
    run(tree, tmp_path / "run", cells=(cell,), limit=1, fresh=True)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["clips"] == ["a"]


def test_another_run_is_refused_before_anything_is_watched(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    run(tree, tmp_path / "run", limit=1)
    view = View()
    cell = Cell(model="gemini:fake", interface="frames", when="binder")
    with pytest.raises(OutFolderError, match="another when"):
        run(tree, tmp_path / "run", view, cells=(cell,), limit=1)
    (tmp_path / "run" / "run.json").write_text("[]")
    with pytest.raises(OutFolderError, match="damaged"):
        run(tree, tmp_path / "run", view, cells=(cell,), limit=1, fresh=True)
    assert view.plans == []
    assert not (tmp_path / "run" / "seen").exists()


@pytest.mark.parametrize("trace", [None, b"[]\n", b'{"type":\n', b"\xff\n", b"[" * 100_000])
def test_damaged_sight_of_a_clip_is_found_before_anybody_is_paid(
    tree: Path,
    tmp_path: Path,
    fake: FakeEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    trace: bytes | None,
) -> None:
    def watched(watching: Any, jobs: Any, **how: Any) -> dict[str, str]:
        for job in jobs:
            folder = watching.folder / job.name
            folder.mkdir(parents=True)
            if trace is not None:
                (folder / "trace.jsonl").write_bytes(trace)
        return {}

    monkeypatch.setattr(replay.asking.bench, "watch_clips", watched)
    cell = Cell(model="gemini:fake", interface="bound")
    view = View()
    (outcome,) = run(tree, tmp_path / "run", view, cells=(cell,), limit=2)
    assert not outcome.is_complete
    assert fake.asked == []
    assert [replied.kind for replied in view.replies] == ["clip", "clip"]
    assert "trace.jsonl is missing or damaged; delete the folder" in view.replies[0].error


def test_fresh_leaves_folders_that_no_run_made(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    own = [tmp_path / "thesis" / name / "mine.txt" for name in ("tables", "seen")]
    for path in own:
        path.parent.mkdir(parents=True)
        path.write_text("years of work")
    run(tree, tmp_path / "thesis", limit=1, fresh=True)
    assert all(path.read_text() == "years of work" for path in own)


def test_fresh_forgets_what_was_paid(tree: Path, tmp_path: Path, fake: FakeEndpoint) -> None:
    run(tree, tmp_path / "run", limit=1)
    run(tree, tmp_path / "run", limit=1, fresh=True)
    assert len(fake.asked) == 2


def test_a_clip_that_cannot_be_read_costs_that_clip(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    (tree / "data_en/env1/指令3" / "b.mp4").write_bytes(b"no film at all")
    (outcome,) = run(tree, tmp_path / "run")
    assert outcome.facts["errors"] == {"clip": 1}
    lines = read_predictions(tmp_path / "run" / "predictions.jsonl").lines
    assert [line.video_name for line in lines if line.error] == ["b.mp4"]


def test_a_matrix_has_a_folder_a_cell_and_shares_what_was_paid(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    out = tmp_path / "run"
    cells = (
        FRAMES,
        Cell(model="gemini:fake", interface="frames+asr"),
        Cell(model="gemini:fake", interface="no_word_timing"),
    )
    outcomes = run(tree, out, cells=cells, matrix=True)
    assert [one.folder.name for one in outcomes] == [cell.name for cell in cells]
    stated = json.loads((out / "matrix.json").read_text())
    assert [cell["interface"] for cell in stated["cells"]] == [cell.interface for cell in cells]
    assert all(cell["complete"] for cell in stated["cells"])
    assert {path.suffix for path in (out / "tables").iterdir()} == {".csv", ".md", ".tex"}
    assert len(fake.asked) == 12
    more = Cell(model="gemini:fake", interface="no_frame_timestamps")
    run(tree, out, cells=(*cells, more), matrix=True)
    assert len(fake.asked) == 16


def test_a_matrix_and_a_single_run_do_not_share_a_folder(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    run(tree, tmp_path / "one", limit=1)
    with pytest.raises(OutFolderError, match="run of one model"):
        run(tree, tmp_path / "one", matrix=True)
    run(tree, tmp_path / "many", limit=1, matrix=True)
    with pytest.raises(OutFolderError, match="matrix of runs"):
        run(tree, tmp_path / "many")


def test_a_matrix_over_another_tree_is_refused(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    run(tree, tmp_path / "run", limit=1, matrix=True)
    other = TreeMaker(tmp_path / "other").clip().write()
    with pytest.raises(OutFolderError, match="another tree"):
        run(other, tmp_path / "run", matrix=True)


def test_keys_are_in_nothing_that_is_shown_or_written(
    tree: Path, tmp_path: Path, fake: FakeEndpoint
) -> None:
    bench = AskBench(
        root=tree, out=tmp_path / "run", cells=(FRAMES,), keys={"GEMINI_API_KEY": "s3cret"}
    )
    assert "s3cret" not in repr(bench)
    ask_ecog(bench, View())
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or b"s3cret" not in path.read_bytes()
