"""One look at a window: decode, cut what cannot be, align, make words, mend their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from streaming.events import Seconds
from streaming.transcript_agreement import cut_crammed, cut_loops, cut_past_end
from streaming.transcript_recognizer import Recognizer, Window
from streaming.transcript_words import Heard, assemble


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What was heard in a window.

    Attributes:
        tokens: Text tokens, the forced prefix included.
        words: Their words, times on the media timeline.
        no_speech: The recogniser's probability that nobody speaks.
        cut: Tokens that were cut off as past the end, looping or crammed.
    """

    tokens: tuple[int, ...]
    words: tuple[Heard, ...]
    no_speech: float
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of a window.

    Attributes:
        language: ISO 639-1 code.
        origin: Media time of the window's first sample.
        duration: Of the window.
        prefix: Committed tokens that the answer begins with.
        context: Tokens spoken before the window.
        limit: At most so many tokens.
        beam: Width of the search.
        pauses: Media times of the spans without voice.
    """

    language: str
    origin: Seconds
    duration: Seconds
    prefix: tuple[int, ...] = ()
    context: tuple[int, ...] = ()
    limit: int = 100
    beam: int = 1
    pauses: tuple[tuple[Seconds, Seconds], ...] = ()


def hear(
    recognizer: Recognizer, window: Window, request: Request, vocabulary: frozenset[str]
) -> Hypothesis:
    """Decode ``window`` and keep what can be believed."""
    decoded = window.decode(
        language=request.language,
        prefix=request.prefix,
        context=request.context,
        limit=request.limit,
        beam=request.beam,
    )
    kept = len(request.prefix)
    tokens = cut_past_end(decoded, duration=request.duration, kept=kept)
    tokens = tokens[: cut_loops(tokens, kept=kept)]
    return retime(
        recognizer,
        window,
        request,
        tokens,
        vocabulary,
        no_speech=decoded.no_speech,
        cut=len(decoded.tokens) - len(tokens),
    )


def retime(
    recognizer: Recognizer,
    window: Window,
    request: Request,
    tokens: Sequence[int],
    vocabulary: frozenset[str],
    *,
    no_speech: float = 0.0,
    cut: int = 0,
) -> Hypothesis:
    """Align given tokens with ``window`` and make words of them."""
    aligned = window.align(language=request.language, tokens=tokens)
    keep = cut_crammed(aligned, kept=len(request.prefix))
    words = assemble(tokens[:keep], aligned[:keep], recognizer.spell, vocabulary=vocabulary)
    end = request.origin + request.duration
    placed = [
        replace(
            word,
            onset=min(end, request.origin + word.onset - recognizer.onset_bias),
            offset=min(end, request.origin + word.offset - recognizer.onset_bias),
        )
        for word in words
    ]
    return Hypothesis(
        tokens=tuple(tokens[:keep]),
        words=tuple(out_of_pauses(word, request.pauses) for word in placed),
        no_speech=no_speech,
        cut=cut + len(tokens) - keep,
    )


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
