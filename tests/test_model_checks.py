"""What ``deixis doctor`` says of models behind an API; stand-ins are the servers."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence

import pytest

from client.cli import run
from client.health import Check
from client.model_checks import check_models, configured
from tests.standins.gemini import KEY, GeminiStandIn
from tests.standins.openai_chat import MODEL, OpenAiStandIn

pytestmark = pytest.mark.threads
GEMINI = "gemini:gemini-3-flash"
OPENAI = f"openai:{MODEL}"


@pytest.fixture
def gemini() -> Iterator[GeminiStandIn]:
    with GeminiStandIn() as server:
        yield server


@pytest.fixture
def openai() -> Iterator[OpenAiStandIn]:
    with OpenAiStandIn(key=KEY) as server:
        yield server


@pytest.fixture
def _healthy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("client.commands.doctor.look_over", list)


def states(checks: Sequence[Check]) -> list[tuple[str, str]]:
    assert KEY not in repr(checks)
    return [(check.name, check.state) for check in checks]


def test_only_what_has_a_key_or_a_server_is_looked_for() -> None:
    assert configured({}) == []
    assert configured({"GOOGLE_API_KEY": " "}) == []
    assert configured({"GOOGLE_API_KEY": KEY}) == ["gemini:gemini-flash-latest"]
    assert configured({"OPENAI_BASE_URL": "http://localhost:8000/v1"}) == ["openai:gpt-5-mini"]
    assert configured({"GOOGLE_GEMINI_BASE_URL": "http://localhost:8000"}) == []


async def test_servers_that_answer_are_fine(gemini: GeminiStandIn, openai: OpenAiStandIn) -> None:
    keys = {
        "GEMINI_API_KEY": KEY,
        "OPENAI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.url,
        "OPENAI_BASE_URL": openai.url,
    }
    checks = await check_models([GEMINI, OPENAI, GEMINI], keys, needed=True)
    assert states(checks) == [(GEMINI, "ok"), (OPENAI, "ok")]
    assert checks[0].detail == "Gemini 3 Flash answers, up to 1048576 tokens in, 65536 out"
    assert "is served" in checks[1].detail
    assert sum(gemini.paid.values()) + sum(openai.paid.values()) == 0


@pytest.mark.parametrize(("needed", "state"), [(True, "missing"), (False, "optional")])
async def test_wrong_keys_are_found(
    gemini: GeminiStandIn, openai: OpenAiStandIn, needed: bool, state: str
) -> None:
    secret = "sk-wrong-but-secret"
    keys = {"GOOGLE_API_KEY": secret, "OPENAI_API_KEY": secret}
    checks = [
        *await check_models([GEMINI], keys, base_url=gemini.url, needed=needed),
        *await check_models([OPENAI], keys, base_url=openai.url, needed=needed),
    ]
    assert states(checks) == [(GEMINI, state), (OPENAI, state)]
    assert secret not in repr(checks)
    assert all("key" in check.detail + check.mend for check in checks)
    assert all(check.mend for check in checks)


async def test_no_key_no_server_and_no_such_model_say_what_to_do(gemini: GeminiStandIn) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}"
    keys = {"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    for checks in (
        await check_models([GEMINI, OPENAI], {}, needed=True),
        await check_models([GEMINI, OPENAI], keys, base_url=nowhere, needed=True),
        await check_models(["gemini:gemini-9"], keys, base_url=gemini.url, needed=True),
        await check_models(["local", "gemini:"], keys, needed=True),
    ):
        assert {state for _, state in states(checks)} == {"missing"}
        assert all(check.detail for check in checks)


@pytest.mark.usefixtures("_healthy_machine")
def test_doctor_asks_for_a_model_that_is_named(
    gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    assert run(["doctor", "--model", GEMINI, "--base-url", gemini.url, "--json"]) == 0
    printed = capsys.readouterr().out
    assert KEY not in printed
    (check,) = json.loads(printed)["checks"]
    assert (check["section"], check["name"], check["state"]) == ("models", GEMINI, "ok")
    command = ["doctor", "--model", "gemini:gemini-9", "--model", GEMINI, "--base-url", gemini.url]
    assert run(command) == 1
    assert "not found (404)" in capsys.readouterr().out


@pytest.mark.usefixtures("_healthy_machine")
def test_doctor_is_content_though_a_key_does_not_work(
    gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "wrong")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.url)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert run(["doctor"]) == 0
    assert "the key is not accepted" in capsys.readouterr().out


@pytest.mark.usefixtures("_healthy_machine")
def test_base_url_without_a_model_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--base-url", "http://localhost"]) == 2
    assert "--model" in capsys.readouterr().err
