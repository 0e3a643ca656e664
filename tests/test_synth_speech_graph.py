"""Graphs are cut where they are told to be, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from replay.synth.speech.graph_cut import cut
from replay.synth.speech.onnx_graph import Graph

pytestmark = pytest.mark.usefixtures("speakers")


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3, value])
    length = len(value)
    size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    return bytes([number << 3 | 2]) + size + value


def node(kind: str, *inputs: str, output: str, more: bytes = b"") -> bytes:
    names = b"".join(field(1, name.encode()) for name in inputs)
    return field(1, names + field(2, output.encode()) + field(4, kind.encode()) + more)


def tensor(name: str) -> bytes:
    shape = field(2, field(1, field(2, b"n")))
    return field(1, name.encode()) + field(2, field(1, field(1, 1) + shape))


def weight(name: str, value: float) -> bytes:
    return field(
        5,
        field(1, 1) + field(2, 1) + field(8, name.encode()) + field(9, np.float32(value).tobytes()),
    )


def model(*, more: bytes = b"") -> bytes:
    """``sum = x + x``, ``square = sum * sum``, ``out = square * three``."""
    graph = (
        node("Add", "x", "x", output="sum")
        + node("Mul", "sum", "sum", output="square", more=more)
        + node("Mul", "square", "three", output="out")
        + field(2, b"g")
        + weight("three", 3.0)
        + field(11, tensor("x"))
        + field(12, tensor("out"))
    )
    return field(1, 8) + field(7, graph) + field(8, field(2, 15))


X = {"x": np.array([1.0, 2.0], np.float32)}


def test_whole_graph_still_runs() -> None:
    (out,) = Graph(cut(model(), inputs={}, outputs=["out"]))(X)
    assert out.tolist() == [12.0, 48.0]


def test_inner_tensor_comes_out() -> None:
    inner, out = Graph(cut(model(), inputs={}, outputs=["sum", "out"]))(X)
    assert inner.tolist() == [2.0, 4.0]
    assert out.tolist() == [12.0, 48.0]


def test_inner_tensor_comes_in() -> None:
    graph = Graph(cut(model(), inputs={"square": ("float", 1)}, outputs=["out"]))
    (out,) = graph(X | {"square": np.array([5.0], np.float32)})
    assert out.tolist() == [15.0]


def test_what_the_outputs_do_not_need_is_dropped() -> None:
    kept = cut(model(), inputs={}, outputs=["sum"])
    assert b"three" not in kept
    assert b"square" not in kept


def test_unknown_tensor_is_an_error() -> None:
    with pytest.raises(ValueError, match="no node of the graph computes 'cube'"):
        cut(model(), inputs={}, outputs=["cube"])


def test_graph_inside_a_node_is_refused() -> None:
    branch = field(5, field(1, b"then") + field(6, b""))
    with pytest.raises(ValueError, match="has a graph inside"):
        cut(model(more=branch), inputs={}, outputs=["out"])


@pytest.mark.parametrize("length", [1, 5, 40])
def test_cut_off_file_is_an_error(length: int) -> None:
    with pytest.raises(ValueError, match="no ONNX model"):
        cut(model()[:-length], inputs={}, outputs=["out"])
