"""Takes the pictures of a drawn clip, and looks whether a person could solve it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replay.synth.choosing import StrokeSubject, UnclearError
from replay.synth.drawing import Drawn, place_of
from replay.synth.render import Camera, Renderer, cast, write_video
from replay.synth.scene import SceneObject
from replay.synth.world import FIRST_ARM, FIRST_OBJECT, Body, Floats, Pose
from streaming.events import Seconds

SPREAD = np.radians(3.0)
"""Half angle of the cone about the pointing ray that should not reach a neighbour."""

NEIGHBOURS = 0.34
"""Share of that cone's rays that may reach another object than the one that is meant."""

FEWEST_PIXELS = 12
"""What must be seen of an object at 640 x 480 for a person to know it."""

MARGIN = 0.015
"""How far from the border, in frame widths, a referent has to be."""

MOST_HIDDEN = 0.6
"""Share of a referent that may lie behind the arm or other things on the last frame."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ray:
    """The pointing ray of a stroke at its apex, and where it ends.

    Attributes:
        knuckle, tip: Of the index finger, world, shape ``(3,)``.
        direction: Of the finger's end, unit length.
        label: Of what it hits; ``point``: where; both None when it hits nothing.
        neighbours: Share of the rays about it that reach another object.
    """

    knuckle: Floats
    tip: Floats
    direction: Floats
    label: int | None
    point: Floats | None
    neighbours: float


class Set:
    """A drawn clip ready to be filmed."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self._renderer = Renderer(
            drawn.lens, drawn.scene.lighting, [*drawn.scene.bodies, *drawn.partner]
        )
        self.last: Seconds = drawn.frame_times[-1]

    def camera(self, time: Seconds) -> Camera:
        return Camera(lens=self._drawn.lens, pose=self._drawn.head.at(time))

    def labels(self, time: Seconds, *, arms: bool = True) -> NDArray[np.uint8]:
        """What is seen where, shape ``(height, width)``."""
        moving = self._arms(time)[0] if arms else []
        return self._renderer.label_picture(self._drawn.head.at(time), moving)

    def film(self, path: Path) -> None:
        """Write the clip with its sound."""
        drawn = self._drawn
        write_video(
            path,
            self._pictures(),
            fps=Fraction(drawn.order.frames.fps),
            audio=drawn.sound.samples,
            rate=drawn.sound.rate,
            crf=drawn.sensor.crf,
        )

    def _pictures(self) -> Iterator[NDArray[np.uint8]]:
        drawn = self._drawn
        for time in drawn.frame_times:
            moving, before = self._arms(time, time - drawn.sensor.shutter)
            opened: Pose = drawn.head.at(max(0.0, time - drawn.sensor.shutter))
            picture = self._renderer.frame(drawn.head.at(time), moving, before=(opened, before))
            yield drawn.sensor.expose(picture.rgb, time)

    def _arms(self, time: Seconds, earlier: Seconds | None = None) -> tuple[list[Body], list[Body]]:
        """The arms' bodies at a time and at an earlier one, of the same topology."""
        now: list[Body] = []
        before: list[Body] = []
        for one in self._drawn.arms:
            pose = one.motion.at(time)
            if pose is None:
                continue
            now += one.bodies(pose)
            if earlier is not None:
                was = one.motion.at(earlier)
                before += one.bodies(pose if was is None else was)
        return now, before


def rays(drawn: Drawn) -> tuple[Ray, ...]:
    """The pointing rays at the apexes.

    Raises:
        UnclearError: If one of them does not hit what it is about, or reaches its neighbours too.
    """
    found = []
    for number, subject in enumerate(drawn.subjects):
        ray = _ray(drawn, number, subject)
        _check_ray(ray, subject)
        found.append(ray)
    return tuple(found)


