"""Simpler and later ways to bind words to strokes, to set beside :mod:`streaming.binding`.

All take the whole clip's words and strokes, each in order of time, and give every word the
position of its stroke, or None. ``nearest_apex`` is what a plain system does; ``offline_optimum``
is the binder's own goal with all of the future known, so the difference between the two is the
price of deciding early; ``hungarian`` is that goal without the order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from streaming.binding_assignment import Choice, best_assignment
from streaming.binding_scores import Scores
from streaming.events import Deictic, Seconds, Stroke


def nearest_apex(
    words: Sequence[Deictic], strokes: Sequence[Stroke], *, reach: Seconds = 1.5
) -> list[Choice]:
    """Each word in turn takes the free stroke whose apex is nearest to its onset.

    Args:
        words: In order of onset.
        strokes: In order of apex.
        reach: A stroke further away than this is not taken.
    """
    free = set(range(len(strokes)))
    choices: list[Choice] = []
    for word in words:
        near = [j for j in sorted(free) if abs(strokes[j].apex - word.onset) <= reach]
        choice = min(near, key=lambda j: abs(strokes[j].apex - word.onset), default=None)
        choices.append(choice)
        if choice is not None:
            free.discard(choice)
    return choices


def offline_optimum(
    words: Sequence[Deictic], strokes: Sequence[Stroke], scores: Scores
) -> list[Choice]:
    """The order-preserving assignment with the largest total gain over the whole clip."""
    return best_assignment([[scores.gain(word, stroke) for stroke in strokes] for word in words])


def hungarian(words: Sequence[Deictic], strokes: Sequence[Stroke], scores: Scores) -> list[Choice]:
    """The assignment with the largest total gain over the whole clip, crossings allowed."""
    choices: list[Choice] = [None] * len(words)
    if not words or not strokes:
        return choices
    gains = np.array([[scores.gain(word, stroke) for stroke in strokes] for word in words])
    for word, stroke in zip(*linear_sum_assignment(gains, maximize=True), strict=True):
        if gains[word, stroke] > 0.0:
            choices[int(word)] = int(stroke)
    return choices
