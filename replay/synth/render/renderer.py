"""Pictures of bodies as a lens sees them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.ambient import CELL, COARSE, hover, stand
from replay.synth.render.blur import displacements, smear
from replay.synth.render.edges import see_edges
from replay.synth.render.fragments import room_for
from replay.synth.render.lens import Lens
from replay.synth.render.raster import see
from replay.synth.render.samples import AROUND, Sight, blank, grids
from replay.synth.render.shading import Light, shade
from replay.synth.render.shadows import ShadowMap, shadow_map
from replay.synth.render.soup import Soup, flatten, join, positions
from replay.synth.render.textures import Atlas
from replay.synth.world import ROOM, Body, Lighting, Picture, Pose

LOWEST_SUN = 0.15
"""The main light is taken to stand at least so high: sine of its elevation."""

UP = np.array([0.0, 0.0, 1.0])

AROUND_TABLE = (-1.6, 1.6, -0.8, 2.4)
"""Shadows are thrown within these bounds of the table's plane: x from, to, y from, to; metres."""


class Renderer:
    """Pictures of one scene, through one lens.

    The room (bodies labelled ``ROOM``) throws no shadows, as its ceiling would leave all in the
    dark. Light is scaled so that white paper lying in the light of the scene gives 1.
    """

    def __init__(self, lens: Lens, lighting: Lighting, static: Sequence[Body]) -> None:
        self._lens = lens
        self._atlas = Atlas()
        self._static = flatten(sorted(static, key=lambda body: body.label == ROOM), self._atlas)
        room = sum(len(body.mesh.faces) for body in static if body.label == ROOM)
        self._backdrop = (len(self._static.faces) - room, len(self._static.faces))
        self._light = _light(lighting)
        self._shadows = self._throw(self._static, cell=0.0015, most=2048)
        self._standing = stand(_from_above(self._static, cell=CELL, turned=1.0))
        self._samples = grids(lens)
        self._sight = blank(lens, 0)
        self._fragments = room_for(lens.width * (1 + len(AROUND)))

    def frame(
        self,
        pose: Pose,
        moving: Sequence[Body],
        *,
        before: tuple[Pose, Sequence[Body]] | None = None,
    ) -> Picture:
        """What the camera at ``pose`` sees.

        Args:
            before: Where camera and moving bodies, of the same topology, were when the shutter
                opened; None: nothing is blurred.
        """
        new = flatten(moving, self._atlas)
        soup = join(self._static, new)
        sight = self._see(pose, soup, fine=True)
        shot = shade(
            self._samples,
            sight,
            soup,
            self._atlas.texels,
            (pose.position.astype(np.float64), np.ascontiguousarray(pose.rotation, np.float64)),
            self._light,
            (self._shadows, self._throw(new, cell=0.0015, most=640)),
            (self._standing, hover(_from_above(new, cell=COARSE, turned=-1.0))),
            self._fragments,
        )
        rgb = shot.rgb
        if before is not None and not _same(before, (pose, moving)):
            old = np.concatenate([self._static.vertices, positions(before[1])])
            still = len(self._static.faces)
            poses = [before[0], pose]
            moved = displacements(self._samples[0], sight, soup.faces, still, old, poses)
            rgb = smear(rgb, shot.depth, moved)
        return Picture(rgb=rgb, labels=shot.labels, depth=shot.depth)

    def label_picture(self, pose: Pose, moving: Sequence[Body]) -> NDArray[np.uint8]:
        """The labels of what the camera at ``pose`` sees, shape ``(height, width)``."""
        soup = join(self._static, flatten(moving, self._atlas))
        face = self._see(pose, soup, fine=False).face[:, :, 0]
        labels = np.append(soup.kind[soup.owner, 0], 0).astype(np.uint8)
        return labels[face]

    def _see(self, pose: Pose, soup: Soup, *, fine: bool) -> Sight:
        corners = np.ascontiguousarray(pose.to_own(soup.vertices))
        pixels = self._lens.land(corners)
        if len(self._sight.planes) < len(soup.faces):
            self._sight = self._sight._replace(planes=np.empty((len(soup.faces), 3, 3)))
        sight = self._sight
        nearest = see(self._samples[0], corners, pixels, soup.faces, self._backdrop, sight)
        if fine:
            see_edges(self._samples, corners, pixels, soup.faces, soup.owner, nearest, sight)
        return sight

    def _throw(self, soup: Soup, *, cell: float, most: int) -> ShadowMap:
        throwing = soup.faces[soup.kind[soup.owner, 0] != ROOM]
        return shadow_map(
            soup.vertices,
            throwing,
            self._light.towards,
            cell=cell,
            most=most,
            within=AROUND_TABLE,
        )


def _from_above(soup: Soup, *, cell: float, turned: float) -> ShadowMap:
    """Heights of all but the room, seen from above, or (``turned`` -1) negated ones from below."""
    throwing = soup.faces[soup.kind[soup.owner, 0] != ROOM]
    upright = soup.vertices * (1.0, 1.0, turned)
    return shadow_map(upright, throwing, UP, cell=cell, most=512, within=AROUND_TABLE)


def _same(one: tuple[Pose, Sequence[Body]], other: tuple[Pose, Sequence[Body]]) -> bool:
    """Whether nothing moved between two moments."""
    return (
        np.array_equal(one[0].rotation, other[0].rotation)
        and np.array_equal(one[0].position, other[0].position)
        and all(
            np.array_equal(first.mesh.vertices, second.mesh.vertices)
            for first, second in zip(one[1], other[1], strict=True)
        )
    )


def _light(lighting: Lighting) -> Light:
    towards = np.array(lighting.towards, np.float64)
    towards[2] = max(towards[2], LOWEST_SUN)
    towards /= np.linalg.norm(towards)
    colour, ambient = np.array(lighting.colour), np.array(lighting.ambient)
    white = float((colour * towards[2] + ambient) @ (0.2126, 0.7152, 0.0722))
    spread = math.tan(math.radians(0.3 + 5.0 * lighting.softness)) / float(towards[2])
    return Light(towards, colour / white, ambient / white, spread)
