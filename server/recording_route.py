"""``POST /sessions/{id}/record`` with ``{"on": true | false}`` switches a session's recording.

The answer says how it stands: ``{"on", "name", "pictures", "dropped", "problem"}``. In which folder
the files lie is the server's business: that is in its log, and not told to clients.
"""

from __future__ import annotations

import json
import logging

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from server.hub import Hub
from server.recording import RecordingState

_MOST_BYTES = 1000
_log = logging.getLogger(__name__)


def recording_routes(hub: Hub, guard: object, settings: object) -> list[Route]:
    """The route."""
    return [Route("/sessions/{session}/record", _Switch(hub).turn, methods=["POST"])]


class _Switch:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def turn(self, request: Request) -> Response:
        """Switch on or off."""
        session = self._hub.get(request.path_params["session"])
        if session is None:
            return PlainTextResponse("there is no such session, or it has ended", 404)
        wanted = await _wanted(request)
        if wanted is None:
            return PlainTextResponse('expected {"on": true} or {"on": false}', 400)
        try:
            return _told(await session.record(wanted))
        except OSError as error:
            _log.warning("cannot record: %s", error)
            return PlainTextResponse(f"the server cannot write there: {error.strerror}", 507)


async def _wanted(request: Request) -> bool | None:
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST_BYTES:
                return None
        message = json.loads(body)
    except (ClientDisconnect, ValueError, RecursionError):
        return None
    wanted = message.get("on") if isinstance(message, dict) else None
    return wanted if isinstance(wanted, bool) else None


def _told(state: RecordingState) -> Response:
    return JSONResponse(
        {
            "on": state.active,
            "name": state.name,
            "pictures": state.pictures,
            "dropped": state.dropped,
            "problem": state.problem,
        }
    )
