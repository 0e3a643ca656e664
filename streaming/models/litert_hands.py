"""MediaPipe's two hand models on the LiteRT interpreter, without MediaPipe itself."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streaming.hand_geometry import HandReading
from streaming.models.hands import HandModelError
from streaming.models.terminal import silent_stderr
from streaming.weights import HAND_LANDMARKER, WeightsError, weight_file


class LiteRTHands:
    """The palm detector and the hand landmark model out of ``hand_landmarker.task``.

    One thread each: two threads cost more CPU and are hardly faster on models this small.

    Raises:
        HandModelError: If LiteRT cannot be loaded.
        WeightsError: If the weights are missing or wrong.
    """

    def __init__(self) -> None:
        interpreter = _interpreter()
        path = weight_file(HAND_LANDMARKER)
        try:
            with zipfile.ZipFile(path) as bundle:
                palms = bundle.read("hand_detector.tflite")
                hands = bundle.read("hand_landmarks_detector.tflite")
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise WeightsError(f"{path}: {error}") from error
        with silent_stderr():
            self._palms: Any = interpreter(model_content=palms, num_threads=1)
            self._hands: Any = interpreter(model_content=hands, num_threads=1)
            self._palms.allocate_tensors()
            self._hands.allocate_tensors()

    def palms(
        self, picture: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        boxes, logits = _run(self._palms, picture)
        return logits[:, 0], boxes

    def hand(self, picture: NDArray[np.float32]) -> HandReading:
        points, presence, rightness, world = _run(self._hands, picture)
        return HandReading(
            presence=float(presence[0]),
            rightness=float(rightness[0]),
            points=points.reshape(21, 3).astype(np.float64),
            world=world.reshape(21, 3).astype(np.float64),
        )

    def close(self) -> None:
        self._palms = self._hands = None


def _interpreter() -> Any:
    """LiteRT's interpreter class."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except (ImportError, OSError) as error:
        raise HandModelError(
            f"LiteRT cannot be loaded ({error}); run: uv pip install ai-edge-litert, "
            'or set detector = "mediapipe" in configs/hands.toml'
        ) from error
    return Interpreter


def _run(interpreter: Any, picture: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """The outputs of one picture by name, without their batch axis."""
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture[np.newaxis])
    interpreter.invoke()
    outputs = sorted(interpreter.get_output_details(), key=lambda output: output["name"])
    return [interpreter.get_tensor(output["index"])[0] for output in outputs]
