"""One clip as the plain values that the page's script draws.

Times are seconds on the clip's timeline, places are fractions of the frame. ``k`` is when a thing
became known (media time), ``e`` when it was emitted (clock).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from replay.delays import first_sights
from replay.report.curve import FingerPaths, thin_all
from replay.report.pictures import Album, Picture
from replay.report.referents import ClipAnswers, ReferentPair, Truth
from replay.run_folder import ClipRun
from replay.trace_reader import Recorded
from streaming.events import (
    Answer,
    Binding,
    Deictic,
    ModelFailed,
    Partial,
    Point,
    Skipped,
    SourceNote,
    SpeechEnd,
    SpeechStart,
    Stroke,
    StrokeEnd,
    Utterance,
    Word,
)

AROUND_STROKE = 1.0
"""Seconds around a stroke in which its curve is thinned last."""
MOST_NOTES = 200
LONGEST_TEXT = 2000


def clip_view(
    clip: ClipRun, paths: FingerPaths, answers: ClipAnswers, album: Album, *, most_points: int
) -> dict[str, Any]:
    """All that the page shows of one clip.

    Args:
        clip: The clip.
        paths: What its dense events said.
        answers: Its referents.
        album: Embeds its pictures.
        most_points: About how many points of the speed curves to keep.
    """
    strokes = clip.events(Stroke)
    return {
        "name": _cut(clip.name),
        "duration": _time(clip.duration),
        "complete": clip.complete,
        "faults": [
            f"line {fault.line}: {fault.text}" if fault.line else fault.text
            for fault in clip.faults
        ],
        "fault_count": clip.fault_count,
        **_facts(clip),
        "spans": _spans(clip),
        "words": _words(clip),
        "true_words": _true_words(clip),
        "deictics": [_deictic(item) for item in clip.events(Deictic)],
        "strokes": _strokes(clip, album),
        "bindings": [_binding(item) for item in clip.events(Binding)],
        "answers": [_answer(item) for item in clip.events(Answer)],
        "referents": [_referent(pair, clip, paths) for pair in answers.pairs],
        "status": answers.status,
        "reason": _cut(answers.reason),
        "curves": _curves(paths, strokes, most_points),
        "hand_share": _share(paths.frames_with_hand, paths.frames),
        "notes": _notes(clip),
        "last": _picture(album.frame(clip.folder / "last.jpg") if clip.folder else None),
    }


def _facts(clip: ClipRun) -> dict[str, Any]:
    header = clip.header
    source = None if header is None else header.source
    return {
        "level": _cut(clip.truth.text("level")),
        "instruction": clip.truth.count("instruction"),
        "scene": _cut(clip.truth.text("scene")),
        "language": _cut(
            clip.truth.text("language") or ("" if header is None else header.language)
        ),
        "pace": "" if header is None else _cut(header.pace),
        "source": "" if source is None else _cut(source.name),
        "size": None if source is None else [source.width, source.height],
    }


def _spans(clip: ClipRun) -> list[dict[str, Any]]:
    """The VAD's utterances, with their final text."""
    ends = {item.event.utterance: item for item in clip.events(SpeechEnd)}
    texts = {item.event.index: item.event for item in clip.events(Utterance)}
    spans = []
    for item in clip.events(SpeechStart):
        number = item.event.utterance
        end, text = ends.get(number), texts.get(number)
        joint = "" if text is not None and text.language == "zh" else " "
        spans.append(
            {
                "on": _time(item.event.onset),
                "off": _time(clip.duration if end is None else end.event.offset),
                "text": "" if text is None else _cut(joint.join(w.text for w in text.words)),
                **_known(item),
            }
        )
    return spans


def _words(clip: ClipRun) -> list[dict[str, Any]]:
    deictics = [item.event for item in clip.events(Deictic)]
    said = clip.events(Word)
    sights = first_sights(said, clip.events(Partial))
    words = []
    for item, sight in zip(said, sights, strict=True):
        word: Word = item.event
        middle = (word.onset + word.offset) / 2
        within = [one.index for one in deictics if one.onset - 0.01 <= middle <= one.offset + 0.01]
        words.append(
            {
                "t": _cut(word.text),
                "on": _time(word.onset),
                "off": _time(word.offset),
                "p": _rounded(word.probability),
                "d": within[0] if within else None,
                "shown": _time(sight.known_at) if sight is not item else None,
                **_known(item),
            }
        )
    return words


def _true_words(clip: ClipRun) -> list[dict[str, Any]]:
    words = []
    for entry in clip.truth.tables("words"):
        begin, end = entry.number("begin_time"), entry.number("end_time")
        if begin is not None and end is not None:
            words.append({"t": _cut(entry.text("text")), "on": begin / 1000, "off": end / 1000})
    return words


def _deictic(item: Recorded) -> dict[str, Any]:
    deictic: Deictic = item.event
    return {
        "i": deictic.index,
        "t": _cut(deictic.text),
        "on": _time(deictic.onset),
        "off": _time(deictic.offset),
        "kind": deictic.kind,
        "p": _rounded(deictic.probability),
        **_known(item),
    }


