"""Where the background of each frame lies: the wearer's head motion, taken out.

Corners of the background are followed from a keyframe straight to the present frame, so errors do
not add up from frame to frame; only a change of keyframe, when too little of it is left in view,
hands one error on. Hands and arms are masked. A homography is exact for a turning head, and for
any motion over one plane. Where the background has too little texture for one, a similarity, a
shift or standing still takes its place, with a lower confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.background import (
    Fit,
    Thumbnail,
    fit_motion,
    foreground_mask,
    likeness,
    thumbnail,
)
from streaming.events import (
    IDENTITY,
    CameraMotion,
    Counters,
    HandsSeen,
    Homography,
    Seconds,
    VideoFrame,
)
from streaming.geometry import from_matrix

Grey = NDArray[np.uint8]
Points = NDArray[np.float32]
Matrix = NDArray[np.float64]

_PYRAMID = 3
"""Levels above the reduced picture: a patch is found up to about 8 windows away."""

_KEY_SECONDS = 0.2
"""Least time between keyframes that are both in view: every change hands an error on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoMotionSettings:
    """Numbers of the background follower.

    Attributes:
        width: Width of the reduced grey picture, pixels.
        features: Most corners kept on a keyframe.
        window: Side of the patch that is followed, pixels.
        least: Fewest matched corners for any motion but standing still.
        agree: Least share of the followed corners that must fit.
        rekey: Share of a keyframe's corners still in agreement below which a new one is taken.
        patience: Seconds without background before a new anchor begins.
        alike: Correlation of thumbnails (-1...1) below which a lost background is a cut.
    """

    width: int = 320
    features: int = 160
    window: int = 19
    least: int = 8
    agree: float = 0.5
    rekey: float = 0.5
    patience: float = 0.4
    alike: float = 0.45

    def __post_init__(self) -> None:
        if self.width < 32 or self.features < self.least or self.least < 4:
            raise ValueError(
                f"width {self.width}, features {self.features}, least {self.least}: "
                "expected width >= 32 and features >= least >= 4"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _View:
    """One reduced picture and where its background may be.

    Attributes:
        grey: The picture.
        mask: 255 where it may be background.
        small: Its thumbnail.
    """

    grey: Grey
    mask: Grey
    small: Thumbnail


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Keyframe:
    """A picture that later ones are compared with.

    Attributes:
        grey: The picture.
        corners: Where its background can be recognised, shape ``(n, 2)``, pixels.
        to_stable: From its pixels to the anchor's.
    """

    grey: Grey
    corners: Points
    to_stable: Matrix


class EgoMotion:
    """Says for each frame where its background lies in the stabilised view.

    Takes each frame's picture and then its hands, which are masked; the pictures' hands that never
    come are counted as ``ego_motion_unmatched``.
    """

    accepts: tuple[type, ...] = (VideoFrame, HandsSeen)

    def __init__(self, settings: EgoMotionSettings | None = None) -> None:
        self._settings = settings or EgoMotionSettings()
        self._frame: VideoFrame | None = None
        self._key: _Keyframe | None = None
        self._last: _View | None = None
        self._to_key: Matrix = np.eye(3)
        self._anchor = 0
        self._keyed_at: Seconds = 0.0
        self._lost_since: Seconds | None = None
        self._seen: Thumbnail | None = None
        self.counters = Counters()

    def push(self, event: VideoFrame | HandsSeen) -> list[CameraMotion]:
        if isinstance(event, VideoFrame):
            if self._frame is not None:
                self.counters.add("ego_motion_unmatched")
            self._frame = event
            return []
        frame, self._frame = self._frame, None
        if frame is None or frame.time != event.time:
            self.counters.add("ego_motion_unmatched")
            return [self._said(event.time, 0.0)]
        return [self._follow(frame, event)]

    def finish(self) -> list[CameraMotion]:
        return []

    def _follow(self, frame: VideoFrame, hands: HandsSeen) -> CameraMotion:
        grey = self._reduce(frame)
        mask = foreground_mask(hands, grey.shape)
        view = _View(grey=grey, mask=mask, small=thumbnail(grey, mask))
        before, self._last = self._last, view
        if self._key is None or before is None or before.grey.shape != grey.shape:
            if self._key is not None:
                self._anchor += 1
            self._begin(view)
            return self._said(frame.time, 1.0)
        fit = self._fit(self._key, view, self._to_key)
        if fit is None:
            fit = self._step(before, view)
        if fit is None:
            return self._lost(frame.time, before, view)
        self._lost_since = None
        self._to_key = fit.matrix
        few = fit.kept < self._settings.rekey * len(self._key.corners)
        if fit.kept == 0 or (few and frame.time - self._keyed_at >= _KEY_SECONDS):
            self._rekey(view, frame.time)
        return self._said(frame.time, fit.share)

    def _reduce(self, frame: VideoFrame) -> Grey:
        """The grey picture at the settings' width, pixels square."""
        width = self._settings.width
        height = max(16, round(width / frame.aspect))
        small = cv2.resize(frame.image, (width, height), interpolation=cv2.INTER_AREA)
        return np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), np.uint8)

    def _corners(self, view: _View) -> Points:
        apart = self._settings.width / 40
        found: Any = cv2.goodFeaturesToTrack(
            view.grey, self._settings.features, 0.01, apart, mask=view.mask, blockSize=5
        )
        if found is None:
            return np.empty((0, 2), np.float32)
        return np.asarray(found, np.float32).reshape(-1, 2)

    def _begin(self, view: _View) -> None:
        """Make this frame the stabilised view."""
        self._key = _Keyframe(grey=view.grey, corners=self._corners(view), to_stable=np.eye(3))
        self._to_key = np.eye(3)
        self._lost_since = None

    def _rekey(self, view: _View, time: Seconds) -> None:
        """Compare later frames with this one, if there is anything to recognise in it."""
        assert self._key is not None
        self._keyed_at = time
        corners = self._corners(view)
        if len(corners) < self._settings.least:
            return
        self.counters.add("ego_motion_keyframes")
        to_stable = self._key.to_stable @ self._to_key
        self._key = _Keyframe(
            grey=view.grey, corners=corners, to_stable=to_stable / to_stable[2, 2]
        )
        self._to_key = np.eye(3)

    def _fit(self, key: _Keyframe, view: _View, to_key: Matrix) -> Fit | None:
        """The motion from this frame's pixels to the keyframe's, or None when it is not seen.

        ``to_key`` is where the search starts.
        """
        if len(key.corners) < self._settings.least:
            return None
        side = self._settings.window
        start = cv2.perspectiveTransform(key.corners[:, None], np.linalg.inv(to_key))
        here, found, _ = cv2.calcOpticalFlowPyrLK(
            key.grey,
            view.grey,
            key.corners[:, None],
            start,
            winSize=(side, side),
            maxLevel=_PYRAMID,
            flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
            minEigThreshold=1e-3,
        )
        fit = fit_motion(
            np.asarray(here, np.float32).reshape(-1, 2),
            key.corners,
            found.reshape(-1).astype(bool),
            mask=view.mask,
            least=self._settings.least,
        )
        return fit if fit is not None and fit.share >= self._settings.agree else None

    def _step(self, before: _View, view: _View) -> Fit | None:
        """The motion to the keyframe by way of the frame before, when the keyframe is not seen."""
        assert self._key is not None
        near = _Keyframe(grey=before.grey, corners=self._corners(before), to_stable=np.eye(3))
        fit = self._fit(near, view, np.eye(3))
        if fit is None:
            return None
        self.counters.add("ego_motion_steps")
        # Nothing of the keyframe was recognised, so this frame takes its place.
        matrix = self._to_key @ fit.matrix
        return Fit(matrix=matrix / matrix[2, 2], kept=0, share=fit.share)

    def _lost(self, time: Seconds, before: _View, view: _View) -> CameraMotion:
        """Stand still for a while, then begin a new anchor; at a cut, begin it at once."""
        self.counters.add("ego_motion_lost")
        if self._lost_since is None:
            self._lost_since, self._seen = time, before.small
        alike = self._settings.alike
        cut = likeness(before.small, view.small) < alike
        late = time - self._lost_since >= self._settings.patience
        if cut or (late and self._seen is not None and likeness(self._seen, view.small) < alike):
            self._anchor += 1
            self.counters.add("ego_motion_anchors")
            self._begin(view)
        elif late:
            # Still the same scene, without texture: what there is now may do, in the same place.
            self._rekey(view, time)
        return self._said(time, 0.0)

    def _said(self, time: Seconds, confidence: float) -> CameraMotion:
        return CameraMotion(
            time=time, to_stable=self._stable(), anchor=self._anchor, confidence=confidence
        )

    def _stable(self) -> Homography:
        """From fractions of this frame to fractions of the stabilised view."""
        key = self._key
        if key is None:
            return IDENTITY
        height, width = key.grey.shape
        pixels = np.diag([float(width), float(height), 1.0])
        return from_matrix(np.linalg.inv(pixels) @ key.to_stable @ self._to_key @ pixels)
