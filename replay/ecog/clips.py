"""What EcoG-Bench (arXiv 2603.07966) says about its clips.

Conventions: points are ``(x, y)`` in thousandths of the frame's width and height (the files have
``[y, x]``; the loader turns them round), boxes are pixels, times are milliseconds from the start of
the video.
"""

from __future__ import annotations

import base64
import binascii
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

LEVELS = {1: "L1", 2: "L2", 3: "L3", 4: "L3", 5: "L4", 6: "L4"}
"""Level of each instruction type."""

MASK_THRESHOLD = 128
"""A pixel belongs to a mask when its value is above this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EcogMask:
    """The pixels of an object, as a PNG that is decoded only when it is asked.

    Attributes:
        bbox: ``(x1, y1, x2, y2)`` in pixels, inclusive; other lengths contain nothing.
        png_base64: The file's own text: a grey PNG, full-frame or cropped to the box.
    """

    bbox: tuple[float, ...]
    png_base64: str

    def pixels(self) -> NDArray[np.uint8] | None:
        """The PNG's grey values, shape ``(height, width)``; None when it is no picture."""
        try:
            png = np.frombuffer(base64.b64decode(self.png_base64), np.uint8)
            picture = cv2.imdecode(png, cv2.IMREAD_GRAYSCALE)
        except (binascii.Error, ValueError, cv2.error):
            return None
        return None if picture is None else np.asarray(picture, np.uint8)

    def contains(self, x: int, y: int, *, width: int, height: int) -> bool:
        """Whether pixel ``(x, y)`` of a ``width`` x ``height`` video belongs to the object.

        It must lie in the box, edges included. A PNG of exactly the video's size is looked up
        directly; any other is taken as cropped to the box, and the pixel's place in the box is
        scaled to the PNG's own size, truncated and clamped.
        """
        if len(self.bbox) != 4:
            return False
        x1, y1, x2, y2 = self.bbox
        if not (x1 <= x <= x2 and y1 <= y <= y2):
            return False
        picture = self.pixels()
        if picture is None:
            return False
        rows, columns = picture.shape
        if (rows, columns) == (height, width):
            # Python's negative indices are part of the reference: a box that reaches beyond the
            # left or upper edge wraps round.
            inside = -rows <= y < rows and -columns <= x < columns
            return inside and bool(picture[y, x] > MASK_THRESHOLD)
        try:
            row = _scaled(y - y1, rows, y2 - y1)
            column = _scaled(x - x1, columns, x2 - x1)
        except (ValueError, OverflowError):  # a box of infinite or absurd size
            return False
        return bool(picture[row, column] > MASK_THRESHOLD)


def _scaled(offset: float, size: int, span: float) -> int:
    place = int(offset * size / span) if span > 0 else 0
    return min(max(place, 0), size - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EcogAnswer:
    """One referent of the right answer.

    Attributes:
        choice: Its label; upper case for an object, lower case for a place.
        begin_ms, end_ms: When its stroke begins and ends; None where the file has none.
        points: Where it lies on the last frame, ``(x, y)`` in thousandths; may be empty.
        mask: Its pixels, or None. Counts for objects only.
    """

    choice: str
    begin_ms: float | None = None
    end_ms: float | None = None
    points: tuple[tuple[float, float], ...] = ()
    mask: EcogMask | None = None

    @property
    def is_object(self) -> bool:
        return self.choice.isupper()

    @property
    def window(self) -> tuple[float, float] | None:
        """The stroke's window in milliseconds, or None when either end is missing."""
        if self.begin_ms is None or self.end_ms is None:
            return None
        return (self.begin_ms, self.end_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class EcogWord:
    """A word of the dataset's own transcript; times are None where the file has none."""

    text: str
    begin_ms: float | None = None
    end_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EcogClip:
    """One clip and its right answer.

    Attributes:
        video: Path of the video file.
        folder: Its instruction folder as a path from the tree's root, with slashes.
        instruction: Type of the instruction, 1 to 6, from the folder's name.
        language: ``en`` or ``zh``.
        scene: As written in ``annotations.json``; empty when absent.
        object_choices, space_choices: The options, ``"A. ..."`` and ``"a. ..."``.
        answers: In order of execution; never empty.
        transcript: The dataset's own, whole.
        words: The same, word by word.
    """

    video: Path
    folder: str
    instruction: int
    language: str
    answers: tuple[EcogAnswer, ...]
    scene: str = ""
    object_choices: tuple[str, ...] = ()
    space_choices: tuple[str, ...] = ()
    transcript: str = ""
    words: tuple[EcogWord, ...] = ()

    def __post_init__(self) -> None:
        if not self.answers:
            raise ValueError(f"clip {self.video.name!r} has no answer")
        if self.instruction not in LEVELS:
            raise ValueError(f"clip {self.video.name!r}: instruction {self.instruction}")

    @property
    def video_name(self) -> str:
        return self.video.name

    @property
    def level(self) -> str:
        return LEVELS[self.instruction]

    @property
    def k(self) -> int:
        """Number of referents."""
        return len(self.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A clip that cannot be scored.

    Attributes:
        video_name: Its video, or the annotation file or entry when no video is named.
        folder: As in :class:`EcogClip`.
        reason: One line.
    """

    video_name: str
    folder: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EcogTree:
    """All clips under a root, in order of folder and then of ``annotations.json``.

    Attributes:
        root: Where it was read from.
        clips: Those that can be scored.
        left_out: Those that cannot.
        notes: Things in kept clips that were passed over, in the same form.
    """

    root: Path
    clips: tuple[EcogClip, ...]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[LeftOut, ...] = ()


def write_truth(clip: EcogClip, size: tuple[int, int] | None = None) -> dict[str, Any]:
    """The contents of a run's ``truth.json`` for this clip; ``answer`` is as in ``eval_gt.json``.

    Args:
        clip: The clip.
        size: The video's displayed ``(width, height)`` in pixels, None when unknown.
    """
    width, height = size if size is not None else (None, None)
    return {
        "video_name": clip.video_name,
        "instruction": clip.instruction,
        "level": clip.level,
        "language": clip.language,
        "scene": clip.scene,
        "folder": clip.folder,
        "object_choices": list(clip.object_choices),
        "space_choices": list(clip.space_choices),
        "answer": [_answer_entry(answer) for answer in clip.answers],
        "words": [
            {
                "text": word.text,
                "begin_time": _plain(word.begin_ms),
                "end_time": _plain(word.end_ms),
            }
            for word in clip.words
        ],
        "width": width,
        "height": height,
    }


def _answer_entry(answer: EcogAnswer) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "choice": answer.choice,
        "stroke_begin_time": _plain(answer.begin_ms),
        "stroke_end_time": _plain(answer.end_ms),
        "points": [[_plain(y), _plain(x)] for x, y in answer.points],
    }
    if answer.mask is not None:
        entry["mask"] = {
            "bbox": [_plain(edge) for edge in answer.mask.bbox],
            "mask_base64": answer.mask.png_base64,
        }
    return entry


def _plain(number: float | None) -> float | int | None:
    """A whole number as an int, as the files have it; JSON has no NaN and no infinity."""
    if number is None or not math.isfinite(number):
        return None
    return int(number) if number == int(number) else number
