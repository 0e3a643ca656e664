"""EgoPoint-Bench's questions as requests: a picture and a text, and nothing else of the item.

Two readings give the same request, byte for byte, so that a model at temperature 0 scores the same:

* **still**: the picture as it lies in the folder;
* **stream** (ours): the picture as a short clip that is played, and the question arrives as text at
  its end; the model is sent the newest frame of the strict prefix. A question that is spoken
  (:mod:`replay.egopoint.spoken`) is asked in the words that were heard.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.egopoint.dataset import EgoPointItem
from replay.media.still import STILL_SECONDS, read_still
from replay.source import open_source
from streaming.asking.request import PicturePart, Request, TextPart
from streaming.config import config_path, load
from streaming.events import Seconds, VideoFrame
from streaming.picture_jpeg import jpeg_of

Reading: TypeAlias = Literal["still", "stream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereSettings:
    """The question where the finger points.

    Attributes:
        prompt: Name and version of the wording.
        question: With ``{order}`` for the order of a point's numbers.
        tokens: Longest answer.
        reach: How far off a thing a point may lie, in picture heights.
        things: Most object-like regions of a picture whose things are not known.
        overlap: How much of the smaller of two such regions may lie in the other.
    """

    prompt: str
    question: str
    tokens: int
    reach: float
    things: int
    overlap: float

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.reach < 0 or "{order}" not in self.question:
            raise ValueError("where: expected tokens from 1, reach from 0, and {order} to be asked")
        if self.things < 1 or not 0 <= self.overlap <= 1:
            raise ValueError("where: expected things from 1, and an overlap from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How a judge scores open answers.

    Attributes:
        prompt: Name and version of the wording.
        system: The system instruction.
        question: With ``{question}``, ``{reference}``, ``{answer}`` and ``{most}``.
        most: The highest score.
        tokens: Longest judgement.
    """

    prompt: str
    system: str
    question: str
    most: int
    tokens: int

    def __post_init__(self) -> None:
        needed = ("{question}", "{reference}", "{answer}")
        if min(self.most, self.tokens) < 1 or not all(name in self.question for name in needed):
            raise ValueError(f"judge_open: expected most and tokens from 1, and {needed} in it")


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoPointSettings:
    """``configs/egopoint.toml``.

    Attributes:
        prompt: Name and version of the wording.
        system: The system instruction.
        choice, judge, open: What form of answer is asked for, by type of the question.
        side: Longest side of the picture, pixels.
        quality: Of its JPEG.
        closed_tokens, open_tokens: Longest answers.
        where: The question where the finger points.
        judge_open: How open answers are scored.
    """

    prompt: str
    system: str
    choice: str
    judge: str
    open: str
    side: int
    quality: int
    closed_tokens: int
    open_tokens: int
    where: WhereSettings
    judge_open: JudgeSettings

    def __post_init__(self) -> None:
        if min(self.side, self.closed_tokens, self.open_tokens) < 1 or not 1 <= self.quality <= 100:
            raise ValueError("side and tokens: expected at least 1; quality: 1 to 100")

    def asked(self) -> dict[str, Any]:
        """What the benchmark's own questions are made of, for a record."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in ("where", "judge_open")
        }


def read_settings() -> EgoPointSettings:
    """The project's own settings.

    Raises:
        ConfigError: If the file is missing or does not fit.
    """
    return load(EgoPointSettings, config_path("egopoint.toml"))


def asked_at(reading: Reading) -> Seconds:
    """Media time of the question."""
    return 0.0 if reading == "still" else STILL_SECONDS


def request_for(
    item: EgoPointItem,
    settings: EgoPointSettings,
    *,
    reading: Reading,
    question: str | None = None,
    at: Seconds | None = None,
) -> Request:
    """What a model is sent about an item.

    Args:
        item: Only its picture, question, options and type are used.
        settings: Wording and size.
        reading: How the picture is had.
        question: In place of the item's own, as when it was heard.
        at: When it is asked; the reading's usual time without.

    Raises:
        SourceError: If the picture cannot be read.
    """
    at = asked_at(reading) if at is None else at
    image = (
        read_still(item.image, max_side=settings.side)
        if reading == "still"
        else newest_frame(item.image, until=at, side=settings.side)
    )
    text = question_text(item, settings, question=question)
    return Request(
        system=settings.system,
        parts=(
            PicturePart(jpeg=jpeg_of(image, quality=settings.quality), until=at),
            TextPart(text=text, until=at),
        ),
        schema=None,
        interface=f"egopoint {reading}",
        prompt=settings.prompt,
        words="benchmark" if question is None else "ours",
        asked_at=at,
    )


def question_text(
    item: EgoPointItem, settings: EgoPointSettings, *, question: str | None = None
) -> str:
    """The question, its options, and the form that the answer is to have."""
    form = {
        "Multiple_Choice": settings.choice,
        "True_False": settings.judge,
        "Open_Ended": settings.open,
    }[item.kind]
    return "\n".join([item.question if question is None else question, *item.options, form])


def newest_frame(path: Path, *, until: Seconds, side: int) -> NDArray[np.uint8]:
    """The newest frame of a clip's prefix, RGB.

    Raises:
        SourceError: If it cannot be played.
    """
    image: NDArray[np.uint8] | None = None
    source = open_source(path, until=until, max_side=side)
    with contextlib.closing(source.events()) as events:
        for event in events:
            if isinstance(event, VideoFrame):
                image = event.image
    assert image is not None, "a still has a frame at its start"
    return image
