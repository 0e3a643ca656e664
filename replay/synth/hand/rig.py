"""How skin and sleeves follow the bones: linear blending with a half-way bone in every joint.

The half-way bones keep bent joints round: a vertex only ever mixes turns that are half a joint's
angle apart. Coordinates as in :mod:`.skeleton`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from replay.synth.hand.fingers import Fingers
from replay.synth.hand.flesh import AT_REST, Flesh
from replay.synth.hand.skeleton import Joints, Skeleton, hand_joints
from replay.synth.hand.turning import across, between, frame, unit
from replay.synth.render.compiled import compiled
from replay.synth.world import Floats

UPPER, ELBOW, FORE, FORE_MIDDLE, FORE_WRIST, WRIST, HAND, FIRST_DIGIT = range(8)
"""Numbers of the bones; six for each digit follow: half-way and whole, joint by joint."""

BONES: Final = FIRST_DIGIT + 30

MOST: Final = 8
"""Most bones that move one vertex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Where the arm is, in the hand's own coordinates.

    Attributes:
        elbow, shoulder: Shape ``(3,)``.
    """

    elbow: Floats
    shoulder: Floats


def reach_at_rest(skeleton: Skeleton) -> Reach:
    """The arm stretched out along ``-y``."""
    elbow = np.array([0.0, -skeleton.forearm, 0.0])
    return Reach(elbow=elbow, shoulder=elbow - np.array([0.0, skeleton.upper_arm, 0.0]))


def twist(reach: Reach) -> float:
    """Degrees by which the forearm is turned from thumb up to palm down; palm up is negative.

    0 where the elbow is so straight that it has no hinge to measure from.
    """
    forearm, hinge = _hinge(reach)
    if np.linalg.norm(hinge) < 0.05:
        return 0.0
    side = across(np.array([1.0, 0.0, 0.0]), forearm)
    turned = np.arctan2(np.cross(hinge, side) @ forearm, hinge @ side)
    return 90.0 - float(np.degrees(turned))


def _hinge(reach: Reach) -> tuple[Floats, Floats]:
    """The forearm's direction, and the elbow's axis, as long as the sine of its angle."""
    forearm = unit(-reach.elbow)
    upper = unit(reach.elbow - reach.shoulder)
    return forearm, np.cross(upper, forearm)


def bone_frames(skeleton: Skeleton, fingers: Fingers, reach: Reach) -> Floats:
    """Axes and origins of all bones, shape ``(BONES, 3, 4)``."""
    frames = np.zeros((BONES, 3, 4))
    _arm_frames(frames, reach)
    for number, joints in enumerate(hand_joints(skeleton, fingers)):
        _digit_frames(frames, FIRST_DIGIT + 6 * number, joints)
    return frames


def _arm_frames(frames: Floats, reach: Reach) -> None:
    forearm, hinge = _hinge(reach)
    wrist = frame(forearm, np.array([0.0, 0.0, 1.0]))
    # Half-way between palm up and palm down the back of the hand faces along the elbow's axis. A
    # straight elbow has no axis: there the forearm is taken as not twisted.
    fore = frame(forearm, hinge + 0.1 * wrist[:, 2])
    upper = _swung(fore, unit(reach.elbow - reach.shoulder))
    turns = (
        (UPPER, upper, reach.elbow),
        (ELBOW, between(upper, fore, 0.5), reach.elbow),
        (FORE, fore, reach.elbow),
        (FORE_MIDDLE, between(fore, wrist, 0.5), reach.elbow),
        (FORE_WRIST, wrist, reach.elbow),
        (WRIST, between(wrist, np.eye(3), 0.5), np.zeros(3)),
        (HAND, np.eye(3), np.zeros(3)),
    )
    for bone, turn, origin in turns:
        frames[bone, :, :3], frames[bone, :, 3] = turn, origin


def _swung(turn: Floats, along: Floats) -> Floats:
    """``turn`` swung the shortest way so that its ``y`` is ``along``."""
    axis = np.cross(turn[:, 1], along)
    sine, cosine = float(np.linalg.norm(axis)), float(turn[:, 1] @ along)
    if sine < 1e-9:
        return turn
    x, y, z = axis / sine
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    swing = np.eye(3) + sine * skew + (1 - cosine) * skew @ skew
    return np.asarray(swing @ turn, np.float64)


def _digit_frames(frames: Floats, first: int, joints: Joints) -> None:
    for bone in range(3):
        for number, turns in (
            (first + 2 * bone, joints.halves),
            (first + 2 * bone + 1, joints.turns),
        ):
            frames[number, :, :3], frames[number, :, 3] = turns[bone], joints.points[bone]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skin:
    """A mesh at rest and how it follows the bones.

    Attributes:
        vertices, normals: At rest, shape ``(n, 3)``.
        bones: Those that move each vertex, shape ``(n, k)``.
        weights: How much, shape ``(n, k)``; rows add to 1.
    """

    vertices: NDArray[np.float32]
    normals: NDArray[np.float32]
    bones: NDArray[np.int32]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, vertices: Floats, normals: Floats, weights: NDArray[np.float32]) -> Skin:
        """A mesh with the weights of all bones, shape ``(n, BONES)``; small ones are dropped."""
        bones = np.argsort(-weights, axis=1, kind="stable")[:, :MOST]
        kept = np.take_along_axis(weights, bones, axis=1)
        return cls(
            vertices=np.asarray(vertices, np.float32),
            normals=np.asarray(normals, np.float32),
            bones=np.asarray(bones, np.int32),
            weights=np.asarray(kept / kept.sum(axis=1, keepdims=True), np.float32),
        )

    def posed(self, moves: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Vertices and unit normals ``(n, 3)`` when bones move by ``moves``, ``(BONES, 3, 4)``."""
        count = len(self.normals)
        vertices, normals = np.empty((count, 3), np.float32), np.empty((count, 3), np.float32)
        _blend(self.vertices, self.normals, self.bones, self.weights, moves, vertices, normals)
        return vertices, normals


