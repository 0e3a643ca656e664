"""Ego-EXTRA's files, sampling, answers and scores, against what is computed by hand."""

from __future__ import annotations

import contextlib
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.answers import Answer
from replay.egoextra import Dialogue, EgoExtraError, Question, Turn, load_egoextra
from replay.egoextra.answers import chosen_number
from replay.egoextra.dialogue import read_dialogue
from replay.egoextra.interventions import match_interventions, regular_interventions
from replay.egoextra.made import measure_egoextra
from replay.egoextra.proactive import expert_turns, moments_of, speaks, spoken_at
from replay.egoextra.questions import protocol_in, scenario_in, turn_numbers
from replay.egoextra.sampling import choose_frames
from replay.egoextra.scoring import EgoExtraScores, score_egoextra
from replay.egoextra.subrip import SubRipError, format_time, parse_cues, parse_time
from replay.egoextra.tables import Run, Way, paper_tables
from replay.loose_json import Fields, UnreadableJsonError
from replay.scoring.paper_values import Share, percent
from tests.egoextra_maker import BIKE, OPTIONS, egoextra_folder, entry, question, write_json

# --- SubRip ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00:09,000", 9.0),
        ("01:02:03,045", 3723.045),
        ("00:00:09.5", 9.5),
        ("01:30", 90.0),
        ("100:00:00,001", 360000.001),
    ],
)
def test_time_is_read(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "9", "00:60:00", "00:00:61,000", "-00:00:01", "a:b:c", "1,5"])
def test_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SubRipError, match="no time such as"):
        parse_time(text)


@given(st.integers(0, 10**8))
def test_time_survives_being_written(thousandths: int) -> None:
    assert parse_time(format_time(thousandths / 1000)) == pytest.approx(thousandths / 1000)


def test_cues_are_read_with_line_ends_and_marks_of_any_kind() -> None:
    cues = parse_cues("\ufeff" + BIKE.replace("\n", "\r\n"))
    assert [cue.number for cue in cues] == [1, 2, 3, 4, 5]
    assert (cues[3].onset, cues[3].offset) == (3.6, 4.5)
    assert parse_cues("1\n00:00:01,000 --> 00:00:02,000\ntwo\nlines\n")[0].text == "two lines"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("hello\nworld", "line 1: expected the number of a cue"),
        ("1\nhello", "line 2: expected begin --> end"),
        ("1\n00:00:02,000 --> 00:00:01,000\nx", "ends before it begins"),
        ("1\n00:00:99,000 --> 00:01:01,000\nx", "line 2: '00:00:99,000' is no time"),
    ],
)
def test_file_that_is_no_subrip_is_refused_by_line(text: str, what: str) -> None:
    with pytest.raises(SubRipError, match=what):
        parse_cues(text)


# --- dialogue ----------------------------------------------------------------------------------


def turn(number: int, onset: float, offset: float, speaker: Any = "", text: str = "x") -> Turn:
    return Turn(number=number, onset=onset, offset=offset, text=text, speaker=speaker)


