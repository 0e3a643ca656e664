"""Cells, and matrix files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.asking.cells import Cell, read_matrix
from streaming.asking.endpoint import Generation
from streaming.config import ConfigError, config_path


def cells(tmp_path: Path, text: str) -> tuple[Cell, ...]:
    path = tmp_path / "matrix.toml"
    path.write_text(text)
    return read_matrix(path)


def test_every_model_meets_every_interface(tmp_path: Path) -> None:
    made = cells(
        tmp_path,
        """
        model = ["gemini:flash", "gemini:pro"]
        max_tokens = 100
        [[run]]
        interface = ["video", "bound"]
        [[run]]
        model = "openai:qwen/vl"
        base_url = "http://localhost:8000/v1"
        interface = "frames"
        when = ["model", "binder"]
        thinking_budget = 0
        [[run]]
        model = "local"
        """,
    )
    assert [cell.name for cell in made] == [
        "gemini-flash_video_max_tokens-100",
        "gemini-flash_bound_max_tokens-100",
        "gemini-pro_video_max_tokens-100",
        "gemini-pro_bound_max_tokens-100",
        "openai-qwen-vl_frames_max_tokens-100_thinking_budget-0",
        "openai-qwen-vl_frames_binder_max_tokens-100_thinking_budget-0",
        "local",
    ]
    assert made[4].base_url == "http://localhost:8000/v1"
    assert made[4].generation == Generation(max_tokens=100, thinking_budget=0)


def test_a_cell_named_twice_is_run_once(tmp_path: Path) -> None:
    text = '[[run]]\nmodel = "gemini:x"\ninterface = ["video", "video"]\n'
    assert len(cells(tmp_path, text)) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no model"),
        ("[[run]]\ninterface = 'video'", "has no model"),
        ("[[run]]\nmodel = 'gemini:x'", "gemini:x has no interface"),
        ("[[run]]\nmodel = 'gemini:x'\ninterface = 'audio'", "interface 'audio' is not one of"),
        ("[[run]]\nmodel = 'gemini:x'\ninterfaces = 'video'", "did you mean 'interface'"),
        ("[[run]]\nmodel = 3\ninterface = 'video'", "model"),
        ("run = 3", "run"),
        ("[[run]]\nmodel='gemini:x'\ninterface='bound'\nasr='benchmark'", "which are ours"),
        ("[[run]]\nmodel='gemini:x'\ninterface='video'\ntemperature=9", "temperature 9"),
        (
            "[[run]]\nmodel='openai:x'\ninterface='frames'\nbase_url='http://a/v1'\n"
            "[[run]]\nmodel='openai:x'\ninterface='frames'\nbase_url='http://b/v1'",
            "openai:x at http://a/v1 and openai:x at http://b/v1 would share a folder",
        ),
        (
            "[[run]]\nmodel=['openai:a/b', 'openai:a-b']\ninterface='frames'",
            "openai:a-b would share",
        ),
        ("[[run]]\nmodel='gemini:x'\ninterface='video'\nwhen=[]", "empty list for when"),
        ("[[run]]\nmodel='gemini:x'\ninterface='video'\nthinking_budget=-1", "budget -1"),
        ("[[run]]\nmodel='openai:x'\ninterface='frames'\nbase_url='http://h:99999'", "no http://"),
        (
            "[[run]]\nmodel='openai:x'\ninterface='frames'\nbase_url='http://u:p@h/v1'",
            "holds a user",
        ),
        ("[[run", "no TOML"),
    ],
)
def test_a_matrix_that_cannot_be_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        cells(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml"):
        read_matrix(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("cell", "words", "watched"),
    [
        ({"interface": "video"}, "none", False),
        ({"interface": "frames"}, "benchmark", False),
        ({"interface": "frames+asr"}, "benchmark", False),
        ({"interface": "frames+asr", "words": "ours"}, "ours", True),
        ({"interface": "frames+asr", "when": "binder"}, "benchmark", True),
        ({"interface": "bound"}, "ours", True),
    ],
)
def test_words_and_eyes_follow_from_what_was_chosen(
    cell: dict[str, Any], words: str, watched: bool
) -> None:
    made = Cell(model="gemini:x", **cell)
    assert (made.words_from, made.is_watched) == (words, watched)


def test_names_tell_apart_what_a_person_chose() -> None:
    plain = Cell(model="gemini:x", interface="frames+asr")
    others = [
        Cell(model="gemini:y", interface="frames+asr"),
        Cell(model="gemini:x", interface="frames"),
        Cell(model="gemini:x", interface="frames+asr", words="ours"),
        Cell(model="gemini:x", interface="frames+asr", when="binder"),
        Cell(model="gemini:x", interface="frames+asr", coord_order="xy"),
        Cell(model="gemini:x", interface="frames+asr", generation=Generation(temperature=1.0)),
    ]
    assert len({cell.name for cell in (plain, *others)}) == 7


@pytest.mark.parametrize("letter", ["a", "名", "\ud800"])
def test_any_name_of_a_model_can_be_that_of_a_folder(tmp_path: Path, letter: str) -> None:
    made = [Cell(model=f"openai:{letter * 400}{end}", interface="frames") for end in "xy"]
    assert made[0].name != made[1].name
    for cell in made:
        (tmp_path / f"{cell.name}.json.part").mkdir()


@pytest.mark.parametrize("more", [{"interface": "bound"}, {"words": "benchmark"}])
def test_the_local_model_has_no_interface(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="sees and hears for itself"):
        Cell(model="local", **more)


@pytest.mark.parametrize(
    ("table", "count"),
    [("table2", 3), ("table3", 8), ("table4", 3)],
)
def test_the_shipped_matrices_are_those_of_the_paper(table: str, count: int) -> None:
    assert len(read_matrix(config_path(f"matrix_{table}.toml"))) == count
