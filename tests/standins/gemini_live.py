"""A live server in a thread that speaks Gemini's BidiGenerateContent, well or badly.

Real TLS and real WebSockets, so that the real client library can be put in front of it. It is as
strict as the real one about what it is sent, answers each question as the test says, lets itself be
interrupted, and keeps what it was told by handle, as far as it honours handles.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import itertools
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

KEY = "key-of-the-tests"
PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

Fault: TypeAlias = Literal["none", "cut", "malformed", "unknown", "list", "silence", "close"]
"""What happens after the pieces of an answer, in place of its end. ``unknown`` sends a message of a
kind that no client knows, and goes on; ``list`` sends JSON that is no object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How one question is answered.

    Attributes:
        pieces: Of the text.
        pause: Seconds before each piece.
        spoken: As speech with its transcription, which ends after the generation.
        fault: See :data:`Fault`.
        code, why: Of the closing, with ``close``.
        reason: Why the turn ended, if it is named.
        deaf: Is not to be interrupted.
        ends_after: Seconds between the last of its text and the end of its turn, with the cost.
        go_away: Seconds left, said before the first piece; then the connection is cut.
    """

    pieces: tuple[str, ...] = ()
    pause: float = 0.0
    spoken: bool = False
    fault: Fault = "none"
    code: int = 1011
    why: str = "Internal error encountered."
    reason: str = ""
    deaf: bool = False
    ends_after: float = 0.0
    go_away: float | None = None


@dataclass(slots=True)
class Heard:
    """One connection and what came over it."""

    key: str
    path: str
    setup: dict[str, Any]
    messages: list[dict[str, Any]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    sound: bytes = b""
    pictures: list[bytes] = field(default_factory=list)
    interrupted: int = 0
    active: bool = False
    ends_at: float | None = None

    @property
    def handle(self) -> str | None:
        """What it was told to go on from."""
        handle: str | None = self.setup.get("sessionResumption", {}).get("handle")
        return handle

    @property
    def detects_speech(self) -> bool:
        detection = self.setup.get("realtimeInputConfig", {}).get("automaticActivityDetection", {})
        return not detection.get("disabled", False)


class GeminiLiveStandIn:
    """The server; a context manager.

    Args:
        said: How the questions are answered, in order over all connections; the last one repeats.
        folder: Where its certificate goes.
        refuse: Code and reason with which every session is refused.
        handles: Gives handles.
        honours: Takes them; otherwise a session with one is refused.

    Attributes:
        connections: In order.
        certificate: File to trust it by.
    """

    def __init__(
        self,
        *said: Said,
        folder: Path,
        refuse: tuple[int, str] | None = None,
        handles: bool = True,
        honours: bool = True,
    ) -> None:
        self._said = iter(itertools.chain(said, itertools.repeat(said[-1])) if said else ())
        self._refuse = refuse
        self._handles = handles
        self._honours = honours
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._kept: dict[str, list[str]] = {}
        self.connections: list[Heard] = []
        self.certificate = certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self._server: Server = serve(self._talk, "127.0.0.1", 0, ssl=context)
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def __enter__(self) -> GeminiLiveStandIn:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()

    def _talk(self, line: ServerConnection) -> None:
        try:
            heard = self._welcome(line)
            while heard is not None:
                message = self._next(line, heard)
                while message is not None and _asks(message, heard):
                    message = self._answer(line, heard)
        except (ConnectionClosed, OSError, EOFError):
            return

    def _welcome(self, line: ServerConnection) -> Heard | None:
        assert line.request is not None
        setup = camel(json.loads(line.recv(timeout=5)))["setup"]
        heard = Heard(
            key=line.request.headers.get("x-goog-api-key", ""), path=line.request.path, setup=setup
        )
        with self._lock:
            self.connections.append(heard)
        if heard.key != KEY:
            line.close(1008, f"API key not valid. Please pass a valid API key. {heard.key}")
            return None
        if self._refuse is not None:
            line.close(*self._refuse)
            return None
        if heard.handle is not None:
            if not self._honours or heard.handle not in self._kept:
                line.close(1008, "BidiGenerateContent session not found")
                return None
            heard.known = list(self._kept[heard.handle])
        send(line, {"setupComplete": {}})
        self._give_handle(line, heard)
        return heard

    def _give_handle(self, line: ServerConnection, heard: Heard) -> None:
        if self._handles and "sessionResumption" in heard.setup:
            with self._lock:
                handle = f"handle-{len(self._kept)}"
                self._kept[handle] = list(heard.known)
            send(line, {"sessionResumptionUpdate": {"newHandle": handle, "resumable": True}})

    def _next(
        self, line: ServerConnection, heard: Heard, *, within: float | None = None
    ) -> dict[str, Any] | None:
        """The next message; None when none came in time."""
        until = None if within is None else time.monotonic() + within
        while not self._closing.is_set():
            left = 0.02 if until is None else min(0.02, until - time.monotonic())
            if until is not None and left <= 0:
                return None
            if heard.ends_at is not None and time.monotonic() >= heard.ends_at:
                cut(line)
            try:
                message: dict[str, Any] = camel(json.loads(line.recv(timeout=left)))
            except TimeoutError:
                continue
            self._take(line, heard, message)
            return message
        line.close()
        raise EOFError

    def _take(self, line: ServerConnection, heard: Heard, message: dict[str, Any]) -> None:
        heard.messages.append(message)
        wrong = _wrong_with(message, heard)
        if wrong:
            line.close(1007, wrong)
            raise EOFError
        realtime = message.get("realtimeInput", {})
        if "audio" in realtime:
            heard.sound += base64.urlsafe_b64decode(realtime["audio"]["data"])
        if "video" in realtime:
            heard.pictures.append(base64.urlsafe_b64decode(realtime["video"]["data"]))
        if "text" in realtime:
            heard.known.append(realtime["text"])
        for turn in message.get("clientContent", {}).get("turns", []):
            heard.known += [part["text"] for part in turn["parts"]]

    def _answer(self, line: ServerConnection, heard: Heard) -> dict[str, Any] | None:
        """Answer one question; the message that interrupted the answer, if one did."""
        with self._lock:
            said = next(self._said)
        if said.go_away is not None:
            send(line, {"goAway": {"timeLeft": f"{said.go_away:g}s"}})
            heard.ends_at = time.monotonic() + said.go_away
        for piece in said.pieces:
            if said.deaf:
                self._closing.wait(said.pause)
                interruption = None
            else:
                interruption = self._pause(line, heard, said.pause)
            if interruption is not None:
                return interruption
            for message in _piece(piece, spoken=said.spoken):
                send(line, message)
        if said.fault == "silence":
            return self._pause(line, heard, None)
        if said.fault == "close":
            line.close(said.code, said.why)
            raise EOFError
        if said.fault == "cut":
            cut(line)
        if said.fault in _ODD:
            line.send(_ODD[said.fault])
        for message in _end(said):
            if "usageMetadata" in message:
                self._closing.wait(said.ends_after)
            send(line, message)
        self._give_handle(line, heard)
        return None

    def _pause(
        self, line: ServerConnection, heard: Heard, seconds: float | None
    ) -> dict[str, Any] | None:
        """Wait, but listen; what interrupts ends the turn."""
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            left = None if until is None else until - time.monotonic()
            message = self._next(line, heard, within=left)
            if message is not None and _interrupts(message):
                heard.interrupted += 1
                send(line, {"serverContent": {"interrupted": True}})
                send(line, {"serverContent": {"turnComplete": True}})
                return message
        return None


_ODD: dict[str, bytes] = {
    "malformed": b'{"serverContent": {"modelTurn": ',
    "list": b"[1, 2]",
    "unknown": b'{"weather": {"sky": "blue"}}',
}


def _piece(text: str, *, spoken: bool) -> Iterator[dict[str, Any]]:
    if not spoken:
        yield {"serverContent": {"modelTurn": {"parts": [{"text": text}]}}}
        return
    speech = {"mimeType": "audio/pcm;rate=24000", "data": base64.b64encode(b"\0\0" * 24).decode()}
    yield {"serverContent": {"modelTurn": {"parts": [{"inlineData": speech}]}}}
    yield {"serverContent": {"outputTranscription": {"text": text}}}


def _end(said: Said) -> Iterator[dict[str, Any]]:
    yield {"serverContent": {"generationComplete": True}}
    if said.spoken:
        yield {"serverContent": {"outputTranscription": {"text": "", "finished": True}}}
    content: dict[str, Any] = {"turnComplete": True}
    if said.reason:
        content["turnCompleteReason"] = said.reason
    usage = {"promptTokenCount": 120, "responseTokenCount": 30, "totalTokenCount": 150}
    yield {"serverContent": content, "usageMetadata": usage}


def every_message() -> list[dict[str, Any]]:
    """One of each kind that the server may send."""
    return [
        {"setupComplete": {}},
        {"sessionResumptionUpdate": {"newHandle": "handle-0", "resumable": True}},
        {"goAway": {"timeLeft": "9.5s"}},
        {"serverContent": {"interrupted": True}},
        *_piece("hello", spoken=False),
        *_piece("hello", spoken=True),
        *_end(Said(spoken=True, reason="RESPONSE_REJECTED")),
    ]


def _asks(message: dict[str, Any], heard: Heard) -> bool:
    realtime = message.get("realtimeInput", {})
    if "activityEnd" in realtime or ("text" in realtime and heard.detects_speech):
        return True
    return bool(message.get("clientContent", {}).get("turnComplete", False))


def _interrupts(message: dict[str, Any]) -> bool:
    realtime = message.get("realtimeInput", {})
    return "clientContent" in message or "activityStart" in realtime or "text" in realtime


def _wrong_with(message: dict[str, Any], heard: Heard) -> str:
    """What a strict server has against a message, or nothing."""
    if len(message) != 1 or not set(message) <= {"realtimeInput", "clientContent"}:
        return f"Unknown message {sorted(message)}"
    realtime = message.get("realtimeInput", {})
    known = {"audio", "video", "text", "activityStart", "activityEnd"}
    if not set(realtime) <= known:
        return f"Unknown input {sorted(realtime)}"
    if realtime.get("audio", {}).get("mimeType", "audio/pcm;rate=16000") != "audio/pcm;rate=16000":
        return "Unsupported sound"
    if realtime.get("video", {}).get("mimeType", "image/jpeg") != "image/jpeg":
        return "Unsupported picture"
    if "activityStart" in realtime or "activityEnd" in realtime:
        if heard.detects_speech:
            return "Explicit activity control is not supported"
        if heard.active == ("activityStart" in realtime):
            return "Activity starts twice, or ends before it starts"
        heard.active = not heard.active
    return ""


def send(line: ServerConnection, message: dict[str, Any]) -> None:
    """As the real server does, in a binary frame."""
    line.send(json.dumps(message).encode())


def cut(line: ServerConnection) -> None:
    """Break the connection without a word."""
    line.socket.shutdown(socket.SHUT_RDWR)
    raise EOFError


def camel(value: Any) -> Any:
    """Keys as the protocol writes them: the client library sends both spellings."""
    if isinstance(value, dict):
        return {_camel(key): camel(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [camel(inner) for inner in value]
    return value


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(part.capitalize() for part in rest)


def certificate(folder: Path) -> Path:
    """A key and a certificate of its own for 127.0.0.1, good for a day, in one PEM file."""
    path = folder / "standin.pem"
    if path.exists():
        return path
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stand-in")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(pem + made.public_bytes(serialization.Encoding.PEM))
    return path