def test_speaker_is_told_by_the_text_before_the_questions(tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_text(
        "1\n00:00:01,000 --> 00:00:02,000\nExpert: go on\n\n"
        "2\n00:00:03,000 --> 00:00:04,000\n[Trainee] expertly done\n\n"
        "3\n00:00:05,000 --> 00:00:06,000\nExpert advice is good\n"
    )
    dialogue = read_dialogue(path).with_speakers(asked=[1, 3], answered=[2, 3])
    assert [(one.speaker, one.text) for one in dialogue.turns] == [
        ("expert", "go on"),
        ("trainee", "expertly done"),
        ("", "Expert advice is good"),  # named both ways
    ]


def test_turn_is_told_only_when_it_has_ended() -> None:
    dialogue = Dialogue(turns=(turn(1, 0, 2), turn(2, 3, 5), turn(3, 6, 7)))
    assert [one.number for one in dialogue.said_by(5.0)] == [1, 2]
    assert [one.number for one in dialogue.said_by(4.9)] == [1]
    assert [one.number for one in dialogue.said_by(7.0, since=2.0)] == [2, 3]


def test_transcript_without_times_is_refused(tmp_path: Path) -> None:
    path = write_json(tmp_path / "t.json", [{"id": 1, "text": "x", "start_time": "soon"}])
    with pytest.raises(UnreadableJsonError, match=r"t.json: turn 0: no times"):
        read_dialogue(path)


# --- the folder --------------------------------------------------------------------------------


def test_folder_is_read_with_both_spellings_and_names_of_folders(tmp_path: Path) -> None:
    data = load_egoextra(egoextra_folder(tmp_path))
    assert [one.name for one in data.questions] == ["bike_01/1", "bike_01/2", "kitchen_02/1"]
    first, second, third = data.questions
    assert (first.question_start, first.question_end, first.answer_start) == (2.5, 3.0, 3.6)
    assert second.text == "What comes next?"
    assert (first.scenario, third.scenario) == ("bike workshop", "kitchen")
    assert (first.protocol, third.protocol) == ("OD", "PA")
    assert second.question_turns == (2, 3)
    assert first.answer_turns == (4, 5)
    assert set(data.films) == {"bike_01", "kitchen_02"}
    speakers = [one.speaker for one in data.dialogue("bike_01").turns]
    assert speakers == ["", "trainee", "trainee", "expert", "expert"]
    assert [one.speaker for one in data.dialogue("kitchen_02").turns] == ["trainee", "expert"]
    assert data.left_out == ()
    assert [one.name for one in data.of("PA")] == ["kitchen_02/1"]


def test_one_file_may_hold_many_recordings(tmp_path: Path) -> None:
    write_json(tmp_path / "all.json", {"bake_1.mp4": [entry(1)], "bake_2": [entry(1)]})
    data = load_egoextra(tmp_path / "all.json")
    assert [one.name for one in data.questions] == ["bake_1/1", "bake_2/1"]
    named = [entry(1, video="v1"), entry(1, video_name="v2.MP4", scenario="Bakery", protocol="PA")]
    write_json(tmp_path / "all.json", named)
    questions = load_egoextra(tmp_path / "all.json").questions
    assert [(one.name, one.scenario, one.protocol) for one in questions] == [
        ("v1/1", None, None),
        ("v2/1", "bakery", "PA"),
    ]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"text": ...}, "no text"),
        ({"options": OPTIONS[:4]}, "4 options, expected 5 texts"),
        ({"options": [*OPTIONS[:4], 5]}, "5 options, expected 5 texts"),
        ({"correct_answer": "the saddle"}, "correct_answer is none of its options"),
        ({"question_start_time": "soon"}, "no question_start_time"),
        ({"question_start_time": 1e300}, "no question_start_time"),
        ({"question_start_time": -1}, "no question_start_time"),
        ({"id": ...}, "no id"),
        ({"id": 1}, "another one has its id"),
    ],
)
def test_question_that_cannot_be_used_is_named(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    write_json(tmp_path / "v.json", [entry(1), entry(2, **changes)])
    data = load_egoextra(tmp_path)
    assert len(data.questions) == 1
    (left,) = data.left_out
    assert left.name == "v.json"
    assert why in left.reason


def test_folder_without_questions_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(EgoExtraError, match=r"no questions with options were found \(broken.json"):
        load_egoextra(tmp_path)
    with pytest.raises(EgoExtraError, match="no such file or folder"):
        load_egoextra(tmp_path / "nowhere")


def test_right_answer_is_found_by_its_text_however_it_is_spaced() -> None:
    assert question(correct="The  front wheel ").right_numbers == (1,)
    twice = question(options=(OPTIONS[0], *OPTIONS[:4]))
    assert twice.right_numbers == (1, 2)


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ("10-13", (10, 11, 12, 13)),
        ("10", (10,)),
        (7, (7,)),
        ("3, 5-6", (3, 5, 6)),
        (["1", 4], (1, 4)),
        (None, ()),
        ("none", ()),
        ("5-3", ()),
        ("0-999999999" * 50, tuple(range(10_000))),
    ],
)
def test_cue_numbers_are_read(value: Any, numbers: tuple[int, ...]) -> None:
    assert turn_numbers(Fields({"ids": value}), "ids") == numbers


def test_names_tell_scenario_and_protocol() -> None:
    assert scenario_in("Bike_Workshop") == "bike workshop"
    assert scenario_in("kitchen_or_bakery") is None
    assert [protocol_in(name) for name in ("PA", "pro-active", "On_Demand", "od3", "pasta")] == [
        "PA", "PA", "OD", "OD", None,
    ]  # fmt: skip


# --- sampling ----------------------------------------------------------------------------------

FRAMES = [k / 15 for k in range(15 * 60)]


def test_uniform_frames_span_the_clip() -> None:
    chosen = choose_frames(FRAMES, asked_at=20.0, length=7.0, sampling="US")
    assert [FRAMES[place] for place in chosen] == pytest.approx([13, 14, 15, 16, 17, 18, 19, 20])


def test_adjacent_frames_are_the_last_eight() -> None:
    chosen = choose_frames(FRAMES, asked_at=20.0, length=5.0, sampling="QA")
    last = [20 - k / 15 for k in range(7, -1, -1)]
    assert [FRAMES[place] for place in chosen] == pytest.approx(last)


