"""Silero VAD (v5 and later) on onnxruntime: the voice in 32 ms of sound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from streaming.events import SAMPLE_RATE
from streaming.weights import SILERO_VAD, weight_file

WINDOW = 512
CONTEXT = 64


class Silero:
    """The recurrent network, with its state and the samples that it looks back on.

    One call judges :data:`WINDOW` samples, which must follow those of the call before.

    Args:
        path: The ONNX file; the installed package's when None.
    """

    def __init__(self, path: Path | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(path or weight_file(SILERO_VAD)),
            sess_options=options,
            providers=["CPUExecutionProvider"],
        )
        self._rate = np.array(SAMPLE_RATE, dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        """Forget what was heard."""
        self._state = np.zeros((2, 1, 128), dtype=np.float32)
        self._context = np.zeros(CONTEXT, dtype=np.float32)

    def probability(self, window: NDArray[np.float32]) -> float:
        """How likely a voice is in ``window``, shape ``(512,)``, 0...1."""
        if window.shape != (WINDOW,):
            raise ValueError(f"window has shape {window.shape}, expected ({WINDOW},)")
        sound = np.concatenate([self._context, window])
        heard, self._state = self._session.run(
            None, {"input": sound[np.newaxis], "state": self._state, "sr": self._rate}
        )
        self._context = sound[-CONTEXT:]
        return float(heard[0, 0])
