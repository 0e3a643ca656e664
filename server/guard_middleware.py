"""The guard applied: every request and message passes here before the application sees it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from server.limits import MessageBudget, Refusal, body_length
from streaming.events import Seconds

if TYPE_CHECKING:
    from server.guard import Guard

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"permissions-policy",
        b"camera=(self), microphone=(self), autoplay=(self), fullscreen=(self), "
        b"screen-wake-lock=(self), display-capture=(self), geolocation=(), payment=(), usb=(), "
        b"serial=(), midi=()",
    ),
)
"""On every answer. No Strict-Transport-Security: with a self-made certificate it would lock people
out of whatever else this host serves."""

_DENIAL = "websocket.http.response"


class SocketClosedError(OSError):
    """The guard closed a WebSocket; to the application its client is gone."""


class GuardMiddleware:
    """Refuses what the guard refuses, and holds the rest to its limits."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._guard.forget()
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            self._guard.forget()
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _with_headers(message.get("headers", ()))}
            await send(message)

        refusal = self._guard.check_http(scope)
        body: bytes | None = None
        if refusal is None:
            if self._guard.check_token(scope):
                self._guard.admit()
            body, refusal = await self._body(scope, receive)
        if refusal is not None:
            await self._refuse(refusal, protected)
        elif body is not None:
            await self._app(scope, _Replay(body, receive), protected)

    async def _body(self, scope: Scope, receive: Receive) -> tuple[bytes | None, Refusal | None]:
        """A request's whole body, or why it is not taken; neither if its client left."""
        limits = self._guard.limits
        try:
            length = body_length(dict(scope["headers"]))
        except ValueError as error:
            return None, Refusal(status=400, reason="body", text=str(error))
        if length == 0:
            return b"", None
        body = bytearray()
        more = length is None or length <= limits.body
        try:
            async with asyncio.timeout(limits.body_seconds):
                while more and len(body) <= limits.body:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None, None
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            text = f"the body took more than {limits.body_seconds:g} s"
            return None, Refusal(status=408, reason="slow", text=text)
        if len(body) > limits.body or (length or 0) > limits.body:
            text = f"a body of more than {limits.body} bytes"
            return None, Refusal(status=413, reason="body", text=text)
        return bytes(body), None

    async def _refuse(self, refusal: Refusal, send: Send, *, kind: str = "http.response") -> None:
        self._guard.metrics.refused(refusal.reason)
        body = f"{refusal.text}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),  # what is left of the request is not worth reading
            *refusal.headers,
        ]
        await send({"type": f"{kind}.start", "status": refusal.status, "headers": headers})
        await send({"type": f"{kind}.body", "body": body, "more_body": False})

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._guard.check_websocket(scope)
        if refusal is None and self._open >= self._guard.limits.sockets:
            refusal = Refusal(status=503, reason="sockets", text="too many WebSockets are open")
        if refusal is not None:
            await self._deny(refusal, scope, receive, send)
            return
        self._open += 1
        try:
            socket = _Socket(self._guard, scope, receive, send)
            await self._app(scope, socket.receive, socket.send)
        except (OSError, WebSocketDisconnect):
            if not socket.closed:  # otherwise it is only how the application took the closing
                raise
        finally:
            self._open -= 1

    async def _deny(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        if (await receive())["type"] != "websocket.connect":
            return
        if _DENIAL in scope.get("extensions", {}):

            async def protected(message: Message) -> None:
                if message["type"] == f"{_DENIAL}.start":
                    message = {**message, "headers": _with_headers(message["headers"])}
                await send(message)

            await self._refuse(refusal, protected, kind=_DENIAL)
        else:
            self._guard.metrics.refused(refusal.reason)
            await send({"type": "websocket.close", "code": refusal.close_code})


class _Replay:
    """Gives a body that was already read, then whatever follows."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _Socket:
    """One WebSocket between its client and the application.

    Where a token is needed and no header carries it, the first message must: it is read and
    checked before the application may send anything, and is then given to it as if just come.
    """

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        from server.guard import TALKING

        self.closed = False
        self._guard = guard
        self._scope = scope
        self._receive = receive
        self._send = send
        self._talks = scope["path"] in TALKING
        self._budget = MessageBudget(guard.limits, now=guard.now())
        self._heard = False
        self._kept: Message | None = None

    async def receive(self) -> Message:
        """The next message of the client, when the limits allow."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        if self.closed:
            return {"type": "websocket.disconnect", "code": 1006}
        return await self._next()

    async def send(self, message: Message) -> None:
        """Send for the application.

        Raises:
            SocketClosedError: If the guard closed the WebSocket.
        """
        if self.closed:
            raise SocketClosedError("closed by the guard")
        if message["type"] != "websocket.accept":
            await self._send(message)
            return
        await self._send(self._accepting(message))
        if self._guard.check_websocket(self._scope, {}) is None:
            self._guard.admit()
        else:
            await self._await_token()

    def _accepting(self, message: Message) -> Message:
        from server.guard import SUBPROTOCOL

        offered = self._scope.get("subprotocols", ())
        if SUBPROTOCOL in offered and not message.get("subprotocol"):
            message = {**message, "subprotocol": SUBPROTOCOL}
        return {**message, "headers": _with_headers(message.get("headers", ()))}

    async def _await_token(self) -> None:
        first = await self._next()
        if first["type"] != "websocket.receive":
            self.closed = True
            raise SocketClosedError("the client left")
        refusal = self._guard.check_websocket(self._scope, _hello(first))
        if refusal is not None:
            await self._close(refusal)
            raise SocketClosedError("closed by the guard")
        self._guard.admit()
        self._kept = first

    async def _next(self) -> Message:
        """The next message, or a disconnection after the guard closed."""
        try:
            async with asyncio.timeout(self._patience()):
                message = await self._receive()
        except TimeoutError:
            if self._heard:
                text = "nothing came for too long"
                return await self._close(Refusal(status=408, reason="idle", text=text))
            text = "no first message came"
            return await self._close(Refusal(status=408, reason="hello", text=text))
        if message["type"] != "websocket.receive":
            return message
        self._heard = True
        size = _size(message)
        if size > self._most(message):
            text = f"a message of more than {self._most(message)} bytes"
            return await self._close(Refusal(status=413, reason="message", text=text))
        wait = self._budget.spend(size, now=self._guard.now())
        if wait > 0:
            # Not refused: whoever was cut off may catch up, but no faster than we can take it.
            self._guard.metrics.slowed()
            await asyncio.sleep(wait)
        return message

    def _patience(self) -> Seconds | None:
        limits = self._guard.limits
        if self._heard:
            return limits.idle_seconds if self._talks else None
        waits = self._talks or not self._guard.admits(None)
        return limits.hello_seconds if waits else None

    def _most(self, message: Message) -> int:
        limits = self._guard.limits
        media = self._talks and message.get("text") is None and self._guard.admits(None)
        return limits.message if media else limits.words

    async def _close(self, refusal: Refusal) -> Message:
        """Say why and close; to the application the client has left."""
        self.closed = True
        self._guard.metrics.refused(refusal.reason)
        said = json.dumps({"type": "refused", "text": refusal.text})
        code = refusal.close_code
        with contextlib.suppress(OSError):  # the client may be gone already
            await self._send({"type": "websocket.send", "text": said})
            await self._send({"type": "websocket.close", "code": code, "reason": refusal.text})
        return {"type": "websocket.disconnect", "code": code, "reason": refusal.text}


def _with_headers(own: Any) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, with those that it lacks of :data:`HEADERS`."""
    headers = list(own)
    named = {bytes(name).lower() for name, _ in headers}
    return headers + [(name, value) for name, value in HEADERS if name not in named]


def _size(message: Message) -> int:
    text = message.get("text")
    return (
        len(text.encode("utf-8", "replace"))
        if text is not None
        else len(message.get("bytes") or b"")
    )


def _hello(message: Message) -> dict[str, Any]:
    """The JSON object in a message; an empty one if there is none."""
    text = message.get("text")
    try:
        said = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