@compiled
def _blend(
    at_rest: NDArray[np.float32],
    facing: NDArray[np.float32],
    bones: NDArray[np.int32],
    weights: NDArray[np.float32],
    moves: Floats,
    vertices: NDArray[np.float32],
    normals: NDArray[np.float32],
) -> None:
    """Fill ``vertices`` and ``normals`` with the moved ones."""
    move = np.empty((3, 4))
    turned = np.empty(3)
    for v in range(len(at_rest)):
        move[:] = 0.0
        for k in range(bones.shape[1]):
            if weights[v, k] > 0.0:
                for i in range(3):
                    for j in range(4):
                        move[i, j] += weights[v, k] * moves[bones[v, k], i, j]
        x, y, z = at_rest[v]
        n, m, o = facing[v]
        for i in range(3):
            vertices[v, i] = move[i, 0] * x + move[i, 1] * y + move[i, 2] * z + move[i, 3]
            turned[i] = move[i, 0] * n + move[i, 1] * m + move[i, 2] * o
        length = math.sqrt(turned[0] ** 2 + turned[1] ** 2 + turned[2] ** 2)
        for i in range(3):
            normals[v, i] = turned[i] / max(length, 1e-9)


def bone_moves(rest: Floats, posed: Floats) -> Floats:
    """How each bone moves from its place at rest, shape ``(BONES, 3, 4)``."""
    turns = posed[:, :, :3] @ np.transpose(rest[:, :, :3], (0, 2, 1))
    shifts = posed[:, :, 3] - np.einsum("bij,bj->bi", turns, rest[:, :, 3])
    return np.concatenate([turns, shifts[:, :, None]], axis=2)


def skin_weights(
    vertices: Floats, faces: NDArray[np.int32], flesh: Flesh, skeleton: Skeleton
) -> NDArray[np.float32]:
    """Weights of the bones on the bare skin, shape ``(n, BONES)``."""
    joints = hand_joints(skeleton, AT_REST)
    weights = arm_weights(vertices[:, 1], skeleton)
    near = vertices[:, 1] > -0.05
    hand = np.flatnonzero(near)
    points = vertices[hand]
    palm = _between(points, [bones.points[0] for bones in joints[1:]])
    shares = np.zeros((5, len(hand)))
    shares[0] = _thumb_share(points, joints[0], palm)
    nearest = 1 + np.argmin(flesh.parts(points)[1:5], axis=0)
    for number in range(1, 5):
        shares[number] = (nearest == number) * (1 - shares[0])
    part = np.zeros((len(hand), 30))
    for number in range(5):
        part[:, 6 * number : 6 * number + 6] = _digit_weights(points, joints[number], number)
        part[:, 6 * number : 6 * number + 6] *= shares[number][:, None]
    total = np.minimum(part.sum(axis=1), 1.0)
    part *= (total / np.maximum(part.sum(axis=1), 1e-9))[:, None]
    weights[hand] *= (1 - total)[:, None]
    weights[hand, FIRST_DIGIT:] = part
    return _diffused(weights, faces, rounds=3)


