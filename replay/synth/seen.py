"""What of a scene can be seen in a picture, as its labels tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.synth.legible import legible
from replay.synth.render import Camera
from replay.synth.scene import Scene, SceneObject
from replay.synth.scene.kinds import catalogue
from replay.synth.scene.palette import COLOURS
from replay.synth.sights import Thing

BORDER = 0.004
"""How far from the picture's edge a thing's pixels end at least, a share of the width."""


def share_of(labels: NDArray[np.uint8], label: int) -> float:
    """The share of the picture that a label has."""
    return float((labels == label).mean())


def bounds(labels: NDArray[np.uint8], label: int) -> list[int] | None:
    """``x, y`` of a label's first pixels, and of those after its last; None: not seen."""
    rows = np.flatnonzero((labels == label).any(axis=1))
    columns = np.flatnonzero((labels == label).any(axis=0))
    if not len(rows):
        return None
    return [int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1]


def things_of(
    scene: Scene, camera: Camera, labels: NDArray[np.uint8], *, least: float
) -> tuple[Thing, ...]:
    """The objects that cover at least that share of the picture and lie within it."""
    found = []
    inset = BORDER * labels.shape[1]
    for one in scene.objects:
        box = bounds(labels, one.label)
        if box is None or share_of(labels, one.label) < least:
            continue
        edges = box[0], box[1], labels.shape[1] - box[2], labels.shape[0] - box[3]
        if min(edges) >= inset:
            readable = one.facts.text is not None and legible(
                scene.bodies, one.label, camera, labels
            )
            found.append(_thing(one, camera, share_of(labels, one.label), readable))
    return tuple(found)


def _thing(one: SceneObject, camera: Camera, share: float, readable: bool) -> Thing:
    kind = catalogue()[one.key]
    pixel = camera.project(one.centre)[0]
    colour = one.facts.colour
    return Thing(
        label=one.label,
        name=one.phrases["en"],
        noun=kind.names[0],
        alike=kind.group or one.key,
        colour=None if colour is None else colour["en"],
        family=COLOURS[one.colour].family,
        category=one.category,
        material=one.facts.material["en"],
        use=one.facts.uses["en"],
        qualities=frozenset(one.facts.qualities),
        text=_one_line(one.facts.text),
        legible=readable,
        centre=(float(one.centre[0]), float(one.centre[1]), float(one.centre[2])),
        footprint=tuple((float(x), float(y)) for x, y in one.footprint),
        height=one.height,
        seen=(float(pixel[0]) / camera.lens.width, float(pixel[1]) / camera.lens.height),
        share=share,
    )


def _one_line(text: str | None) -> str | None:
    return None if text is None else " ".join(text.split())