def test_single_frame_is_the_one_at_the_question() -> None:
    chosen = choose_frames(FRAMES, asked_at=20.05, length=5.0, sampling="TS")
    assert [FRAMES[place] for place in chosen] == [20.0]


@given(
    st.lists(st.integers(0, 2000), max_size=60, unique=True),
    st.integers(0, 2500),
    st.sampled_from([1.0, 5.0, 15.0, 30.0]),
    st.sampled_from(["US", "QA", "TS"]),
    st.integers(1, 12),
)
def test_no_frame_is_from_after_the_question(
    ticks: list[int], asked: int, length: float, sampling: Any, count: int
) -> None:
    times, asked_at = sorted(tick / 50 for tick in ticks), asked / 50
    chosen = choose_frames(times, asked_at=asked_at, length=length, sampling=sampling, count=count)
    assert all(times[place] <= asked_at + 1e-6 for place in chosen)
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= (1 if sampling == "TS" else count)
    assert bool(chosen) == any(time <= asked_at + 1e-6 for time in times)
    # What comes later changes nothing.
    cut = [time for time in times if time <= asked_at]
    assert chosen == choose_frames(
        cut, asked_at=asked_at, length=length, sampling=sampling, count=count
    )


# --- answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        (" 3. ", 3),
        ("**2**", 2),
        ("(4)", 4),
        ("Answer: 2", 2),
        ("The answer is 5.", 5),
        ("The answer is option 5.", 5),
        ("Option 1 is wrong. The correct choice is 4", 4),
        ("2. the rear wheel", 2),
        ("<think>1? no, 3</think>5", 5),
        ("<think>The answer is 1", None),
        ("the rear wheel", 2),
        ("I would take off the rear wheel.", 2),
        ("It must be 3, surely", 3),
        ("either 2 or 3", None),
        ("6", None),
        ("12", None),
        ("2.5", None),
        ("", None),
        ("I cannot tell.", None),
        ("the front wheel or the chain", None),
    ],
)
def test_number_is_read_from_the_text(text: str, number: int | None) -> None:
    assert chosen_number(text, OPTIONS) == number


@given(st.text(max_size=200))
def test_any_text_chooses_one_option_or_none(text: str) -> None:
    assert chosen_number(text, OPTIONS) in (None, 1, 2, 3, 4, 5)


# --- scores ------------------------------------------------------------------------------------


def four() -> list[Question]:
    """Three of the bike workshop, one of the kitchen."""
    return [
        question(1),
        question(2, correct=OPTIONS[2]),
        question(3),
        question(1, video="kitchen_02", scenario="kitchen", protocol="PA"),
    ]


def said(name: str, output: str) -> Answer:
    return Answer(id=name, output=output)


def test_scores_are_those_computed_by_hand() -> None:
    answers = [
        said("bike_01/1", "1"),  # right
        said("bike_01/2", "Answer: 1"),  # wrong
        said("bike_01/3", "perhaps"),  # none
        said("kitchen_02/1", "1"),  # right
        said("bike_01/9", "1"),
    ]
    scores = score_egoextra(four(), answers)
    assert scores.by_scenario["bike workshop"].accuracy == pytest.approx(1 / 3)
    assert scores.by_scenario["kitchen"].accuracy == 1.0
    assert scores.average == pytest.approx((1 / 3 + 1) / 2)
    assert scores.overall.accuracy == pytest.approx(2 / 4)
    assert (scores.overall.invalid, scores.unknown) == (1, 1)
    assert scores.chance == pytest.approx(0.2)
    assert scores.by_protocol["PA"].right == 1
    assert scores.complete
    assert list(scores.by_scenario) == ["bike workshop", "kitchen"]


def test_failed_model_is_neither_right_nor_wrong_unless_asked_for() -> None:
    answers = [said("bike_01/1", "1"), Answer(id="bike_01/2", error="refused", kind="blocked")]
    scores = score_egoextra(four()[:2], answers)
    assert scores.overall.accuracy == 1.0
    assert not scores.complete
    counted = score_egoextra(four()[:2], answers, errors_as_wrong=True)
    assert counted.overall.accuracy == 0.5


def test_question_without_an_answer_is_wrong_and_makes_the_run_incomplete() -> None:
    scores = score_egoextra(four()[:2], [said("bike_01/1", "1")])
    assert scores.overall.accuracy == 0.5
    assert not scores.complete
    assert [one.answered for one in scores.outcomes] == [True, False]


