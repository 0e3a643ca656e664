"""Prompt files: complete, with known placeholders, and honest about what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streaming.asking.prompts import LANGUAGES, fill, load_prompts, read_prompt
from streaming.config import ConfigError, config_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the project's own prompts."""
    for language in LANGUAGES:
        name = f"prompt.{language}.toml"
        (tmp_path / name).write_bytes(config_path(name).read_bytes())
    return tmp_path


def change(folder: Path, old: str, new: str) -> None:
    path = folder / "prompt.en.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_own_prompts_are_named_by_language_and_version() -> None:
    prompts = load_prompts()
    assert prompts.in_language("en").name == "en/1"
    assert prompts.in_language("zh").name == "zh/1"


def test_variants_of_a_language_and_unknown_ones_have_a_prompt() -> None:
    prompts = load_prompts()
    assert prompts.in_language("zh-Hans").language == "zh"
    assert prompts.in_language("fr").language == "en"


def test_text_that_is_missing_is_named(folder: Path) -> None:
    change(folder, 'unheard = "No words were heard so far."\n', "")
    with pytest.raises(ConfigError, match=r"prompt\.en\.toml: speech: missing key 'unheard'"):
        load_prompts(folder)


def test_text_that_is_unknown_is_named(folder: Path) -> None:
    change(folder, "unheard =", 'unherd = "x"\nunheard =')
    with pytest.raises(ConfigError, match="unknown key 'unherd'; did you mean 'unheard'"):
        load_prompts(folder)


def test_unknown_placeholder_is_named(folder: Path) -> None:
    change(folder, "frame at $time ms without the hand", "frame at $tyme ms without the hand")
    with pytest.raises(ConfigError, match=r"bound\.clear: unknown placeholder \$tyme; known: "):
        load_prompts(folder)


def test_missing_placeholder_is_named(folder: Path) -> None:
    change(folder, "Write points as $order, whole", "Write points as whole")
    with pytest.raises(ConfigError, match=r"system: placeholder \$order is missing"):
        load_prompts(folder)


def test_stray_dollar_sign_is_refused(folder: Path) -> None:
    change(folder, "Things to choose from:", "Things for 5 $ to choose from:")
    with pytest.raises(ConfigError, match=r"options\.objects: a dollar sign names nothing"):
        load_prompts(folder)


def test_empty_text_is_refused(folder: Path) -> None:
    change(folder, '"Things to choose from:"', '" "')
    with pytest.raises(ConfigError, match=r"options\.objects: is empty"):
        load_prompts(folder)


def test_version_counts_from_one(folder: Path) -> None:
    change(folder, "version = 1\n", "version = 0\n")
    with pytest.raises(ConfigError, match="version: expected 1 or more, got 0"):
        load_prompts(folder)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"prompt\.en\.toml: no such file"):
        read_prompt(tmp_path / "prompt.en.toml", language="en")


def test_filling_in_does_not_touch_braces() -> None:
    assert fill('{"point": $order}', order="[y, x]") == '{"point": [y, x]}'
