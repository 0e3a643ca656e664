"""What ``deixis publish`` prints: how the sending goes, and what the server makes of it."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from client.live_view import LogView, PanelView, View
from client.printing import printable
from client.publishing.publisher import Progress
from streaming.events import Seconds

_SAY_EVERY: Seconds = 5.0


class Shown:
    """A panel on a terminal; elsewhere a line a decision, and one every few seconds.

    Args:
        console: Where to.
        quiet: Nothing but problems.
    """

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._said: Seconds = 0.0
        self._problem: str | None = None
        self._connections = 0
        self._session = ""
        self._status = "connecting …"
        self._view: View | None = None
        self._drawn = console.is_terminal and not quiet
        if self._drawn:
            self._view = PanelView(console, status=lambda: self._status)
        elif not quiet:
            self._view = LogView(console)

    def update(self, progress: Progress) -> None:
        """Take how far the sending is."""
        if progress.connections > self._connections:
            self._connections = progress.connections
            again = progress.session == self._session
            self._session = progress.session
            how = "connected again, goes on with" if again else "connected:"
            self._say(f"{how} session {progress.session}")
        if progress.problem is not None and progress.problem != self._problem:
            self.tell(f"{progress.problem}; trying again")
        self._problem = progress.problem
        self._status = told(progress)
        if progress.seconds - self._said >= _SAY_EVERY:
            self._said = progress.seconds
            if not self._drawn:
                self._say(self._status)

    def line(self, line: dict[str, Any]) -> None:
        """Take a line of the session's feed."""
        if self._view is None:
            return
        try:
            self._view.update(line)
        except (AttributeError, KeyError, TypeError, ValueError):
            return  # of another version, or no line of a trace

    def tell(self, text: str) -> None:
        """Say something that is to be known however quiet it is."""
        self._console.print(printable(text))

    def mention(self, text: str) -> None:
        """Say something that is not worth breaking the quiet."""
        self._say(text)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._view is not None:
            self._view.close()

    def _say(self, text: str) -> None:
        if not self._quiet:
            self._console.print(printable(text))


def told(progress: Progress) -> str:
    """How far it is, in a line."""
    said = f"{progress.seconds:.1f} s, {progress.pictures} pictures"
    if progress.skipped:
        said += f", {progress.skipped} left out (slow network)"
    if progress.connections > 1:
        said += f", connected {progress.connections} times"
    if progress.resumed:
        said += f", {progress.resumed} times in the same session"
    if progress.delay is not None:
        said += f", {1000 * progress.delay:.0f} ms to the server and back"
    if progress.problem is not None:
        said += f" · {progress.problem}; trying again"
    return said
