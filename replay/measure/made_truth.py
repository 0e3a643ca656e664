"""The exact truth of a made tree: its ``truth.json`` (:mod:`replay.synth.truth` writes it).

Times are seconds, pixels are continuous (the upper left one covers [0, 1) x [0, 1)). Trees that
were made before a field existed are read without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from replay.ecog.loader import EcogError
from replay.synth.orders import DIFFICULTIES
from streaming.events import Point, Seconds

TRUTH = "truth.json"
Pixel: TypeAlias = tuple[float, float]
Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeWord:
    """A word as it was said.

    Attributes:
        text: Without the ``punctuation`` that follows it.
        role: As in :data:`replay.synth.script.WordRole`.
        stroke: Number of the stroke that it refers through, in order of the strokes; else None.
    """

    text: str
    onset: Seconds
    offset: Seconds
    punctuation: str = ""
    role: str = "plain"
    stroke: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeStroke:
    """A pointing stroke.

    Attributes:
        begin, end: The window that an annotator would set; the apex lies in it.
        apex: The instant that it refers from.
        hold_end: When the hand leaves the hold.
        tip: The index fingertip at the apex in fractions of the frame, None when unknown.
        withdrawn: Its word is taken back, so that it is in no answer.
    """

    begin: Seconds
    end: Seconds
    apex: Seconds
    hold_end: Seconds
    tip: Point | None = None
    withdrawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeClip:
    """A made clip.

    Attributes:
        name: Of its video.
        difficulty: ``easy``, ``real`` or ``hard``; empty when the tree does not say.
        fps: Frame ``i`` is at ``i / fps``; NaN when unknown.
        words: Empty in a silent clip.
        strokes: In order of their numbers, withdrawn ones included.
        tips: The index fingertip of each frame in pixels, None while it projects nowhere.
        arm_there: Of each frame, whether the arm is in the scene, in the picture or not.
        other_arms: Whether another arm comes into the scene; nothing says where it is.
    """

    name: str
    language: str
    difficulty: str
    width: int
    height: int
    fps: float
    duration: Seconds
    words: tuple[MadeWord, ...]
    strokes: tuple[MadeStroke, ...]
    tips: tuple[Pixel | None, ...]
    arm_there: tuple[bool, ...]
    other_arms: bool


def made_clips(root: Path) -> dict[str, MadeClip]:
    """The clips of the made tree at ``root`` by video name; none when it is no made tree.

    Raises:
        EcogError: If there is a ``truth.json`` that says something else.
    """
    path = root / TRUTH
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if "stills" in content:  # made pictures have a truth of another kind
            return {}
        clips = [_clip(clip) for clip in content["clips"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise EcogError(f"{path}: cannot be read as made truth: {error!r}") from error
    return {clip.name: clip for clip in clips}


def by_difficulty(things: Iterable[tuple[str, Thing]]) -> dict[str, list[Thing]]:
    """``(difficulty, thing)`` in groups, the easiest first; things without one are left out."""
    groups: dict[str, list[Thing]] = {}
    for difficulty, thing in things:
        if difficulty:
            groups.setdefault(difficulty, []).append(thing)
    known = [name for name in DIFFICULTIES if name in groups]
    return {name: groups[name] for name in known + sorted(groups.keys() - set(known))}


def _clip(clip: dict[str, Any]) -> MadeClip:
    width, height = int(clip["width"]), int(clip["height"])
    strokes = sorted(clip["strokes"], key=lambda stroke: int(stroke["index"]))
    tips = tuple(None if place is None else _pixel(place) for place in clip["fingertip_px"])
    there = clip.get("fingertip_m", tips)
    if len(there) != len(tips):
        raise ValueError(f"{len(there)} fingertips in metres, {len(tips)} in pixels")
    return MadeClip(
        name=str(clip["video_name"]),
        language=str(clip["language"]),
        difficulty=str(clip.get("difficulty") or ""),
        width=width,
        height=height,
        fps=float(clip.get("fps", math.nan)),
        duration=float(clip["duration_ms"]) / 1000,
        words=tuple(_word(word) for word in clip["words"]),
        strokes=tuple(_stroke(stroke, width, height) for stroke in strokes),
        tips=tips,
        arm_there=tuple(place is not None for place in there),
        other_arms=bool(clip.get("drawn", {}).get("other_arms")),
    )


def _word(word: dict[str, Any]) -> MadeWord:
    stroke = word.get("stroke")
    role = word.get("role")
    if role is None:
        role = "non_deictic" if word.get("non_deictic_use") else "plain"
        if word.get("deictic"):
            role = "anaphor" if stroke is None else "deictic"
    return MadeWord(
        text=str(word["text"]),
        punctuation=str(word.get("punct") or ""),
        onset=float(word["begin_ms"]) / 1000,
        offset=float(word["end_ms"]) / 1000,
        role=str(role),
        stroke=None if stroke is None else int(stroke),
    )


def _stroke(stroke: dict[str, Any], width: int, height: int) -> MadeStroke:
    begin, end = stroke["stroke_window_ms"]
    tip = stroke.get("fingertip_px_at_apex")
    x, y = (math.nan, math.nan) if tip is None else _pixel(tip)
    return MadeStroke(
        begin=float(begin) / 1000,
        end=float(end) / 1000,
        apex=float(stroke["apex_ms"]) / 1000,
        hold_end=float(stroke["hold_end_ms"]) / 1000,
        tip=None if tip is None else (x / width, y / height),
        withdrawn=bool(stroke.get("withdrawn")),
    )


def _pixel(place: Any) -> Pixel:
    x, y = place
    return float(x), float(y)
