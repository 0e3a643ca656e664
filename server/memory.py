"""Gives back what ended sessions have left behind.

A session's parts refer to each other, so that only the cycle collector frees them, which runs the
more rarely the more lives: meanwhile each keeps its models' buffers and threads. And glibc keeps
what its many threads' arenas have freed, unless it is told to let go (``malloc_trim(3)``).
"""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable

ARENAS = 2
"""Of glibc's allocator: each of many threads gets one of its own otherwise, with its own holes."""
_M_ARENA_MAX = -8


def use_few_arenas() -> None:
    """Call before threads begin; does nothing where there is another allocator than glibc's."""
    limit = _of_glibc("mallopt")
    if limit is not None:
        limit(_M_ARENA_MAX, ARENAS)


def settle_memory() -> None:
    """Call once everything is loaded that stays: later collections need not look at it."""
    gc.collect()
    gc.freeze()


def release_memory() -> None:
    """Free what nothing reaches any more, and give it back to the system."""
    gc.collect()
    trim = _of_glibc("malloc_trim")
    if trim is not None:
        trim(0)


@functools.cache
def _of_glibc(name: str) -> Callable[..., int] | None:
    """A function of glibc's allocator; None where there is another one."""
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None
    return function
