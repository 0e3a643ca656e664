"""Open answers by a judge: what it is told, what it says, and what does not count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from client.commands.egopoint import judge
from replay.answers import Answer
from replay.egopoint.judge import EgoPointJudge, score_of
from streaming.asking.request import TextPart
from tests.egopoint_maker import entry, opened, write_set


@pytest.mark.parametrize(
    ("text", "score"),
    [("4", 4), ("Score: 5.", 5), ("<think>2</think> 0", 0), ("4/5", 4), ("6", None), ("-", None),
     ("3.5", None), ("10", None), ("9" * 40, None)],
)  # fmt: skip
def test_a_score_is_a_whole_number_within_the_scale(text: str, score: int | None) -> None:
    assert score_of(text, 5) == score


def made(folder: Path) -> EgoPointJudge:
    data = write_set(
        folder, entry("1"), opened("2"), opened("3", deixis_level="L3"), opened("4"), opened("5")
    )
    answers = [Answer(id=id, output=f"answer {id}") for id in ("1", "2", "3", "4")]
    return EgoPointJudge(data, answers)


def test_the_judge_is_told_question_reference_and_answer_of_open_items(tmp_path: Path) -> None:
    items = made(tmp_path).items()
    assert [item.key for item in items] == ["2", "3", "4"]
    (part,) = items[0].questions[0].compose().parts
    assert isinstance(part, TextPart)
    for text in ("What is this for?", "To clean hands.", "answer 2", "0", "5"):
        assert text in part.text
    assert "leaked" not in part.text


def test_judgements_are_averaged_and_what_is_unreadable_is_told(tmp_path: Path) -> None:
    benchmark = made(tmp_path)
    answers = [
        Answer(id="2", output="5"), Answer(id="3", output="perhaps"),
        Answer(id="4", error="late", kind="too_slow"),
    ]  # fmt: skip
    scores = benchmark.score(benchmark.items(), answers)
    assert scores.as_json() == {
        "agreement": 1.0, "judged": 1, "open_items": 4, "unanswered": 1, "unreadable": ["3"],
        "errors": ["4"], "missing": [],
    }  # fmt: skip
    assert len(scores.remarks()) == 3
    assert benchmark.score(benchmark.items(), answers, errors_as_wrong=True).agreement == 0.5
    answers[1] = Answer(id="3", output="0")
    assert benchmark.score(benchmark.items(), answers[::-1]).agreement == 0.5
    (table,) = benchmark.tables(benchmark.score(benchmark.items(), answers))
    assert [row.keys[0] for row in table.rows] == ["Basic Perception", "L1", "L3", "all"]


def test_a_judge_is_run_like_any_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_set(tmp_path / "set", opened("2"))
    said, judged = tmp_path / "said.jsonl", tmp_path / "judged.jsonl"
    said.write_text('{"id": "2", "output": "soap"}\n')
    judged.write_text('{"id": "2", "output": "4"}\n')
    out = tmp_path / "run"
    assert judge(said, data.path, out=out, model=f"scripted:{judged}", as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["agreement"] == 0.8
    assert json.loads((out / "results" / "judged.json").read_text()) == [
        {"id": "2", "eval_score": 4}
    ]
