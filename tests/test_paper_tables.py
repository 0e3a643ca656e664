"""The paper's tables over a matrix of runs: from its folder to the cells that people read."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from replay.loose_json import Fields
from replay.scoring.bootstrap import Resampling
from replay.scoring.cells import (
    CellError,
    ScoredRun,
    estimates,
    open_matrix,
    open_runs,
    paired,
    plain_model,
    scored_clips,
)
from replay.scoring.paper import paper_tables
from replay.scoring.paper_deltas import ablation_table, comparison_table, interface_table
from replay.scoring.paper_tables import level_table, overall_table, published_like
from replay.scoring.paper_values import PaperTable, Share, show
from tests.matrix_maker import CELLS, FLASH, PRO, MadeCell, made_scores, make_matrix

QUICK = Resampling(resamples=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_matrix(tmp_path_factory.mktemp("matrix") / "night")


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, PaperTable]:
    return {table.name: table for table in paper_tables(open_matrix(folder).cells, how=QUICK)}


def run_of(scores: dict[str, Any], **facts: Any) -> ScoredRun:
    return ScoredRun(name="run", folder=Path("run"), scores=Fields(scores), **facts)


def cell_of(table: PaperTable, column: str, *keys: str) -> Any:
    rows = [row for row in table.rows if row.keys[: len(keys)] == keys]
    assert len(rows) == 1, [row.keys for row in table.rows]
    return rows[0].cells[table.columns.index(column)]


def scores(*clips: tuple[str, int, float], status: str = "answered") -> dict[str, Any]:
    """Clips of a name, an instruction and an eco score that all other scores share."""
    named = [{"video_name": name, "instruction": kind} for name, kind, _ in clips]
    return {
        "clips": [
            one | dict.fromkeys(("cls", "s", "t", "eco", "seq"), value)
            for one, (_, _, value) in zip(named, clips, strict=True)
        ],
        "details": [one | {"status": status} for one in named],
    }


# --- reading ----------------------------------------------------------------------------------


def test_matrix_names_its_cells_and_what_they_were_asked(folder: Path) -> None:
    matrix = open_matrix(folder)
    assert [cell.name for cell in matrix.cells] == [cell.name for cell in CELLS]
    first = matrix.cells[0]
    assert (first.model, first.interface, first.words) == (FLASH, "video", "none")
    assert matrix.machine.cpu == "Imaginary CPU @ 2.5 GHz"
    assert matrix.notes == ()


def test_estimates_are_the_scorers_own_means(folder: Path) -> None:
    for cell in open_matrix(folder).cells:
        overall = estimates(cell.clips, how=QUICK)
        weighted = estimates(cell.clips, by_referent=True, how=QUICK)
        for name, found in overall.items():
            assert found.value == pytest.approx(cell.scores.table("overall").number(name))
            stated = cell.scores.table("overall_referent_weighted").number(name)
            assert weighted[name].value == pytest.approx(stated)
            level = cell.scores.table("by_level").table("L3").number(name)
            by_level = estimates(cell.clips, level="L3", how=QUICK)[name]
            assert by_level.value == pytest.approx(level)


def test_level_and_referents_follow_from_the_instruction_without_details() -> None:
    found = scored_clips(Fields(scores(("a.mp4", 6, 1.0)) | {"details": []}))
    assert [(clip.level, clip.referents, clip.answered) for clip in found] == [("L4", 4, True)]


@pytest.mark.parametrize("eco", [None, "0.5", float("nan"), 1.5, -0.1, True])
def test_clip_without_five_fractions_is_left_out(eco: Any) -> None:
    broken = scores(("a.mp4", 1, 1.0), ("b.mp4", 1, 0.0))
    broken["clips"][0]["eco"] = eco
    assert [clip.key[0] for clip in scored_clips(Fields(broken))] == ["b.mp4"]


def test_clips_of_one_name_stay_apart() -> None:
    found = scored_clips(Fields(scores(("a.mp4", 1, 1.0), ("a.mp4", 1, 0.0))))
    assert len({clip.key for clip in found}) == 2


def test_cell_may_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    make_matrix(tmp_path / "there", CELLS[:1])
    stated = json.loads((tmp_path / "there" / "matrix.json").read_text())
    os.symlink(tmp_path, tmp_path / "there" / "link")
    names = ("../there", "/etc", "", ".", "link", "a\0b", "x" * 5000, "absent", 7)
    stated["cells"] += [{"name": name} for name in names]
    (tmp_path / "there" / "matrix.json").write_text(json.dumps(stated))
    matrix = open_matrix(tmp_path / "there")
    assert [cell.name for cell in matrix.cells] == [CELLS[0].name]
    assert len(matrix.notes) == len(names)


def test_damaged_scores_are_a_note_and_an_empty_row(tmp_path: Path) -> None:
    folder = make_matrix(tmp_path, CELLS[:2], clips=12)
    (folder / CELLS[0].name / "scores.json").write_text("{")
    matrix = open_matrix(folder)
    assert any(CELLS[0].name in note and "scores.json" in note for note in matrix.notes)
    found = overall_table(matrix.cells, how=QUICK)
    assert [row.keys[1] for row in found.rows if row.ours] == ["frames"]


def test_folder_without_a_matrix_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(CellError, match=r"matrix\.json.*is it a folder of several runs"):
        open_matrix(tmp_path)
    with pytest.raises(CellError, match="give a run folder of deixis bench"):
        open_runs([tmp_path], [])


def test_matrix_of_nonsense_has_no_tables(tmp_path: Path) -> None:
    (tmp_path / "matrix.json").write_text('{"cells": {"a": 1}, "machine": 3}')
    assert paper_tables(open_matrix(tmp_path).cells) == []


def test_run_folder_says_itself_what_was_asked(folder: Path) -> None:
    (run,) = open_runs([folder / CELLS[2].name], [])
    assert (run.model, run.interface, run.words) == (FLASH, "frames+asr", "benchmark")
    assert len(open_runs([folder, folder / CELLS[0].name], [])) == len(CELLS) + 1


def test_providers_are_left_off_models_names() -> None:
    assert plain_model("gemini:gemini-3-pro") == "gemini-3-pro"
    assert plain_model("local") == "local"
    assert plain_model("llama3.2:3b") == "llama3.2:3b"


# --- Table 2 ----------------------------------------------------------------------------------


def test_levels_stand_beside_the_published_ones(tables: dict[str, PaperTable]) -> None:
    table = tables["table2_eco"]
    found = cell_of(table, "L3", "gemini-3-flash-preview", "frames+asr", "benchmark")
    assert isinstance(found, Share)
    assert found.low is not None
    assert found.low <= found.value
    assert show(cell_of(table, "L1", "Gemini-3-Pro", "video")) == "30.2"
    assert show(cell_of(table, "all", "Human")) == "96.9"


def test_cells_are_shown_with_their_intervals() -> None:
    assert show(Share(value=0.481, low=0.41, high=0.552)) == "48.1 [41.0, 55.2]"
    assert show(Share(value=0.5, low=0.0, high=1.0, trusted=False)) == "50.0 [0.0, 100.0]†"
    worse = Share(value=-0.062, low=-0.113, high=-0.00001, p=0.0213, signed=True)
    assert show(worse) == "−6.2 [−11.3, 0.0] p = 0.021 *"
    assert show(Share(value=0.1, low=0.05, high=0.2, p=0.0001, signed=True)).endswith(
        "p < 0.001 ***"
    )
    assert show(None) == "–"


def test_incomplete_runs_say_what_they_lack(tables: dict[str, PaperTable]) -> None:
    table = tables["table2_all"]
    lacking = [row for row in table.rows if row.lacks]
    assert [(row.keys[0], row.keys[1], row.lacks) for row in lacking] == [
        ("gemini-3-pro", "frames+asr", "3 missing, 2 failed")
    ]
    assert any("3 missing, 2 failed" in note for note in table.notes)


def test_when_has_a_column_only_where_it_differs() -> None:
    plain = run_of(made_scores(CELLS[0], clips=12), model="m", interface="video", words="none")
    binder = replace(plain, when="binder")
    assert overall_table([plain], how=QUICK).keys == ("model", "interface", "words")
    assert overall_table([plain, binder], how=QUICK).keys[-1] == "when"


def test_runs_that_nothing_else_tells_apart_are_named_by_folder() -> None:
    plain = run_of(made_scores(CELLS[0], clips=12), model="m", interface="video")
    table = overall_table([plain, replace(plain, name="hot")], how=QUICK)
    assert [row.keys[-1] for row in table.rows if row.ours] == ["run", "hot"]


def test_few_clips_of_a_level_are_marked() -> None:
    run = run_of(made_scores(CELLS[2], clips=12), model="m")
    found = level_table([run], "eco", how=QUICK).rows[0].cells
    assert all(cell is None or (isinstance(cell, Share) and not cell.trusted) for cell in found[:4])


# --- Tables 3 and 4 ---------------------------------------------------------------------------


def test_steps_go_through_each_models_interfaces(tables: dict[str, PaperTable]) -> None:
    steps = [
        (row.keys[0], row.keys[1], row.keys[2])
        for row in tables["table3_interfaces"].rows
        if row.ours
    ]
    flash = "gemini-3-flash-preview"
    assert steps == [
        (flash, "video → frames", "none → benchmark"),
        (flash, "frames → frames+asr", "benchmark"),
        (flash, "frames+asr → bound", "benchmark → ours"),
        (flash, "frames+asr → bound", "ours"),
        (flash, "video → frames+asr", "none → benchmark"),
        (flash, "video → frames+asr", "none → ours"),
        (flash, "frames+asr", "benchmark → ours"),
        (flash, "bound; when: model → binder", "ours"),
        ("gemini-3-pro", "video → frames+asr", "none → benchmark"),
        ("qwen3-vl-8b", "frames → bound", "benchmark → ours"),
    ]


def test_gain_is_the_mean_difference_over_common_clips() -> None:
    before = run_of(
        scores(("a", 1, 0.0), ("b", 1, 0.5), ("c", 1, 1.0)), model="m", interface="video"
    )
    after = run_of(
        scores(("b", 1, 1.0), ("a", 1, 0.5), ("d", 1, 1.0)), model="m", interface="frames"
    )
    table = interface_table([before, after], how=QUICK)
    assert cell_of(table, "clips", "m") == 2
    assert cell_of(table, "left out", "m") == 2
    assert cell_of(table, "eco", "m").value == pytest.approx(0.5)
    assert cell_of(table, "eco", "m").p == pytest.approx(0.5)


def test_clips_without_an_answer_are_left_out_of_comparisons() -> None:
    before = run_of(scores(("a", 1, 0.0)))
    lost = run_of(scores(("a", 1, 0.0), status="missing"))
    found = paired(before, lost, how=QUICK)
    assert (found.both, found.only_first, found.only_second) == (0, 1, 0)


def test_p_values_of_a_table_are_corrected_together(tables: dict[str, PaperTable]) -> None:
    table = tables["table3_interfaces"]
    assert any("corrected for 10 comparisons" in note for note in table.notes)
    (alone,) = [
        row
        for row in interface_table(
            [
                run_of(made_scores(cell), model=cell.model, interface=cell.interface)
                for cell in (CELLS[10], CELLS[11])
            ],
            how=QUICK,
        ).rows
        if row.ours
    ]
    alone_p = [cell.p for cell in alone.cells if isinstance(cell, Share)]
    together = [cell_of(table, name, "qwen3-vl-8b").p for name in ("cls", "s", "t", "eco", "seq")]
    assert all(one <= other for one, other in zip(alone_p, together, strict=True))
    assert alone_p != together


def test_ablations_are_set_against_the_run_with_all_anchors(tables: dict[str, PaperTable]) -> None:
    table = tables["table4_ablation"]
    flash = "gemini-3-flash-preview"
    full = cell_of(table, "t", flash, "frames+asr", "benchmark")
    less = cell_of(table, "t", flash, "no_frame_timestamps")
    change = cell_of(table, "t, change", flash, "no_frame_timestamps")
    assert change.value == pytest.approx(less.value - full.value)
    assert change.p < 0.05
    assert cell_of(table, "t, change", flash, "frames+asr", "benchmark") is None
    published = cell_of(table, "eco, change", "Gemini-3-Flash (published)", "no_word_timing")
    assert published.value == pytest.approx(-0.022)


def test_no_ablation_no_table() -> None:
    run = run_of(made_scores(CELLS[2], clips=12), model="m", interface="frames+asr")
    assert ablation_table([run], how=QUICK).rows == ()
    assert interface_table([run], how=QUICK).rows == ()


def test_comparison_counts_who_answered_what() -> None:
    first = run_of(scores(("a", 1, 0.0), ("b", 1, 1.0)))
    other = replace(run_of(scores(("b", 1, 0.0), ("c", 1, 1.0), ("d", 1, 1.0))), name="other")
    table = comparison_table([first, other], how=QUICK)
    assert table.rows[0].cells[:3] == (1, 1, 2)


# --- beside the published numbers, and beyond the paper ---------------------------------------


@pytest.mark.parametrize(
    ("model", "interface", "system"),
    [
        ("gemini:gemini-3-flash-preview", "video", "Gemini-3-Flash"),
        ("gemini:gemini-3-pro", "frames+asr", "Gemini-3-Pro"),
        ("openai:Qwen/Qwen3-VL-8B-Instruct", "frames", "Qwen3-VL-8B"),
        ("openai:Qwen/Qwen3-VL-30B-A3B-Instruct", "frames", "Qwen3-VL-30B"),
        ("openai:gpt-5-mini-2025-08-07", "frames", "GPT-5-mini"),
        ("gemini:gemini-3-flash-lite", "video", None),
        ("openai:gpt-5", "frames", None),
        ("gemini:gemini-3-pro", "bound", None),
        ("", "video", None),
    ],
)
def test_published_number_is_of_the_same_model(
    model: str, interface: str, system: str | None
) -> None:
    row = published_like(run_of({}, model=model, interface=interface))
    assert (row.system if row else None) == system


def test_published_difference_has_our_interval(tables: dict[str, PaperTable]) -> None:
    table = tables["published"]
    ours = cell_of(table, "eco", "gemini-3-pro", "video")
    off = cell_of(table, "eco, off by", "gemini-3-pro", "video")
    assert off.value == pytest.approx(ours.value - 0.17)
    assert off.low == pytest.approx(ours.low - 0.17)


def test_failures_and_right_ones_add_up(tables: dict[str, PaperTable]) -> None:
    table = tables["failures"]
    assert {row.keys[-1] for row in table.rows} == {"all", "L1", "L2", "L3", "L4"}
    for row in table.rows:
        total, *parts = row.cells
        assert total == sum(part for part in parts if isinstance(part, int))


def test_mended_reading_never_scores_less_here(tables: dict[str, PaperTable]) -> None:
    found = cell_of(tables["mended"], "gain", "qwen3-vl-8b", "frames")
    assert found.value > 0


def test_cost_is_given_by_thousand_answered_clips(tables: dict[str, PaperTable]) -> None:
    table = tables["usage"]
    answered = 60 - 5
    cost = cell_of(table, "cost, $", "gemini-3-pro", "frames+asr").value
    each = cell_of(table, "per 1000 clips, $", "gemini-3-pro", "frames+asr").value
    assert each == pytest.approx(1000 * cost / answered)
    assert cell_of(table, "cost, $", "qwen3-vl-8b", "bound").value == 0.0


def test_counters_that_stayed_nothing_have_no_column(tables: dict[str, PaperTable]) -> None:
    assert tables["reading"].columns == ("fenced", "label with text")
    assert cell_of(tables["errors"], "rate limited", "gemini-3-pro") == 2


def test_unknown_cost_is_an_empty_cell() -> None:
    run = run_of(made_scores(CELLS[0], clips=12), model="m", facts=Fields({"usage": {"sent": 5}}))
    names = [table.name for table in paper_tables([run], how=QUICK)]
    assert "usage" in names
    assert "table3_interfaces" not in names


def test_cells_of_two_models_make_no_step() -> None:
    runs = [
        run_of(made_scores(cell, clips=12), model=cell.model, interface=cell.interface)
        for cell in (
            MadeCell(model=FLASH, interface="video"),
            MadeCell(model=PRO, interface="frames"),
        )
    ]
    assert interface_table(runs, how=QUICK).rows == ()
