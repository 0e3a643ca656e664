"""What was said and seen since the last turn was over."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from streaming.events import Binding, Deictic, Seconds, Word
from streaming.grounding_frames import Keyframe

_MOST_WORDS = 500


@dataclass(slots=True)
class Turn:
    """What was said and seen since the last turn was over."""

    words: deque[Word] = field(default_factory=lambda: deque(maxlen=_MOST_WORDS))
    deictics: dict[int, Deictic] = field(default_factory=dict)
    bindings: deque[Binding] = field(default_factory=lambda: deque(maxlen=_MOST_WORDS))
    keyframes: dict[int, Keyframe] = field(default_factory=dict)
    speech_end: Seconds = -math.inf

    def going_on(self, earlier: Turn) -> Turn:
        """``earlier``, of which this turn is the rest."""
        return Turn(
            words=deque([*earlier.words, *self.words], maxlen=_MOST_WORDS),
            deictics={**earlier.deictics, **self.deictics},
            bindings=deque([*earlier.bindings, *self.bindings], maxlen=_MOST_WORDS),
            keyframes={**earlier.keyframes, **self.keyframes},
            speech_end=max(earlier.speech_end, self.speech_end),
        )

    def bound(self) -> set[int | None]:
        return {binding.deictic for binding in self.bindings}

    def lone_strokes(self) -> list[int]:
        """Strokes that stand alone by the binder's word."""
        return [
            binding.stroke
            for binding in self.bindings
            if binding.deictic is None and binding.stroke in self.keyframes
        ]

    def paired_strokes(self) -> list[int]:
        return [
            binding.stroke
            for binding in self.bindings
            if binding.deictic is not None and binding.stroke in self.keyframes
        ]

    def holds_over(self, *, seen: Seconds, most: Seconds, words_end: Seconds = -math.inf) -> bool:
        """Whether no stroke with a word is still held, as far as hands are ``seen``.

        One that is held ``most`` seconds after the words and its apex is not waited for. Where the
        words end is known from ``words_end`` while the speech is not over.
        """
        said = max(self.speech_end, words_end)
        for index in self.paired_strokes():
            frame = self.keyframes[index]
            if frame.hold_end is None and seen < max(said, frame.stroke.apex) + most:
                return False
        return True
