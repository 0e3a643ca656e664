"""Ego4D's annotations as EgoSAT uses them: what the camera wearer does, segment by segment.

Three of Ego4D's files are read, told apart by what is in them:

* **hands and objects**, ``fho_main*.json``: ``videos[{video_uid, annotated_intervals[{clip_uid,
  start_sec, end_sec, narrated_actions[{start_sec, end_sec, narration_text, is_rejected,
  is_invalid_annotation, structured_verb, frames}]}]}]``, also keyed by ``video_uid``;
* **long-term anticipation**, ``fho_lta_*.json``: ``clips[{video_uid, clip_uid, action_idx,
  clip_parent_start_sec, action_clip_start_sec, action_clip_end_sec, verb, noun}]``;
* **narrations**, ``narration.json``: ``{video_uid: {narration_pass_1: {narrations[{timestamp_sec,
  narration_text}]}, narration_pass_2}}``, also below ``videos``. A narration is a moment: its
  segment is ``half`` a second to each side, less where its neighbours are nearer, and its video is
  one interval.

Times are seconds of the whole video. Rejected and invalid actions are left out, and counted. An
action is a verb and a noun: those that are annotated, else the first verb and the first thing of
the narration ("#C C takes a cup from the table" is ``take cup``), which is rough: it knows no
irregular verbs and takes the last word before a preposition for the thing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.egosat.files import EgosatError, read_object
from replay.egosat.reading import as_float, as_int
from streaming.events import Seconds

_PASSES = ("narration_pass_1", "narration_pass_2")
_WEARER = re.compile(r"^#?\s*C\s+C\s+", re.IGNORECASE)
_MARK = re.compile(r"#\w+|\([^)]*\)|[^\w\s'-]")
_MARK_BESIDE_BRACKETS = re.compile(r"#\w+|[^\w\s'-]")
_BETWEEN = (
    "a an the his her its their it them some this that from with on in into onto to at off of by "
    "and for up down out over under around through towards behind beside away back between using"
)
_STOPS = frozenset(_BETWEEN.split())
_NAME = re.compile(r"\w[\w-]*")
"""Of a video or clip; it becomes part of a file's name."""
_HALF: Seconds = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One interaction of the camera wearer.

    Attributes:
        start, end: Seconds of the whole video, ``start < end``.
        verb, noun: In base form; the noun is ``none`` where there is no thing.
        text: The narration, or verb and noun.
    """

    start: Seconds
    end: Seconds
    verb: str
    noun: str
    text: str

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"segment {self.text!r} spans [{self.start}, {self.end})")

    @property
    def action(self) -> str:
        """As an option says it: ``take cup``."""
        return self.verb if self.noun == "none" else f"{self.verb} {self.noun}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An annotated stretch of one video.

    Attributes:
        video: Its ``video_uid``.
        clip: The ``clip_uid`` of the stretch.
        start, end: Seconds of the whole video.
        segments: By start.
    """

    video: str
    clip: str
    start: Seconds
    end: Seconds
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """What some files say.

    Attributes:
        intervals: By video and start.
        left_out: Actions that cannot be used, counted by reason.
    """

    intervals: tuple[Interval, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def read_annotations(paths: Sequence[Path]) -> Annotations:
    """Read files of annotations; of two of the same interval the first counts.

    Raises:
        EgosatError: If a file cannot be read, or is none of the three kinds.
    """
    found: dict[tuple[str, str], Interval] = {}
    left_out: Counter[str] = Counter()
    for path in paths:
        for interval in _intervals(read_object(path), path, left_out):
            if not (_NAME.fullmatch(interval.video) and _NAME.fullmatch(interval.clip)):
                left_out["a name that is no uid"] += 1
                continue
            found.setdefault((interval.video, interval.clip), interval)
    ordered = sorted(found.values(), key=lambda one: (one.video, one.start, one.clip))
    return Annotations(intervals=tuple(ordered), left_out=dict(sorted(left_out.items())))


def _intervals(content: Any, path: Path, left_out: Counter[str]) -> list[Interval]:
    if isinstance(content, dict):
        videos = content.get("videos", content)
        if isinstance(content.get("clips"), list):
            return _anticipation(_objects(content["clips"]), left_out)
        by_video = _by_video(videos)
        if any("annotated_intervals" in video for video in by_video.values()):
            return _hands_and_objects(by_video, left_out)
        if any(name in video for video in by_video.values() for name in _PASSES):
            return _narrated(by_video, left_out)
    raise EgosatError(
        f"{path}: is none of Ego4D's fho_main, fho_lta and narration files; name one of these"
    )


def _by_video(videos: Any) -> dict[str, Mapping[str, Any]]:
    if isinstance(videos, list):
        return {str(video.get("video_uid")): video for video in _objects(videos)}
    if isinstance(videos, dict):
        return {str(uid): video for uid, video in videos.items() if isinstance(video, dict)}
    return {}


def _objects(values: Any) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _hands_and_objects(
    videos: Mapping[str, Mapping[str, Any]], left_out: Counter[str]
) -> list[Interval]:
    found = []
    for uid, video in videos.items():
        for number, stretch in enumerate(_objects(video.get("annotated_intervals"))):
            start, end = as_float(stretch.get("start_sec")), as_float(stretch.get("end_sec"))
            if start is None or end is None or not 0 <= start < end:
                left_out["interval without times"] += 1
                continue
            segments = []
            for action in _objects(stretch.get("narrated_actions")):
                if action.get("is_rejected") is True:
                    left_out["rejected"] += 1
                elif action.get("is_invalid_annotation") is True:
                    left_out["invalid annotation"] += 1
                else:
                    segments.append(_action(action, within=(start, end)))
            clip = str(stretch.get("clip_uid") or f"{uid}_{number}")
            found.append(_interval(uid, clip, start, end, segments, left_out))
    return found


def _action(action: Mapping[str, Any], within: tuple[Seconds, Seconds]) -> Segment | None:
    text = str(action.get("narration_text") or "")
    verb, noun = said(text)
    verb = _word(action.get("structured_verb")) or verb
    noun = _structured_noun(action) or noun
    start, end = as_float(action.get("start_sec")), as_float(action.get("end_sec"))
    if start is None or end is None:
        return None
    return _segment(max(start, within[0]), min(end, within[1]), verb, noun, text)


def _structured_noun(action: Mapping[str, Any]) -> str:
    """The thing that changes, as the boxes of the critical frames name it."""
    for frame in _objects(action.get("frames")):
        boxes = _objects(frame.get("boxes"))
        changed = [box for box in boxes if box.get("object_type") == "object_of_change"]
        for box in changed:
            if noun := _word(box.get("structured_noun")):
                return noun
    return ""


def _anticipation(clips: Iterable[Mapping[str, Any]], left_out: Counter[str]) -> list[Interval]:
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for action in clips:
        key = (str(action.get("video_uid")), str(action.get("clip_uid")))
        grouped.setdefault(key, []).append(action)
    found = []
    for (video, clip), actions in grouped.items():
        first = actions[0]
        base = as_float(first.get("clip_parent_start_sec")) or 0.0
        segments: list[Segment | None] = []
        ends = [base]
        for action in actions:
            start = as_float(action.get("action_clip_start_sec"))
            end = as_float(action.get("action_clip_end_sec"))
            if start is None or end is None:
                segments.append(None)
                continue
            verb, noun = _word(action.get("verb")), _word(action.get("noun"))
            segments.append(_segment(base + start, base + end, verb, noun or "none", ""))
            ends.append(base + end)
        until = as_float(first.get("clip_parent_end_sec")) or max(ends)
        found.append(_interval(video, clip, base, max(until, base), segments, left_out))
    return found


def _narrated(videos: Mapping[str, Mapping[str, Any]], left_out: Counter[str]) -> list[Interval]:
    found = []
    for uid, video in videos.items():
        told = next((video[name] for name in _PASSES if isinstance(video.get(name), dict)), None)
        if told is None:
            continue
        moments = []
        for narration in _objects(told.get("narrations")):
            time, text = as_float(narration.get("timestamp_sec")), narration.get("narration_text")
            if time is None or time < 0 or not isinstance(text, str):
                left_out["narration without time or text"] += 1
            elif not _WEARER.match(text):
                left_out["not the camera wearer"] += 1
            else:
                moments.append((time, text))
        moments.sort()
        segments = [
            _segment(*_around(moments, place), *said(text), text)
            for place, (_, text) in enumerate(moments)
        ]
        end = max((one.end for one in segments if one is not None), default=0.0)
        found.append(_interval(uid, uid, 0.0, end, segments, left_out))
    return found


def _around(moments: Sequence[tuple[Seconds, str]], place: int) -> tuple[Seconds, Seconds]:
    """The segment of a moment: up to halfway to its neighbours."""
    time = moments[place][0]
    before = moments[place - 1][0] if place else time - 2 * _HALF
    after = moments[place + 1][0] if place + 1 < len(moments) else time + 2 * _HALF
    return max(0.0, time - _HALF, (before + time) / 2), min(time + _HALF, (time + after) / 2)


def _segment(start: Seconds, end: Seconds, verb: str, noun: str, text: str) -> Segment | None:
    if not verb or not 0 <= start < end:
        return None
    told = text or f"{verb} {noun}"
    return Segment(start=start, end=end, verb=verb, noun=noun or "none", text=told)


def _interval(
    video: str,
    clip: str,
    start: Seconds,
    end: Seconds,
    segments: Sequence[Segment | None],
    left_out: Counter[str],
) -> Interval:
    usable = sorted(
        (one for one in segments if one is not None), key=lambda one: (one.start, one.end, one.text)
    )
    if len(usable) < len(segments):
        left_out["action without verb or times"] += len(segments) - len(usable)
    return Interval(video=video, clip=clip, start=start, end=end, segments=tuple(usable))


def _without_marks(text: str) -> str:
    """The text without tags, remarks in brackets and stops; in linear time.

    No bracket closes behind the last ``)``, so none is looked for there.
    """
    end = text.rfind(")") + 1
    return _MARK.sub(" ", text[:end]) + _MARK_BESIDE_BRACKETS.sub(" ", text[end:])


def said(text: str) -> tuple[str, str]:
    """Verb and noun of a narration; an empty verb when it says none."""
    words = _without_marks(_WEARER.sub("", text)).lower().split()
    if not words:
        return "", "none"
    thing: list[str] = []
    for word in words[1:]:
        if word in _STOPS:
            if thing:
                break
            continue
        thing.append(word)
    return _base_form(words[0]), " ".join(thing[-2:]) or "none"


def _base_form(verb: str) -> str:
    """``takes`` as ``take``, ``washes`` as ``wash``, ``carries`` as ``carry``."""
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def _word(value: Any) -> str:
    """The first name of Ego4D's taxonomy entries such as ``take_(pick,_grab,_get)``."""
    if not isinstance(value, str) or as_int(value) is not None:
        return ""
    bare = value.split("(")[0].replace("_", " ").strip().lower()
    return "" if bare in ("", "other", "[other]", "none") else bare
