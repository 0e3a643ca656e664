"""Ego-EXTRA with a model: both readings, both protocols, and nothing from after a question."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import replay.asking.run_benchmark as running
from client.commands.egoextra import ReadingOptions, bench, score
from client.usage import UsageError
from replay.answers import AnswersError
from replay.asking.run_benchmark import Asking, run_benchmark
from replay.benchmark import UnaskableError
from replay.egoextra import EgoExtra, EgoExtraError, load_egoextra
from replay.egoextra.audit import audit_requests
from replay.egoextra.benchmark import EgoExtraBenchmark, Reading, Source
from replay.egoextra.listening import hearing_delays
from replay.egoextra.proactive import ProactiveBenchmark, choice_name
from replay.egoextra.replayed import Watching, is_replayed, read_frames, read_heard, replay_dialogue
from replay.egoextra.settings import load_egoextra_prompt, load_egoextra_settings
from replay.out_folder import OutFolderError
from replay.source import open_source
from streaming.asking.request import PicturePart, Request, TextPart
from streaming.events import AudioBlock, Word
from streaming.prefix import PrefixSettings
from tests.asking_fakes import FakeEndpoint, Told
from tests.egoextra_maker import OPTIONS, egoextra_folder, entry, write_json

pytestmark = pytest.mark.threads

WATCHING = Watching(
    sampling="US", length=5.0, count=8, prefix=PrefixSettings(side=64, older_side=64), quality=80
)


class Ears:
    """Hears a word at each full half second, and is certain of it a second later."""

    def push(self, event: AudioBlock) -> list[Word]:
        ticks = range(int(event.onset * 2 + 0.999), int(event.offset * 2 + 0.999))
        return [
            Word(text=f"w{tick}", onset=tick / 2 - 1, offset=tick / 2 - 0.75, utterance=tick // 4)
            for tick in ticks
            if tick >= 2
        ]

    def finish(self) -> list[Word]:
        return [Word(text="late", onset=6.5, offset=6.8, utterance=99)]


class Quiet:
    def begun(self, total: int, done: int) -> None: ...

    def came(self, question: str, error: str) -> None: ...

    def stopping(self) -> None: ...


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> EgoExtra:
    return load_egoextra(egoextra_folder(tmp_path_factory.mktemp("egoextra")))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    endpoint = FakeEndpoint(script=lambda request: Told(text="1", after=0.0))
    monkeypatch.setattr(running, "open_model", lambda *_, **__: endpoint)
    return endpoint


def benchmark(data: EgoExtra, reading: Reading, replayed: Path = Path()) -> EgoExtraBenchmark:
    settings = replace(load_egoextra_settings(), side=64)
    source = Source(dataset=data, reading=reading, settings=settings, replayed=replayed)
    return EgoExtraBenchmark(source=source, prompt=load_egoextra_prompt())


def replayed(data: EgoExtra, out: Path, moments: dict[str, Sequence[float]]) -> Path:
    for video, asked in moments.items():
        events = open_source(data.films[video]).events()
        replay_dialogue(events, asked, out / video, watching=WATCHING, hearing=Ears())
    return out


def texts(request: Request) -> str:
    return "\n".join(part.text for part in request.parts if isinstance(part, TextPart))


def pictures(request: Request) -> list[float]:
    return [part.until for part in request.parts if isinstance(part, PicturePart)]


# --- the paper's reading -----------------------------------------------------------------------


def test_clip_before_the_question_is_shown(data: EgoExtra) -> None:
    made = benchmark(data, Reading())
    request = made.compose(data.questions[0])  # begins at 2.5 s: the clip is what there is before
    times = pictures(request)
    assert len(times) == 8
    assert times[0] == 0.0
    assert times[-1] == pytest.approx(int(2.5 * 15) / 15)
    assert request.asked_at == 2.5
    assert "<transcript>" not in texts(request)
    assert request.words == "none"


@pytest.mark.parametrize(("sampling", "count"), [("QA", 8), ("TS", 1)])
def test_frames_are_sampled_as_asked(data: EgoExtra, sampling: Any, count: int) -> None:
    request = benchmark(data, Reading(sampling=sampling)).compose(data.questions[1])
    times = pictures(request)
    assert len(times) == count
    assert times[-1] == pytest.approx(4.6)
    assert all(b - a == pytest.approx(1 / 15) for a, b in itertools.pairwise(times))


def test_transcript_of_the_clip_ends_before_the_question(data: EgoExtra) -> None:
    request = benchmark(data, Reading(words="benchmark")).compose(data.questions[0])
    text = texts(request)
    assert "[1.400-2.000] trainee: Good, let us begin now." in text
    assert "Which wheel should I remove?" in text  # the question itself, asked at the end
    assert "[2.500" not in text
    assert "Take off the front wheel first" not in text
    assert "<transcript>" in text
    assert request.words == "benchmark"


def test_nothing_of_a_question_is_sent_but_text_and_options(data: EgoExtra) -> None:
    first = data.questions[0]
    made = benchmark(data, Reading(words="benchmark"))
    request = made.compose(first)
    other = replace(
        first, correct=OPTIONS[4], answer_start=6.0, answer_turns=(1,), question_end=9.0
    )
    assert made.compose(other).digest() == request.digest()


def test_own_words_need_a_replay() -> None:
    with pytest.raises(ValueError, match="our own words need the dialogue replayed"):
        Reading(words="ours")
    with pytest.raises(UsageError, match="our own words"):
        ReadingOptions(transcript="ours").chosen()


def test_run_is_scored_and_looked_through(
    data: EgoExtra, tmp_path: Path, fake: FakeEndpoint
) -> None:
    made = benchmark(data, Reading(words="benchmark"))
    outcome = run_benchmark(made, Asking(out=tmp_path, model="openai:f"), Quiet())
    assert outcome.is_complete
    assert outcome.scores.average == pytest.approx((1 / 2 + 1) / 2)
    report = audit_requests(tmp_path / "asked.jsonl", data.dialogues)
    assert (report.requests, report.leaks) == (3, ())
    listed = json.loads((tmp_path / "results" / "predictions.json").read_text())
    assert listed["bike_01"][0] == {"id": "1", "prediction": 1, "prediction_text": OPTIONS[0]}
    tables = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert {"egoextra_table2", "egoextra_table5", "egoextra_protocols"} <= tables


def test_recording_without_a_film_fails_by_name(tmp_path: Path, fake: FakeEndpoint) -> None:
    bare = load_egoextra(egoextra_folder(tmp_path / "data", films=False))
    outcome = run_benchmark(
        benchmark(bare, Reading()), Asking(out=tmp_path / "run", model="openai:f"), Quiet()
    )
    assert not outcome.is_complete
    assert outcome.facts["errors"] == {"source": 3}
    assert fake.asked == []


# --- the dialogue replayed ---------------------------------------------------------------------


def test_question_is_answered_from_the_prefix(data: EgoExtra, tmp_path: Path) -> None:
    folder = replayed(data, tmp_path, {"bike_01": [3.0, 5.0]})
    made = benchmark(data, Reading(mode="stream", words="ours"), folder)
    request = made.compose(data.questions[0])
    assert request.asked_at == 3.0
    assert pictures(request)[-1] <= 3.0
    text = texts(request)
    # w6 was spoken until 2.25 s and certain at the block that ends after 3.0 s.
    assert "w5" in text
    assert "w7" not in text
    assert "late" not in text
    later = made.compose(data.questions[1])
    assert "w5" in texts(later)
    assert "w9" in texts(later)


def test_moment_knows_what_a_stream_that_ends_there_knows(data: EgoExtra, tmp_path: Path) -> None:
    whole = replayed(data, tmp_path / "whole", {"bike_01": [1.0, 3.0, 5.0]}) / "bike_01"
    film = data.films["bike_01"]
    for moment in (1.0, 3.0, 5.0):
        cut = tmp_path / f"cut{moment}"
        events = open_source(film, until=moment).events()
        replay_dialogue(events, [moment], cut, watching=WATCHING, hearing=Ears())
        assert read_frames(whole, moment) == read_frames(cut, moment)
        assert read_heard(whole, by=moment) == read_heard(cut, by=moment)


def test_delay_of_our_ears_is_from_the_questions_end(data: EgoExtra, tmp_path: Path) -> None:
    folder = replayed(data, tmp_path, {"bike_01": [3.0]})
    # From 2.5 to 3 s one word is spoken, until 2.75 s; it is certain after 3.5 s.
    first, second = data.questions[:2]
    (delay,) = hearing_delays(folder, [first])
    assert 0.5 <= delay <= 0.6
    # Nothing was heard of the third, whose recording was not replayed.
    assert len(hearing_delays(folder, [second, first, data.questions[2]])) == 2


def test_what_the_end_brings_out_is_known_to_nobody(data: EgoExtra, tmp_path: Path) -> None:
    folder = replayed(data, tmp_path, {"bike_01": [3.0]}) / "bike_01"
    assert is_replayed(folder, [3.0])
    assert not is_replayed(folder, [3.0, 4.0])
    assert "late" not in {word.text for word in read_heard(folder, by=1e9)}


def test_streamed_requests_hold_nothing_of_the_experts_later_turns(
    data: EgoExtra, tmp_path: Path, fake: FakeEndpoint
) -> None:
    folder = replayed(data, tmp_path / "seen", {"bike_01": [3.0, 5.0], "kitchen_02": [5.5]})
    for words in ("benchmark", "ours"):
        made = benchmark(data, Reading(mode="stream", words=words), folder)
        out = tmp_path / words
        assert run_benchmark(made, Asking(out=out, model="openai:f"), Quiet()).is_complete
        report = audit_requests(out / "asked.jsonl", data.dialogues)
        assert (report.requests, report.leaks) == (3, ())
    told = next(texts(one) for one in fake.asked if one.asked_at == 5.0)
    assert "expert: Take off the front wheel first of all." in told  # said before
    assert "loosen the brake cable" not in told


def doctored(asked: Path, change: Any) -> Path:
    lines = [json.loads(line) for line in asked.read_text().splitlines()]
    change(lines[0]["request"])
    path = asked.with_name("doctored.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_record_that_holds_something_later_is_found_out(
    data: EgoExtra, tmp_path: Path, fake: FakeEndpoint
) -> None:
    made = benchmark(data, Reading(words="benchmark"))
    run_benchmark(made, Asking(out=tmp_path, model="openai:f", at_once=1), Quiet())

    def later_turn(request: dict[str, Any]) -> None:
        request["parts"][0]["text"] += " take off the FRONT wheel, first of all!"

    def later_line(request: dict[str, Any]) -> None:
        request["parts"][0]["text"] += "\n[2.400-3.100] expert: yes"

    def later_frame(request: dict[str, Any]) -> None:
        request["parts"][1]["text"] = "<time>2.700"

    def later_part(request: dict[str, Any]) -> None:
        request["parts"][2]["until"] = 2.6

    for change, what in (
        (later_turn, "the expert's turn 4 of 3.600 s"),
        (later_line, "a transcript line of 3.100 s, asked at 2.500 s"),
        (later_frame, "a frame of 2.700 s, asked at 2.500 s"),
        (later_part, "a picture reaches to 2.600 s, asked at 2.500 s"),
    ):
        report = audit_requests(doctored(tmp_path / "asked.jsonl", change), data.dialogues)
        assert [leak.what for leak in report.leaks] == [what]


# --- when to speak -----------------------------------------------------------------------------


def proactive(data: EgoExtra, folder: Path) -> ProactiveBenchmark:
    settings = load_egoextra_settings()
    settings = replace(
        settings, proactive=replace(settings.proactive, every=1.0, rest=2.0, window=1.0)
    )
    source = Source(
        dataset=data,
        reading=Reading(mode="stream", words="benchmark"),
        settings=settings,
        replayed=folder,
    )
    return ProactiveBenchmark(
        source=source, durations={"kitchen_02": 6.0}, prompt=load_egoextra_prompt()
    )


def test_choices_are_made_from_the_prefix_and_scored_in_a_window(
    data: EgoExtra, tmp_path: Path, fake: FakeEndpoint
) -> None:
    speak = {1.0, 3.0, 4.0}

    def choose(request: Request) -> Told:
        return Told(text="SPEAK: careful" if request.asked_at in speak else "WAIT", after=0.0)

    fake.script = choose
    moments = [float(moment) for moment in range(1, 7)]
    made = proactive(data, replayed(data, tmp_path / "seen", {"kitchen_02": moments}))
    assert made.videos == ("kitchen_02",)
    outcome = run_benchmark(made, Asking(out=tmp_path / "run", model="openai:f"), Quiet())
    scores = outcome.scores
    # The expert's turn begins at 4.0 s; at 4.0 s the system rests from 3.0 s on.
    assert (scores.counts.interventions, scores.counts.turns, scores.counts.agreed) == (2, 1, 1)
    assert scores.counts.lags == (-1.0,)
    assert (scores.counts.precision, scores.counts.recall) == (0.5, 1.0)
    assert scores.complete
    (table,) = made.tables(scores)
    assert table.rows[0].cells[-2:] == (2, 1)
    for request in fake.asked:
        assert max(pictures(request)) <= request.asked_at
        assert ("Not so much flour" in texts(request)) == (request.asked_at >= 5.0)
    report = audit_requests(tmp_path / "run" / "asked.jsonl", data.dialogues)
    assert (report.requests, report.leaks) == (6, ())


def test_recording_whose_speakers_are_not_known_is_left_out(data: EgoExtra) -> None:
    unmarked = replace(data, dialogues={})
    made = proactive(unmarked, Path())
    assert made.items() == []
    assert [one.reason for one in made.left_out] == ["no turn that is the expert's"]


def test_choice_without_an_answer_waits_and_makes_the_run_incomplete(
    data: EgoExtra, tmp_path: Path
) -> None:
    made = proactive(data, tmp_path)
    scores = made.score(made.items(), [])
    assert (scores.missing, scores.counts.interventions, scores.complete) == (6, 0, False)
    assert choice_name("kitchen_02", 1.0) == made.items()[0].questions[0].id


# --- commands ----------------------------------------------------------------------------------


def test_commands_score_and_bench_from_recorded_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = egoextra_folder(tmp_path / "data")
    answers = tmp_path / "answers.jsonl"
    ids = ("bike_01/1", "bike_01/2", "kitchen_02/1")
    answers.write_text("".join(json.dumps({"id": name, "output": "1"}) + "\n" for name in ids))
    score(root, answers, as_json=True)
    scored = json.loads(capsys.readouterr().out)
    assert scored["average"] == 0.75
    code = bench(
        root, out=tmp_path / "run", model=f"scripted:{answers}", as_json=True,
        how=ReadingOptions(reading="stream", transcript="benchmark", protocol="OD"),
    )  # fmt: skip
    printed = capsys.readouterr()
    assert code == 0
    assert json.loads(printed.out)["overall"]["total"] == 2
    assert "2 requests looked through: 0 hold something from later" in printed.err
    assert (tmp_path / "run" / "replayed").is_dir()
    with pytest.raises(OutFolderError, match="holds a run with another"):
        bench(
            root, out=tmp_path / "run", model=f"scripted:{answers}",
            how=ReadingOptions(reading="stream", transcript="none", protocol="OD"),
        )  # fmt: skip
    assert len(list((tmp_path / "run" / "replayed").iterdir())) == 1  # refused before a replay
    score(root, tmp_path / "run", as_json=True)
    assert json.loads(capsys.readouterr().out)["overall"]["total"] == 2  # a run over one protocol
    score(root, tmp_path / "run", answers, protocol="OD", as_json=True)
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [one["reading"] for one in runs] == ["US 5 s, transcript, streamed", "US 5 s"]
    assert runs[0]["overall"] == runs[1]["overall"]
    score(root, tmp_path / "run", answers)
    assert "Table 5" in capsys.readouterr().out
    with pytest.raises(UsageError, match="nothing to score"):
        score(root)
    with pytest.raises(AnswersError, match="no run folder"):
        score(root, tmp_path)


def test_frames_of_the_middle_of_a_film_are_those_that_play_there(data: EgoExtra) -> None:
    from replay.media.window import frame_times, frames_at
    from streaming.events import VideoFrame

    film = data.films["bike_01"]
    played = [one for one in open_source(film).events() if isinstance(one, VideoFrame)]
    times = [frame.time for frame in played]
    inside = [time for time in times if 3.0 - 1 / 15 - 1e-3 <= time <= 4.0 + 1e-6]
    assert frame_times(film, 3.0, 4.0)[-15:] == pytest.approx(inside[-15:])
    found = frames_at(film, [3.03, 3.04, 3.9, 99.0])
    assert [frame.time for frame in found] == pytest.approx([45 / 15, 58 / 15, times[-1]])
    by_time = {round(frame.time, 4): frame for frame in played}
    for frame in found:
        assert np.array_equal(frame.image, by_time[round(frame.time, 4)].image)
    with pytest.raises(ValueError, match="not ascending"):
        frames_at(film, [2.0, 1.0])


def test_question_beyond_the_end_of_its_film_is_not_asked(data: EgoExtra) -> None:
    made = benchmark(data, Reading())
    late = replace(made.questions[0], question_start=300.0, question_end=301.0)
    with pytest.raises(UnaskableError, match=r"has no frame between 295\.000 s and 300\.000 s"):
        made.compose(late)


def test_recording_that_cannot_be_played_is_left_out_by_name(data: EgoExtra) -> None:
    made = replace(proactive(data, Path()), durations={})
    assert made.items() == []
    assert {one.reason for one in made.left_out} == {"no film of it that can be played"}


def test_commands_say_what_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    write_json(folder / "bike_questions.json", [entry(1), entry(1), entry(2, options=[])])
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "bike/1", "output": "1"}\n')
    score(folder, answers, as_json=True)
    left = json.loads(capsys.readouterr().out)["left_out"]
    assert [one["name"] for one in left] == ["bike_questions.json"] * 2
    score(folder, answers)
    said = capsys.readouterr().err
    assert "question '1': another one has its id" in said
    assert "0 options, expected 5 texts" in said
    with pytest.raises(EgoExtraError, match="no recording in which a system could speak up"):
        bench(
            folder,
            out=tmp_path / "run",
            model=f"scripted:{answers}",
            how=ReadingOptions(reading="proactive"),
        )
