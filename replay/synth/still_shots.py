"""Pointing at something in a scene, and whether a person would see that and what is meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.synth.hand import Arm
from replay.synth.motion import ArmPlacement, Obstacle, Target, draw_poses, place_arm
from replay.synth.motion.aiming import take_aim
from replay.synth.motion.clearance import Clearance
from replay.synth.motion.curves import about, unit
from replay.synth.motion.settings import motion_settings
from replay.synth.question_words import DeixisLevel, Dimension, QuestionType
from replay.synth.questions import Asked
from replay.synth.render import Camera, Hit, Renderer, cast
from replay.synth.scene import Scene, SceneObject, SceneSpace
from replay.synth.script import Difficulty
from replay.synth.seen import bounds, share_of, things_of
from replay.synth.sights import Sight, Thing
from replay.synth.still_orders import Rng, StillOrder, StillSettings, UnclearStillError
from replay.synth.world import FIRST_ARM, FIRST_OBJECT, TABLE, Body, Floats

_KNUCKLE, _MIDDLE, _TIP = 5, 6, 8
_SPREAD = math.radians(2.5)
"""How well a person reads a finger's direction."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stage:
    """What stays while the arm points here and there."""

    scene: Scene
    arm: Arm
    renderer: Callable[[], Renderer]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pointing:
    """A hand that points, and where its finger's line ends."""

    marks: Floats
    hit: Hit
    bodies: list[Body]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shot:
    """What the camera sees."""

    camera: Camera
    labels: NDArray[np.uint8]
    sight: Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be asked, the same in each attempt; ``void``: point at nothing."""

    dimension: Dimension
    level: DeixisLevel
    kind: QuestionType
    void: bool


def draw_subject(
    rng: Rng, scene: Scene, wish: Wish, knobs: StillSettings
) -> SceneObject | SceneSpace:
    """What to point at."""
    if wish.void:
        free = [space for space in scene.spaces if space.radius >= knobs.void_radius]
        if not free:
            raise UnclearStillError("the table has no room for nothing")
        return free[int(rng.integers(len(free)))]
    objects = list(scene.objects)
    if wish.dimension == "OCR & Text":
        objects = [one for one in objects if one.facts.text is not None]
    if not objects:
        raise UnclearStillError("nothing has print on it")
    return objects[int(rng.integers(len(objects)))]


def point_at(
    rng: Rng,
    difficulty: Difficulty,
    stage: Stage,
    subject: SceneObject | SceneSpace,
    camera: Camera,
    knobs: StillSettings,
) -> Pointing:
    """The wearer's arm, pointing at it.

    Raises:
        UnclearStillError: If the finger does not clearly point there.
    """
    scene, arm = stage.scene, stage.arm
    placement = _under(place_arm(rng, "wearer", arm.shape.side), camera.pose.position, knobs)
    distances = replace(
        motion_settings().of(difficulty).arm,
        near=knobs.near,
        far=knobs.far,
        far_share=knobs.far_share,
    )
    obstacles = [
        Obstacle(centre=one.centre, radius=one.radius, height=one.height) for one in scene.objects
    ]
    aim = take_aim(
        rng,
        target_of(subject),
        arm=arm,
        placement=placement,
        knobs=distances,
        clearance=Clearance(obstacles),
        eye=camera.pose.position,
        roll=float(rng.normal(0.0, 14.0)),
        fingers=draw_poses(rng, difficulty).pointing,
    )
    ends = camera.project(np.stack([aim.pose.shoulder, aim.shoulder]))
    size = np.array([camera.lens.width, camera.lens.height])
    if ((ends > -0.05 * size) & (ends < 1.05 * size)).all(axis=1).any():
        raise UnclearStillError("the shoulder is in the picture")
    marks = arm.landmarks(aim.pose)
    hits = [
        cast(scene.bodies, marks[_TIP], marks[_TIP] - marks[start]) for start in (_MIDDLE, _KNUCKLE)
    ]
    wanted = subject.label if isinstance(subject, SceneObject) else TABLE
    if any(hit is None or hit.label != wanted for hit in hits):
        raise UnclearStillError("the finger's line ends elsewhere")
    if _strays(scene, marks, wanted) > knobs.most_strays:
        raise UnclearStillError("the finger might as well point at a neighbour")
    first, second = hits
    assert first is not None
    assert second is not None
    if wanted == TABLE and min(map(_room(scene), (first, second))) < knobs.void_radius:
        raise UnclearStillError("the finger's line ends beside something")
    return Pointing(marks=marks, hit=first, bodies=arm.bodies(aim.pose))


def _under(placement: ArmPlacement, eye: Floats, knobs: StillSettings) -> ArmPlacement:
    """The placement with its shoulder where it is under a camera on that person's head."""
    aside = 1.0 if placement.side == "right" else -1.0
    x, y, z = knobs.shoulder
    return replace(placement, shoulder=eye + np.array([aside * x, y, z]), lean=knobs.lean)


def _strays(scene: Scene, marks: Floats, wanted: int) -> int:
    """How many of eight lines round the finger's own end on another object."""
    along = unit(marks[_TIP] - marks[_MIDDLE])
    aside = math.tan(_SPREAD) * unit(np.cross(along, (0.0, 0.0, 1.0)))
    turns = (about(along, angle) @ aside for angle in np.arange(8) * (math.pi / 4))
    hits = (cast(scene.bodies, marks[_TIP], along + turn) for turn in turns)
    objects = range(FIRST_OBJECT, FIRST_ARM)
    return sum(hit is not None and hit.label != wanted and hit.label in objects for hit in hits)


