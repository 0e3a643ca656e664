"""A server with a pretended pipeline, and what a client sends it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import cv2
import numpy as np
import uvicorn
from numpy.typing import NDArray

from server.app import OpenGate, build_app
from server.hub import Hub
from server.live_session import SessionEngines
from server.serving import LiveServer
from server.settings import ServerSettings
from server.ws_ingest import HEAD, PICTURE, SOUND

HELLO = {"type": "hello", "version": 1, "format": "pcm+jpeg", "language": "en"}


@contextlib.asynccontextmanager
async def serving(
    engines: SessionEngines, settings: ServerSettings | None = None, *, cores: int = 8
) -> AsyncIterator[tuple[str, Hub]]:
    """A server on a free port of this machine: its address, and its hub."""
    settings = settings or ServerSettings()
    hub = Hub(settings, engines, cores=cores)
    app = build_app(hub, OpenGate(), settings)
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="warning", ws="websockets-sansio", lifespan="on"
    )
    begun: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    server = LiveServer(config, hub, on_start=begun.set_result)
    running = asyncio.create_task(server.serve())
    try:
        yield f"127.0.0.1:{await begun}", hub
    finally:
        server.should_exit = True
        await running


def sound_message(time: float, samples: NDArray[np.float32]) -> bytes:
    pcm = (samples * 32767).astype("<i2").tobytes()
    return HEAD.pack(SOUND, round(time * 1e6)) + pcm


def picture_message(time: float, image: NDArray[np.uint8]) -> bytes:
    _, jpeg = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    return HEAD.pack(PICTURE, round(time * 1e6)) + jpeg.tobytes()


async def welcome(socket: Any) -> dict[str, Any]:
    await socket.send(json.dumps(HELLO))
    message: dict[str, Any] = json.loads(await socket.recv())
    return message