def test_bare_id_is_taken_where_one_recording_has_it() -> None:
    scores = score_egoextra(four(), [said("2", "3"), said("1", "1")])
    assert scores.overall.right == 1
    assert scores.unknown == 1  # two recordings have a question 1


ANSWERS = st.lists(st.sampled_from(["1", "2", "3", "none", "error"]), min_size=4, max_size=4)


def score_of(outputs: list[str], order: list[int] | None = None) -> EgoExtraScores:
    answers = [
        Answer(id=one.name, error="failed") if text == "error" else said(one.name, text)
        for one, text in zip(four(), outputs, strict=True)
    ]
    return score_egoextra(four(), [answers[place] for place in order or range(4)])


@given(ANSWERS, st.permutations(range(4)))
def test_order_of_answers_does_not_matter(outputs: list[str], order: list[int]) -> None:
    assert score_of(outputs).as_json() == score_of(outputs, order).as_json()


@given(ANSWERS, st.integers(0, 3))
def test_scores_lie_between_zero_and_one_and_rise_with_a_right_answer(
    outputs: list[str], place: int
) -> None:
    before = score_of(outputs)
    assert before.overall.total == 0 or 0 <= before.overall.accuracy <= 1
    assert math.isnan(before.average) or 0 <= before.average <= 1
    better = [*outputs]
    better[place] = "3" if place == 1 else "1"
    after = score_of(better)
    assert after.overall.right >= before.overall.right
    if outputs[place] != "error":
        assert after.average >= before.average


def test_tables_hold_our_runs_in_their_places_beside_the_published() -> None:
    scores = score_egoextra(four(), [said(one.name, "1") for one in four()])
    runs = [
        Run(system="ours", way=Way(), scores=scores),
        Run(system="ours", way=Way(sampling="QA"), scores=scores),
        Run(system="ours", way=Way(length=15.0), scores=scores),
        Run(system="ours", way=Way(transcript=True), scores=scores),
    ]
    tables = {table.name: table for table in paper_tables(runs)}
    assert list(tables) == [f"egoextra_table{number}" for number in (2, 3, 4, 5)]
    average = Share(value=(2 / 3 + 1) / 2)
    by_sampling = tables["egoextra_table3"].rows[0]
    assert by_sampling.cells == (average, average, None)
    by_length = tables["egoextra_table4"].rows[0]
    assert by_length.cells == (average, average, None)
    published = [row for row in tables["egoextra_table5"].rows if not row.ours]
    assert [row.keys[0] for row in published] == ["LLaVA-OneVision"]
    assert published[0].cells == (percent(33.06), percent(36.17))
    human = tables["egoextra_table2"].rows[len(runs)]
    assert (human.keys[0], human.cells[4]) == ("human", percent(89.65))


# --- interventions -----------------------------------------------------------------------------


def test_interventions_are_paired_one_to_one() -> None:
    counts = match_interventions([10.0, 12.0, 30.0], [9.0, 11.0, 50.0], window=2.0)
    assert (counts.agreed, counts.turns, counts.interventions) == (2, 3, 3)
    assert counts.lags == (-1.0, -1.0)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.f1 == pytest.approx(2 / 3)
    assert counts.median_lag == -1.0


TIMES = st.lists(st.integers(0, 60), max_size=8).map(lambda ticks: sorted(float(t) for t in ticks))


def largest(turns: list[float], spoken: list[float], window: float) -> int:
    """The largest pairing, by trying all."""
    if not turns or not spoken:
        return 0
    best = largest(turns[1:], spoken, window)
    for place, time in enumerate(spoken):
        if abs(time - turns[0]) <= window:
            rest = spoken[:place] + spoken[place + 1 :]
            best = max(best, 1 + largest(turns[1:], rest, window))
    return best


@given(TIMES.filter(lambda t: len(t) <= 5), TIMES.filter(lambda t: len(t) <= 5), st.integers(0, 9))
def test_pairing_is_the_largest(turns: list[float], spoken: list[float], window: int) -> None:
    counts = match_interventions(turns, spoken, window=window)
    assert counts.agreed == largest(turns, spoken, window)


@given(TIMES, TIMES, st.integers(0, 20), st.integers(0, 20))
def test_interventions_are_bounded_symmetric_and_rise_with_the_window(
    turns: list[float], spoken: list[float], window: int, more: int
) -> None:
    counts = match_interventions(turns, spoken, window=window)
    assert counts.agreed <= min(len(turns), len(spoken))
    assert counts.agreed == match_interventions(spoken, turns, window=window).agreed
    assert counts.agreed <= match_interventions(turns, spoken, window=window + more).agreed
    assert all(abs(lag) <= window for lag in counts.lags)
    assert match_interventions(turns, turns, window=0).agreed == len(turns)