def _strokes(clip: ClipRun, album: Album) -> list[dict[str, Any]]:
    ends = {item.event.index: item for item in clip.events(StrokeEnd)}
    views = []
    for item in clip.events(Stroke):
        index = item.event.index
        path = None if clip.folder is None else clip.folder / f"apex_{index}.jpg"
        picture = _picture(None if path is None else album.thumbnail(path))
        views.append({**_stroke(item, ends.get(index)), "picture": picture})
    return views


def _stroke(item: Recorded, end: Recorded | None) -> dict[str, Any]:
    stroke: Stroke = item.event
    return {
        "i": stroke.index,
        "on": _time(stroke.onset),
        "apex": _time(stroke.apex),
        "off": None if end is None else _time(end.event.offset),
        "off_k": None if end is None else _time(end.known_at),
        "tip": _point(stroke.tip),
        "knuckle": _point(stroke.knuckle),
        "side": stroke.side,
        "q": _rounded(stroke.quality),
        **_known(item),
    }


def _binding(item: Recorded) -> dict[str, Any]:
    binding: Binding = item.event
    return {
        "d": binding.deictic,
        "s": binding.stroke,
        "p": _rounded(binding.probability),
        "reason": binding.reason,
        **_known(item),
    }


def _answer(item: Recorded) -> dict[str, Any]:
    answer: Answer = item.event
    return {
        "turn": answer.turn,
        "final": answer.final,
        "text": _cut(answer.text),
        "reasoning": _cut(answer.reasoning),
        "model": _cut(answer.model),
        "count": len(answer.referents),
        **_known(item),
    }


def _referent(pair: ReferentPair, clip: ClipRun, paths: FingerPaths) -> dict[str, Any]:
    said, hits = pair.predicted, pair.hits
    return {
        "kind": _kind(pair),
        "truth": None if pair.truth is None else _truth(pair.truth),
        "said": None
        if said is None
        else {
            "label": None if said.label is None else _cut(said.label),
            "text": _cut(pair.predicted_text),
            "point": None if said.point is None else _point(said.point),
            "time": None if said.time is None else _time(said.time),
            "confidence": _rounded(said.confidence),
            "d": said.deictic,
            "s": said.stroke,
            "ray": None if said.stroke is None else _carried_ray(said.stroke, clip, paths),
        },
        "hits": None if hits is None else {"cls": hits.cls, "s": hits.s, "t": hits.t},
    }


def _kind(pair: ReferentPair) -> str:
    if pair.truth is not None:
        return "object" if pair.truth.label.isupper() else "space"
    return "object" if pair.predicted is None else pair.predicted.kind


def _truth(truth: Truth) -> dict[str, Any]:
    return {
        "label": _cut(truth.label),
        "text": _cut(truth.text),
        "window": None if truth.window is None else [_time(time) for time in truth.window],
        "points": [_point(point) for point in truth.points],
        "outline": truth.outline,
    }


def _carried_ray(stroke: int, clip: ClipRun, paths: FingerPaths) -> list[Any] | None:
    """Knuckle and tip of a stroke's apex as they lie on the last frame."""
    event = next((i.event for i in clip.events(Stroke) if i.event.index == stroke), None)
    answer = next((i.event for i in reversed(clip.events(Answer))), None)
    if event is None or answer is None:
        return None
    ends = [
        paths.carry(point, start=event.apex, goal=answer.frame_time)
        for point in (event.knuckle, event.tip)
    ]
    return None if None in ends else [_point(end) for end in ends if end is not None]


def _curves(
    paths: FingerPaths, strokes: Sequence[Recorded], most_points: int
) -> list[dict[str, Any]]:
    windows = [
        (item.event.onset - AROUND_STROKE, item.event.apex + AROUND_STROKE) for item in strokes
    ]
    return [
        {
            "side": curve.side,
            "t": [round(time, 3) for time, _ in curve.points],
            "v": [round(speed, 3) for _, speed in curve.points],
        }
        for curve in thin_all(paths.curves(), most=most_points, windows=windows)
    ]


def _notes(clip: ClipRun) -> list[dict[str, Any]]:
    """What the source noticed, what was skipped and what failed."""
    notes = []
    for item in clip.recorded:
        match item.event:
            case SourceNote(kind=kind, onset=onset, offset=offset, text=text):
                notes.append((kind, onset, offset, text))
            case Skipped(what=what, onset=onset, offset=offset, count=count):
                notes.append((f"skipped {what}", onset, offset, f"{count} skipped"))
            case ModelFailed(model=model, text=text):
                notes.append(("model failed", item.known_at, item.known_at, f"{model}: {text}"))
            case _:
                pass
    return [
        {"kind": _cut(kind), "on": _time(on), "off": _time(off), "text": _cut(text)}
        for kind, on, off, text in notes[:MOST_NOTES]
    ]


def _known(item: Recorded) -> dict[str, Any]:
    known: dict[str, Any] = {"k": _time(item.known_at), "e": _time(item.emitted_at)}
    if item.finish:
        known["finish"] = True
    return known


def _picture(picture: Picture | None) -> dict[str, Any] | None:
    if picture is None:
        return None
    return {"uri": picture.uri, "w": picture.width, "h": picture.height}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _time(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None


def _rounded(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None


def _point(point: Point) -> list[float] | None:
    x, y = point
    if not (math.isfinite(x) and math.isfinite(y)) or max(abs(x), abs(y)) > 100:
        return None
    return [round(x, 4), round(y, 4)]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
