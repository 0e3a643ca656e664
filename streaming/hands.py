"""Hands over time: at most two, with an identity, a side and a pose score.

The detector finds hands in one picture after the other; this component gives them their identity.
A hand keeps its track number while it moves steadily and stays the same hand. A hand that leaves,
swaps with the other one or jumps gets a new number, so that no path runs through the jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from streaming.events import Counters, Hand, HandsSeen, Seconds, Side, VideoFrame
from streaming.hand_geometry import FoundHand
from streaming.hand_pose import pointing_score
from streaming.hand_search import SearchSettings
from streaming.hand_tracks import HandTracks, TrackSettings


class HandDetector(Protocol):
    """Finds hands in the pictures of one stream, and may remember where they were."""

    def detect(
        self, image: NDArray[np.uint8], *, milliseconds: int, aspect: float
    ) -> Sequence[FoundHand]:
        """Hands of the next picture.

        Args:
            image: RGB, shape ``(height, width, 3)``, upright.
            milliseconds: Media time of the picture, strictly rising.
            aspect: Displayed width over displayed height.
        """
        ...

    def close(self) -> None:
        """Free the models; the detector is not used again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HandSettings:
    """Numbers of the tracker.

    Attributes:
        detector: ``search`` follows and seeks hands with the two bare models; ``mediapipe`` is
            MediaPipe's own graph, which sees only hands that are large in the picture.
        mirrored: The picture is mirrored (a selfie view), so left is right.
        search: How much to look, for ``search``.
        tracks: How hands keep their identity.
    """

    detector: Literal["search", "mediapipe"] = "search"
    mirrored: bool = False
    search: SearchSettings = field(default_factory=SearchSettings)
    tracks: TrackSettings = field(default_factory=TrackSettings)


class HandTracker:
    """Says for each frame which hands are in it.

    Frames whose time, in whole milliseconds, does not rise are skipped and counted as
    ``hand_frames_skipped``; every other frame gives exactly one :class:`HandsSeen`.
    """

    accepts: tuple[type, ...] = (VideoFrame,)

    def __init__(self, detector: HandDetector, settings: HandSettings | None = None) -> None:
        self._detector = detector
        self._settings = settings or HandSettings()
        self._tracks = HandTracks(self._settings.tracks)
        self._last: int | None = None
        self.counters = Counters()

    def push(self, event: VideoFrame) -> list[HandsSeen]:
        milliseconds = round(event.time * 1000)
        if self._last is not None and milliseconds <= self._last:
            self.counters.add("hand_frames_skipped")
            return []
        self._last = milliseconds
        found = self._detector.detect(event.image, milliseconds=milliseconds, aspect=event.aspect)
        hands = self._name(found, time=event.time, aspect=event.aspect)
        self.counters.add("hand_frames")
        if hands:
            self.counters.add("hand_frames_found")
        return [HandsSeen(time=event.time, hands=hands, aspect=event.aspect)]

    def finish(self) -> list[HandsSeen]:
        self._detector.close()
        return []

    def _name(
        self, found: Sequence[FoundHand], *, time: Seconds, aspect: float
    ) -> tuple[Hand, ...]:
        """Give the hands of one frame their track, side and pose score."""
        named = self._tracks.assign(
            [(hand.landmarks, self._side(hand.side), hand.side_score) for hand in found],
            time=time,
            aspect=aspect,
        )
        hands = [
            Hand(
                track=name.track,
                side=name.side,
                score=hand.score,
                landmarks=hand.landmarks,
                depths=hand.depths,
                world=hand.world,
                pointing=pointing_score(hand.landmarks, hand.depths, hand.world, aspect=aspect),
            )
            for hand, name in zip(found, named, strict=True)
        ]
        return tuple(sorted(hands, key=lambda hand: hand.track))

    def _side(self, side: Side) -> Side:
        if not self._settings.mirrored:
            return side
        return "left" if side == "right" else "right"
