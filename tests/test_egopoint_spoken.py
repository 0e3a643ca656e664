"""EgoPoint-Bench's questions as speech over the picture."""

from __future__ import annotations

import itertools
import json
import wave
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import replay.egopoint.spoken as spoken
from client.commands.egopoint import bench
from client.usage import UsageError
from replay.egopoint.benchmark import EgoPoint
from replay.egopoint.spoken import Heard, SpeechError, hear_questions, spoken_blocks, word_errors
from replay.media.still import STILL_SECONDS
from streaming.asking.request import PicturePart, TextPart
from streaming.events import SAMPLE_RATE, AudioBlock
from tests.egopoint_maker import entry, judged, write_set

SECOND = np.full(SAMPLE_RATE, 0.5, dtype=np.float32)


@dataclass
class FakeEars:
    """Hears how loud a sound was."""

    sounds: list[list[AudioBlock]] = field(default_factory=list)

    def hear(self, blocks: Sequence[AudioBlock]) -> str:
        self.sounds.append(list(blocks))
        return "is this a mug"


def record(path: Path, seconds: float = 0.5) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes((np.sin(np.arange(int(seconds * SAMPLE_RATE))) * 9000).astype("<i2"))


def test_a_question_is_said_after_a_second_and_settled_in_silence() -> None:
    blocks = list(spoken_blocks(SECOND))
    assert blocks[0].onset == 0
    for one, other in itertools.pairwise(blocks):
        assert other.onset == pytest.approx(one.offset)
    whole = np.concatenate([block.samples for block in blocks])
    start = round(STILL_SECONDS * SAMPLE_RATE)
    assert not whole[:start].any()
    assert (whole[start : start + SAMPLE_RATE] == 0.5).all()
    assert not whole[start + SAMPLE_RATE :].any()
    assert blocks[-1].offset == pytest.approx(STILL_SECONDS + 1 + spoken.AFTERWARDS)


def test_recordings_are_heard_once_and_kept(tmp_path: Path) -> None:
    data = write_set(tmp_path / "set", judged("1"), judged("2"))
    for one in data.items:
        record(tmp_path / "sound" / f"{one.id}.wav")
    ears, done = FakeEars(), list[str]()
    again: list[str] = []
    for told in (done, again):
        heard = hear_questions(
            data.items, tmp_path / "heard.jsonl", open_ears=lambda: ears,
            recordings=tmp_path / "sound", on_heard=told.append,
        )  # fmt: skip
        assert {one.text for one in heard.values()} == {"is this a mug"}
    assert (done, again) == (["1", "2"], ["", ""])
    assert len(ears.sounds) == 2
    assert heard["1"].at == pytest.approx(STILL_SECONDS + 0.5 + spoken.AFTERWARDS, abs=0.1)
    assert word_errors(data.items, heard).errors == 0


def test_a_missing_recording_is_told(tmp_path: Path) -> None:
    data = write_set(tmp_path / "set", judged("1"))
    with pytest.raises(SpeechError, match="no recording of question 1"):
        hear_questions(
            data.items, tmp_path / "heard.jsonl", open_ears=FakeEars, recordings=tmp_path
        )


def test_a_missing_program_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spoken.shutil, "which", lambda name: None)
    data = write_set(tmp_path / "set", judged("1"))
    with pytest.raises(SpeechError, match="install it"):
        hear_questions(data.items, tmp_path / "heard.jsonl", open_ears=FakeEars)


def test_the_model_is_asked_in_the_words_that_were_heard(tmp_path: Path) -> None:
    data = write_set(tmp_path, entry("1"))
    heard = {"1": Heard(text="what flavor is it", at=3.25)}
    (item,) = EgoPoint(data, reading="stream", heard=heard).items()
    (question,) = item.questions
    assert question.asked_at == 3.25
    request = question.compose()
    assert request.asked_at == 3.25
    assert request.words == "ours"
    text = request.parts[1]
    assert isinstance(text, TextPart)
    assert text.text.startswith("what flavor is it\nA. Strawberry")
    # The picture is the same as in the still reading.
    still = EgoPoint(data).items()[0].questions[0].compose()
    assert isinstance(still.parts[0], PicturePart)
    assert isinstance(request.parts[0], PicturePart)
    assert still.parts[0].jpeg == request.parts[0].jpeg


def test_a_spoken_run_scores_as_the_still_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_set(tmp_path / "set", entry("1"), judged("2", "True"), judged("3"))
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(f'{{"id": "{n}", "output": "D False"}}\n' for n in (1, 2, 3)))
    monkeypatch.setattr(spoken, "_said", lambda item: SECOND)
    monkeypatch.setattr(spoken, "WhisperEars", FakeEars)
    model = f"scripted:{answers}"
    assert bench(data.path, out=tmp_path / "still", model=model, as_json=True) == 0
    still = json.loads(capsys.readouterr().out)
    spoken_run = {"reading": "stream", "question": "speech", "as_json": True}
    assert bench(data.path, out=tmp_path / "speech", model=model, **spoken_run) == 0  # type: ignore[arg-type]
    out = capsys.readouterr()
    assert json.loads(out.out) == still
    assert "heard 3 questions" in out.err
    with pytest.raises(UsageError, match="--reading stream"):
        bench(data.path, out=tmp_path / "x", model=model, question="speech")
