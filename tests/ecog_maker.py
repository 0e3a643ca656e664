"""Tiny EcoG-Bench trees with known truth."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from replay.ecog import EcogAnswer, EcogClip, EcogMask
from replay.predictions import CoordOrder, Prediction


def png(pixels: Any) -> str:
    """Grey pixels, shape (height, width), as base64 of a PNG."""
    _, encoded = cv2.imencode(".png", np.asarray(pixels, np.uint8))
    return base64.b64encode(encoded.tobytes()).decode()


def filled(width: int, height: int, value: int = 255) -> str:
    """A PNG of one grey value."""
    return png(np.full((height, width), value))


def answer(
    choice: str = "A",
    *,
    window: tuple[float, float] | None = (1000, 2000),
    points: tuple[tuple[float, float], ...] = ((500, 500),),
    mask: EcogMask | None = None,
) -> EcogAnswer:
    """A referent; points are ``(x, y)`` in thousandths."""
    begin, end = window if window is not None else (None, None)
    return EcogAnswer(choice=choice, begin_ms=begin, end_ms=end, points=points, mask=mask)


def mask(bbox: tuple[float, ...], png_base64: str) -> EcogMask:
    return EcogMask(bbox=bbox, png_base64=png_base64)


def clip(*answers: EcogAnswer, name: str = "a.mp4", **fields: Any) -> EcogClip:
    """A clip in memory; there is no video behind it."""
    fields = {"folder": "data_en/env1/指令3", "instruction": 3, "language": "en"} | fields
    return EcogClip(video=Path("/nowhere") / name, answers=answers or (answer(),), **fields)


def said(options: Any, *entries: Any) -> str:
    """A model's output with these ``selected_options`` and this ``point_list``."""
    return json.dumps({"selected_options": options, "point_list": list(entries)})


def entry(point: Any = (500, 500), time: Any = 1500) -> dict[str, Any]:
    return {"type": "target_object", "description": "", "point": point, "timestamp": time}


def prediction(
    output: str, *, name: str = "a.mp4", instruction: int = 3, order: CoordOrder = "xy"
) -> Prediction:
    return Prediction(video_name=name, instruction=instruction, output=output, coord_order=order)


def perfect(wanted: EcogClip, **fields: Any) -> Prediction:
    """The prediction that the clip's own truth makes."""
    entries = [
        entry([*one.points[0]], None if one.window is None else one.window[0])
        for one in wanted.answers
    ]
    output = said([one.choice for one in wanted.answers], *entries)
    named = {"video_name": wanted.video_name, "instruction": wanted.instruction, "output": output}
    return Prediction(**(named | fields))


@cache
def video_bytes(width: int = 64, height: int = 48) -> bytes:
    """Three frames of MPEG-4."""
    import io

    stream = io.BytesIO()
    with av.open(stream, "w", format="mp4") as container:
        video = container.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = width, height, "yuv420p"
        for level in (0, 120, 240):
            picture = np.full((height, width, 3), level, np.uint8)
            container.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(video.encode(None))
    return stream.getvalue()


class TreeMaker:
    """Writes instruction folders under a root.

    Args:
        root: Where the tree begins.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._annotations: dict[str, list[Any]] = {}
        self._truths: dict[str, dict[str, Any]] = {}

    def clip(
        self,
        folder: str = "data_en/env1/指令3",
        name: str = "a.mp4",
        *,
        answers: Any = None,
        video: bytes | None = b"",
        id: Any = None,
        truth: bool = True,
        **annotation: Any,
    ) -> TreeMaker:
        """Add a clip; ``video`` None means no file, empty the little film."""
        place = self.root / folder
        place.mkdir(parents=True, exist_ok=True)
        if video is not None:
            (place / name).write_bytes(video or video_bytes())
        item = {"video_name": name, "task_template": "指令1", "scene": "Kitchen Scene"}
        item |= {} if id is None else {"id": id}
        self._annotations.setdefault(folder, []).append(item | annotation)
        if truth:
            self._truths.setdefault(folder, {})[name] = {
                "object_choices": ["A. red cup", "B. blue cup"],
                "space_choices": ["a. here"],
                "answer": [raw_answer()] if answers is None else answers,
            }
        return self

    def write(self) -> Path:
        for folder, items in self._annotations.items():
            place = self.root / folder
            text = json.dumps(items, ensure_ascii=False)
            (place / "annotations.json").write_text(text, encoding="utf-8")
            text = json.dumps(self._truths.get(folder, {}), ensure_ascii=False)
            (place / "eval_gt.json").write_text(text, encoding="utf-8")
        return self.root


def raw_answer(choice: Any = "A", **fields: Any) -> dict[str, Any]:
    """An answer as ``eval_gt.json`` has it; points are ``[y, x]``."""
    return {
        "choice": choice,
        "stroke_begin_time": 1000,
        "stroke_end_time": 2000,
        "points": [[250, 750]],
    } | fields
