"""The scores of an EcoG-Bench run as the one JSON object that ``deixis score ecog --json`` prints.

Fractions are 0...1; what has nothing to divide by is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.predictions import Prediction
from replay.scoring.ecog import ClipScore, Counts, EcogScores, Failure, scene_of


def as_json(scores: EcogScores) -> dict[str, Any]:
    """``overall`` and the ``by_...`` groups are means of clip means, the benchmark's own.

    ``counts`` repeats the groups with what they were counted over; ``details`` follows ``clips``,
    one for one, with what the fractions hide.
    """
    groups: dict[str, Mapping[str, Counts]] = {
        "by_instruction": scores.by(lambda clip: str(clip.instruction)),
        "by_level": scores.by(lambda clip: clip.level),
        "by_language": scores.by(lambda clip: clip.language),
        "by_scene": scores.by(scene_of),
    }
    overall = scores.overall
    measured = {
        group: {name: counts.scores.as_json() for name, counts in members.items()}
        for group, members in groups.items()
    }
    counted = {
        group: {name: _counted(counts) for name, counts in members.items()}
        for group, members in groups.items()
    }
    return {
        "benchmark": "ecog",
        "overall": overall.scores.as_json(),
        "overall_referent_weighted": overall.referent_weighted.as_json(),
        **measured,
        "clips": [_name(clip) | clip.scores.as_json() for clip in scores.clips],
        "left_out": [
            {"video_name": clip.video_name, "reason": f"{clip.reason} ({clip.folder})"}
            for clip in scores.left_out
        ],
        "counts": {"overall": _counted(overall), **counted},
        "complete": scores.complete,
        "errors_as_wrong": scores.errors_as_wrong,
        "errors": [_name(clip) | {"reason": clip.reason} for clip in scores.errors],
        "missing": [_name(clip) for clip in scores.missing],
        "unknown": [_line(line) for line in scores.matching.unknown],
        "ambiguous": [_line(line) for line in scores.matching.ambiguous],
        "superseded": scores.matching.superseded,
        "repairs": {str(repair): count for repair, count in scores.repairs.items()},
        "details": [_detail(clip) for clip in scores.clips],
    }


def _name(clip: ClipScore) -> dict[str, Any]:
    return {"video_name": clip.clip.video_name, "instruction": clip.clip.instruction}


def _line(line: Prediction) -> dict[str, Any]:
    named = {"video_name": line.video_name, "instruction": line.instruction}
    return named | ({"folder": line.folder} if line.folder else {})


def _counted(counts: Counts) -> dict[str, Any]:
    return {
        "clips": counts.clips,
        "referents": counts.referents,
        "failures": {str(kind): counts.failures.get(kind, 0) for kind in Failure},
    }


def _detail(clip: ClipScore) -> dict[str, Any]:
    return _name(clip) | {
        "folder": clip.clip.folder,
        "level": clip.clip.level,
        "language": clip.clip.language,
        "scene": scene_of(clip.clip),
        "status": str(clip.status),
        "repair": None if clip.repair is None else str(clip.repair),
        "reason": clip.reason,
        "referents": [
            {
                "choice": answer.choice,
                "cls": referent.cls,
                "s": referent.s,
                "t": referent.t,
                "eco": referent.eco,
                "failure": None if referent.failure is None else str(referent.failure),
            }
            for answer, referent in zip(clip.clip.answers, clip.referents, strict=True)
        ],
    }
