"""Settings files: nested, typed, and honest about what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from streaming.build import (
    EngineSettings,
    LanguageError,
    describe_settings,
    language_code,
    read_settings,
)
from streaming.config import ConfigError, build, config_path, load


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    width: float = 1.0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    count: int
    inner: Inner = field(default_factory=Inner)
    mode: Literal["fast", "slow"] = "fast"
    limit: float | None = None
    rates: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError(f"count is {self.count}, expected 0 or more")


def test_nested_tables_become_nested_settings() -> None:
    made = build(
        Outer,
        {"count": 2, "inner": {"width": 3, "names": ["a"]}, "limit": 4, "rates": {"x": 1}},
        where="test",
    )
    assert made == Outer(count=2, inner=Inner(width=3.0, names=("a",)), limit=4.0, rates={"x": 1.0})
    assert isinstance(made.inner.width, float)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"count": 1, "iner": {}}, "test: unknown key 'iner'; did you mean 'inner'?"),
        ({"count": "1"}, "test: count: expected int, got '1'"),
        ({"count": True}, "test: count: expected int, got True"),
        ({"count": 1, "mode": "medium"}, "test: mode: 'medium' is not one of 'fast', 'slow'"),
        ({"count": 1, "inner": 3}, "test: inner: expected a table, got 3"),
        ({"count": 1, "inner": {"wide": 1.0}}, "test: inner: unknown key 'wide'; did you mean"),
        ({"count": -1}, "test: count is -1, expected 0 or more"),
        ({}, "test: missing key 'count'"),
    ],
)
def test_wrong_settings_are_named(values: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Outer, dict(values), where="test")
    assert told in str(caught.value)


def test_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("a = = 1")
    with pytest.raises(ConfigError, match=r"broken\.toml"):
        load(Outer, path)


def test_settings_file_that_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match=r"nothing\.toml"):
        config_path("nothing.toml")


def test_shipped_settings_read_and_can_be_recorded() -> None:
    assert read_settings(mirrored=True).hands.mirrored
    recorded = describe_settings(EngineSettings())
    assert {"engine", "vad", "transcript", "hands", "strokes", "binding"} <= set(recorded)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("en", "en"),
        ("ZH", "zh"),
        ("zh-Hans", "zh"),
        ("zh_TW", "zh"),
        ("cmn", "zh"),
        ("auto", "auto"),
    ],
)
def test_language_names_that_people_type(name: str, code: str) -> None:
    assert language_code(name) == code


def test_unknown_language_is_refused() -> None:
    with pytest.raises(LanguageError, match="'klingon' is not known; use en, zh or auto"):
        language_code("klingon")
