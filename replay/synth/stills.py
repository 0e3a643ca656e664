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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.run import write_json
from replay.synth.hand import Arm, HandShape
from replay.synth.motion import HeadMotion
from replay.synth.questions import DIMENSIONS, LEVELS, TYPES, Asked, ask
from replay.synth.render import Camera, Lens, Renderer, Sensor, draw_lens
from replay.synth.scene import Scene, SceneObject, SceneSpace, draw_scene
from replay.synth.script import Difficulty
from replay.synth.still_orders import (
    Rng,
    StillOrder,
    StillSettings,
    UnclearStillError,
    still_settings,
)
from replay.synth.still_shots import (
    Stage,
    Wish,
    draw_subject,
    look,
    point_at,
    target_of,
    truth_of,
)
from replay.synth.world import FIRST_ARM
from streaming.events import Side

__all__ = ["Still", "StillOrder", "UnclearStillError", "draw_still", "make_still"]

SECONDS, MOMENT = 2.0, 1.0
"""Length of the head's movement, and when in it the picture is taken."""
ATTEMPTS, AIMS = 30, 12
"""Scenes that are tried, and ways to point in each."""
RIGHT_HANDED = 0.75


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
    image, record = order.paths(folder)
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


# --- one attempt --------------------------------------------------------------------------------


def _wish(order: StillOrder, knobs: StillSettings) -> Wish:
    """Dimensions and levels go round; types are drawn."""
    rng = np.random.default_rng(np.random.SeedSequence(order.seed, spawn_key=(order.index,)))
    share = rng.random()
    kind = TYPES[
        int(share >= knobs.choice_share) + int(share >= knobs.choice_share + knobs.judge_share)
    ]
    dimension = DIMENSIONS[order.index % len(DIMENSIONS)]
    return Wish(
        dimension=dimension,
        level=LEVELS[order.index // len(DIMENSIONS) % len(LEVELS)],
        kind=kind,
        void=dimension == "Adversarial" and rng.random() < knobs.void_share,
    )


def _attempt(order: StillOrder, attempt: int) -> Still:
    """One scene, one camera and one arm, which points here and there until it is clear."""
    knobs = still_settings()
    wish = _wish(order, knobs)
    asking, placing, looking, pointing = order.draws(attempt)
    low, high = knobs.objects[order.difficulty]
    scene = draw_scene(placing, order.difficulty, objects=int(placing.integers(low, high + 1)))
    lens = draw_lens(looking, order.difficulty, width=order.width, height=order.height)
    sensor = Sensor.draw(looking, order.difficulty, lens, SECONDS)
    quality = int(looking.integers(knobs.quality[0], knobs.quality[1] + 1))
    stage = Stage(
        scene=scene, arm=_arm(pointing, order.difficulty), renderer=_renderer(lens, scene)
    )
    reason = "nothing to point at"
    for aimed in range(AIMS):
        try:
            subject = draw_subject(asking, scene, wish, knobs)
            head = _head(looking, order, lens, subject)
            camera = Camera(lens=lens, pose=head.at(MOMENT))
            hand = point_at(pointing, order.difficulty, stage, subject, camera, knobs)
            shot = look(stage, subject, hand, camera, knobs)
        except UnclearStillError as error:
            reason = str(error)
            continue
        asked = ask(asking, shot.sight, dimension=wish.dimension, level=wish.level, kind=wish.kind)
        if asked is None:
            reason = f"nothing to ask ({wish.dimension}, {wish.kind})"
            continue
        opened = (head.at(MOMENT - sensor.shutter), hand.bodies)
        picture = stage.renderer().frame(shot.camera.pose, hand.bodies, before=opened)
        return Still(
            order=order,
            picture=sensor.expose(picture.rgb, MOMENT),
            asked=asked,
            truth=truth_of(order, (attempt, aimed), stage, hand, shot, asked),
            quality=quality,
        )
    raise UnclearStillError(reason)


def _renderer(lens: Lens, scene: Scene) -> Callable[[], Renderer]:
    """Made when it is first needed: most draws are given up before."""
    return cache(lambda: Renderer(lens, scene.lighting, scene.bodies))


def _arm(rng: Rng, difficulty: Difficulty) -> Arm:
    side: Side = "right" if rng.random() < RIGHT_HANDED else "left"
    return Arm(HandShape.draw(rng, difficulty, side), FIRST_ARM)


def _head(rng: Rng, order: StillOrder, lens: Lens, subject: SceneObject | SceneSpace) -> HeadMotion:
    return HeadMotion.draw(
        rng,
        order.difficulty,
        SECONDS,
        gaze=[(MOMENT, target_of(subject).point)],
        fov=lens.fov,
        aspect=order.width / order.height,
    )