def _ray(drawn: Drawn, number: int, subject: StrokeSubject) -> Ray:
    one = drawn.arms[0]
    stroke = one.motion.strokes[number]
    pose = one.motion.at(stroke.apex)
    if pose is None:
        raise UnclearError(f"stroke {number} is made out of the scene")
    points = one.arm.landmarks(pose)
    knuckle, middle, tip = points[5], points[6], points[8]
    along = (tip - middle) / np.linalg.norm(tip - middle)
    hit = cast(drawn.scene.bodies, tip, along)
    others = 0
    cone = _cone(along)
    meant = subject.pointed.label if isinstance(subject.pointed, SceneObject) else None
    for direction in cone:
        beside = cast(drawn.scene.bodies, tip, direction)
        if beside is not None and FIRST_OBJECT <= beside.label < FIRST_ARM:
            others += beside.label != meant
    return Ray(
        knuckle=knuckle,
        tip=tip,
        direction=along,
        label=None if hit is None else hit.label,
        point=None if hit is None else hit.point,
        neighbours=others / len(cone),
    )


def _cone(along: Floats) -> list[Floats]:
    """Eight directions at :data:`SPREAD` from ``along``."""
    side = np.cross(along, (0.0, 0.0, 1.0) if abs(along[2]) < 0.9 else (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    up = np.cross(along, side)
    return [
        np.cos(SPREAD) * along + np.sin(SPREAD) * (np.cos(turn) * side + np.sin(turn) * up)
        for turn in np.arange(8) * (np.pi / 4)
    ]


def _check_ray(ray: Ray, subject: StrokeSubject) -> None:
    if ray.point is None:
        raise UnclearError("a pointing ray hits nothing")
    if isinstance(subject.pointed, SceneObject):
        if ray.label != subject.pointed.label:
            raise UnclearError("a pointing ray hits something else than it is about")
    else:
        off = float(np.linalg.norm((ray.point - subject.pointed.point)[:2]))
        on_object = ray.label is not None and FIRST_OBJECT <= ray.label < FIRST_ARM
        if off > subject.pointed.radius or on_object:
            raise UnclearError("a pointing ray misses the place that it is about")
    if ray.neighbours > NEIGHBOURS:
        raise UnclearError("a pointing ray could as well be about a neighbour")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sights:
    """What the camera sees when it matters.

    Attributes:
        last: Labels on the last frame, shape ``(height, width)``.
        bare: The same without arms.
    """

    last: NDArray[np.uint8] = field(repr=False)
    bare: NDArray[np.uint8] = field(repr=False)

    def seen(self, label: int) -> int:
        """Pixels of an object on the last frame."""
        return int((self.last == label).sum())


def sights(drawn: Drawn, ready: Set) -> Sights:
    """Look at the last frame and at the apexes.

    Raises:
        UnclearError: If a referent or a pointing finger is not to be seen when it should be.
    """
    found = Sights(last=ready.labels(ready.last), bare=ready.labels(ready.last, arms=False))
    frames = drawn.order.frames
    fewest = max(6.0, FEWEST_PIXELS * frames.width * frames.height / (640 * 480))
    for subject in drawn.subjects:
        _check_in_view(ready.camera(ready.last), place_of(subject.meant), "on the last frame")
        if isinstance(subject.meant, SceneObject):
            seen, bare = found.seen(subject.meant.label), (found.bare == subject.meant.label).sum()
            if seen < fewest or seen < (1.0 - MOST_HIDDEN) * bare:
                raise UnclearError("a referent is hardly to be seen on the last frame")
    for stroke, subject in zip(drawn.arms[0].motion.strokes, drawn.subjects, strict=True):
        camera = ready.camera(stroke.apex)
        _check_in_view(camera, place_of(subject.pointed), "when it is pointed at")
        _check_in_view(camera, stroke.aim.tip, "at the apex", what="the fingertip")
    return found


def _check_in_view(camera: Camera, point: Floats, when: str, *, what: str = "a referent") -> None:
    x, y = camera.project(point)[0]
    width, height = camera.lens.width, camera.lens.height
    edge = MARGIN * width
    if not (edge <= x < width - edge and edge <= y < height - edge):
        raise UnclearError(f"{what} is out of view {when}")
