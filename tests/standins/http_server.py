"""A web server in a thread that answers as a test says: well, slowly, wrongly, or not at all.

It speaks real HTTP/1.1 over a real socket, so that the real client libraries, and programs in other
processes, can be put in front of it. What it answers is made by a function from the exchange; the
protocols of the providers are built on it in the modules beside this one.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that arrived whole; header names are in lower case."""

    number: int
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before what follows, or until the server is closed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the connection here, as a crashed server does (TCP RST)."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection here, before the body is whole."""


Step: TypeAlias = bytes | Pause | Reset | Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is answered.

    Attributes:
        status: HTTP status.
        headers: Beside those that the server sets.
        steps: The body and what happens on the way.
        chunked: Send it in chunks as it comes, as event streams do; otherwise with its length.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    steps: Sequence[Step] = ()
    chunked: bool = False


class HttpStandIn:
    """The server; a context manager.

    Args:
        answer: From a request to what is answered; called in the connection's own thread.

    Attributes:
        asked: All requests, in order of arrival.
        answered: Numbers of the requests whose answer was sent whole.
    """

    def __init__(self, answer: Callable[[Asked], Told]) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.asked: list[Asked] = []
        self.answered: list[int] = []
        self._ended: set[int] = set()
        self._over = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """Where it is, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> HttpStandIn:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def sent_whole(self, numbers: Collection[int]) -> list[int]:
        """Which of the requests ``numbers`` were answered whole.

        A client may hold a whole answer a moment before it counts as sent; that moment is waited
        for.
        """
        with self._over:
            self._over.wait_for(lambda: self._ended.issuperset(numbers), timeout=1.0)
        with self._lock:
            return [number for number in self.answered if number in numbers]

    def _note(self, handler: BaseHTTPRequestHandler, body: bytes) -> Asked:
        parts = urlsplit(handler.path)
        with self._lock:
            asked = Asked(
                number=len(self.asked),
                method=handler.command,
                path=parts.path,
                query=parse_qs(parts.query),
                headers={name.lower(): value for name, value in handler.headers.items()},
                body=body,
            )
            self.asked.append(asked)
        return asked

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def _serve(self) -> None:
                asked = stand_in._note(self, b"".join(_body(self)))
                told = stand_in._answer(asked)
                try:
                    if stand_in._tell(self, told):
                        with stand_in._lock:
                            stand_in.answered.append(asked.number)
                except OSError:
                    self.close_connection = True  # the client went away
                finally:
                    with stand_in._over:
                        stand_in._ended.add(asked.number)
                        stand_in._over.notify_all()

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _serve

        return Handler

    def _tell(self, handler: BaseHTTPRequestHandler, told: Told) -> bool:
        """Send an answer; whether it was sent whole."""
        handler.send_response(told.status)
        for name, value in told.headers.items():
            handler.send_header(name, value)
        if told.chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            length = sum(len(step) for step in told.steps if isinstance(step, bytes))
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        for step in told.steps:
            match step:
                case bytes():
                    framed = b"%x\r\n%s\r\n" % (len(step), step) if told.chunked else step
                    if step:
                        handler.wfile.write(framed)
                        handler.wfile.flush()
                case Pause():
                    if self._closing.wait(step.seconds):
                        handler.close_connection = True
                        return False
                case Reset():
                    linger = struct.pack("ii", 1, 0)
                    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    handler.connection.close()
                    handler.close_connection = True
                    return False
                case Cut():
                    handler.close_connection = True
                    return False
        if told.chunked:
            handler.wfile.write(b"0\r\n\r\n")
        handler.wfile.flush()
        return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that goes away is no news."""


def _body(handler: BaseHTTPRequestHandler) -> Iterator[bytes]:
    if handler.headers.get("Transfer-Encoding", "").lower() != "chunked":
        yield handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        return
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        yield handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
