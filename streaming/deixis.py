"""Which committed words refer by pointing.

Words come one by one; an expression is judged by what stands before it and, where that is not
enough, by what follows: the next word, or the certainty that none follows soon. It is announced
as soon as the lexicon's rules can be answered and never taken back. English words and Chinese
characters are judged by their own lexicons, also inside one sentence, and a Chinese expression is
found the same whether its characters come as one word or several.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from streaming.config import config_path, load
from streaming.deixis_lexicon import (
    BREAK,
    Found,
    Lexicon,
    LexiconFile,
    Verdict,
    View,
    closing,
    cut,
    is_chinese,
)
from streaming.events import Counters, Deictic, DeicticsSeen, Seconds, Utterance, Word, WordsSeen

DeixisInput: TypeAlias = Word | WordsSeen | Utterance

LANGUAGES = ("en", "zh")
RESTART: Seconds = 0.3
"""A word said again this soon, or after "uh", is a new start and not a second referent."""

CONTEXT = 40
"""Tokens that are kept to look back on."""


def load_lexicons() -> dict[str, Lexicon]:
    """The project's own lexicons, by language."""
    return {
        language: Lexicon(load(LexiconFile, config_path(f"lexicon.{language}.toml")))
        for language in LANGUAGES
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    """One English word or Chinese character.

    Attributes:
        text: Normalised.
        shown: As it was written.
        onset, offset: Its share of the word's span.
        lexicon: Key of the lexicon that judges it, or empty.
        broken: The break before it, or empty.
        apart: Whether the break is a pause or the end of an utterance; nothing is decided by what
            lies beyond such a break.
        hesitant: Whether a filler stands before it.
    """

    text: str
    shown: str
    onset: Seconds
    offset: Seconds
    utterance: int
    language: str
    lexicon: str
    broken: str
    apart: bool
    hesitant: bool


class DeixisFinder:
    """Words in, referring expressions out.

    Attributes:
        pause: Silence of this length between words counts as a break, and ends the wait for what
            follows.
    """

    accepts: tuple[type, ...] = (Word, WordsSeen, Utterance)

    def __init__(
        self, lexicons: Mapping[str, Lexicon] | None = None, *, pause: Seconds = 0.6
    ) -> None:
        if not pause > 0.0:
            raise ValueError(f"pause is {pause}, expected above 0")
        self._lexicons = load_lexicons() if lexicons is None else dict(lexicons)
        self._pause = pause
        self.counters = Counters()
        self._past: deque[_Token] = deque(maxlen=CONTEXT)  # judged, latest last
        self._open: deque[_Token] = deque()  # not judged yet
        self._last: _Token | None = None  # the latest token, fillers included
        self._closed = True  # whether a break is known to follow the latest token
        self._break = BREAK  # what the latest word's punctuation says comes after it
        self._gap = False  # whether a pause is known to follow the latest token but fillers
        self._hesitant = False  # whether the latest token is a filler
        self._words_seen: Seconds = -math.inf
        self._said_until: Seconds = -math.inf
        self._count = 0

    def push(self, event: DeixisInput) -> list[Deictic | DeicticsSeen]:
        match event:
            case Word():
                self._take(event)
            case WordsSeen():
                self._words_seen = max(self._words_seen, event.until)
                if self._last is not None and event.until - self._last.offset >= self._pause:
                    self._closed = True
            case Utterance():
                if self._last is not None and event.index >= self._last.utterance:
                    self._closed = True
        return self._judge_all()

    def finish(self) -> list[Deictic | DeicticsSeen]:
        """Judge what is left: nothing follows any more."""
        self._closed = True
        self._words_seen = math.inf
        return self._judge_all()

    # --- taking words -------------------------------------------------------------------------

    def _take(self, word: Word) -> None:
        texts = cut(word.text)
        apart = self._gap or self._is_apart(word)
        broken = self._break or (BREAK if apart else "")
        # Words never overlap, so none begins before this one ends.
        self._words_seen = max(self._words_seen, word.offset)
        step = self._step(word, texts)
        fresh = True
        for place, text in enumerate(texts):
            lexicon = self._lexicon_of(text, word.language)
            plain = text.translate(self._lexicons[lexicon].variants) if lexicon else text
            token = _Token(
                text=plain,
                shown=text,
                onset=word.onset + step * place,
                offset=word.offset if place + 1 == len(texts) else word.onset + step * (place + 1),
                utterance=word.utterance,
                language=word.language,
                lexicon=lexicon,
                broken=broken if fresh else "",
                apart=apart and fresh,
                hesitant=self._hesitant,
            )
            self._last = token
            if lexicon and plain in self._lexicons[lexicon].fillers:
                self._hesitant = True
                continue
            self._open.append(token)
            fresh = self._hesitant = False
        if not texts:
            return
        if fresh:  # nothing but fillers: the break before them still stands before the next word
            self._break, self._gap = broken, apart
        else:
            self._break, self._gap = closing(word.text), False
        self._closed = False

    def _step(self, word: Word, texts: tuple[str, ...]) -> Seconds:
        """Seconds between the word's tokens: Chinese characters share it, clitics do not."""
        shared = all(is_chinese(text) for text in texts)
        return (word.offset - word.onset) / len(texts) if shared and len(texts) > 1 else 0.0

    def _is_apart(self, word: Word) -> bool:
        """Whether a pause or the end of an utterance lies before ``word``."""
        last = self._last
        if last is None or last.utterance != word.utterance:
            return True
        return word.onset - last.offset >= self._pause

    def _lexicon_of(self, text: str, language: str) -> str:
        if is_chinese(text):
            return "zh" if "zh" in self._lexicons else ""
        return "en" if language in LANGUAGES and "en" in self._lexicons else ""

    # --- judging ------------------------------------------------------------------------------

    def _judge_all(self) -> list[Deictic | DeicticsSeen]:
        said: list[Deictic | DeicticsSeen] = []
        while self._open:
            settled = self._judge()
            if settled is None:
                break
            length, deictic = settled
            if deictic is not None:
                said.append(deictic)
            for _ in range(length):
                self._past.append(self._open.popleft())
        until = min(self._words_seen, self._open[0].onset) if self._open else self._words_seen
        if until > self._said_until:
            self._said_until = until
            said.append(DeicticsSeen(until=until))
        return said

    def _judge(self) -> tuple[int, Deictic | None] | None:
        """How many open tokens are settled, and what they refer to; None to hear more first."""
        first = self._open[0]
        lexicon = self._lexicons.get(first.lexicon)
        if lexicon is None:
            return 1, None
        found = lexicon.find(self._ahead(0))
        if found is True:
            return None
        if found is False:
            return 1, None
        assert isinstance(found, Found)
        length = found.length
        # Only "this" and its like are said twice in looking for a name; "here" need not wait.
        again = found.expression.kind == "object" and self._said_again(length)
        if again is None:
            return None
        verdict = lexicon.judge(found.expression, self._behind(), self._ahead(length))
        if verdict is None:
            return None
        if verdict.probability <= 0.0 or again:
            self.counters.add("not_deictic")
            return length, None
        whole = self._with_place(lexicon, verdict, length)
        if whole is None:
            return None
        self.counters.add(f"deictic_{verdict.kind}")
        return whole, self._deictic(whole, verdict)

    def _said_again(self, length: int) -> bool | None:
        """Whether the speaker starts over with the same word: "this this one"."""
        own, after = list(self._open)[:length], list(self._open)[length : 2 * length]
        for one, other in zip(own, after, strict=False):
            if other.text != one.text or (other is after[0] and other.broken):
                return False
        if len(after) < length:
            return False if self._closed or self._break else None
        return after[0].hesitant or after[0].onset - own[-1].offset < RESTART

    def _with_place(self, lexicon: Lexicon, verdict: Verdict, length: int) -> int | None:
        """The expression's length with the place expression that belongs to it, if any does."""
        if verdict.kind != "object" or not lexicon.placing or self._places(lexicon):
            return length
        if length < len(self._open) and self._open[length].broken:
            return length
        more = lexicon.find(self._ahead(length))
        if more is True:
            return None
        if not isinstance(more, Found) or more.expression.kind != "place":
            return length
        behind = View(tuple(token.text for token in reversed(list(self._open)[:length])), True)
        place = lexicon.judge(more.expression, behind, self._ahead(length + more.length))
        if place is None:
            return None
        return length + more.length if place.probability > 0.0 else length

    def _places(self, lexicon: Lexicon) -> bool:
        """Whether the verb that governs the expression says to put something somewhere."""
        for token in reversed(self._past):
            if token.utterance != self._open[0].utterance:
                return False
            if token.text in lexicon.placing:
                return True
            if token.text in lexicon.taking:
                return False
        return False

    def _ahead(self, start: int) -> View:
        tokens: list[str] = []
        for place, token in enumerate(self._open):
            if place < start:
                continue
            if token.broken and place > 0:
                tokens.append(token.broken)
                if token.apart:
                    return View(tuple(tokens), True)
            tokens.append(token.text)
        if self._break:
            tokens.append(self._break)
        return View(tuple(tokens), self._closed or self._gap)

    def _behind(self) -> View:
        tokens: list[str] = []
        broken = self._open[0].broken
        for token in reversed(self._past):
            if broken:
                tokens.append(broken)
            tokens.append(token.text)
            broken = token.broken
        return View(tuple(tokens), True)

    def _deictic(self, length: int, verdict: Verdict) -> Deictic:
        tokens = list(self._open)[:length]
        glue = "" if is_chinese(tokens[0].text) else " "
        index, self._count = self._count, self._count + 1
        return Deictic(
            index=index,
            text=glue.join(token.shown for token in tokens),
            onset=tokens[0].onset,
            offset=tokens[-1].offset,
            kind=verdict.kind,
            probability=verdict.probability,
            utterance=tokens[0].utterance,
            language=tokens[0].language,
        )
