"""The colour of what each pixel sees, in linear light.

The work goes in strips of a few rows, each through passes over its fragments: where they lie, how
much of the main light and of the surroundings' reaches them, and how the surface looks in it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.ambient import FADES, Openness, open_share
from replay.synth.render.compiled import compiled, inlined
from replay.synth.render.fragments import STRIP, Fragments, corner_weights, gather, place, split
from replay.synth.render.samples import Grid, Sight
from replay.synth.render.shadows import ShadowMap, lit
from replay.synth.render.soup import Soup
from replay.synth.render.textures import Texels, look_up
from replay.synth.world import Floats

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


def shade(
    samples: tuple[Grid, Grid],
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
    height, width = sight.edge.shape
    shot = Shot(
        np.zeros((height, width, 3), np.float32),
        np.zeros((height, width), np.uint8),
        np.full((height, width), np.inf, np.float32),
    )
    _shade_all(samples, sight, soup, texels, eye, light, shadows, openness, fragments, shot)
    return shot


@compiled
def _shade_all(
    samples: Any, sight: Sight, soup: Soup, texels: Texels, eye: Any, light: Light, shadows: Any,
    openness: Any, fragments: Fragments, shot: Shot,
) -> None:  # fmt: skip
    empty = np.zeros(shot.depth.shape, np.float32)
    grid = samples[0]
    for top in range(0, sight.face.shape[0], STRIP):
        start, stop = 0, gather(samples, sight, soup, top, fragments, empty)
        while start < stop:  # twice, where the edge of a shadow splits fragments
            place(sight, soup, eye[0], start, stop, fragments)
            _reach(shadows, soup, light, start, stop, fragments)
            start, stop = stop, split(grid, sight, start, stop, fragments)
        _open_up(openness, stop, fragments)
        _add_up(soup, light, stop, fragments)
        _paint(grid, sight, soup, texels, stop, fragments, shot.rgb)
        _finish(grid, sight, soup, eye[1], light.ambient, top, empty, shot)


@inlined
def _sky(up: float, ambient: float) -> float:
    """Light of one channel from far away in a direction that rises by ``up``, -1...1."""
    return ambient * (GROUND + (1.0 - GROUND) * (0.5 + 0.5 * up))


@inlined
def _finish(
    grid: Grid, sight: Sight, soup: Soup, rotation: Any, ambient: Any, top: int, empty: Any,
    shot: Shot,
) -> None:  # fmt: skip
    """Labels and depths of a strip, by the pixels' centres, and light where nothing is."""
    rgb, labels, depth, rays = shot.rgb, shot.labels, shot.depth, grid.rays
    seen, inverse, kind, owner = sight.face, sight.inverse, soup.kind, soup.owner
    height, width, _ = seen.shape
    for row in range(top, min(top + STRIP, height)):
        for column in range(width):
            if seen[row, column, 0] >= 0:
                labels[row, column] = kind[owner[seen[row, column, 0]], 0]
                depth[row, column] = 1.0 / inverse[row, column, 0]
            if empty[row, column] > 0.0:
                x, y = rays[row, column, 0, 0], rays[row, column, 0, 1]
                up = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2]
                up /= math.sqrt(x * x + y * y + 1.0)
                for channel in range(3):
                    rgb[row, column, channel] += (
                        0.7 * empty[row, column] * _sky(up, ambient[channel])
                    )


@inlined
def _reach(
    shadows: Any, soup: Soup, light: Light, start: int, stop: int, fragments: Fragments
) -> None:
    """How far the fragments turn to the main light, and how much of it reaches them."""
    lx, ly, lz = light.towards[0], light.towards[1], light.towards[2]
    spread = light.spread
    (heights, coarse, close, corner, slide), other = shadows
    low, low_coarse, low_close, low_corner, low_slide = other
    point, normal, where, result = (
        fragments.point, fragments.normal, fragments.where, fragments.reach,
    )  # fmt: skip
    shine, owner = soup.shine, soup.owner
    for i in range(start, stop):
        nx, ny, nz = normal[i, 0], normal[i, 1], normal[i, 2]
        turned = nx * lx + ny * ly + nz * lz
        reach = 0.0
        if turned > -shine[owner[where[i, 2]], 1]:
            # Off the surface by a little more than a cell, so that it does not shade itself.
            off = 0.002 + 0.002 * (1.0 - max(turned, 0.0))
            x, y, z = point[i, 0] + off * nx, point[i, 1] + off * ny, point[i, 2] + off * nz
            row, column = where[i, 0], where[i, 1]
            reach = lit(heights, coarse, close, corner, slide, x, y, z, spread, row, column)
            if reach > 0.0:
                reach *= lit(
                    low, low_coarse, low_close, low_corner, low_slide, x, y, z, spread, row, column
                )
        result[i] = reach


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
def _highlight(gloss: float, near: float) -> float:
    """Blinn's highlight; ``near``: cosine between normal and half vector."""
    sharp = 8.0 + 250.0 * gloss * gloss
    if near <= 0.0 or sharp * (1.0 - near) > 9.0:
        return 0.0
    return gloss * 0.06 * math.exp(-sharp * (1.0 - near)) * (sharp + 8.0) / 25.0


