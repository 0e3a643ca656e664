"""Rotations as matrices, and vectors at right angles."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from replay.synth.world import Floats

UP: Floats = np.array([0.0, 0.0, 1.0])


def about_x(degrees: float) -> Floats:
    """Turns ``y`` towards ``z``."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])


def about_z(degrees: float) -> Floats:
    """Turns ``x`` towards ``y``."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])


def about(axis: Floats, degrees: float) -> Floats:
    """Turns about a unit vector, counter-clockwise seen from its tip."""
    turn = Rotation.from_rotvec(axis * math.radians(degrees))
    return np.asarray(turn.as_matrix(), np.float64)


def unit(vector: Floats) -> Floats:
    """The vector at length 1.

    Raises:
        ValueError: If it has no direction.
    """
    length = float(np.linalg.norm(vector))
    if not length > 1e-12:
        raise ValueError(f"vector {vector.tolist()} has no direction")
    return np.asarray(vector / length, np.float64)


def across(vector: Floats, along: Floats) -> Floats:
    """What of ``vector`` is at right angles to the unit vector ``along``."""
    return np.asarray(vector - (vector @ along) * along, np.float64)


def frame(along: Floats, back: Floats) -> Floats:
    """A rotation whose ``y`` is ``along`` and whose ``z`` is as near to ``back`` as it can be."""
    y = unit(along)
    z = unit(across(back, y))
    return np.column_stack([np.cross(y, z), y, z])


def between(one: Floats, other: Floats, share: float) -> Floats:
    """The rotation at ``share`` of the shortest way from one to the other."""
    turn = Rotation.from_matrix(one.T @ other).as_rotvec()
    return np.asarray(one @ Rotation.from_rotvec(share * turn).as_matrix(), np.float64)
