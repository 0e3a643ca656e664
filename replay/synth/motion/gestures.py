"""Plans a whole clip's movement of one arm: strokes where they are asked, and life between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from replay.synth.motion.aiming import Aim, take_aim
from replay.synth.motion.arm_motion import ArmMotion, Distractor, StrokeTruth
from replay.synth.motion.clearance import Clearance
from replay.synth.motion.course import Course, Key, draw_style, key_of, tempo_time
from replay.synth.motion.curves import xyz
from replay.synth.motion.idling import Idling
from replay.synth.motion.person import Stations, draw_habits, draw_poses
from replay.synth.motion.placement import (
    EYE,
    ArmPlacement,
    HandPoses,
    Obstacle,
    PointingArm,
    Target,
)
from replay.synth.motion.settings import motion_settings
from replay.synth.script import Difficulty
from replay.synth.world import Floats
from streaming.events import Seconds

_NEAR = 0.012
"""Metres from its place at the apex within which an annotator takes the fingertip to be there."""
_LEAST_GAP: Seconds = 0.25
_EARLIEST_WINDOW: Seconds = 0.3


def plan_gestures(
    rng: np.random.Generator,
    difficulty: Difficulty,
    *,
    placement: ArmPlacement,
    arm: PointingArm,
    targets: Sequence[Target],
    apexes: Sequence[Seconds],
    holds: Sequence[Seconds],
    seconds: Seconds,
    obstacles: Sequence[Obstacle] = (),
    eye: Floats = EYE,
    poses: HandPoses | None = None,
) -> ArmMotion:
    """Plan how one arm moves in a clip.

    Args:
        rng: Source of every draw.
        difficulty: Its settings are used.
        placement: Whose arm it is.
        arm: Solves its joints.
        targets: What each stroke points at; none: the arm lies on the table and idles.
        apexes: When each fingertip stands, ascending, as :func:`.timing.fit_apexes` gives them.
        holds: How long it stays.
        seconds: Length of the clip.
        obstacles: What stands on the table, targets included.
        eye: Where the camera is, about, shape ``(3,)``.
        poses: Joint angles of its fingers; None: drawn.

    Raises:
        ValueError: If the sequences do not go together, or there is no time to get from one stroke
            to the next.
    """
    if not len(targets) == len(apexes) == len(holds):
        raise ValueError(
            f"{len(targets)} targets, {len(apexes)} apexes, {len(holds)} holds: "
            "expected as many of each"
        )
    poses = draw_poses(rng, difficulty) if poses is None else poses
    planner = _Planner(rng, difficulty, placement, arm, poses, obstacles, eye, seconds)
    return planner.plan(targets, apexes, holds)


class _Planner:
    def __init__(
        self,
        rng: np.random.Generator,
        difficulty: Difficulty,
        placement: ArmPlacement,
        arm: PointingArm,
        poses: HandPoses,
        obstacles: Sequence[Obstacle],
        eye: Floats,
        seconds: Seconds,
    ) -> None:
        self._rng = rng
        self._knobs = motion_settings().of(difficulty).arm
        self._arm = arm
        self._placement = placement
        self._poses = poses
        self._obstacles = obstacles
        self._clearance = Clearance(obstacles)
        self._eye = eye
        self._seconds = seconds
        self._habits = draw_habits(rng, self._knobs)
        self._stations = Stations(
            arm=arm,
            placement=placement,
            poses=poses,
            clearance=self._clearance,
            habits=self._habits,
            template=self._template(),
        )
        self._distractors: list[Distractor] = []
        self._strokes: list[StrokeTruth] = []

    def plan(
        self, targets: Sequence[Target], apexes: Sequence[Seconds], holds: Sequence[Seconds]
    ) -> ArmMotion:
        aims = [self._aim(target) for target in targets]
        keys = [key_of(aim.pose, self._arm) for aim in aims]
        middle = np.mean([target.point for target in targets], axis=0) if targets else _MIDDLE
        self._home, self._out = self._stations.rest(self._rng), self._stations.away()
        # An arm that never points is there to lie on the table.
        start, fidgets = self._first() if targets else (self._home, False)
        self._course = Course(start, self._clearance, self._stations.marks)
        self._idling = Idling(
            rng=self._rng,
            course=self._course,
            stations=self._stations,
            knobs=self._knobs,
            home=self._home,
            out=self._out,
            middle=np.asarray(middle, np.float64),
            obstacles=self._obstacles,
        )
        for index, (aim, key) in enumerate(zip(aims, keys, strict=True)):
            if index == 0:
                self._begin(key, apexes[0], fidgets)
            else:
                self._pass(keys[index - 1], key, apexes[index])
            self._point(aim, key, apexes[index], apexes[index] + holds[index])
        self._end()
        return self._made(aims)

    def _aim(self, target: Target) -> Aim:
        return take_aim(
            self._rng,
            target,
            arm=self._arm,
            placement=self._placement,
            knobs=self._knobs,
            clearance=self._clearance,
            eye=self._eye,
            roll=self._habits.roll,
            fingers=self._poses.pointing,
        )

    def _first(self) -> tuple[Key, bool]:
        """Where the arm is at first, and whether it fidgets there."""
        chance = self._rng.random()
        if chance < self._knobs.start_away:
            return self._out, False
        fidgets = chance < self._knobs.start_away + self._knobs.start_fidget
        return self._home, fidgets

    def _leave_time(self, key: Key, apex: Seconds, *, slower: float) -> Seconds:
        """When the arm has to leave where it is, to be at ``key`` by ``apex``."""
        return apex - slower * tempo_time(self._course.key, key, self._habits.tempo)

    def _begin(self, key: Key, apex: Seconds, fidgets: bool) -> None:
        slower = float(self._rng.uniform(1.1, 1.6))
        leave = self._leave_time(key, apex, slower=slower)
        if fidgets and leave > 0.8:
            self._distractors.append(self._idling.fidget(leave - 0.1))
        else:
            self._distractors += self._idling.fill(apex, then=key)
        self._depart(key, apex, slower)

    def _depart(self, key: Key, apex: Seconds, slower: float) -> None:
        """Wait until it is time to go to ``key``."""
        self._course.wait(self._leave_time(key, apex, slower=slower))
        if self._course.now > apex - 0.1:
            raise ValueError(f"no time to reach the stroke at {apex:.2f} s")

    def _pass(self, before: Key, key: Key, apex: Seconds) -> None:
        """From the hold of one stroke to where the next begins."""
        direct = tempo_time(before, key, self._habits.tempo)
        gap = apex - self._course.now
        spare = gap - direct
        if gap < _LEAST_GAP:
            raise ValueError(f"no time to reach the stroke at {apex:.2f} s")
        if gap < 1.6 * direct or spare < 0.35:
            return
        onset = self._course.now
        done = self._idling.fill(apex, then=key)
        if done:
            self._distractors += done
            self._depart(key, apex, 1.0)
            return
        self._hover(before, key, spare, onset)

    def _hover(self, before: Key, key: Key, spare: Seconds, onset: Seconds) -> None:
        """Draw back a little and wait in the air, never quite still, or go home for a while."""
        if spare > 1.1 and self._rng.random() > self._habits.pause:
            rest = self._home
            home = tempo_time(before, rest, self._habits.tempo)
            onward = tempo_time(rest, key, self._habits.tempo)
            direct = tempo_time(before, key, self._habits.tempo)
            if home + onward < spare + direct - 0.2:
                self._course.reach(rest, self._course.now + home)
                self._course.wait(onset + spare + direct - onward)
                return
        back = before.elbow / float(np.linalg.norm(before.elbow))
        away = 0.06 * back + xyz(0.0, 0.0, 0.04)
        on = 0.3 * (key.position - before.position)
        relaxed = self._relaxed(before, float(self._rng.uniform(0.25, 0.7)))
        waiting = relaxed.moved(away * float(self._rng.uniform(0.8, 1.6)) + on)
        waiting = self._stations.raised(waiting)
        needed = tempo_time(before, waiting, self._habits.tempo)
        lasting = max(0.36, 0.85 * needed, 0.55 * spare)
        if lasting > spare + 0.1:
            return  # the next stroke is prepared slowly instead
        self._course.reach(waiting, onset + lasting)
        rest_of_it = onset + spare - self._course.now
        if rest_of_it > 0.15:
            self._course.shift(self._rng.normal(0.0, 0.012, 3) + xyz(0.0, 0.0, 0.01), rest_of_it)
        self._distractors.append(Distractor(kind="hover", onset=onset, offset=self._course.now))

    def _relaxed(self, key: Key, share: float) -> Key:
        """The hand of ``key``, its fingers on the way to relaxed ones."""
        loose = self._poses.relaxed
        fingers = type(loose).blend(key.fingers, loose, share)
        return replace(key, fingers=fingers, marks=self._stations.marks(fingers))

    def _point(self, aim: Aim, key: Key, apex: Seconds, leave: Seconds) -> None:
        """The stroke itself and its hold."""
        preparation = self._course.now
        onset = self._course.reach(
            key,
            apex,
            approach=aim.direction,
            style=draw_style(self._rng, correction=self._knobs.correction),
            early_fingers=True,
        )
        self._course.wait(leave)
        self._strokes.append(
            StrokeTruth(
                preparation=preparation,
                onset=onset,
                window=onset,
                apex=apex,
                hold_offset=leave,
                retraction_offset=leave,
                aim=aim,
            )
        )

    def _end(self) -> None:
        """After the last stroke: home or out, and perhaps a little life there."""
        if self._strokes:
            left = self._seconds - self._course.now
            goal = self._out if self._rng.random() < self._knobs.leave else self._home
            wanted = tempo_time(self._course.key, goal, self._habits.tempo)
            wanted *= float(self._rng.uniform(1.0, 1.4))
            lasting = max(0.75 * wanted, min(wanted, left))
            self._course.reach(goal, self._course.now + lasting)
        home = self._course.key
        spare = self._seconds - 0.9
        done = self._idling.fill(spare)
        self._distractors += done
        if done and self._course.key is not home and not self._course.key.away:
            back = tempo_time(self._course.key, home, self._habits.tempo)
            self._course.reach(home, self._course.now + back)
        self._course.finish()

    def _made(self, aims: Sequence[Aim]) -> ArmMotion:
        course = self._course
        motion = ArmMotion(
            placement=self._placement,
            strokes=(),
            distractors=tuple(self._distractors),
            template=self._stations.template,
            wrist=course.wrist(),
            turns=tuple(course.turns),
            bends=tuple(course.bends),
            tremor=self._habits.tremor,
            drift=self._habits.drift,
            unrest=_arrays(course.unrest),
            absences=tuple(course.absences),
            habits=self._habits.describe(),
        )
        strokes = [
            replace(
                stroke,
                window=self._window(motion, stroke),
                retraction_offset=self._settled(number),
            )
            for number, stroke in enumerate(self._strokes)
        ]
        return replace(motion, strokes=tuple(strokes))

    def _template(self) -> Any:
        rest = self._placement.rest
        towards = self._placement.forward
        shoulder = self._placement.shoulder
        return self._arm.rest(rest, towards, shoulder, 0.0, self._poses.resting)

    def _window(self, motion: ArmMotion, stroke: StrokeTruth) -> Seconds:
        """The last moment at which the fingertip comes within 12 mm of its place at the apex."""
        wrist = stroke.aim.pose.wrist
        own = wrist.to_own(stroke.aim.tip)
        earliest = max(stroke.onset, stroke.apex - _EARLIEST_WINDOW)
        for time in np.arange(stroke.apex - 0.02, earliest, -0.01):
            tip = motion.pose(float(time)).wrist.to_world(own)
            if float(np.linalg.norm(tip - stroke.aim.tip)) > _NEAR:
                return float(time)
        return earliest

    def _settled(self, number: int) -> Seconds:
        """When the hand has come to rest after a stroke, or prepares the next."""
        leave = self._strokes[number].hold_offset
        later = [stroke.preparation for stroke in self._strokes[number + 1 :]]
        reached = [turn.end for turn in self._course.turns if turn.start >= leave]
        return min([*later[:1], *reached[:1]], default=leave)


_MIDDLE: Floats = np.array([0.0, 0.35, 0.0])


def _arrays(knots: Sequence[tuple[Seconds, float]]) -> tuple[Floats, Floats]:
    """Times that never fall, and their weights."""
    times = np.maximum.accumulate(np.array([time for time, _ in knots]))
    return times, np.array([weight for _, weight in knots])
