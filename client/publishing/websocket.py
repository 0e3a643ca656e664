"""A stream over a WebSocket (:mod:`server.ws_ingest`, version 1): PCM and JPEGs with times."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import ssl
import struct
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from client.publishing.link import LinkLost, PublishError, fingerprint_context, server_address
from client.publishing.server_clock import ServerClock
from streaming.events import AudioBlock, VideoFrame
from streaming.picture_jpeg import jpeg_of, square_pixels

_VERSION = 1
_SOUND, _PICTURE = 1, 2
_HEAD = struct.Struct(">BQ")
_QUALITY = 85
_WITHIN = 90.0
"""Seconds for the welcome: the server may have to load its models."""
_CONNECT_WITHIN = 10.0
_CLOSED_FOR_GOOD = {1008, 1009, 4400, 4401, 4403, 4429}


def ingest_address(url: str) -> str:
    """``url`` with the path of the WebSocket ingest, if it has none.

    Raises:
        PublishError: If it is no address, or holds a password.
    """
    return server_address(url, path="/ingest")


class WebSocketLink:
    """One connection. See :class:`client.publishing.link.Link`; make it by :func:`open_websocket`.

    Args:
        socket: On which the welcome came.
        name: Of the session.
        side: Larger pictures are scaled down to it, in pixels.
        secret: With which another connection may go on with the session; None if none may.
    """

    def __init__(
        self, socket: ClientConnection, *, name: str, side: int, secret: str | None = None
    ) -> None:
        self.name = name
        self.secret = secret
        self.zero: float | None = None
        self._clock = ServerClock()
        self._socket = socket
        self._side = side
        self._refusal: str | None = None
        self._listening = asyncio.create_task(self._listen())
        self._asking = asyncio.create_task(self._ask())

    @property
    def delay(self) -> float | None:
        return self._clock.delay

    async def send(self, piece: AudioBlock | VideoFrame, *, time: float) -> None:
        if isinstance(piece, AudioBlock):
            kind = _SOUND
            media = (np.clip(piece.samples, -1.0, 1.0) * 32767).astype("<i2").tobytes()
        else:
            kind, media = _PICTURE, await asyncio.to_thread(self._jpeg, piece)
        try:
            await self._socket.send(_HEAD.pack(kind, max(0, round(time * 1e6))) + media)
        except ConnectionClosed as closed:
            raise self._lost(closed) from None

    def _jpeg(self, frame: VideoFrame) -> bytes:
        image = square_pixels(frame.image, pixel_aspect=frame.pixel_aspect, side=self._side)
        return jpeg_of(image, quality=_QUALITY)

    async def close(self) -> None:
        self._asking.cancel()
        with contextlib.suppress(ConnectionClosed, TimeoutError):
            async with asyncio.timeout(_CONNECT_WITHIN):
                await self._socket.send(json.dumps({"type": "end"}))
                await self._socket.wait_closed()
        await self._socket.close()
        self._listening.cancel()
        await asyncio.gather(self._asking, self._listening, return_exceptions=True)

    def _lost(self, closed: ConnectionClosed) -> LinkLost | PublishError:
        code = closed.rcvd.code if closed.rcvd is not None else None
        reason = self._refusal or (closed.rcvd.reason if closed.rcvd is not None else "")
        if self._refusal is not None or code in _CLOSED_FOR_GOOD:
            return PublishError(f"the server ended the stream: {reason or f'code {code}'}")
        return LinkLost(f"the connection was lost ({reason or code or 'no answer'})")

    async def _listen(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for text in self._socket:
                message = _message(text)
                if message.get("type") == "clock":
                    self._clock.take(message)
                    await self._tell_zero()
                elif message.get("type") == "refused":
                    self._refusal = str(message.get("text", ""))[:300]

    async def _ask(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self._socket.send(self._clock.question())
                await asyncio.sleep(self._clock.pause())

    async def _tell_zero(self) -> None:
        told = None if self.zero is None else self._clock.captured(self.zero)
        if told is not None:
            await self._socket.send(told)


class WebSocketWay:
    """Opens connections one after another; each goes on with the session of the one before.

    Args:
        url, token, language, fingerprint, side: As of :func:`open_websocket`.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        language: str = "auto",
        fingerprint: str | None = None,
        side: int = 1280,
    ) -> None:
        self._open = functools.partial(
            open_websocket,
            url,
            token=token,
            language=language,
            fingerprint=fingerprint,
            side=side,
        )
        self._last: WebSocketLink | None = None

    async def __call__(self) -> WebSocketLink:
        self._last = await self._open(before=self._last)
        return self._last


