"""Flashes and clicks that a real browser publishes by WHIP arrive in step."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from playwright.sync_api import sync_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from replay.measure.sync import EVERY, LONG, Heard
from replay.measure.sync_page import PUBLISH
from server.whip import WhipEndpoint
from tests.whip_maker import IN_STEP, MadeHub, needs_network

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
)
pytestmark = [
    pytest.mark.realtime,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
REPORTED = 6.5
"""Seconds after which the browser has reported on its sound, which it does every five."""


@contextmanager
def served(hub: MadeHub) -> Iterator[str]:
    """The endpoint and an empty page on a port of its own."""

    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse("<!doctype html><title>WHIP</title>")

    app = Starlette(routes=[Route("/", page), *WhipEndpoint(hub).routes()])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + 10
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join()


def test_a_browser_is_in_step() -> None:
    needs_network()
    hub = MadeHub()
    with served(hub) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page()
        page.goto(address)
        asked = {"every": EVERY, "long": LONG, "seconds": 8.5}
        assert page.evaluate(PUBLISH, asked) == "connected"
        browser.close()
    taken = hub.sessions["s0"].ingest
    heard = Heard(clicks=taken.clicks(), flashes=taken.fading)
    apart = [away for click, away in heard.errors() if click > REPORTED and away is not None]
    assert len(apart) >= 2
    assert max(map(abs, apart)) < IN_STEP, heard.errors()
    assert taken.closed == "ended by the client"
