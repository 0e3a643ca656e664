"""A part of an ONNX graph as a graph of its own, by editing the file's bytes.

A voice's graph runs from phonemes to sound. Its inner tensors are of interest: how many frames each
phoneme lasts (the exact word times), and the noise that it draws by itself (which would not be the
same twice). :func:`cut` makes such tensors outputs or inputs, and drops the nodes and weights that
the outputs do not need. Only the outer layers of the file are read (protobuf wire format, fields of
``onnx.proto``), so the ``onnx`` package is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

ElementType = Literal["float", "int64"]

_ELEMENT = {"float": 1, "int64": 7}
_MODEL_GRAPH = 7
_GRAPH_NODE, _WEIGHTS, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_SHAPES = 1, 5, 11, 12, 13
_NODE_INPUT, _NODE_OUTPUT, _NODE_ATTRIBUTE = 1, 2, 5
_ATTRIBUTE_GRAPHS = (6, 11)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def cut(
    model: bytes,
    *,
    inputs: Mapping[str, tuple[ElementType, int]],
    outputs: Sequence[str],
) -> bytes:
    """Feed the inner tensors ``inputs`` from outside, and compute ``outputs`` and nothing else.

    Args:
        model: A serialised ``ModelProto`` whose nodes stand in the order in which they run, and
            have no graphs inside (no branches or loops).
        inputs: Names of inner tensors with their element type and number of dimensions. The model's
            own inputs stay.
        outputs: Names of tensors.

    Raises:
        ValueError: If the bytes are no such model, or it has no tensor of one of these names.
    """
    parts: list[bytes] = []
    for field, wire, value in _fields(memoryview(model)):
        if field == _MODEL_GRAPH and wire == _BYTES:
            value = memoryview(_cut_graph(value, inputs, outputs))
        parts.append(_field(field, wire, value))
    return b"".join(parts)


def _cut_graph(
    graph: memoryview, inputs: Mapping[str, tuple[ElementType, int]], outputs: Sequence[str]
) -> bytes:
    fields = list(_fields(graph))
    wanted = set(outputs)
    given = _texts(graph, _GRAPH_INPUT, name_field=1) | _texts(graph, _WEIGHTS, name_field=8)
    kept: list[bytes] = []
    for field, wire, value in reversed(fields):
        if field == _GRAPH_NODE:
            made = _names(value, _NODE_OUTPUT)
            if not any(name in wanted and name not in inputs for name in made):
                continue
            _refuse_inner_graphs(value)
            wanted.update(_names(value, _NODE_INPUT))
            given.update(made)
            kept.append(_field(field, wire, value))
    kept.reverse()
    missing = [name for name in wanted if name and name not in given and name not in inputs]
    if missing:
        raise ValueError(f"no node of the graph computes {min(missing)!r}")
    for field, wire, value in fields:
        unused = field == _WEIGHTS and not wanted.intersection(_names(value, 8))
        if field not in (_GRAPH_NODE, _GRAPH_OUTPUT, _GRAPH_SHAPES) and not unused:
            kept.append(_field(field, wire, value))
    for name, (element, dimensions) in inputs.items():
        described = _value_info(name, _ELEMENT[element], dimensions)
        kept.append(_field(_GRAPH_INPUT, _BYTES, memoryview(described)))
    for name in outputs:
        named = _field(1, _BYTES, memoryview(name.encode()))
        kept.append(_field(_GRAPH_OUTPUT, _BYTES, memoryview(named)))
    return b"".join(kept)


def _texts(graph: memoryview, wanted: int, *, name_field: int) -> set[str]:
    """Names of all messages in a field of the graph."""
    return {
        name
        for field, _, value in _fields(graph)
        if field == wanted
        for name in _names(value, name_field)
    }


def _names(message: memoryview, wanted: int) -> list[str]:
    """All texts in one field of a message."""
    return [str(value, "utf-8") for field, _, value in _fields(message) if field == wanted]


def _refuse_inner_graphs(node: memoryview) -> None:
    for field, _, attribute in _fields(node):
        if field == _NODE_ATTRIBUTE and any(
            inner in _ATTRIBUTE_GRAPHS for inner, _, _ in _fields(attribute)
        ):
            raise ValueError(f"node {_names(node, 3)} has a graph inside; it cannot be cut")


def _value_info(name: str, element: int, dimensions: int) -> bytes:
    """A ``ValueInfoProto`` of a tensor whose dimensions are all open."""
    shape = _field(1, _BYTES, memoryview(b"")) * dimensions
    tensor = _tag(1, _VARINT) + _varint(element) + _field(2, _BYTES, memoryview(shape))
    kind = _field(1, _BYTES, memoryview(tensor))
    return _field(1, _BYTES, memoryview(name.encode())) + _field(2, _BYTES, memoryview(kind))


def _fields(message: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    """Field number, wire type and raw value (without the length) of each field of a message."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        field, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            _, end = _read_varint(message, at)
        elif wire == _BYTES:
            length, at = _read_varint(message, at)
            end = at + length
        elif wire in (_FIXED64, _FIXED32):
            end = at + (8 if wire == _FIXED64 else 4)
        else:
            raise ValueError(f"no ONNX model: wire type {wire} at byte {at}")
        if end > len(message):
            raise ValueError(f"no ONNX model: field {field} ends at byte {end} of {len(message)}")
        yield field, wire, message[at:end]
        at = end


def _field(field: int, wire: int, value: memoryview) -> bytes:
    length = _varint(len(value)) if wire == _BYTES else b""
    return _tag(field, wire) + length + bytes(value)


def _tag(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError(f"no ONNX model: number cut off at byte {at}")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
