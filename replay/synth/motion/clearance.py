"""Keeping hands out of the table and out of what stands on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replay.synth.motion.placement import Obstacle
from replay.synth.world import Floats

TABLE = 0.011
"""Least height of a hand's landmarks over the table, metres: a finger's thickness."""

FLESH = 0.009
"""Radius of a finger round its bones, metres."""

FOREARM = 0.04
"""The same of a forearm with its sleeve."""


class Clearance:
    """Says by how much points are too low."""

    def __init__(self, obstacles: Sequence[Obstacle]) -> None:
        self._centres = np.array([one.centre[:2] for one in obstacles]).reshape(-1, 2)
        self._radii = np.array([one.radius for one in obstacles])
        self._heights = np.array([one.height for one in obstacles])

    def lack(self, points: Floats, flesh: float = FLESH, *, table: float = TABLE) -> float:
        """Metres by which the worst of ``points`` would have to rise; 0 when all are free.

        Args:
            points: Shape ``(..., 3)``.
            flesh: Radius of what they are the bones of.
            table: Least height over the table.
        """
        return float(self.lacks(points, flesh, table=table).max())

    def lacks(self, points: Floats, flesh: float = FLESH, *, table: float = TABLE) -> Floats:
        """The same, because of the table and because of what stands on it, shape ``(2,)``."""
        flat = points.reshape(-1, 3)
        worst = np.array([max(0.0, float((table - flat[:, 2]).max())), 0.0])
        if len(self._radii):
            away = np.linalg.norm(flat[:, None, :2] - self._centres, axis=2)
            under = self._heights + flesh - flat[:, None, 2]
            worst[1] = np.where(away < self._radii + flesh, under, 0.0).max()
        return np.asarray(np.maximum(worst, 0.0), np.float64)

    def crosses(self, start: Floats, end: Floats, *, keep: float) -> bool:
        """Whether the straight line meets an obstacle before the last ``keep`` metres of it."""
        length = float(np.linalg.norm(end - start))
        if not len(self._radii) or length <= keep:
            return False
        shares = np.linspace(0.0, 1.0 - keep / length, max(2, int(length / 0.01)))
        line = start + shares[:, None] * (end - start)
        away = np.linalg.norm(line[:, None, :2] - self._centres, axis=2)
        inside = (away < self._radii) & (line[:, None, 2] < self._heights)
        return bool(inside.any())
