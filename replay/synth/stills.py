"""Pointing stills: one picture in which the wearer points, a question about it, and the truth.

What EgoPoint-Bench's simulation does (arXiv 2604.21461) for table scenes: many hands, many scenes
and lights, and a ray cast along the index finger that says what is pointed at. Both readings of a
finger must agree: its last joints' direction, and the line from its knuckle through its tip. A
picture in which they do not, or in which the target or the fingertip cannot be seen, is thrown away
and another is drawn.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.run import write_json
from replay.synth.hand import Arm, ArmPose, HandShape
from replay.synth.motion import EYE, HeadMotion, Obstacle, Target, draw_poses, place_arm
from replay.synth.motion.aiming import Aim, take_aim
from replay.synth.motion.clearance import Clearance
from replay.synth.motion.settings import motion_settings
from replay.synth.questions import DIMENSIONS, LEVELS, TYPES, Asked, ask
from replay.synth.render import Camera, Hit, Renderer, Sensor, cast, draw_lens
from replay.synth.scene import Scene, SceneObject, SceneSpace, draw_scene
from replay.synth.script import Difficulty
from replay.synth.seen import bounds, share_of, things_of
from replay.synth.sights import Sight
from replay.synth.world import FIRST_ARM, TABLE, Body, Floats
from streaming.config import config_path, load
from streaming.events import Side

Rng = np.random.Generator
Range = tuple[float, float]

SECONDS, MOMENT = 2.0, 1.0
"""Length of the head's movement, and when in it the picture is taken."""
ATTEMPTS = 60
_KNUCKLE, _MIDDLE, _TIP = 5, 6, 8


