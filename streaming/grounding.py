"""From bindings to a question for a model: what is pointed at, and where is it now?

The :class:`Grounder` gathers what was said and seen, and asks a :class:`Query` when a turn is over.
It keeps a fraction of a second of frames and one JPEG a stroke. Everything in a query was pushed
before it was asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from streaming import geometry
from streaming.events import (
    IDENTITY,
    AnswerStopped,
    Binding,
    CameraMotion,
    Counters,
    Deictic,
    DeicticsSeen,
    HandsSeen,
    Homography,
    Seconds,
    SpeechEnd,
    SpeechSeen,
    SpeechStart,
    Stroke,
    StrokeEnd,
    StrokesSeen,
    Utterance,
    VideoFrame,
    Word,
    WordsSeen,
)
from streaming.grounding_choice import Pointed, choose
from streaming.grounding_early import EarlyAsking
from streaming.grounding_frames import FrameRing, Keyframe, View, crop_along, encoded, ray_of
from streaming.grounding_prefix import Film, Prefix
from streaming.grounding_query import Model, ModelError, Query, Task
from streaming.grounding_settings import GroundingSettings
from streaming.grounding_steady import Stays, as_stroke
from streaming.grounding_turn import Turn
from streaming.prefix import PrefixSettings, PrefixStore

__all__ = [
    "Grounder",
    "GroundingSettings",
    "Keyframe",
    "Model",
    "ModelError",
    "Pointed",
    "Query",
    "Task",
    "View",
]


_SPARE_STAYS = 2


class Grounder:
    """Asks a query when a turn is over.

    A turn is over when nobody speaks, every referring word is bound, and the strokes that they are
    bound to have ended their hold or lasted ``longest_wait`` beyond the words. A stroke without
    words is over ``settle`` after its hold when no speech came. With ``task.benchmark`` there is
    one more query at the end of the stream, about all of it; turns then add up and are not
    forgotten. A turn whose answer the speaker interrupted is part of the next one. With
    ``early_after`` a turn may be asked before it is over, see :mod:`streaming.grounding_early`.

    Args:
        settings: Its numbers.
        task: What is asked of the stream.
        prefix: How frames of the whole stream are sampled for the model; None when it needs none.
        film: Where the stream can be had as a film, for the model.
    """

    accepts: tuple[type, ...] = (
        VideoFrame,
        HandsSeen,
        CameraMotion,
        SpeechStart,
        SpeechEnd,
        SpeechSeen,
        Word,
        WordsSeen,
        Utterance,
        Deictic,
        DeicticsSeen,
        Stroke,
        StrokeEnd,
        StrokesSeen,
        Binding,
        AnswerStopped,
    )

    def __init__(
        self,
        settings: GroundingSettings | None = None,
        *,
        task: Task | None = None,
        prefix: PrefixSettings | None = None,
        film: Film | None = None,
    ) -> None:
        self.counters = Counters()
        self._settings = settings or GroundingSettings()
        self._task = task or Task()
        self._ring = FrameRing(span=self._settings.ring_seconds, gap=self._settings.ring_gap)
        self._store = None if prefix is None else PrefixStore(prefix, film=film)
        self._film = film
        self._last: tuple[VideoFrame, CameraMotion] | None = None
        self._clear: tuple[VideoFrame, CameraMotion] | None = None
        self._motions: list[CameraMotion] = []
        self._apex_motion: dict[int, CameraMotion] = {}
        self._stays = Stays(radius=self._settings.still_radius, least=self._settings.still_seconds)
        self._turn = Turn()
        self._before: tuple[Turn, dict[int, CameraMotion]] | None = None
        after = 0.0 if self._task.benchmark else self._settings.early_after
        self._early = EarlyAsking(after=after, longest_wait=self._settings.longest_wait)
        self._asked = 0
        self._changed = False
        self._aspect = 4 / 3
        self._open_speech: dict[int, Seconds] = {}
        self._heard_until: Seconds | None = None
        self._deictics_until: Seconds = -math.inf
        self._seen_until: Seconds = -math.inf
        self._language = "en" if self._task.language == "auto" else self._task.language

    def push(self, event: Any) -> list[Query]:
        """Take one event; the query of a turn that is now over or may be asked early."""
        self._take(event)
        self._early.take(event)
        if not self._changed:
            return []
        if not self._over():
            known, seen = self._deictics_until, self._seen_until
            due = self._early.is_due(self._turn, deictics_until=known, seen_until=seen)
            return self._worth_asking(self._ask(final=False), early=True) if due else []
        query = self._ask(final=False)
        self._changed = False
        questions = self._worth_asking(query)
        if not self._task.benchmark:
            self._begin_turn(asked=bool(query.pointed))
        return questions

    def finish(self) -> list[Query]:
        """The end of the stream: the last query. How much was remembered goes to the counters."""
        for name, count in self.remembered().items():
            self.counters.add(name, count)
        if not self._task.benchmark and not self._changed:
            return []
        self._fill_in()
        return self._worth_asking(self._ask(final=True))

    def remembered(self) -> dict[str, int]:
        """How much of the whole stream is kept for the model; nothing where it needs none."""
        return {} if self._store is None else self._store.facts()

    def _worth_asking(self, query: Query, *, early: bool = False) -> list[Query]:
        """No question when nothing was pointed at, as in "keep it", or it was asked early."""
        if not query.pointed and not self._task.benchmark:
            return []
        if self._early.stands_for(query):
            return []
        if early:
            self._early.asked(query)
            self.counters.add("queries_early")
        self._asked += 1
        self.counters.add("queries")
        return [query]

    def _begin_turn(self, *, asked: bool) -> None:
        """Lay aside the turn that is over, but for strokes whose word is still to come."""
        self._before = (self._turn, self._apex_motion) if asked else None
        settled = {binding.stroke for binding in self._turn.bindings}
        waiting = {
            index: frame for index, frame in self._turn.keyframes.items() if index not in settled
        }
        self._apex_motion = {index: self._apex_motion[index] for index in waiting}
        self._turn = Turn(keyframes=waiting)
        self._early.forget()

    def _reopen(self, stopped: AnswerStopped) -> None:
        """What a question asked that got no answer belongs to the next one as well."""
        if self._early.turn == stopped.turn:
            self._early.take_back()  # its turn is still under way
            return
        if self._before is None or stopped.turn != self._asked - 1:
            return
        (turn, motions), self._before = self._before, None
        self._turn = self._turn.going_on(turn)
        self._apex_motion = {**motions, **self._apex_motion}
        self._changed = True
        self.counters.add("turns_reopened")

    # --- taking events in ---------------------------------------------------------------------

    def _take(self, event: Any) -> None:
        match event:
            case VideoFrame():
                self._ring.add_frame(event)
                if self._store is not None:
                    self._store.add(event)
            case HandsSeen():
                self._aspect = event.aspect
                self._take_hands(event)
            case CameraMotion():
                self._take_motion(event)
            case Stroke() | StrokeEnd() | StrokesSeen():
                self._take_stroke(event)
            case Deictic():
                self._turn.deictics[event.index] = event
                self._changed = True
            case Binding():
                self._turn.bindings.append(event)
                self._changed = True
            case AnswerStopped(reason="interrupted"):
                self._reopen(event)
            case _:
                self._take_speech(event)

    def _take_speech(self, event: Any) -> None:
        match event:
            case SpeechStart():
                self._open_speech[event.utterance] = math.inf
            case SpeechEnd():
                if event.utterance in self._open_speech:
                    self._open_speech[event.utterance] = event.offset
                self._turn.speech_end = max(self._turn.speech_end, event.offset)
            case Utterance():
                self._open_speech.pop(event.index, None)
                self._turn.speech_end = max(self._turn.speech_end, event.offset)
                self._language = event.language
            case Word():
                self._turn.words.append(event)
                if self._store is not None:
                    self._store.add(event)
                self._language = event.language
            case WordsSeen():
                self._open_speech = {
                    index: end for index, end in self._open_speech.items() if end > event.until
                }
            case DeicticsSeen():
                self._deictics_until = max(self._deictics_until, event.until)
            case SpeechSeen():
                self._heard_until = event.until

    def _take_hands(self, event: HandsSeen) -> None:
        self._ring.add_hands(event)
        self._seen_until = max(self._seen_until, event.time)

    def _take_motion(self, event: CameraMotion) -> None:
        self._motions.append(event)
        oldest = event.time - self._settings.ring_seconds
        while len(self._motions) > 1 and self._motions[0].time < oldest:
            self._motions.pop(0)
        frame = self._ring.newest
        if frame is None or frame.time != event.time:
            return
        # Only now is all known of this frame: until then the one before it is the last.
        self._last = (frame, event)
        if self._task.benchmark:
            self._stays.add(frame, self._ring.hands_at(event.time, within=0.0), event)
        if self._ring.is_clear(event.time):
            self._clear = self._last

    def _take_stroke(self, event: Stroke | StrokeEnd | StrokesSeen) -> None:
        match event:
            case Stroke():
                self._keep(event)
            case StrokeEnd():
                held = self._turn.keyframes.get(event.index)
                if held is not None:
                    ended = replace(held, hold_end=event.offset)
                    self._turn.keyframes[event.index] = ended
            case StrokesSeen():
                if math.isfinite(event.until):
                    self._seen_until = max(self._seen_until, event.until)

    def _keep(self, stroke: Stroke) -> None:
        frame = self._ring.frame_at(stroke.apex)
        if frame is None:
            self.counters.add("stroke_without_frame")
            return
        if abs(frame.time - stroke.apex) > self._settings.ring_seconds / 2:
            self.counters.add("keyframe_far_from_apex")
        hands = self._ring.hands_at(frame.time)
        ray = ray_of(stroke, hands)
        self._turn.keyframes[stroke.index] = Keyframe(
            stroke=stroke,
            time=frame.time,
            jpeg=encoded(frame.image),
            hands=hands,
            ray=ray,
            crop=crop_along(ray, share=self._settings.crop_share, aspect=frame.aspect),
        )
        self._apex_motion[stroke.index] = self._motion_at(frame.time)
        while len(self._turn.keyframes) > self._settings.most_keyframes:
            oldest = min(self._turn.keyframes)
            del self._turn.keyframes[oldest]
            self._apex_motion.pop(oldest, None)
            self.counters.add("keyframe_dropped")

    def _fill_in(self) -> None:
        """Where strokes are missing for certain, take the times when a hand kept still."""
        meant = {*self._turn.lone_strokes(), *self._turn.paired_strokes()}
        missing = len(self._task.kinds or ()) - len(meant)
        known = [
            (frame.stroke.onset, frame.hold_end or math.inf)
            for frame in self._turn.keyframes.values()
        ]
        # Some to spare: a hand also rests and beats, and the words tell which stay they go with.
        count = missing + _SPARE_STAYS if missing > 0 else 0
        for number, stay in enumerate(self._stays.best(beside=known, count=count)):
            stroke = as_stroke(stay, -1 - number)
            ray = ray_of(stroke, (stay.hand,))
            self._turn.keyframes[stroke.index] = Keyframe(
                stroke=stroke,
                time=stay.frame_time,
                jpeg=stay.jpeg,
                hands=(stay.hand,),
                ray=ray,
                crop=crop_along(ray, share=self._settings.crop_share, aspect=self._aspect),
                hold_end=stay.offset,
            )
            self._apex_motion[stroke.index] = stay.motion
            self.counters.add("stroke_filled_in")

    def _motion_at(self, time: Seconds) -> CameraMotion:
        """The camera's motion nearest to ``time``; without any, a camera that never moved."""
        return min(
            self._motions,
            key=lambda motion: abs(motion.time - time),
            default=CameraMotion(time=time),
        )

    # --- when a turn is over ------------------------------------------------------------------

    def _over(self) -> bool:
        turn = self._turn
        if self._open_speech or self._deictics_until < turn.speech_end:
            return False
        if not set(turn.deictics) <= turn.bound():
            return False
        if turn.deictics:
            return turn.holds_over(seen=self._seen_until, most=self._settings.longest_wait)
        return self._settled(turn.lone_strokes())

    def _settled(self, strokes: Sequence[int]) -> bool:
        """Whether strokes without words were left alone for long enough."""
        ends = [self._turn.keyframes[index].hold_end for index in strokes]
        known = [end for end in ends if end is not None]
        if not known or len(known) < len(ends):
            return False
        quiet_from = max(known) + self._settings.settle
        heard = self._heard_until is None or self._heard_until >= quiet_from
        return heard and self._seen_until >= quiet_from

    # --- asking -------------------------------------------------------------------------------

    def _ask(self, *, final: bool) -> Query:
        turn = self._turn
        last = self._last_view()
        keyframes = tuple(
            replace(frame, to_last=self._to_last(self._apex_motion[index], last))
            for index, frame in sorted(turn.keyframes.items())
        )
        ends = {k.stroke.index: k.hold_end for k in keyframes if k.hold_end is not None}
        return Query(
            turn=self._asked,
            supersedes=self._early.turn,
            asked_at=self._known_until(last),
            task=self._task,
            pointed=choose(
                self._task.kinds,
                deictics=list(turn.deictics.values()),
                bindings=tuple(turn.bindings),
                strokes=[frame.stroke for frame in keyframes],
                hold_ends=ends,
                inset=self._settings.inset,
            ),
            keyframes=keyframes,
            last=last,
            clear=self._clear_view(last),
            words=tuple(turn.words),
            deictics=tuple(turn.deictics.values()),
            bindings=tuple(turn.bindings),
            language=self._language,
            final=final,
            prefix=self._prefix(last),
        )

    def _known_until(self, last: View | None) -> Seconds:
        heard = [word.offset for word in self._turn.words]
        return max(0.0, self._heard_until or 0.0, last.time if last is not None else 0.0, *heard)

    def _prefix(self, last: View | None) -> Prefix:
        """The frames up to the last one, so that nothing is newer than what points lie on."""
        if self._store is None:
            return Prefix(film=self._film)
        return self._store.prefix(-math.inf if last is None else last.time)

    def _last_view(self) -> View | None:
        frame = self._ring.newest if self._last is None else self._last[0]
        if frame is None:
            return None
        hands = self._ring.hands_at(frame.time)
        return View(
            time=frame.time,
            image=frame.image,
            hands=hands,
            pixel_aspect=frame.pixel_aspect,
            to_last=IDENTITY,
        )

    def _clear_view(self, last: View | None) -> View | None:
        if self._clear is None or last is None or not last.hands:
            return None
        frame, motion = self._clear
        return View(
            time=frame.time,
            image=frame.image,
            pixel_aspect=frame.pixel_aspect,
            to_last=self._to_last(motion, last),
        )

    def _to_last(self, motion: CameraMotion, last: View | None) -> Homography | None:
        if last is None:
            return None
        now = self._motion_at(last.time)
        if now.anchor != motion.anchor:
            return None
        try:
            return geometry.compose(geometry.invert(now.to_stable), motion.to_stable)
        except ValueError:
            self.counters.add("motion_without_inverse")
            return None
