"""A voice model and a recogniser for tests: the sound says where on the timeline it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streaming.events import SAMPLE_RATE, AudioBlock, Seconds
from streaming.transcript_recognizer import Aligned, Decoded

SCALE = 2.0**-24
"""Sample number n is written as n times this, which float32 holds exactly for 17 minutes."""


@dataclass(frozen=True)
class Said:
    """A word of the script."""

    text: str
    onset: Seconds
    offset: Seconds


def script(*words: tuple[str, float, float]) -> list[Said]:
    return [Said(*word) for word in words]


def blocks_of(duration: Seconds, *, sizes: Sequence[int] = (512,)) -> list[AudioBlock]:
    """The whole timeline, cut into blocks of the sizes, round and round."""
    total = round(duration * SAMPLE_RATE)
    blocks, place, turn = [], 0, 0
    while place < total:
        size = min(sizes[turn % len(sizes)], total - place)
        samples = (np.arange(place + 1, place + size + 1) * SCALE).astype(np.float32)
        blocks.append(AudioBlock(onset=place / SAMPLE_RATE, samples=samples))
        place, turn = place + size, turn + 1
    return blocks


def time_of(sample: float) -> Seconds:
    return (sample / SCALE - 1) / SAMPLE_RATE


class FakeVoice:
    """Hears a voice wherever the script has a word."""

    def __init__(self, said: Sequence[Said]) -> None:
        self._said = said

    def probability(self, window: NDArray[np.float32]) -> float:
        if not window.any():
            return 0.0
        middle = time_of(float(window[len(window) // 2])) if window[len(window) // 2] else -1.0
        return 0.9 if any(word.onset <= middle < word.offset for word in self._said) else 0.05


@dataclass
class FakeRecognizer:
    """Knows the script; a word that the window cuts off is heard as its first two letters."""

    said: Sequence[Said]
    multilingual: bool = False
    onset_bias: Seconds = 0.0
    probability: float = 0.9
    shares: Mapping[str, float] = field(default_factory=lambda: {"en": 1.0})
    asked: list[tuple[Seconds, Seconds]] = field(default_factory=list)
    loop: bool = False

    def listen(self, sound: NDArray[np.float32], *, padding: Seconds) -> FakeWindow:
        heard = np.flatnonzero(sound)
        begin = time_of(float(sound[heard[0]])) - int(heard[0]) / SAMPLE_RATE
        end = time_of(float(sound[heard[-1]])) + (len(sound) - int(heard[-1])) / SAMPLE_RATE
        self.asked.append((begin, end))
        return FakeWindow(self, begin, end, audible=time_of(float(sound[heard[0]])))

    def spell(self, token: int) -> bytes:
        word = self.said[token // 2].text
        return f" {word if token % 2 == 0 else word[:2]}".encode()


@dataclass
class FakeWindow:
    fake: FakeRecognizer
    begin: Seconds
    end: Seconds
    audible: Seconds

    def languages(self, among: Sequence[str]) -> Mapping[str, float]:
        return {code: self.fake.shares.get(code, 0.0) for code in among}

    def decode(self, *, language: str, limit: int, beam: int = 1) -> Decoded:
        tokens = [
            2 * index + (word.offset > self.end)
            for index, word in enumerate(self.fake.said)
            if word.offset > self.audible + 0.05 and word.onset < self.end - 0.05
        ]
        if self.fake.loop and tokens:
            marks = ((len(tokens), self.end - self.begin),)
            return Decoded(tokens=tuple(tokens * 5)[:limit], marks=marks)
        return Decoded(tokens=tuple(tokens[:limit]))

    def align(self, *, language: str, tokens: Sequence[int]) -> list[Aligned]:
        placed = []
        for token in tokens:
            word = self.fake.said[token // 2]
            onset = max(word.onset, self.audible) - self.begin
            offset = min(word.offset, self.end) - self.begin
            placed.append(Aligned(onset=onset, offset=offset, probability=self.fake.probability))
        return placed
