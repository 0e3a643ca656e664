"""Hands in still pictures, each looked at on its own: a :class:`HandFinder` of visual budgets."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streaming.asking.visual_budget import SeenHand
from streaming.grounding_frames import Box
from streaming.hand_geometry import FoundHand
from streaming.hand_pose import pointing_score
from streaming.hand_search import HandSearch
from streaming.hands import HandSettings
from streaming.models.litert_hands import LiteRTHands

_REMEMBERED = 4096
"""The same frame is shown by many questions."""


class StillHands:
    """Finds hands in one picture at a time; any thread may ask.

    Args:
        settings: Of the search, as for a stream.

    Raises:
        HandModelError: If the library that runs the models cannot be loaded.
        WeightsError: If the weights are missing or wrong.
    """

    def __init__(self, settings: HandSettings | None = None) -> None:
        self._settings = settings or HandSettings()
        self._models = LiteRTHands()
        self._found: OrderedDict[bytes, tuple[SeenHand, ...]] = OrderedDict()
        self._turn = threading.Lock()

    def find(self, image: NDArray[np.uint8]) -> Sequence[SeenHand]:
        """Hands of an RGB picture."""
        key = hashlib.sha256(image.tobytes()).digest()
        with self._turn:
            if key not in self._found:
                self._found[key] = self._look(image)
                while len(self._found) > _REMEMBERED:
                    self._found.popitem(last=False)
            return self._found[key]

    def _look(self, image: NDArray[np.uint8]) -> tuple[SeenHand, ...]:
        aspect = image.shape[1] / image.shape[0]
        # A search of its own, so that nothing depends on the pictures before.
        search = HandSearch(self._models, self._settings.search)
        found = search.detect(image, milliseconds=1, aspect=aspect)
        return tuple(_seen(hand, aspect) for hand in found)


def _seen(hand: FoundHand, aspect: float) -> SeenHand:
    xs, ys = zip(*hand.landmarks, strict=True)
    left, right = (min(max(x, 0.0), 1.0) for x in (min(xs), max(xs)))
    top, bottom = (min(max(y, 0.0), 1.0) for y in (min(ys), max(ys)))
    least = 1e-3  # a hand at the very edge
    return SeenHand(
        box=Box(
            left=min(left, 1 - least),
            top=min(top, 1 - least),
            right=max(right, min(left, 1 - least) + least),
            bottom=max(bottom, min(top, 1 - least) + least),
        ),
        pointing=pointing_score(hand.landmarks, hand.depths, hand.world, aspect=aspect),
    )
