"""Pictures that a query carries: the frames of the last moments, keyframes, and crops.

A keyframe is kept as JPEG without chroma subsampling (a small object's colour is what tells it from
its neighbour), so that a session holds a few hundred kilobytes a stroke, whatever the picture size.
Points and boxes are fractions of the displayed frame, see :mod:`streaming.events`.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming import geometry
from streaming.events import Hand, HandsSeen, Homography, Point, Seconds, Stroke, VideoFrame

_JPEG = (
    cv2.IMWRITE_JPEG_QUALITY,
    95,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle in fractions of the frame, inside 0...1."""

    left: float
    top: float
    right: float
    bottom: float

    def __post_init__(self) -> None:
        if not (0 <= self.left < self.right <= 1 and 0 <= self.top < self.bottom <= 1):
            raise ValueError(f"box {self.left, self.top, self.right, self.bottom} is not a box")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ray:
    """Where an index finger points, in the picture.

    Attributes:
        tip: Index fingertip, where the ray starts.
        knuckle: The finger's base joint, behind the tip.
        depth: How much of the finger lies along the line of sight, 0 (in the picture plane) to 1
            (straight into the picture, where the picture says nothing about its direction).
    """

    tip: Point
    knuckle: Point
    depth: float = 0.0

    def carried(self, homography: Homography) -> Ray:
        """The same ray in another view of the scene."""
        return Ray(
            tip=geometry.apply(homography, self.tip),
            knuckle=geometry.apply(homography, self.knuckle),
            depth=self.depth,
        )

    def along(self, lengths: float) -> Point:
        """The point that lies ``lengths`` finger lengths beyond the tip."""
        (x, y), (u, v) = self.tip, self.knuckle
        return x + lengths * (x - u), y + lengths * (y - v)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Keyframe:
    """The picture at the apex of a stroke.

    Attributes:
        stroke: The stroke.
        time: Media time of the frame nearest to the apex.
        jpeg: The picture, encoded.
        hands: The hands on it.
        ray: Where the finger points on it.
        crop: A zoom on the fingertip and what lies before it.
        hold_end: When the hold ended; None while it lasts.
        to_last: From this frame's points to the query's last frame; None when the background was
            lost in between.
    """

    stroke: Stroke
    time: Seconds
    jpeg: bytes
    hands: tuple[Hand, ...]
    ray: Ray
    crop: Box
    hold_end: Seconds | None = None
    to_last: Homography | None = None

    def image(self) -> NDArray[np.uint8]:
        """The whole picture, RGB uint8, shape ``(height, width, 3)``."""
        return decoded(self.jpeg)

    def cropped(self) -> NDArray[np.uint8]:
        """The zoom, RGB uint8."""
        image = self.image()
        height, width = image.shape[:2]
        rows = slice(int(self.crop.top * height), math.ceil(self.crop.bottom * height))
        columns = slice(int(self.crop.left * width), math.ceil(self.crop.right * width))
        return image[rows, columns]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """A whole picture with the hands on it.

    Attributes:
        time: Media time of the frame.
        image: RGB uint8, shape ``(height, width, 3)``.
        hands: The hands seen on it.
        pixel_aspect: Width over height of one pixel.
        to_last: From its points to those of the query's last frame; None when unknown.
    """

    time: Seconds
    image: NDArray[np.uint8]
    hands: tuple[Hand, ...] = ()
    pixel_aspect: float = 1.0
    to_last: Homography | None = None


def encoded(image: NDArray[np.uint8]) -> bytes:
    """JPEG of an RGB picture."""
    done, buffer = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), _JPEG)
    if not done:
        raise ValueError(f"a picture of shape {image.shape} cannot be encoded")
    return buffer.tobytes()


def decoded(jpeg: bytes) -> NDArray[np.uint8]:
    """RGB picture of a JPEG."""
    image = cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR_RGB)
    if image is None:
        raise ValueError(f"{len(jpeg)} bytes are no picture")
    return image.astype(np.uint8, copy=False)


def ray_of(stroke: Stroke, hands: tuple[Hand, ...]) -> Ray:
    """The pointing ray of ``stroke``, with its depth from the hand's landmarks where there are."""
    hand = next((hand for hand in hands if hand.track == stroke.track), None)
    depth = 0.0
    if hand is not None and len(hand.world) == 21:
        finger = np.subtract(hand.world[8], hand.world[5])
        length = float(np.linalg.norm(finger))
        depth = abs(float(finger[2])) / length if length > 0 else 0.0
    return Ray(tip=stroke.tip, knuckle=stroke.knuckle, depth=depth)


def crop_along(ray: Ray, *, share: float, aspect: float) -> Box:
    """A box around the fingertip and what lies before it.

    Args:
        ray: The pointing ray.
        share: The box's width as a share of the frame's.
        aspect: The displayed frame's width over its height; the box is square on display.
    """
    x, y = ray.tip
    dx, dy = (x - ray.knuckle[0]) * aspect, y - ray.knuckle[1]
    length = math.hypot(dx, dy)
    width, height = min(1.0, share), min(1.0, share * aspect)
    if length > 0:
        # The tip sits a third of the way in, so that most of the box is what it points at.
        x, y = x + dx / length * width / 5, y + dy / length * height / 5
    left = min(max(0.0, x - width / 2), 1 - width)
    top = min(max(0.0, y - height / 2), 1 - height)
    return Box(left=left, top=top, right=left + width, bottom=top + height)


class FrameRing:
    """The frames of the last moments, and their hands.

    A stroke is announced a little after its apex, so its keyframe is still here.

    Args:
        span: Seconds of frames that are kept.
        gap: Frames nearer than this to the one kept before are left out.
    """

    def __init__(self, *, span: Seconds, gap: Seconds) -> None:
        self._span = span
        self._gap = gap
        self._frames: deque[VideoFrame] = deque()
        self._hands: deque[HandsSeen] = deque()
        self.newest: VideoFrame | None = None

    def add_frame(self, frame: VideoFrame) -> None:
        """Take the next frame."""
        self.newest = frame
        if not self._frames or frame.time - self._frames[-1].time >= self._gap:
            self._frames.append(frame)
        while self._frames and self._frames[0].time < frame.time - self._span:
            self._frames.popleft()

    def add_hands(self, hands: HandsSeen) -> None:
        """Take the hands of a frame."""
        self._hands.append(hands)
        while self._hands and self._hands[0].time < hands.time - self._span:
            self._hands.popleft()

    def frame_at(self, time: Seconds) -> VideoFrame | None:
        """The kept frame nearest to ``time``."""
        frames = [*self._frames, *([self.newest] if self.newest is not None else [])]
        return min(frames, key=lambda frame: abs(frame.time - time), default=None)

    def hands_at(self, time: Seconds, *, within: Seconds = 0.1) -> tuple[Hand, ...]:
        """The hands seen nearest to ``time``, none when that is further off than ``within``."""
        seen = min(self._hands, key=lambda hands: abs(hands.time - time), default=None)
        return () if seen is None or abs(seen.time - time) > within else seen.hands

    def is_clear(self, time: Seconds) -> bool:
        """Whether the frame at ``time`` was searched for hands and none was found."""
        return any(hands.time == time and not hands.hands for hands in self._hands)
