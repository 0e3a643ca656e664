"""The two files of an instruction folder, checked where they enter.

``annotations.json`` is a list with one entry a clip; ``eval_gt.json`` is an object keyed by video
name. Only what the bench uses is read; unknown fields are let through. A field that nobody scores
by (transcript, scene) is taken as absent when it is malformed; a malformed answer is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictFloat, StrictInt, StrictStr
from pydantic import ValidationError as PydanticError

from replay.ecog.clips import EcogAnswer, EcogMask, EcogWord

Number = StrictInt | StrictFloat


class UnreadableError(ValueError):
    """A file or an entry that cannot be used; one line saying why."""


def _pairs(value: Any) -> Any:
    """``[y, x]``, ``[[y, x], ...]`` or nothing, as a list of pairs; further numbers are cut off."""
    if not value:
        return []
    if not isinstance(value, list):
        return value
    rows = value if isinstance(value[0], list) else [value]
    return [row[:2] if isinstance(row, list) else row for row in rows]


def _list_or_empty(value: Any) -> Any:
    return [] if value is None else value


def _mask_or_none(value: Any) -> Any:
    """A mask without a picture is no mask, whatever else it holds."""
    return (
        None if not value or (isinstance(value, dict) and not value.get("mask_base64")) else value
    )


def _time_or_none(value: Any) -> Any:
    return None if value == "" else value


class _Edge(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Mask(_Edge):
    mask_base64: StrictStr
    bbox: Annotated[list[Number], BeforeValidator(_list_or_empty)] = []


class _Answer(_Edge):
    choice: StrictStr | None = None
    stroke_begin_time: Annotated[Number | None, BeforeValidator(_time_or_none)] = None
    stroke_end_time: Annotated[Number | None, BeforeValidator(_time_or_none)] = None
    points: Annotated[list[tuple[Number, Number]], BeforeValidator(_pairs)] = []
    mask: Annotated[_Mask | None, BeforeValidator(_mask_or_none)] = None


class _Truth(_Edge):
    object_choices: Annotated[list[StrictStr], BeforeValidator(_list_or_empty)] = []
    space_choices: Annotated[list[StrictStr], BeforeValidator(_list_or_empty)] = []
    answer: Annotated[list[_Answer], BeforeValidator(_list_or_empty)] = []


class _Word(_Edge):
    text: StrictStr
    begin_time: Number | None = None
    end_time: Number | None = None


class _Transcript(_Edge):
    text: StrictStr = ""
    words: Annotated[list[_Word], BeforeValidator(_list_or_empty)] = []


class _Annotation(_Edge):
    id: StrictInt | StrictFloat | StrictStr | None = None
    video_name: StrictStr
    scene: Any = None
    asr_result: Any = None


class Annotation(_Edge):
    """One entry of ``annotations.json``."""

    id: int | float | str | None
    video_name: str
    scene: str
    transcript: str
    words: tuple[EcogWord, ...]
    faults: tuple[str, ...]


class Truth(_Edge):
    """One value of ``eval_gt.json``; ``dropped`` counts answers without a label."""

    object_choices: tuple[str, ...]
    space_choices: tuple[str, ...]
    answers: tuple[EcogAnswer, ...]
    dropped: int


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        UnreadableError: If there is no such file or it is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UnreadableError(f"{path.name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{path.name}: no UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise UnreadableError(f"{path.name}: nested too deeply") from error
    except ValueError as error:
        raise UnreadableError(f"{path.name}: {error}") from error


def read_annotations(path: Path) -> list[Any]:
    """The entries of ``annotations.json``, not yet checked.

    Raises:
        UnreadableError: If it cannot be read or is no list.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise UnreadableError(f"{path.name}: expected a list, got {type(entries).__name__}")
    return entries


def read_truths(path: Path) -> Mapping[str, Any]:
    """The values of ``eval_gt.json`` by video name, not yet checked.

    Raises:
        UnreadableError: If it cannot be read or is no object.
    """
    values = read_json(path)
    if not isinstance(values, dict):
        raise UnreadableError(f"{path.name}: expected an object, got {type(values).__name__}")
    return values


def check_annotation(entry: Any) -> Annotation:
    """An entry of ``annotations.json`` with its fields' types checked.

    Raises:
        UnreadableError: If it is no object, names no video, or has an unusable id.
    """
    try:
        seen = _Annotation.model_validate(entry)
    except PydanticError as error:
        raise UnreadableError(f"annotations.json: {first_fault(error)}") from error
    faults: list[str] = []
    transcript = _Transcript()
    if seen.asr_result is not None:
        try:
            transcript = _Transcript.model_validate(seen.asr_result)
        except PydanticError as error:
            faults.append(f"asr_result passed over: {first_fault(error)}")
    return Annotation(
        id=seen.id,
        video_name=seen.video_name,
        scene=seen.scene if isinstance(seen.scene, str) else "",
        transcript=transcript.text,
        words=tuple(
            EcogWord(text=word.text, begin_ms=word.begin_time, end_ms=word.end_time)
            for word in transcript.words
        ),
        faults=tuple(faults),
    )


def check_truth(value: Any) -> Truth:
    """A value of ``eval_gt.json`` with its fields' types checked.

    Raises:
        UnreadableError: If it or one of its answers has a wrong type.
    """
    try:
        seen = _Truth.model_validate({} if value is None else value)
    except PydanticError as error:
        raise UnreadableError(f"eval_gt.json: {first_fault(error)}") from error
    kept = [answer for answer in seen.answer if answer.choice]
    return Truth(
        object_choices=tuple(seen.object_choices),
        space_choices=tuple(seen.space_choices),
        answers=tuple(_answer(answer) for answer in kept),
        dropped=len(seen.answer) - len(kept),
    )


def _answer(answer: _Answer) -> EcogAnswer:
    mask = answer.mask
    return EcogAnswer(
        choice=answer.choice or "",
        begin_ms=answer.stroke_begin_time,
        end_ms=answer.stroke_end_time,
        points=tuple((x, y) for y, x in answer.points),
        mask=None if mask is None else EcogMask(bbox=tuple(mask.bbox), png_base64=mask.mask_base64),
    )


def first_fault(error: PydanticError) -> str:
    """The first thing that is wrong, in one line, without the value that was given."""
    fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else str(fault["msg"])
