"""The table, the room around it, what lies about, and the light."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from ..world import CLUTTER, ROOM, TABLE, Body, Floats, Lighting, Material, Mesh, Rgb
from .kinds import Setting
from .shapes import cut_out, grid_faces, joined, mesh, moved, placed, rounded_box, turned
from .smoothing import smooth
from .surfaces import Surface, draw_floor, draw_wall, noise

_CELL = 0.055
"""Side of the table's cells: the lens bends straight edges no further than this, metres."""

_FLOOR = -0.74
_PALE = 1.25
"""Walls get light from more lamps and windows than the table's one."""
_CEILING = 1.85


def make_table(rng: np.random.Generator, surface: Surface) -> tuple[Body, ...]:
    """A table whose nearest edge runs along ``y = 0``."""
    wide, deep = float(rng.uniform(1.25, 1.8)), float(rng.uniform(0.82, 1.05))
    thick = float(rng.uniform(0.02, 0.04))
    top = panel(
        (-wide / 2, 0.0, 0.0), (wide, 0.0, 0.0), (0.0, deep, 0.0), cell=_CELL,
        period=surface.period, shift=tuple(rng.uniform(0, 1, 2)),
    )  # fmt: skip
    sides = [
        panel((-wide / 2, 0.0, -thick), (wide, 0.0, 0.0), (0.0, 0.0, thick), cell=_CELL),
        panel((wide / 2, deep, -thick), (-wide, 0.0, 0.0), (0.0, 0.0, thick), cell=_CELL),
        panel((wide / 2, 0.0, -thick), (0.0, deep, 0.0), (0.0, 0.0, thick), cell=_CELL),
        panel((-wide / 2, deep, -thick), (0.0, -deep, 0.0), (0.0, 0.0, thick), cell=_CELL),
    ]
    legs = [
        moved(rounded_box((0.05, 0.05, -_FLOOR - thick), 0.004, 1), x, y, _FLOOR)
        for x in (-wide / 2 + 0.08, wide / 2 - 0.08)
        for y in (0.08, deep - 0.08)
    ]
    edge: Rgb = tuple(0.72 * value for value in surface.colour)  # type: ignore[assignment]
    return (
        Body(
            mesh=top,
            material=Material(colour=(1, 1, 1), texture=surface.texture, gloss=surface.gloss),
            label=TABLE,
        ),
        Body(
            mesh=smooth(joined(*sides)),
            material=Material(colour=edge, gloss=surface.gloss),
            label=TABLE,
        ),
        Body(mesh=smooth(joined(*legs)), material=Material(colour=(0.2, 0.2, 0.2)), label=ROOM),
    )


def panel(
    corner: tuple[float, float, float] | Floats,
    along: tuple[float, float, float] | Floats,
    up: tuple[float, float, float] | Floats,
    *,
    cell: float,
    period: float | None = None,
    shift: tuple[float, ...] = (0.0, 0.0),
    tint: float = 1.0,
) -> Mesh:
    """A rectangle of cells, seen from the side that ``along`` × ``up`` points to.

    Args:
        period: Metres after which the texture repeats; None: the texture fills the rectangle.
        tint: Factor on its colour; above 1 it shines.
    """
    start, one, two = (np.asarray(vector, np.float64) for vector in (corner, along, up))
    wide, high = float(np.linalg.norm(one)), float(np.linalg.norm(two))
    columns, rows = max(1, math.ceil(wide / cell)), max(1, math.ceil(high / cell))
    u, v = np.meshgrid(np.linspace(0, 1, columns + 1), np.linspace(0, 1, rows + 1))
    points = start + u[..., None] * one + v[..., None] * two
    if period is None:
        uv = np.stack([u, 1 - v], -1)
    else:
        uv = np.stack([u * wide / period + shift[0], shift[1] - v * high / period], -1)
    flat = mesh(points.reshape(-1, 3), grid_faces(rows + 1, columns + 1), uv.reshape(-1, 2))
    normal = np.cross(one, two)
    normal /= np.linalg.norm(normal)
    count = len(flat.vertices)
    return Mesh(
        vertices=flat.vertices,
        faces=flat.faces,
        normals=np.tile(normal.astype(np.float32), (count, 1)),
        uv=flat.uv,
        tint=None if tint == 1.0 else np.full((count, 3), tint, np.float32),
    )


