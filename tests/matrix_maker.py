"""Makes matrix folders as ``deixis bench`` leaves them: invented scores, the real scorer's JSON.

Clips share a difficulty over all cells, as real ones do. Everything follows from the seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.ecog import LEVELS, EcogAnswer, EcogClip
from replay.scoring.ecog import ClipScore, EcogScores, ReferentScore, Status
from replay.scoring.ecog_json import as_json
from replay.scoring.matching import Matching
from replay.scoring.model_output import Repair

_STATED = ("model", "interface", "words", "when", "usage", "cost")
REFERENTS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCell:
    """One cell: what it is, how often what, where and when are right, and what it lacks."""

    model: str
    interface: str
    words: str = "none"
    when: str = "model"
    right: tuple[float, float, float] = (0.7, 0.6, 0.7)
    missing: int = 0
    failed: int = 0
    unparsable: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        parts = (self.model.replace(":", "-"), self.interface, self.words, self.when)
        return "_".join(part for part in parts if part not in ("", "none", "model"))


FLASH, PRO, QWEN = "gemini:gemini-3-flash-preview", "gemini:gemini-3-pro", "openai:qwen3-vl-8b"
CELLS = (
    MadeCell(model=FLASH, interface="video", right=(0.6, 0.45, 0.25)),
    MadeCell(model=FLASH, interface="frames", words="benchmark", right=(0.68, 0.6, 0.5)),
    MadeCell(
        model=FLASH,
        interface="frames+asr",
        words="benchmark",
        right=(0.8, 0.72, 0.82),
        extra={"cost": 1.234, "counters": {"fenced": 12, "bare_object": 0, "label_with_text": 3}},
    ),
    MadeCell(model=FLASH, interface="frames+asr", words="ours", right=(0.76, 0.7, 0.74)),
    MadeCell(
        model=FLASH, interface="no_frame_timestamps", words="benchmark", right=(0.78, 0.68, 0.6)
    ),
    MadeCell(model=FLASH, interface="no_word_timing", words="benchmark", right=(0.8, 0.7, 0.77)),
    MadeCell(model=FLASH, interface="bound", words="ours", right=(0.86, 0.85, 0.9)),
    MadeCell(model=FLASH, interface="bound", words="ours", when="binder", right=(0.86, 0.85, 0.93)),
    MadeCell(model=PRO, interface="video", right=(0.7, 0.6, 0.5)),
    MadeCell(
        model=PRO,
        interface="frames+asr",
        words="benchmark",
        right=(0.84, 0.7, 0.78),
        missing=3,
        failed=2,
        extra={"errors": {"rate_limited": 2}, "complete": False},
    ),
    MadeCell(
        model=QWEN, interface="frames", words="benchmark", right=(0.5, 0.4, 0.35), unparsable=5
    ),
    MadeCell(
        model=QWEN, interface="bound", words="ours", right=(0.66, 0.62, 0.8), extra={"cost": 0.0}
    ),
)


def made_scores(
    cell: MadeCell, *, clips: int = 60, seed: int = 0, mended: bool = False
) -> dict[str, Any]:
    """``scores.json`` of one cell; mended, what was unparsable is read."""
    scored = [_clip(cell, index, seed=seed, mended=mended) for index in range(clips)]
    failed = tuple(clip for clip in scored if clip.status is Status.ERROR)
    return as_json(
        EcogScores(
            clips=tuple(clip for clip in scored if clip.status is not Status.ERROR),
            errors=failed,
            errors_as_wrong=False,
            left_out=(),
            matching=Matching(by_clip=()),
        )
    )


def _clip(cell: MadeCell, index: int, *, seed: int, mended: bool) -> ClipScore:
    instruction = index % 6 + 1
    number = REFERENTS[instruction]
    shared = random.Random(f"{seed}/{index}")
    hard = shared.uniform(0.45, 1.3) * (1.15 - 0.09 * int(LEVELS[instruction][1]))
    own = random.Random(f"{seed}/{index}/{cell.name}")
    wrong = (ReferentScore(),) * number
    right = tuple(
        ReferentScore(cls=hit[0], s=hit[1], t=hit[2])
        for hit in (
            [own.random() < min(1.0, chance * hard) for chance in cell.right] for _ in range(number)
        )
    )
    clip = EcogClip(
        video=Path(f"clip_{index:03}.mp4"),
        folder=f"data_en/Inst{instruction}",
        instruction=instruction,
        language="en",
        scene="Office",
        answers=tuple(EcogAnswer(choice="AbCd"[place]) for place in range(number)),
    )
    if index < cell.missing:
        return ClipScore(clip=clip, referents=wrong, status=Status.MISSING)
    if index < cell.missing + cell.failed:
        return ClipScore(
            clip=clip, referents=wrong, status=Status.ERROR, reason="rate-limited, 5 attempts"
        )
    if index >= 7 and index < 7 + cell.unparsable and not mended:
        return ClipScore(
            clip=clip, referents=wrong, status=Status.UNPARSABLE, repair=Repair.UNPARSABLE
        )
    return ClipScore(clip=clip, referents=right, status=Status.ANSWERED, repair=next(iter(Repair)))


def make_matrix(
    folder: Path, cells: Sequence[MadeCell] = CELLS, *, clips: int = 60, seed: int = 0
) -> Path:
    """Write a whole matrix folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    stated = []
    for number, cell in enumerate(cells, start=1):
        sent = 9_000 * clips * number
        facts = {
            "name": cell.name,
            "model": cell.model,
            "interface": cell.interface,
            "words": cell.words,
            "when": cell.when,
            "prompt": "en/1, zh/1",
            "complete": not cell.missing and not cell.failed,
            "usage": {"sent": sent, "cached": sent // 5, "written": 320 * clips, "thought": 0},
            "cost": round(sent * 5e-7, 4),
            "model_seconds": _seconds(cell, clips, seed=seed),
            "counters": {},
            "errors": {},
            **cell.extra,
        }
        stated.append(facts)
        write_cell(folder / cell.name, cell, facts, clips=clips, seed=seed)
    _dump(
        folder / "matrix.json",
        {
            "format": 1,
            "version": "0.1.0",
            "cells": stated,
            "benchmark": {"name": "ecog", "root": "bench/pretended"},
            "machine": {
                "cpu": "Imaginary CPU @ 2.5 GHz",
                "cores": 2,
                "os": "Linux 6.1",
                "python": "3.11.11",
            },
        },
    )
    return folder


def _seconds(cell: MadeCell, clips: int, *, seed: int) -> list[float]:
    random_ = random.Random(f"{seed}/{cell.name}/seconds")
    return [round(random_.lognormvariate(1.0, 0.4), 3) for _ in range(clips)]


def write_cell(
    folder: Path, cell: MadeCell, facts: dict[str, Any], *, clips: int = 60, seed: int = 0
) -> Path:
    """Write one cell's run folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    run: dict[str, Any] = {
        "format": 1,
        "version": "0.1.0",
        "pace": "fast",
        "language": "auto",
        "benchmark": {"name": "ecog", "root": "bench/pretended"},
        "clips": [],
        "failed": [],
        "machine": {},
    }
    run |= {key: facts[key] for key in _STATED if key in facts}
    _dump(folder / "run.json", run)
    _dump(folder / "scores.json", made_scores(cell, clips=clips, seed=seed))
    _dump(folder / "scores_mended.json", made_scores(cell, clips=clips, seed=seed, mended=True))
    return folder


def _dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
