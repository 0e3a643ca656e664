"""``deixis score ecog``: the contract of its JSON, its tables, its remarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from client.commands.score import ecog
from replay.ecog import load_ecog
from replay.predictions import Prediction, PredictionLog
from replay.scoring.published import ABLATION, CLIPS_BY_LEVEL, PUBLISHED
from replay.scoring.tables import ecog_tables, show
from tests.ecog_maker import TreeMaker, perfect, raw_answer

MEASURES = {"cls", "s", "t", "eco", "seq"}


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Path]:
    """Two right clips, one wrong, one failed, one without a prediction, one left out."""
    maker = TreeMaker(tmp_path / "tree")
    maker.clip("data_en/指令1", "right.mp4")
    maker.clip("data_zn/指令3", "also_right.mp4", answers=[raw_answer("A"), raw_answer("a")])
    maker.clip("data_en/指令2", "wrong.mp4")
    maker.clip("data_en/指令5", "failed.mp4")
    maker.clip("data_en/指令6", "missing.mp4")
    maker.clip("data_en/指令6", "[no] video.mp4", video=None)
    root = maker.write()
    clips = {clip.video_name: clip for clip in load_ecog(root).clips}
    predictions = tmp_path / "predictions.jsonl"
    with PredictionLog(predictions) as log:
        log.append(perfect(clips["right.mp4"]))
        log.append(perfect(clips["also_right.mp4"]))
        log.append(Prediction(video_name="wrong.mp4", instruction=2, output="no idea"))
        log.append(Prediction(video_name="failed.mp4", instruction=5, error="[red]time-out"))
        log.append(Prediction(video_name="unknown.mp4", instruction=5))
    return root, predictions


def scored(capsys: pytest.CaptureFixture[str], *arguments: Any, **options: Any) -> Any:
    ecog(*arguments, print_json=True, **options)
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_json_keeps_the_contract(
    run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    read = scored(capsys, *run)
    assert set(read["overall"]) == MEASURES
    assert set(read["overall_referent_weighted"]) == MEASURES
    assert set(read["by_instruction"]) == {"1", "2", "3", "6"}
    assert set(read["by_level"]) == {"L1", "L2", "L3", "L4"}
    assert set(read["by_language"]) == {"en", "zh"}
    for group in ("by_instruction", "by_level", "by_language", "by_scene"):
        assert all(set(measured) == MEASURES for measured in read[group].values())
    assert read["overall"]["eco"] == 0.5  # 1, 1, 0 and 0 for the missing one
    assert read["overall_referent_weighted"]["eco"] == 0.6  # 3 of 5
    assert [clip["video_name"] for clip in read["clips"]] == [
        "right.mp4",
        "wrong.mp4",
        "missing.mp4",
        "also_right.mp4",
    ]
    assert all(set(clip) == MEASURES | {"video_name", "instruction"} for clip in read["clips"])
    assert [set(clip) for clip in read["left_out"]] == [{"video_name", "reason"}]
    assert read["left_out"][0]["video_name"] == "[no] video.mp4"


def test_json_says_what_did_not_count(
    run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    read = scored(capsys, *run)
    assert read["complete"] is False
    assert read["errors"] == [
        {"video_name": "failed.mp4", "instruction": 5, "reason": "[red]time-out"}
    ]
    assert read["missing"] == [{"video_name": "missing.mp4", "instruction": 6}]
    assert read["unknown"] == [{"video_name": "unknown.mp4", "instruction": 5}]
    assert read["counts"]["overall"]["clips"] == 4
    assert read["repairs"] == {"none": 2, "unparsable": 1}
    assert [one["status"] for one in read["details"]] == [
        "answered",
        "unparsable",
        "missing",
        "answered",
    ]


def test_errors_as_wrong_counts_them_zero(
    run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    read = scored(capsys, *run, errors_as_wrong=True)
    assert read["overall"]["eco"] == 0.4
    assert set(read["by_instruction"]) == {"1", "2", "3", "5", "6"}
    assert read["complete"] is False


def test_tables_show_published_numbers_and_what_did_not_count(
    run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root, predictions = run
    predictions.write_bytes(predictions.read_bytes() + b'{"video_name": "tor')
    ecog(root, predictions)
    shown = capsys.readouterr().out
    for text in (
        "48.1",
        "Gemini-3-Flash",
        "1 model errors, not counted",
        "failed.mp4: [red]time-out",
        "1 clips without a prediction",
        "data_en/指令6/[no] video.mp4: no video file",
        "unknown.mp4, instruction 5",
        "cut off",
    ):
        assert text in shown


def test_reasons_with_odd_characters_are_printed_on_one_line(
    run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root, predictions = run
    with PredictionLog(predictions) as log:
        reason = "half \ud800 of\na \x1b[31mreason"
        log.append(Prediction(video_name="missing.mp4", instruction=6, error=reason))
    ecog(root, predictions)
    assert "missing.mp4: half ? of a  [31mreason\n" in capsys.readouterr().out
    assert scored(capsys, root, predictions)["errors"][1]["reason"] == reason


def test_tables_take_anything_for_scores() -> None:
    for scores in ({}, {"overall": 5, "by_level": [1], "counts": {"overall": None}}):
        assert {table.name for table in ecog_tables(scores)} >= {"published", "levels"}


def test_every_row_has_a_cell_for_each_column(
    run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ecog_tables(scored(capsys, *run))
    assert [table.name for table in tables] == [
        "published",
        "levels",
        "groups",
        "failures",
        "repairs",
    ]
    for table in tables:
        assert all(len(row.cells) == len(table.columns) for row in table.rows)
    levels = tables[1]
    assert levels.rows[0].cells == (100.0, 0.0, 100.0, 0.0, 50.0)


def test_cells_are_percentages_or_counts() -> None:
    assert [show(cell) for cell in (48.06, 12, 0.0, None)] == ["48.1", "12", "0.0", "–"]


def test_published_levels_average_to_the_published_overall() -> None:
    total = sum(CLIPS_BY_LEVEL.values())
    assert total == 811
    for row in PUBLISHED:
        if row.eco_by_level:
            mean = sum(row.eco_by_level[level] * CLIPS_BY_LEVEL[level] for level in CLIPS_BY_LEVEL)
            assert row.eco == pytest.approx(mean / total, abs=0.06), row.system
    assert ABLATION[0].eco == 48.1
