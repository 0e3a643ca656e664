"""Where a hand kept still: a last resort when fewer strokes were announced than there must be.

A hand that the detector finds only once it holds has no approach, so no stroke is announced. That
it stayed in one place, away from the border where arms come in, is still evidence of pointing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streaming import geometry
from streaming.events import CameraMotion, Hand, Point, Seconds, Stroke, VideoFrame
from streaming.grounding_frames import encoded

_LONGEST: Seconds = 1.0
"""A longer stay is no better evidence: resting hands stay for ever."""
_BORDER = 0.12
"""A tip nearer to the border than this is probably a hand that rests or comes in."""


@dataclass(slots=True)
class Stay:
    """A time during which one fingertip kept to one place.

    Attributes:
        onset, offset: When.
        hand: The hand in the middle of it, roughly.
        motion: The camera's then.
        frame_time: The time of the picture.
        jpeg: The picture, empty until the stay has lasted.
        pointing: Sum of the poses' pointing over ``count`` frames.
    """

    onset: Seconds
    offset: Seconds
    hand: Hand
    motion: CameraMotion
    frame_time: Seconds
    place: Point
    jpeg: bytes = b""
    pointing: float = 0.0
    count: int = 0

    @property
    def score(self) -> float:
        """How much it looks like pointing, 0...1."""
        x, y = self.hand.tip
        inside = min(max(min(x, 1 - x, y, 1 - y), 0.0) / _BORDER, 1.0)
        pose = 0.5 + 0.5 * self.pointing / max(1, self.count)
        return min(self.offset - self.onset, _LONGEST) / _LONGEST * inside * pose


class Stays:
    """Collects the stays of a stream, the best few of them.

    Args:
        radius: How far a still fingertip may wander, in picture heights.
        least: Shortest stay, seconds.
        most: At most so many are kept.
    """

    def __init__(self, *, radius: float, least: Seconds, most: int = 6) -> None:
        self._radius = radius
        self._least = least
        self._most = most
        self._open: dict[int, Stay] = {}
        self._done: list[Stay] = []

    def add(self, frame: VideoFrame, hands: Sequence[Hand], motion: CameraMotion) -> None:
        """Take the hands of a frame."""
        seen = {hand.track: hand for hand in hands}
        for track in [track for track in self._open if track not in seen]:
            self._close(track)
        for track, hand in seen.items():
            self._extend(track, hand, frame, motion)

    def best(self, *, beside: Sequence[tuple[Seconds, Seconds]], count: int) -> list[Stay]:
        """The best stays in order of time, none of which overlaps a span of ``beside``."""
        stays = [stay for stay in (*self._done, *self._open.values()) if stay.jpeg]
        free = [
            stay
            for stay in stays
            if all(stay.offset < onset or stay.onset > offset for onset, offset in beside)
        ]
        free.sort(key=lambda stay: -stay.score)
        return sorted(free[:count], key=lambda stay: stay.onset)

    def _extend(self, track: int, hand: Hand, frame: VideoFrame, motion: CameraMotion) -> None:
        try:
            x, y = geometry.apply(motion.to_stable, hand.tip)
        except ValueError:
            return
        stay = self._open.get(track)
        if stay is None or self._left(stay, (x, y), frame, motion):
            self._close(track)
            stay = Stay(
                onset=frame.time,
                offset=frame.time,
                hand=hand,
                motion=motion,
                frame_time=frame.time,
                place=(x, y),
            )
            self._open[track] = stay
        stay.offset = frame.time
        stay.pointing += hand.pointing
        stay.count += 1
        if not stay.jpeg and stay.offset - stay.onset >= self._least:
            stay.jpeg = encoded(frame.image)
            stay.hand, stay.motion, stay.frame_time = hand, motion, frame.time

    def _left(self, stay: Stay, place: Point, frame: VideoFrame, motion: CameraMotion) -> bool:
        if motion.anchor != stay.motion.anchor:
            return True
        dx, dy = (place[0] - stay.place[0]) * frame.aspect, place[1] - stay.place[1]
        return math.hypot(dx, dy) > self._radius

    def _close(self, track: int) -> None:
        stay = self._open.pop(track, None)
        if stay is None or not stay.jpeg:
            return
        self._done.append(stay)
        if len(self._done) > self._most:
            self._done.remove(min(self._done, key=lambda done: done.score))


def as_stroke(stay: Stay, index: int) -> Stroke:
    """A stay as a stroke of low quality; its ``index`` is negative: nobody announced it."""
    return Stroke(
        index=index,
        onset=stay.onset,
        apex=stay.onset,
        tip=stay.hand.tip,
        knuckle=stay.hand.knuckle,
        side=stay.hand.side,
        track=stay.hand.track,
        quality=0.5 * stay.score,
    )
