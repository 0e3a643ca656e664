"""EgoSAT's main table: hand-computed values, official columns, what is missing or doubled."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.egosat.counts import (
    Answers,
    States,
    Switches,
    count_switches,
    mean,
    pairs_of,
    step_of,
)
from replay.egosat.files import EgosatError, Predicted, QuerySet, QuerySets, prediction_files
from replay.egosat.main_table import (
    PLACES,
    as_csv,
    as_markdown,
    metrics_of,
    score_folder,
    table_row,
)
from replay.egosat.names import COLUMNS, PAIR_ROLES
from replay.egosat.scored import EgosatScores, Taken
from replay.measure.scoring_egosat import measure_egosat
from tests.egosat_maker import (
    Root,
    published_example,
    query,
    said,
    small_root,
    state,
    switch_samples,
    write,
)

OFFICIAL = (
    "model,split,now_rec,now_prec,now_mcq_acc,ss1_fg2bg_acc,ss1_bg2fg_acc,ss1_fg2bg_conf,"
    "ss1_bg2fg_conf,ss2_fg2bg_acc,ss2_bg2fg_acc,ss2_fg2bg_conf,ss2_bg2fg_conf,ss3_fg2bg_acc,"
    "ss3_bg2fg_acc,ss3_fg2bg_conf,ss3_bg2fg_conf,sh_pred_predictable_acc,sh_pred_branch_only_acc,"
    "sh_pred_surprise_only_acc,sh_pred_branch_and_surprise_acc,sh_pred_predictable_conf,"
    "sh_pred_branch_only_conf,sh_pred_surprise_only_conf,sh_pred_branch_and_surprise_conf,"
    "ms_pred_step0_acc,ms_pred_step1_acc,ms_pred_step2_acc,ms_pred_multi_avg_acc,"
    "ms_pred_step0_conf,ms_pred_step1_conf,ms_pred_step2_conf,ms_pred_multi_avg_conf,"
    "ms_rtrv_step0_acc,ms_rtrv_step1_acc,ms_rtrv_step2_acc,ms_rtrv_multi_avg_acc,"
    "ms_rtrv_step0_conf,ms_rtrv_step1_conf,ms_rtrv_step2_conf,ms_rtrv_multi_avg_conf,sh_rtrv_acc"
)


def row_of(root: Root) -> dict[str, float | None]:
    return table_row(metrics_of(score_folder(root.predictions, [root.queries])))


def test_columns_are_the_official_ones() -> None:
    assert ",".join(("model", "split", *COLUMNS)) == OFFICIAL


def test_small_root_scores_as_computed_by_hand(tmp_path: Path) -> None:
    row = row_of(small_root(tmp_path))
    # State: one INTERACTION found, one missing (FN), one gap called INTERACTION (FP).
    assert (row["now_rec"], row["now_prec"]) == (1 / 2, 1 / 2)
    # Choices: one of two right; the query without a truth does not count.
    assert row["now_mcq_acc"] == 1 / 2
    for number, chance in ((1, 0.7), (2, 0.8), (3, 0.9)):
        assert row[f"ss{number}_fg2bg_acc"] == 1.0
        assert row[f"ss{number}_bg2fg_acc"] == 0.0
        assert row[f"ss{number}_fg2bg_conf"] == chance
        assert row[f"ss{number}_bg2fg_conf"] is None
    assert row["sh_pred_predictable_acc"] == 1.0
    assert row["sh_pred_branch_only_acc"] == 0.0
    assert row["sh_pred_surprise_only_acc"] == 0.0  # not answered: wrong
    assert row["sh_pred_branch_and_surprise_acc"] == 1.0
    assert row["sh_pred_predictable_conf"] == 0.8
    assert row["sh_pred_branch_only_conf"] == 0.4
    assert row["sh_pred_surprise_only_conf"] is None
    assert row["sh_pred_branch_and_surprise_conf"] == 0.9
    for task in ("ms_pred", "ms_rtrv"):
        assert [row[f"{task}_step{step}_acc"] for step in range(3)] == [1.0, 0.0, 0.0]
        assert row[f"{task}_multi_avg_acc"] == pytest.approx(1 / 3)
        assert [row[f"{task}_step{step}_conf"] for step in range(3)] == [0.75, 0.6, 0.2]
        assert row[f"{task}_multi_avg_conf"] == pytest.approx((0.75 + 0.6 + 0.2) / 3)
    assert row["sh_rtrv_acc"] == 1 / 2


PUBLISHED = (
    "synthetic_model,val,0.5,0.5,0.5,1.0,0.0,0.71,,1.0,0.0,0.72,,1.0,0.0,0.73,,1.0,0.0,0.0,1.0,"
    "0.8,0.4,,0.9,1.0,0.0,0.0,0.3333333333333333,0.75,0.6,0.2,0.5166666666666667,0.0,1.0,1.0,"
    "0.6666666666666666,0.6,0.7,0.65,0.65,0.5"
)


def test_the_authors_own_example_comes_out_to_the_last_digit(tmp_path: Path) -> None:
    row = {"model": "synthetic_model", "split": "val", **row_of(published_example(tmp_path))}
    assert as_csv([row]).split() == [OFFICIAL, PUBLISHED]


def test_metrics_have_the_official_names(tmp_path: Path) -> None:
    root = small_root(tmp_path)
    metrics = metrics_of(score_folder(root.predictions, [root.queries]))
    assert metrics["now_narration"]["counts"]["state"] == {
        "samples_total": 3,
        "valid_predictions": 2,
        "invalid_or_missing_predictions": 1,
        "tp": 1,
        "fp": 1,
        "fn": 1,
        "tn": 0,
        "state_correct_full": 1,
        "unknown_gt": 0,
    }
    assert metrics["now_narration"]["state_accuracy_full"] == pytest.approx(1 / 3)
    switch = metrics["now_state_switch"]["ss_pos_1"]
    assert (switch["pos"], switch["counts"]["samples"]["samples_total"]) == ("t:1.0", 4)
    assert switch["counts"]["BG_to_FG"]["pairs_valid"] == 1
    surprise = metrics["sh_pred"]["counts"]["accuracy"]["buckets"]["surprise_only"]
    assert (surprise["samples_valid"], surprise["accuracy_over_valid"]) == (0, None)
    sources = metrics["sh_pred"]["counts"]["confidence"]["buckets"]["surprise_only"]["conf_sources"]
    assert sources == {"missing_prediction": 1}
    assert metrics["sh_rtrv"]["counts"]["all"]["accuracy_over_total"] == 1 / 2


def test_table_is_written_as_the_authors_do(tmp_path: Path) -> None:
    row = {"model": "m|n", "split": "val", **row_of(small_root(tmp_path))}
    read = next(csv.DictReader(io.StringIO(as_csv([row]))))
    assert ",".join(read) == OFFICIAL
    assert (read["sh_rtrv_acc"], read["ss1_bg2fg_conf"]) == ("0.5", "")
    heading, line, values = as_markdown([row]).splitlines()
    assert heading == "| " + OFFICIAL.replace(",", " | ") + " |"
    assert line.count("---") == len(COLUMNS) + 2
    assert values.startswith("| m\\|n | val | 0.500000 | 0.500000 |")


def test_what_was_not_run_is_empty_and_said(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.add("sh_rtrv/cand", [query(0, "C")], [said(0, "C")])
    scores = score_folder(root.predictions, [root.queries])
    row = table_row(metrics_of(scores))
    assert row["sh_rtrv_acc"] == 1.0
    assert [column for column, value in row.items() if value is not None] == ["sh_rtrv_acc"]
    assert (
        sum("is missing; its columns are empty" in remark for remark in scores.remarks)
        == len(PLACES) - 1
    )


def test_a_folder_of_something_else_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EgosatError, match="is no folder of predictions"):
        score_folder(tmp_path / "nothing", [])
    with pytest.raises(EgosatError, match="holds none of the folders that are scored"):
        score_folder(tmp_path, [])


def test_a_second_prediction_for_a_query_set_is_passed_over(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.add("sh_rtrv/cand", [query(0, "C")], [said(0, "A")])
    named = {"source_queryset": "sh_rtrv__cand__clip.json", "samples": [said(0, "C")]}
    write(root.predictions / "sh_rtrv" / "cand" / "zz__pred.json", named)
    scores = score_folder(root.predictions, [root.queries])
    assert scores.answers["sh_rtrv"].all == Answers(total=1, valid=1, correct=0)
    assert any("a second prediction for" in remark for remark in scores.remarks)


def test_query_sets_resolve_by_path_then_name_then_stem(tmp_path: Path) -> None:
    here = write(tmp_path / "one" / "a__clip.json", {"samples": []})
    named = write(tmp_path / "two" / "b__clip.jsonl", {"samples": []})
    sets = QuerySets([tmp_path / "two"], moved=[("/old/place", str(tmp_path / "one"))])
    assert sets.find({"source_queryset": str(here)}) == here
    assert sets.find({"source_queryset": "/old/place/a__clip.json"}) == here
    assert sets.find({"source_queryset": "/gone/b__clip.jsonl"}) == named
    assert sets.find({"source_queryset": "/gone/b__clip.json"}) == named
    assert sets.find({"source_queryset": "C:\\gone\\b__clip.json"}) == named
    assert sets.find({"video_metadata": {"queryset_path": "b__clip.jsonl"}}) == named
    assert sets.find({"notes": [{"path": "x/derived_sets/b__clip.jsonl"}]}) == named
    assert sets.find({"source_queryset": "c__clip.json"}) is None
    assert sets.find({"source_queryset": "x" * 5000}) is None


def test_a_prediction_without_its_query_set_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "sh_rtrv" / "cand" / "p.json", {"source_queryset": "no.json", "samples": []})
    with pytest.raises(EgosatError, match="its query set is not found"):
        score_folder(tmp_path, [])


def test_files_that_are_no_predictions_are_passed_over(tmp_path: Path) -> None:
    for name in ("manifest.json", "summary_all.json", "x_details.json", "p__pred.json"):
        write(tmp_path / name, {})
    assert [path.name for path in prediction_files(tmp_path)] == ["p__pred.json"]


@pytest.mark.parametrize("text", ['{"samples": 3}', "[1, 2]", "{", "\udcff", "[" * 10_000])
def test_a_broken_query_set_is_one_clear_line(tmp_path: Path, text: str) -> None:
    root = Root(tmp_path)
    root.add("sh_rtrv/cand", [query(0, "C")], [said(0, "C")])
    path = next(root.queries.rglob("*.json"))
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(EgosatError) as error:
        score_folder(root.predictions, [root.queries])
    assert path.name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", " \n", "\ufeff"])
def test_an_empty_prediction_file_is_one_clear_line(tmp_path: Path, text: str) -> None:
    root = Root(tmp_path)
    root.add("sh_rtrv/cand", [query(0, "C")], [said(0, "C")])
    next(root.predictions.rglob("*.json")).write_text(text, encoding="utf-8")
    with pytest.raises(EgosatError, match="is empty"):
        score_folder(root.predictions, [root.queries])


def test_query_sets_of_one_line_or_in_a_list_are_read(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.add("sh_rtrv/cand", [query(0, "C")], [said(0, "C")])
    path = next(root.queries.rglob("*.json"))
    content = json.loads(path.read_text())
    for text in (json.dumps([content]), "\ufeff" + json.dumps(content, indent=1) + "\n\n"):
        path.write_text(text, encoding="utf-8")
        assert row_of(root)["sh_rtrv_acc"] == 1.0


def test_pairs_need_both_roles_and_both_answers() -> None:
    queries, answers = switch_samples(0.7)
    counted = switches_of(queries[:1] + queries[2:], [answers[0], answers[2], state(3, "dunno")])
    assert counted["segment_to_gap"].missing_roles == 1
    assert counted["gap_to_segment"].invalid == 1
    assert counted["gap_to_segment"].rate is None
    assert counted["gap_to_segment"].as_json()["success_rate_over_total_pairs"] == 0.0


def switches_of(queries: list[Any], answers: list[Any]) -> dict[str, Switches]:
    counted = {kind: Switches(kind) for kind in PAIR_ROLES}
    count_switches(pairs_of(predicted(queries, answers), States()), counted)
    return counted


def predicted(queries: list[Any], answers: list[Any]) -> Predicted:
    queries_read = QuerySet(path=Path("q.json"), fields={}, samples=tuple(queries))
    return Predicted(
        path=Path("p.json"), queries=queries_read, answers={one["idx"]: one for one in answers}
    )


def test_means_are_rounded_once() -> None:
    assert mean([0.6, None, 0.7, 0.65]) == 0.65  # as in the authors' example; not 0.6499…
    assert mean([None]) is None


def test_steps_come_from_their_number_or_their_distance() -> None:
    assert step_of({"step_idx": "1", "lag_sec": 24}, "lag_sec") == "step_1"
    assert step_of({"step_idx": 7, "lag_sec": 24.0004}, "lag_sec") == "step_2"
    assert step_of({"lead_sec": 8}, "lag_sec") == "unknown"


WORDS = st.sampled_from(["INTERACTION", "NO_INTERACTION", "dunno"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["INTERACTION", "NO_INTERACTION"]), WORDS)))
def test_recall_and_precision_are_bounded_and_order_changes_nothing(
    cases: list[tuple[Any, str]],
) -> None:
    forwards, backwards = States(), States()
    for counted, order in ((forwards, cases), (backwards, cases[::-1])):
        for truth, word in order:
            counted.count(truth, word if word != "dunno" else None)  # type: ignore[arg-type]
    assert forwards == backwards
    assert forwards.total == len(cases)
    for value in (forwards.recall, forwards.precision):
        assert value is None or 0 <= value <= 1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), st.randoms())
def test_switch_rate_is_bounded_and_never_falls_when_an_answer_is_mended(
    answers: list[tuple[str, str]], random: Any
) -> None:
    queries, given_, mended = [], [], []
    for number, (before, after) in enumerate(answers):
        pair, _ = switch_samples(0.5)
        for place, word in ((0, before), (1, after)):
            idx = 2 * number + place
            queries.append(pair[place] | {"idx": idx, "state_switch_pair_id": str(number)})
            given_.append(state(idx, word, 0.5))
            truth = ("INTERACTION", "NO_INTERACTION")[place]
            mended.append(state(idx, word if word == "dunno" else truth, 0.5))
    first = switches_of(queries, given_)["segment_to_gap"]
    second = switches_of(queries, mended)["segment_to_gap"]
    random.shuffle(queries)
    assert switches_of(queries, given_)["segment_to_gap"].as_json() == first.as_json()
    assert first.success <= second.success
    assert first.rate is None or 0 <= first.rate <= (second.rate or 0) <= 1


LETTER_OR_NONE = st.sampled_from(["A", "B", "C", "D", "", "A or B"])
SHARES = st.lists(st.floats(0, 1), min_size=4, max_size=4) | st.just([])
CASES = st.lists(
    st.tuples(
        st.sampled_from([place for place in PLACES if "cand_state" not in place]),
        st.sampled_from(["A", "B", "C", "D"]),
        LETTER_OR_NONE,
        st.integers(0, 3),
        SHARES,
    ),
    max_size=25,
)


def scored(cases: list[Any], *, mended: bool = False) -> EgosatScores:
    """Scores of single samples, each in a query set of its own."""
    taken = Taken()
    for place, truth, answer, kind, shares in cases:
        fields = {"state": ("NN", "PN", "NP", "PP")[kind], "step_idx": kind}
        given = said(0, truth if mended else answer, shares)
        one = predicted([query(0, truth, **fields)], [given])
        taken.table.take(place, one)
        taken.note(place, one)
    return EgosatScores(taken=taken, complete=True, bins=10)


@settings(max_examples=40, deadline=None)
@given(CASES, st.randoms())
def test_every_column_is_bounded_whatever_the_order(cases: list[Any], random: Any) -> None:
    first = scored(cases)
    assert all(value is None or 0 <= value <= 1 for value in first.row.values())
    turned = cases[:]
    random.shuffle(turned)
    second = scored(turned)
    for column, value in first.row.items():
        assert second.row[column] == (None if value is None else pytest.approx(value))
    for column in ("now_mcq_acc", "sh_rtrv_acc", "ms_pred_step1_acc", "sh_pred_branch_only_acc"):
        found = [one.values[column] for one in first.outcomes if column in one.values]
        assert first.row[column] == (pytest.approx(sum(found) / len(found)) if found else None)


@settings(max_examples=30, deadline=None)
@given(CASES)
def test_no_accuracy_falls_when_answers_are_put_right(cases: list[Any]) -> None:
    before, after = scored(cases).row, scored(cases, mended=True).row
    for column, value in before.items():
        if column.endswith("_acc") and value is not None:
            assert after[column] == 1.0 >= value


def test_answers_that_the_table_has_no_place_for_are_said() -> None:
    taken = Taken()
    one = predicted([query(0, "A")], [said(0, "A")])
    for place in ("sh_rtrv/open", "ms_pred/cand_conf"):
        taken.table.take(place, one)
        taken.note(place, one)
    remarks = EgosatScores(taken=taken, complete=True, bins=10).remarks()
    assert "sh_rtrv/open: 1 answers written, the table has no place for them" in remarks
    assert "ms_pred/cand_conf: 1 answers came without probabilities" in remarks


def test_the_measure_scores_every_column(tmp_path: Path) -> None:
    found = measure_egosat(tmp_path, predictions=1210)
    assert (found["predictions"], found["files"], found["columns"]) == (1210, 25, len(COLUMNS))
