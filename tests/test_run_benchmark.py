"""Any benchmark's run: kept answer by answer, gone on with, costed, refused when it is another."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import replay.asking.run_benchmark as running
from client.commands.compare import compare
from client.commands.report import report
from client.usage import UsageError
from replay.answers import Answer, AnswerLog, AnswersError, read_answers
from replay.asking.run_benchmark import Asking, RunOutcome, run_benchmark
from replay.benchmark import Outcome
from replay.loose_json import Fields
from replay.out_folder import OutFolderError
from replay.scoring.outcomes import clustered, measures_of, paired_outcomes, read_outcomes
from replay.scoring.paper_values import Amount, PaperRow, PaperTable, Share
from replay.scoring.tables_json import decode_tables, encode_tables
from streaming.asking.costs import Price
from streaming.asking.endpoint import OverBudget, Rejected, Unreachable, Usage
from streaming.asking.limits import AskingSettings, RetryPolicy
from streaming.asking.request import Request, TextPart
from tests.asking_fakes import FakeEndpoint, Told
from tests.tiny_benchmark import Sums, SumScores

pytestmark = pytest.mark.threads

SHEETS = {
    "sheets": [
        {"name": "one", "sums": [[1, 2], [3, 4]]},
        {"name": "two", "sums": [[5, 6], [10, 20, 30]]},
        {"name": "empty", "sums": []},
    ]
}


@dataclass
class View:
    """Remembers what it was shown."""

    plans: list[tuple[int, int]] = field(default_factory=list)
    came_in: list[tuple[str, str]] = field(default_factory=list)
    stops: int = 0
    on_came: Callable[[str], None] = lambda question: None

    def begun(self, total: int, done: int) -> None:
        self.plans.append((total, done))

    def came(self, question: str, error: str) -> None:
        self.came_in.append((question, error))
        self.on_came(question)

    def stopping(self) -> None:
        self.stops += 1


def text_of(request: Request) -> str:
    part = request.parts[0]
    assert isinstance(part, TextPart)
    return part.text


def right(request: Request) -> Told:
    terms = text_of(request).removesuffix(" = ?").split(" + ")
    usage = Usage(sent=10, written=1)
    return Told(text=str(sum(map(int, terms))), after=0.0, usage=usage)


@pytest.fixture
def sums(tmp_path: Path) -> Sums:
    path = tmp_path / "sums.json"
    path.write_text(json.dumps(SHEETS))
    return Sums(path)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    endpoint = FakeEndpoint(script=right)
    monkeypatch.setattr(running, "open_model", lambda *_, **__: endpoint)
    quick = AskingSettings(retry=RetryPolicy(attempts=2, base=0.0, cap=0.0))
    monkeypatch.setattr(running, "read_asking_settings", lambda: quick)
    return endpoint


def run(sums: Sums, out: Path, view: View | None = None, **more: Any) -> RunOutcome[SumScores]:
    return run_benchmark(sums, Asking(out=out, **{"model": "openai:fake", **more}), view or View())


def test_a_run_leaves_answers_requests_scores_tables_and_the_authors_files(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    out = tmp_path / "run"
    outcome = run(sums, out, price=Price(models="*", sent=1.0, written=2.0))
    assert outcome.is_complete
    assert outcome.scores.accuracy == 1.0
    assert outcome.facts["cost"] == pytest.approx(4 * (10 + 2) / 1e6)
    assert {path.name for path in out.iterdir()} == {
        "run.json", "predictions.jsonl", "asked.jsonl", "responses.jsonl", "scores.json", "tables",
        "results",
    }  # fmt: skip
    said = json.loads((out / "run.json").read_text())
    assert said["failed"] == [{"source": "empty", "reason": "an empty sheet"}]
    assert said["questions"] == 4
    assert said["complete"] is True
    assert json.loads((out / "results" / "sums.json").read_text())["two/1"] == "60"
    scores = json.loads((out / "scores.json").read_text())
    assert scores["accuracy"] == 1.0
    assert [one["group"] for one in scores["outcomes"]] == ["one", "one", "two", "two"]
    assert read_outcomes(Fields(scores)) == outcome.scores.outcomes
    asked = [json.loads(line) for line in (out / "asked.jsonl").read_text().splitlines()]
    assert {one["generation"]["max_tokens"] for one in asked} == {8}
    assert {one["request"]["parts"][0]["text"] for one in asked} == set(map(text_of, fake.asked))


def test_what_is_answered_is_not_asked_again(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    run(sums, tmp_path / "run", limit=1)
    view = View()
    run(sums, tmp_path / "run", view)
    assert view.plans == [(4, 2)]
    assert len(fake.asked) == 4


def test_a_run_over_the_first_items_is_complete_with_them(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    outcome = run(sums, tmp_path / "run", limit=1)
    assert outcome.is_complete
    assert len(outcome.scores.outcomes) == 2


def test_a_killed_run_goes_on_with_what_was_paid(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    out = tmp_path / "run"
    whole = run(sums, out)
    for name in ("predictions.jsonl", "asked.jsonl"):
        content = (out / name).read_bytes()
        # Killed in the middle of the third line; the responses were on disk before.
        first, second, third, *_ = content.splitlines(keepends=True)
        (out / name).write_bytes(first + second + third[:9])
    (out / "scores.json").unlink()
    again = run(sums, out)
    assert again.scores == whole.scores
    told = ("complete", "questions", "usage", "errors")
    assert [again.facts[name] for name in told] == [whole.facts[name] for name in told]
    assert len(fake.asked) == 4
    (out / "predictions.jsonl").unlink()
    (out / "run.json").unlink()
    assert run(sums, out).is_complete
    assert len(fake.asked) == 4


def test_a_failed_call_is_no_wrong_answer_and_is_asked_again(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    def failing(request: Request) -> Told:
        failure = Unreachable("no line") if "10 +" in text_of(request) else None
        return Told(after=0.0, failure=failure, text="0")

    fake.script = failing
    outcome = run(sums, tmp_path / "run")
    assert not outcome.is_complete
    assert outcome.facts["errors"] == {"unreachable": 1}
    assert len(outcome.scores.outcomes) == 3
    fake.script = right
    again = run(sums, tmp_path / "run")
    assert again.is_complete
    assert again.scores.accuracy == 1 / 4


def test_a_question_that_cannot_be_put_is_not_asked(tmp_path: Path, fake: FakeEndpoint) -> None:
    path = tmp_path / "sums.json"
    path.write_text(json.dumps({"sheets": [{"name": "one", "sums": [[1, 2], [-1, 4]]}]}))
    outcome = run(Sums(path), tmp_path / "run")
    assert outcome.facts["errors"] == {"source": 1}
    assert len(fake.asked) == 1


def test_another_run_in_the_folder_is_refused(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    run(sums, tmp_path / "run")
    with pytest.raises(OutFolderError, match="another model"):
        run(sums, tmp_path / "run", model="openai:other")
    with pytest.raises(OutFolderError, match="another generation"):
        run(sums, tmp_path / "run", max_tokens=99)


def test_fresh_forgets_what_was_paid(sums: Sums, tmp_path: Path, fake: FakeEndpoint) -> None:
    run(sums, tmp_path / "run")
    run(sums, tmp_path / "run", fresh=True, model="openai:other")
    assert len(fake.asked) == 8


def test_a_wrong_key_ends_the_run_early(sums: Sums, tmp_path: Path, fake: FakeEndpoint) -> None:
    fake.script = [Told(after=0.0, failure=Rejected("no such key"))]
    with pytest.raises(Rejected, match="stopped after 3 questions"):
        run(sums, tmp_path / "run", at_once=1)
    assert len(fake.asked) == 3


def test_the_limit_of_costs_stops_the_run_and_a_higher_one_goes_on(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    price = Price(models="*", sent=1e5, written=1e5)
    with pytest.raises(OverBudget):
        run(sums, tmp_path / "run", price=price, max_cost=4.0, at_once=1)
    answered = len(read_answers(tmp_path / "run" / "predictions.jsonl").answers)
    assert 0 < answered < 4
    assert run(sums, tmp_path / "run", price=price, max_cost=400.0).is_complete
    assert len(fake.asked) == 4


def test_a_stopped_run_keeps_what_was_under_way(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    view = View(on_came=lambda question: os.kill(os.getpid(), signal.SIGINT))
    done: list[RunOutcome[SumScores]] = []
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(
            sums, Asking(out=tmp_path / "run", model="openai:fake", at_once=1), view,
            done=done.append,
        )  # fmt: skip
    assert not done[0].is_complete
    assert 1 <= len(fake.asked) < 4
    assert view.stops == 1
    assert run(sums, tmp_path / "run").is_complete
    assert len(fake.asked) == 4


def test_answers_of_a_file_are_recited_without_a_model(sums: Sums, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with AnswerLog(path) as log:
        for id, text in (("one/0", "3"), ("one/1", "8"), ("two/0", "11")):
            log.append(Answer(id=id, output=text))
    outcome = run(sums, tmp_path / "run", model=f"scripted:{path}")
    assert outcome.scores.accuracy == pytest.approx(2 / 3)
    assert outcome.facts["errors"] == {"unrecorded": 1}
    assert not outcome.is_complete


def test_answers_survive_a_torn_line_and_count_before_errors(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(
        b'{"id": "a", "output": "1"}\n{"id": "a", "error": "later", "kind": "too_slow"}\n'
        b'{"id": "b", "error": "no", "kind": "blocked"}\n{"id": "b", "output": {"x": 1}}\n{"id": "c'
    )
    read = read_answers(path)
    assert read.torn
    assert read.superseded == 2
    assert [(one.id, one.output) for one in read.answers] == [("a", "1"), ("b", '{"x": 1}')]
    with AnswerLog(path) as log:
        assert log.answered == {"a", "b"}
        log.append(Answer(id="c", output="", cut_off=True, chances=(("A", -0.5),), seconds=1.25))
    *_, last = read_answers(path).answers
    assert last == Answer(id="c", cut_off=True, chances=(("A", -0.5),), seconds=1.25)


@pytest.mark.parametrize("line", ["[1]", "{}", '{"id": 3, "output": ""}', "no json at all\n{}"])
def test_what_is_no_answer_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(AnswersError, match="line 1"):
        read_answers(path)


def outcome(key: str, group: str, value: float, *, answered: bool = True) -> Outcome:
    return Outcome(key=key, group=group, values={"right": value}, answered=answered)


def test_a_mean_is_over_entries_and_its_interval_over_groups() -> None:
    many = [outcome(f"{n}", "one" if n < 9 else "two", float(n < 9)) for n in range(10)]
    found = clustered(many, "right")
    assert found.value == pytest.approx(0.9)
    assert found.clips == 2
    assert not found.trusted
    assert (found.low, found.high) == (0.0, 1.0)


def test_runs_are_paired_by_what_both_answered() -> None:
    first = [outcome("a", "x", 0.0), outcome("b", "y", 1.0), outcome("c", "z", 1.0)]
    second = [outcome("b", "y", 1.0), outcome("a", "x", 1.0), outcome("d", "z", 0.0)]
    found = paired_outcomes(first, [*second, outcome("c", "z", 0.0, answered=False)], "right")
    assert (found.both, found.only_first, found.only_second) == (2, 1, 1)
    assert found.difference.interval.value == pytest.approx(0.5)
    assert (found.difference.better, found.difference.worse) == (1, 0)
    assert measures_of(first) == ["right"]


# --- shown and compared ---------------------------------------------------------------------------


def test_a_run_is_shown_on_one_page_without_its_benchmark(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint
) -> None:
    fake.script = lambda request: Told(
        text="<b>3</b>" if "10" in text_of(request) else "3", after=0
    )
    out = tmp_path / "run"
    run(sums, out)
    report(out)
    page = (out / "report.html").read_text()
    for text in ("Sums", "openai:fake", "an abacus", "two/1", "an empty sheet"):
        assert text in page
    assert "&lt;b&gt;3&lt;/b&gt;" in page
    assert "<b>3" not in page
    with pytest.raises(UsageError, match="single run"):
        report(out, cells=True)


def test_tables_survive_being_written_and_read() -> None:
    table = PaperTable(
        name="t",
        title="T",
        keys=("a", "b"),
        columns=("1", "2", "3", "4", "5"),
        rows=(
            PaperRow(
                keys=("x", "y"),
                cells=(Share(value=0.5, low=0.1, trusted=False, p=0.2, signed=True),
                       Amount(value=1.25, digits=1), 3, "text", None),
                ours=False,
                lacks="much",
            ),
        ),
        notes=("n",),
    )  # fmt: skip
    encoded = json.loads(json.dumps({"tables": encode_tables([table])}))
    assert decode_tables(Fields(encoded)) == [table]
    encoded["tables"][0]["rows"][0]["cells"].pop()
    assert decode_tables(Fields(encoded)) == []


def test_runs_over_one_benchmark_are_compared(
    sums: Sums, tmp_path: Path, fake: FakeEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    run(sums, tmp_path / "good")
    fake.script = lambda request: Told(text="3", after=0)
    run(sums, tmp_path / "poor", model="openai:poor")
    compare(tmp_path / "poor", tmp_path / "good", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [one["scores"]["right"]["value"] for one in told["runs"]] == [0.25, 1.0]
    (one,) = told["comparisons"]
    assert one["differences"]["right"]["value"] == 0.75
    assert one["differences"]["right"]["p"] == 0.5  # two sheets: one pattern in two is as far
    compare(tmp_path / "poor", tmp_path / "good", export=tmp_path / "paper")
    assert "Against poor" in capsys.readouterr().out
    assert (tmp_path / "paper" / "tables" / "comparison.tex").is_file()
    with pytest.raises(UsageError, match="single run"):
        compare(tmp_path / "good")