async def open_websocket(
    url: str,
    *,
    token: str | None = None,
    language: str = "auto",
    fingerprint: str | None = None,
    side: int = 1280,
    before: WebSocketLink | None = None,
) -> WebSocketLink:
    """Connect, say hello, and wait for the welcome.

    Args:
        url: ``ws://`` or ``wss://``.
        token: What the server asks for; it is sent inside the connection only.
        language: Spoken language: ``auto``, ``en`` or ``zh``.
        fingerprint: Of the server's own certificate, from
            :func:`~client.publishing.link.plain_fingerprint`; None trusts those of the system.
        side: Larger pictures are scaled down to it.
        before: The connection that broke, whose session this one is to go on with; the server
            begins a new one when it cannot.

    Raises:
        LinkLost: If there is no connection.
        PublishError: If the server refuses.
    """
    address = ingest_address(url)
    secure = address.startswith("wss:")
    if fingerprint is not None and not secure:
        raise PublishError("a fingerprint needs an encrypted address: wss://")
    options: dict[str, Any] = {"ssl": fingerprint_context()} if fingerprint is not None else {}
    try:
        socket = await connect(
            address,
            open_timeout=_CONNECT_WITHIN,
            max_size=1 << 20,
            user_agent_header=None,
            **options,
        )
    except InvalidStatus as error:
        raise PublishError(_refused(error)) from None
    except ssl.SSLCertVerificationError as error:
        raise PublishError(
            f"the server's certificate is not trusted ({error.verify_message}); give the "
            "--fingerprint that it prints"
        ) from None
    except InvalidURI:
        raise PublishError("that is no address of a server; expected ws://HOST:PORT") from None
    except (OSError, TimeoutError, InvalidHandshake, WebSocketException) as error:
        raise LinkLost(_why(error)) from None
    try:
        if fingerprint is not None:
            check_fingerprint(socket, fingerprint)
        welcome = await _greet(socket, _hello(token, language, before))
        secret = welcome.get("secret")
        return WebSocketLink(
            socket,
            name=str(welcome.get("session", ""))[:100],
            side=side,
            secret=secret if isinstance(secret, str) else None,
        )
    except BaseException:
        await socket.close()
        raise


def check_fingerprint(socket: ClientConnection, fingerprint: str) -> None:
    """Before anything secret is sent: is it the server that was meant?

    Raises:
        PublishError: If it is not.
    """
    inner = socket.transport.get_extra_info("ssl_object")
    certificate = inner.getpeercert(binary_form=True) if inner is not None else b""
    if hashlib.sha256(certificate or b"").hexdigest() != fingerprint:
        raise PublishError("the server's certificate has another fingerprint; nothing was sent")


def _hello(token: str | None, language: str, before: WebSocketLink | None) -> dict[str, Any]:
    resume: Any = True
    if before is not None and before.secret is not None:
        resume = {"session": before.name, "secret": before.secret}
    hello = {"type": "hello", "version": _VERSION, "format": "pcm+jpeg", "language": language}
    return {**hello, "resume": resume, **({} if token is None else {"token": token})}


async def _greet(socket: ClientConnection, hello: dict[str, Any]) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_WITHIN):
            await socket.send(json.dumps(hello))
            message = _message(await socket.recv())
    except TimeoutError:
        raise LinkLost(f"no welcome within {_WITHIN:g} s") from None
    except ConnectionClosed as closed:
        code = closed.rcvd.code if closed.rcvd is not None else None
        if code in _CLOSED_FOR_GOOD:
            raise PublishError(f"the server refuses: code {code}") from None
        raise LinkLost("the connection was closed before the welcome") from None
    if message.get("type") == "refused":
        raise PublishError(f"the server refuses: {str(message.get('text', ''))[:300]}")
    if message.get("type") != "welcome":
        raise PublishError("the server does not speak version 1 of this protocol")
    return message


def _message(text: str | bytes) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _refused(error: InvalidStatus) -> str:
    status = error.response.status_code
    body = bytes(error.response.body or b"")[:300].decode("utf-8", "replace").strip()
    advice = "; set DEIXIS_TOKEN" if status in (401, 403) else ""
    return f"the server refuses with {status} {body}".rstrip() + advice


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {_CONNECT_WITHIN:g} s"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"no connection ({reason})"
