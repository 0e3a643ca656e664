"""Printed labels: words drawn into textures, and the thin sheets that carry them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ..world import Material, Mesh, Rgb
from .kinds import Part
from .shapes import grid_faces, mesh, placed, rotation

_FONTS = (
    cv2.FONT_HERSHEY_DUPLEX,
    cv2.FONT_HERSHEY_TRIPLEX,
    cv2.FONT_HERSHEY_SIMPLEX,
    cv2.FONT_HERSHEY_COMPLEX,
)
_LIFT = 0.0004
"""How far a label lies above what it is stuck to, metres."""


def bytes_of(rgb: Rgb) -> tuple[int, int, int]:
    """The colour as 0...255."""
    red, green, blue = (round(255 * value) for value in rgb)
    return red, green, blue


def ink_on(ground: Rgb) -> Rgb:
    """Black or white, whichever is read more easily."""
    light = 0.3 * ground[0] + 0.59 * ground[1] + 0.11 * ground[2]
    return (0.06, 0.06, 0.08) if light > 0.45 else (0.95, 0.95, 0.93)


def label_picture(
    rng: np.random.Generator,
    text: str,
    *,
    ground: Rgb,
    ink: Rgb | None = None,
    ratio: float = 1.0,
    height: int = 160,
    plain: bool = False,
    fill: float = 0.88,
) -> NDArray[np.uint8]:
    """A label with ``text``, one line a word group, ``ratio`` times as wide as high.

    Args:
        plain: Nothing but the words; else a frame, bands and a mark may be drawn round them.
        fill: Share of the width that the longest line takes; less where it bends away.
    """
    size = (height, max(8, round(height * ratio)))
    picture = np.empty((*size, 3), np.uint8)
    picture[:] = bytes_of(ground)
    ink = ink_on(ground) if ink is None else ink
    top, bottom = 0.08, 0.92
    if not plain:
        accent = tuple(float(v) for v in rng.uniform(0.1, 0.9, 3))
        band = bytes_of((accent[0], accent[1], accent[2]))
        style = int(rng.integers(4))
        if style == 0:
            picture[: int(0.16 * height)] = band
            picture[-int(0.1 * height) :] = band
            top, bottom = 0.2, 0.86
        elif style == 1:
            cv2.circle(
                picture, (size[1] // 2, int(0.72 * height)), int(0.18 * height), band, -1,
                cv2.LINE_AA,
            )  # fmt: skip
            bottom = 0.52
        elif style == 2:
            inset = height // 24 + 2
            cv2.rectangle(
                picture, (inset, inset), (size[1] - 1 - inset, height - 1 - inset), band, 3
            )
            top, bottom = 0.14, 0.86
    _write(
        picture, text, bytes_of(ink), _FONTS[int(rng.integers(len(_FONTS)))], (top, bottom), fill
    )
    return picture


def _write(
    picture: NDArray[np.uint8],
    text: str,
    ink: tuple[int, int, int],
    font: int,
    rows: tuple[float, float],
    fill: float,
) -> None:
    """Write the lines of ``text`` as large as fits between two heights (shares of the whole)."""
    lines = text.split("\n")
    high, wide = picture.shape[:2]
    room = (rows[1] - rows[0]) * high / len(lines)
    widest = max(cv2.getTextSize(line, font, 1.0, 1)[0][0] for line in lines)
    scale = min(fill * wide / widest, 0.72 * room / 22.0)
    stroke = max(1, round(scale * 2.2))
    for i, line in enumerate(lines):
        width = cv2.getTextSize(line, font, scale, stroke)[0][0]
        base = rows[0] * high + room * (i + 0.5) + 11.0 * scale
        cv2.putText(
            picture, line, (round((wide - width) / 2), round(base)), font, scale, ink, stroke,
            cv2.LINE_AA,
        )  # fmt: skip


def sheet(width: float, height: float, cells: int = 1) -> Mesh:
    """A rectangle in the ``xz`` plane about the origin, seen from ``-y``."""
    x = np.linspace(-width / 2, width / 2, cells + 1)
    z = np.linspace(-height / 2, height / 2, cells + 1)
    grid_x, grid_z = np.meshgrid(x, z)
    points = np.stack([grid_x, np.zeros_like(grid_x), grid_z], -1).reshape(-1, 3)
    uv = np.stack([grid_x / width + 0.5, 0.5 - grid_z / height], -1).reshape(-1, 2)
    return mesh(points, grid_faces(cells + 1, cells + 1), uv)


def front_label(
    picture: NDArray[np.uint8], width: float, height: float, *, y: float, z: float,
    gloss: float = 0.2,
) -> Part:  # fmt: skip
    """A label on an upright face at ``-y``; ``z`` is its middle."""
    shape = placed(sheet(width, height), offset=(0.0, -abs(y) - _LIFT, z))
    return Part(mesh=shape, material=_print(picture, gloss))


def top_label(
    picture: NDArray[np.uint8], width: float, height: float, *, z: float,
    at: tuple[float, float] = (0.0, 0.0), gloss: float = 0.2,
) -> Part:  # fmt: skip
    """A label lying on top at height ``z``, to be read from ``-y``."""
    shape = placed(
        sheet(width, height), rotation=rotation("x", -90), offset=(at[0], at[1], z + _LIFT)
    )
    return Part(mesh=shape, material=_print(picture, gloss))


def band_label(
    picture: NDArray[np.uint8], radius: float, low: float, high: float, *, times: int = 2,
    segments: int = 36, gloss: float = 0.25,
) -> Part:  # fmt: skip
    """A label all round a cylinder, repeated ``times`` so that one is always seen."""
    angle = np.arange(segments + 1) * (2 * np.pi / segments)
    ring = (radius + _LIFT) * np.stack([np.cos(angle), np.sin(angle)], 1)
    points = np.concatenate([np.c_[ring, np.full(len(ring), z)] for z in (low, high)])
    u = np.arange(segments + 1) / segments * times
    uv = np.concatenate([np.c_[u, np.full(len(u), v)] for v in (1.0, 0.0)])
    shape = mesh(points, grid_faces(2, segments + 1), uv)
    return Part(mesh=shape, material=_print(picture, gloss))


def _print(picture: NDArray[np.uint8], gloss: float) -> Material:
    return Material(colour=(1.0, 1.0, 1.0), texture=picture, gloss=gloss)
