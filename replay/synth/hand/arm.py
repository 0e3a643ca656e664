"""One arm of one person: its meshes, its landmarks, and the poses that put it somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from replay.synth.hand.fingers import Fingers
from replay.synth.hand.flesh import AT_REST
from replay.synth.hand.parts import Part, parts_of
from replay.synth.hand.reach import Task, solve, wrist_angles
from replay.synth.hand.rig import Reach, bone_frames, bone_moves, reach_at_rest
from replay.synth.hand.shape import HandShape
from replay.synth.hand.skeleton import landmarks
from replay.synth.hand.turning import UP, about, across, between, frame, unit
from replay.synth.world import Body, Floats, Mesh, Pose

KNUCKLE, TIP = 5, 8
"""The index finger's ends among the landmarks."""

_PIP: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPose:
    """A whole arm.

    Attributes:
        wrist: Of the hand: origin the middle of the wrist, ``y`` along the fingers, ``z`` out of
            the back of the hand, ``x`` to the right of a hand that lies palm down.
        fingers: Joint angles.
        elbow: World, shape ``(3,)``.
        shoulder: World, shape ``(3,)``; None: straight on from the forearm.
    """

    wrist: Pose
    fingers: Fingers
    elbow: Floats
    shoulder: Floats | None = None


def blend_poses(a: ArmPose, b: ArmPose, w: float) -> ArmPose:
    """``a`` at ``w`` 0, ``b`` at 1; the wrist turns the shortest way, bones keep their lengths.

    Raises:
        ValueError: If ``w`` is outside 0…1.
    """
    wrist = Pose(
        rotation=between(a.wrist.rotation, b.wrist.rotation, w),
        position=_mixed(a.wrist.position, b.wrist.position, w),
    )
    fingers = Fingers.blend(a.fingers, b.fingers, w)
    elbow = _kept(wrist.position, (a.wrist.position, a.elbow), (b.wrist.position, b.elbow), w)
    shoulder = None
    if a.shoulder is not None and b.shoulder is not None:
        shoulder = _kept(elbow, (a.elbow, a.shoulder), (b.elbow, b.shoulder), w)
    return ArmPose(wrist=wrist, fingers=fingers, elbow=elbow, shoulder=shoulder)


def _mixed(a: Floats, b: Floats, w: float) -> Floats:
    return np.asarray((1 - w) * a + w * b, np.float64)


def _kept(
    root: Floats, one: tuple[Floats, Floats], other: tuple[Floats, Floats], w: float
) -> Floats:
    """The end of a bone between two of its places, at the length it has there."""
    end = _mixed(one[1], other[1], w)
    lengths = [float(np.linalg.norm(place[1] - place[0])) for place in (one, other)]
    along = end - root
    if np.linalg.norm(along) < 1e-6:
        along = one[1] - one[0]
    return np.asarray(root + ((1 - w) * lengths[0] + w * lengths[1]) * unit(along), np.float64)


