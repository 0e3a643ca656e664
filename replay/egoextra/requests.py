"""How a question, or the choice to speak, is put to a model.

In order: the words that are known, the frames with their times, and what is asked. Each part says
how far it reaches, and :class:`streaming.asking.request.Request` refuses one from after the moment
of the question. Nothing of a question but its text and options is sent: not the right answer, its
times, or the expert's words that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Literal, TypeAlias

from replay.egoextra.dialogue import Turn
from replay.egoextra.questions import Question
from replay.egoextra.settings import AskTexts, EgoExtraPrompt
from streaming.asking.interfaces import spoken_text
from streaming.asking.request import Part, PicturePart, Request, TextPart
from streaming.events import Seconds, Word

WordsFrom: TypeAlias = Literal["none", "benchmark", "ours"]

TRANSCRIPT = "<transcript>"
INTERFACE = "egoextra"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a transcript.

    Attributes:
        onset, offset: Seconds of the recording.
        text: What was said.
        speaker: Who, or empty.
    """

    onset: Seconds
    offset: Seconds
    text: str
    speaker: str = ""

    def written(self) -> str:
        who = f"{self.speaker}: " if self.speaker else ""
        return f"[{self.onset:.3f}-{self.offset:.3f}] {who}{self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A frame that is sent."""

    time: Seconds
    jpeg: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What is known at a moment.

    Attributes:
        now: The moment.
        frames: By time, none after ``now``.
        lines: By time, none after ``now``.
        words: Where the lines come from.
    """

    now: Seconds
    frames: Sequence[Shown]
    lines: Sequence[Line]
    words: WordsFrom


def lines_of_turns(turns: Sequence[Turn]) -> list[Line]:
    """The benchmark's own transcript as lines."""
    return [
        Line(onset=turn.onset, offset=turn.offset, text=turn.text, speaker=turn.speaker)
        for turn in turns
    ]


def lines_of_words(words: Sequence[Word]) -> list[Line]:
    """What our own ears heard as lines: one for each utterance."""
    utterances: dict[int, list[Word]] = {}
    for word in words:
        utterances.setdefault(word.utterance, []).append(word)
    return [
        Line(
            onset=heard[0].onset,
            offset=max(word.offset for word in heard),
            text=spoken_text(tuple(heard)),
        )
        for heard in utterances.values()
    ]


def question_request(question: Question, context: Context, prompt: EgoExtraPrompt) -> Request:
    """A five-option question at ``context.now``."""
    options = "\n".join(f"{number}. {text}" for number, text in enumerate(question.options, 1))
    ask = Template(prompt.question.ask).substitute(question=question.text, options=options)
    return _request(prompt.question, ask, context, prompt)


def proactive_request(context: Context, prompt: EgoExtraPrompt) -> Request:
    """Whether to speak at ``context.now``."""
    ask = Template(prompt.proactive.ask).substitute(now=f"{context.now:.1f}")
    return _request(prompt.proactive, ask, context, prompt)


def _request(texts: AskTexts, ask: str, context: Context, prompt: EgoExtraPrompt) -> Request:
    memory = str(getattr(prompt.memory, context.words))
    parts: list[Part] = []
    if context.words != "none":
        parts.append(_transcript(context, prompt))
    for frame in context.frames:
        parts.append(TextPart(text=f"<time>{frame.time:.3f}", until=frame.time))
        parts.append(PicturePart(jpeg=frame.jpeg, until=frame.time))
    parts.append(TextPart(text=ask.strip()))
    return Request(
        system=Template(texts.system).substitute(memory=memory).strip(),
        parts=tuple(parts),
        schema=None,
        interface=INTERFACE,
        prompt=prompt.name,
        words=context.words,
        asked_at=context.now,
    )


def _transcript(context: Context, prompt: EgoExtraPrompt) -> TextPart:
    if not context.lines:
        return TextPart(text=prompt.memory.nothing, until=context.now)
    written = "\n".join(line.written() for line in context.lines)
    # A word of our own that is still being spoken is told by its estimated end.
    until = min(context.now, max(line.offset for line in context.lines))
    return TextPart(text=f"{TRANSCRIPT}\n{written}\n</transcript>", until=until)
