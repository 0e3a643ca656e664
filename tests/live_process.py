"""A live server in a process of its own, and what it says of the sessions that it has."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[1]
TOKEN = "a-token-that-is-long-enough"
_OPEN = re.compile(r"open (http://[^/\s]+)/ ")
_PATIENCE = 30.0


@dataclass
class SessionSeen:
    """What the server said of one session, in seconds of its timeline.

    Attributes:
        clicks, flashes: When sound got loud, and pictures bright.
        seconds: Of sound, once the session has ended.
        pictures: The same.
    """

    clicks: list[float] = field(default_factory=list)
    flashes: list[float] = field(default_factory=list)
    seconds: float | None = None
    pictures: int = 0

    def apart(self) -> list[float]:
        """How much later than each click the flash nearest to it is."""
        return [min((flash - click for flash in self.flashes), key=abs) for click in self.clicks]


class LiveProcess:
    """Runs :mod:`tests.standins.live_server` while a ``with`` block does.

    Args:
        sources: Streams that it fetches.
        settings: A TOML file with settings of its own.

    Attributes:
        sessions: By their number, in the order in which they began.
        said: All lines that it printed.
    """

    def __init__(self, *sources: str, settings: Path | None = None) -> None:
        self.sessions: dict[int, SessionSeen] = defaultdict(SessionSeen)
        self.said: list[str] = []
        self.url = ""
        self._changed = threading.Condition()
        self._sources = sources
        self._more = {} if settings is None else {"LIVE_SETTINGS": str(settings)}

    def __enter__(self) -> LiveProcess:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.standins.live_server", *self._sources],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env=os.environ | {"DEIXIS_TOKEN": TOKEN} | self._more,
        )
        self._reading = threading.Thread(target=self._read)
        self._reading.start()
        self.wait(lambda: bool(self.url))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        finally:
            self._process.kill()
            self._reading.join()
            assert self._process.stdout is not None
            self._process.stdout.close()

    def wait(self, holds: Callable[[], bool]) -> None:
        """Until ``holds``, which is asked again after each line.

        Raises:
            AssertionError: If it does not come to hold.
        """
        with self._changed:
            assert self._changed.wait_for(holds, _PATIENCE), self.said

    def ended(self, number: int) -> SessionSeen:
        """A session once it has ended."""
        self.wait(lambda: number in self.sessions and self.sessions[number].seconds is not None)
        return self.sessions[number]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self._take(line.rstrip())
                self._changed.notify_all()

    def _take(self, line: str) -> None:
        self.said.append(line)
        if (found := _OPEN.match(line)) is not None:
            self.url = found[1]
        if not line.startswith("{"):
            return
        said = json.loads(line)
        session = self.sessions[said["session"]]
        match said["kind"]:
            case "click":
                session.clicks.append(said["time"])
            case "flash":
                session.flashes.append(said["time"])
            case "end":
                session.seconds, session.pictures = said["seconds"], said["pictures"]
