"""Streams that PyAV's FFmpeg has no protocol for (SRT), fetched by the machine's own ``ffmpeg``.

It copies what comes over the network byte for byte into a pipe; all else is done as for any other
stream. Nothing of it is told to anybody but the reason when it fails.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time as wall
from collections.abc import Callable
from types import TracebackType

from streaming.events import Seconds

PROGRAM = "ffmpeg"
_LOOK_EVERY: Seconds = 0.1
_ENDS_WITHIN: Seconds = 2.0
_REFUSED = "input/output error"
"""So SRT says that nobody is there, or wants another passphrase."""
_COPY = ("-map", "0", "-c", "copy", "-f", "data", "-flush_packets", "1", "pipe:1")


def has_program() -> bool:
    """Whether there is an ``ffmpeg`` on this machine."""
    return shutil.which(PROGRAM) is not None


class ProgramBytes:
    """The bytes of one connection, as a file that PyAV reads. Use it in a ``with`` block.

    Args:
        target: For ``ffmpeg``.
        open_within: Seconds for the first bytes.
        read_within: Seconds for each later read.
        stopped: Asked while waiting; when it says yes the stream ends.
    """

    def __init__(
        self,
        target: str,
        *,
        open_within: Seconds,
        read_within: Seconds,
        stopped: Callable[[], bool],
    ) -> None:
        self._within = open_within
        self._read_within = read_within
        self._stopped = stopped
        self._any = False
        self._process = subprocess.Popen(
            [PROGRAM, "-nostdin", "-loglevel", "error", "-f", "data", "-i", target, *_COPY],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> ProgramBytes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; none at the end.

        Raises:
            TimeoutError: If nothing comes in time.
            ConnectionError: If no connection was made; the text says why.
        """
        assert self._process.stdout is not None
        late = wall.monotonic() + self._within
        while not select.select([self._process.stdout], [], [], _LOOK_EVERY)[0]:
            if self._stopped():
                return b""
            if wall.monotonic() > late:
                raise TimeoutError("no answer in time")
        content = os.read(self._process.stdout.fileno(), size)
        if content:
            self._any, self._within = True, self._read_within
        elif not self._any and not self._stopped():
            raise ConnectionError(self._why())
        return content

    def _why(self) -> str:
        """What ``ffmpeg`` said last, without the address that stands before it."""
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode("utf-8", "replace").strip()
        reason = said.rpartition(": ")[2].lower() or "cannot be read"
        return "no connection could be made" if reason == _REFUSED else reason
