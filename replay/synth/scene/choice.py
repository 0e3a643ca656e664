"""Which things are on the table, and in which colours."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from ..world import Floats, Material, Mesh, Rgb
from .kinds import BUILDERS, SETTINGS, SIZES, Kind, Model, Setting, catalogue
from .layout import Solid
from .palette import COLOURS, PLAIN, Colour, shade
from .settings import Level
from .smoothing import smooth

_WAYS = 100
"""Directions in which a thing's outermost points are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A thing that is to stand on the table.

    Attributes:
        colour: What it comes in; its name is said only if the kind has several.
        parts: In the thing's own coordinates, with normals, and middle of its base at the origin.
        twins: Number of the group of look-alikes that it belongs to, or None.
    """

    key: str
    kind: Kind
    colour: Colour
    model: Model
    parts: tuple[tuple[Mesh, Material], ...]
    solid: Solid
    twins: int | None


def draw_setting(rng: np.random.Generator) -> Setting:
    """One of the three, equally likely."""
    return SETTINGS[int(rng.integers(len(SETTINGS)))]


def draw_things(
    rng: np.random.Generator, level: Level, setting: Setting, count: int, table: Rgb
) -> tuple[Thing, ...]:
    """``count`` things; no two can be mixed up but look-alikes, which differ in nothing at all."""
    picks: list[tuple[str, Kind, Colour]] = []
    things: list[Thing] = []
    groups = _twin_sizes(rng, level, count)
    for number in range(count - sum(groups) + len(groups)):
        pick = _draw_pick(rng, level, setting, picks, table, twins=number < len(groups))
        picks.append(pick)
        size = groups[number] if number < len(groups) else 1
        twins = number if size > 1 else None
        things.extend(_make(rng, pick, size, twins))
    return tuple(things)


def _twin_sizes(rng: np.random.Generator, level: Level, count: int) -> list[int]:
    """Sizes of the groups of look-alikes."""
    sizes = []
    if rng.random() < level.triples and count >= 7:
        sizes.append(3)
    if rng.random() < level.pairs and count - sum(sizes) >= 5:
        sizes.append(2)
    if sizes and rng.random() < 0.3 * level.pairs and count - sum(sizes) >= 5:
        sizes.append(2)
    return sizes


def _draw_pick(
    rng: np.random.Generator,
    level: Level,
    setting: Setting,
    picks: list[tuple[str, Kind, Colour]],
    table: Rgb,
    *,
    twins: bool,
) -> tuple[str, Kind, Colour]:
    """A kind and a colour that nothing before can be taken for."""
    weights = dict(zip(SIZES, (level.tiny, level.small, level.medium, level.large), strict=True))
    kinds = [(key, kind) for key, kind in catalogue().items() if setting[0] in kind.settings]
    wish = str(rng.choice(SIZES, p=np.array(list(weights.values())) / sum(weights.values())))
    if twins and wish == "large":
        wish = "medium"
    ranked = sorted(rng.permutation(len(kinds)), key=lambda i: _off(kinds[i][1], wish, picks))
    for i in ranked:
        key, kind = kinds[i]
        colours = _free_colours(kind, level, picks, key)
        if colours:
            return key, kind, _draw_colour(rng, level, colours, picks, table)
    raise ValueError(f"{setting} has too few kinds of things for {len(picks) + 1} of them")


def _off(kind: Kind, wish: str, picks: list[tuple[str, Kind, Colour]]) -> int:
    """How unwelcome a kind is: of another size than wished, or there already."""
    order: dict[str, int] = {size: i for i, size in enumerate(SIZES)}
    already = sum(kind.names == other.names for _, other, _ in picks)
    return 2 * abs(order[kind.size] - order[wish]) + 3 * already


def _free_colours(
    kind: Kind, level: Level, picks: list[tuple[str, Kind, Colour]], key: str
) -> list[Colour]:
    """Its colours in which it cannot be taken for anything picked before."""
    own = kind.group or key
    rivals = [
        (other_kind, colour)
        for other, other_kind, colour in picks
        if (other_kind.group or other) == own
    ]
    unsaid = any(not other.says_colour for other in (kind, *(rival for rival, _ in rivals)))
    if unsaid and any(rival.names == kind.names for rival, _ in rivals):
        return []
    taken = {colour.family for _, colour in rivals}
    keys = kind.palette
    free = [COLOURS[name] for name in keys if COLOURS[name].family not in taken]
    if not level.near_colours:
        plain = [colour for colour in free if colour.key in PLAIN or len(keys) <= 4]
        free = plain or free
    return free


def _draw_colour(
    rng: np.random.Generator,
    level: Level,
    colours: list[Colour],
    picks: list[tuple[str, Kind, Colour]],
    table: Rgb,
) -> Colour:
    """A colour: the table's at times, else rather one that is not there yet."""
    if rng.random() < level.camouflage:
        return min(colours, key=lambda colour: _unlike(colour.looks[0], table))
    used = [colour.family for _, _, colour in picks]
    weights = np.array([0.35 ** used.count(colour.family) for colour in colours])
    far = np.array([_unlike(colour.looks[0], table) for colour in colours])
    weights *= np.where(far < 0.16, 0.15, 1.0)
    return colours[int(rng.choice(len(colours), p=weights / weights.sum()))]


def _unlike(a: Rgb, b: Rgb) -> float:
    return float(np.linalg.norm(np.subtract(a, b)))


def _make(
    rng: np.random.Generator, pick: tuple[str, Kind, Colour], size: int, twins: int | None
) -> list[Thing]:
    """The thing, as often as it has look-alikes."""
    key, kind, colour = pick
    model = BUILDERS[key](rng, shade(rng, colour))
    parts, solid = _centred(model)
    thing = Thing(
        key=key, kind=kind, colour=colour, model=model, parts=parts, solid=solid, twins=twins
    )
    return [thing] * size


def _centred(model: Model) -> tuple[tuple[tuple[Mesh, Material], ...], Solid]:
    """The parts with normals, moved so that they stand on the origin."""
    smoothed = [(smooth(part.mesh, part.crease), part.material) for part in model.parts]
    points = np.concatenate([mesh.vertices for mesh, _ in smoothed]).astype(np.float64)
    low, high = points.min(0), points.max(0)
    base = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
    parts = tuple((_shifted(mesh, -base), material) for mesh, material in smoothed)
    return parts, Solid(points=_corners(points - base), faces_wearer=model.faces_wearer)


def _shifted(mesh: Mesh, by: Floats) -> Mesh:
    return Mesh(
        vertices=(mesh.vertices + by).astype(np.float32),
        faces=mesh.faces,
        normals=mesh.normals,
        uv=mesh.uv,
        tint=mesh.tint,
    )


def _corners(points: Floats) -> Floats:
    """The points that lie outermost in some direction, all of the footprint's corners among them.

    The rest never shape an outline, or hardly.
    """
    k = np.arange(_WAYS) + 0.5
    slope, angle = np.arccos(1 - 2 * k / _WAYS), np.pi * (1 + 5**0.5) * k
    ways = np.stack(
        [np.cos(angle) * np.sin(slope), np.sin(angle) * np.sin(slope), np.cos(slope)], 1
    )
    outermost = np.argmax(points @ ways.T, axis=0)
    around = cv2.convexHull(points[:, :2].astype(np.float32), returnPoints=False)
    return np.asarray(points[np.unique(np.concatenate([outermost, around.ravel()]))], np.float64)
