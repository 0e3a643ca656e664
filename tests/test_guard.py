"""Who may come in."""

from __future__ import annotations

import logging
import logging.config
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.guard import (
    BindError,
    Guard,
    GuardSettings,
    Token,
    check_bind,
    is_local,
    uvicorn_options,
)
from server.guard_log import Damp, log_settings
from tests.guard_maker import SECRET, guard, limits, open_guard, request, token, websocket

BEARER = ("authorization", f"Bearer {SECRET}")


def reason(found: Any) -> str | None:
    return None if found is None else str(found.reason)


def test_this_machine_needs_nothing() -> None:
    check_bind(GuardSettings())
    assert guard().check_http(request("/metrics")) is None
    assert guard().check_websocket(websocket()) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_addresses_are_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])
def test_any_other_address_needs_token_and_tls(host: str) -> None:
    with pytest.raises(BindError, match="token") as caught:
        uvicorn_options(GuardSettings(host=host))
    assert "TLS" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_token_alone_is_not_enough() -> None:
    with pytest.raises(BindError, match=r"needs TLS \(--tls") as caught:
        check_bind(GuardSettings(host="0.0.0.0", token=token()))
    assert SECRET not in str(caught.value)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(BindError, match="no such address"):
        check_bind(GuardSettings(host="no host\x00"))


@pytest.mark.parametrize(
    "secret", ["", "short", "x" * 300, "has a space in the middle", "ümlaut" * 4]
)
def test_a_bad_token_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(ValueError, match="16 to 256") as caught:
        Token(secret)
    assert not secret or secret not in str(caught.value)


def test_made_tokens_differ_and_match_themselves() -> None:
    one, other = Token.made(), Token.made()
    assert one.matches(one.reveal())
    assert not one.matches(other.reveal())


@given(st.one_of(st.none(), st.text(), st.integers(), st.binary()))
def test_nothing_else_matches(candidate: object) -> None:
    assert not token().matches(candidate)


def test_the_token_shows_in_no_repr() -> None:
    settings = GuardSettings(token=token())
    for thing in (settings, settings.token, Guard(settings), Guard(settings).__dict__):
        assert SECRET not in repr(thing)
        assert SECRET not in str(thing)
    with pytest.raises(TypeError, match="not to be pickled"):
        pickle.dumps(token())


def test_the_page_is_public_and_the_rest_is_not() -> None:
    gate = open_guard()
    for path in ("/", "/healthz", "/static/app.js", "/style.css"):
        assert gate.check_http(request(path)) is None
    for path in ("/metrics", "/whip", "/sessions/a/record", "/anything"):
        assert reason(gate.check_http(request(path))) == "token"
        assert gate.check_http(request(path, headers=[BEARER])) is None
    assert reason(gate.check_http(request("/", method="POST"))) == "token"


@pytest.mark.parametrize(
    "value",
    ["", "Bearer", f"Basic {SECRET}", f"Bearer {SECRET}x", f"Bearer {SECRET[:-1]}", "Bearer \xff"],
)
def test_a_wrong_token_is_refused(value: str) -> None:
    found = open_guard().check_http(request("/metrics", headers=[("authorization", value)]))
    assert found is not None
    assert found.status == 401
    assert SECRET not in repr(found)


def test_two_tokens_are_none() -> None:
    assert reason(open_guard().check_http(request("/whip", headers=[BEARER, BEARER]))) == "token"


def test_a_websocket_shows_its_token_in_any_of_three_ways() -> None:
    gate = open_guard()
    assert gate.check_websocket(websocket(headers=[BEARER]), {}) is None
    offered = ["deixis", f"bearer.{SECRET}"]
    assert gate.check_websocket(websocket(subprotocols=offered), {}) is None
    assert gate.check_websocket(websocket(), {"token": SECRET}) is None
    for hello in ({}, {"token": None}, {"token": [SECRET]}, {"token": "x"}):
        assert reason(gate.check_websocket(websocket(), hello)) == "token"


@pytest.mark.parametrize("query", [f"token={SECRET}", f"x={SECRET}", "a=1&access_token=wrong"])
def test_a_token_in_an_address_is_refused_even_if_right(query: str) -> None:
    found = open_guard().check_http(request("/", query=query.encode()))
    assert found is not None
    assert (found.status, found.reason) == (400, "token")


def test_wrong_tokens_make_a_client_wait_but_nobody_else() -> None:
    gate = open_guard(limits=limits(requests=1.0, requests_burst=100.0, wrong_token=30.0))
    found = [reason(gate.check_http(request("/metrics"))) for _ in range(5)]
    assert found == ["token"] * 4 + ["rate"]
    other = request("/metrics", headers=[BEARER], client=("10.0.0.10", 1))
    assert gate.check_http(other) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:9", "localhost:8080", "[::1]:8080"])
def test_own_names_are_answered(host: str) -> None:
    assert guard().check_http(request(host=host)) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "192.0.2.7", "localhost.evil.example", "[::2]"],
)
def test_a_name_that_was_pointed_here_is_refused(host: str) -> None:
    assert reason(guard().check_http(request(host=host))) == "host"
    assert reason(guard().check_websocket(websocket(host=host))) == "host"


