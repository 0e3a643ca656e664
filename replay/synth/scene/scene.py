"""A table scene: things that can be asked for, free places, a room and its light."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..script import Difficulty
from ..world import FIRST_OBJECT, Body, Floats, Lighting
from .choice import Thing, draw_setting, draw_things
from .kinds import CATEGORIES, MATERIALS, Setting
from .layout import Arrangement, Place, gap, turn
from .names import as_title, draw_names
from .palette import Names, both
from .settings import Level, Settings, load_settings
from .shapes import placed
from .spaces import FreePlace, FreePlaces, Side, name_of
from .surfaces import Surface, draw_table
from .surroundings import draw_lighting, make_litter, make_room, make_table
from .view import View

_LAYOUTS = 14
"""Layouts tried before fewer things are put on the table."""


class SceneError(ValueError):
    """A scene that cannot be made. The text is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What can be asked about a thing.

    Attributes:
        colour: None: nobody would say it, as a lemon's.
        uses: What it is for.
        qualities: Of ``container``, ``edible``, ``sharp``, ``electronic``, ``fragile``, ``cutting``
            and ``writing`` those that are true.
        text: The words printed on it.
        details: Further ones, such as its parts.
        neighbours: By side (``left``, ``right``, ``front``, ``behind`` from the wearer) the label
            of the nearest thing there.
        seen: Share of its outline that nothing hides.
        frame_share: Share of the picture that its outline covers, in the view it was made for.
    """

    category: Names
    colour: Names | None
    uses: Names
    material: Names
    qualities: tuple[str, ...]
    size: str
    text: str | None
    details: dict[str, Names]
    neighbours: dict[Side, int]
    seen: float
    frame_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """A thing on the table.

    Attributes:
        label: Of its bodies.
        key: Its kind, in ``configs/synth_kinds.toml``.
        names: As options call it; no other fits them.
        phrases: The same within a sentence.
        category: Key of its category.
        colour: Key of its colour.
        centre: Middle of its bounding box, shape ``(3,)``, metres.
        aim: A point of its surface that a person would point at, shape ``(3,)``.
        radius: Of the smallest circle about ``centre`` that holds its footprint, metres.
        height: Metres.
        footprint: Convex outline on the table, counter-clockwise, shape ``(k, 2)``.
    """

    label: int
    key: str
    names: Names
    phrases: Names
    category: str
    colour: str
    centre: Floats
    aim: Floats
    radius: float
    height: float
    footprint: Floats
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSpace:
    """A free place on the table.

    Attributes:
        names: As options call it; no other fits them.
        point: Its middle, shape ``(3,)``, metres.
        radius: Nothing stands within it, metres.
        beside: Label of the object that it is named after; None: after a part of the table.
        side: Where it lies from that object, as the wearer sees it.
    """

    names: Names
    point: Floats
    radius: float
    beside: int | None
    side: Side | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that stands still.

    Attributes:
        bodies: Objects, table, clutter and room, in world coordinates.
        view: The camera for which it was made: all objects and spaces are seen from it.
        surface: What the table top is made of.
    """

    bodies: tuple[Body, ...] = field(repr=False)
    objects: tuple[SceneObject, ...]
    spaces: tuple[SceneSpace, ...]
    lighting: Lighting
    setting: Setting
    difficulty: Difficulty
    view: View
    surface: str

    def describe(self) -> dict[str, Any]:
        """Everything but the meshes, ready for JSON."""
        return {
            "setting": self.setting,
            "difficulty": self.difficulty,
            "view": asdict(self.view),
            "surface": self.surface,
            "lighting": {
                "towards": _numbers(self.lighting.towards),
                "colour": _numbers(self.lighting.colour),
                "ambient": _numbers(self.lighting.ambient),
                "softness": round(self.lighting.softness, 4),
            },
            "objects": [_object_record(item) for item in self.objects],
            "spaces": [
                {
                    "names": dict(space.names),
                    "point": _numbers(space.point),
                    "radius": round(space.radius, 4),
                    "beside": space.beside,
                    "side": space.side,
                }
                for space in self.spaces
            ],
            "triangles": sum(len(body.mesh.faces) for body in self.bodies),
        }


