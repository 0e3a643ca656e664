"""The sound of one utterance, kept as long as it is needed, with the pauses in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streaming.events import SAMPLE_RATE, Seconds


class Sound:
    """Samples counted from the first of the utterance; old ones can be dropped.

    Attributes:
        origin: Media time of sample 0.
        received: Samples appended so far.
        tail: Samples without voice at the end.

    Args:
        origin: Media time of sample 0.
        voice: Media time at which the voice begins; before it is pre-roll.
    """

    def __init__(self, origin: Seconds, *, voice: Seconds) -> None:
        self.origin = origin
        self.received = 0
        self.tail = 0
        self._voice = max(0, round((voice - origin) * SAMPLE_RATE))
        self._chunks: list[NDArray[np.float32]] = []
        self._kept_from = 0
        self._pauses: list[tuple[int, int]] = [(0, self._voice)] if self._voice else []

    def append(self, samples: NDArray[np.float32], *, voiced: bool) -> None:
        """Add samples that follow the ones before."""
        self._chunks.append(samples)
        self.received += len(samples)
        if not voiced:
            self.tail += len(samples)
        elif self.tail:
            end = self.received - len(samples)
            self._pauses.append((end - self.tail, end))
            self.tail = 0

    def time(self, sample: int) -> Seconds:
        """Media time of a sample."""
        return self.origin + sample / SAMPLE_RATE

    def sample(self, time: Seconds) -> int:
        """The sample at a media time."""
        return round((time - self.origin) * SAMPLE_RATE)

    def between(self, first: int, last: int) -> NDArray[np.float32]:
        """Samples ``[first, last)``, which must not have been dropped."""
        if first < self._kept_from:
            raise ValueError(f"samples from {first} were dropped up to {self._kept_from}")
        if len(self._chunks) > 1:
            self._chunks = [np.concatenate(self._chunks)]
        return self._chunks[0][first - self._kept_from : last - self._kept_from]

    def drop(self, before: int) -> None:
        """Forget the samples before ``before``, and the pauses that lie there."""
        if before <= self._kept_from:
            return
        kept = self.between(before, self.received).copy()
        self._chunks = [kept]
        self._kept_from = before
        self._pauses = [pause for pause in self._pauses if pause[1] > before]

    def pauses(self, *, shortest: Seconds = 0.15) -> list[tuple[Seconds, Seconds]]:
        """Media times of the spans without voice, the one at the end included."""
        spans = list(self._pauses)
        if self.tail:
            spans.append((self.received - self.tail, self.received))
        return [
            (self.time(first), self.time(last))
            for first, last in spans
            if last - first >= shortest * SAMPLE_RATE or first == 0
        ]
