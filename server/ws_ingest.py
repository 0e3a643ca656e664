"""``WS /ingest``: sound and pictures over a WebSocket, where WebRTC cannot pass. Version 1.

The client says ``{"type": "hello", "version": 1, "format": "pcm+jpeg" | "webm", "language":
"auto" | "en" | "zh", "token"?: …}`` and gets ``{"type": "welcome", "session", "feed", "limits"}``
or ``{"type": "refused", "text"}``. With ``"resume": true`` in its hello it gets a ``secret`` as
well: when its connection breaks, its session waits for ``resume_within`` seconds, and a hello with
``"resume": {"session", "secret"}`` goes on with it, if the welcome says ``"resumed": true``; its
times then begin anew. Otherwise a new session begins. Then come binary messages:

====== =====================================================================================
bytes
====== =====================================================================================
1      kind: 1 sound (PCM16, little endian, mono, 16 kHz), 2 a JPEG, 3 a piece of WebM
8      capture time, microseconds since the client's start, big endian; one clock for both
rest   the media
====== =====================================================================================

``{"type": "clock", "sent": ms}`` is answered with the session's time as ``server``, and with a
clock that is never set as ``steady``, in milliseconds; ``{"type": "captured", "zero": ms, "within":
ms}`` says when the client's capture time 0 was on the latter; ``{"type": "end"}`` ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from starlette.websockets import WebSocket, WebSocketDisconnect

from server.feed_socket import NOT_ADMITTED, answer_clock, refuse
from server.hub import Hub, HubFull
from server.journey import JourneyError
from server.jpeg import JpegError
from server.jpeg_inbox import JpegInbox
from server.live_session import LiveSession
from server.metrics import Metrics
from server.resumption import Placed, Resumption
from server.settings import ServerSettings
from server.webm import WebmReader
from streaming.build import LanguageError, language_code
from streaming.events import SAMPLE_RATE, Seconds

if TYPE_CHECKING:
    from server.app import Gate

VERSION = 1
SOUND, PICTURE, WEBM = 1, 2, 3
HEAD = struct.Struct(">BQ")
FORMATS = ("pcm+jpeg", "webm")
REFUSED, FULL, BAD_MESSAGE, TOO_BIG, REPLACED = 4400, 4429, 4400, 1009, 4409
_MOST_BROKEN = 100


class ProtocolError(ValueError):
    """A client does not keep to the protocol. The text is for its author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """The client wants to be able to come back; with a session and its secret, it does so."""

    session: str = ""
    secret: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The client's first message."""

    format: str
    language: str
    token: str | None = None
    resume: Resume | None = None


def read_hello(text: str | None) -> Hello:
    """Read the first message.

    Raises:
        ProtocolError: If it is none.
    """
    message = read_message(text)
    if message.get("type") != "hello":
        raise ProtocolError('the first message is {"type": "hello", …}')
    if message.get("version") != VERSION:
        raise ProtocolError(f"this server speaks version {VERSION} of the protocol")
    if message.get("format") not in FORMATS:
        raise ProtocolError(f"format is one of {', '.join(FORMATS)}")
    token = message.get("token")
    if token is not None and not isinstance(token, str):
        raise ProtocolError("token is a text")
    try:
        language = language_code(str(message.get("language", "auto"))[:20])
    except LanguageError as error:
        raise ProtocolError(str(error)) from error
    resume = _read_resume(message.get("resume"))
    return Hello(format=message["format"], language=language, token=token, resume=resume)


def _read_resume(wanted: Any) -> Resume | None:
    if wanted is None or wanted is False:
        return None
    if wanted is True:
        return Resume()
    session, secret = (
        (wanted.get("session"), wanted.get("secret")) if isinstance(wanted, dict) else (None, None)
    )
    if not isinstance(session, str) or not isinstance(secret, str):
        raise ProtocolError('resume is true, or {"session", "secret"} of a welcome')
    return Resume(session=session, secret=secret)


def read_message(text: str | None) -> dict[str, Any]:
    """Read a JSON message.

    Raises:
        ProtocolError: If it is no JSON object.
    """
    if text is None:
        raise ProtocolError("expected a text message")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a text message is a JSON object") from error
    if not isinstance(message, dict):
        raise ProtocolError("a text message is a JSON object")
    return message


