"""What the transcript asks of a speech recogniser: sound in, tokens and their times out.

Times are seconds from the first sample of the window that was listened to. Tokens are the
recogniser's own numbers; what they spell are bytes, since a token may end inside a character.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """One hypothesis for a window.

    Attributes:
        tokens: Text tokens.
        marks: ``(position, time)`` of the segment boundaries that the recogniser set: before the
            token at ``position`` it believed to be at ``time``.
        no_speech: Its probability that the window holds no speech, 0...1.
    """

    tokens: tuple[int, ...]
    marks: tuple[tuple[int, Seconds], ...] = ()
    no_speech: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """When one token is spoken, and how likely it is after the tokens before it."""

    onset: Seconds
    offset: Seconds
    probability: float


class Window(Protocol):
    """Sound that was listened to once and can be asked more than once."""

    def languages(self, among: Sequence[str]) -> Mapping[str, float]:
        """Probability of each of the languages ``among``, which add up to 1."""
        ...

    def decode(
        self,
        *,
        language: str,
        limit: int,
        beam: int = 1,
    ) -> Decoded:
        """The most likely tokens.

        Args:
            language: ISO 639-1 code.
            limit: At most so many tokens, segment boundaries included.
            beam: Width of the beam search; 1 is greedy.
        """
        ...

    def align(self, *, language: str, tokens: Sequence[int]) -> list[Aligned]:
        """When each of ``tokens`` is spoken; one entry a token, times never falling."""
        ...


class Recognizer(Protocol):
    """A speech recogniser.

    Attributes:
        multilingual: Whether it knows more than English.
        onset_bias: How much later than the voice its word onsets lie, seconds.
    """

    multilingual: bool
    onset_bias: Seconds

    def listen(self, sound: NDArray[np.float32], *, padding: Seconds) -> Window:
        """Listen to ``sound``, shape ``(n,)``, mono float32 at 16 kHz, and silence behind it."""
        ...

    def spell(self, token: int) -> bytes:
        """The UTF-8 bytes of a token, possibly only a part of a character."""
        ...
