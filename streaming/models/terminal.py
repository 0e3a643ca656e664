"""Native libraries that write to standard error whatever one asks of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Throw away what is written to standard error, by native code too, while this is open.

    For the moment in which a model is made; errors are raised, not written, and stay visible.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)