_WALLS: tuple[Rgb, ...] = (
    (0.82, 0.80, 0.76), (0.72, 0.74, 0.76), (0.62, 0.58, 0.52), (0.55, 0.62, 0.66),
    (0.75, 0.68, 0.58), (0.48, 0.5, 0.48), (0.86, 0.85, 0.83),
)  # fmt: skip


def make_room(rng: np.random.Generator, setting: Setting) -> tuple[Body, ...]:
    """Floor, walls, and what stands before them, out of focus."""
    left, right = -float(rng.uniform(1.2, 2.8)), float(rng.uniform(1.2, 2.8))
    back, front = float(rng.uniform(1.5, 3.6)), -1.4
    floor = draw_floor(rng, setting)
    wall: Rgb = _WALLS[int(rng.integers(len(_WALLS)))]
    plaster = Material(colour=(1, 1, 1), texture=draw_wall(rng, wall), gloss=0.03)
    high, period = _CEILING - _FLOOR, float(rng.uniform(1.1, 1.9))
    wide, deep = right - left, back - front
    up = (0.0, 0.0, high)
    sides = (
        ((left, back, _FLOOR), (wide, 0.0, 0.0)),
        ((left, front, _FLOOR), (0.0, deep, 0.0)),
        ((right, back, _FLOOR), (0.0, -deep, 0.0)),
    )
    walls = [panel(at, along, up, cell=0.3, period=period, tint=_PALE) for at, along in sides]
    ground = panel(
        (left, front, _FLOOR), (wide, 0, 0), (0, deep, 0), cell=0.22, period=floor.period
    )
    return (
        Body(mesh=smooth(joined(*walls)), material=plaster, label=ROOM),
        Body(
            mesh=ground,
            material=Material(colour=(1, 1, 1), texture=floor.texture, gloss=floor.gloss),
            label=ROOM,
        ),
        *_background(rng, (left, right, back)),
    )


def _background(rng: np.random.Generator, room: tuple[float, float, float]) -> list[Body]:
    """Windows, posters, screens and shelves along the walls."""
    left, right, back = room
    bodies = []
    x = left + float(rng.uniform(0.1, 0.4))
    while x < right - 0.5:
        wide = float(min(rng.uniform(0.4, 1.1), right - x - 0.1))
        style = str(rng.choice(["window", "poster", "screen", "shelf", "shelf", "bare"]))
        if style == "shelf":
            bodies.extend(_shelf(rng, x, back, wide))
        elif style != "bare":
            bodies.append(_picture_on_wall(rng, style, x, back, wide))
        x += wide + float(rng.uniform(0.05, 0.5))
    for side, x in ((1.0, left), (-1.0, right)):
        if rng.random() < 0.7:
            bodies.append(_on_side_wall(rng, side, x, back))
    return bodies


def _picture_on_wall(
    rng: np.random.Generator, style: str, x: float, back: float, wide: float
) -> Body:
    low = float(rng.uniform(-0.1, 0.5))
    high = float(min(wide * rng.uniform(0.6, 1.3), _CEILING - low - 0.1))
    shape = panel(
        (x, back - 0.02, low), (wide, 0, 0), (0, 0, high), cell=0.25,
        tint=_glow(rng, style),
    )  # fmt: skip
    return _hung(rng, style, shape)


def _glow(rng: np.random.Generator, style: str) -> float:
    """How much lighter than what hangs in the same place: a window by day is beyond white."""
    return float(rng.uniform(1.5, 6.0)) if style == "window" else 1.0


def _on_side_wall(rng: np.random.Generator, side: float, x: float, back: float) -> Body:
    """A picture or window on the left (``side`` = 1) or right wall."""
    style = str(rng.choice(["window", "poster"]))
    long = float(rng.uniform(0.5, 1.2))
    start = float(rng.uniform(-0.2, max(0.0, back - long - 0.2)))
    y, way = (start, long) if side > 0 else (start + long, -long)
    shape = panel(
        (x + 0.02 * side, y, float(rng.uniform(0.0, 0.4))), (0, way, 0),
        (0, 0, float(rng.uniform(0.5, 1.1))), cell=0.25, tint=_glow(rng, style),
    )  # fmt: skip
    return _hung(rng, style, shape)


def _hung(rng: np.random.Generator, style: str, shape: Mesh) -> Body:
    texture = {"window": _window, "poster": _poster, "screen": _screen}[style](rng)
    return Body(
        mesh=shape, material=Material(colour=(1, 1, 1), texture=texture, gloss=0.0), label=ROOM
    )


