"""Draws all of a clip but its pictures: scene, words, sound, movement, camera.

Each part draws from a stream of its own (:data:`replay.synth.orders.PARTS`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from replay.synth.choosing import StrokeSubject, UnclearError, choose_subjects
from replay.synth.hand import Arm, ArmPose, HandShape
from replay.synth.motion import (
    ArmMotion,
    ArmPlacement,
    HeadMotion,
    Obstacle,
    StrokeTimes,
    Target,
    draw_arm,
    draw_holds,
    draw_lags,
    draw_poses,
    draw_silent_apexes,
    fit_apexes,
    other_hand,
    plan_gestures,
)
from replay.synth.orders import SAYINGS, Order
from replay.synth.partner import link, partner_bodies
from replay.synth.render import Lens, Sensor, draw_lens
from replay.synth.scene import Scene, SceneObject, SceneSpace, draw_scene
from replay.synth.script import Script
from replay.synth.speech import Soundtrack, Speech, mix, voices
from replay.synth.wording import compose
from replay.synth.world import FIRST_ARM, Body, Floats
from streaming.events import Seconds

Rng = np.random.Generator

FIRST_APEX: tuple[Seconds, Seconds] = (2.1, 3.3)
"""When the first stroke stands; EcoG-Bench's first windows begin 2.5 s into the clip on average."""

SPEECH_EARLIEST: Seconds = 0.35
TAIL: tuple[Seconds, Seconds] = (0.9, 1.9)
"""What follows the last hold or word."""

LONGEST: Seconds = 13.0
OBJECTS = {"easy": (6, 8), "real": (6, 11), "hard": (8, 13)}
"""How many things are on the table: at least, and fewer than."""

SPEEDS = {"easy": (0.9, 1.05), "real": (0.9, 1.15), "hard": (0.95, 1.25)}
OTHER_HAND = {"easy": 0.0, "real": 0.25, "hard": 0.4}
"""How often the person's other hand lies on the table too."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovingArm:
    """An arm and what it does."""

    arm: Arm
    motion: ArmMotion

    @property
    def shoulder(self) -> Floats:
        """Where the arm ends in the body, world, shape ``(3,)``."""
        own: Floats | None = self.motion.template.shoulder
        return self.motion.placement.shoulder if own is None else own

    def bodies(self, pose: ArmPose) -> list[Body]:
        """The arm up to the shoulder; the same topology in every pose."""
        joint = link(self.arm.shape, pose.elbow, self.shoulder, self.arm.label)
        return [*self.arm.bodies(pose), joint]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spoken:
    """What is said, and when the clip's sound begins with it.

    Attributes:
        lags: Wanted apex minus onset of its word, of each stroke.
        start: Of the speech in the clip.
    """

    script: Script
    speech: Speech
    start: Seconds
    lags: tuple[Seconds, ...]

    def stroke_onsets(self) -> list[Seconds]:
        """When the word of each stroke is heard in the clip."""
        onsets = [math.nan] * self.script.strokes
        for word, heard in zip(self.script.words, self.speech.words, strict=True):
            if word.stroke is not None:
                onsets[word.stroke] = self.start + heard.onset
        return onsets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """A clip before it is filmed.

    Attributes:
        subjects: What each stroke is about.
        spoken: None in a silent clip.
        times: Of the strokes.
        arms: The one that points first.
        partner: The rest of the person whose arm it is; nothing of the wearer.
    """

    order: Order
    attempt: int
    scene: Scene
    script: Script
    subjects: tuple[StrokeSubject, ...]
    spoken: Spoken | None
    times: StrokeTimes
    arms: tuple[MovingArm, ...]
    partner: tuple[Body, ...] = field(repr=False)
    head: HeadMotion
    lens: Lens
    sensor: Sensor = field(repr=False)
    sound: Soundtrack = field(repr=False)
    seconds: Seconds

    @property
    def frame_times(self) -> list[Seconds]:
        """When each picture is taken."""
        fps = self.order.frames.fps
        return [number / fps for number in range(round(self.seconds * fps))]


def draw(order: Order, attempt: int) -> Drawn:
    """Draw a clip.

    Raises:
        UnclearError: If this draw does not work out; another attempt may.
    """
    rngs = order.draws(attempt)
    level = order.difficulty
    low, high = OBJECTS[level]
    scene = draw_scene(rngs["scene"], level, objects=int(rngs["scene"].integers(low, high)))
    script, speech = said(order, attempt // SAYINGS)
    subjects = choose_subjects(rngs["choice"], scene, script)
    spoken, times = _timing(rngs["lag"], order, script, speech, subjects)
    seconds = _length(rngs["lag"], order, spoken, times)
    frames = order.frames
    lens = draw_lens(rngs["lens"], level, width=frames.width, height=frames.height)
    head = HeadMotion.draw(
        rngs["head"],
        level,
        seconds,
        gaze=_gaze(subjects, times, seconds),
        fov=lens.fov,
        aspect=frames.width / frames.height,
    )
    placement = _placed(rngs["arm"], order, lens, head, subjects)
    arms = _arms(rngs["arm"], order, placement, head, scene, subjects, times, seconds)
    start = spoken.start if spoken else 0.0
    return Drawn(
        order=order,
        attempt=attempt,
        scene=scene,
        script=script,
        subjects=subjects,
        spoken=spoken,
        times=times,
        arms=arms,
        partner=_partner(rngs["arm"], arms[0]),
        head=head,
        lens=lens,
        sensor=Sensor.draw(rngs["lens"], level, lens, seconds),
        sound=mix(rngs["sound"], level, speech, seconds=seconds, start=start),
        seconds=seconds,
    )


def _gaze(
    subjects: Sequence[StrokeSubject], times: StrokeTimes, seconds: Seconds
) -> list[tuple[Seconds, Floats]]:
    """What has to be seen when: what is pointed at then, what is meant on the last frame too."""
    gaze = [
        (apex, place_of(subject.pointed))
        for apex, subject in zip(times.apexes, subjects, strict=True)
    ]
    relations = [place_of(one.meant) for one in subjects if one.meant is not one.pointed]
    return [*gaze, *((seconds, place) for place in relations)]


def _timing(
    rng: Rng,
    order: Order,
    script: Script,
    speech: Speech | None,
    subjects: Sequence[StrokeSubject],
) -> tuple[Spoken | None, StrokeTimes]:
    """What is said when, and when the strokes stand."""
    holds = draw_holds(rng, order.level, script.strokes, order.difficulty)  # type: ignore[arg-type]
    points = [place_of(subject.pointed) for subject in subjects]
    spans = [float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(points)]
    if speech is None:
        apexes = draw_silent_apexes(rng, holds, seconds=LONGEST)
        zeros = (0.0,) * len(apexes)
        return None, StrokeTimes(apexes=apexes, holds=holds, shifts=zeros, cuts=zeros)
    lags = draw_lags(rng, script.strokes, order.difficulty)
    first = next(
        heard.onset
        for word, heard in zip(script.words, speech.words, strict=True)
        if word.stroke == 0
    )
    start = float(rng.uniform(*FIRST_APEX)) - lags[0] - first
    start = max(start, SPEECH_EARLIEST - speech.words[0].onset)
    spoken = Spoken(script=script, speech=speech, start=start, lags=lags)
    try:
        times = fit_apexes(spoken.stroke_onsets(), lags, holds, distances=spans, earliest=1.1)
    except ValueError as error:
        raise UnclearError(str(error)) from error
    return spoken, times


@functools.lru_cache(maxsize=1)
def said(order: Order, saying: int) -> tuple[Script, Speech | None]:
    """What is said in attempts ``saying * SAYINGS`` and after; no speech in a silent clip."""
    rngs = order.draws(saying * SAYINGS)
    script = compose(rngs["wording"], order.instruction, order.language, order.difficulty)
    if not script.words:
        return script, None
    rng = rngs["voice"]
    known = voices(order.language)
    voice = known[int(rng.integers(len(known)))]
    speed = float(rng.uniform(*SPEEDS[order.difficulty]))
    return script, voice.say(script, speed=speed, rng=rng)


def _length(rng: Rng, order: Order, spoken: Spoken | None, times: StrokeTimes) -> Seconds:
    """The clip's length, a whole number of frames."""
    end = times.apexes[-1] + times.holds[-1]
    if spoken is not None:
        end = max(end, spoken.start + spoken.speech.words[-1].offset)
    seconds = end + float(rng.uniform(*TAIL))
    if seconds > LONGEST:
        raise UnclearError(f"the clip would last {seconds:.1f} s, more than {LONGEST:g}")
    return math.ceil(seconds * order.frames.fps) / order.frames.fps


