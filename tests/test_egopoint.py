"""EgoPoint-Bench: the traps of its files, its authors' rules, and its means."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.commands.measure_scoring import scoring
from replay.answers import Answer, AnswersError
from replay.benchmark import UNASKABLE
from replay.egopoint.benchmark import EgoPoint, read_egopoint_answers
from replay.egopoint.dataset import EgoPointError, load_egopoint
from replay.egopoint.reading import Rules, answer_of, truth_of
from replay.egopoint.scoring import EgoPointScores, score_egopoint
from replay.egopoint.tables import egopoint_tables
from replay.measure.scoring import measure_egopoint
from replay.scoring.paper_values import Share
from tests.egopoint_maker import entry, item, judged, opened, picture, write_set

E_OPTIONS = ("A. Cup", "B. Bowl", "C. Jar", "D. Pot", "E. Pan")


# --- the file -------------------------------------------------------------------------------------


def test_an_item_has_what_may_be_known_and_nothing_that_leaked(tmp_path: Path) -> None:
    (one,) = write_set(tmp_path, entry()).items
    assert one.question.startswith("What flavour")
    assert one.image == tmp_path / "test_img" / "1144.jpg"
    assert "leaked" not in repr(one)


def test_a_mini_item_finds_its_picture_by_its_id(tmp_path: Path) -> None:
    data = write_set(tmp_path, entry("real_27", image_path=...))
    assert data.items[0].image == tmp_path / "real_27.jpg"
    assert data.items[0].image.is_file()


def test_a_picture_is_found_by_its_name_in_another_folder(tmp_path: Path) -> None:
    write_set(tmp_path, entry(), pictures=False)
    picture(tmp_path / "elsewhere" / "1144.jpg")
    data = load_egopoint(tmp_path / "pure_real_test.json", images=tmp_path / "elsewhere")
    assert data.items[0].image == tmp_path / "elsewhere" / "1144.jpg"


@pytest.mark.parametrize("path", ["../../secret.jpg", "/etc/secret.jpg", "a/../../secret.jpg"])
def test_a_path_does_not_lead_out_of_the_folder(tmp_path: Path, path: str) -> None:
    picture(tmp_path / "secret.jpg")
    data = write_set(tmp_path / "a" / "b", entry(image_path=path), pictures=False)
    assert data.items[0].image == tmp_path / "a" / "b" / "secret.jpg"


@pytest.mark.parametrize(
    ("stated", "dimension"),
    [
        ("Basic Perception (Category)", "Basic Perception"),
        (" OCR & Text ", "OCR & Text"),
        ("A (b) c (d (e) ", "A (b) c"),
        ("A) b)", "A) b)"),
        ("(Category)", "unknown"),
        ("(" * 200_000, "(" * 200_000),  # in linear time
    ],
)
def test_the_stray_dimension_is_normalised(tmp_path: Path, stated: str, dimension: str) -> None:
    (one,) = write_set(tmp_path, entry(dimension=stated)).items
    assert one.dimension == dimension


def test_items_of_one_picture_have_names_of_their_own(tmp_path: Path) -> None:
    data = write_set(tmp_path, entry("7"), judged("7"), entry("8"), opened("7"))
    assert [one.id for one in data.items] == ["7", "7#2", "8", "7#3"]
    assert {one.image_id for one in data.items} == {"7", "8"}


def test_what_cannot_be_asked_is_left_out_by_name(tmp_path: Path) -> None:
    data = write_set(
        tmp_path, entry("1"), entry("2", options=None), entry("3", question=" "),
        entry("4", type="Riddle"),
    )  # fmt: skip
    assert [one.id for one in data.items] == ["1"]
    assert {one.source: one.reason.split(";")[0] for one in data.left_out} == {
        "2": "a multiple choice without options",
        "3": "no question",
        "4": "type 'Riddle' is none of Multiple_Choice, True_False, Open_Ended",
    }


def test_an_item_without_a_type_is_a_multiple_choice(tmp_path: Path) -> None:
    assert write_set(tmp_path, entry(type=...)).items[0].kind == "Multiple_Choice"


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", "[]", '{"details": 3}', "[{}]", "[" * 100_000, "\xff"]
)
def test_what_is_no_set_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(EgoPointError, match=r"set\.json") as refused:
        load_egopoint(path)
    assert "\n" not in str(refused.value)


# --- the authors' rules ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("D. Milk", "D"),
        ("D", "D"),
        ("Answer: B", "B"),
        ("answer is b", "B"),
        ("Option c) it is", "C"),
        ("The choice A or maybe Answer B", "A"),
        ("B) since D is empty", "B"),
        (r"so \boxed{C} and not D", "C"),
        ("Either A or D", "D"),
        ("<think>A. Strawberry?</think>\n\nC", "C"),
        ("<think>\n\n</think>\n\nD. Milk", "D"),
        ("<think>A cup, so far", "A"),
        ("c", "c"),
        ("milk", "milk"),
        ("", ""),
        ("E", "E"),
        ("Options: A", "A"),
        ("D.", "D"),
        ("xD.", "xD."),
    ],
)
def test_a_letter_is_taken_as_the_authors_take_it(text: str, letter: str) -> None:
    assert answer_of(text, item()) == letter


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("True", "True"),
        ("true.", "True"),
        ("It is not true, it is false", "It is not true, it is false"),
        ("False!", "False"),
        ("Yes, it is", "True"),
        ("no", "False"),
        ("nobody knows", "nobody knows"),
        ("<think>true</think> False", "False"),
        ("Raw", "Raw"),
    ],
)
def test_a_judgement_is_taken_as_the_authors_take_it(text: str, said: str) -> None:
    assert answer_of(text, item(kind="True_False", options=())) == said


@pytest.mark.parametrize(
    ("answer", "truth"),
    [("True", "True"), ("false", "False"), ("Yes", "True"), ("No", "False"), ("Raw", "Raw")],
)
def test_no_is_false(answer: str, truth: str) -> None:
    one = item(kind="True_False", options=(), answer=answer)
    assert truth_of(one) == truth
    theirs = truth_of(one, Rules(no_is_true=True))
    assert theirs == ("True" if answer == "No" else truth)


def test_letters_come_from_the_options() -> None:
    one = item(options=E_OPTIONS, answer="E. Pan")
    assert truth_of(one) == "E"
    assert answer_of("Answer: E", one) == "E"
    theirs = Rules(only_a_to_d=True)
    assert truth_of(one, theirs) == "E. PAN"
    assert answer_of("E. Pan", one, theirs) == "E. Pan"


@pytest.mark.parametrize(
    ("answer", "truth"), [("D. Milk", "D"), ("d) milk", "D"), ("Milk", "D"), ("B", "B"), ("?", "?")]
)
def test_the_truth_is_the_option_that_is_named(answer: str, truth: str) -> None:
    assert truth_of(item(answer=answer)) == truth


def test_thoughts_can_be_kept_as_one_script_does() -> None:
    assert answer_of("<think>Answer: A</think>C", item(), Rules(keeps_thoughts=True)) == "A"


def test_a_long_text_is_read_quickly() -> None:
    assert answer_of("<think>" * 50_000 + "A " * 50_000, item()) == "A"


# --- means ----------------------------------------------------------------------------------------


def said(id: str, output: str) -> Answer:
    return Answer(id=id, output=output)


def test_the_means_are_over_both_scored_types(tmp_path: Path) -> None:
    data = write_set(
        tmp_path,
        entry("1"), entry("2", dimension="OCR & Text", deixis_level="L3"), judged("3"),
        judged("4", "True", dimension="Adversarial", deixis_level="L2"), opened("5"),
    )  # fmt: skip
    scores = score_egopoint(
        data.items,
        [said("1", "D"), said("2", "A"), said("3", "False"), said("4", "No"), said("5", "soap")],
    )
    encoded = scores.as_json()
    assert encoded["overall"]["accuracy"] == 0.5
    assert encoded["by_type"]["Multiple_Choice"]["accuracy"] == 0.5
    assert encoded["by_dimension"]["OCR & Text"]["accuracy"] == 0.0
    assert encoded["by_level"]["L2"] == {
        "accuracy": 0.0, "right": 0, "items": 1, "majority": 0.0, "random": 0.5,
    }  # fmt: skip
    assert [(c["dimension"], c["deixis_level"], c["type"]) for c in encoded["cross"]] == [
        ("Basic Perception", "L1", "Multiple_Choice"),
        ("Basic Perception", "L1", "True_False"),
        ("OCR & Text", "L3", "Multiple_Choice"),
        ("Adversarial", "L2", "True_False"),
    ]
    assert encoded["open_ended"] == [
        {
            "id": "5",
            "question": "What is this for?",
            "reference": "To clean hands.",
            "output": "soap",
        }
    ]  # fmt: skip
    assert scores.complete


def test_the_baselines_are_over_both_types_together(tmp_path: Path) -> None:
    data = write_set(
        tmp_path,
        entry("1", answer="B. Chocolate"), entry("2", answer="B. Chocolate"), entry("3"),
        judged("4"), judged("5"), judged("6"), judged("7", "True"), judged("8", "Raw"),
        entry("9", options=list(E_OPTIONS), answer="E. Pan"),
    )  # fmt: skip
    overall = score_egopoint(data.items, []).as_json()["overall"]
    assert overall["majority"] == (2 + 3) / 9
    assert overall["random"] == pytest.approx((3 * 0.25 + 4 * 0.5 + 0 + 0.2) / 9)


def test_what_is_missing_is_wrong_and_what_failed_does_not_count(tmp_path: Path) -> None:
    data = write_set(tmp_path, *(entry(str(n)) for n in range(5)))
    answers = [
        said("0", "D"),
        Answer(id="1", error="no such file", kind=UNASKABLE),
        Answer(id="2", error="time-out", kind="too_slow"),
        said("99", "D"),
    ]
    scores = score_egopoint(data.items, answers)
    assert (scores.overall.right, scores.overall.total) == (1, 4)
    assert not scores.complete
    assert scores.unknown == ("99",)
    told = " ".join(scores.remarks())
    for part in ("1 model errors, not counted", "2 items without", "1 items whose", "99"):
        assert part in told
    strict = score_egopoint(data.items, answers, errors_as_wrong=True)
    assert (strict.overall.right, strict.overall.total) == (1, 5)
    assert [one.answered for one in scores.outcomes] == [True, True, False, False]


def test_rules_of_other_scripts_are_shown_where_they_change_the_number(tmp_path: Path) -> None:
    data = write_set(
        tmp_path,
        judged("1", "No"),
        entry("2", options=list(E_OPTIONS), answer="E. Pan"),
        entry("3"),
    )
    answers = [said("1", "No"), said("2", "E"), said("3", "<think>Answer: A</think>D")]
    scores = score_egopoint(data.items, answers)
    assert scores.overall.accuracy == 1.0
    assert {name: tally.right for name, tally in scores.variants.items()} == {
        "no_is_true": 2, "only_a_to_d": 2, "keeps_thoughts": 2,
    }  # fmt: skip
    *_, last = egopoint_tables(scores)
    assert len(last.rows) == 3


def test_tables_have_the_papers_numbers_beside_ours(tmp_path: Path) -> None:
    data = write_set(tmp_path, *(entry(str(n)) for n in range(12)), judged("j"))
    answers = [said(str(n), "DA"[n % 3 == 0]) for n in range(12)]
    first, second, *_ = egopoint_tables(score_egopoint(data.items, answers), system="mine")
    ours = [row for row in first.rows if row.ours]
    assert [row.keys[0] for row in ours] == ["mine", "majority, here", "random, here"]
    cell = ours[0].cells[0]
    assert isinstance(cell, Share)
    assert cell.value == pytest.approx(8 / 13)
    assert cell.low is not None
    assert cell.low < cell.value < (cell.high or 0)
    assert any(row.keys == ("Human",) and not row.ours for row in first.rows)
    assert second.columns == ("BP", "FS", "SC", "OCR", "AR", "all", "n")
    assert [row.keys for row in second.rows] == [("L1",), ("all",)]


# --- properties -----------------------------------------------------------------------------------

TEXTS = st.sampled_from(["A", "B", "C", "D", "E", "True", "False", "No", "yes", "", "soap", "Raw"])
KINDS = st.sampled_from(
    [
        entry("x"),
        entry("x", options=list(E_OPTIONS), answer="E. Pan"),
        judged("x"),
        judged("x", "Raw"),
        judged("x", "No"),
        opened("x"),
    ]
)
RUNS = st.lists(st.tuples(KINDS, st.none() | TEXTS), min_size=1, max_size=12)


def run_of(made: list[tuple[dict[str, Any], str | None]]) -> tuple[EgoPoint, list[Answer]]:
    path = Path(_folder) / "property.json"
    entries = [one | {"image_id": str(n)} for n, (one, _) in enumerate(made)]
    path.write_text(json.dumps(entries))
    answers = [said(str(n), text) for n, (_, text) in enumerate(made) if text is not None]
    return EgoPoint(load_egopoint(path)), answers


def scored(benchmark: EgoPoint, answers: list[Answer]) -> EgoPointScores:
    return benchmark.score(benchmark.items(), answers)


_folder = ""


@pytest.fixture(autouse=True, scope="module")
def _in_a_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    global _folder
    _folder = str(tmp_path_factory.mktemp("egopoint"))


@given(made=RUNS)
@settings(deadline=None, max_examples=40)
def test_every_share_is_within_bounds_and_groups_add_up(
    made: list[tuple[dict[str, Any], str | None]],
) -> None:
    scores = scored(*run_of(made))
    encoded = scores.as_json()
    for name in ("by_type", "by_dimension", "by_level"):
        assert sum(part["items"] for part in encoded[name].values()) == encoded["overall"]["items"]
        assert sum(part["right"] for part in encoded[name].values()) == encoded["overall"]["right"]
    for tally in (scores.overall, *scores.grouped("dimension", "level", "kind").values()):
        assert 0 <= tally.right <= tally.total
        assert 0 <= tally.majority <= tally.total
        assert 0 <= tally.random <= tally.total
        assert math.isnan(tally.accuracy) == (tally.total == 0)


@given(made=RUNS, random=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_the_order_of_answers_changes_nothing(
    made: list[tuple[dict[str, Any], str | None]], random: Any
) -> None:
    benchmark, answers = run_of(made)
    shuffled = answers.copy()
    random.shuffle(shuffled)
    assert scored(benchmark, answers) == scored(benchmark, shuffled)


@given(made=RUNS, which=st.integers(0, 11))
@settings(deadline=None, max_examples=40)
def test_a_right_answer_in_place_of_another_never_lowers_a_mean(
    made: list[tuple[dict[str, Any], str | None]], which: int
) -> None:
    which %= len(made)
    better = made.copy()
    better[which] = (made[which][0], str(made[which][0]["answer"]))
    before, after = scored(*run_of(made)).overall, scored(*run_of(better)).overall
    assert before.total == after.total
    assert before.right <= after.right <= before.right + 1


# --- predictions ----------------------------------------------------------------------------------


def test_results_of_the_authors_scripts_can_be_scored(tmp_path: Path) -> None:
    data = write_set(tmp_path, entry("1"), judged("2"), judged("1"), entry("3"))
    path = tmp_path / "results.json"
    details = [
        judged("1", model_output="False"),
        entry("1", model_output="<think>\n\n</think>\n\nD. Milk"),
        judged("2", model_output="True"),
        entry("3", model_output="IMAGE_NOT_FOUND"),
    ]
    path.write_text(json.dumps({"summary": {}, "details": details}))
    scores = score_egopoint(data.items, read_egopoint_answers(path, data).answers)
    assert [(one.item.id, one.right, one.status) for one in scores.items] == [
        ("1", True, "answered"),
        ("2", False, "answered"),
        ("1#2", True, "answered"),
        ("3", False, "no_picture"),
    ]


def test_our_own_lines_can_be_scored(tmp_path: Path) -> None:
    data = write_set(tmp_path, entry("1"))
    path = tmp_path / "predictions.jsonl"
    path.write_text('{"id": "1", "output": "Answer: D"}\n')
    assert read_egopoint_answers(path, data).answers == (said("1", "Answer: D"),)


@pytest.mark.parametrize("text", ['[{"image_id": "1"}]', '{"details": [3]}', "[3]", "nothing"])
def test_what_holds_no_answers_is_refused(tmp_path: Path, text: str) -> None:
    data = write_set(tmp_path, entry("1"))
    path = tmp_path / "predictions.json"
    path.write_text(text)
    with pytest.raises(AnswersError, match=r"predictions\.json"):
        read_egopoint_answers(path, data)


def test_scoring_is_timed_on_made_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = measure_egopoint(tmp_path, predictions=60)
    assert found["predictions"] == 60
    assert set(found["seconds"]) == {"read", "score", "tables"}
    assert 0.5 < found["accuracy"] < 1.0
    assert measure_egopoint(tmp_path, predictions=60)["accuracy"] == found["accuracy"]
    scoring(predictions=12)
    assert "12 predictions scored in" in capsys.readouterr().out
    scoring(predictions=12, as_json=True)
    assert json.loads(capsys.readouterr().out)["predictions"] == 12
