"""EcoG-Bench's own files for made clips: ``annotations.json`` and ``eval_gt.json``.

The format is the benchmark's to the letter (arXiv 2603.07966): points ``[y, x]`` in 1...1000 of the
last frame, boxes ``[x1, y1, x2, y2]`` in pixels, times in milliseconds. A mask is a grey PNG,
either cropped to its box or as large as the video; the benchmark has both, so both are made.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from replay.synth.orders import Order

INSTRUCTION_FOLDER = "指令{}"
LANGUAGE_FOLDER = {"en": "data_en", "zh": "data_zn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One option, as the benchmark lists it, and where its referent lies on the last frame.

    Attributes:
        letter: ``A`` ... for objects, ``a`` ... for places.
        name: In the clip's language.
        points: As annotators would set them, continuous pixels, shape ``(n, 2)``.
        pixels: What is seen of it, shape ``(height, width)``; None: no mask is given.
        full_frame: The mask's PNG is as large as the video rather than cropped.
        score: Of the annotators' segmentation, made up.
    """

    letter: str
    name: str
    points: NDArray[np.float64]
    pixels: NDArray[np.bool_] | None = None
    full_frame: bool = False
    score: float = 0.9

    @property
    def kind(self) -> Literal["object", "space"]:
        return "object" if self.letter.isupper() else "space"

    @property
    def label(self) -> str:
        """As it stands in the options."""
        return f"{self.letter}. {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A referent of the answer: the letter of its choice and its stroke's window, milliseconds."""

    letter: str
    begin_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedWord:
    """A word of the transcript as written, punctuation included, milliseconds."""

    text: str
    begin_ms: int
    end_ms: int


def annotation(
    order: Order,
    *,
    setting: str,
    folder: str,
    choices: tuple[Choice, ...],
    text: str,
    words: tuple[TimedWord, ...],
) -> dict[str, Any]:
    """The clip's entry in ``annotations.json``."""
    return {
        "id": f"{order.seed}{order.index:06d}",
        "folder": folder,
        "video_name": f"{order.name}.mp4",
        "task_template": INSTRUCTION_FOLDER.format(order.instruction),
        "scene": f"{setting} Scene",
        "object_space": [_located(choice, order) for choice in choices],
        "asr_result": {
            "text": text,
            "words": [
                {"text": word.text, "begin_time": word.begin_ms, "end_time": word.end_ms}
                for word in words
            ],
        },
    }


def ground_truth(
    order: Order, *, choices: tuple[Choice, ...], answer: tuple[Window, ...]
) -> dict[str, Any]:
    """The clip's value in ``eval_gt.json``."""
    by_letter = {choice.letter: choice for choice in choices}
    return {
        "object_choices": [choice.label for choice in choices if choice.kind == "object"],
        "space_choices": [choice.label for choice in choices if choice.kind == "space"],
        "answer": [
            {
                "choice": window.letter,
                "stroke_begin_time": window.begin_ms,
                "stroke_end_time": window.end_ms,
                **_place(by_letter[window.letter], order),
            }
            for window in answer
        ],
    }


def _located(choice: Choice, order: Order) -> dict[str, Any]:
    place = _place(choice, order)
    if "mask" in place:
        place["mask"]["score"] = round(choice.score, 3)
    return {"name": choice.name, "type": choice.kind, **place}


def _place(choice: Choice, order: Order) -> dict[str, Any]:
    size = np.array([order.frames.width, order.frames.height], np.float64)
    thousandths = np.clip(np.rint(choice.points / size * 1000), 1, 1000).astype(int)
    place: dict[str, Any] = {"points": [[int(y), int(x)] for x, y in thousandths]}
    if choice.pixels is not None and choice.pixels.any():
        place["mask"] = mask(choice.pixels, full_frame=choice.full_frame)
    return place


def mask(pixels: NDArray[np.bool_], *, full_frame: bool) -> dict[str, Any]:
    """A mask as the benchmark writes it.

    Args:
        pixels: Those of the object, shape ``(height, width)``; at least one.
        full_frame: Write the whole frame rather than the box.
    """
    rows, columns = np.flatnonzero(pixels.any(1)), np.flatnonzero(pixels.any(0))
    x1, x2, y1, y2 = int(columns[0]), int(columns[-1]), int(rows[0]), int(rows[-1])
    grey = np.where(pixels, 255, 0).astype(np.uint8)
    # A cropped PNG is looked up by scaling (x - x1) * size / (x2 - x1): one pixel more would do
    # for exactness, but the benchmark's own crops are as large as the box.
    cut = grey if full_frame else grey[y1 : y2 + 1, x1 : x2 + 1]
    done, png = cv2.imencode(".png", cut)
    assert done
    return {
        "bbox": [x1, y1, x2, y2],
        "mask_base64": base64.b64encode(png.tobytes()).decode("ascii"),
    }