def _placed(
    rng: Rng, order: Order, lens: Lens, head: HeadMotion, subjects: Sequence[StrokeSubject]
) -> ArmPlacement:
    """Where the arm comes from."""
    about = np.mean([place_of(subject.pointed) for subject in subjects], axis=0)
    return draw_arm(rng, order.difficulty, fov=lens.fov, eye=head.eye, about=about)


def _arms(
    rng: Rng,
    order: Order,
    placement: ArmPlacement,
    head: HeadMotion,
    scene: Scene,
    subjects: Sequence[StrokeSubject],
    times: StrokeTimes,
    seconds: Seconds,
) -> tuple[MovingArm, ...]:
    shape = HandShape.draw(rng, order.difficulty, placement.side)
    poses = draw_poses(rng, order.difficulty)
    obstacles = [
        Obstacle(centre=one.centre, radius=one.radius, height=one.height) for one in scene.objects
    ]

    def moving(who: ArmPlacement, shape: HandShape, label: int, strokes: int) -> MovingArm:
        arm = Arm(shape, label)
        motion = plan_gestures(
            rng,
            order.difficulty,
            placement=who,
            arm=arm,
            poses=poses,
            targets=[_target(subject.pointed) for subject in subjects[:strokes]],
            apexes=times.apexes[:strokes],
            holds=times.holds[:strokes],
            seconds=seconds,
            obstacles=obstacles,
            eye=head.eye,
        )
        return MovingArm(arm=arm, motion=motion)

    try:
        arms = [moving(placement, shape, FIRST_ARM, len(subjects))]
        if rng.random() < OTHER_HAND[order.difficulty]:
            other = other_hand(rng, placement)
            arms.append(moving(other, replace(shape, side=other.side), FIRST_ARM + 1, 0))
    except ValueError as error:
        raise UnclearError(f"no arm can do it: {error}") from error
    return tuple(arms)


def _partner(rng: Rng, pointing: MovingArm) -> tuple[Body, ...]:
    shape = pointing.arm.shape
    return tuple(partner_bodies(rng, pointing.motion.placement, shape, pointing.shoulder))


def _target(item: SceneObject | SceneSpace) -> Target:
    if isinstance(item, SceneObject):
        return Target(point=item.aim, radius=item.radius, height=item.height)
    return Target(point=item.point, radius=item.radius)


def place_of(item: SceneObject | SceneSpace) -> Floats:
    """Where something is pointed at, world, shape ``(3,)``."""
    return item.aim if isinstance(item, SceneObject) else item.point
