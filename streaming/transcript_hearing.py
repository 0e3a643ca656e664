"""One look at a window: decode, cut what cannot be, align, make words, mend their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streaming.events import Seconds, Word
from streaming.transcript_agreement import cut_crammed, cut_loops, cut_past_end
from streaming.transcript_recognizer import Recognizer, Window
from streaming.transcript_words import Heard, assemble, is_han

TOKENS_PER_SECOND = {"en": 7.0, "zh": 10.0}
"""More than anybody speaks; what is decoded beyond is a loop."""
SHORTEST_WORD: Seconds = 0.04
LOUDEST_GAIN = 30.0
LONGEST_WORD: Seconds = 0.2
LONGEST_PER_LETTER: Seconds = 0.05
"""A spelled word takes no longer than the sum; what is more is a filler that was left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What was heard in a window.

    Attributes:
        words: Times on the media timeline.
        no_speech: The recogniser's probability that nobody speaks.
        cut: Tokens that were cut off as past the end, looping or crammed.
    """

    words: tuple[Heard, ...]
    no_speech: float = 0.0
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of a window.

    Attributes:
        language: ISO 639-1 code.
        origin: Media time of the window's first sample.
        duration: Of the window.
        beam: Width of the search.
        pauses: Media times of the spans without voice.
    """

    language: str
    origin: Seconds
    duration: Seconds
    beam: int = 1
    pauses: tuple[tuple[Seconds, Seconds], ...] = ()


def levelled(sound: NDArray[np.float32], level: float) -> NDArray[np.float32]:
    """``sound`` with its peak at ``level``; Whisper hears quiet speech worse. 0 leaves it alone."""
    peak = float(np.abs(sound).max()) if len(sound) else 0.0
    if level <= 0.0 or peak <= 0.0:
        return sound
    return sound * np.float32(min(LOUDEST_GAIN, level / peak))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """What was decoded, without times.

    Attributes:
        tokens: Those that can be believed.
        decoded: Number of all.
        no_speech: As in :class:`Hypothesis`.
    """

    tokens: tuple[int, ...]
    decoded: int
    no_speech: float


def hear(
    recognizer: Recognizer, window: Window, request: Request, vocabulary: frozenset[str]
) -> Hypothesis:
    """Decode ``window`` and keep what can be believed."""
    return timed(recognizer, window, request, decode(window, request), vocabulary)


def decode(window: Window, request: Request) -> Spelled:
    """The first half of :func:`hear`: the tokens, loops cut off."""
    rate = TOKENS_PER_SECOND.get(request.language, 10.0)
    decoded = window.decode(
        language=request.language,
        limit=10 + round(rate * request.duration),
        beam=request.beam,
    )
    tokens = cut_past_end(decoded, duration=request.duration)
    return Spelled(
        tokens=tokens[: cut_loops(tokens)],
        decoded=len(decoded.tokens),
        no_speech=decoded.no_speech,
    )


def timed(
    recognizer: Recognizer,
    window: Window,
    request: Request,
    spelled: Spelled,
    vocabulary: frozenset[str],
) -> Hypothesis:
    """The second half of :func:`hear`: words with mended times, without those in no time."""
    tokens = spelled.tokens
    aligned = window.align(language=request.language, tokens=tokens)
    keep = cut_crammed(aligned)
    words = assemble(tokens[:keep], aligned[:keep], recognizer.spell, vocabulary=vocabulary)
    begin, end = request.origin, request.origin + request.duration
    shift = begin - recognizer.onset_bias
    placed = [
        replace(
            word,
            onset=min(end, max(begin, shift + word.onset)),
            offset=min(end, max(begin, shift + word.offset)),
        )
        for word in words
    ]
    return Hypothesis(
        words=tuple(within_reason(out_of_pauses(word, request.pauses)) for word in placed),
        no_speech=spelled.no_speech,
        cut=spelled.decoded - keep,
    )


def within_reason(word: Heard) -> Heard:
    """``word`` without the filler before it: Whisper writes no "um", and gives its time away."""
    if any(map(is_han, word.key)):
        return word
    longest = LONGEST_WORD + LONGEST_PER_LETTER * len(word.key)
    return replace(word, onset=max(word.onset, word.offset - longest))


class Room:
    """The stretch of time that is left for the next word: words never overlap.

    Args:
        begin: Where the next word may begin.
        end: Where the sound ends.
    """

    def __init__(self, begin: Seconds, end: Seconds) -> None:
        self.begin = begin
        self.end = end

    def place(self, word: Heard, utterance: int, language: str) -> Word:
        """``word`` as an event, moved into the room; the room then begins where it ends."""
        onset, offset = self._span(word.onset, word.offset)
        return Word(
            text=word.text,
            onset=onset,
            offset=offset,
            utterance=utterance,
            language=language,
            probability=round(min(1.0, max(0.0, word.probability)), 6),
        )

    def move(self, word: Word) -> Word:
        """``word`` moved into the room."""
        onset, offset = self._span(word.onset, word.offset)
        return replace(word, onset=onset, offset=offset)

    def _span(self, onset: Seconds, offset: Seconds) -> tuple[Seconds, Seconds]:
        onset = min(self.end, max(onset, self.begin))
        self.begin = min(self.end, max(offset, onset + SHORTEST_WORD))
        return onset, self.begin


def out_of_pauses(
    word: Heard, pauses: Sequence[tuple[Seconds, Seconds]], *, least: Seconds = 0.05
) -> Heard:
    """``word`` without the pause that it is stretched over.

    Whisper lets a word after a pause begin in the pause, and one before it last into it. The part
    on the longer side stays; a word that lies in a pause altogether moves to its nearer end.
    """
    onset, offset = word.onset, word.offset
    for begin, end in pauses:
        if end <= onset or begin >= offset:
            continue
        before, behind = begin - onset, offset - end
        if before < least and behind < least:
            middle = (onset + offset) / 2
            if middle - begin < end - middle:
                onset, offset = min(onset, begin), begin
            else:
                onset, offset = end, max(offset, end)
        elif behind >= before:
            onset = end
        else:
            offset = begin
    return replace(word, onset=onset, offset=max(onset, offset))
