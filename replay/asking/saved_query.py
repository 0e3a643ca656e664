"""A query on disk: what the pipeline saw of a clip, kept so that many models can be asked about it.

A folder ``query/`` holds ``query.json`` and the pictures as JPEG. The prefix is not in it: it is
had from the clip itself. Pictures lose a little in being saved, so whoever asks reads the query
back first; then every model gets the same bytes, however often a run was interrupted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from replay.ecog.files import first_fault
from streaming.events import Binding, Deictic, Hand, Homography, Seconds, Stroke, Word
from streaming.grounding import Keyframe, Pointed, Query, Task, View
from streaming.grounding_frames import Box, Ray, decoded, encoded

FOLDER = "query"
_FILE = "query.json"


class SavedQueryError(ValueError):
    """A saved query that is damaged; one line saying where and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keyframe:
    stroke: Stroke
    time: Seconds
    hands: tuple[Hand, ...]
    ray: Ray
    crop: Box
    hold_end: Seconds | None
    to_last: Homography | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    time: Seconds
    hands: tuple[Hand, ...]
    pixel_aspect: float
    to_last: Homography | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saved:
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(ser_json_inf_nan="constants")

    turn: int
    asked_at: Seconds
    pointed: tuple[Pointed, ...]
    keyframes: tuple[_Keyframe, ...]
    last: _View | None
    clear: _View | None
    words: tuple[Word, ...]
    deictics: tuple[Deictic, ...]
    bindings: tuple[Binding, ...]
    language: str
    final: bool


_CODEC = TypeAdapter(_Saved)


def is_saved(folder: Path) -> bool:
    """Whether a query was saved whole for the clip whose folder this is."""
    return (folder / FOLDER / _FILE).is_file()


def save_query(query: Query, folder: Path) -> None:
    """Save a query into a clip's folder, in the place of the one that was there.

    Raises:
        OSError: If it cannot be written.
    """
    inside = folder / FOLDER
    inside.mkdir(parents=True, exist_ok=True)
    for stale in (inside / _FILE, *inside.glob("*.jpg")):
        stale.unlink(missing_ok=True)
    for keyframe in query.keyframes:
        (inside / _apex(keyframe.stroke.index)).write_bytes(keyframe.jpeg)
    for name, view in (("last", query.last), ("clear", query.clear)):
        if view is not None:
            (inside / f"{name}.jpg").write_bytes(encoded(view.image))
    saved = _Saved(
        turn=query.turn,
        asked_at=query.asked_at,
        pointed=query.pointed,
        keyframes=tuple(map(_strip_keyframe, query.keyframes)),
        last=_strip_view(query.last),
        clear=_strip_view(query.clear),
        words=query.words,
        deictics=query.deictics,
        bindings=query.bindings,
        language=query.language,
        final=query.final,
    )
    # Last, and at once: a query.json means that all of it is there.
    partial = inside / (_FILE + ".part")
    partial.write_bytes(_CODEC.dump_json(saved, indent=1))
    os.replace(partial, inside / _FILE)


def load_query(folder: Path, *, task: Task) -> Query:
    """The query that was saved for the clip whose folder this is.

    Raises:
        SavedQueryError: If there is none, or it is damaged.
    """
    inside = folder / FOLDER
    try:
        saved = _CODEC.validate_json((inside / _FILE).read_bytes())
        return Query(
            turn=saved.turn,
            asked_at=saved.asked_at,
            task=task,
            pointed=saved.pointed,
            keyframes=tuple(_keyframe(one, inside) for one in saved.keyframes),
            last=_view(saved.last, inside / "last.jpg"),
            clear=_view(saved.clear, inside / "clear.jpg"),
            words=saved.words,
            deictics=saved.deictics,
            bindings=saved.bindings,
            language=saved.language,
            final=saved.final,
        )
    except ValidationError as error:
        raise _damaged(inside, first_fault(error)) from error
    except (OSError, ValueError) as error:
        raise _damaged(inside, str(error)) from error


def _damaged(inside: Path, why: str) -> SavedQueryError:
    return SavedQueryError(f"{inside}: {why}; delete that folder and run again")


def _apex(stroke: int) -> str:
    return f"apex_{stroke}.jpg"


def _strip_keyframe(keyframe: Keyframe) -> _Keyframe:
    return _Keyframe(
        stroke=keyframe.stroke,
        time=keyframe.time,
        hands=keyframe.hands,
        ray=keyframe.ray,
        crop=keyframe.crop,
        hold_end=keyframe.hold_end,
        to_last=keyframe.to_last,
    )


def _keyframe(saved: _Keyframe, inside: Path) -> Keyframe:
    return Keyframe(
        stroke=saved.stroke,
        time=saved.time,
        jpeg=_jpeg(inside / _apex(saved.stroke.index)),
        hands=saved.hands,
        ray=saved.ray,
        crop=saved.crop,
        hold_end=saved.hold_end,
        to_last=saved.to_last,
    )


def _strip_view(view: View | None) -> _View | None:
    if view is None:
        return None
    return _View(
        time=view.time, hands=view.hands, pixel_aspect=view.pixel_aspect, to_last=view.to_last
    )


def _view(saved: _View | None, picture: Path) -> View | None:
    if saved is None:
        return None
    return View(
        time=saved.time,
        image=decoded(_jpeg(picture)),
        hands=saved.hands,
        pixel_aspect=saved.pixel_aspect,
        to_last=saved.to_last,
    )


def _jpeg(path: Path) -> bytes:
    """The picture's bytes; a file that was cut off or overwritten is refused."""
    content = path.read_bytes()
    if not (content.startswith(b"\xff\xd8") and content.endswith(b"\xff\xd9")):
        raise ValueError(f"{path.name} is no whole JPEG")
    return content
