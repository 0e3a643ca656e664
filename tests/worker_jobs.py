"""What worker processes do in the tests of :mod:`replay.workers`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from replay.source import SourceError

_factor = 0


def start(factor: int) -> None:
    global _factor
    _factor = factor


def work(job: int) -> int:
    """Multiply; a negative job fails, 13 is killed as by the system, 99 never ends."""
    if job < 0:
        raise SourceError(f"job {job} cannot be done")
    if job == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    if job == 99:
        time.sleep(600)
    return job * _factor


def leave_a_file(job: int) -> str:
    import tempfile

    handle, name = tempfile.mkstemp()
    os.close(handle)
    return str(Path(name).parent)
