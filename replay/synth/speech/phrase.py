"""What a voice's model does: say one phrase, and tell when each of its symbols sounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    """A voice's model."""

    def utter(
        self, words: Sequence[PhraseWord], *, speed: float, rng: np.random.Generator
    ) -> Utterance:
        """Say ``words`` as one phrase, ``speed`` times as fast as the voice does by itself."""
        ...


def steady_rounding(frames: Floats) -> NDArray[np.int64]:
    """Whole numbers of frames, at least 1 each, whose running sum follows that of ``frames``."""
    ends = np.round(np.cumsum(frames))
    return np.maximum(np.diff(ends, prepend=0.0), 1.0).astype(np.int64)
