"""Truths of made clips, as ``deixis synth`` writes them, small and made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FPS = 10


def said(
    text: str, begin: int, end: int, role: str = "plain", stroke: int | None = None, punct: str = ""
) -> dict[str, Any]:
    """A word, times in milliseconds."""
    return {
        "text": text,
        "punct": punct,
        "begin_ms": begin,
        "end_ms": end,
        "role": role,
        "deictic": role in ("deictic", "withdrawn", "anaphor"),
        "non_deictic_use": role == "non_deictic",
        "stroke": stroke,
    }


def pointed(index: int, apex: int, *, hold: int = 500, withdrawn: bool = False) -> dict[str, Any]:
    """A stroke whose window reaches from 100 ms before the apex to the end of the hold."""
    return {
        "index": index,
        "withdrawn": withdrawn,
        "apex_ms": apex,
        "hold_end_ms": apex + hold,
        "stroke_window_ms": [apex - 100, apex + hold],
        "fingertip_px_at_apex": [160, 120],
    }


ONCE = (pointed(0, 1000),)


def clip_truth(
    name: str = "a.mp4",
    *,
    words: tuple[dict[str, Any], ...] = (),
    strokes: tuple[dict[str, Any], ...] = ONCE,
    tips: tuple[list[float] | None, ...] = (),
    difficulty: str = "real",
    language: str = "en",
    other_arms: int = 0,
) -> dict[str, Any]:
    """A clip of 640 x 480 pixels and :data:`FPS` frames a second."""
    return {
        "video_name": name,
        "language": language,
        "difficulty": difficulty,
        "fps": FPS,
        "width": 640,
        "height": 480,
        "duration_ms": 6000,
        "words": list(words),
        "strokes": list(strokes),
        "fingertip_px": list(tips),
        "fingertip_m": [None if tip is None else [0, 0, 0] for tip in tips],
        "drawn": {"other_arms": [{}] * other_arms},
    }


def write_truth(root: Path, *clips: dict[str, Any]) -> Path:
    """``root`` with a ``truth.json`` about ``clips``."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "truth.json").write_text(json.dumps({"clips": clips}), encoding="utf-8")
    return root


def write_tree(root: Path, *clips: dict[str, Any]) -> Path:
    """An EcoG tree of empty videos about ``clips``, with its ``truth.json``.

    The transcript of ``annotations.json`` is rougher than the truth: every word begins 100 ms late.
    Withdrawn strokes are in no answer.
    """
    for language in ("en", "zh"):
        mine = [clip for clip in clips if clip["language"] == language]
        folder = root / ("data_zn" if language == "zh" else "data_en") / "Inst3"
        folder.mkdir(parents=True, exist_ok=True)
        for clip in mine:
            (folder / clip["video_name"]).touch()
        (folder / "annotations.json").write_text(
            json.dumps([_annotation(clip, number) for number, clip in enumerate(mine)]),
            encoding="utf-8",
        )
        truths = {clip["video_name"]: _ground_truth(clip) for clip in mine}
        (folder / "eval_gt.json").write_text(json.dumps(truths), encoding="utf-8")
    return write_truth(root, *clips)


def _annotation(clip: dict[str, Any], number: int) -> dict[str, Any]:
    words = [
        {"text": word["text"], "begin_time": word["begin_ms"] + 100, "end_time": word["end_ms"]}
        for word in clip["words"]
    ]
    result = {"text": " ".join(word["text"] for word in words), "words": words}
    return {
        "id": f"{clip['language']}{number}",
        "video_name": clip["video_name"],
        "asr_result": result,
    }


def _ground_truth(clip: dict[str, Any]) -> dict[str, Any]:
    answers = [
        {
            "choice": "A",
            "stroke_begin_time": stroke["stroke_window_ms"][0],
            "stroke_end_time": stroke["stroke_window_ms"][1],
        }
        for stroke in clip["strokes"]
        if not stroke["withdrawn"]
    ]
    return {"object_choices": ["A. mug"], "space_choices": [], "answer": answers}
