"""Decoded pictures made upright RGB frames whose times strictly rise."""

from __future__ import annotations

import math
from typing import Any

import av
import cv2
import numpy as np
from av.video.frame import VideoFrame as DecodedFrame
from numpy.typing import NDArray

from streaming.events import Seconds, SourceNote, VideoFrame

PictureEvent = VideoFrame | SourceNote

_AS_SHOT = (0, False)
_TURNS = {
    1: cv2.ROTATE_90_COUNTERCLOCKWISE,
    2: cv2.ROTATE_180,
    3: cv2.ROTATE_90_CLOCKWISE,
}


def orientation(frame: DecodedFrame) -> tuple[int, bool]:
    """How a decoded frame is to be turned for display.

    Returns:
        Quarter turns counter-clockwise (0...3), and whether to mirror left and right *before*
        turning. From the display matrix ``[[a, b, u], [c, d, v], ...]`` of the frame, where
        ``x' = a x + c y`` and ``y' = b x + d y`` (ISO 14496-12, 8.2.2; y points down). An angle
        that is no quarter turn goes to the nearest.
    """
    matrix: Any = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None or len(bytes(matrix)) < 36:
        return _AS_SHOT
    a, b, _, c, d = (float(value) for value in np.frombuffer(bytes(matrix), dtype="=i4")[:5])
    if a * d - b * c == 0:
        return _AS_SHOT
    mirrored = a * d - b * c < 0
    if mirrored:
        a, b = -a, -b
    # The x axis of the stored picture points along (a, b) on the screen, whose y points down.
    return round(math.degrees(math.atan2(-b, a)) / 90) % 4, mirrored


def upright(image: NDArray[np.uint8], turns: int, mirrored: bool) -> NDArray[np.uint8]:
    """``image`` turned as :func:`orientation` says."""
    # OpenCV is four times as fast as a contiguous copy of numpy's view.
    unmirrored = cv2.flip(image, 1) if mirrored else image
    turned = cv2.rotate(unmirrored, _TURNS[turns]) if turns else unmirrored
    return np.ascontiguousarray(turned, dtype=np.uint8)


def fitted(width: int, height: int, max_side: int | None) -> tuple[int, int]:
    """``(width, height)`` scaled down so that neither is more than ``max_side``."""
    longest = max(width, height)
    if max_side is None or longest <= max_side:
        return width, height
    return max(1, round(width * max_side / longest)), max(1, round(height * max_side / longest))


def pixel_aspect(ratio: object, turns: int) -> float:
    """Width over height of a displayed pixel; nonsense counts as square."""
    value = float(ratio) if ratio else 1.0  # type: ignore[arg-type]
    if not 0.1 <= value <= 10.0:
        return 1.0
    return 1.0 / value if turns % 2 else value


class PictureTrack:
    """Decoded frames in, upright frames and notes out, times strictly rising.

    A frame that does not rise is dropped and noted. All frames have the size of the first: when
    the stream changes its size, later pictures are scaled to it.

    Args:
        ratio: The stream's sample aspect ratio, or None.
        max_side: See :func:`fitted`.
    """

    def __init__(self, *, ratio: object = None, max_side: int | None = None) -> None:
        self._ratio = ratio
        self._max_side = max_side
        self._size: tuple[int, int] | None = None
        self._shot: tuple[int, int] | None = None
        self.last: Seconds | None = None
        """Time of the last frame."""
        self.end: Seconds = 0.0
        """When the last frame ceases to be shown, as far as known."""

    def push(self, time: Seconds, frame: DecodedFrame, duration: Seconds) -> list[PictureEvent]:
        """Take one decoded frame that is shown from ``time`` on, for about ``duration``."""
        if time < 0 or (self.last is not None and time <= self.last):
            return [_dropped(time, self.last or 0.0)]
        turns, mirrored = orientation(frame)
        said = self._resized(time, frame)
        width, height = self._size_for(frame, turns)
        try:
            rgb = frame.reformat(width=width, height=height, format="rgb24", threads=1).to_ndarray()
        except (av.FFmpegError, ValueError, MemoryError) as error:
            text = f"video frame at {time:.3f} s cannot be converted: {error}"
            return [*said, SourceNote(kind="broken_packet", onset=time, offset=time, text=text)]
        self.last, self.end = time, time + duration
        image = upright(np.asarray(rgb, dtype=np.uint8), turns, mirrored)
        said.append(
            VideoFrame(time=time, image=image, pixel_aspect=pixel_aspect(self._ratio, turns))
        )
        return said

    def _size_for(self, frame: DecodedFrame, turns: int) -> tuple[int, int]:
        """Size to convert to, before turning."""
        if self._size is None:
            width, height = fitted(frame.width, frame.height, self._max_side)
            self._size = (height, width) if turns % 2 else (width, height)
        width, height = self._size
        return (height, width) if turns % 2 else (width, height)

    def _resized(self, time: Seconds, frame: DecodedFrame) -> list[PictureEvent]:
        before, self._shot = self._shot, (frame.width, frame.height)
        if before is None or before == self._shot:
            return []
        text = f"picture size changes from {before[0]}x{before[1]} to {frame.width}x{frame.height}"
        return [SourceNote(kind="size_change", onset=time, offset=time, text=text)]


def _dropped(time: Seconds, last: Seconds) -> SourceNote:
    text = f"frame at {time:.3f} s does not come after the one at {last:.3f} s, left out"
    return SourceNote(kind="dropped_frame", onset=last, offset=last, text=text)
