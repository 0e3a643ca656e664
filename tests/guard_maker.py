"""Requests, WebSockets and guards, made for tests without a network."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.guard import Guard, GuardSettings, Token
from server.limits import Limits
from server.tls import Certificate

SECRET = "0123456789abcdef-secret"


def token() -> Token:
    return Token(SECRET)


def guard(**settings: Any) -> Guard:
    """A guard whose clock stands at 0 until ``guard._clock`` is replaced."""
    return Guard(GuardSettings(**settings), clock=lambda: 0.0)


def open_guard(certificate: Certificate | None = None, **settings: Any) -> Guard:
    """A guard of a server that other machines reach."""
    made = {"host": "0.0.0.0", "token": token(), "certificate": certificate, **settings}
    return Guard(GuardSettings(**made), clock=lambda: 0.0)


def limits(**changed: Any) -> Limits:
    return Limits(**changed)


def request(
    path: str = "/",
    *,
    method: str = "GET",
    host: str | None = "127.0.0.1:8080",
    headers: Iterable[tuple[str, str]] = (),
    raw: bytes | None = None,
    query: bytes = b"",
    scheme: str = "http",
    client: tuple[str, int] | None = ("10.0.0.9", 40000),
) -> Scope:
    own = [("host", host)] if host is not None else []
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": path,
        "raw_path": path.encode() if raw is None else raw,
        "root_path": "",
        "query_string": query,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in [*own, *headers]],
        "client": client,
        "server": ("127.0.0.1", 8080),
    }


def websocket(path: str = "/ingest", *, subprotocols: Iterable[str] = (), **more: Any) -> Scope:
    scope = request(path, scheme=more.pop("scheme", "ws"), **more)
    del scope["method"]
    return {**scope, "type": "websocket", "subprotocols": list(subprotocols), "extensions": {}}


@dataclass(slots=True)
class Wire:
    """What a client sends, one message a step, and what it is sent."""

    coming: list[Message]
    sent: list[Message] = field(default_factory=list)
    wait: Callable[[], Awaitable[None]] | None = None
    end: str = "http.disconnect"

    async def receive(self) -> Message:
        if self.coming:
            return self.coming.pop(0)
        if self.wait is not None:
            await self.wait()
        return {"type": self.end}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return next(int(one["status"]) for one in self.sent if "status" in one)

    @property
    def headers(self) -> dict[str, str]:
        found = next(one["headers"] for one in self.sent if "headers" in one)
        return {name.decode(): value.decode() for name, value in found}

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.sent)

    @property
    def code(self) -> int | None:
        """With which a WebSocket was closed."""
        codes = [one["code"] for one in self.sent if one["type"] == "websocket.close"]
        return codes[0] if codes else None

    @property
    def said(self) -> list[dict[str, Any]]:
        return [json.loads(one["text"]) for one in self.sent if one.get("text") is not None]


def body(*pieces: bytes) -> list[Message]:
    return [
        {"type": "http.request", "body": piece, "more_body": index + 1 < len(pieces)}
        for index, piece in enumerate(pieces)
    ]


def text(said: object) -> Message:
    shown = said if isinstance(said, str) else json.dumps(said)
    return {"type": "websocket.receive", "text": shown}


def binary(content: bytes) -> Message:
    return {"type": "websocket.receive", "bytes": content}


CONNECT: Message = {"type": "websocket.connect"}


def _is_socket(scope: Scope) -> bool:
    return bool(scope["type"] == "websocket")


async def call(app: ASGIApp, scope: Scope, *coming: Message) -> Wire:
    """Let ``app`` answer; afterwards the client is gone."""
    wire = Wire(
        list(coming), end="websocket.disconnect" if _is_socket(scope) else "http.disconnect"
    )
    await app(scope, wire.receive, wire.send)
    return wire


@dataclass(slots=True)
class Echo:
    """An application that answers each request with its body, and each message with its size."""

    bodies: list[bytes] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._talk(receive, send)
            return
        whole, more = b"", True
        while more:
            message = await receive()
            whole += message.get("body", b"")
            more = message.get("more_body", False)
        self.bodies.append(whole)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": whole})

    async def _talk(self, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            self.messages.append(message)
            await send({"type": "websocket.send", "text": json.dumps(len(self.messages))})