def _room(scene: Scene) -> Any:
    """How far from the nearest object a hit lies, metres."""

    def free(hit: Hit) -> float:
        return min(
            float(np.linalg.norm(hit.point[:2] - one.centre[:2])) - one.radius
            for one in scene.objects
        )

    return free


def target_of(subject: SceneObject | SceneSpace) -> Target:
    if isinstance(subject, SceneObject):
        return Target(point=subject.aim, radius=subject.radius, height=subject.height)
    return Target(point=subject.point, radius=subject.radius)


def look(
    stage: Stage,
    subject: SceneObject | SceneSpace,
    hand: Pointing,
    camera: Camera,
    knobs: StillSettings,
) -> Shot:
    """What can be seen.

    Raises:
        UnclearStillError: If that is not enough.
    """
    size = np.array([camera.lens.width, camera.lens.height])
    pixels = camera.project(np.vstack([hand.marks, hand.hit.point]))
    low, high = knobs.border * size, (1.0 - knobs.border) * size
    inside = np.logical_and(pixels > low, pixels < high).min(axis=1)
    if not (inside[_KNUCKLE : _TIP + 1].all() and inside[:-1].sum() >= knobs.least_marks):
        raise UnclearStillError("the hand is out of the picture")
    if not inside[-1]:
        raise UnclearStillError("the target is out of the picture")
    labels = stage.renderer().label_picture(camera.pose, hand.bodies)
    x, y = camera.project(hand.marks[_TIP])[0].astype(int)
    if not (labels[max(0, y - 4) : y + 5, max(0, x - 4) : x + 5] >= FIRST_ARM).any():
        raise UnclearStillError("the fingertip is hidden")
    things = things_of(stage.scene, camera, labels, least=knobs.least_share)
    target = None
    if isinstance(subject, SceneObject):
        target = subject.label
        _check_seen(stage, subject, labels, camera, things, knobs)
    else:
        x, y = camera.project(hand.hit.point)[0].astype(int)
        if labels[y, x] != TABLE:
            raise UnclearStillError("the place cannot be seen")
    place = hand.hit.point
    tip = hand.marks[_TIP]
    sight = Sight(
        things=things,
        target=target,
        place=(float(place[0]), float(place[1]), float(place[2])),
        tip=(float(tip[0]), float(tip[1]), float(tip[2])),
    )
    return Shot(camera=camera, labels=labels, sight=sight)


def _check_seen(
    stage: Stage,
    subject: SceneObject,
    labels: NDArray[np.uint8],
    camera: Camera,
    things: Sequence[Thing],
    knobs: StillSettings,
) -> None:
    """Whether enough of the target is in sight.

    Raises:
        UnclearStillError: If not.
    """
    seen = share_of(labels, subject.label)
    if seen < knobs.least_share:
        raise UnclearStillError("the target is too small")
    if all(thing.label != subject.label for thing in things):
        raise UnclearStillError("the target is at the border")
    bare = stage.renderer().label_picture(camera.pose, [])
    if seen < knobs.least_seen * share_of(bare, subject.label):
        raise UnclearStillError("the arm hides the target")


def truth_of(
    order: StillOrder,
    tried: tuple[int, int],
    stage: Stage,
    hand: Pointing,
    shot: Shot,
    asked: Asked,
) -> dict[str, Any]:
    sight, camera, marks = shot.sight, shot.camera, hand.marks
    along = marks[_TIP] - marks[_MIDDLE]
    thing = sight.thing
    return {
        "image_id": order.name,
        "seed": order.seed,
        "index": order.index,
        "difficulty": order.difficulty,
        "attempt": tried[0],
        "aim": tried[1],
        "asked": asked.name,
        "setting": stage.scene.setting,
        "target": None if thing is None else {"label": thing.label, "name": thing.name},
        "rivals": [rival.name for rival in sight.rivals()[:3]],
        "tip": _rounded(marks[_TIP]),
        "direction": _rounded(along / np.linalg.norm(along)),
        "hit": _rounded(hand.hit.point),
        "distance": round(hand.hit.distance, 4),
        "hand": stage.arm.shape.side,
        "landmarks_px": _rounded(camera.project(marks), 1),
        "hit_px": _rounded(camera.project(hand.hit.point)[0], 1),
        "things": [
            {
                "label": one.label,
                "name": one.name,
                "px": [round(one.seen[0] * order.width, 1), round(one.seen[1] * order.height, 1)],
                "box": bounds(shot.labels, one.label),
                "share": round(one.share, 6),
            }
            for one in sight.things
        ],
        "camera": {
            "position": _rounded(camera.pose.position),
            "rotation": _rounded(camera.pose.rotation, 6),
            "fov": round(camera.lens.fov, 3),
            "k1": round(camera.lens.k1, 6),
            "k2": round(camera.lens.k2, 6),
        },
    }


def _rounded(values: Floats, digits: int = 4) -> Any:
    return np.round(np.asarray(values, np.float64), digits).tolist()
