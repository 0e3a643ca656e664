"""The guide to adding a benchmark says what is so."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
TINY = (ROOT / "tests" / "tiny_benchmark.py").read_text(encoding="utf-8")


def test_a_whole_benchmark_takes_fewer_than_150_lines() -> None:
    lines = len(TINY.splitlines())
    assert lines < 150
    assert f"in {lines} lines" in GUIDE


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:tests|replay|client)/[\w/.]+)`", GUIDE)))
)
def test_files_that_the_guide_names_are_there(path: str) -> None:
    assert (ROOT / path).is_file()


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:replay|streaming|client)\.[\w.]+)", GUIDE)))
)
def test_names_that_the_guide_uses_can_be_imported(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


def test_parts_are_told_with_the_fields_that_they_have() -> None:
    for module, kind in (
        ("replay.benchmark", "Question"),
        ("replay.benchmark", "Item"),
        ("replay.benchmark", "Outcome"),
        ("replay.answers", "Answer"),
    ):
        told = re.search(rf"\*\*`{kind}\(([^)]*)\)`\*\*", GUIDE)
        fields = importlib.import_module(module).__dict__[kind].__dataclass_fields__
        assert told is None or set(told[1].split(", ")) <= set(fields)