def read_media(message: bytes) -> tuple[int, Seconds, bytes]:
    """Kind, capture time and media of a binary message.

    Raises:
        ProtocolError: If it is too short, or of no kind.
    """
    if len(message) <= HEAD.size:
        raise ProtocolError(f"a message of {len(message)} bytes, expected more than {HEAD.size}")
    kind, microseconds = HEAD.unpack_from(message)
    if kind not in (SOUND, PICTURE, WEBM):
        raise ProtocolError(f"kind {kind}, expected 1, 2 or 3")
    return kind, microseconds / 1e6, message[HEAD.size :]


def pcm_samples(media: bytes) -> NDArray[np.float32]:
    """PCM16 as float32 in -1...1, shape ``(1, n)``.

    Raises:
        ProtocolError: If a sample is cut through.
    """
    if len(media) % 2:
        raise ProtocolError(f"{len(media)} bytes of sound, expected whole samples of two")
    return (np.frombuffer(media, dtype="<i2").astype(np.float32) / 32768.0)[np.newaxis]


class IngestSocket:
    """A session for each client."""

    def __init__(self, hub: Hub, guard: Gate, settings: ServerSettings) -> None:
        self._hub = hub
        self._guard = guard
        self._limits = settings.websocket
        self._resumption = Resumption(hub, within=self._limits.resume_within)

    async def serve(self, socket: WebSocket) -> None:
        """One client from start to end; its session goes on until it has worked off the rest."""
        try:
            await socket.accept()
            begun = await self._begin(socket)
        except (WebSocketDisconnect, OSError):
            return  # left before it began
        if begun is None:
            return
        client = _Client(socket, begun, pixels=self._limits.pixels, metrics=self._hub.metrics)
        self._resumption.attach(begun.session, client.let_go)
        reason = None
        try:
            reason = await client.listen(self._limits.message_bytes)
        except (WebSocketDisconnect, OSError):
            pass
        finally:
            await client.end()
            self._ended(client, begun.session, reason)

    def _ended(self, client: _Client, session: LiveSession, reason: str | None) -> None:
        """The connection is over; ``reason`` is None when it broke."""
        if client.replaced or (reason is None and self._resumption.left(session, client.let_go)):
            return
        self._resumption.forget(session)
        session.ingest.close(reason or "the connection broke")

    async def _begin(self, socket: WebSocket) -> _Begun | None:
        try:
            async with asyncio.timeout(self._limits.hello_within):
                hello = read_hello(await _text(socket))
        except TimeoutError:
            await refuse(socket, "no first message came", code=REFUSED)
            return None
        except ProtocolError as error:
            await refuse(socket, str(error), code=REFUSED)
            return None
        if not self._guard.admits(hello.token):
            await refuse(socket, "a token is needed, or this one is wrong", code=NOT_ADMITTED)
            return None
        wanted = hello.resume
        resumed = wanted and self._resumption.resume(wanted.session, wanted.secret)
        try:
            session = resumed or await self._open(hello.language)
        except HubFull as error:
            await refuse(socket, str(error), code=FULL)
            return None
        begun = _Begun(session=session, hello=hello, resumed=resumed is not None)
        try:
            await self._welcome(socket, begun)
        except BaseException:
            if not self._resumption.left(session):
                session.ingest.close("the client left before it began")
            raise
        return begun if session.source.closed is None else None

    async def _open(self, language: str) -> LiveSession:
        """A new session; one whose client is gone makes room for it.

        Raises:
            HubFull: If there is no room.
        """
        try:
            return self._hub.open("websocket", language=language)
        except HubFull:
            if not await self._resumption.make_room():
                raise
        return self._hub.open("websocket", language=language)

    async def _welcome(self, socket: WebSocket, begun: _Begun) -> None:
        session = begun.session
        try:
            async with asyncio.timeout(self._limits.started_within):
                await session.started()
        except (RuntimeError, TimeoutError) as error:
            session.ingest.close("it could not begin")
            await refuse(socket, str(error) or "the models are not ready", code=1011)
            return
        welcome: dict[str, Any] = {
            "type": "welcome",
            "session": session.id,
            "feed": f"/feed/{session.id}",
            "limits": {"message_bytes": self._limits.message_bytes, "pixels": self._limits.pixels},
        }
        if begun.hello.resume is not None:
            welcome["resumed"] = begun.resumed
            welcome["secret"] = self._resumption.keep(session)
            welcome["resume_within"] = self._resumption.within
        await socket.send_text(json.dumps(welcome))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A client that is let in, and its session."""

    session: LiveSession
    hello: Hello
    resumed: bool


class _Client:
    """One client that has been welcomed."""

    def __init__(
        self,
        socket: WebSocket,
        begun: _Begun,
        *,
        pixels: int,
        metrics: Metrics,
    ) -> None:
        self.replaced = False
        self._metrics = metrics
        self._socket = socket
        self._session = begun.session
        self._placed = Placed(begun.session, anew=begun.resumed)
        self._webm = WebmReader(self._placed) if begun.hello.format == "webm" else None
        self._pictures = JpegInbox(begun.session, pixels=pixels, broken=self._break)
        self._broken = 0
        self._broken_by = ""
        self._letting_go: asyncio.Task[None] | None = None

    def let_go(self) -> None:
        """Another connection goes on with the session: this one is over."""
        self.replaced = True
        self._letting_go = asyncio.create_task(self._close_replaced())

    async def _close_replaced(self) -> None:
        with contextlib.suppress(WebSocketDisconnect, OSError, RuntimeError):
            await self._socket.close(REPLACED, reason="another connection goes on with it")

    async def listen(self, most: int) -> str | None:
        """Take messages until the end, and return why it is the end; None if the client is gone."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect" or self.replaced:
                return "the client left" if message.get("code") == 1000 else None
            if self._broken >= _MOST_BROKEN:
                await refuse(self._socket, self._broken_by, code=BAD_MESSAGE)
                return "the client does not keep to the protocol"
            if self._session.source.closed is not None:
                await self._socket.close(1000, reason=self._session.source.closed[:120])
                return "closed"
            try:
                media = message.get("bytes")
                if media is None:
                    if await self._command(read_message(message.get("text"))):
                        await self._socket.close(1000)
                        return "the client ended it"
                elif len(media) > most:
                    await refuse(self._socket, f"more than {most} bytes", code=TOO_BIG)
                    return "a message was too big"
                else:
                    await self._take(*read_media(media))
            except (ProtocolError, JourneyError) as error:
                self._break(error)

    def _break(self, error: ProtocolError | JourneyError | JpegError) -> None:
        """Note a message that says nothing usable."""
        self._broken += 1
        self._broken_by = str(error)
        self._session.ingest.note("broken_packet", self._broken_by)

    async def end(self) -> None:
        """Work off what this connection brought."""
        await self._pictures.finish()
        if self._webm is not None:
            await asyncio.to_thread(self._webm.close)

    async def _command(self, message: dict[str, Any]) -> bool:
        """Do what a text message says; True when it is the end."""
        if await answer_clock(self._socket, self._session, message):
            return False
        if message.get("type") != "end":
            raise ProtocolError("type is clock, captured or end")
        return True

    async def _take(self, kind: int, time: Seconds, media: bytes) -> None:
        session, arrived = self._session, self._session.journey.now()
        self._metrics.received("websocket", "block" if kind == SOUND else "frame", len(media))
        if (kind == WEBM) != (self._webm is not None):
            raise ProtocolError(f"kind {kind} is not of the format that was agreed on")
        if self._webm is not None:
            await asyncio.to_thread(self._webm.push, media)
        elif kind == SOUND:
            samples = pcm_samples(media)
            end = time + samples.shape[1] / SAMPLE_RATE
            self._placed.sound(samples, rate=SAMPLE_RATE, time=time)
            placed = self._placed.place(end, end=end)
            session.journey.came("sound", time=placed, taken=end, arrived=arrived)
        else:
            placed = self._placed.place(time, end=time)
            self._pictures.put(media, placed=placed, taken=time, arrived=arrived)


async def _text(socket: WebSocket) -> str | None:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1006))
    text: str | None = message.get("text")
    return text