def draw_scene(
    rng: np.random.Generator,
    difficulty: Difficulty,
    *,
    objects: int | None = None,
    view: View | None = None,
    setting: Setting | None = None,
    settings: Settings | None = None,
) -> Scene:
    """Draw a scene.

    Args:
        objects: How many; None: as many as the difficulty has. Of more than fit, some are left out.
        view: The camera that must see all of them; None: the settings' own.
        setting: None: any.

    Raises:
        SceneError: If the view has no room for three objects and the free places.
    """
    settings = load_settings() if settings is None else settings
    level = settings.level(difficulty)
    view = View.of(settings, level) if view is None else view
    setting = draw_setting(rng) if setting is None else setting
    surface = draw_table(rng, setting)
    count = int(rng.integers(level.fewest, level.most + 1)) if objects is None else objects
    while count >= 3:
        things = draw_things(rng, level, setting, count, surface.colour)
        for _ in range(_LAYOUTS):
            plan = _draw_plan(rng, settings, level, view, things)
            if plan is not None:
                return _build(rng, difficulty, plan, setting, surface, view, level)
        count -= 1
    raise SceneError(f"no room for objects in the view from {view.eye} to {view.look_at}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A layout that is as it should be; ``phrases`` are names within a sentence."""

    things: tuple[Thing, ...]
    places: tuple[Place, ...]
    phrases: tuple[Names, ...]
    free: tuple[FreePlace, ...]
    labels: NDArray[np.uint8]
    seen: tuple[float, ...]


def _draw_plan(
    rng: np.random.Generator,
    settings: Settings,
    level: Level,
    view: View,
    things: Sequence[Thing],
) -> _Plan | None:
    """One layout; None if something does not fit, cannot be told apart, or fills the table."""
    arrangement = Arrangement(settings, level, view)
    order = sorted(things, key=lambda thing: -float(np.ptp(thing.solid.points, axis=0).max()))
    for thing in order:
        if not arrangement.try_to_add(rng, thing.solid, apart=level.gap, seen=level.seen, tries=60):
            return None
    phrases = draw_names(rng, level, order, arrangement.places)
    if phrases is None:
        return None
    labels = arrangement.labels()
    free = FreePlaces(settings, level, view, arrangement.places, labels).draw(rng)
    aside = sum(place.side in ("left", "right") for place in free)
    if len(free) < settings.spaces[0] or aside < 2:
        return None
    shuffled = [int(i) for i in rng.permutation(len(order))]
    back = {number: rank for rank, number in enumerate(shuffled)}
    return _Plan(
        things=tuple(order[i] for i in shuffled),
        places=tuple(arrangement.places[i] for i in shuffled),
        phrases=tuple(phrases[i] for i in shuffled),
        free=tuple(_renumbered(place, back) for place in free),
        labels=np.array([0, *(back[i] + 1 for i in range(len(order)))], np.uint8)[labels],
        seen=tuple(arrangement.seen_shares()[i] for i in shuffled),
    )


def _renumbered(place: FreePlace, numbers: dict[int, int]) -> FreePlace:
    return FreePlace(
        x=place.x,
        y=place.y,
        radius=place.radius,
        beside=None if place.beside is None else numbers[place.beside],
        side=place.side,
        region=place.region,
    )


def _build(
    rng: np.random.Generator,
    difficulty: Difficulty,
    plan: _Plan,
    setting: Setting,
    surface: Surface,
    view: View,
    level: Level,
) -> Scene:
    bodies: list[Body] = []
    objects = []
    neighbours = _neighbours(plan.places)
    for number in range(len(plan.things)):
        own = _bodies_of(plan.things[number], plan.places[number], FIRST_OBJECT + number)
        bodies.extend(own)
        objects.append(_object(plan, number, own, view, neighbours[number]))
    spaces = tuple(
        SceneSpace(
            names=name_of(place, plan.phrases),
            point=np.array([place.x, place.y, 0.0]),
            radius=place.radius,
            beside=None if place.beside is None else FIRST_OBJECT + place.beside,
            side=place.side,
        )
        for place in plan.free
    )
    litter = make_litter(rng, level.litter, _litter_places(rng, plan))
    return Scene(
        bodies=(*bodies, *make_table(rng, surface), *litter, *make_room(rng, setting)),
        objects=tuple(objects),
        spaces=spaces,
        lighting=draw_lighting(rng),
        setting=setting,
        difficulty=difficulty,
        view=view,
        surface=surface.key,
    )


def _bodies_of(thing: Thing, place: Place, label: int) -> list[Body]:
    return [
        Body(
            mesh=placed(mesh, rotation=turn(place.yaw), offset=(place.x, place.y, 0.0)),
            material=material,
            label=label,
        )
        for mesh, material in thing.parts
    ]


def _object(
    plan: _Plan, number: int, own: Sequence[Body], view: View, neighbours: dict[Side, int]
) -> SceneObject:
    thing, place = plan.things[number], plan.places[number]
    points = np.concatenate([body.mesh.vertices for body in own]).astype(np.float64)
    centre = 0.5 * (points.min(0) + points.max(0))
    kind = thing.kind
    facts = Facts(
        category=CATEGORIES[kind.category],
        colour=thing.colour.names if kind.says_colour else None,
        uses=both(*kind.use),
        material=both(kind.material, MATERIALS[kind.material]),
        qualities=kind.qualities,
        size=kind.size,
        text=thing.model.text,
        details=thing.model.details,
        neighbours=neighbours,
        seen=plan.seen[number],
        frame_share=float((plan.labels == number + 1).mean()),
    )
    return SceneObject(
        label=FIRST_OBJECT + number,
        key=thing.key,
        names=as_title(plan.phrases[number]),
        phrases=plan.phrases[number],
        category=kind.category,
        colour=thing.colour.key,
        centre=centre,
        aim=aim_of(own, view),
        radius=float(np.linalg.norm(place.footprint - centre[:2], axis=1).max()),
        height=float(points[:, 2].max()),
        footprint=place.footprint,
        facts=facts,
    )


def aim_of(bodies: Sequence[Body], view: View) -> Floats:
    """Where the line of sight to the middle of what is seen of the bodies first meets them.

    It may meet nothing, as in a ring; then the middle of the face that is nearest to it.
    """
    faces = np.concatenate([body.mesh.vertices[body.mesh.faces] for body in bodies]).astype(
        np.float64
    )
    eye = np.asarray(view.eye, np.float64)
    middles = faces.mean(1) - eye
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    far = np.linalg.norm(middles, axis=1)
    shown = np.maximum(-np.einsum("ij,ij->i", normals, middles), 0.0) / far**3
    ray = (shown[:, None] * (middles / far[:, None])).sum(0)
    ray /= np.linalg.norm(ray)
    away = _meets(faces - eye, ray)
    if np.isfinite(away).any():
        return np.asarray(eye + float(away.min()) * ray, np.float64)
    nearest = np.argmax(np.where(shown > 0, middles @ ray / far, -1.0))
    return np.asarray(eye + middles[nearest], np.float64)


def _meets(faces: Floats, ray: Floats) -> Floats:
    """How far along a ray from the origin each triangle is met, infinity if it is not.

    After Möller and Trumbore (1997).
    """
    start, one, two = faces[:, 0], faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]
    across = np.cross(ray, two)
    scale = np.einsum("ij,ij->i", one, across)
    scale = np.where(np.abs(scale) < 1e-14, np.nan, scale)
    u = -np.einsum("ij,ij->i", start, across) / scale
    turned = np.cross(-start, one)
    v = turned @ ray / scale
    away = np.einsum("ij,ij->i", turned, two) / scale
    inside = (u >= 0) & (v >= 0) & (u + v <= 1) & (away > 0)
    return np.where(inside, away, np.inf)


