"""Memory is given back after a session."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import server.hub
from server.hub import Hub
from server.memory import release_memory, use_few_arenas
from server.settings import ServerSettings
from tests.pretend_pipeline import PretendEngines


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def _wait_until_gone(thing: weakref.ref[Any]) -> None:
    while thing() is not None:
        time.sleep(0.001)


class Knot:
    """Refers to itself, as a session's parts do to each other."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("_no_collector")
def test_what_nothing_reaches_is_freed() -> None:
    use_few_arenas()
    knot = weakref.ref(Knot())
    assert knot() is not None
    release_memory()
    assert knot() is None


@pytest.mark.threads
@pytest.mark.usefixtures("_no_collector")
async def test_nothing_is_left_of_a_session_that_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server.hub, "TIDY_AFTER", 0.0)
    hub = Hub(ServerSettings(), PretendEngines(), cores=8)
    session = weakref.ref(hub.open("websocket"))
    await hub.close(hub.sessions[0].id)
    async with asyncio.timeout(20):
        await asyncio.to_thread(_wait_until_gone, session)
    await hub.aclose()
