"""Sessions whose streams the server fetches itself, one for each source it was started with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from server.hub import Hub
from server.live_session import LiveSession
from server.pull import Pull, read_address

OnOpen = Callable[[str, LiveSession], None]


class Pulls:
    """Begins when the server does, and ends with it.

    Args:
        hub: Has room for a session for each source.
        sources: As :func:`server.pull.read_address` reads them.
        language: Spoken language.
        on_open: Called with the source's name and its session.

    Raises:
        PullError, SourceError: If a source is none.
        HubFull: If there are more sources than sessions.
    """

    def __init__(self, hub: Hub, sources: Sequence[str], *, language: str, on_open: OnOpen) -> None:
        self._hub = hub
        self._addresses = [read_address(source) for source in sources]
        self._language = language
        self._on_open = on_open
        self._pulls: list[Pull] = []

    def start(self) -> None:
        """Begin to fetch. What cannot be reached is tried again."""
        for address in self._addresses:
            session = self._hub.open("pull", language=self._language)
            pull = Pull(address, session.ingest, self._hub.settings.pull)
            pull.start()
            self._pulls.append(pull)
            self._on_open(address.name, session)

    async def aclose(self) -> None:
        """Fetch no more."""
        await asyncio.gather(*(asyncio.to_thread(pull.stop) for pull in self._pulls))