class UnclearStillError(ValueError):
    """No draw worked out, or this one did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StillSettings:
    """``configs/synth_stills.toml``."""

    near: Range
    far: Range
    far_share: float
    void_share: float
    void_radius: float
    choice_share: float
    judge_share: float
    least_share: float
    print_share: float
    least_seen: float
    quality: tuple[int, int]
    objects: dict[str, tuple[int, int]]


@cache
def still_settings() -> StillSettings:
    """The project's own settings."""
    return load(StillSettings, config_path("synth_stills.toml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StillOrder:
    """One still to be made; everything in it follows from this."""

    seed: int
    index: int
    difficulty: Difficulty = "real"
    width: int = 1024
    height: int = 768

    @property
    def name(self) -> str:
        """The picture's ``image_id``."""
        return f"{self.difficulty}_{self.seed}_{self.index:05d}"

    def draws(self, attempt: int) -> tuple[Rng, ...]:
        """Generators for what is asked, scene, camera and arm; another attempt has others."""
        keys = [(self.index, attempt, part) for part in range(4)]
        return tuple(
            np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key)) for key in keys
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Still:
    """A picture with what is asked about it.

    Attributes:
        picture: sRGB, shape ``(height, width, 3)``.
        truth: Everything about it, JSON.
        quality: Of the JPEG file.
    """

    order: StillOrder
    picture: NDArray[np.uint8]
    asked: Asked
    truth: dict[str, Any]
    quality: int

    @property
    def item(self) -> dict[str, Any]:
        """As the benchmark has it."""
        return self.asked.item(self.order.name, f"images/{self.order.name}.jpg")


def draw_still(order: StillOrder) -> Still:
    """Draw a still.

    Raises:
        UnclearStillError: If none of many draws was clear.
    """
    reason = ""
    for attempt in range(ATTEMPTS):
        try:
            return _attempt(order, attempt)
        except UnclearStillError as error:
            reason = str(error)
    raise UnclearStillError(f"{order.name}: {ATTEMPTS} draws were unclear; the last: {reason}")


def make_still(
    seed: int,
    index: int,
    difficulty: Difficulty,
    folder: Path,
    *,
    width: int = 1024,
    height: int = 768,
) -> dict[str, Any]:
    """Make a still in ``folder``, unless it is there already.

    It leaves ``images/<image_id>.jpg`` and then ``made/<image_id>.json``, each whole or not at all.

    Returns:
        What the latter says: ``{"item": ..., "truth": ...}``.

    Raises:
        UnclearStillError: If it cannot be drawn.
        OSError: If it cannot be written.
    """
    order = StillOrder(seed=seed, index=index, difficulty=difficulty, width=width, height=height)
    image, record = still_paths(folder, order)
    if image.is_file() and record.is_file():
        made: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        return made
    still = draw_still(order)
    done, code = cv2.imencode(
        ".jpg", still.picture[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, still.quality]
    )
    assert done
    for path in (image, record):
        path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = image.with_suffix(".part")
    unfinished.write_bytes(code.tobytes())
    os.replace(unfinished, image)
    made = {"item": still.item, "truth": still.truth}
    write_json(record, made)
    return made


def still_paths(folder: Path, order: StillOrder) -> tuple[Path, Path]:
    """Where a still's picture and its record lie."""
    return folder / "images" / f"{order.name}.jpg", folder / "made" / f"{order.name}.json"


# --- one attempt --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What is to be asked, the same in each attempt; ``void``: point at nothing."""

    dimension: Any
    level: Any
    kind: Any
    void: bool


def _wish(order: StillOrder, knobs: StillSettings) -> _Wish:
    """Dimensions and levels go round; types are drawn."""
    rng = np.random.default_rng(np.random.SeedSequence(order.seed, spawn_key=(order.index,)))
    share = rng.random()
    kind = TYPES[
        int(share >= knobs.choice_share) + int(share >= knobs.choice_share + knobs.judge_share)
    ]
    dimension = DIMENSIONS[order.index % len(DIMENSIONS)]
    return _Wish(
        dimension=dimension,
        level=LEVELS[order.index // len(DIMENSIONS) % len(LEVELS)],
        kind=kind,
        void=dimension == "Adversarial" and rng.random() < knobs.void_share,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pointing:
    """An arm that points, and where its finger's line ends."""

    arm: Arm
    pose: ArmPose
    aim: Aim
    marks: Floats
    hit: Hit
    bodies: list[Body]


def _attempt(order: StillOrder, attempt: int) -> Still:
    knobs = still_settings()
    wish = _wish(order, knobs)
    asking, placing, looking, pointing = order.draws(attempt)
    low, high = knobs.objects[order.difficulty]
    scene = draw_scene(placing, order.difficulty, objects=int(placing.integers(low, high + 1)))
    subject = _subject(asking, scene, wish, knobs)
    point = subject.aim if isinstance(subject, SceneObject) else subject.point
    lens = draw_lens(looking, order.difficulty, width=order.width, height=order.height)
    head = HeadMotion.draw(
        looking,
        order.difficulty,
        SECONDS,
        gaze=[(MOMENT, point)],
        fov=lens.fov,
        aspect=order.width / order.height,
    )
    hand = _point(pointing, order.difficulty, scene, subject, knobs)
    camera = Camera(lens=lens, pose=head.at(MOMENT))
    sensor = Sensor.draw(looking, order.difficulty, lens, SECONDS)
    renderer = Renderer(lens, scene.lighting, scene.bodies)
    bare = renderer.label_picture(camera.pose, [])
    labels = renderer.label_picture(camera.pose, hand.bodies)
    sight = _sight(scene, subject, hand, camera, labels, bare, knobs)
    asked = ask(asking, sight, dimension=wish.dimension, level=wish.level, kind=wish.kind)
    if asked is None:
        raise UnclearStillError(f"nothing to ask ({wish.dimension}, {wish.kind})")
    opened = (head.at(MOMENT - sensor.shutter), hand.bodies)
    picture = renderer.frame(camera.pose, hand.bodies, before=opened)
    truth = _truth(order, attempt, scene, sight, hand, camera, labels, asked)
    return Still(
        order=order,
        picture=sensor.expose(picture.rgb, MOMENT),
        asked=asked,
        truth=truth,
        quality=int(looking.integers(knobs.quality[0], knobs.quality[1] + 1)),
    )


def _subject(rng: Rng, scene: Scene, wish: _Wish, knobs: StillSettings) -> SceneObject | SceneSpace:
    """What to point at."""
    if wish.void:
        free = [space for space in scene.spaces if space.radius >= knobs.void_radius]
        if not free:
            raise UnclearStillError("the table has no room for nothing")
        return free[int(rng.integers(len(free)))]
    objects = list(scene.objects)
    if wish.dimension == "OCR & Text":
        objects = [one for one in objects if one.facts.text]
    if not objects:
        raise UnclearStillError("nothing has print on it")
    return objects[int(rng.integers(len(objects)))]


def _point(
    rng: Rng,
    difficulty: Difficulty,
    scene: Scene,
    subject: SceneObject | SceneSpace,
    knobs: StillSettings,
) -> _Pointing:
    """The wearer's arm, pointing at it.

    Raises:
        UnclearStillError: If the finger does not clearly point there.
    """
    side: Side = "right" if rng.random() < 0.75 else "left"
    placement = place_arm(rng, "wearer", side)
    arm = Arm(HandShape.draw(rng, difficulty, side), FIRST_ARM)
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
        _target(subject),
        arm=arm,
        placement=placement,
        knobs=distances,
        clearance=Clearance(obstacles),
        eye=EYE,
        roll=float(rng.normal(0.0, 14.0)),
        fingers=draw_poses(rng, difficulty).pointing,
    )
    marks = arm.landmarks(aim.pose)
    hits = [
        cast(scene.bodies, marks[_TIP], marks[_TIP] - marks[start]) for start in (_MIDDLE, _KNUCKLE)
    ]
    wanted = subject.label if isinstance(subject, SceneObject) else TABLE
    if any(hit is None or hit.label != wanted for hit in hits):
        raise UnclearStillError("the finger's line ends elsewhere")
    first, second = hits
    assert first is not None
    assert second is not None
    if wanted == TABLE and min(map(_room(scene), (first, second))) < knobs.void_radius:
        raise UnclearStillError("the finger's line ends beside something")
    return _Pointing(
        arm=arm, pose=aim.pose, aim=aim, marks=marks, hit=first, bodies=arm.bodies(aim.pose)
    )


def _room(scene: Scene) -> Any:
    """How far from the nearest object a hit lies, metres."""

    def free(hit: Hit) -> float:
        return min(
            float(np.linalg.norm(hit.point[:2] - one.centre[:2])) - one.radius
            for one in scene.objects
        )

    return free


def _target(subject: SceneObject | SceneSpace) -> Target:
    if isinstance(subject, SceneObject):
        return Target(point=subject.aim, radius=subject.radius, height=subject.height)
    return Target(point=subject.point, radius=subject.radius)


def _sight(
    scene: Scene,
    subject: SceneObject | SceneSpace,
    hand: _Pointing,
    camera: Camera,
    labels: NDArray[np.uint8],
    bare: NDArray[np.uint8],
    knobs: StillSettings,
) -> Sight:
    """What can be seen.

    Raises:
        UnclearStillError: If that is not enough.
    """
    x, y = camera.project(hand.marks[_TIP])[0]
    height, width = labels.shape
    if not (0 <= x < width and 0 <= y < height):
        raise UnclearStillError("the fingertip is out of the picture")
    near_tip = labels[max(0, int(y) - 4) : int(y) + 5, max(0, int(x) - 4) : int(x) + 5]
    if not (near_tip >= FIRST_ARM).any():
        raise UnclearStillError("the fingertip is hidden")
    things = things_of(scene, camera, labels, least=knobs.least_share)
    target = None
    if isinstance(subject, SceneObject):
        target = subject.label
        seen, whole = share_of(labels, target), share_of(bare, target)
        least = knobs.print_share if subject.facts.text else knobs.least_share
        if seen < least or seen < knobs.least_seen * whole:
            raise UnclearStillError("too little of the target is seen")
        if all(thing.label != target for thing in things):
            raise UnclearStillError("the target is at the border")
    else:
        u, v = camera.project(hand.hit.point)[0]
        if not (0 <= u < width and 0 <= v < height) or labels[int(v), int(u)] != TABLE:
            raise UnclearStillError("the place cannot be seen")
    place = hand.hit.point
    tip = hand.marks[_TIP]
    return Sight(
        things=things,
        target=target,
        place=(float(place[0]), float(place[1]), float(place[2])),
        tip=(float(tip[0]), float(tip[1]), float(tip[2])),
    )


def _truth(
    order: StillOrder,
    attempt: int,
    scene: Scene,
    sight: Sight,
    hand: _Pointing,
    camera: Camera,
    labels: NDArray[np.uint8],
    asked: Asked,
) -> dict[str, Any]:
    marks = hand.marks
    along = marks[_TIP] - marks[_MIDDLE]
    thing = sight.thing
    return {
        "image_id": order.name,
        "seed": order.seed,
        "index": order.index,
        "difficulty": order.difficulty,
        "attempt": attempt,
        "asked": asked.name,
        "setting": scene.setting,
        "target": None if thing is None else {"label": thing.label, "name": thing.name},
        "rivals": [rival.name for rival in sight.rivals()[:3]],
        "tip": _rounded(marks[_TIP]),
        "direction": _rounded(along / np.linalg.norm(along)),
        "hit": _rounded(hand.hit.point),
        "distance": round(hand.hit.distance, 4),
        "hand": hand.arm.shape.side,
        "landmarks_px": _rounded(camera.project(marks), 1),
        "hit_px": _rounded(camera.project(hand.hit.point)[0], 1),
        "things": [
            {
                "label": one.label,
                "name": one.name,
                "px": [round(one.seen[0] * order.width, 1), round(one.seen[1] * order.height, 1)],
                "box": bounds(labels, one.label),
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
