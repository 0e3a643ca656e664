"""Ego-motion on made-up pictures whose motion is known."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streaming import geometry
from streaming.background import foreground_mask, likeness, thumbnail
from streaming.config import config_path, load
from streaming.ego_motion import EgoMotion, EgoMotionSettings
from streaming.events import IDENTITY, CameraMotion, Hand, HandsSeen, VideoFrame

WIDTH, HEIGHT = 640, 480
Picture = NDArray[np.uint8]
Matrix = NDArray[np.float64]


@functools.cache
def texture(seed: int = 0, *, contrast: float = 60.0) -> Picture:
    """A wide picture of soft blotches, 1600 x 1200."""
    rng = np.random.default_rng(seed)
    whole = np.zeros((1200, 1600), np.float32)
    for cells in (200, 25):
        noise = rng.normal(0, 1, (cells * 3 // 4, cells)).astype(np.float32)
        whole += cv2.resize(noise, (1600, 1200), interpolation=cv2.INTER_CUBIC)
    grey = np.clip(128 + contrast * whole / 2, 0, 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def view(scene: Picture, camera: Matrix) -> Picture:
    """What a camera sees; ``camera`` takes scene pixels, from the middle, to its own."""
    middle = np.array([[1, 0, WIDTH / 2], [0, 1, HEIGHT / 2], [0, 0, 1]])
    origin = np.array([[1, 0, -800], [0, 1, -600], [0, 0, 1]])
    seen: Any = cv2.warpPerspective(scene, middle @ camera @ origin, (WIDTH, HEIGHT))
    return np.asarray(seen, np.uint8)


def pose(x: float = 0, y: float = 0, turn: float = 0, zoom: float = 1) -> Matrix:
    cos, sin = zoom * math.cos(turn), zoom * math.sin(turn)
    return np.array([[cos, -sin, x], [sin, cos, y], [0, 0, 1.0]])


def follow(
    pictures: Sequence[Picture],
    *,
    hands: Callable[[int], tuple[Hand, ...]] = lambda index: (),
    fps: float = 30.0,
) -> tuple[list[CameraMotion], EgoMotion]:
    ego = EgoMotion()
    said: list[CameraMotion] = []
    for index, picture in enumerate(pictures):
        time = index / fps
        said += ego.push(VideoFrame(time=time, image=picture))
        said += ego.push(HandsSeen(time=time, hands=hands(index), aspect=WIDTH / HEIGHT))
    return said + ego.finish(), ego


def error(motion: CameraMotion, camera: Matrix, first: Matrix) -> float:
    """Largest error over a grid of the picture, in pixels."""
    middle = np.array([[1, 0, WIDTH / 2], [0, 1, HEIGHT / 2], [0, 0, 1]])
    true = middle @ first @ np.linalg.inv(camera) @ np.linalg.inv(middle)
    worst = 0.0
    for x in (120, 320, 520):
        for y in (90, 240, 390):
            found = geometry.apply(motion.to_stable, (x / WIDTH, y / HEIGHT))
            right = true @ (x, y, 1)
            right = right[:2] / right[2]
            off = (found[0] * WIDTH - right[0], found[1] * HEIGHT - right[1])
            worst = max(worst, math.hypot(*off))
    return worst


def test_still_camera_stands_still() -> None:
    said, _ = follow([view(texture(), pose())] * 5)
    for motion in said:
        assert error(motion, pose(), pose()) < 0.05
        assert motion.confidence > 0.95
        assert motion.anchor == 0


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(lambda t: pose(x=220 * t), id="pan"),
        pytest.param(lambda t: pose(y=25 * math.sin(12 * t), x=10 * math.sin(6 * t)), id="walk"),
        pytest.param(lambda t: pose(turn=0.15 * math.sin(3 * t)), id="roll"),
        pytest.param(lambda t: pose(zoom=1 + 0.3 * t), id="zoom"),
        pytest.param(lambda t: pose(x=60 * math.sin(20 * t), y=30 * math.sin(31 * t)), id="shake"),
    ],
)
def test_moving_camera_is_followed_closely(path: Callable[[float], Matrix]) -> None:
    cameras = [path(index / 30) for index in range(30)]
    said, _ = follow([view(texture(), camera) for camera in cameras])
    for motion, camera in zip(said, cameras, strict=True):
        assert error(motion, camera, cameras[0]) < 3.0  # pixels of 640
        assert motion.anchor == 0


def test_far_pan_over_several_keyframes_drifts_little() -> None:
    cameras = [pose(x=420 - 28 * index) for index in range(31)]
    said, ego = follow([view(texture(), camera) for camera in cameras])
    assert ego.counters.counts["ego_motion_keyframes"] >= 1
    assert error(said[-1], cameras[-1], cameras[0]) < 4.0
    assert said[-1].anchor == 0


def test_slow_frame_rate_is_followed() -> None:
    cameras = [pose(x=40 * index) for index in range(8)]
    said, _ = follow([view(texture(), camera) for camera in cameras], fps=10)
    assert error(said[-1], cameras[-1], cameras[0]) < 2.0


def big_hand(x: float) -> Hand:
    """A hand that fills much of the picture's middle."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (21, 2)) * (0.12, 0.16) + (x, 0.5)
    points[0], points[9] = (x, 0.66), (x, 0.45)
    return Hand(
        track=0, side="right", score=1.0, landmarks=tuple((float(a), float(b)) for a, b in points)
    )


