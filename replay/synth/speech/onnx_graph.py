"""A graph that is run: the only place that knows onnxruntime.

One thread and no parallel nodes, so that sums are always added in the same order: the same input
gives the same bytes, in every process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray


class Graph:
    """An ONNX model in memory.

    Args:
        model: A serialised ``ModelProto``.

    Raises:
        RuntimeError: If onnxruntime refuses the model.
    """

    def __init__(self, model: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._inputs = tuple(tensor.name for tensor in self._session.get_inputs())

    def __call__(self, tensors: Mapping[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
        """Outputs in their order; ``tensors`` may hold more than the graph takes."""
        feed = {name: np.ascontiguousarray(tensors[name]) for name in self._inputs}
        outputs: Sequence[NDArray[Any]] = self._session.run(None, feed)
        return outputs
