"""``deixis compare``: runs against each other on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from client.cli import run as run_command
from tests.matrix_maker import CELLS, make_matrix

VIDEO, FRAMES_ASR = CELLS[0].name, CELLS[2].name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_matrix(tmp_path_factory.mktemp("matrix") / "night", CELLS[:3], clips=30)


def test_two_runs_are_compared_clip_by_clip(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["compare", str(folder / VIDEO), str(folder / FRAMES_ASR), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["against"] == VIDEO
    (pair,) = found["comparisons"]
    assert (pair["run"], pair["clips"], pair["only_first"]) == (FRAMES_ASR, 30, 0)
    eco = pair["differences"]["eco"]
    before, after = (run["scores"]["eco"]["value"] for run in found["runs"])
    assert eco["value"] == pytest.approx(after - before)
    assert eco["low"] <= eco["value"] <= eco["high"]
    assert eco["p"] == eco["p_corrected"]
    assert eco["better"] > eco["worse"]


def test_matrix_stands_for_all_of_its_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["compare", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in found["runs"]] == [cell.name for cell in CELLS[:3]]
    assert len(found["comparisons"]) == 2


def test_matrix_alone_prints_and_exports_the_papers_tables(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["compare", str(folder), "--export", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "Table 3: gain from one interface to the next" in said
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert {"table2_eco.tex", "table3_interfaces.csv", "comparison.md"} <= names
    assert str(len(names)) in said


def test_by_referent_weighs_clips(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(folder / VIDEO), str(folder / FRAMES_ASR)]
    values = []
    for options in ([], ["--by-referent"]):
        assert run_command(["compare", *runs, "--json", *options]) == 0
        values.append(json.loads(capsys.readouterr().out)["runs"][0]["scores"]["t"]["value"])
    scores = json.loads((folder / VIDEO / "scores.json").read_text())
    assert values == pytest.approx(
        [scores["overall"]["t"], scores["overall_referent_weighted"]["t"]]
    )


def test_damaged_cell_is_named_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = make_matrix(tmp_path, CELLS[:3], clips=12)
    (matrix / VIDEO / "scores.json").write_text("[]")
    assert run_command(["compare", str(matrix), "--json"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)["runs"]) == 2
    assert f"{VIDEO}: no scored clip, left out" in said.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([VIDEO], 2, "a single run; name another one"),
        ([VIDEO, "absent"], 1, "give a run folder of deixis bench, or a matrix folder"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    assert run_command(["compare", *(str(folder / name) for name in arguments)]) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]


def test_runs_without_a_common_clip_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_matrix(tmp_path, CELLS[:1], clips=6) / VIDEO
    scores = json.loads((other / "scores.json").read_text())
    for one in (*scores["clips"], *scores["details"]):
        one["video_name"] += "x"
    (other / "scores.json").write_text(json.dumps(scores))
    assert run_command(["compare", str(folder / VIDEO), str(other)]) == 1
    assert "no run has a clip in common" in capsys.readouterr().err
