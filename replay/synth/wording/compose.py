"""Draws what is said: an instruction's wording, what each word does, and where the speaker pauses.

In an expression of several words ("this one", "right over there", "那个东西") the head ("this",
"there", "那个") is the word with the role and the stroke; the others are ``plain``.

"it" in "to the right of *it*" and "then take *it*" refers through a stroke, as EcoG-Bench's
instructions 4 and 5 have it, and is ``deictic``; where it takes up what was named before ("take
this and put *it* there") it is an ``anaphor``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from replay.synth.script import Difficulty, Language, Script, ScriptWord, StrokeTarget, WordRole
from replay.synth.wording.grammar import POINTING, Breath, Grammar, Named, Said
from replay.synth.wording.pauses import lay_pauses
from replay.synth.wording.settings import Habits, wording

INSTRUCTIONS = range(1, 7)
"""EcoG-Bench's instruction types; 1 is silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uttered:
    """A word on its way into the script.

    Attributes:
        target: What its stroke points at, when it has one.
        breath: Whether the speaker may pause before it.
    """

    text: str
    punctuation: str
    role: WordRole
    target: StrokeTarget | None
    breath: bool


def compose(
    rng: np.random.Generator, instruction: int, language: Language, difficulty: Difficulty
) -> Script:
    """Draw a wording of an instruction.

    Args:
        instruction: EcoG-Bench's type, 1...6; 1 has no words and one stroke at an object.

    Raises:
        ValueError: If there is no such instruction.
    """
    if instruction not in INSTRUCTIONS:
        raise ValueError(f"instruction is {instruction}, expected 1...6")
    if instruction == 1:
        return Script(language=language, words=(), strokes=1, referents=(0,), targets=("object",))
    file, grammar = wording(language)
    habits = file.habits(difficulty)
    said = _Writer(rng, grammar, habits).instruction(instruction)
    said = _with_restart(rng, said, habits.restart)
    said = _with_fillers(rng, said, grammar, habits.filler)
    said = _around(rng, said, grammar, habits)
    if language == "en":
        said = _capitalised(said, file.sentence_ends)
    return _script(language, said, lay_pauses(rng, said, file, habits))


def vocabulary(language: Language) -> tuple[str, ...]:
    """Every word that :func:`compose` can utter, sorted; English ones as inside a sentence."""
    _, grammar = wording(language)
    return tuple(sorted({word.text for word in grammar.words()}))


class _Writer:
    """Writes one instruction, with at most one correction."""

    def __init__(self, rng: np.random.Generator, grammar: Grammar, habits: Habits) -> None:
        self._rng = rng
        self._grammar = grammar
        self._habits = habits
        self._skip = -1  # expressions to go before the one that is corrected; below 0: none
        self._breath = False

    def instruction(self, number: int) -> list[Uttered]:
        anaphoric = self._rng.random() < self._habits.anaphor
        if self._rng.random() < self._habits.correction:
            self._skip = int(self._rng.integers(REFERENTS[number]))
        return self.phrase(f"{'it' if anaphoric else 'instruction'}_{number}", None)

    def phrase(self, name: str, target: StrokeTarget | None) -> list[Uttered]:
        """The words of an alternative of a phrase."""
        phrase = self._grammar[name]
        chosen = phrase.alternatives[_pick(self._rng, phrase.weights)]
        words: list[Uttered] = []
        for item in chosen:
            match item:
                case Breath():
                    self._breath = True
                case Said():
                    words.append(self._word(item, target))
                case Named():
                    inner = self.phrase(self._corrected(item.name), item.target or target)
                    if inner and item.punctuation:
                        inner[-1] = replace(inner[-1], punctuation=item.punctuation)
                    words += inner
        return words

    def _word(self, item: Said, target: StrokeTarget | None) -> Uttered:
        breath, self._breath = self._breath, False
        return Uttered(
            text=item.text,
            punctuation=item.punctuation,
            role=item.role,
            target=target if item.role in POINTING else None,
            breath=breath,
        )

    def _corrected(self, name: str) -> str:
        """The name of the phrase, or of that in which it is taken back and said anew."""
        other = f"{name}_corrected"
        if other not in self._grammar or self._skip < 0:
            return name
        self._skip -= 1
        return other if self._skip < 0 else name


