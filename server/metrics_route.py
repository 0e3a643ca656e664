"""``GET /metrics``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from server.guard import Guard


def metrics_routes(hub: object, guard: object, settings: object) -> list[Route]:
    """The route, where there is a guard that counts."""
    if not isinstance(guard, Guard):
        return []
    metrics = guard.metrics

    async def told(request: Request) -> Response:
        body, kind = metrics.render()
        headers = {"content-type": kind, "cache-control": "no-store"}
        return Response(body, headers=headers)

    return [Route("/metrics", told, methods=["GET"])]
