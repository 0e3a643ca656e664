"""Which things and places an instruction is about, and the options that a solver gets to see."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from replay.synth.scene import Scene, SceneObject, SceneSpace
from replay.synth.script import Script, StrokeTarget

Item = TypeVar("Item")

POINTS_AT_PLACE = 0.12
"""Share of the relational strokes ("to the right of that") that point at the free place itself."""


class UnclearError(ValueError):
    """A draw that a person could not solve, or that cannot be made; another one is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StrokeSubject:
    """What one stroke is about.

    Attributes:
        kind: As the script asks for it.
        pointed: What the finger's ray hits.
        meant: What the stroke refers to; with a relation ("to the right of that") the place.
    """

    kind: StrokeTarget
    pointed: SceneObject | SceneSpace
    meant: SceneObject | SceneSpace


def choose_subjects(
    rng: np.random.Generator, scene: Scene, script: Script
) -> tuple[StrokeSubject, ...]:
    """Draw what each stroke is about; nothing is meant twice, and nothing is put beside itself.

    Raises:
        UnclearError: If the scene has too little to choose from.
    """
    # Relations first: few objects have room on the side that is asked for.
    order = sorted(range(script.strokes), key=lambda number: _rarity(script.targets[number]))
    objects: list[SceneObject] = []
    chosen: dict[int, StrokeSubject] = {}
    spaces: list[SceneSpace] = []
    for number in order:
        kind = script.targets[number]
        match kind:
            case "object":
                taken = {one.label for one in objects}
                free: Sequence[SceneObject] = [
                    one for one in scene.objects if one.label not in taken
                ]
                thing = _pick(rng, free, "object")
                objects.append(thing)
                chosen[number] = StrokeSubject(kind=kind, pointed=thing, meant=thing)
            case "space":
                place = _pick(rng, _apart(scene.spaces, spaces), "free place")
                spaces.append(place)
                chosen[number] = StrokeSubject(kind=kind, pointed=place, meant=place)
            case _:
                beside = _beside(rng, scene, kind, spaces)
                spaces.append(beside)
                chosen[number] = StrokeSubject(
                    kind=kind, pointed=_pointed(rng, scene, beside), meant=beside
                )
        objects += [
            one
            for one in scene.objects
            if any(space.beside == one.label for space in spaces) and one not in objects
        ]
    return tuple(chosen[number] for number in range(script.strokes))


def _rarity(target: StrokeTarget) -> int:
    return {"object": 2, "space": 1}.get(target, 0)


def _pick(rng: np.random.Generator, free: Sequence[Item], what: str) -> Item:
    if not free:
        raise UnclearError(f"no {what} is left to point at")
    return free[int(rng.integers(len(free)))]


def _apart(spaces: Sequence[SceneSpace], taken: Sequence[SceneSpace]) -> list[SceneSpace]:
    return [space for space in spaces if all(space is not other for other in taken)]


def _beside(
    rng: np.random.Generator, scene: Scene, side: StrokeTarget, taken: Sequence[SceneSpace]
) -> SceneSpace:
    """A free place on that side of an object."""
    labels = {one.label for one in scene.objects}
    places = [
        space
        for space in _apart(scene.spaces, taken)
        if space.side == side and space.beside in labels
    ]
    return _pick(rng, places, f"object with a free place ({side})")


def _pointed(rng: np.random.Generator, scene: Scene, place: SceneSpace) -> SceneObject | SceneSpace:
    """What the finger points at to mean the place: most often what it lies beside."""
    if rng.random() < POINTS_AT_PLACE:
        return place
    return next(one for one in scene.objects if one.label == place.beside)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Option:
    """One option: ``A`` ... for objects, ``a`` ... for places."""

    letter: str
    item: SceneObject | SceneSpace


def lettered(
    rng: np.random.Generator,
    objects: Sequence[SceneObject],
    spaces: Sequence[SceneSpace],
) -> tuple[Option, ...]:
    """Options in random order, so that no letter tells where its referent lies."""
    letters: list[Option] = []
    for items, alphabet in (
        (list(objects), string.ascii_uppercase),
        (list(spaces), string.ascii_lowercase),
    ):
        order = rng.permutation(len(items))
        letters += [
            Option(letter=letter, item=items[place])
            for letter, place in zip(alphabet, order, strict=False)
        ]
    return tuple(letters)
