"""Where a speaker pauses, and how long, so that the hand can follow.

Strokes lie about two seconds apart (EcoG-Bench's begin at 2.5, 4.5, 6.6 and 8.6 s on average), much
further than the words of "put this here" do; so people wait between the phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from replay.synth.wording.grammar import POINTING
from replay.synth.wording.settings import Habits, Range, WordingFile
from streaming.events import Seconds

if TYPE_CHECKING:
    from replay.synth.wording.compose import Uttered

CLAUSE_SHARE, PHRASE_SHARE = 3.0, 1.0
"""Weights of a place after punctuation and of one inside a clause in sharing out a wait."""


def lay_pauses(
    rng: np.random.Generator, said: Sequence[Uttered], file: WordingFile, habits: Habits
) -> list[Seconds]:
    """Silence before each word, seconds, such that the pointing words lie as far apart as drawn."""
    pauses = [_natural(rng, said, place, file, habits) for place in range(len(said))]
    lengths = [file.pace.length(word.text) for word in said]
    pointing = [place for place, word in enumerate(said) if word.role in POINTING]
    for first, second in pairwise(pointing):
        apart = sum(lengths[first:second]) + sum(pauses[first + 1 : second + 1])
        missing = _draw(rng, habits.gap) - apart
        if missing <= 0.0:
            continue
        shares = [
            _share(said, place) * rng.uniform(0.5, 1.0) for place in range(first + 1, second + 1)
        ]
        total = sum(shares)
        if total == 0.0:
            shares[-1] = total = 1.0
        for place, share in enumerate(shares, start=first + 1):
            pauses[place] += missing * share / total
    return [round(pause, 3) for pause in pauses]


def _natural(
    rng: np.random.Generator,
    said: Sequence[Uttered],
    place: int,
    file: WordingFile,
    habits: Habits,
) -> Seconds:
    """The pause that the punctuation and a filler make."""
    if place == 0:
        return 0.0
    before = said[place - 1]
    pause = 0.0
    if before.punctuation:
        stops = before.punctuation.endswith(tuple(file.sentence_ends))
        pause = _draw(rng, habits.full_stop if stops else habits.comma)
    if "filler" in (before.role, said[place].role):
        pause = max(pause, _draw(rng, habits.hesitation))
    return pause


def _share(said: Sequence[Uttered], place: int) -> float:
    if said[place - 1].punctuation:
        return CLAUSE_SHARE
    return PHRASE_SHARE if said[place].breath else 0.0


def _draw(rng: np.random.Generator, bounds: Range) -> float:
    return float(rng.uniform(*bounds))
