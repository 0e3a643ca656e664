"""What a clip is about: what is said, and what is pointed at when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streaming.events import Seconds

Language = Literal["en", "zh"]
Difficulty = Literal["easy", "real", "hard"]

WordRole = Literal["plain", "deictic", "anaphor", "non_deictic", "filler", "withdrawn"]
"""``deictic``: refers through a stroke. ``anaphor``: "it" without a stroke. ``non_deictic``: a
*that* or *there* that points nowhere ("I think that"). ``filler``: "uh". ``withdrawn``: a deictic
word that is taken back ("this ... no, that one"): it has a stroke, but is no referent."""


StrokeTarget = Literal["object", "space", "left", "right", "front", "behind"]
"""What a stroke points at: an object, a free place itself, or an object on which side of it, as the
wearer sees it, the place lies that is meant ("to the right of *that*"; ``front``: nearer to the
wearer)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptWord:
    """A word to be said.

    Attributes:
        text: As written, without punctuation; in Chinese a word of one or more characters.
        punctuation: What follows it in writing, often nothing.
        role: What it does.
        stroke: Number of the stroke it refers through, counted from 0 in order; else None.
        pause: Silence to be made before it, in seconds.
    """

    text: str
    punctuation: str = ""
    role: WordRole = "plain"
    stroke: int | None = None
    pause: Seconds = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """An instruction as it will be said; no words: a silent one.

    Attributes:
        strokes: How many strokes the words refer through, withdrawn ones included.
        referents: For each referent of the answer, in order, the number of its stroke.
        targets: For each stroke, withdrawn ones included, what it points at.
    """

    language: Language
    words: tuple[ScriptWord, ...]
    strokes: int
    referents: tuple[int, ...]
    targets: tuple[StrokeTarget, ...] = ()

    @property
    def text(self) -> str:
        """The sentence in writing."""
        gap = "" if self.language == "zh" else " "
        return gap.join(word.text + word.punctuation for word in self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenWord:
    """When a word is heard, in seconds from the start of the sound that it belongs to."""

    onset: Seconds
    offset: Seconds
