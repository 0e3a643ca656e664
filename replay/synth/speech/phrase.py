"""What a voice's model does: say one phrase, and tell when each of its symbols sounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replay.synth.world import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseWord:
    """A word of a phrase.

    Attributes:
        text: As written.
        said: Its IPA or pinyin.
        punctuation: What follows it in writing, often nothing.
        emphasis: How much longer than usual it is said; 1: as usual.
    """

    text: str
    said: str
    punctuation: str = ""
    emphasis: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A phrase as sound.

    Attributes:
        samples: Mono, about -1...1.
        rate: Samples a second.
        bounds: Onset and offset of each word, in samples, shape ``(words, 2)``.
    """

    samples: NDArray[np.float32]
    rate: int
    bounds: Floats


class PhraseModel(Protocol):
    """A voice's model.

    Attributes:
        border: Where in the symbol between two words one sound turns into the other: 0: where the
            first word's symbols end, 1: where the second one's begin.
    """

    border: float

    def utter(
        self, words: Sequence[PhraseWord], *, speed: float, rng: np.random.Generator
    ) -> Utterance:
        """Say ``words`` as one phrase, ``speed`` times as fast as the voice does by itself."""
        ...


def steady_rounding(frames: Floats) -> NDArray[np.int64]:
    """Whole numbers of frames, at least 1 each, whose running sum follows that of ``frames``."""
    ends = np.round(np.cumsum(frames))
    return np.maximum(np.diff(ends, prepend=0.0), 1.0).astype(np.int64)


def word_bounds(owners: Sequence[int | None], ends: Floats, words: int, *, border: float) -> Floats:
    """Onset and offset of each word, from the ends of all symbols, of which one stands in front.

    Words follow each other without a gap, as they do in speech.

    Args:
        owners: For each symbol but the first, which word it belongs to, if any.
        ends: Where each symbol ends, the first one's included.
        words: How many there are.
        border: As in :class:`PhraseModel`.
    """
    bounds = np.zeros((words, 2))
    for place, owner in enumerate(owners):
        if owner is None:
            continue
        if place == 0 or owners[place - 1] != owner:
            bounds[owner, 0] = ends[place]
        bounds[owner, 1] = ends[place + 1]
    between = bounds[:-1, 1] + border * (bounds[1:, 0] - bounds[:-1, 1])
    bounds[:-1, 1] = bounds[1:, 0] = between
    return bounds


_QUIET_DB = -35.0
"""Level of what is heard as silence, against the loud parts of a phrase."""

_REACH, _SHORTEST = 0.12, 0.03
"""How far the sound may begin from its symbol, and how short a word can be, in seconds."""


def settled_edges(made: Utterance) -> Utterance:
    """The utterance with its first onset and its last offset where sound begins and ends.

    A voice's first and last symbols hold some of the silence around the phrase. What a voice may
    breathe well before its first word is not taken for it.
    """
    block = max(made.rate // 200, 1)
    blocks = len(made.samples) // block
    framed = made.samples[: blocks * block].astype(np.float64).reshape(blocks, block)
    level = np.sqrt(np.mean(framed**2, axis=1))
    loud = np.flatnonzero(level > np.quantile(level, 0.95) * 10.0 ** (_QUIET_DB / 20.0))
    if not len(loud):
        return made
    bounds = made.bounds.copy()
    reach, shortest = _REACH * made.rate, _SHORTEST * made.rate
    rises = loud[np.diff(loud, prepend=-2) > 1] * float(block)
    near = rises[np.abs(rises - bounds[0, 0]) <= reach]
    if len(near):
        bounds[0, 0] = min(near[0], bounds[0, 1] - shortest)
    ends = float((loud[-1] + 1) * block)
    if ends < bounds[-1, 1]:
        bounds[-1, 1] = max(ends, bounds[-1, 0] + shortest)
    return replace(made, bounds=bounds)
