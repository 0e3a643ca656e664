"""MediaPipe's hand landmarker as a hand detector (VIDEO mode, two hands)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streaming.events import Side
from streaming.hand_geometry import FoundHand
from streaming.models.hands import HandModelError
from streaming.models.terminal import silent_stderr
from streaming.weights import HAND_LANDMARKER, weight_file


class MediaPipeHands:
    """Two hands with MediaPipe's own tracking.

    Args:
        confidence: Least score of palm detection, of presence and of tracking.

    Raises:
        HandModelError: If MediaPipe cannot be loaded.
        WeightsError: If the weights are missing or wrong.
    """

    def __init__(self, *, confidence: float = 0.5) -> None:
        model = weight_file(HAND_LANDMARKER)
        with silent_stderr():
            self._mediapipe = _mediapipe()
            vision = self._mediapipe.tasks.vision
            options = vision.HandLandmarkerOptions(
                base_options=self._mediapipe.tasks.BaseOptions(model_asset_path=str(model)),
                running_mode=vision.RunningMode.VIDEO,
                num_hands=2,
                min_hand_detection_confidence=confidence,
                min_hand_presence_confidence=confidence,
                min_tracking_confidence=confidence,
            )
            self._landmarker: Any = vision.HandLandmarker.create_from_options(options)
        self._quiet_calls = 3

    def detect(
        self, image: NDArray[np.uint8], *, milliseconds: int, aspect: float
    ) -> Sequence[FoundHand]:
        del aspect  # MediaPipe takes pixels as square
        if self._landmarker is None:
            raise ValueError("hand detector is closed")
        picture = self._mediapipe.Image(
            image_format=self._mediapipe.ImageFormat.SRGB, data=np.ascontiguousarray(image)
        )
        if self._quiet_calls:  # the graph warns on its first pictures
            self._quiet_calls -= 1
            with silent_stderr():
                result = self._landmarker.detect_for_video(picture, milliseconds)
        else:
            result = self._landmarker.detect_for_video(picture, milliseconds)
        return [
            _found(points, world, sides[0])
            for points, world, sides in zip(
                result.hand_landmarks, result.hand_world_landmarks, result.handedness, strict=True
            )
        ]

    def close(self) -> None:
        if self._landmarker is not None:
            with silent_stderr():
                self._landmarker.close()
            self._landmarker = None


def _found(points: Any, world: Any, side: Any) -> FoundHand:
    named: Side = "left" if side.category_name == "Left" else "right"
    return FoundHand(
        score=float(side.score),
        side=named,
        side_score=float(side.score),
        landmarks=tuple((float(point.x), float(point.y)) for point in points),
        depths=tuple(float(point.z) for point in points),
        world=tuple((float(point.x), float(point.y), float(point.z)) for point in world),
    )


def _mediapipe() -> Any:
    """The package, whose import fails on a machine without two graphics libraries."""
    try:
        import mediapipe
        import mediapipe.tasks.python
        from mediapipe.tasks.python import vision  # noqa: F401
    except (ImportError, OSError) as error:
        raise HandModelError(
            f"mediapipe cannot be loaded ({error}); "
            "if libEGL or libGLESv2 is missing, run: apt install libegl1 libgles2"
        ) from error
    return mediapipe
