"""The colour of what each pixel sees, in linear light."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.synth.render.compiled import compiled, inlined
from replay.synth.render.raster import Grid, Sight
from replay.synth.render.shadows import ShadowMap, lit
from replay.synth.render.soup import Soup
from replay.synth.render.textures import Texels, look_up
from replay.synth.world import Floats


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


GROUND = 0.45
"""Light from below, as a share of that from above."""


def shade(
    grid: Grid,
    sight: Sight,
    soup: Soup,
    texels: Texels,
    eye: tuple[Floats, Floats],
    light: Light,
    shadows: tuple[ShadowMap, ShadowMap],
) -> Shot:
    """Colour every pixel; ``eye`` is the camera's position and rotation."""
    height, width = grid.rays.shape[:2]
    shot = Shot(
        np.zeros((height, width, 3), np.float32),
        np.zeros((height, width), np.uint8),
        np.full((height, width), np.inf, np.float32),
    )
    _shade_all(grid, sight, soup, texels, eye, light, shadows, shot)
    return shot


@inlined
def _diffuse(turned: float, wrap: float) -> float:
    return max((turned + wrap) / (1.0 + wrap), 0.0)


@inlined
def _blend(values: Any, face: Any, weights: Any, out: Any) -> None:
    for axis in range(out.shape[0]):
        out[axis] = (
            weights[0] * values[face[0], axis]
            + weights[1] * values[face[1], axis]
            + weights[2] * values[face[2], axis]
        )


@inlined
def _unit(vector: Any) -> None:
    length = math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    if length > 0.0:
        for axis in range(3):
            vector[axis] /= length


@inlined
def _cross(vertices: Any, face: Any, out: Any) -> None:
    ax = vertices[face[1], 0] - vertices[face[0], 0]
    ay = vertices[face[1], 1] - vertices[face[0], 1]
    az = vertices[face[1], 2] - vertices[face[0], 2]
    bx = vertices[face[2], 0] - vertices[face[0], 0]
    by = vertices[face[2], 1] - vertices[face[0], 1]
    bz = vertices[face[2], 2] - vertices[face[0], 2]
    out[0] = ay * bz - az * by
    out[1] = az * bx - ax * bz
    out[2] = ax * by - ay * bx


@inlined
def _texture_share(
    soup: Soup, face: Any, area: float, depth: float, grazing: float, grid: Grid
) -> float:
    """Share of the texture's area that a pixel covers; ``area``: twice the face's, in metres."""
    a, b, c = soup.uv[face[0]], soup.uv[face[1]], soup.uv[face[2]]
    flat = abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
    pixel = depth * grid.lens[1] / grid.lens[0]
    return float(flat / max(area, 1e-12) * pixel * pixel / max(grazing, 0.05))


@inlined
def _surroundings(up: float, light: Light, out: Any) -> None:
    """Light from far away in a direction that rises by ``up``, -1...1, into ``out``."""
    share = 0.5 + 0.5 * up
    for channel in range(3):
        out[channel] = light.ambient[channel] * (GROUND + (1.0 - GROUND) * share)


@inlined
def _shade_face(
    number: int,
    ray: Any,
    turn: float,
    grid: Grid,
    sight: Sight,
    soup: Soup,
    texels: Texels,
    eye: Any,
    light: Light,
    shadows: Any,
    room: Any,
    out: Any,
) -> None:
    """The colour of a face where a ray ``(x, y)`` of the camera meets it, into ``out``."""
    weights, point, normal, side, albedo, sky = room[0], room[1], room[2], room[3], room[4], room[5]
    face = soup.faces[number]
    planes = sight.planes[number]
    total = 0.0
    for corner in range(3):
        value = planes[corner, 0] * ray[0] + planes[corner, 1] * ray[1] + planes[corner, 2]
        weights[corner] = max(value, 0.0)
        total += weights[corner]
    for corner in range(3):
        weights[corner] /= total
    depth = 1.0 / total
    position = eye[0]
    _blend(soup.vertices, face, weights, point)
    body = soup.owner[number]
    _cross(soup.vertices, face, side)
    area = math.sqrt(side[0] ** 2 + side[1] ** 2 + side[2] ** 2)
    facing, grazing, length = 0.0, 0.0, 0.0
    for axis in range(3):
        sight_line = position[axis] - point[axis]
        facing += side[axis] * sight_line
        length += sight_line * sight_line
    length = math.sqrt(length)
    grazing = abs(facing) / max(area * length, 1e-12)
    if soup.kind[body, 2] == 1:
        for axis in range(3):
            normal[axis] = side[axis]
    else:
        _blend(soup.normals, face, weights, normal)
    _unit(normal)
    if facing < 0.0:  # seen from inside: an open surface has two sides
        for axis in range(3):
            normal[axis] = -normal[axis]
    for channel in range(3):
        albedo[channel] = soup.colour[body, channel]
    if soup.kind[body, 3] == 1:
        _blend(soup.tint, face, weights, sky)
        for channel in range(3):
            albedo[channel] *= sky[channel]
    if soup.kind[body, 1] >= 0:
        share = _texture_share(soup, face, area, depth, grazing, grid)
        _blend(soup.uv, face, weights, side[:2])
        look_up(texels, soup.kind[body, 1], side[0], side[1], share, sky)
        for channel in range(3):
            albedo[channel] *= sky[channel]
    gloss, wrap = soup.shine[body, 0], soup.shine[body, 1]
    turned = (
        normal[0] * light.towards[0] + normal[1] * light.towards[1] + normal[2] * light.towards[2]
    )
    reach = 0.0
    if turned > -wrap:
        # Off the surface by a little more than a cell, so that it does not shade itself.
        off = 0.002 + 0.002 * (1.0 - max(turned, 0.0))
        x, y, z = point[0] + off * normal[0], point[1] + off * normal[1], point[2] + off * normal[2]
        reach = lit(shadows[0], x, y, z, light.spread, turn)
        if reach > 0.0:
            reach *= lit(shadows[1], x, y, z, light.spread, turn)
    _surroundings(normal[2], light, sky)
    for channel in range(3):
        # Red light travels furthest in skin.
        round_it = wrap * (1.0 if channel == 0 else (0.5 if channel == 1 else 0.35))
        direct = light.colour[channel] * _diffuse(turned, round_it) * reach
        out[channel] = albedo[channel] * (direct + sky[channel])
    if gloss > 0.02:
        _add_gloss(gloss, turned, reach, normal, point, position, length, light, side, sky, out)


