"""The command line: one line for every error, and the right exit code."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import client.app
from client.cli import run
from client.printing import printable
from tests.standins.openai_chat import OpenAiStandIn


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
        ["bench", "ecog", "tree", "--out", "run", "--model", "scripted:no", "--interface", "video"],
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
    "command",
    [
        ["bench", "ecog", "tree", "--out", "run", "--interface", "frames"],
        ["replay", "x.mp4"],
        ["doctor"],
    ],
)
@pytest.mark.parametrize("url", ["http://me:s3cret@host/v1", "http://host/v1?key=s3cret", "s3cret"])
def test_secret_in_an_address_is_not_repeated(
    command: list[str], url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended([*command, "--model", "openai:x", "--base-url", url], capsys)
    assert code == 2
    assert "the base URL" in err
    assert "s3cret" not in out + err


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


def test_model_that_fails_fails_the_replay_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    clip = next((Path(__file__).parents[1] / "replay" / "clips" / "easy").rglob("en1*.mp4"))
    with OpenAiStandIn() as server:
        arguments = ["replay", str(clip), "--model", "openai:nobody", "--base-url", server.url]
        code, out, _ = ended([*arguments, "--out", str(tmp_path)], capsys)
    assert code == 1
    assert "model failures: 1" in out
    assert "The model `nobody` does not exist." in out


def test_text_that_would_drive_the_terminal_is_escaped() -> None:
    assert printable("a\x1b[31mb\nc\u202e") == "a\\x1b[31mb\\nc\\u202e"
    assert printable("红色") == "红色"


def deixis(*arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "client.cli", *arguments],
        cwd=Path(__file__).parents[1],
        capture_output="stdout" not in more,
        check=False,
        timeout=120,
        **more,
    )


def test_output_that_the_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "红.wav").touch()
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = deixis("replay", str(tmp_path), "--out", str(tmp_path / "run"), env=environment)
    assert ended.returncode == 1
    assert rb"\u7ea2.wav: is empty" in ended.stdout
    assert ended.stderr == b""


def test_reader_who_leaves_is_no_error_to_tell_of() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        ended = deixis("--help", stdout=pipe, stderr=subprocess.PIPE)
    assert ended.returncode == 1
    assert ended.stderr == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_command_in_one_line(number: signal.Signals, tmp_path: Path) -> None:
    # A pipe that nobody writes to keeps ``score`` reading for as long as the test wants.
    os.mkfifo(tmp_path / "predictions.jsonl")
    clips = Path(__file__).parents[1] / "replay" / "clips"
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "client.cli",
                    "score",
                    "ecog",
                    str(clips),
                    "predictions.jsonl",
                ],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
                stderr=subprocess.PIPE,
            )
        )
        # Opening for writing waits until the command has opened it for reading.
        stack.enter_context((tmp_path / "predictions.jsonl").open("wb"))
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert err == b"deixis: interrupted; what was finished is kept\n"


def test_bug_is_told_in_one_line_and_shown_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(arguments: object, **how: object) -> None:
        raise ExceptionGroup("tasks", [TypeError("not a frame")])

    monkeypatch.setattr(client.app, "app", broken)
    code, _, err = ended(["doctor"], capsys)
    assert code == 1
    assert err.count("\n") == 1
    assert "this is a bug: TypeError: not a frame" in err
    monkeypatch.setenv("DEIXIS_DEBUG", "1")
    code, _, err = ended(["doctor"], capsys)
    assert code == 1
    assert "Traceback" in err


@pytest.mark.parametrize("name", ["[x].mp4", "[1]", "{}", "-dash.mp4", ":cat:.mp4", "[/red].mp4"])
def test_odd_names_are_names(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = ended(["replay", f"./{name}", "--out", "run"], capsys)
    assert code == 1
    assert out == f"{name}: no such file; check the path\n"


def first_lines() -> Iterator[tuple[str, str, str]]:
    for group, name, _, summary in client.app.COMMANDS:
        whole = inspect.getdoc(group[name].default_command) or ""
        yield name, summary, whole.partition("\n")[0]


def test_the_list_says_of_a_command_what_its_docstring_begins_with() -> None:
    assert [(name, said) for name, said, _ in first_lines()] == [
        (name, first) for name, _, first in first_lines()
    ]


def test_a_command_s_own_page_shows_all_of_its_docstring(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = ended(["measure", "sync", "--help"], capsys)
    assert code == 0
    assert "The server's endpoint runs in a process of its own" in out
