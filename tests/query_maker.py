"""Queries such as a session asks, of a drawn table with two things on it."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streaming.events import IDENTITY, Binding, Deictic, Stroke, Word
from streaming.grounding import Keyframe, Pointed, Query, Task, View
from streaming.grounding_frames import Ray, crop_along, encoded
from streaming.grounding_prefix import Film, Prefix, PrefixFrame
from streaming.picture_jpeg import jpeg_of

OBJECTS = ("A. Red cup, left", "B. Blue cup, right")
SPACES = ("a. Free space in front", "b. Free space behind")
PLACED = Task(
    object_choices=OBJECTS,
    space_choices=SPACES,
    referents=2,
    instruction=3,
    language="en",
    benchmark=True,
)


def table(level: int = 90) -> NDArray[np.uint8]:
    """A picture of 160 x 120: a grey table, a red and a blue thing."""
    image = np.full((120, 160, 3), level, dtype=np.uint8)
    cv2.circle(image, (40, 60), 8, (220, 20, 20), -1)
    cv2.circle(image, (120, 60), 8, (20, 20, 220), -1)
    return image


def frame(time: float) -> PrefixFrame:
    jpeg = jpeg_of(table(60 + round(time * 20)), quality=90)
    return PrefixFrame(time=time, sampled_at=time, jpeg=jpeg)


def keyframe(index: int, apex: float, tip: tuple[float, float], **fields: Any) -> Keyframe:
    x, y = tip
    stroke = Stroke(index=index, onset=apex - 0.3, apex=apex, tip=tip, knuckle=(x - 0.1, y + 0.1))
    ray = Ray(tip=stroke.tip, knuckle=stroke.knuckle)
    made: dict[str, Any] = {
        "stroke": stroke,
        "time": apex,
        "jpeg": encoded(table()),
        "hands": (),
        "ray": ray,
        "crop": crop_along(ray, share=0.3, aspect=4 / 3),
        "hold_end": apex + 0.5,
        "to_last": IDENTITY,
    }
    return Keyframe(**(made | fields))


def words(language: str = "en") -> tuple[Word, ...]:
    texts = ("Put", "this", "here.") if language == "en" else ("放", "这个", "那里")
    return tuple(
        Word(text=text, onset=0.5 + k, offset=0.8 + k, language=language)
        for k, text in enumerate(texts)
    )


def query(**fields: Any) -> Query:
    """Asked at 4 s: "Put this here" with a stroke at 1.6 s and one at 2.6 s."""
    language = fields.get("language", "en")
    said = words(language)
    made: dict[str, Any] = {
        "turn": 0,
        "asked_at": 4.0,
        "task": PLACED,
        "pointed": (
            Pointed(kind="object", time=1.75, deictic=0, stroke=0, probability=0.9),
            Pointed(kind="space", time=2.75, deictic=1, stroke=1, probability=0.8),
        ),
        "keyframes": (keyframe(0, 1.6, (0.3, 0.5)), keyframe(1, 2.6, (0.6, 0.7))),
        "last": View(time=4.0, image=table(120), to_last=IDENTITY),
        "words": said,
        "deictics": tuple(
            Deictic(index=k, text=word.text, onset=word.onset, offset=word.offset, kind=kind)
            for k, (word, kind) in enumerate(zip(said[1:], ("object", "place"), strict=True))
        ),
        "bindings": (
            Binding(deictic=0, stroke=0, probability=0.9, reason="window"),
            Binding(deictic=1, stroke=1, probability=0.8, reason="window"),
        ),
        "language": language,
        "prefix": Prefix(frames=tuple(frame(k / 2) for k in range(8)), film=Bytes(b"film")),
    }
    return Query(**(made | fields))


class Bytes(Film):
    """A film that is always the same."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def until(self, time: float) -> bytes:
        return self._content
