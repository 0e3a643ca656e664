"""``deixis serve`` in this very program, with a pretended pipeline."""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

import client.commands.serve as command
from client.usage import UsageError
from server.guard import BindError
from tests.pretend_pipeline import PretendEngines

CLIP = next((Path(__file__).parents[1] / "replay/clips/easy/data_en/指令3").glob("*.mp4"))


@pytest.fixture(autouse=True)
def _pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "Engines", lambda settings: PretendEngines())
    monkeypatch.delenv(command.TOKEN_VARIABLE, raising=False)


@pytest.fixture
def _ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if somebody ended it the moment that it tells its address."""
    announce = command._announce

    def then_end(*arguments: Any) -> None:
        announce(*arguments)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(command, "_announce", then_end)


@pytest.mark.usefixtures("_ended_at_once")
def test_it_tells_its_address_and_ends_cleanly(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.serve(port=0) == 0
    said = capsys.readouterr().out
    assert re.search(r"open http://127\.0\.0\.1:\d+/", said)
    assert said.rstrip().endswith("ended")
    assert "token" not in said


@pytest.mark.usefixtures("_ended_at_once")
def test_a_token_that_was_made_is_printed_and_a_given_one_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command.serve(port=0, token=True)
    assert re.search(r"token: \S{20,}", capsys.readouterr().out)
    monkeypatch.setenv(command.TOKEN_VARIABLE, "a-secret-of-my-own")
    command.serve(port=0)
    assert "a-secret-of-my-own" not in capsys.readouterr().out


@pytest.mark.usefixtures("_ended_at_once")
def test_a_source_gets_a_session_whose_page_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.serve(port=0, source=(str(CLIP),)) == 0
    assert re.search(
        rf"{CLIP.name}: http://127\.0\.0\.1:\d+/#session=\S{{20,}}", capsys.readouterr().out
    )


def test_another_address_needs_a_token_and_tls() -> None:
    with pytest.raises(BindError, match="needs a token"):
        command.serve(host="0.0.0.0")


def test_a_certificate_needs_its_key() -> None:
    with pytest.raises(UsageError, match="--cert and --key"):
        command.serve(cert=Path("certificate.pem"))


def test_a_source_that_is_none_is_refused_before_anything_is_served() -> None:
    with pytest.raises(ValueError, match="gopher"):
        command.serve(port=0, source=("gopher://example.org/x",))


def test_a_port_in_use_is_refused_before_models_are_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BindError, match=rf"127\.0\.0\.1:{port} cannot be served .*--port"):
            command.serve(port=port)
    assert "loading" not in capsys.readouterr().out


def test_a_folder_that_takes_no_recordings_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(command.RecordingsError, match="cannot take recordings"):
        command.serve(port=0, record=True, recordings=file)