class Arm:
    """Hand, forearm, upper arm, and what they wear.

    Args:
        shape: Whose arm.
        label: Of all its parts in pictures.
    """

    def __init__(self, shape: HandShape, label: int) -> None:
        self.shape = shape
        self.label = label
        self._skeleton = shape.skeleton
        self._mirror = np.array([1.0 if shape.side == "right" else -1.0, 1.0, 1.0])
        self._parts: tuple[Part, ...] = parts_of(shape)
        self._at_rest = bone_frames(self._skeleton, AT_REST, reach_at_rest(self._skeleton))

    def bodies(self, pose: ArmPose) -> list[Body]:
        """Meshes in the world; faces, and the number and order of bodies, never change."""
        frames = bone_frames(self._skeleton, pose.fingers, self._reach(pose))
        moves = bone_moves(self._at_rest, frames)
        mirrored = pose.wrist.rotation * self._mirror
        placed = mirrored @ moves
        placed[:, :, 3] += pose.wrist.position
        return [self._body(part, placed) for part in self._parts]

    def _body(self, part: Part, moves: Floats) -> Body:
        vertices, normals = part.skin.posed(moves)
        mesh = Mesh(
            vertices=vertices, faces=part.faces, normals=normals, uv=part.uv, tint=part.tint
        )
        return Body(mesh=mesh, material=part.material, label=self.label)

    def _reach(self, pose: ArmPose) -> Reach:
        """The arm in a right hand's own coordinates."""
        elbow = pose.wrist.to_own(pose.elbow) * self._mirror
        if pose.shoulder is None:
            shoulder = elbow * (1 + self._skeleton.upper_arm / self._skeleton.forearm)
        else:
            shoulder = pose.wrist.to_own(pose.shoulder) * self._mirror
        return Reach(elbow=elbow, shoulder=shoulder)

    def landmarks(self, pose: ArmPose) -> Floats:
        """The 21 points in MediaPipe's order, world, shape ``(21, 3)``."""
        return pose.wrist.to_world(landmarks(self._skeleton, pose.fingers) * self._mirror)

    def points_along(self, pose: ArmPose) -> tuple[Floats, Floats]:
        """The index finger's knuckle and tip, world: the ray that it points along."""
        points = self.landmarks(pose)
        return points[KNUCKLE], points[TIP]

    def wrist_angles(self, pose: ArmPose) -> tuple[float, float]:
        """Flexion (towards the palm) and deviation (towards the little finger), degrees."""
        return wrist_angles(unit(-self._reach(pose).elbow))

    def point(
        self, tip: Floats, towards: Floats, shoulder: Floats, roll: float, fingers: Fingers
    ) -> ArmPose:
        """The arm whose index fingertip is at ``tip``, the finger's end along ``towards``.

        Args:
            tip: Landmark 8, world, shape ``(3,)``.
            towards: From the index finger's middle joint to its tip, world; any length.
            shoulder: Where the shoulder would like to be, world.
            roll: Degrees about ``towards``, counter-clockwise seen from ahead; 0: back of the hand
                up. The hand turns away from it as far as the arm needs it.
            fingers: What the fingers do.
        """
        points = landmarks(self._skeleton, fingers) * self._mirror
        return self._held(
            pivot=tip,
            own_pivot=points[TIP],
            own_axis=unit(points[TIP] - points[_PIP]),
            axis=unit(towards),
            shoulder=shoulder,
            roll=roll,
            fingers=fingers,
        )

    def rest(
        self, wrist: Floats, towards: Floats, shoulder: Floats, roll: float, fingers: Fingers
    ) -> ArmPose:
        """The arm whose wrist is at ``wrist``, the hand's ``y`` along ``towards``."""
        return self._held(
            pivot=wrist,
            own_pivot=np.zeros(3),
            own_axis=np.array([0.0, 1.0, 0.0]),
            axis=unit(towards),
            shoulder=shoulder,
            roll=roll,
            fingers=fingers,
        )

    def _held(
        self,
        *,
        pivot: Floats,
        own_pivot: Floats,
        own_axis: Floats,
        axis: Floats,
        shoulder: Floats,
        roll: float,
        fingers: Fingers,
    ) -> ArmPose:
        ahead = across(pivot - shoulder, UP)
        back = UP + 0.5 * ahead / max(float(np.linalg.norm(ahead)), 1e-9)
        world = frame(axis, back)
        own = frame(own_axis, np.array([0.0, 0.0, 1.0]))
        turn = about(axis, roll) @ world @ own.T
        points = landmarks(self._skeleton, fingers) * self._mirror
        task = Task(
            pivot=pivot,
            axis=axis,
            turn=turn,
            lever=turn @ -own_pivot,
            shoulder=shoulder,
            low=(points - own_pivot) @ turn.T,
            forearm=self._skeleton.forearm,
            upper_arm=self._skeleton.upper_arm,
            mirror=float(self._mirror[0]),
        )
        found = solve(task)
        return ArmPose(
            wrist=Pose(rotation=about(axis, found.turn) @ turn, position=found.wrist),
            fingers=fingers,
            elbow=found.elbow,
            shoulder=found.shoulder,
        )
