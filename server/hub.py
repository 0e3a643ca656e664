"""All sessions of a server: opened, found, shared out the machine, and ended together."""

from __future__ import annotations

import asyncio
import os

from server.governor import Governor
from server.live_session import LiveSession, SessionEngines, opened
from server.measured import Measured
from server.memory import release_memory, settle_memory
from server.metrics import Metrics
from server.settings import ServerSettings
from streaming.grounding import Task

DRAIN_WITHIN = 20.0
"""Seconds that sessions have to work off what they have when the server ends."""
TIDY_AFTER = 1.0
"""Seconds from a session's end until its memory is given back; its connection ends meanwhile."""


class HubFull(RuntimeError):
    """No room for one session more. The text is for the person who asked for it."""


class Hub:
    """Use it within one event loop.

    Args:
        settings: Of the server.
        engines: The models, loaded once and shared.
        cores: How many there are; None asks the machine.
        metrics: Where sessions are counted.
    """

    def __init__(
        self,
        settings: ServerSettings,
        engines: SessionEngines,
        *,
        cores: int | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = metrics or Metrics(process=False)
        self._engines = engines
        self._cores = cores or os.cpu_count() or 1
        self._sessions: dict[str, LiveSession] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._tidying: asyncio.Task[None] | None = None
        self._governor = Governor(settings.load, cores=self._cores)
        self._governing: asyncio.Task[None] | None = None
        self._loading = asyncio.Lock()
        self._closing = False

    @property
    def sessions(self) -> tuple[LiveSession, ...]:
        """Those that run, the oldest first."""
        return tuple(self._sessions.values())

    def open(self, kind: str, *, language: str = "auto", task: Task | None = None) -> LiveSession:
        """Begin a session; :meth:`LiveSession.started` says when its models are loaded.

        Args:
            kind: How its media comes: ``websocket``, ``whip`` or ``pull``.
            language: Spoken language: ``en``, ``zh`` or ``auto``.
            task: What is asked of it; None for what words and strokes ask by themselves.

        Raises:
            HubFull: If there are as many sessions as there may be, or the server is ending.
        """
        if self._closing:
            raise HubFull("the server is ending")
        most = self.settings.sessions
        if len(self._sessions) >= most:
            self.metrics.refused("full")
            raise HubFull(
                f"the server already has {len(self._sessions)} sessions, and takes {most} at once; "
                "try again when one has ended"
            )
        session = LiveSession(
            self._engines,
            task=task or Task(language=language),
            language=language,
            kind=kind,
            settings=self.settings,
            loading=self._loading,
            measured=Measured(self.metrics),
        )
        self.metrics.session_opened(kind)
        self._sessions[session.id] = session
        running = asyncio.create_task(session.run(), name=f"session {kind}")
        self._running[session.id] = running
        running.add_done_callback(lambda _: self._ended(session))
        self._resize()
        return session

    async def prepare(self, language: str) -> None:
        """Load the models now, so that the first session need not wait.

        Raises:
            WeightsError: If weights are missing.
            ModelError: If there is no such model.
        """
        pipeline = opened(self._engines, Task(language=language), language, self._loading)
        async with pipeline:
            pass
        settle_memory()

    def get(self, name: str) -> LiveSession | None:
        """The session called ``name``, while it runs."""
        return self._sessions.get(name)

    async def close(self, name: str, reason: str = "closed") -> None:
        """End a session and wait until it has worked off what it has."""
        session, running = self._sessions.get(name), self._running.get(name)
        if session is not None and running is not None:
            session.ingest.close(reason)
            await asyncio.wait({running})

    async def aclose(self) -> None:
        """End all sessions; what takes too long is cancelled."""
        self._closing = True
        running = set(self._running.values())
        for session in self.sessions:
            session.ingest.close("the server is ending")
        if running:
            _, late = await asyncio.wait(running, timeout=DRAIN_WITHIN)
            for one in late:
                one.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        ours = [one for one in (self._tidying, self._governing) if one is not None]
        for one in ours:
            one.cancel()
        await asyncio.gather(*ours, return_exceptions=True)

    def _ended(self, session: LiveSession) -> None:
        self._sessions.pop(session.id, None)
        self.metrics.session_closed()
        running = self._running.pop(session.id, None)
        if running is not None and not running.cancelled():
            running.exception()  # run() has said it in the feed
        self._resize()
        if self._tidying is None and not self._closing:
            self._tidying = asyncio.create_task(self._tidy())

    async def _tidy(self) -> None:
        await asyncio.sleep(TIDY_AFTER)
        self._tidying = None
        await asyncio.to_thread(release_memory)

    def _resize(self) -> None:
        """There are more sessions now, or fewer."""
        self._governor.resize(len(self._sessions))
        self._share()
        if self._governing is None and self._sessions:
            self._governing = asyncio.create_task(self._govern())

    async def _govern(self) -> None:
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(self.settings.load.look_every)
            if not self._sessions:
                self._governing = None
                return
            self._governor.look([one.pressure() for one in self.sessions], now=now())
            self._share()

    def _share(self) -> None:
        for session in self.sessions:
            session.set_level(self._governor.level, sessions=len(self._sessions), cores=self._cores)
