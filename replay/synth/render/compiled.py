"""Functions that are compiled to machine code on first use, and cached for the next process."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from streaming.weights import cache_folder

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """``function``, compiled by Numba on its first call, for one thread and exact arithmetic.

    Without ``fastmath`` the order of sums is as written, so results are reproducible, and two
    triangles that share an edge give it exactly opposite equations, so no gap opens between them.
    """
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_machine_code())
    try:
        return cast(F, numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:  # no folder that can be written
        return cast(F, numba.njit(error_model="numpy")(function))
    finally:
        config.CACHE_DIR = before


def inlined(function: F) -> F:
    """As :func:`compiled`, for functions that only compiled ones call."""
    return compiled(function)


@functools.cache
def _machine_code() -> Path:
    """Where machine code is kept: apart for every state of this package's sources.

    Numba looks only whether a function's own file has changed, not those of what it calls.
    """
    sources = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        sources.update(path.read_bytes())
    return cache_folder() / "compiled" / sources.hexdigest()[:16]
