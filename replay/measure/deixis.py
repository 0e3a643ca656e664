"""How many referring expressions a lexicon finds in marked sentences.

A sentence file has one sentence a line, with what points marked ``{object}``, ``[place]`` or
``(anaphor)``; ``## name`` begins a part, ``#`` a comment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from streaming.deixis import DeixisFinder
from streaming.deixis_lexicon import Lexicon
from streaming.events import Deictic, DeicticKind, Seconds, Word

_MARKS: dict[str, DeicticKind] = {"{": "object", "[": "place", "(": "anaphor"}
_PIECES = re.compile(r"[\u3400-\u9fff][^\w\s\[\](){}\u3400-\u9fff]*|[^\s\[\](){}\u3400-\u9fff]+")


class SentenceError(ValueError):
    """A sentence file that cannot be used; one line saying where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A referring expression: characters ``start...end`` of the bare text."""

    start: int
    end: int
    kind: DeicticKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence and what points in it."""

    text: str
    spans: tuple[Span, ...]


@dataclass(slots=True)
class SpanCounts:
    """Counts that add across sentences.

    Attributes:
        marked: Expressions that are marked; ``found`` those announced; ``hit`` those that are both,
            with the right kind.
        wrong: Sentences with a mistake: its text, what was missed and what was wrongly found.
    """

    sentences: int = 0
    marked: int = 0
    found: int = 0
    hit: int = 0
    wrong: list[tuple[str, list[str], list[str]]] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.hit / self.found if self.found else math.nan

    @property
    def recall(self) -> float:
        return self.hit / self.marked if self.marked else math.nan


def read_sentences(path: Path) -> dict[str, list[Sentence]]:
    """The sentences of each part of a file.

    Raises:
        SentenceError: If a mark is not closed.
    """
    parts: dict[str, list[Sentence]] = {}
    part = "all"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("##"):
            part = line.strip("# ")
        elif line.strip() and not line.startswith("#"):
            parts.setdefault(part, []).append(_sentence(line.strip(), f"{path}:{number}"))
    return parts


def _sentence(line: str, where: str) -> Sentence:
    text, spans = "", []
    opened: tuple[int, DeicticKind] | None = None
    for character in line:
        if character in _MARKS:
            opened = (len(text), _MARKS[character])
        elif character in "}])":
            if opened is None:
                raise SentenceError(f"{where}: {character!r} closes nothing")
            spans.append(Span(start=opened[0], end=len(text), kind=opened[1]))
            opened = None
        else:
            text += character
    if opened is not None:
        raise SentenceError(f"{where}: a mark is not closed")
    return Sentence(text=text, spans=tuple(spans))


def spoken(text: str, language: str, *, plain: bool = False) -> list[tuple[Word, int]]:
    """The words of a sentence, 0.3 s each, with the place of each in the text.

    Args:
        text: The sentence.
        language: Of its words.
        plain: Leave out punctuation, as some recognisers do.
    """
    words: list[tuple[Word, int]] = []
    for number, piece in enumerate(_PIECES.finditer(text)):
        onset: Seconds = 0.3 * number
        shown = re.sub(r"[^\w'’]", "", piece[0]) if plain else piece[0]
        word = Word(text=shown, onset=onset, offset=onset + 0.28, language=language)
        words.append((word, piece.start()))
    return words


def find_spans(
    text: str, language: str, lexicons: dict[str, Lexicon], *, plain: bool = False
) -> list[Span]:
    """What a finder announces in a sentence."""
    finder = DeixisFinder(lexicons)
    words = spoken(text, language, plain=plain)
    said = [event for word, _ in words for event in finder.push(word)] + finder.finish()
    spans = []
    for deictic in said:
        if isinstance(deictic, Deictic):
            start = next(place for word, place in words if word.onset == deictic.onset)
            end = start + len(deictic.text)
            spans.append(Span(start=start, end=end, kind=deictic.kind))
    return spans


def count_spans(
    sentences: Iterable[Sentence],
    language: str,
    lexicons: dict[str, Lexicon],
    *,
    plain: bool = False,
) -> SpanCounts:
    """Compare what is found with what is marked; a span counts when it begins where it is marked
    and has the marked kind."""
    counts = SpanCounts()
    for sentence in sentences:
        found = find_spans(sentence.text, language, lexicons, plain=plain)
        here = {(span.start, span.kind): span for span in found}
        true = {(span.start, span.kind): span for span in sentence.spans}
        counts.sentences += 1
        counts.marked += len(true)
        counts.found += len(found)
        counts.hit += len(here.keys() & true.keys())
        if here.keys() != true.keys():
            missed = [true[key] for key in true.keys() - here.keys()]
            extra = [here[key] for key in here.keys() - true.keys()]
            counts.wrong.append(
                (
                    sentence.text,
                    [sentence.text[span.start : span.end] for span in missed],
                    [sentence.text[span.start : span.end] for span in extra],
                )
            )
    return counts