def _window(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Bright sky, dim trees or houses, and a frame."""
    row = np.linspace(0, 1, 64)[:, None, None]
    top, low = np.array([225, 238, 250]), rng.uniform(110, 215, 3)
    blur = cv2.GaussianBlur(rng.uniform(-30, 30, (64, 64, 3)), (0, 0), 5)
    picture = top * (1 - row) + low * row + 3 * blur * row
    picture[:2] = picture[-2:] = picture[:, :2] = picture[:, -2:] = 90
    picture[:, 31:33] = 100
    return np.clip(picture, 0, 255).astype(np.uint8)


def _poster(rng: np.random.Generator) -> NDArray[np.uint8]:
    """A few blurred shapes on a ground."""
    picture = np.empty((64, 64, 3), np.float64)
    picture[:] = rng.uniform(30, 235, 3)
    for _ in range(int(rng.integers(2, 7))):
        x, y = (int(v) for v in rng.integers(0, 64, 2))
        tone = tuple(float(v) for v in rng.uniform(20, 240, 3))
        if rng.random() < 0.5:
            cv2.circle(picture, (x, y), int(rng.integers(5, 22)), tone, -1)
        else:
            w, h = (int(v) for v in rng.integers(6, 40, 2))
            cv2.rectangle(picture, (x - w // 2, y - h // 2), (x + w // 2, y + h // 2), tone, -1)
    return np.clip(cv2.GaussianBlur(picture, (0, 0), 1.6), 0, 255).astype(np.uint8)


def _screen(rng: np.random.Generator) -> NDArray[np.uint8]:
    """A monitor: a frame, and lines of something."""
    picture = np.full((64, 96, 3), 24.0)
    dark = rng.random() < 0.5
    picture[4:-4, 4:-4] = rng.uniform(30, 60, 3) if dark else rng.uniform(190, 235, 3)
    for y in range(9, 56, 4):
        length = int(rng.integers(8, 70))
        picture[y : y + 2, 10 : 10 + length] = rng.uniform(60, 200, 3)
    return np.clip(cv2.GaussianBlur(picture, (0, 0), 1.2), 0, 255).astype(np.uint8)


def _shelf(rng: np.random.Generator, x: float, back: float, wide: float) -> list[Body]:
    """Boards with boxes and books on them."""
    boards, things, tints = [], [], []
    levels = np.sort(rng.uniform(-0.3, 1.3, int(rng.integers(1, 4))))
    for z in levels:
        boards.append(
            moved(rounded_box((wide, 0.24, 0.025), 0.003, 1), x + wide / 2, back - 0.13, z)
        )
        at = x + 0.03
        while at < x + wide - 0.08:
            w, h = float(rng.uniform(0.025, 0.16)), float(rng.uniform(0.08, 0.26))
            if rng.random() < 0.75:
                box = moved(
                    rounded_box((w * 0.94, 0.16, h), 0.004, 1), at + w / 2, back - 0.12, z + 0.025
                )
                things.append(box)
                tints.append(np.tile(rng.uniform(0.12, 0.95, 3), (len(box.vertices), 1)))
            at += w
    wood: Rgb = _WALLS[int(rng.integers(len(_WALLS)))]
    bodies = [
        Body(mesh=smooth(joined(*boards)), material=Material(colour=wood, gloss=0.1), label=ROOM)
    ]
    if things:
        whole = joined(*things)
        tinted = Mesh(
            vertices=whole.vertices,
            faces=whole.faces,
            tint=np.concatenate(tints).astype(np.float32),
        )
        bodies.append(Body(mesh=smooth(tinted), material=Material(colour=(1, 1, 1)), label=ROOM))
    return bodies


def make_litter(
    rng: np.random.Generator, count: tuple[int, int], free: NDArray[np.float64]
) -> tuple[Body, ...]:
    """Flat things that nobody asks for: papers, napkins, coasters, crumbs.

    Args:
        free: Middles of places where they may lie, shape ``(n, 2)``.
    """
    bodies: list[Body] = []
    for _ in range(int(rng.integers(count[0], count[1] + 1))):
        if not len(free):
            break
        x, y = free[int(rng.integers(len(free)))]
        style = str(rng.choice(["paper", "napkin", "coaster", "crumbs"]))
        z = 0.0006 + 0.0007 * len(bodies)
        if style == "crumbs":
            bodies.append(_crumbs(rng, float(x), float(y)))
        else:
            bodies.append(_flat_thing(rng, style, float(x), float(y), z))
    return tuple(bodies)


_COASTERS: tuple[Rgb, ...] = ((0.62, 0.47, 0.32), (0.35, 0.33, 0.31), (0.2, 0.2, 0.21))
"""Cork, felt and slate: nothing that is taken for a plate."""


def _flat_thing(rng: np.random.Generator, style: str, x: float, y: float, z: float) -> Body:
    if style == "coaster":
        angle = np.arange(28) * (2 * np.pi / 28)
        disc = cut_out(0.048 * np.stack([np.cos(angle), np.sin(angle)], 1), 0.003)
        tone = _COASTERS[int(rng.integers(len(_COASTERS)))]
        return Body(
            mesh=smooth(moved(disc, x, y, z)), material=Material(colour=tone), label=CLUTTER
        )
    wide, high = (0.148, 0.21) if style == "paper" else (0.13, 0.13)
    sheet = panel((-wide / 2, -high / 2, z), (wide, 0, 0), (0, high, 0), cell=0.05)
    texture = _page(rng) if style == "paper" else _napkin(rng)
    sheet = placed(turned(sheet, "z", float(rng.uniform(-180, 180))), offset=(x, y, 0.0))
    return Body(
        mesh=sheet, material=Material(colour=(1, 1, 1), texture=texture, gloss=0.02), label=CLUTTER
    )


def _page(rng: np.random.Generator) -> NDArray[np.uint8]:
    """A page with lines that look like writing."""
    picture = np.full((210, 148, 3), float(rng.uniform(215, 245)))
    for y in range(22, 190, int(rng.integers(7, 12))):
        if rng.random() < 0.85:
            x = 14
            end = int(rng.integers(60, 136))
            while x < end:
                length = int(rng.integers(3, 16))
                picture[y : y + 2, x : min(x + length, end)] = float(rng.uniform(50, 110))
                x += length + 3
    return cv2.GaussianBlur(picture, (0, 0), 0.5).astype(np.uint8)


def _napkin(rng: np.random.Generator) -> NDArray[np.uint8]:
    tone = rng.uniform(130, 240, 3)
    folds = noise(rng, coarse=(0.8, 0.8), falloff=1.8, size=64)
    picture = np.clip(tone * (1 + 0.05 * folds[..., None]), 0, 255)
    picture[31:33] *= 0.88
    picture[:, 31:33] *= 0.88
    return picture.astype(np.uint8)


def _crumbs(rng: np.random.Generator, x: float, y: float) -> Body:
    bits = []
    for _ in range(int(rng.integers(6, 22))):
        size = float(rng.uniform(0.001, 0.004))
        off = rng.normal(0, 0.03, 2)
        bit = turned(rounded_box((size, size * 0.8, size * 0.6), size * 0.2, 1), "z", 40.0)
        bits.append(moved(bit, x + float(off[0]), y + float(off[1]), 0.0))
    tone = ((0.6, 0.42, 0.22), (0.25, 0.18, 0.12), (0.8, 0.75, 0.65))[int(rng.integers(3))]
    return Body(mesh=smooth(joined(*bits)), material=Material(colour=tone), label=CLUTTER)


def draw_lighting(rng: np.random.Generator) -> Lighting:
    """A window at a side, a lamp above, or a bit of both."""
    elevation = float(rng.uniform(math.radians(28), math.radians(82)))
    bearing = float(rng.uniform(0, 2 * math.pi))
    towards = np.array(
        [
            math.cos(elevation) * math.cos(bearing),
            math.cos(elevation) * math.sin(bearing),
            math.sin(elevation),
        ]
    )
    main = warmth(float(rng.uniform(2900, 7500)))
    around = warmth(float(rng.uniform(3800, 8000)))
    share = float(rng.uniform(0.25, 0.9))
    return Lighting(
        towards=towards,
        colour=main,
        ambient=(share * around[0], share * around[1], share * around[2]),
        softness=float(rng.beta(1.6, 1.3)),
    )


def warmth(kelvin: float) -> Rgb:
    """Colour of a lamp, linear, green being 1: warm below 5500 K, cool above; a rough fit.

    The camera's white balance takes away most of it, so half of the way is gone here already.
    """
    off = math.log(kelvin / 5500.0)
    return math.exp(-0.42 * off), 1.0, math.exp(0.62 * off)
