"""Quantiles of samples, as every report of times gives them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

LEAST_FOR_P99 = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Quantiles of ``n`` samples; all None when there is none, p99 also under 100 samples."""

    n: int
    p50: float | None
    p95: float | None
    p99: float | None
    most: float | None


def summarise(samples: Iterable[float]) -> Summary:
    """The quantiles of some samples."""
    values = np.asarray(list(samples), dtype=np.float64)
    if values.size == 0:
        return Summary(n=0, p50=None, p95=None, p99=None, most=None)
    with np.errstate(over="ignore", invalid="ignore"):  # ages of a damaged trace
        p50, p95, p99 = (float(value) for value in np.percentile(values, (50.0, 95.0, 99.0)))
    return Summary(
        n=int(values.size),
        p50=p50,
        p95=p95,
        p99=p99 if values.size >= LEAST_FOR_P99 else None,
        most=float(values.max()),
    )
