"""The command line: one line for every error, and the right exit code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from client.cli import run
from client.printing import printable


def ended(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ended(["--help"], capsys)
    assert code == 0
    for command in ("replay", "bench", "score", "latency", "report", "doctor", "measure", "demo"):
        assert command in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay", "--pace", "slow", "x.mp4"],
        ["replay", "--no-such-option"],
        ["no-such-command"],
        ["bench", "ecog"],
        ["score", "ecog", "only-one"],
        ["replay"],
        ["replay", "x.mp4", "--language", "klingon"],
        ["replay", "x.mp4", "--model", "oracle"],
        ["replay", "x.mp4", "--pace", "realtime", "--audit"],
        ["bench", "ecog", "tree", "--out", "run", "--workers", "0"],
        ["bench", "ecog", "tree", "--out", "run", "--limit", "0"],
        ["bench", "ecog", "tree", "--out", "run", "--limit", "many"],
    ],
)
def test_wrong_use_ends_with_2_and_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = ended(arguments, capsys)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("deixis: ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["bench", "ecog", "no-such-folder", "--out", "run"], "no such folder"),
        (["score", "ecog", "no-such-folder", "p.jsonl"], "no such folder"),
        (["latency", "no-such-run"], "no-such-run"),
        (["report", "no-such-run"], "no-such-run"),
        (["measure", "media", "no-such.mp4"], "no-such.mp4"),
    ],
)
def test_what_cannot_be_done_ends_with_1_and_says_why(
    arguments: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = ended(arguments, capsys)
    assert code == 1
    assert told in " ".join((out + err).split())
    assert "Traceback" not in out + err


def test_folder_with_bad_files_finishes_and_lists_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.mp4").write_bytes(b"no video at all")
    (tmp_path / "b.mp4").write_bytes(b"")
    code, out, _ = ended(
        ["replay", str(tmp_path), "--out", str(tmp_path / "run"), "--json"], capsys
    )
    assert code == 1
    told = json.loads(out)
    assert told["clips"] == []
    assert {Path(one["source"]).stem for one in told["failed"]} == {"a", "b"}
    run_json = json.loads((tmp_path / "run" / "run.json").read_text())
    assert len(run_json["failed"]) == 2


def test_text_that_would_drive_the_terminal_is_escaped() -> None:
    assert printable("a\x1b[31mb\nc\u202e") == "a\\x1b[31mb\\nc\\u202e"
    assert printable("红色") == "红色"
