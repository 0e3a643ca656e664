"""The web application: which address leads where."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from client.web_files import web_folder
from server.feed_socket import FeedSocket
from server.hub import Hub
from server.metrics_route import metrics_routes
from server.recording_route import recording_routes
from server.settings import ServerSettings
from server.whip import whip_endpoint
from server.ws_ingest import IngestSocket


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

    whip = whip_endpoint(hub, guard, settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await whip.aclose()
            await hub.aclose()

    return Starlette(
        routes=[
            Route("/healthz", _Health(hub).tell, methods=["GET"]),
            WebSocketRoute("/feed/{session}", FeedSocket(hub, guard, settings).serve),
            WebSocketRoute("/ingest", IngestSocket(hub, guard, settings).serve),
            *whip.routes(),
            *recording_routes(hub, guard, settings),
            *metrics_routes(hub, guard, settings),
            *_web(),
        ],
        middleware=list(guard.middleware()),
        lifespan=lifespan,
    )


def _web() -> list[BaseRoute]:
    files = StaticFiles(directory=web_folder(), html=True)
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