@inlined
def _add_gloss(
    gloss: float,
    turned: float,
    reach: float,
    normal: Any,
    point: Any,
    position: Any,
    length: float,
    light: Light,
    half: Any,
    sky: Any,
    out: Any,
) -> None:
    """Blinn's highlight of the main light, and the mirrored surroundings after Schlick."""
    cosine = 0.0
    for axis in range(3):
        cosine += normal[axis] * (position[axis] - point[axis]) / length
    cosine = min(max(cosine, 0.0), 1.0)
    away = 1.0 - cosine
    mirrored = 0.04 + 0.96 * away * away * away * away * away
    up = 2.0 * cosine * normal[2] - (position[2] - point[2]) / length
    _surroundings(up, light, sky)
    sharp = 8.0 + 250.0 * gloss * gloss
    strength = 0.0
    if turned > 0.0 and reach > 0.0:
        for axis in range(3):
            half[axis] = (position[axis] - point[axis]) / length + light.towards[axis]
        _unit(half)
        near = half[0] * normal[0] + half[1] * normal[1] + half[2] * normal[2]
        if sharp * (1.0 - near) < 9.0:
            strength = math.exp(-sharp * (1.0 - near)) * (sharp + 8.0) / 25.0 * 0.04
            strength *= reach * turned * gloss * 1.5
    for channel in range(3):
        out[channel] += light.colour[channel] * strength + gloss * mirrored * sky[channel]


@compiled
def _shade_all(
    grid: Grid,
    sight: Sight,
    soup: Soup,
    texels: Texels,
    eye: Any,
    light: Light,
    shadows: Any,
    shot: Shot,
) -> None:
    height, width, samples = sight.face.shape
    room = np.empty((6, 3))
    out = np.empty(3)
    rotation = eye[1]
    for row in range(height):
        for column in range(width):
            first = sight.face[row, column, 0]
            if first >= 0:
                shot.labels[row, column] = soup.kind[soup.owner[first], 0]
                shot.depth[row, column] = 1.0 / sight.inverse[row, column, 0]
            # Interleaved gradient noise (Jimenez 2014): neighbours differ, blocks do not clump.
            turn = 6.2831853 * (
                (52.9829189 * ((0.06711056 * column + 0.00583715 * row) % 1.0)) % 1.0
            )
            for sample in range(samples):
                number = sight.face[row, column, sample]
                again, times = False, 0
                for other in range(samples):
                    if sight.face[row, column, other] == number:
                        times += 1
                        again = again or other < sample
                if again:
                    continue
                ray = grid.rays[row, column, sample]
                if number < 0:
                    up = rotation[2, 0] * ray[0] + rotation[2, 1] * ray[1] + rotation[2, 2]
                    up /= math.sqrt(ray[0] ** 2 + ray[1] ** 2 + 1.0)
                    _surroundings(up, light, out)
                    for channel in range(3):
                        out[channel] *= 0.7
                else:
                    _shade_face(
                        number, ray, turn, grid, sight, soup, texels, eye, light, shadows, room, out
                    )
                part = times / samples
                for channel in range(3):
                    shot.rgb[row, column, channel] += part * out[channel]