REFERENTS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 4}
"""How many referents an instruction has."""


def _pick(rng: np.random.Generator, weights: tuple[float, ...]) -> int:
    return int(np.searchsorted(np.cumsum(weights), rng.random() * (1.0 - 1e-12), side="right"))


def _with_restart(
    rng: np.random.Generator, said: list[Uttered], probability: float
) -> list[Uttered]:
    """Begin a clause twice: "can you, can you take this"."""
    if rng.random() >= probability:
        return said
    starts = [
        place
        for place, word in enumerate(said)
        if (place == 0 or said[place - 1].punctuation) and word.role == "plain"
    ]
    if not starts:
        return said
    start = starts[int(rng.integers(len(starts)))]
    length = 1
    if start + 1 < len(said) and said[start + 1].role == "plain" and rng.random() < 0.5:
        length = 2
    again = said[start : start + length]
    if any(word.punctuation for word in again):
        return said
    comma = "," if said[start].text.isascii() else "，"
    begun = [*again[:-1], replace(again[-1], punctuation=comma)]
    return [*said[:start], *begun, replace(said[start], breath=True), *said[start + 1 :]]


def _with_fillers(
    rng: np.random.Generator, said: list[Uttered], grammar: Grammar, probability: float
) -> list[Uttered]:
    """Hesitate before a phrase or two."""
    for _ in range(2):
        if rng.random() >= probability:
            break
        places = [
            place
            for place, word in enumerate(said)
            if word.role != "filler"
            and (place == 0 or (word.breath and said[place - 1].role != "filler"))
        ]
        if not places:
            break
        place = places[int(rng.integers(len(places)))]
        writer = _Writer(rng, grammar, _SILENT)
        filler = writer.phrase("filler_first" if place == 0 else "filler", None)
        filler[0] = replace(filler[0], breath=True)
        before = said[:place]
        if before and not before[-1].punctuation:
            before[-1] = replace(before[-1], punctuation=filler[-1].punctuation)
        said = [*before, *filler, *said[place:]]
    return said


def _around(
    rng: np.random.Generator, said: list[Uttered], grammar: Grammar, habits: Habits
) -> list[Uttered]:
    """Say something before and after."""
    writer = _Writer(rng, grammar, _SILENT)
    if rng.random() < habits.opening and said[0].role != "filler":
        said = writer.phrase("opening", None) + said
    if rng.random() < habits.talk:
        said = writer.phrase("talk", None) + said
    if rng.random() < habits.tail:
        said = said + writer.phrase("tail", None)
    return said


_SILENT = Habits(
    opening=0.0,
    talk=0.0,
    tail=0.0,
    filler=0.0,
    correction=0.0,
    restart=0.0,
    anaphor=0.0,
    gap=(0.0, 0.0),
    comma=(0.0, 0.0),
    full_stop=(0.0, 0.0),
    hesitation=(0.0, 0.0),
)


def _capitalised(said: list[Uttered], ends: str) -> list[Uttered]:
    begins = True
    words: list[Uttered] = []
    for word in said:
        text = word.text[0].upper() + word.text[1:] if begins else word.text
        words.append(replace(word, text=text))
        begins = word.punctuation.endswith(tuple(ends))
    return words


def _script(language: Language, said: list[Uttered], pauses: list[float]) -> Script:
    words: list[ScriptWord] = []
    targets: list[StrokeTarget] = []
    referents: list[int] = []
    for word, pause in zip(said, pauses, strict=True):
        stroke = None
        if word.role in POINTING:
            assert word.target is not None
            stroke = len(targets)
            targets.append(word.target)
            if word.role == "deictic":
                referents.append(stroke)
        words.append(
            ScriptWord(
                text=word.text,
                punctuation=word.punctuation,
                role=word.role,
                stroke=stroke,
                pause=pause,
            )
        )
    return Script(
        language=language,
        words=tuple(words),
        strokes=len(targets),
        referents=tuple(referents),
        targets=tuple(targets),
    )
