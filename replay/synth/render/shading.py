"""The colour of what each pixel sees, in linear light.

A pixel is shaded once for each face that its samples see. The work goes in strips of a few rows,
each through four passes over its fragments: where they lie, how much of the main light reaches
them, what colour the surface has there, and how it shines.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.ambient import FADES, Openness, open_share
from replay.synth.render.compiled import compiled, inlined
from replay.synth.render.raster import Grid, Sight
from replay.synth.render.shadows import ShadowMap, lit
from replay.synth.render.soup import Soup
from replay.synth.render.textures import Texels, look_up
from replay.synth.world import Floats

STRIP = 4
"""Rows that are shaded together, so that their fragments stay in the processor's cache."""

GROUND = 0.45
"""Light from below, as a share of that from above."""


class Light(NamedTuple):
    """The scene's lights for the compiled loop; all in linear light.

    Attributes:
        towards: Unit vector to the main light, shape ``(3,)``.
        colour: Of the main light, shape ``(3,)``.
        ambient: From above, shape ``(3,)``.
        spread: Metres of penumbra radius for each metre of height.
    """

    towards: Floats
    colour: Floats
    ambient: Floats
    spread: float


class Shot(NamedTuple):
    """Results.

    Attributes:
        rgb: Shape ``(h, w, 3)``.
        labels: At the pixels' centres, shape ``(h, w)``.
        depth: At the centres, shape ``(h, w)``.
    """

    rgb: NDArray[np.float32]
    labels: NDArray[np.uint8]
    depth: NDArray[np.float32]


class Fragments(NamedTuple):
    """Parts of pixels that see one face each, at most ``n`` at a time.

    Attributes:
        where: Row, column, face; shape ``(n, 3)``.
        share: Of the pixel, shape ``(n,)``.
        ray: ``(x, y)`` of the camera's ray, shape ``(n, 2)``.
        point: In the world, shape ``(n, 3)``.
        normal: Towards the camera's side, shape ``(n, 3)``.
        line: Unit vector to the camera, shape ``(n, 3)``.
        weights: Of the face's corners, shape ``(n, 3)``.
        uv: And the share of the texture that the pixel covers, shape ``(n, 3)``.
        colour: Of the surface, shape ``(n, 3)``.
        turned: Cosine between normal and main light, shape ``(n,)``.
        reach: Share of the main light that arrives, shape ``(n,)``.
        open: Share of the surrounding light that arrives, shape ``(n,)``.
    """

    where: NDArray[np.int32]
    share: NDArray[np.float32]
    ray: NDArray[np.float32]
    point: NDArray[np.float32]
    normal: NDArray[np.float32]
    line: NDArray[np.float32]
    weights: NDArray[np.float32]
    uv: NDArray[np.float32]
    colour: NDArray[np.float32]
    turned: NDArray[np.float32]
    reach: NDArray[np.float32]
    open: NDArray[np.float32]


def shade(
    grid: Grid,
    sight: Sight,
    soup: Soup,
    texels: Texels,
    eye: tuple[Floats, Floats],
    light: Light,
    shadows: tuple[ShadowMap, ShadowMap],
    openness: tuple[Openness, Openness],
    fragments: Fragments,
) -> Shot:
    """Colour every pixel.

    Args:
        eye: The camera's position and rotation.
        shadows: Of what stands still and of what moves.
        openness: Around what stands still and under what moves.
        fragments: Room for them.
    """
    height, width = grid.rays.shape[:2]
    shot = Shot(
        np.zeros((height, width, 3), np.float32),
        np.zeros((height, width), np.uint8),
        np.full((height, width), np.inf, np.float32),
    )
    _shade_all(grid, sight, soup, texels, eye, light, shadows, openness, fragments, shot)
    return shot


def room_for(row: int) -> Fragments:
    """Room for the fragments of a strip, of which each row has at most so many."""
    count = row * STRIP

    def floats(*shape: int) -> NDArray[np.float32]:
        return np.empty((count, *shape), np.float32)

    return Fragments(
        np.empty((count, 3), np.int32), floats(), floats(2), floats(3), floats(3), floats(3),
        floats(3), floats(3), floats(3), floats(), floats(), floats(),
    )  # fmt: skip