def test_moving_hand_and_arm_do_not_count_as_background() -> None:
    skin = texture(9)
    pictures = []
    for index in range(20):
        picture = view(texture(contrast=40), pose(x=3 * index))
        left = int((0.2 + 0.02 * index - 0.12) * WIDTH)
        picture[170:, left : left + 150] = skin[300:610, 500:650]
        pictures.append(picture)
    said, _ = follow(pictures, hands=lambda index: (big_hand(0.2 + 0.02 * index),))
    for index, motion in enumerate(said):
        assert error(motion, pose(x=3 * index), pose()) < 2.0


def test_mask_covers_the_hand_and_the_arm_behind_it() -> None:
    seen = HandsSeen(time=0.0, hands=(big_hand(0.5),), aspect=WIDTH / HEIGHT)
    mask = foreground_mask(seen, (240, 320))
    assert mask[120, 160] == 0
    assert mask[238, 160] == 0  # the arm, from the wrist to the border
    assert mask[10, 10] == 255
    assert mask[10, 160] == 255  # nothing ahead of the fingers


def test_cut_begins_a_new_anchor_at_once() -> None:
    said, _ = follow([view(texture(1), pose())] * 3 + [view(texture(2), pose())] * 3)
    assert [motion.anchor for motion in said] == [0, 0, 0, 1, 1, 1]
    assert said[3].confidence == 0.0
    assert said[5].to_stable == IDENTITY or error(said[5], pose(), pose()) < 0.05


def test_wall_without_texture_stands_still_and_says_so() -> None:
    blank = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    said, _ = follow([blank] * 30)
    assert {motion.anchor for motion in said} == {0}
    assert all(motion.to_stable == IDENTITY for motion in said)
    assert all(motion.confidence == 0.0 for motion in said[1:])


def test_background_is_followed_again_after_a_blank_moment() -> None:
    blank = np.full((HEIGHT, WIDTH, 3), 128, np.uint8)
    scene = texture()
    pictures = [view(scene, pose(x=2 * index)) for index in range(20)]
    pictures[8:10] = [blank, blank]
    said, _ = follow(pictures)
    assert said[9].confidence == 0.0
    assert said[19].confidence > 0.8


def test_change_of_size_begins_a_new_anchor() -> None:
    scene = texture()
    ego = EgoMotion()
    for index, picture in enumerate([view(scene, pose()), view(scene, pose())[:300]]):
        ego.push(VideoFrame(time=float(index), image=picture))
        [motion] = ego.push(HandsSeen(time=float(index), hands=()))
    assert motion.anchor == 1


def test_hands_without_their_frame_get_the_last_motion_without_confidence() -> None:
    ego = EgoMotion()
    [motion] = ego.push(HandsSeen(time=0.0, hands=()))
    assert (motion.to_stable, motion.confidence) == (IDENTITY, 0.0)
    assert ego.counters.counts == {"ego_motion_unmatched": 1}


@given(seed=st.integers(0, 1000), cut=st.integers(1, 9))
@settings(max_examples=5)
def test_same_pictures_give_the_same_motion_and_a_prefix_its_prefix(seed: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    scene = texture(seed)
    walk = np.cumsum(rng.normal(0, 15, (10, 2)), axis=0)
    pictures = [view(scene, pose(x=float(x), y=float(y))) for x, y in walk]
    whole, _ = follow(pictures)
    cv2.setRNGSeed(seed)  # what others drew from OpenCV's generator does not matter
    part, _ = follow(pictures[:cut])
    assert part == whole[:cut]


def test_likeness_tells_scenes_apart_and_takes_blank_ones_as_alike() -> None:
    whole = np.full((240, 320), 255, np.uint8)
    one, other = (
        thumbnail(cv2.cvtColor(view(texture(n), pose()), cv2.COLOR_RGB2GRAY)[::2, ::2], whole)
        for n in (1, 2)
    )
    blank = thumbnail(np.full((240, 320), 100, np.uint8), whole)
    assert likeness(one, one) == pytest.approx(1.0, abs=1e-3)
    assert likeness(one, other) < 0.45
    assert likeness(blank, blank) == 1.0
    assert likeness(one, blank) == 0.0


def test_shipped_settings_are_the_defaults() -> None:
    assert load(EgoMotionSettings, config_path("ego_motion.toml")) == EgoMotionSettings()


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="features 3"):
        EgoMotionSettings(features=3)
