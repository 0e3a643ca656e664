"""The delays of one clip's decisions: what each is about, when it was known, when emitted.

A decision that only the end of the stream brought out is marked: its delay says where the clip
ended, not how fast the pipeline is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.run_folder import ClipRun
from replay.trace_reader import Recorded
from streaming.events import Answer, Binding, Deictic, Partial, Seconds, Stroke, StrokeEnd, Word

SAME_WORD_WITHIN: Seconds = 1.0
"""A shown word and a committed word of the same text are one when their onsets lie this close."""

MEASURES: dict[str, str] = {
    "partial_shown": "word shown after onset",
    "word_committed": "word committed after offset",
    "deictic_found": "deictic found after offset",
    "stroke_announced": "stroke known after apex",
    "stroke_ended": "hold end known after it",
    "binding_committed": "binding after word, apex",
    "answer_first": "answer begun after both",
    "answer_after_word": "answer whole after word",
    "answer_after_stroke": "answer whole after apex",
}
"""Each delay's name and what it says, in the order of the pipeline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """One decision: seconds from what it is about to when it was known, and when emitted."""

    unaware: Seconds
    aware: Seconds
    at_end: bool = False


def clip_delays(clip: ClipRun) -> dict[str, list[Delay]]:
    """Every delay of one clip, by the names of :data:`MEASURES`."""
    words, answers = clip.events(Word), clip.events(Answer)
    deictics = {item.event.index: item.event for item in clip.events(Deictic)}
    strokes = {item.event.index: item.event for item in clip.events(Stroke)}
    bindings = [
        _delay(item, max(about))
        for item in clip.events(Binding)
        if (about := _bound_times(item.event, deictics, strokes))
    ]
    return {
        "partial_shown": _shown(words, clip.events(Partial)),
        "word_committed": [_delay(item, item.event.offset) for item in words],
        "deictic_found": [_delay(item, item.event.offset) for item in clip.events(Deictic)],
        "stroke_announced": [_delay(item, item.event.apex) for item in clip.events(Stroke)],
        "stroke_ended": [_delay(item, item.event.offset) for item in clip.events(StrokeEnd)],
        "binding_committed": bindings,
        **_answer_delays(clip, answers),
    }


def _delay(item: Recorded, about: Seconds) -> Delay:
    return Delay(unaware=item.known_at - about, aware=item.emitted_at - about, at_end=item.finish)


def _bound_times(
    binding: Binding, deictics: dict[int, Deictic], strokes: dict[int, Stroke]
) -> list[Seconds]:
    about = []
    if binding.deictic in deictics:
        about.append(deictics[binding.deictic].offset)
    if binding.stroke in strokes:
        about.append(strokes[binding.stroke].apex)
    return about


def _shown(words: Sequence[Recorded], partials: Sequence[Recorded]) -> list[Delay]:
    """From a committed word's onset to its first sight."""
    sights = first_sights(words, partials)
    return [_delay(sight, item.event.onset) for item, sight in zip(words, sights, strict=True)]


def first_sights(words: Sequence[Recorded], partials: Sequence[Recorded]) -> list[Recorded]:
    """What first showed each committed word: a :class:`Partial`, or the word itself."""
    by_utterance: dict[int, list[Recorded]] = {}
    for item in partials:
        by_utterance.setdefault(item.event.utterance, []).append(item)
    sights = []
    for item in words:
        word: Word = item.event
        earlier = (
            partial
            for partial in by_utterance.get(word.utterance, ())
            if partial.known_at <= item.known_at and _holds(partial.event, word)
        )
        sights.append(next(earlier, item))
    return sights


def _holds(partial: Partial, word: Word) -> bool:
    plain = _plain(word.text)
    return any(
        _plain(shown.text) == plain and abs(shown.onset - word.onset) <= SAME_WORD_WITHIN
        for shown in partial.words
    )


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _answer_delays(clip: ClipRun, answers: Sequence[Recorded]) -> dict[str, list[Delay]]:
    """Delays of each turn's first and final answer, after what was known when it was given."""
    delays: dict[str, list[Delay]] = {
        "answer_first": [],
        "answer_after_word": [],
        "answer_after_stroke": [],
    }
    words, strokes = clip.events(Word), clip.events(Stroke)
    begun: set[int] = set()
    for item in answers:
        ended = [word.event.offset for word in words if word.known_at <= item.known_at]
        pointed = [stroke.event.apex for stroke in strokes if stroke.known_at <= item.known_at]
        if item.event.turn not in begun and (ended or pointed):
            delays["answer_first"].append(_delay(item, max(ended + pointed)))
        begun.add(item.event.turn)
        if item.event.final and ended:
            delays["answer_after_word"].append(_delay(item, max(ended)))
        if item.event.final and pointed:
            delays["answer_after_stroke"].append(_delay(item, max(pointed)))
    return delays
