"""Tiny models in ONNX's format, written byte by byte: a graph of a few nodes and weights."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FLOAT, INT64 = 1, 7


def _number(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def whole(field: int, value: int) -> bytes:
    return _number(field << 3) + _number(value)


def nested(field: int, content: bytes | str) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return _number(field << 3 | 2) + _number(len(raw)) + raw


def tensor(name: str, values: NDArray[np.float32]) -> bytes:
    dims = b"".join(whole(1, size) for size in values.shape)
    raw = struct.pack(f"<{values.size}f", *values.ravel())
    return dims + whole(2, FLOAT) + nested(8, name) + nested(9, raw)


def value(name: str, kind: int, dims: Sequence[str | int]) -> bytes:
    shape = b"".join(
        nested(1, nested(2, dim) if isinstance(dim, str) else whole(1, dim)) for dim in dims
    )
    return nested(1, name) + nested(2, nested(1, whole(1, kind) + nested(2, shape)))


def node(kind: str, inputs: Sequence[str], output: str, attributes: bytes = b"") -> bytes:
    named = b"".join(nested(1, name) for name in inputs)
    return named + nested(2, output) + nested(4, kind) + attributes


def mean_over(source: str, output: str, axes: Sequence[int]) -> bytes:
    listed = b"".join(whole(8, axis) for axis in axes)
    axes_told = nested(5, nested(1, "axes") + listed + whole(20, 7))
    keep = nested(5, nested(1, "keepdims") + whole(3, 0) + whole(20, 2))
    return node("ReduceMean", [source], output, axes_told + keep)


def write_model(
    path: Path,
    nodes: Sequence[bytes],
    *,
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    weights: Sequence[bytes] = (),
) -> Path:
    """Write a model of opset 11."""
    graph = b"".join(nested(1, one) for one in nodes) + nested(2, "graph")
    graph += b"".join(nested(5, one) for one in weights)
    graph += b"".join(nested(11, one) for one in inputs)
    graph += b"".join(nested(12, one) for one in outputs)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(whole(1, 6) + nested(7, graph) + nested(8, nested(1, "") + whole(2, 11)))
    return path