@inlined
def _add_up(soup: Soup, light: Light, count: int, fragments: Fragments) -> None:
    """Direct and surrounding light on the fragments, and what they mirror of both."""
    shine, owner = soup.shine, soup.owner
    where, _, _, _, _, normal, line, reaches, opens, lit_by, shines, cosines = fragments
    towards, lamp, ambient, _ = light
    lx, ly, lz = towards[0], towards[1], towards[2]
    for i in range(count):
        body = owner[where[i, 2]]
        gloss, wrap = shine[body, 0], shine[body, 1]
        nx, ny, nz = normal[i, 0], normal[i, 1], normal[i, 2]
        vx, vy, vz = line[i, 0], line[i, 1], line[i, 2]
        turned, reach = nx * lx + ny * ly + nz * lz, reaches[i]
        cosine = min(max(nx * vx + ny * vy + nz * vz, 0.0), 1.0)
        mirrored, up, highlight = 0.0, 0.0, 0.0
        if gloss > 0.02:
            away = 1.0 - cosine
            mirrored = gloss * (0.04 + 0.96 * away * away * away * away * away)  # after Schlick
            up = 2.0 * cosine * nz - vz
            if turned > 0.0 and reach > 0.0:
                hx, hy, hz = vx + lx, vy + ly, vz + lz
                near = (nx * hx + ny * hy + nz * hz) / math.sqrt(hx * hx + hy * hy + hz * hz)
                highlight = _highlight(gloss, near) * reach * turned
        cosines[i] = cosine
        for channel in range(3):
            # Red light travels furthest in skin.
            around = wrap * (1.0 if channel == 0 else (0.5 if channel == 1 else 0.35))
            direct = lamp[channel] * reach * max((turned + around) / (1.0 + around), 0.0)
            lit_by[i, channel] = direct + opens[i] * _sky(nz, ambient[channel])
            shines[i, channel] = lamp[channel] * highlight + mirrored * _sky(up, ambient[channel])


@inlined
def _paint(
    grid: Grid, sight: Sight, soup: Soup, texels: Texels, count: int, fragments: Fragments,
    rgb: Any,
) -> None:  # fmt: skip
    """Add the fragments into the picture: their light on the surfaces' own colours."""
    rays, seen, planes = grid.rays, sight.face, sight.planes
    # Taking arrays out of their tuples in the loop would count references each time.
    _, _, uv, tint, faces, owner, stretch, colours, _, kind = soup
    values, levels = texels
    where, wide, shares, ray, _, _, _, _, _, lit_by, shines, cosines = fragments
    pixel = grid.lens[1] / grid.lens[0]
    for i in range(count):
        face, row, column, share = where[i, 2], where[i, 0], where[i, 1], shares[i]
        if share == 0.0:
            continue
        x, y = float(ray[i, 0]), float(ray[i, 1])
        body = owner[face]
        texture, tinted = kind[body, 1], kind[body, 3] == 1
        for part in range(4 if wide[i] == 1 else 1):
            if wide[i] == 1:
                row, column = where[i, 0] + part // 2, where[i, 1] + part % 2
                face = seen[row, column, 0]
                x, y = float(rays[row, column, 0, 0]), float(rays[row, column, 0, 1])
            red, green, blue = colours[body, 0], colours[body, 1], colours[body, 2]
            if tinted or texture >= 0:
                a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
                p, q, r, depth = corner_weights(planes, face, x, y)
            if tinted:
                red *= p * tint[a, 0] + q * tint[b, 0] + r * tint[c, 0]
                green *= p * tint[a, 1] + q * tint[b, 1] + r * tint[c, 1]
                blue *= p * tint[a, 2] + q * tint[b, 2] + r * tint[c, 2]
            if texture >= 0:
                u = p * uv[a, 0] + q * uv[b, 0] + r * uv[c, 0]
                v = p * uv[a, 1] + q * uv[b, 1] + r * uv[c, 1]
                area = (depth * pixel) ** 2 / max(cosines[i], 0.05)
                more_red, more_green, more_blue = look_up(
                    values, levels, texture, u, v, stretch[face] * area
                )
                red, green, blue = red * more_red, green * more_green, blue * more_blue
            rgb[row, column, 0] += share * (red * lit_by[i, 0] + shines[i, 0])
            rgb[row, column, 1] += share * (green * lit_by[i, 1] + shines[i, 1])
            rgb[row, column, 2] += share * (blue * lit_by[i, 2] + shines[i, 2])
