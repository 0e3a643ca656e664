"""Tokens to words, and words to times: the pure part of hearing that knows how text is written.

English words begin at a space. Chinese has none: single characters, and the longest match with a
list of words (这个, 那里, 然后 ...), so that a deictic word is one word with a time of its own.
Punctuation belongs to the word before it and has no share in its time.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streaming.events import Seconds
from streaming.transcript_recognizer import Aligned

PUNCTUATION = ",.!?;:\u3002\uff0c\uff01\uff1f\u3001\uff1b\uff1a\u2026"
"""Marks that end a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One character or more that begin and end with a token, or a share of them.

    Attributes:
        text: What they spell, spaces included.
        first, last: Range ``[first, last)`` of the tokens.
        begin, end: Share of the tokens' time, 0...1 (a token may spell two Chinese words).
    """

    text: str
    first: int
    last: int
    begin: float = 0.0
    end: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A word of a hypothesis, times in seconds from the window's first sample.

    Attributes:
        text: Without surrounding space, punctuation attached.
        key: What two hypotheses are compared by.
        first: Its first token.
        core: Number of tokens up to its last letter.
        last: Number of tokens up to the word's end, punctuation included.
        whole: Whether it ends where a token ends.
        onset, offset, probability: As aligned; zero before.
    """

    text: str
    key: str
    first: int
    core: int
    last: int
    whole: bool
    onset: Seconds = 0.0
    offset: Seconds = 0.0
    probability: float = 0.0


def is_han(letter: str) -> bool:
    """Whether a character is a Chinese one."""
    return "\u4e00" <= letter <= "\u9fff" or "\u3400" <= letter <= "\u4dbf"


def is_mark(text: str) -> bool:
    """Whether ``text`` holds no letter and no digit."""
    return not any(letter.isalnum() for letter in text)


def fold(text: str) -> str:
    """``text`` for comparison: NFKC, lower case, letters, digits and inner apostrophes only."""
    plain = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    return "".join(letter for letter in plain if letter.isalnum() or letter == "'").strip("'")


def spell_out(tokens: Sequence[int], spell: Callable[[int], bytes]) -> list[Unit]:
    """Group tokens until their bytes are whole characters.

    Bytes that can never become a character are dropped, and so is a character that is not whole at
    the end.
    """
    units: list[Unit] = []
    held, first = b"", 0
    for index, token in enumerate(tokens):
        if not held:
            first = index
        held += spell(token)
        try:
            text = held.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.end == len(held) and len(held) - error.start < 4:
                continue
            text = held.decode("utf-8", errors="ignore")
        held = b""
        if text:
            units.append(Unit(text=text, first=first, last=index + 1))
    return units


def split_words(units: Sequence[Unit], *, vocabulary: frozenset[str]) -> list[list[Unit]]:
    """The units of each word, leading and following marks included."""
    words: list[list[Unit]] = []
    for unit in _by_character(units):
        text = unit.text.strip()
        if not text:
            continue
        joins = bool(words) and (
            is_mark(text)
            or all(is_mark(before.text) for before in words[-1])
            or not (
                unit.text[0].isspace()
                or is_han(text[0])
                or is_han(words[-1][-1].text.strip()[-1:] or " ")
            )
        )
        if joins:
            words[-1].append(unit)
        else:
            words.append([unit])
    return _join_known(words, vocabulary)


def _by_character(units: Sequence[Unit]) -> list[Unit]:
    """Units with Chinese characters cut into single characters, each with its share of the time."""
    cut: list[Unit] = []
    for unit in units:
        if not any(map(is_han, unit.text)):
            cut.append(unit)
            continue
        size = len(unit.text)
        cut += [
            replace(unit, text=letter, begin=place / size, end=(place + 1) / size)
            for place, letter in enumerate(unit.text)
        ]
    return cut


def _join_known(words: list[list[Unit]], vocabulary: frozenset[str]) -> list[list[Unit]]:
    longest = max(map(len, vocabulary), default=1)
    joined: list[list[Unit]] = []
    place = 0
    while place < len(words):
        reach = place + 1
        text = ""
        for end in range(place, min(len(words), place + longest)):
            text += _text(words[end])
            core = text.rstrip(PUNCTUATION)
            if end > place and core in vocabulary:
                reach = end + 1
            if core != text:
                break
        joined.append([unit for word in words[place:reach] for unit in word])
        place = reach
    return joined


def _text(word: Sequence[Unit]) -> str:
    return "".join(unit.text for unit in word).strip()


def assemble(
    tokens: Sequence[int],
    aligned: Sequence[Aligned],
    spell: Callable[[int], bytes],
    *,
    vocabulary: frozenset[str] = frozenset(),
) -> list[Heard]:
    """The words of a hypothesis with their times and probabilities.

    Args:
        tokens: Text tokens.
        aligned: One entry a token, or none at all (the words then have no times).
        spell: The bytes of a token.
        vocabulary: Chinese words of two characters and more.
    """
    heard: list[Heard] = []
    for word in split_words(spell_out(tokens, spell), vocabulary=vocabulary):
        spoken = [unit for unit in word if not is_mark(unit.text)]
        if not spoken:
            continue
        made = Heard(
            text=_text(word),
            key=fold(_text(word)),
            first=spoken[0].first,
            core=spoken[-1].last,
            last=word[-1].last,
            whole=word[-1].end == 1.0,
        )
        heard.append(_timed(made, spoken, aligned) if aligned else made)
    return heard


def _timed(word: Heard, spoken: Sequence[Unit], aligned: Sequence[Aligned]) -> Heard:
    onset = _at(aligned, spoken[0], spoken[0].begin)
    offset = _at(aligned, spoken[-1], spoken[-1].end)
    shares = [
        aligned[index].probability for unit in spoken for index in range(unit.first, unit.last)
    ]
    return replace(
        word,
        onset=onset,
        offset=max(onset, offset),
        probability=sum(shares) / len(shares),
    )


def _at(aligned: Sequence[Aligned], unit: Unit, share: float) -> Seconds:
    onset, offset = aligned[unit.first].onset, aligned[unit.last - 1].offset
    return onset + share * (offset - onset)
