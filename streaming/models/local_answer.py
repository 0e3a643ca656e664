"""An answer as a sentence, and in the output format of EcoG-Bench (arXiv 2603.07966)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from streaming.events import Referent

_TYPES = {"object": "target_object", "space": "spatial_affordance"}


def benchmark_output(referents: Sequence[Referent], *, reasoning: str, command: str) -> str:
    """The benchmark's output JSON: points ``[x, y]`` in thousandths, times in milliseconds.

    A referent without a point keeps its place in the list, at ``[0, 0]``, one without a time at
    -1: the format has no way to leave one out, and a missing number voids the whole clip.
    """
    return json.dumps(
        {
            "reasoning": reasoning,
            "explicit_command": command,
            "selected_options": [referent.label or "" for referent in referents],
            "point_list": [_entry(referent) for referent in referents],
        },
        ensure_ascii=False,
    )


def sentence(referents: Sequence[Referent], language: str) -> str:
    """What was understood, in the speaker's language."""
    found = [referent.description or None for referent in referents]
    if not any(found):
        if language == "zh":
            return "我没看清您指的是什么。"
        return "I could not tell what you pointed at."
    if language == "zh":
        return "您指的是：" + "，然后是".join(text or "（没看清）" for text in found) + "。"
    listed = [_lowered(text) if text else "something I could not tell" for text in found]
    return "You mean: " + "; then ".join(listed) + "."


def _entry(referent: Referent) -> dict[str, object]:
    point = [0, 0]
    if referent.point is not None:
        point = [min(1000, max(0, round(1000 * value))) for value in referent.point]
    return {
        "type": _TYPES[referent.kind],
        "description": referent.description,
        "point": point,
        "timestamp": -1 if referent.time is None else round(1000 * referent.time),
    }


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