@compiled
def _shade_all(
    grid: Grid, sight: Sight, soup: Soup, texels: Texels, eye: Any, light: Light, shadows: Any,
    openness: Any, fragments: Fragments, shot: Shot,
) -> None:  # fmt: skip
    for top in range(0, sight.face.shape[0], STRIP):
        count = _gather(grid, sight, eye[1], light.ambient, top, fragments, shot.rgb)
        _label(sight, soup, top, shot)
        _place(grid, sight, soup, eye[0], count, fragments)
        _reach(shadows, soup, light, count, fragments)
        _open_up(openness, count, fragments)
        _colour(soup, texels, count, fragments)
        _shine(soup, light, count, fragments, shot.rgb)


@inlined
def _sky(up: float, ambient: float) -> float:
    """Light of one channel from far away in a direction that rises by ``up``, -1...1."""
    return ambient * (GROUND + (1.0 - GROUND) * (0.5 + 0.5 * up))


@inlined
def _gather(
    grid: Grid, sight: Sight, rotation: Any, ambient: Any, top: int, fragments: Fragments, rgb: Any
) -> int:
    """Find the fragments of a strip; what sees nothing gets the light of the surroundings."""
    height, width, samples = sight.face.shape
    count = 0
    for row in range(top, min(top + STRIP, height)):
        for column in range(width):
            centre = sight.face[row, column, 0]
            alike = True
            for sample in range(1, samples):
                alike = alike and sight.face[row, column, sample] == centre
            for sample in range(1 if alike else samples):
                face = sight.face[row, column, sample]
                again, times = False, 0
                for other in range(samples):
                    if sight.face[row, column, other] == face:
                        times += 1
                        again = again or other < sample
                if again:
                    continue
                x, y = grid.rays[row, column, sample, 0], grid.rays[row, column, sample, 1]
                share = times / samples
                if face < 0:
                    up = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2]
                    up /= math.sqrt(x * x + y * y + 1.0)
                    for channel in range(3):
                        rgb[row, column, channel] += 0.7 * share * _sky(up, ambient[channel])
                    continue
                fragments.where[count, 0] = row
                fragments.where[count, 1] = column
                fragments.where[count, 2] = face
                fragments.share[count] = share
                fragments.ray[count, 0] = x
                fragments.ray[count, 1] = y
                count += 1
    return count


@inlined
def _label(sight: Sight, soup: Soup, top: int, shot: Shot) -> None:
    """Labels and depths of a strip, by the first sample of each pixel: its centre."""
    height, width, _ = sight.face.shape
    for row in range(top, min(top + STRIP, height)):
        for column in range(width):
            face = sight.face[row, column, 0]
            if face >= 0:
                shot.labels[row, column] = soup.kind[soup.owner[face], 0]
                shot.depth[row, column] = 1.0 / sight.inverse[row, column, 0]


