"""EgoPoint-Bench with a model: nothing leaks, and both readings ask the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import replay.asking.run_benchmark as running
from client.commands.egopoint import bench, score
from replay.asking.run_benchmark import Asking, run_benchmark
from replay.egopoint.benchmark import EgoPoint
from replay.egopoint.dataset import EgoPointError
from replay.egopoint.questions import Reading, read_settings, request_for
from streaming.asking.request import PicturePart, Request, TextPart
from tests.asking_fakes import FakeEndpoint, Told
from tests.egopoint_maker import LEAKED, entry, judged, opened, write_set

pytestmark = pytest.mark.threads


@dataclass
class Quiet:
    """Is shown everything and says nothing."""

    def begun(self, total: int, done: int) -> None: ...

    def came(self, question: str, error: str) -> None: ...

    def stopping(self) -> None: ...


def mixed(folder: Path) -> Any:
    return write_set(
        folder, entry("1"), judged("2"), opened("3"), entry("1", answer="A. Strawberry"),
        judged("4", "No", image_path=...),
    )  # fmt: skip


def all_of(request: Request) -> bytes:
    """All that a model gets to see."""
    content = [request.system.encode(), json.dumps(request.schema).encode()]
    for part in request.parts:
        match part:
            case TextPart():
                content.append(part.text.encode())
            case PicturePart():
                content += [part.jpeg, part.what.encode()]
            case _:
                pytest.fail("neither text nor picture")
    return b"\n".join(content)


def guess(request: Request) -> Told:
    """Answers by what was asked, as a model would."""
    text = all_of(request).decode(errors="replace")
    return Told(text="D. Milk" if "Milk" in text else "False", after=0.0)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    endpoint = FakeEndpoint(script=guess)
    monkeypatch.setattr(running, "open_model", lambda *_, **__: endpoint)
    return endpoint


@pytest.mark.parametrize("reading", ["still", "stream"])
def test_no_request_holds_anything_that_leaked(
    tmp_path: Path, fake: FakeEndpoint, reading: Reading
) -> None:
    benchmark = EgoPoint(mixed(tmp_path / "set"), reading=reading)
    outcome = run_benchmark(benchmark, Asking(out=tmp_path / "run", model="openai:f"), Quiet())
    assert outcome.is_complete
    assert len(fake.asked) >= 4
    words = [str(value) for value in LEAKED.values() if isinstance(value, str)]
    for request in fake.asked:
        sent = all_of(request)
        assert not [word for word in words if word.encode() in sent]
        assert b"leaked" not in sent
        assert b"To clean hands" not in sent
    assert "leaked" not in (tmp_path / "run" / "asked.jsonl").read_text()


def test_a_request_does_not_depend_on_the_answer(tmp_path: Path) -> None:
    first = write_set(tmp_path / "one", entry("1")).items[0]
    second = write_set(tmp_path / "two", entry("1", answer="A. Strawberry", eval_score=0)).items[0]
    ours = read_settings()
    digests = {request_for(one, ours, reading="still").digest() for one in (first, second)}
    assert len(digests) == 1


def test_a_question_says_its_options_and_the_form_of_the_answer(tmp_path: Path) -> None:
    ours = read_settings()
    texts = []
    for one in mixed(tmp_path).items[:3]:
        request = request_for(one, ours, reading="still")
        assert [type(part) for part in request.parts] == [PicturePart, TextPart]
        assert isinstance(request.parts[1], TextPart)
        texts.append(request.parts[1].text.split("\n"))
    assert texts[0][1:] == [*entry()["options"], ours.choice]
    assert texts[1] == ["Is this a mug?", ours.judge]
    assert texts[2] == ["What is this for?", ours.open]


def test_the_streamed_question_is_the_same_request_and_scores_the_same(
    tmp_path: Path, fake: FakeEndpoint
) -> None:
    data = mixed(tmp_path / "set")
    ours = read_settings()
    for one in data.items:
        still, stream = (request_for(one, ours, reading=r) for r in ("still", "stream"))
        assert still.digest() == stream.digest()
        assert stream.asked_at > still.asked_at
        assert all(part.until == stream.asked_at for part in stream.parts)
    found = {
        reading: run_benchmark(
            EgoPoint(data, reading=reading),
            Asking(out=tmp_path / reading, model="openai:f"),
            Quiet(),
        ).scores
        for reading in ("still", "stream")
    }  # fmt: skip
    assert found["still"] == found["stream"]


def test_open_questions_may_be_answered_at_length(tmp_path: Path) -> None:
    asked = [item.questions[0].max_tokens for item in EgoPoint(mixed(tmp_path)).items()]
    assert asked == [16, 16, 128, 16, 16]


def test_a_missing_picture_is_not_asked_and_counts_wrong(
    tmp_path: Path, fake: FakeEndpoint
) -> None:
    data = mixed(tmp_path / "set")
    data.items[0].image.unlink()
    outcome = run_benchmark(EgoPoint(data), Asking(out=tmp_path / "run", model="openai:f"), Quiet())
    # Two questions are about the picture that is gone.
    assert outcome.facts["errors"] == {"source": 2}
    assert (outcome.scores.overall.right, outcome.scores.overall.total) == (2, 4)


def test_a_run_can_be_scored_again_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = mixed(tmp_path / "set")
    answers = tmp_path / "answers.jsonl"
    lines = [{"id": one.id, "output": one.answer} for one in data.items]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "run"
    assert bench(data.path, out=out, model=f"scripted:{answers}", as_json=True) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["overall"]["accuracy"] == 1.0
    for made in (out / "predictions.jsonl", out / "results" / "egopoint_results.json"):
        score(made, data.path, as_json=True)
        again = json.loads(capsys.readouterr().out)
        assert again["overall"] == first["overall"]
        assert again["by_dimension"] == first["by_dimension"]
    assert bench(data.path, out=tmp_path / "r2", model=f"scripted:{answers}", reading="stream") == 0
    assert "EgoPoint-Bench, accuracy" in capsys.readouterr().out


def test_a_folder_without_any_of_the_pictures_is_refused(tmp_path: Path) -> None:
    data = mixed(tmp_path / "set")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(EgoPointError, match=r"elsewhere has none of the pictures.*--images"):
        bench(data.path, out=tmp_path / "run", model="local", images=tmp_path / "elsewhere")
    assert not (tmp_path / "run").exists()