def test_interventions_refuse_what_is_not_ascending() -> None:
    with pytest.raises(ValueError, match="turns are not ascending"):
        match_interventions([2.0, 1.0], [], window=1.0)
    with pytest.raises(ValueError, match="window is -1"):
        match_interventions([], [], window=-1.0)


def test_system_rests_after_it_spoke() -> None:
    choices = [(5.0, True), (10.0, True), (15.0, True), (20.0, False), (25.0, True)]
    assert spoken_at(choices, rest=10.0) == [5.0, 15.0, 25.0]


def test_cues_of_the_expert_that_follow_one_another_are_one_turn() -> None:
    dialogue = Dialogue(
        turns=(
            turn(1, 0, 1, "expert"),
            turn(2, 1.5, 3, "expert"),
            turn(3, 4, 5, "trainee"),
            turn(4, 6, 7, "expert"),
        )
    )
    assert expert_turns(dialogue, gap=2.0) == [0, 6]


@pytest.mark.parametrize(
    ("text", "speak"),
    [
        ("SPEAK: take the key", True),
        ("wait", False),
        ("<think>SPEAK?</think> WAIT", False),
        ("I would wait before I speak", False),
        ("no idea", None),
    ],
)
def test_choice_is_read_from_the_text(text: str, speak: bool | None) -> None:
    assert speaks(text) == speak


def test_moments_and_regular_interventions_lie_in_the_recording() -> None:
    assert moments_of(11.0, every=5.0) == [5.0, 10.0]
    assert moments_of(0.0, every=5.0) == []
    assert moments_of(1e12, every=3600.0)[-1] == 86_400.0
    assert regular_interventions(2, 10.0) == [2.5, 7.5]


def test_many_predictions_are_made_and_scored(tmp_path: Path) -> None:
    found = measure_egoextra(tmp_path, predictions=600)
    assert found["predictions"] == 600
    assert 0.1 < found["accuracy"] < 0.3
    assert set(found["seconds"]) == {"read", "score", "tables"}


ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.lists(st.one_of(st.text(max_size=5), st.integers(), st.none()), max_size=6),
)


@given(st.lists(st.dictionaries(st.sampled_from(sorted(entry())), ODD), max_size=3))
def test_odd_questions_are_left_out_by_name(changes: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        entries = [entry(number, **change) for number, change in enumerate(changes, 100)]
        write_json(Path(folder) / "v.json", [entry(1), *entries])
        data = load_egoextra(Path(folder))
    assert len(data.questions) + len(data.left_out) == 1 + len(entries)
    for one in data.questions:
        assert len(one.options) == 5
        assert one.right_numbers
        assert 0 <= one.question_start <= one.question_end


@given(st.text(alphabet="01:,.->\n Eexprt[]", max_size=120))
def test_odd_transcripts_are_read_or_refused(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.srt"
        path.write_text(text, encoding="utf-8")
        with contextlib.suppress(SubRipError):
            assert all(one.onset <= one.offset for one in read_dialogue(path).turns)


def test_long_names_and_lines_are_read_in_linear_time(tmp_path: Path) -> None:
    # Were they read again from each place, this would take minutes.
    with pytest.raises(SubRipError, match="line 2"):
        parse_cues(f"1\n00:00:01,000{' ' * 200_000}x --> 00:00:02,000\nHello.\n")
    key = "_" * 200_000
    path = write_json(tmp_path / "all.json", {f"{key}x": [entry(1)], f"bike{key}QA": [entry(2)]})
    videos = {question.video for question in load_egoextra(path).questions}
    assert videos == {f"{key}x", f"bike{key}QA"}


@pytest.mark.parametrize(
    ("line", "times"),
    [
        ("00:00:01,000 --> 00:00:02,000", (1.0, 2.0)),
        (" 00:00:01,000-->00:00:02,000 X1:10 X2:20", (1.0, 2.0)),
        ("00:00:01,000 -->", None),
        ("--> 00:00:02,000", None),
        ("00:00:01,000 -> 00:00:02,000", None),
        ("00:00:01,000 --> --> 00:00:02,000", None),
    ],
)
def test_arrow_of_a_cue_stands_between_two_times(
    line: str, times: tuple[float, float] | None
) -> None:
    if times is None:
        with pytest.raises(SubRipError, match="line 2"):
            parse_cues(f"1\n{line}\nHello.\n")
    else:
        cue = parse_cues(f"1\n{line}\nHello.\n")[0]
        assert (cue.onset, cue.offset) == times