@inlined
def _place(
    grid: Grid, sight: Sight, soup: Soup, eye: Any, count: int, fragments: Fragments
) -> None:
    """Points, normals and texture coordinates of the fragments."""
    pixel = grid.lens[1] / grid.lens[0]
    vertices, normals, uv, planes = soup.vertices, soup.normals, soup.uv, sight.planes
    for i in range(count):
        face, x, y = fragments.where[i, 2], fragments.ray[i, 0], fragments.ray[i, 1]
        a, b, c = soup.faces[face, 0], soup.faces[face, 1], soup.faces[face, 2]
        # A sample on an edge may lie outside by a rounding error.
        first = max(planes[face, 0, 0] * x + planes[face, 0, 1] * y + planes[face, 0, 2], 0.0)
        second = max(planes[face, 1, 0] * x + planes[face, 1, 1] * y + planes[face, 1, 2], 0.0)
        third = max(planes[face, 2, 0] * x + planes[face, 2, 1] * y + planes[face, 2, 2], 0.0)
        depth = 1.0 / (first + second + third)
        first, second, third = first * depth, second * depth, third * depth
        ux, uy, uz = (
            vertices[b, 0] - vertices[a, 0],
            vertices[b, 1] - vertices[a, 1],
            vertices[b, 2] - vertices[a, 2],
        )
        vx, vy, vz = (
            vertices[c, 0] - vertices[a, 0],
            vertices[c, 1] - vertices[a, 1],
            vertices[c, 2] - vertices[a, 2],
        )
        px = vertices[a, 0] + second * ux + third * vx
        py = vertices[a, 1] + second * uy + third * vy
        pz = vertices[a, 2] + second * uz + third * vz
        sx, sy, sz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        ex, ey, ez = eye[0] - px, eye[1] - py, eye[2] - pz
        length = 1.0 / math.sqrt(ex * ex + ey * ey + ez * ez)
        ex, ey, ez = ex * length, ey * length, ez * length
        area = math.sqrt(sx * sx + sy * sy + sz * sz)
        facing = sx * ex + sy * ey + sz * ez
        owner = soup.owner[face]
        if soup.kind[owner, 2] == 0:
            sx = first * normals[a, 0] + second * normals[b, 0] + third * normals[c, 0]
            sy = first * normals[a, 1] + second * normals[b, 1] + third * normals[c, 1]
            sz = first * normals[a, 2] + second * normals[b, 2] + third * normals[c, 2]
        # Seen from inside, the other side of an open surface shows.
        size = math.copysign(1.0 / max(math.sqrt(sx * sx + sy * sy + sz * sz), 1e-12), facing)
        fragments.weights[i, 0] = first
        fragments.weights[i, 1] = second
        fragments.weights[i, 2] = third
        fragments.point[i, 0], fragments.point[i, 1], fragments.point[i, 2] = px, py, pz
        fragments.normal[i, 0] = sx * size
        fragments.normal[i, 1] = sy * size
        fragments.normal[i, 2] = sz * size
        fragments.line[i, 0], fragments.line[i, 1], fragments.line[i, 2] = ex, ey, ez
        if soup.kind[owner, 1] >= 0:
            fragments.uv[i, 0] = first * uv[a, 0] + second * uv[b, 0] + third * uv[c, 0]
            fragments.uv[i, 1] = first * uv[a, 1] + second * uv[b, 1] + third * uv[c, 1]
            flat = abs(
                (uv[b, 0] - uv[a, 0]) * (uv[c, 1] - uv[a, 1])
                - (uv[b, 1] - uv[a, 1]) * (uv[c, 0] - uv[a, 0])
            )
            footprint = depth * depth * pixel * pixel / max(abs(facing) / area, 0.05)
            fragments.uv[i, 2] = flat / max(area, 1e-12) * footprint


@inlined
def _reach(shadows: Any, soup: Soup, light: Light, count: int, fragments: Fragments) -> None:
    """How far the fragments turn to the main light, and how much of it reaches them."""
    lx, ly, lz = light.towards[0], light.towards[1], light.towards[2]
    spread = light.spread
    (heights, coarse, place, slide), (low, low_coarse, low_place, low_slide) = shadows
    for i in range(count):
        nx, ny, nz = fragments.normal[i, 0], fragments.normal[i, 1], fragments.normal[i, 2]
        turned = nx * lx + ny * ly + nz * lz
        fragments.turned[i] = turned
        reach = 0.0
        if turned > -soup.shine[soup.owner[fragments.where[i, 2]], 1]:
            # Off the surface by a little more than a cell, so that it does not shade itself.
            off = 0.002 + 0.002 * (1.0 - max(turned, 0.0))
            x = fragments.point[i, 0] + off * nx
            y = fragments.point[i, 1] + off * ny
            z = fragments.point[i, 2] + off * nz
            row, column = fragments.where[i, 0], fragments.where[i, 1]
            reach = lit(heights, coarse, place, slide, x, y, z, spread, row, column)
            if reach > 0.0:
                reach *= lit(low, low_coarse, low_place, low_slide, x, y, z, spread, row, column)
        fragments.reach[i] = reach


@inlined
def _open_up(openness: Any, count: int, fragments: Fragments) -> None:
    """How much of the surrounding light what stands and what hovers leaves to the fragments."""
    (still, still_place), (moving, moving_place) = openness
    for i in range(count):
        x, y, z = fragments.point[i, 0], fragments.point[i, 1], fragments.point[i, 2]
        share = 1.0
        if z < FADES:
            left, top, density = still_place
            share = open_share(still, (x - left) * density, (y - top) * density, z)
            left, top, density = moving_place
            if fragments.normal[i, 2] > 0.0:
                share *= open_share(moving, (x - left) * density, (y - top) * density, z)
        fragments.open[i] = share


