"""The JSON schema of an answer, as far as the task says what may stand in it.

Its keys are those of EcoG-Bench's output (arXiv 2603.07966), in the order in which a model writes
them: reasons first, so that what it chooses follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streaming.grounding_query import Task

_TYPES = ("target_object", "spatial_affordance")


def labels_of(choices: Sequence[str]) -> tuple[str, ...]:
    """The labels of options such as ``A. Red mug``: what stands before the first full stop."""
    return tuple(dict.fromkeys(choice.split(".", 1)[0].strip() for choice in choices))


def answer_schema(task: Task) -> dict[str, Any]:
    """JSON schema of the answer to ``task``.

    Labels are limited to those of the options; without options ``selected_options`` is left out.
    The lists have K items where K is known. The types of the targets are never limited further:
    that would tell more than the words of the prompt do.
    """
    count = None if task.kinds is None else len(task.kinds)
    labels = labels_of((*task.object_choices, *task.space_choices))
    properties: dict[str, Any] = {
        "reasoning": {"type": "string"},
        "explicit_command": {"type": "string"},
    }
    if labels:
        label = {"type": "string", "enum": list(labels)}
        properties["selected_options"] = _list_of(label, count)
    properties["point_list"] = _list_of(_target(), count)
    return _object(properties)


def _target() -> dict[str, Any]:
    number = {"type": "integer", "minimum": 0, "maximum": 1000}
    return _object(
        {
            "type": {"type": "string", "enum": list(_TYPES)},
            "description": {"type": "string"},
            "point": _list_of(number, 2),
            "timestamp": {"type": "integer", "minimum": 0},
        }
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(item: dict[str, Any], count: int | None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": item}
    if count is not None:
        schema |= {"minItems": count, "maxItems": count}
    return schema
