"""A live server that hears clicks, sees flashes and writes down when they were.

A process of its own: ``python -m replay.measure.sync_server OUT --jitter S --loss SHARE``. It says
``open http://HOST:PORT/`` when it listens, and at the end of each session ``ended: REASON``. Lines
of JSON in OUT: ``{"click": s}``, ``{"flash": s}``, ``{"note": [kind, text]}`` and at the end
``{"counters": {name: n}}``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from replay.measure.rough_network import RoughNetwork
from replay.measure.sync import Onsets
from replay.measure.sync_page import PAGE
from server.hub import HubFull
from server.whip import WhipEndpoint
from streaming.events import Seconds


class _Listening:
    """An ingest that only writes down onsets."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self._write = write
        self._onsets = Onsets()

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: Seconds) -> None:
        at = self._onsets.click(samples, rate=rate, time=time)
        if at is not None:
            self._write({"click": round(at, 5)})

    def picture(
        self, image: NDArray[np.uint8], *, time: Seconds, pixel_aspect: float = 1.0
    ) -> None:
        at = self._onsets.flash(image, time=time)
        if at is not None:
            self._write({"flash": round(at, 5)})

    def note(self, kind: str, text: str) -> None:
        self._write({"note": [kind, text]})

    def close(self, reason: str) -> None:
        print(f"ended: {reason}", flush=True)


class _OneSession:
    """The session, which is ready at once."""

    id = "sync"

    def __init__(self, ingest: _Listening) -> None:
        self.ingest = ingest

    async def started(self) -> None:
        return


class _OneHub:
    """Has one session, once."""

    def __init__(self, ingest: _Listening) -> None:
        self._ingest = ingest
        self._session: _OneSession | None = None

    def open(self, kind: str, *, language: str) -> _OneSession:
        if self._session is not None:
            raise HubFull("this server listens to one stream, once")
        self._session = _OneSession(self._ingest)
        return self._session

    def get(self, name: str) -> _OneSession | None:
        return self._session


class _Server(uvicorn.Server):
    """Says where it listens."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            print(f"open http://{host}:{port}/", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--jitter", type=float, default=0.0)
    parser.add_argument("--loss", type=float, default=0.0)
    asked = parser.parse_args()
    network = RoughNetwork(jitter=asked.jitter, loss=asked.loss)
    if asked.jitter or asked.loss:
        network.install()

    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse(PAGE)

    async def said(request: Request) -> HTMLResponse:
        print("page:", " ".join((await request.body()).decode("utf-8", "replace").split())[:300])
        return HTMLResponse("", status_code=204)

    with asked.out.open("w", encoding="utf-8", buffering=1) as out:

        def write(line: dict[str, Any]) -> None:
            out.write(json.dumps(line) + "\n")

        endpoint = WhipEndpoint(_OneHub(_Listening(write)))
        routes = [Route("/", page), Route("/said", said, methods=["POST"]), *endpoint.routes()]

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            yield
            await endpoint.aclose()
            write({"counters": {"network_lost": network.lost}})

        app = Starlette(routes=routes, lifespan=lifespan)
        _Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")).run()


if __name__ == "__main__":
    main()
