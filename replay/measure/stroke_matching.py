"""Pairing found strokes with annotated windows."""

from __future__ import annotations

from collections.abc import Sequence

from streaming.events import Seconds


def match_windows(
    windows: Sequence[tuple[Seconds, Seconds]], apexes: Sequence[Seconds], *, tolerance: Seconds
) -> list[tuple[int, int]]:
    """Pair as many windows and apexes as possible, one to one and in order, the nearest first.

    Among the largest pairings the one with the least total distance (0 inside the window) counts;
    among those again, the one with the earliest apexes. An apex fits a window that it misses by no
    more than ``tolerance``.

    Args:
        windows: Ascending ``(onset, offset)``.
        apexes: Ascending.
        tolerance: Seconds.

    Returns:
        Pairs ``(window, apex)`` of indices, ascending.

    Raises:
        ValueError: If either is not ascending; the pairs would be wrong silently.
    """
    if list(windows) != sorted(windows) or list(apexes) != sorted(apexes):
        raise ValueError("windows and apexes must be ascending")
    # best[i][j]: (pairs, minus distance) of the first i windows and j apexes.
    best = [[(0, 0.0)] * (len(apexes) + 1) for _ in range(len(windows) + 1)]
    for i, window in enumerate(windows, 1):
        for j, apex in enumerate(apexes, 1):
            best[i][j] = max(best[i - 1][j], best[i][j - 1])
            off = _distance(window, apex)
            if off <= tolerance:
                pairs, total = best[i - 1][j - 1]
                best[i][j] = max(best[i][j], (pairs + 1, total - off))
    pairs_found = []
    i, j = len(windows), len(apexes)
    while i and j:
        if best[i][j] == best[i][j - 1]:
            j -= 1
        elif best[i][j] == best[i - 1][j]:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs_found.append((i, j))
    return pairs_found[::-1]


def _distance(window: tuple[Seconds, Seconds], apex: Seconds) -> Seconds:
    return max(0.0, window[0] - apex, apex - window[1])