def _neighbours(places: Sequence[Place]) -> list[dict[Side, int]]:
    """For each thing the label of its nearest neighbour on each side, if it has one."""
    found = []
    for number, place in enumerate(places):
        nearest: dict[Side, tuple[float, int]] = {}
        for other, rival in enumerate(places):
            if other == number:
                continue
            dx, dy = rival.middle - place.middle
            if max(abs(dx), abs(dy)) < 1.3 * min(abs(dx), abs(dy)):
                continue
            if abs(dx) > abs(dy):
                side: Side = "right" if dx > 0 else "left"
            else:
                side = "behind" if dy > 0 else "front"
            away = gap(place.footprint, rival.footprint)
            if side not in nearest or away < nearest[side][0]:
                nearest[side] = (away, FIRST_OBJECT + other)
        found.append({side: label for side, (_, label) in nearest.items()})
    return found


def _litter_places(rng: np.random.Generator, plan: _Plan) -> NDArray[np.float64]:
    """Where clutter may lie: clear of things and of the free places."""
    spots = np.stack([rng.uniform(-0.62, 0.62, 90), rng.uniform(0.08, 0.8, 90)], 1)
    taken = np.array([[place.x, place.y] for place in plan.free])
    kept = [
        spot
        for spot in spots
        if np.linalg.norm(taken - spot, axis=1).min() > 0.2
        and all(
            np.linalg.norm(place.footprint - spot, axis=1).min() > 0.14
            and np.linalg.norm(place.middle - spot) > 0.16
            for place in plan.places
        )
    ]
    return np.array(kept).reshape(-1, 2)


def _object_record(item: SceneObject) -> dict[str, Any]:
    facts = item.facts
    return {
        "label": item.label,
        "key": item.key,
        "names": dict(item.names),
        "category": item.category,
        "colour": item.colour,
        "centre": _numbers(item.centre),
        "aim": _numbers(item.aim),
        "radius": round(item.radius, 4),
        "height": round(item.height, 4),
        "footprint": [_numbers(corner) for corner in item.footprint],
        "facts": {
            "category": facts.category,
            "colour": facts.colour,
            "uses": facts.uses,
            "material": facts.material,
            "qualities": list(facts.qualities),
            "size": facts.size,
            "text": facts.text,
            "details": facts.details,
            "neighbours": facts.neighbours,
            "seen": round(facts.seen, 4),
            "frame_share": round(facts.frame_share, 6),
        },
    }


def _numbers(values: Sequence[float] | Floats) -> list[float]:
    return [round(float(value), 5) for value in values]
