"""Settings of the wording: ``configs/synth_wording.<language>.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from replay.synth.script import Difficulty, Language
from replay.synth.wording.grammar import Grammar
from streaming.config import config_path, load
from streaming.events import Seconds

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a word takes at normal speed, for laying out pauses before anything is spoken."""

    word: Seconds
    letter: Seconds

    def length(self, text: str) -> Seconds:
        """Nominal seconds of a word."""
        return self.word + self.letter * len(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How people talk at one difficulty.

    Attributes:
        opening, talk, tail: Probability of a word or two before the instruction, of a sentence
            before it that points nowhere, of something said after it.
        filler, correction, restart: Probability that there is one (a filler: also a second).
        anaphor: Probability of a wording with "it" without a stroke.
        gap: Between the onsets of successive words that point, seconds.
        comma, full_stop: Pause after them, seconds.
        hesitation: Pause before and after a filler, seconds.
    """

    opening: float
    talk: float
    tail: float
    filler: float
    correction: float
    restart: float
    anaphor: float
    gap: Range
    comma: Range
    full_stop: Range
    hesitation: Range


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingFile:
    """``configs/synth_wording.<language>.toml``.

    Attributes:
        sentence_ends: The punctuation that ends a sentence.
        grammar: Phrases by name, see :mod:`replay.synth.wording.grammar`.
    """

    language: Language
    sentence_ends: str
    pace: Pace
    easy: Habits
    real: Habits
    hard: Habits
    grammar: dict[str, str]

    def habits(self, difficulty: Difficulty) -> Habits:
        """How people talk at ``difficulty``."""
        return {"easy": self.easy, "real": self.real, "hard": self.hard}[difficulty]


@cache
def wording(language: Language) -> tuple[WordingFile, Grammar]:
    """The project's own wordings in ``language``.

    Raises:
        ConfigError: If the file cannot be used.
        ValueError: If its grammar cannot.
    """
    file = load(WordingFile, config_path(f"synth_wording.{language}.toml"))
    return file, Grammar(file.grammar)
