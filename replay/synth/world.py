"""What the parts of a scene are made of: poses, meshes, materials, bodies, pictures.

World coordinates as in :mod:`replay.synth`: metres, ``x`` right, ``y`` away, ``z`` up, table top at
``z = 0``. A camera's own axes are OpenCV's: ``x`` right, ``y`` down, ``z`` along the view.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Points, vectors and rotations."""

Rgb = tuple[float, float, float]
"""A colour as sRGB fractions, 0...1."""

NOTHING, TABLE, ROOM, CLUTTER = 0, 1, 2, 3
"""Labels of what nobody asks for."""

FIRST_OBJECT, FIRST_ARM = 10, 100
"""Labels of objects count up from the first, those of arms (sleeves included) from the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pose:
    """Where a body stands: ``world = rotation @ own + position``.

    Attributes:
        rotation: Shape ``(3, 3)``; its columns are the body's axes in the world.
        position: Shape ``(3,)``, metres.
    """

    rotation: Floats
    position: Floats

    def to_world(self, points: Floats) -> Floats:
        """Own points, shape ``(..., 3)``, in world coordinates."""
        return np.asarray(points @ self.rotation.T + self.position, np.float64)

    def to_own(self, points: Floats) -> Floats:
        """World points, shape ``(..., 3)``, in the body's own coordinates."""
        return np.asarray((points - self.position) @ self.rotation, np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """Triangles.

    Attributes:
        vertices: Shape ``(n, 3)``, metres.
        faces: Shape ``(m, 3)``, indices of vertices, counter-clockwise seen from outside.
        normals: Of the vertices, shape ``(n, 3)``, unit length; None: flat faces.
        uv: Of the vertices, shape ``(n, 2)``; the texture repeats with period 1. None: no texture.
        tint: Factors on the material's colour at the vertices, shape ``(n, 3)``; None: ones.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    normals: NDArray[np.float32] | None = None
    uv: NDArray[np.float32] | None = None
    tint: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a surface looks like.

    Attributes:
        colour: Diffuse, sRGB; multiplies the texture.
        texture: sRGB, shape ``(h, w, 3)``, uint8; None: plain.
        gloss: 0 (chalk) ... 1 (polished): strength and narrowness of the highlight.
        wrap: 0 ... 0.5: how far light reaches round the terminator, as it does in skin.
    """

    colour: Rgb
    texture: NDArray[np.uint8] | None = None
    gloss: float = 0.1
    wrap: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A mesh in world coordinates with its material and the label that it has in pictures."""

    mesh: Mesh
    material: Material
    label: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lighting:
    """Light of one scene.

    Attributes:
        towards: Unit vector from the table to the main light, which casts shadows.
        colour: Of the main light, linear, about 1.
        ambient: Light from above, linear; from below comes a share of it.
        softness: 0 (hard shadow edges) ... 1 (very soft).
    """

    towards: Floats
    colour: Rgb
    ambient: Rgb
    softness: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One frame as the lens sees it, before the sensor.

    Attributes:
        rgb: Linear light, shape ``(height, width, 3)``, float32; 1 is white at normal exposure.
        labels: Of the nearest body in each pixel, shape ``(height, width)``, uint8.
        depth: Along the view, metres, shape ``(height, width)``, float32; inf where nothing is.
    """

    rgb: NDArray[np.float32]
    labels: NDArray[np.uint8]
    depth: NDArray[np.float32] = field(repr=False)
