"""The page of a matrix of runs: what it says, and that nothing in a folder can take it over."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from client.cli import run as run_command
from replay.report.matrix_page import build_matrix_report
from replay.scoring.bootstrap import Resampling
from replay.scoring.cells import open_matrix
from tests.matrix_maker import CELLS, FLASH, MadeCell, make_matrix, write_cell
from tests.test_report import EVIL, Outline

QUICK = Resampling(resamples=200)


def page_of(folder: Path) -> str:
    return build_matrix_report(open_matrix(folder), how=QUICK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_matrix(tmp_path_factory.mktemp("matrix") / "night", clips=36)
    (made / CELLS[0].name / "report.html").write_text("its own")
    return made


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return page_of(folder)


def plot(page: str, measure: str) -> str:
    found = re.search(rf'plot-of-{measure}"(.*?)plot-axis', page, re.S)
    assert found is not None
    return found.group(1)


def test_page_names_models_prompts_machine_and_cost(page: str) -> None:
    text = Outline(page).text
    for part in (
        "EcoG-Bench", "night", "gemini-3-flash-preview, gemini-3-pro, qwen3-vl-8b", "en/1, zh/1",
        "Imaginary CPU @ 2.5 GHz, 2 cores", "11 of 12", "over all runs",
    ):  # fmt: skip
        assert part in text


def test_every_run_has_a_dot_on_each_measure(page: str) -> None:
    for measure in ("eco", "seq", "t", "s", "cls"):
        assert plot(page, measure).count('class="dot"') == len(CELLS)


def test_plot_shows_what_the_scores_say(folder: Path, page: str) -> None:
    shown = re.findall(r'class="plot-value"><b>([\d.]+)</b>', plot(page, "eco"))
    scores = [
        json.loads((folder / cell.name / "scores.json").read_text())["overall"]["eco"]
        for cell in CELLS
    ]
    assert shown == [f"{100 * score:.1f}" for score in scores]


def test_published_numbers_are_marks_of_the_same_model_and_interface(page: str) -> None:
    assert re.findall(r'class="stated" style="left: ([\d.]+)%', plot(page, "eco")) == [
        "7.00", "48.10", "17.00", "42.90", "8.80"
    ]  # fmt: skip
    assert "best published 48.1" in page
    assert "people 96.9" in page


def test_gain_at_the_top_is_of_the_best_runs_model(page: str) -> None:
    text = Outline(page).text
    assert "gemini-3-flash-preview, frames+asr → bound" in text


def test_whose_words_and_whose_when_are_told(page: str) -> None:
    rows = plot(page, "eco")
    assert "our words, our when" in rows
    assert "benchmark’s words" in rows


def test_incomplete_runs_are_marked_and_said(page: str) -> None:
    assert "gemini-3-pro_frames+asr_benchmark is incomplete (3 missing, 2 failed)" in page
    assert 'title="3 missing, 2 failed">incomplete<' in plot(page, "eco")
    assert "811 clips: compare them with a run over all of these only" in page


def test_failures_of_each_run_add_up_to_all_referents(page: str) -> None:
    bars = re.findall(r'class="failure-bar" role="img" aria-label="([^"]*)"', page)
    assert len(bars) == len(CELLS)
    # Six types of instruction have 13 referents; of the two failed clips one has 2, one has 3.
    totals = [sum(int(count) for count in re.findall(r"(\d+)(?:,|$)", bar)) for bar in bars]
    assert set(totals) == {6 * 13, 6 * 13 - 5}


def test_tables_are_those_of_the_exports(page: str) -> None:
    for name in ("table2_all", "table3_interfaces", "table4_ablation", "usage", "latency"):
        assert f"table-{name}" in page


def test_runs_with_a_report_of_their_own_are_linked(page: str) -> None:
    links = {dict(attributes).get("href") for tag, attributes in Outline(page).tags if tag == "a"}
    reports = {link for link in links if link and link.endswith("report.html")}
    assert reports == {f"{CELLS[0].name}/report.html".replace("+", "%2B")}


def test_page_needs_nothing_from_elsewhere(page: str) -> None:
    assert "default-src 'none'" in html.unescape(page)
    for tag, attributes in Outline(page).tags:
        assert "src" not in attributes, tag
        href = attributes.get("href") or ""
        assert not re.match(r"[a-z]+:|//", href) or href == "data:,"


def test_texts_of_a_folder_stay_texts(tmp_path: Path) -> None:
    folder = make_matrix(tmp_path / "night", (MadeCell(model=FLASH, interface="video"),), clips=12)
    stated = json.loads((folder / "matrix.json").read_text())
    stated["cells"][0] |= {
        "model": EVIL, "interface": EVIL, "words": EVIL, "when": EVIL, "prompt": EVIL,
        "counters": {EVIL: 3}, "errors": {EVIL: 1},
    }  # fmt: skip
    stated["benchmark"] = {"name": EVIL, "root": EVIL}
    stated["machine"] = {"cpu": EVIL}
    (folder / "matrix.json").write_text(json.dumps(stated))
    outline = Outline(page_of(folder))
    tags = [tag for tag, _ in outline.tags]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert "alert(1)" in outline.text


def test_folder_without_a_scored_run_says_so(tmp_path: Path) -> None:
    folder = make_matrix(tmp_path / "night", CELLS[:2], clips=12)
    for cell in CELLS[:2]:
        (folder / cell.name / "scores.json").unlink()
    text = Outline(page_of(folder)).text
    assert "No run of this folder is scored yet." in text
    assert "0 of 2" in text


def test_damaged_numbers_draw_nothing_wide(tmp_path: Path) -> None:
    folder = make_matrix(tmp_path / "night", CELLS[:1], clips=12)
    stated = json.loads((folder / "matrix.json").read_text())
    stated["cells"][0] |= {"usage": 7, "cost": "x", "model_seconds": [None, -1, "3"]}
    (folder / "matrix.json").write_text(json.dumps(stated))
    assert "plot-of-eco" in page_of(folder)


def test_command_writes_the_page_of_a_matrix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_matrix(tmp_path / "night", CELLS[:2], clips=12)
    assert run_command(["report", str(folder), "--cells"]) == 0
    for path in (folder, *(folder / cell.name for cell in CELLS[:2])):
        assert (path / "report.html").read_text().startswith("<!doctype html>")
    assert capsys.readouterr().out.count("report: ") == 3
    assert f"{CELLS[0].name}/report.html" in (folder / "report.html").read_text()
    assert run_command(["report", str(folder / CELLS[0].name), "--cells"]) == 2
    assert "--cells is for a matrix folder" in capsys.readouterr().err


def test_report_of_one_run_says_what_was_asked_and_how_sure_it_is(tmp_path: Path) -> None:
    facts = {
        "model": FLASH, "interface": "bound", "words": "ours", "when": "binder",
        "usage": {"sent": 1200, "cached": 0, "written": 34, "thought": 0}, "cost": 0.5,
    }  # fmt: skip
    folder = write_cell(tmp_path / "cell", CELLS[6], facts, clips=36)
    assert run_command(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    text = Outline(page).text
    for part in ("interface bound", "words ours", "when ours", "1 200 sent, 34 written", "$0.50"):
        assert part in text
    assert len(re.findall(r'class="tile-ends"[^>]*>95 %: \[[\d.]+, [\d.]+\]', page)) == 5
