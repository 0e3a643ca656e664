"""The interface ``bound``: what this pipeline worked out, for a model to find *what* and *where*.

In order: the words with their times, the targets with the word and gesture of each and a suggested
moment, then for each gesture the frame at its apex with marks and a zoom without, and last the last
frame, once with the fingertips carried over to it and once clean. Pictures are numbered and named
in the text before each. The clean last frame comes last and largest: points are given on it.

Marks are drawn on copies only; what they cover is seen on the zoom and on the clean frame.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streaming.asking.bound_pictures import Mark, marked, zoomed
from streaming.asking.endpoint import CoordOrder
from streaming.asking.interface_settings import BoundSettings
from streaming.asking.prompts import BoundTexts, Prompt, fill
from streaming.asking.request import Part, PicturePart, TextPart
from streaming.events import Point, Seconds, Word
from streaming.grounding_choice import Pointed
from streaming.grounding_frames import Keyframe, Ray, View, decoded
from streaming.grounding_prefix import PrefixFrame
from streaming.grounding_query import Query
from streaming.picture_jpeg import jpeg_of, square_pixels

_TYPES = {"object": "target_object", "space": "spatial_affordance"}
_INTO_PICTURE = 0.8
"""Depth of a ray (see :class:`Ray`) from which its direction in the picture says little."""
_OUTSIDE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gesture:
    """A keyframe that is shown, its number from 1, and the numbers of the targets it serves."""

    number: int
    keyframe: Keyframe
    targets: tuple[int, ...]


def bound_parts(
    query: Query,
    words: tuple[Word, ...],
    *,
    prompt: Prompt,
    coord_order: CoordOrder,
    settings: BoundSettings,
) -> list[Part]:
    """All parts but the task itself.

    Args:
        query: What to ask.
        words: Those to tell of; none for a silent clip.
        prompt: The wording.
        coord_order: Order of the two numbers of every point.
        settings: Sizes and limits.
    """
    writer = _Writer(query, prompt.texts.bound, coord_order, settings)
    writer.words(words)
    gestures = _gestures(query, settings)
    writer.targets(gestures, tell_words=bool(words))
    for gesture in gestures:
        writer.gesture(gesture)
    for frame in _frames_where_missed(query, settings):
        writer.frame(frame)
    ask = prompt.texts.ask
    if query.last is None:
        return [*writer.parts, TextPart(text=ask.no_picture)]
    if query.clear is not None and query.clear.time < query.last.time:
        writer.clear(query.clear)
    last = writer.last(query.last, gestures)
    return [*writer.parts, TextPart(text=fill(ask.bound, picture=last))]


class _Writer:
    """Writes the parts, numbering pictures as they come."""

    def __init__(
        self, query: Query, texts: BoundTexts, coord_order: CoordOrder, settings: BoundSettings
    ) -> None:
        self.parts: list[Part] = []
        self._query = query
        self._texts = texts
        self._order = coord_order
        self._settings = settings
        self._pictures = 0
        # The stream's pixels may be oblong; keyframes do not say, but the last frame does.
        self._pixel_aspect = 1.0 if query.last is None else query.last.pixel_aspect

    def words(self, words: tuple[Word, ...]) -> None:
        if not words:
            return
        told = " ".join(
            json.dumps(
                [word.text, _ms(word.onset), _ms(word.offset)] if word.timed else [word.text],
                ensure_ascii=False,
            )
            for word in words
        )
        until = self._by_now(max(word.offset for word in words))
        self._say(fill(self._texts.words, words=told), until)

    def targets(self, gestures: Sequence[_Gesture], *, tell_words: bool) -> None:
        if not self._query.pointed:
            return
        lines = [
            json.dumps(self._target(number, pointed, gestures, tell_words), ensure_ascii=False)
            for number, pointed in enumerate(self._query.pointed, 1)
        ]
        # Drawn from all that was known by then.
        self._say(fill(self._texts.targets, targets="\n".join(lines)), self._query.asked_at)

    def _target(
        self, number: int, pointed: Pointed, gestures: Sequence[_Gesture], tell_words: bool
    ) -> dict[str, object]:
        told: dict[str, object] = {"target": number, "type": _TYPES[pointed.kind]}
        word = self._query.deictic(pointed.deictic)
        if word is not None and tell_words:
            told |= {"word": word.text, "word_ms": [_ms(word.onset), _ms(word.offset)]}
        gesture = next((one.number for one in gestures if number in one.targets), None)
        if gesture is not None:
            told["gesture"] = gesture
        if pointed.time is not None:
            told["timestamp"] = _ms(self._by_now(pointed.time))
            told["probability"] = round(pointed.probability, 2)
        return told

    def gesture(self, gesture: _Gesture) -> None:
        keyframe, texts = gesture.keyframe, self._texts
        image = decoded(keyframe.jpeg)
        whole, zoom = self._next(), self._next()
        ahead = keyframe.ray.along(self._settings.arrow)
        self._say(
            self._headline(gesture)
            + "\n"
            + fill(
                texts.keyframe,
                picture=whole,
                gesture=gesture.number,
                time=_ms(keyframe.time),
                tip=self._point(keyframe.ray.tip),
                ahead=self._point(ahead),
                doubt=texts.into_picture if keyframe.ray.depth > _INTO_PICTURE else "",
            ),
            self._query.asked_at,
        )
        shown = self._shown(image, self._settings.keyframe_side)
        mark = Mark(name="", tip=keyframe.ray.tip, ahead=ahead)
        self._show(marked(shown, [mark]), keyframe.time, f"keyframe of gesture {gesture.number}")
        box = keyframe.crop
        first, second = (box.left, box.top), (box.right, box.bottom)
        self._say(
            fill(
                texts.crop,
                picture=zoom,
                keyframe=whole,
                first=self._point(first),
                second=self._point(second),
            ),
            keyframe.time,
        )
        crop = zoomed(image, box, pixel_aspect=self._pixel_aspect, side=self._settings.crop_side)
        self._show(crop, keyframe.time, f"crop of gesture {gesture.number}")

    def _headline(self, gesture: _Gesture) -> str:
        texts, keyframe = self._texts, gesture.keyframe
        if keyframe.hold_end is None:
            hold = fill(texts.holding, end=_ms(self._query.asked_at))
        else:
            hold = fill(texts.held, end=_ms(self._by_now(keyframe.hold_end)))
        uses = texts.unused
        if gesture.targets:
            uses = fill(texts.used, targets=", ".join(map(str, gesture.targets)))
        apex = _ms(keyframe.stroke.apex)
        return fill(texts.gesture, gesture=gesture.number, uses=uses, apex=apex, hold=hold)

    def frame(self, frame: PrefixFrame) -> None:
        number = self._next()
        self._say(fill(self._texts.frame, picture=number, time=_ms(frame.time)), frame.time)
        self.parts.append(PicturePart(jpeg=frame.jpeg, until=frame.time, what="sampled frame"))

    def clear(self, view: View) -> None:
        number = self._next()
        self._say(fill(self._texts.clear, picture=number, time=_ms(view.time)), view.time)
        self._show(self._shown(view.image, self._settings.keyframe_side), view.time, "clear view")

    def last(self, view: View, gestures: Sequence[_Gesture]) -> int:
        """The last frame; returns the number of the clean one."""
        if gestures:
            told, marks = [], []
            for gesture in gestures:
                line, mark = self._carried(gesture)
                told.append(line)
                marks += [] if mark is None else [mark]
            text = fill(
                self._texts.marked,
                picture=self._next(),
                time=_ms(view.time),
                carried="\n" + "\n".join(told),
            )
            self._say(text, self._query.asked_at)
            small = self._shown(view.image, self._settings.marked_side)
            self._show(marked(small, marks), view.time, "last frame with marks")
        number = self._next()
        self._say(fill(self._texts.last, picture=number, time=_ms(view.time)), view.time)
        whole = self._shown(view.image, self._settings.last_side)
        self._show(whole, view.time, "last frame")
        return number

    def _carried(self, gesture: _Gesture) -> tuple[str, Mark | None]:
        """Where a gesture's fingertip lies on the last frame, in words and as a mark."""
        ray = carried_ray(gesture.keyframe)
        if ray is None:
            return fill(self._texts.lost, gesture=gesture.number), None
        tip = self._point(ray.tip)
        if not all(-_OUTSIDE <= value <= 1 + _OUTSIDE for value in ray.tip):
            return fill(self._texts.outside, gesture=gesture.number, tip=tip), None
        ahead = ray.along(self._settings.arrow)
        line = fill(self._texts.carried, gesture=gesture.number, tip=tip, ahead=self._point(ahead))
        return line, Mark(name=str(gesture.number), tip=ray.tip, ahead=ahead)

    def _shown(self, image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
        return square_pixels(image, pixel_aspect=self._pixel_aspect, side=side)

    def _show(self, image: NDArray[np.uint8], time: Seconds, what: str) -> None:
        jpeg = jpeg_of(image, quality=self._settings.quality)
        self.parts.append(PicturePart(jpeg=jpeg, until=time, what=what))

    def _next(self) -> int:
        self._pictures += 1
        return self._pictures

    def _say(self, text: str, until: Seconds) -> None:
        self.parts.append(TextPart(text=text, until=until))

    def _by_now(self, time: Seconds) -> Seconds:
        """A time that was estimated, kept from lying after the query."""
        return min(time, self._query.asked_at)

    def _point(self, point: Point) -> str:
        """A point in thousandths, in the model's order of coordinates."""
        x, y = (round(1000 * value) for value in point)
        return f"[{x}, {y}]" if self._order == "xy" else f"[{y}, {x}]"


def carried_ray(keyframe: Keyframe) -> Ray | None:
    """The keyframe's ray on the query's last frame; None when the way there is lost."""
    if keyframe.to_last is None:
        return None
    try:
        return keyframe.ray.carried(keyframe.to_last)
    except ValueError:
        return None


def _gestures(query: Query, settings: BoundSettings) -> list[_Gesture]:
    """The strokes to show, by apex: those of targets, and others where a target has none."""
    used: dict[int, list[int]] = {}
    for number, pointed in enumerate(query.pointed, 1):
        if pointed.stroke is not None:
            used.setdefault(pointed.stroke, []).append(number)
    lacking = sum(1 for one in query.pointed if one.stroke is None) or (not query.pointed)
    others = [frame for frame in query.keyframes if frame.stroke.index not in used]
    others.sort(key=lambda frame: -frame.stroke.quality)
    shown = [frame for frame in query.keyframes if frame.stroke.index in used]
    if lacking:
        shown += others
    shown = sorted(shown[: settings.most_gestures], key=lambda frame: frame.stroke.apex)
    return [
        _Gesture(number=number, keyframe=frame, targets=tuple(used.get(frame.stroke.index, ())))
        for number, frame in enumerate(shown, 1)
    ]


def _frames_where_missed(query: Query, settings: BoundSettings) -> list[PrefixFrame]:
    """Sampled frames around targets whose gesture is not known or doubtful, by time."""
    chosen: dict[Seconds, PrefixFrame] = {}
    for pointed in query.pointed:
        if pointed.stroke is not None and pointed.probability >= settings.doubt:
            continue
        near = sorted(query.prefix.frames, key=lambda frame: _distance(frame, pointed.time))
        most = settings.most_frames if pointed.time is None else settings.frames_around
        for frame in near[:most]:
            chosen[frame.time] = frame
    return [chosen[time] for time in sorted(chosen)][: settings.most_frames]


def _distance(frame: PrefixFrame, time: Seconds | None) -> Seconds:
    """How far a frame is from a time; without one, the newest frames come first."""
    return -frame.time if time is None else abs(frame.time - time)


def _ms(time: Seconds) -> int:
    return round(time * 1000)
