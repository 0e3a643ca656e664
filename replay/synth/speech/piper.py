"""A Piper voice (VITS, Kim et al. 2021), cut in two at the lengths of its phonemes.

The first half tells how many frames of 256 samples each phoneme lasts; the second makes the sound
for given lengths. Both draw noise in the original graph; here it comes from the caller's generator.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.synth.speech.graph_cut import cut
from replay.synth.speech.onnx_graph import Graph
from replay.synth.speech.phrase import PhraseWord, Utterance, word_bounds
from replay.synth.speech.voice_weights import JOE, JOE_SYMBOLS
from streaming.weights import checked, weight_file

_LENGTH_NOISE, _LENGTHS, _WHOLE_LENGTHS = (
    "/dp/RandomNormalLike_output_0",
    "/Mul_1_output_0",
    "/Ceil_output_0",
)
_SOUND_NOISE, _SOUND = "/RandomNormalLike_output_0", "output"
_LENGTH_CHANNELS, _SOUND_CHANNELS = 2, 192
_START, _END, _BLANK, _SPACE = "^", "$", "_", " "
"""Symbols that frame a phrase, part two symbols, and part two words."""


class PiperVoice:
    """The voice ``en_US-joe-medium``.

    Args:
        noise: Spread of the sound's details, as the voice was made for.
        length_noise: Spread of the phonemes' lengths.

    Raises:
        WeightsError: If the voice's package is missing or not the expected one.
    """

    rate = 22_050
    hop = 256
    border = 0.5

    def __init__(self, *, noise: float = 0.667, length_noise: float = 0.6) -> None:
        self._noise, self._length_noise = noise, length_noise

    @staticmethod
    def symbols() -> set[str]:
        """What a word's IPA may be made of."""
        return set(_symbol_table())

    def utter(
        self, words: Sequence[PhraseWord], *, speed: float, rng: np.random.Generator
    ) -> Utterance:
        """As :meth:`.phrase.PhraseModel.utter`; the words are IPA.

        Raises:
            ValueError: If a word holds a symbol that the voice does not know.
        """
        symbols, owners = _spell(words)
        identities = _identities(symbols)
        lengths, sound = _graphs()
        common: dict[str, NDArray[Any]] = {
            "input": identities[None],
            "input_lengths": np.array([len(identities)], np.int64),
            "scales": np.array([self._noise, 1.0 / speed, self._length_noise], np.float32),
        }
        drawn = rng.standard_normal((1, _LENGTH_CHANNELS, len(identities)))
        (raw,) = lengths(common | {_LENGTH_NOISE: drawn.astype(np.float32)})
        stretch = np.array([1.0] + [1.0 if at is None else words[at].emphasis for at in owners])
        # A symbol is followed by a blank, which sounds like the symbol and ends with it.
        frames = np.ceil(raw.ravel() * np.append(np.repeat(stretch, 2), 1.0))
        total = int(frames.sum())
        drawn = rng.standard_normal((1, _SOUND_CHANNELS, total))
        (samples,) = sound(
            common
            | {
                _WHOLE_LENGTHS: frames.reshape(raw.shape).astype(np.float32),
                _SOUND_NOISE: drawn.astype(np.float32),
            }
        )
        ends = np.cumsum(frames)[1::2] * self.hop
        return Utterance(
            samples=samples.ravel().astype(np.float32),
            rate=self.rate,
            bounds=word_bounds(owners, ends, len(words), border=self.border),
        )


def _spell(words: Sequence[PhraseWord]) -> tuple[str, list[int | None]]:
    """All symbols of a phrase, and which word each belongs to."""
    symbols = ""
    owners: list[int | None] = []
    for place, word in enumerate(words):
        if place:
            symbols += _SPACE
            owners.append(None)
        symbols += word.said + word.punctuation
        owners += [place] * len(word.said) + [None] * len(word.punctuation)
    return symbols, owners


def _identities(symbols: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    table = _symbol_table()
    found = [table[_START], table[_BLANK]]
    for symbol in symbols:
        if symbol not in table:
            raise ValueError(f"the voice joe has no symbol {symbol!r} (in {symbols!r})")
        found += [table[symbol], table[_BLANK]]
    return np.array([*found, table[_END]], np.int64)


@functools.cache
def _symbol_table() -> dict[str, int]:
    described = json.loads(checked(JOE_SYMBOLS).read_text(encoding="utf-8"))
    return {symbol: numbers[0] for symbol, numbers in described["phoneme_id_map"].items()}


@functools.cache
def _graphs() -> tuple[Graph, Graph]:
    """The half that tells the lengths, and the half that makes the sound."""
    model = weight_file(JOE).read_bytes()
    lengths = cut(model, inputs={_LENGTH_NOISE: ("float", 3)}, outputs=[_LENGTHS])
    sound = cut(
        model,
        inputs={_WHOLE_LENGTHS: ("float", 3), _SOUND_NOISE: ("float", 3)},
        outputs=[_SOUND],
    )
    return Graph(lengths), Graph(sound)