@pytest.mark.parametrize("host", [None, "", "a b", "a:b", "a:999999", "a/b", "user@localhost"])
def test_a_host_header_that_is_none_is_refused(host: str | None) -> None:
    assert reason(guard().check_http(request(host=host))) == "host"


def test_two_host_headers_are_refused() -> None:
    assert reason(guard().check_http(request(headers=[("host", "127.0.0.1")]))) == "host"


def test_a_reachable_server_answers_to_addresses_and_given_names_only() -> None:
    gate = open_guard(names=("glasses.example",))
    assert gate.check_http(request(host="192.0.2.7:8080")) is None
    assert gate.check_http(request(host="glasses.example.")) is None
    assert reason(gate.check_http(request(host="evil.example"))) == "host"


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "https://127.0.0.1:8080",
        "http://127.0.0.1",
        "http://127.0.0.1:8081",
        "http://localhost:8080",
        "http://127.0.0.1:8080@evil.example",
        "",
    ],
)
def test_another_origin_is_refused(origin: str) -> None:
    for scope in (request(headers=[("origin", origin)]), websocket(headers=[("origin", origin)])):
        check = guard().check_http if scope["type"] == "http" else guard().check_websocket
        assert reason(check(scope)) == "origin"


def test_the_own_origin_is_let_in() -> None:
    own = [("origin", "http://127.0.0.1:8080")]
    assert guard().check_http(request(method="POST", headers=own)) is None
    assert guard().check_websocket(websocket(headers=own)) is None
    secure = request(
        host="127.0.0.1", scheme="https", headers=[("origin", "https://127.0.0.1:443")]
    )
    assert guard().check_http(secure) is None


def test_an_origin_that_was_given_is_let_in() -> None:
    gate = guard(origins=("https://glasses.example",), names=("glasses.example",))
    scope = websocket(host="glasses.example", headers=[("origin", "https://glasses.example")])
    assert gate.check_websocket(scope) is None


def test_other_sites_may_link_here_but_not_embed() -> None:
    def fetched(site: str, mode: str) -> str | None:
        headers = [("sec-fetch-site", site), ("sec-fetch-mode", mode)]
        return reason(guard().check_http(request(headers=headers)))

    assert fetched("cross-site", "navigate") is None
    assert fetched("same-origin", "cors") is None
    assert fetched("cross-site", "no-cors") == "origin"
    assert fetched("same-site", "no-cors") == "origin"


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ("/static/../../etc/passwd", None),
        ("/static/..", None),
        ("/./static", None),
        ("/static/a\\b", None),
        ("//etc/passwd", None),
        ("/static/a\x00b", b"/static/a%00b"),
        ("/static/a/b", b"/static/a%2Fb"),
        ("/static/../x", b"/static/%2e%2e/x"),
        ("/static/%2e%2e/x", b"/static/%252e%252e/x"),
        ("/a\nb", b"/a%0ab"),
        ("*", None),
    ],
)
def test_no_path_leads_elsewhere(path: str, raw: bytes | None) -> None:
    assert reason(guard().check_http(request(path, raw=raw))) == "path"


@pytest.mark.parametrize("method", ["PUT", "TRACE", "CONNECT", "get", "X" * 99])
def test_other_methods_are_refused(method: str) -> None:
    assert reason(guard().check_http(request(method=method))) == "method"


def test_headers_are_few_and_short() -> None:
    many = [("x", "y")] * 64
    assert reason(guard().check_http(request(headers=many))) == "headers"
    assert reason(guard().check_http(request(headers=[("x", "y" * 20_000)]))) == "headers"


def test_uvicorn_is_told_to_keep_to_it() -> None:
    options = uvicorn_options(GuardSettings(token=token()))
    assert options["access_log"] is False
    assert options["proxy_headers"] is False
    assert options["server_header"] is False
    assert options["ws_per_message_deflate"] is False
    assert SECRET not in repr(options)


def test_the_log_never_shows_the_token(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger("server").handlers[:]
    logging.config.dictConfig(log_settings(token().scrub))
    logger = logging.getLogger("server.test")
    try:
        logger.warning("asked for %s", f"/feed?token={SECRET}")
        try:
            raise ValueError(SECRET)
        except ValueError:
            logger.exception("failed")
    finally:
        for name in ("uvicorn", "server", "asyncio", "websockets"):
            logging.getLogger(name).handlers = []
            logging.getLogger(name).propagate = True
        logging.getLogger("server").handlers = before
    said = capsys.readouterr().err
    assert "asked for /feed?token=…" in said
    assert "ValueError: …" in said
    assert SECRET not in said


def test_the_log_does_not_grow_without_end() -> None:
    damp = Damp(most=3)

    def passed(second: float) -> bool:
        record = logging.LogRecord("x", logging.WARNING, "", 1, "Invalid request", (), None)
        record.created = second
        return damp.filter(record)

    assert [passed(1.0) for _ in range(5)] == [True, True, True, False, False]
    assert passed(61.0)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_is_a_port(port: int) -> None:
    with pytest.raises(ValueError, match="0 to 65535"):
        GuardSettings(port=port)


def test_an_origin_is_an_origin() -> None:
    with pytest.raises(ValueError, match="expected https://host"):
        GuardSettings(origins=("glasses.example",))