@inlined
def _colour(soup: Soup, texels: Texels, count: int, fragments: Fragments) -> None:
    """The surface's own colour: material, tint and texture."""
    values, levels = texels.values, texels.levels  # taking them in the loop would count references
    for i in range(count):
        face = fragments.where[i, 2]
        owner = soup.owner[face]
        red, green, blue = soup.colour[owner, 0], soup.colour[owner, 1], soup.colour[owner, 2]
        if soup.kind[owner, 3] == 1:
            a, b, c = soup.faces[face, 0], soup.faces[face, 1], soup.faces[face, 2]
            p, q, r = fragments.weights[i, 0], fragments.weights[i, 1], fragments.weights[i, 2]
            red *= p * soup.tint[a, 0] + q * soup.tint[b, 0] + r * soup.tint[c, 0]
            green *= p * soup.tint[a, 1] + q * soup.tint[b, 1] + r * soup.tint[c, 1]
            blue *= p * soup.tint[a, 2] + q * soup.tint[b, 2] + r * soup.tint[c, 2]
        if soup.kind[owner, 1] >= 0:
            more_red, more_green, more_blue = look_up(
                values,
                levels,
                soup.kind[owner, 1],
                fragments.uv[i, 0],
                fragments.uv[i, 1],
                fragments.uv[i, 2],
            )
            red, green, blue = red * more_red, green * more_green, blue * more_blue
        fragments.colour[i, 0] = red
        fragments.colour[i, 1] = green
        fragments.colour[i, 2] = blue


@inlined
def _highlight(gloss: float, near: float) -> float:
    """Blinn's highlight; ``near``: cosine between normal and half vector."""
    sharp = 8.0 + 250.0 * gloss * gloss
    if near <= 0.0 or sharp * (1.0 - near) > 9.0:
        return 0.0
    return gloss * 0.06 * math.exp(-sharp * (1.0 - near)) * (sharp + 8.0) / 25.0


@inlined
def _shine(soup: Soup, light: Light, count: int, fragments: Fragments, rgb: Any) -> None:
    """Add up direct, surrounding and mirrored light into the picture."""
    lx, ly, lz = light.towards[0], light.towards[1], light.towards[2]
    for i in range(count):
        owner = soup.owner[fragments.where[i, 2]]
        gloss, wrap = soup.shine[owner, 0], soup.shine[owner, 1]
        nx, ny, nz = fragments.normal[i, 0], fragments.normal[i, 1], fragments.normal[i, 2]
        vx, vy, vz = fragments.line[i, 0], fragments.line[i, 1], fragments.line[i, 2]
        turned, reach = fragments.turned[i], fragments.reach[i]
        mirrored, up, highlight = 0.0, 0.0, 0.0
        if gloss > 0.02:
            cosine = min(max(nx * vx + ny * vy + nz * vz, 0.0), 1.0)
            away = 1.0 - cosine
            mirrored = gloss * (0.04 + 0.96 * away * away * away * away * away)  # after Schlick
            up = 2.0 * cosine * nz - vz
            if turned > 0.0 and reach > 0.0:
                hx, hy, hz = vx + lx, vy + ly, vz + lz
                near = (nx * hx + ny * hy + nz * hz) / math.sqrt(hx * hx + hy * hy + hz * hz)
                highlight = _highlight(gloss, near) * reach * turned
        row, column, share = fragments.where[i, 0], fragments.where[i, 1], fragments.share[i]
        for channel in range(3):
            # Red light travels furthest in skin.
            around = wrap * (1.0 if channel == 0 else (0.5 if channel == 1 else 0.35))
            direct = reach * max((turned + around) / (1.0 + around), 0.0)
            value = fragments.colour[i, channel] * (
                light.colour[channel] * direct
                + fragments.open[i] * _sky(nz, light.ambient[channel])
            )
            value += light.colour[channel] * highlight
            value += mirrored * _sky(up, light.ambient[channel])
            rgb[row, column, channel] += share * value
