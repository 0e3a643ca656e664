"""Functions that are compiled to machine code on first use, and cached for the next process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """``function``, compiled by Numba on its first call, for one thread and exact arithmetic.

    The result is cached beside the module, or in the user's cache where that folder is read-only.
    Without ``fastmath`` the order of sums is as written, so results are reproducible, and two
    triangles that share an edge give it exactly opposite equations, so no gap opens between them.
    """
    return cast(F, numba.njit(cache=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """As :func:`compiled`, for small functions that only compiled ones call."""
    return cast(F, numba.njit(cache=True, error_model="numpy", inline="never")(function))
