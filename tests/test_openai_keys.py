"""Keys and addresses of OpenAI-compatible servers: used, and shown nowhere."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator

import pytest

from streaming.grounding_query import ModelError
from streaming.models.openai_chat import OpenAiEndpoint
from tests.openai_asking import KEY, answer_of, endpoint, failure_of, raw, refusal
from tests.standins.openai_chat import (
    MODEL,
    OpenAiStandIn,
)

pytestmark = pytest.mark.threads


@pytest.fixture
def server() -> Iterator[OpenAiStandIn]:
    with OpenAiStandIn() as opened:
        yield opened


async def test_key_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told = refusal(400, {"message": f"you sent {KEY} with {KEY[:12]}***"})
    with OpenAiStandIn(raw(told), key=KEY) as server:
        async with endpoint(server.url, key=KEY) as opened:
            failed = await failure_of(opened)
            line = await opened.check()
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
        async with endpoint(server.url, key="sk-wrongKey999") as refused:
            wrong = await failure_of(refused)
        async with endpoint(server.url) as without:
            missing = await failure_of(without)
    shown = [str(failed), repr(failed), line, repr(opened), str(opened.identity), caplog.text]
    shown += [str(wrong), repr(refused), str(failed.__cause__), str(wrong.__cause__)]
    assert not any(secret in text for text in shown for secret in (KEY, KEY[:12], "wrongKey"))
    assert "the key is not accepted" in str(wrong)
    assert "a key is wanted" in str(missing)


async def test_key_of_the_environment_goes_to_no_other_server(
    server: OpenAiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    async with endpoint(server.url) as opened:
        await answer_of(opened)
        await opened.check()
    assert not any(KEY in value for asked in server.asked for value in asked.headers.values())


async def test_credentials_of_the_url_are_used_and_not_shown(
    server: OpenAiStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = server.url.replace("http://", "http://me:pass%40word@")
    async with endpoint(url + "?version=1") as opened:
        await answer_of(opened)
        line = await opened.check()
    assert opened.identity == {"provider": "openai", "model": MODEL, "server": server.url}
    sent = server.asked[0].headers["authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"me:pass@word"
    assert server.asked[0].query == {"version": ["1"]}
    assert not any(secret in caplog.text + line for secret in ("pass%40word", "pass@word"))


@pytest.mark.parametrize("key", ["sk-1\nX: 2", "ключ-тайна", "two words", " "])
def test_key_that_cannot_be_sent_is_refused_unseen(key: str) -> None:
    with pytest.raises(ModelError) as failed:
        OpenAiEndpoint(MODEL, key=key)
    assert key.strip() == "" or key.strip() not in str(failed.value)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://", "http://h:99999/"])
def test_url_that_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(ModelError, match="expected one such as http://localhost:8000/v1"):
        OpenAiEndpoint(MODEL, key=None, base_url=url)
