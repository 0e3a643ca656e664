"""A server for the web page: it keeps what it is sent, and tells a prepared session."""

from __future__ import annotations

import asyncio
import json
import struct
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from client.web_files import CONTENT_TYPES, web_folder
from server.guard_middleware import HEADERS

HEAD = struct.Struct(">BQ")


@dataclass(slots=True)
class Taken:
    """What one client sent.

    Attributes:
        media: ``(kind, microseconds, payload)`` in order.
    """

    hello: dict[str, Any]
    media: list[tuple[int, int, bytes]] = field(default_factory=list)
    ended: bool = False

    def of(self, kind: int) -> list[tuple[int, int, bytes]]:
        return [one for one in self.media if one[0] == kind]


class PageServer:
    """Serves the page and one session after the other.

    Args:
        lines: The session's events; each is sent at its ``emitted_at`` over ``speed``.
        speed: 1 for real time.

    Attributes:
        token: Needed when not empty.
        refusal: Said to every client instead of a welcome when not empty.
        taken: What each welcomed client sent.
        recording: What the record switch was last set to; it is told in the feed as well.
    """

    def __init__(self, lines: Sequence[dict[str, Any]] = (), *, speed: float = 1.0) -> None:
        self.lines = list(lines)
        self.speed = speed
        self.token = ""
        self.refusal = ""
        self.taken: list[Taken] = []
        self.recording: bool | None = None
        self.asked: list[str] = []
        self.port = 0
        self._open: set[WebSocket] = set()
        self._began: dict[str, float] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self._told_to: set[WebSocket] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def last(self) -> Taken:
        return self.taken[-1]

    def cut(self) -> None:
        """Close every WebSocket, as a lost network does."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(5)

    def say(self, *lines: dict[str, Any]) -> None:
        """Tell every reader something beside the prepared lines; there is one, or soon will be."""
        assert self._loop is not None
        until = time.monotonic() + 20
        while not self._told_to and time.monotonic() < until:
            time.sleep(0.01)
        asyncio.run_coroutine_threadsafe(self._say(*lines), self._loop).result(5)

    async def _say(self, *lines: dict[str, Any]) -> None:
        for socket in list(self._told_to):
            with suppress(RuntimeError):
                for line in lines:
                    await socket.send_text(json.dumps(line))

    async def _cut(self) -> None:
        for socket in list(self._open):
            with suppress(RuntimeError):
                await socket.close(1012)

    @contextmanager
    def running(self) -> Iterator[PageServer]:
        """Serve on a free port of this machine, in a thread."""
        routes = [
            WebSocketRoute("/ingest", self._ingest),
            WebSocketRoute("/feed/{session}", self._feed),
            Route("/sessions/{session}/record", self._record, methods=["POST"]),
            Route("/whip", lambda request: Response(status_code=204), methods=["OPTIONS"]),
            Route("/{path:path}", self._file, methods=["GET"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), port=0, log_level="critical", ws="websockets-sansio"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            self.port = server.servers[0].sockets[0].getsockname()[1]
            yield self
        finally:
            server.force_exit = server.should_exit = True
            thread.join()

    async def _file(self, request: Request) -> Response:
        path = request.path_params["path"].removeprefix("static/") or "index.html"
        self.asked.append(path)
        file = web_folder() / path
        if file.parent != web_folder() or not file.is_file():
            return Response(status_code=404)
        headers = {name.decode(): value.decode() for name, value in HEADERS}
        return Response(file.read_bytes(), 200, headers, CONTENT_TYPES[file.suffix])

    async def _record(self, request: Request) -> Response:
        self.recording = (await request.json())["on"]
        await self._say({"type": "Recording", "on": self.recording, "name": "5e55"})
        return JSONResponse({"on": self.recording})

    async def _ingest(self, socket: WebSocket) -> None:
        self._loop = asyncio.get_running_loop()
        await socket.accept()
        self._open.add(socket)
        with suppress(WebSocketDisconnect, RuntimeError):
            await self._take(socket)
        self._open.discard(socket)

    async def _take(self, socket: WebSocket) -> None:
        hello = await socket.receive_json()
        refusal = self.refusal
        if self.token and hello.get("token") != self.token:
            refusal = "a token is needed, or this one is wrong"
        if refusal:
            await socket.send_json({"type": "refused", "text": refusal})
            await socket.close(4400)
            return
        name = f"session{len(self.taken)}"
        self.taken.append(Taken(hello=hello))
        self._began[name], self._ended[name] = time.monotonic(), asyncio.Event()
        await socket.send_json({"type": "welcome", "session": name, "feed": f"/feed/{name}"})
        await self._listen(socket, name, self.last)

    async def _listen(self, socket: WebSocket, name: str, taken: Taken) -> None:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if message.get("bytes"):
                kind, microseconds = HEAD.unpack_from(message["bytes"])
                taken.media.append((kind, microseconds, message["bytes"][HEAD.size :]))
                continue
            said = json.loads(message["text"])
            if said["type"] == "clock":
                now = 1000 * (time.monotonic() - self._began[name])
                await socket.send_json({"type": "clock", "sent": said["sent"], "server": now})
            elif said["type"] == "end":
                taken.ended = True
                self._ended[name].set()
                await socket.close(1000)
                return

    async def _feed(self, socket: WebSocket) -> None:
        await socket.accept()
        self._open.add(socket)
        name = socket.path_params["session"]
        if name not in self._began:
            await socket.close(4404, "there is no such session, or it has ended")
            return
        asking = asyncio.create_task(self._answer_clock(socket, name))
        with suppress(WebSocketDisconnect, RuntimeError):
            async for line in self._told(name):
                await socket.send_text(json.dumps(line))
                self._told_to.add(socket)
            await socket.close(1000)
        asking.cancel()
        self._open.discard(socket)
        self._told_to.discard(socket)

    async def _answer_clock(self, socket: WebSocket, name: str) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            while True:
                said = await socket.receive_json()
                if said["type"] == "clock":
                    now = 1000 * (time.monotonic() - self._began[name])
                    await socket.send_json({"type": "clock", "sent": said["sent"], "server": now})

    async def _told(self, name: str) -> AsyncIterator[dict[str, Any]]:
        """The state so far, then the rest at its time; the last line when the client ended."""
        past = self._passed(name)
        events = [line for line in self.lines if "emitted_at" in line]
        kept = [one for one in events if one["emitted_at"] <= past]
        yield {"type": "State", "session": name, "lines": kept}
        for line in events[len(kept) :]:
            await asyncio.sleep(max(0.0, line["emitted_at"] - self._passed(name)) / self.speed)
            yield line
        await self._ended[name].wait()
        yield {"type": "End", "complete": True, "counters": {}, "wall": {}}

    def _passed(self, name: str) -> float:
        return (time.monotonic() - self._began[name]) * self.speed
