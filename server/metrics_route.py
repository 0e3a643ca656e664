"""``GET /metrics``."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from server.guard import Guard

_THREADS = Path("/proc/self/task")


def metrics_routes(hub: object, guard: object, settings: object) -> list[Route]:
    """The route, where there is a guard that counts."""
    if not isinstance(guard, Guard):
        return []
    metrics = guard.metrics

    async def told(request: Request) -> Response:
        metrics.running(tasks=len(asyncio.all_tasks()), threads=_threads())
        body, kind = metrics.render()
        headers = {"content-type": kind, "cache-control": "no-store"}
        return Response(body, headers=headers)

    return [Route("/metrics", told, methods=["GET"])]


def _threads() -> int:
    """Threads of this process; without a ``/proc``, those that Python began."""
    try:
        return len(os.listdir(_THREADS))
    except OSError:
        return threading.active_count()
