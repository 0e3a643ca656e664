"""What is said about an error: mendable ones plainly, bugs as bugs."""

from __future__ import annotations

import json

import pytest

from replay.source import SourceError
from streaming.config import ConfigError, config_path
from streaming.failures import is_mendable, leaves, one_line, root_cause


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SourceError("a.mp4: no such file"), "a.mp4: no such file"),
        (ConfigError("two\n  lines"), "two lines"),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "a.txt: no such file"),
        (FileNotFoundError(2, "No such file or directory", b"a\xff"), "a\\xff: no such file"),
        (OSError(28, "No space left on device"), "no space left on device"),
        (OSError("torn"), "torn"),
        (MemoryError(), "not enough memory"),
        (ImportError("libGL.so.1"), "cannot load a library: ImportError: libGL.so.1; see what"),
    ],
)
def test_error_that_a_person_can_mend_is_told_plainly(error: Exception, told: str) -> None:
    assert is_mendable(error)
    assert one_line(error).startswith(told)


@pytest.mark.parametrize(
    "error",
    [
        TypeError("no"),
        ValueError(),
        RuntimeError("x"),
        KeyError(1),
        json.JSONDecodeError("a", "", 0),
    ],
)
def test_anything_else_is_said_to_be_a_bug(error: Exception) -> None:
    assert not is_mendable(error)
    assert one_line(error).startswith(f"internal error, this is a bug: {type(error).__name__}")


def test_bug_says_where_in_our_code_it_was() -> None:
    with pytest.raises(TypeError) as caught:
        config_path(7)  # type: ignore[arg-type]
    assert "(streaming.config, line " in one_line(caught.value)


def test_first_mendable_error_of_a_group_is_the_cause() -> None:
    group = ExceptionGroup(
        "outer", [TypeError("bug"), ExceptionGroup("inner", [SourceError("a.mp4: torn")])]
    )
    assert [type(one) for one in leaves(group)] == [TypeError, SourceError]
    assert one_line(root_cause(group)) == "a.mp4: torn"
    assert str(root_cause(ExceptionGroup("", [TypeError("bug")]))) == "bug"


def test_cause_of_a_failed_import_is_told() -> None:
    outer = ImportError("cannot import the command")
    outer.__cause__ = SyntaxError("a bracket is missing")
    assert one_line(root_cause(outer)).startswith(
        "internal error, this is a bug: SyntaxError: a br"
    )
    outer.__cause__ = ImportError("libGL.so.1")
    assert "libGL.so.1" in one_line(root_cause(outer))