def _thumb_share(points: Floats, thumb: Joints, palm: Floats) -> Floats:
    """How much points are the thumb's: nearer to its bones than to those of the palm."""
    own = np.minimum(
        _segment(points, thumb.points[0], thumb.points[1]),
        np.minimum(
            _segment(points, thumb.points[1], thumb.points[2]),
            _segment(points, thumb.points[2], thumb.points[3]),
        ),
    )
    return smooth_step(palm - own, -0.004, 0.012)


def _between(points: Floats, heads: list[Floats]) -> Floats:
    """Distance of points from the palm's bones."""
    distances = [_segment(points, head * np.array([0.4, 0.12, 0.0]), head) for head in heads]
    return np.asarray(np.min(distances, axis=0), np.float64)


def _segment(points: Floats, start: Floats, end: Floats) -> Floats:
    along = end - start
    share = np.clip((points - start) @ along / (along @ along), 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - start - share[:, None] * along, axis=1), np.float64)


def _digit_weights(points: Floats, joints: Joints, number: int) -> Floats:
    """Weights of a digit's six bones along it, shape ``(n, 6)``; the rest is the palm's."""
    radii = (0.016, 0.0105, 0.009) if number == 0 else (0.0115, 0.0085, 0.0075)
    passed = []
    for bone in range(3):
        before = joints.turns[bone - 1][:, 1] if bone else joints.turns[0][:, 1]
        along = unit(before + joints.turns[bone][:, 1])
        s = (points - joints.points[bone]) @ along
        back = -0.9 if bone or number == 0 else -0.7
        passed.append(smooth_step(s, back * radii[bone], 0.9 * radii[bone]))
    weights = np.zeros((len(points), 6))
    rest = np.ones(len(points))
    for bone in (2, 1, 0):
        share = passed[bone]
        whole = np.maximum(2 * share - 1, 0.0)
        half = 1 - np.abs(2 * share - 1)
        weights[:, 2 * bone + 1] = rest * whole
        weights[:, 2 * bone] = rest * half
        rest = rest * (1 - whole - half)
    return weights


def arm_weights(y: Floats, skeleton: Skeleton) -> NDArray[np.float32]:
    """Weights of the bones on what lies around the arm at ``y``, shape ``(n, BONES)``."""
    weights = np.zeros((len(y), BONES), np.float32)
    wrist = smooth_step(y, -0.022, 0.016)
    elbow = smooth_step(y + skeleton.forearm, -0.045, 0.045)
    turned = np.clip((y + skeleton.forearm) / skeleton.forearm, 0.0, 1.0)
    weights[:, HAND] = np.maximum(2 * wrist - 1, 0.0)
    weights[:, WRIST] = 1 - np.abs(2 * wrist - 1)
    fore = (1 - weights[:, HAND] - weights[:, WRIST]) * np.maximum(2 * elbow - 1, 0.0)
    weights[:, FORE_WRIST] = fore * np.maximum(2 * turned - 1, 0.0)
    weights[:, FORE_MIDDLE] = fore * (1 - np.abs(2 * turned - 1))
    weights[:, FORE] = fore * np.maximum(1 - 2 * turned, 0.0)
    weights[:, ELBOW] = (1 - np.abs(2 * elbow - 1)) * (wrist < 1e-9)
    weights[:, UPPER] = np.maximum(1 - 2 * elbow, 0.0)
    return weights


def smooth_step(value: Floats, low: float, high: float) -> Floats:
    """0 below ``low``, 1 above ``high``, smooth in between."""
    share = np.clip((value - low) / (high - low), 0.0, 1.0)
    return np.asarray(share * share * (3 - 2 * share), np.float64)


def _diffused(
    weights: NDArray[np.float32], faces: NDArray[np.int32], *, rounds: int
) -> NDArray[np.float32]:
    """Weights averaged with those of the neighbours, round after round."""
    from scipy.sparse import coo_array, diags_array

    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    size = (len(weights), len(weights))
    links = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=size).tocsr()
    mean = diags_array(1 / links.sum(axis=1)) @ links
    smooth = weights.astype(np.float64)
    for _ in range(rounds):
        smooth = 0.5 * smooth + 0.5 * (mean @ smooth)
    return np.asarray(smooth / smooth.sum(axis=1, keepdims=True), np.float32)
