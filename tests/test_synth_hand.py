"""Hands: what joints can do, where the fingertip goes, and the mesh around the landmarks."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from replay.synth.hand import (
    FIST,
    FUMBLING,
    OPEN,
    POINTING,
    RESTING,
    Arm,
    ArmPose,
    Finger,
    Fingers,
    HandShape,
    Thumb,
    blend_poses,
)
from replay.synth.hand.reach import DEVIATION, FLEXION
from replay.synth.hand.shape import Side
from replay.synth.world import Pose

ALL = (*POINTING, *RESTING, OPEN, FIST, *FUMBLING)


@functools.cache
def arm(side: Side = "right", seed: int = 3) -> Arm:
    return Arm(HandShape.draw(np.random.default_rng(seed), "real", side), 100)


def flat_pose(fingers: Fingers, side: Side = "right") -> ArmPose:
    return ArmPose(
        wrist=Pose(rotation=np.eye(3), position=np.zeros(3)),
        fingers=fingers,
        elbow=np.array([0.05 if side == "right" else -0.05, -0.24, -0.03]),
        shoulder=np.array([0.0, -0.4, 0.2]),
    )


@pytest.mark.parametrize(
    ("joint", "angle"),
    [("mcp", -11.0), ("mcp", 91.0), ("pip", -1.0), ("pip", 111.0), ("dip", 81.0)],
)
def test_finger_refuses_what_joints_cannot_do(joint: str, angle: float) -> None:
    angles = {"mcp": 10.0, "pip": 90.0, "dip": 60.0, joint: angle}
    with pytest.raises(ValueError, match=joint):
        Finger(**angles)


def test_last_joint_follows_the_one_before_it() -> None:
    assert Finger.bent(0.0, 60.0).dip == pytest.approx(40.0)
    with pytest.raises(ValueError, match="dip"):
        Finger(mcp=0.0, pip=0.0, dip=60.0)


def test_thumb_refuses_what_joints_cannot_do() -> None:
    with pytest.raises(ValueError, match="flexion"):
        Thumb(flexion=60.0, abduction=0.0, mcp=0.0, ip=0.0)


@given(a=st.sampled_from(ALL), b=st.sampled_from(ALL), w=st.floats(0.0, 1.0, allow_nan=False))
def test_blend_of_poses_is_a_pose(a: Fingers, b: Fingers, w: float) -> None:
    mixed = Fingers.blend(a, b, w)
    low, high = sorted((a.index.pip, b.index.pip))
    assert low - 1e-9 <= mixed.index.pip <= high + 1e-9


def test_blend_refuses_to_overshoot() -> None:
    with pytest.raises(ValueError, match="weight"):
        Fingers.blend(FIST, OPEN, 1.2)


@settings(deadline=None, max_examples=25)
@given(
    side=st.sampled_from(("left", "right")),
    x=st.floats(-0.35, 0.35),
    y=st.floats(0.1, 0.65),
    z=st.floats(0.03, 0.35),
    sideways=st.floats(-0.7, 0.7),
    down=st.floats(-1.2, 0.1),
    partner=st.booleans(),
    fingers=st.sampled_from(POINTING),
)
def test_index_finger_points_where_it_is_asked_to(
    side: Side,
    x: float,
    y: float,
    z: float,
    sideways: float,
    down: float,
    partner: bool,
    fingers: Fingers,
) -> None:
    tip = np.array([x, y, z])
    towards = np.array([sideways, -1.0 if partner else 1.0, down])
    shoulder = np.array([0.2, 1.1, 0.3] if partner else [0.2, -0.2, 0.25])
    pose = arm(side).point(tip, towards, shoulder, 0.0, fingers)
    points = arm(side).landmarks(pose)
    assert np.linalg.norm(points[8] - tip) < 5e-4
    finger = (points[8] - points[6]) / np.linalg.norm(points[8] - points[6])
    assert finger @ towards / np.linalg.norm(towards) > 1 - 1e-9
    flexion, deviation = arm(side).wrist_angles(pose)
    assert FLEXION[0] - 1e-6 <= flexion <= FLEXION[1] + 1e-6
    assert DEVIATION[0] - 1e-6 <= deviation <= DEVIATION[1] + 1e-6
    forearm = np.linalg.norm(pose.elbow - pose.wrist.position)
    assert forearm == pytest.approx(arm(side).shape.skeleton.forearm)


def test_ray_of_the_index_finger_starts_at_its_knuckle() -> None:
    pose = flat_pose(POINTING[0])
    knuckle, tip = arm().points_along(pose)
    assert np.array_equal(knuckle, arm().landmarks(pose)[5])
    assert np.array_equal(tip, arm().landmarks(pose)[8])


@pytest.mark.parametrize("fingers", ALL)
def test_landmarks_lie_in_the_flesh(fingers: Fingers) -> None:
    pose = flat_pose(fingers)
    skin = arm().bodies(pose)[0].mesh.vertices
    distances, _ = cKDTree(skin).query(arm().landmarks(pose))
    assert distances[[4, 8, 12, 16, 20]].max() < 0.010
    assert distances.max() < 0.025


def test_left_hand_mirrors_the_right_one() -> None:
    right, left = (arm(side).bodies(flat_pose(POINTING[2], side)) for side in ("right", "left"))
    for one, other in zip(right, left, strict=True):
        mirrored = other.mesh.vertices * np.array([-1, 1, 1], np.float32)
        np.testing.assert_allclose(one.mesh.vertices, mirrored, atol=1e-5)


@pytest.mark.parametrize("side", ["right", "left"])
def test_skin_is_closed_and_faces_outwards(side: Side) -> None:
    mesh = arm(side).bodies(flat_pose(OPEN, side))[0].mesh
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert 0.001 < volume < 0.006
    edges = mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    assert {(a, b) for a, b in edges.tolist()} == {(b, a) for a, b in edges.tolist()}
    assert mesh.normals is not None
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    agree = np.einsum("ij,ij->i", flat, mesh.normals[mesh.faces[:, 0]]) > 0
    assert agree.mean() > 0.95  # a bent elbow folds its inner side into itself


def test_topology_never_changes() -> None:
    before, after = arm().bodies(flat_pose(FIST)), arm().bodies(flat_pose(OPEN))
    assert [body.label for body in before] == [100] * len(before)
    for one, other in zip(before, after, strict=True):
        assert one.mesh.faces is other.mesh.faces
        assert one.mesh.vertices.shape == other.mesh.vertices.shape


def test_same_seed_makes_the_same_arm() -> None:
    shapes = [HandShape.draw(np.random.default_rng(5), "hard", "left") for _ in range(2)]
    assert shapes[0] == shapes[1]
    one, other = (Arm(shape, 101).bodies(flat_pose(FIST, "left")) for shape in shapes)
    for a, b in zip(one, other, strict=True):
        assert a.mesh.vertices.tobytes() == b.mesh.vertices.tobytes()
        assert (a.material.texture is None) == (b.material.texture is None)
        if a.material.texture is not None and b.material.texture is not None:
            assert np.array_equal(a.material.texture, b.material.texture)


def test_blended_arm_keeps_its_bones() -> None:
    right = arm()
    shoulder = np.array([0.2, -0.2, 0.25])
    a = right.rest(np.array([0.2, 0.1, 0.05]), np.array([0.0, 1.0, 0.0]), shoulder, 0.0, RESTING[0])
    b = right.point(
        np.array([0.0, 0.4, 0.2]), np.array([-0.3, 1.0, -0.4]), shoulder, 0.0, POINTING[0]
    )
    for w in (0.0, 0.3, 1.0):
        pose = blend_poses(a, b, w)
        assert np.linalg.norm(pose.elbow - pose.wrist.position) == pytest.approx(
            right.shape.skeleton.forearm
        )
        np.testing.assert_allclose(
            pose.wrist.rotation @ pose.wrist.rotation.T, np.eye(3), atol=1e-9
        )
