"""The web application: which address leads where.

Ways in and out stand in modules of their own; each has a function that makes its routes.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

import client
from server.feed_socket import FeedSocket
from server.hub import Hub
from server.settings import ServerSettings
from server.ws_ingest import IngestSocket

WEB = Path(client.__file__).parent / "web"
_PARTS = (
    ("server.whip", "whip_routes"),
    ("server.metrics_route", "metrics_routes"),
    ("server.recording_route", "recording_routes"),
)
"""Modules with ``(hub, guard, settings) -> list of routes``, by name: each is a part by itself."""


class Gate(Protocol):
    """Who may come in, and how much of it."""

    def middleware(self) -> Sequence[Middleware]:
        """What every request and message goes through first, outermost first."""
        ...

    def admits(self, token: str | None) -> bool:
        """Whether ``token``, or coming without one, is enough."""
        ...


class OpenGate:
    """Lets everybody in: for a server that only this machine reaches."""

    def middleware(self) -> Sequence[Middleware]:
        return ()

    def admits(self, token: str | None) -> bool:
        return True


def build_app(hub: Hub, guard: Gate, settings: ServerSettings) -> Starlette:
    """The whole application; it ends the hub's sessions when it is shut down."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await hub.aclose()

    return Starlette(
        routes=[
            Route("/healthz", _Health(hub).tell, methods=["GET"]),
            WebSocketRoute("/feed/{session}", FeedSocket(hub, guard, settings).serve),
            WebSocketRoute("/ingest", IngestSocket(hub, guard, settings).serve),
            *_parts(hub, guard, settings),
            *_web(),
        ],
        middleware=list(guard.middleware()),
        lifespan=lifespan,
    )


def _parts(hub: Hub, guard: Gate, settings: ServerSettings) -> list[BaseRoute]:
    routes: list[BaseRoute] = []
    for module, name in _PARTS:
        if importlib.util.find_spec(module) is not None:
            routes += getattr(importlib.import_module(module), name)(hub, guard, settings)
    return routes


def _web() -> list[BaseRoute]:
    if not WEB.is_dir():
        return []
    files = StaticFiles(directory=WEB, html=True)
    return [Mount("/static", files), Mount("/", files)]


class _Health:
    """Says that the server answers, and how many sessions it has."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def tell(self, request: Request) -> JSONResponse:
        return JSONResponse(
            {
                "status": "ok",
                "sessions": len(self._hub.sessions),
                "room": self._hub.settings.sessions - len(self._hub.sessions),
            }
        )
