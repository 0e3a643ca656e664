"""Kokoro-82M (StyleTTS 2, Li et al. 2023), cut in two at the lengths of its phonemes.

The first half tells how many frames of 600 samples each symbol lasts; the second makes the sound
for given lengths. The graph draws no noise, so what varies from one time to the next is the rhythm.

A speaker is a style vector that depends on how many symbols a phrase has
(:mod:`replay.synth.speech.styles`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.synth.script import Language
from replay.synth.speech.graph_cut import cut
from replay.synth.speech.mandarin import in_a_row, syllables
from replay.synth.speech.onnx_graph import Graph
from replay.synth.speech.phrase import PhraseWord, Utterance, steady_rounding, word_bounds
from replay.synth.speech.styles import SPEAKERS, STEP, styles
from replay.synth.speech.voice_weights import KOKORO
from streaming.weights import weight_file

_LENGTHS, _WHOLE_LENGTHS = "/encoder/predictor/ReduceSum_output_0", "/encoder/Cast_output_0"
_PROSODY, _TEXT = (
    "/encoder/predictor/text_encoder/Concat_4_output_0",
    "/encoder/text_encoder/Transpose_2_output_0",
)
_SOUND = "audio"
_NUMBERED = {
    3: ",.",
    6: "?",
    16: " ",
    20: "ʦʨ",
    23: "ꭧAI",
    31: "O",
    36: "T",
    39: "W",
    41: "Yᵊab",
    46: "def",
    50: "hijklmnop",
    61: "stuvwxyzɑɐ",
    72: "æ",
    76: "ɔɕ",
    81: "ðʤə",
    85: "ɚɛɜ",
    92: "ɡ",
    99: "ɥ",
    101: "ɨɪ",
    112: "ŋ",
    119: "θ",
    123: "ɹ",
    126: "ɻ",
    130: "ʂʃ",
    133: "ʧ",
    135: "ʊ",
    138: "ʌ",
    140: "ɤ",
    147: "ʒʔ",
    156: "ˈˌ",
    162: "ʰ",
    169: "↓",
    171: "→↗↘",
    177: "ᵻ",
}
"""The symbols in use: each text is a run of symbols, numbered from its key on."""

_SYMBOLS = {
    symbol: first + place for first, run in _NUMBERED.items() for place, symbol in enumerate(run)
}
_EDGE, _SPACE = 0, " "
_TAIL = 4.0
"""Most frames of a symbol after all words: silence that nobody keeps."""

_AMERICAN = (
    ("ɔːɹ", "ɔɹ"), ("ɜːɹ", "ɜɹ"), ("ɜː", "ɜɹ"), ("ɚ", "əɹ"),
    ("eɪ", "A"), ("aɪ", "I"), ("oʊ", "O"), ("aʊ", "W"), ("ɔɪ", "Y"),
    ("dʒ", "ʤ"), ("tʃ", "ʧ"), ("ɾ", "T"), ("n\u0329", "ᵊn"), ("l\u0329", "ᵊl"),
    ("o", "ɔ"), ("e", "A"), ("ː", ""), ("r", "ɹ"),
)  # fmt: skip
"""IPA as Piper's American voices want it, and how Kokoro writes the same, in this order."""


class KokoroVoice:
    """One of the speakers.

    Args:
        speaker: One of :data:`replay.synth.speech.styles.SPEAKERS`.
        rhythm: Standard deviation of the symbols' lengths, as a fraction.

    Raises:
        ValueError: If there is no such speaker.
    """

    rate = 24_000
    hop = 600
    border = 0.0

    def __init__(self, speaker: str, language: Language, *, rhythm: float) -> None:
        if speaker not in SPEAKERS:
            raise ValueError(f"no speaker {speaker!r}; there are: {', '.join(SPEAKERS)}")
        self._speaker, self._language, self._rhythm = speaker, language, rhythm

    def utter(
        self, words: Sequence[PhraseWord], *, speed: float, rng: np.random.Generator
    ) -> Utterance:
        """As :meth:`.phrase.PhraseModel.utter`; the words are IPA or pinyin.

        Raises:
            ValueError: If a word cannot be written in the model's symbols.
        """
        symbols, owners = self._spell(words)
        numbers = [_EDGE, *(_number(symbol, symbols) for symbol in symbols), _EDGE]
        given: dict[str, NDArray[Any]] = {
            "tokens": np.array([numbers], np.int64),
            "style": _style(self._speaker, len(symbols)),
            "speed": np.ones(1, np.float32),
        }
        lengths, sound = _graphs()
        raw, given[_PROSODY], given[_TEXT] = lengths(given)
        stretch = np.array(
            [1.0] + [1.0 if at is None else words[at].emphasis for at in owners] + [1.0]
        )
        uneven = np.exp(self._rhythm * rng.standard_normal(raw.size))
        wished = raw.ravel().astype(np.float64) * stretch * uneven / speed
        last = max(place for place, owner in enumerate(owners) if owner is not None) + 1
        wished[last + 1 :] = np.minimum(wished[last + 1 :], _TAIL)
        frames = steady_rounding(wished)
        given[_WHOLE_LENGTHS] = frames.reshape(raw.shape)
        (samples,) = sound(given)
        ends = np.cumsum(frames).astype(np.float64) * self.hop
        return Utterance(
            samples=samples.ravel().astype(np.float32),
            rate=self.rate,
            bounds=word_bounds(owners, ends, len(words), border=self.border),
        )

    def _spell(self, words: Sequence[PhraseWord]) -> tuple[str, list[int | None]]:
        """All symbols of a phrase, and which word each belongs to."""
        spelled = _mandarin(words) if self._language == "zh" else [american(w.said) for w in words]
        symbols = ""
        owners: list[int | None] = []
        for place, (word, said) in enumerate(zip(words, spelled, strict=True)):
            if place:
                symbols += _SPACE
                owners.append(None)
            symbols += said + word.punctuation
            owners += [place] * len(said) + [None] * len(word.punctuation)
        return symbols, owners


def american(ipa: str) -> str:
    """An English word's IPA as Kokoro writes it."""
    for theirs, ours in _AMERICAN:
        ipa = ipa.replace(theirs, ours)
    return ipa


def _mandarin(words: Sequence[PhraseWord]) -> list[str]:
    row = in_a_row([syllables(word.said, word.text) for word in words])
    return ["".join(syllable.phonemes for syllable in word) for word in row]


def _number(symbol: str, symbols: str) -> int:
    if symbol not in _SYMBOLS:
        raise ValueError(f"Kokoro has no symbol {symbol!r} (in {symbols!r})")
    return _SYMBOLS[symbol]


def _style(speaker: str, symbols: int) -> NDArray[np.float32]:
    """The style vector of a phrase of so many symbols, shape ``(1, 256)``."""
    rows = styles()[speaker]
    place = min(symbols / STEP, len(rows) - 1.0)
    below = min(int(place), len(rows) - 2)
    above = np.float32(place - below)
    mixed: NDArray[np.float32] = rows[below] * (1 - above) + rows[below + 1] * above
    return mixed[None]


@functools.cache
def _graphs() -> tuple[Graph, Graph]:
    """The half that tells the lengths, and the half that makes the sound."""
    model = weight_file(KOKORO).read_bytes()
    lengths = cut(model, inputs={}, outputs=[_LENGTHS, _PROSODY, _TEXT])
    sound = cut(
        model,
        inputs={_WHOLE_LENGTHS: ("int64", 2), _PROSODY: ("float", 3), _TEXT: ("float", 3)},
        outputs=[_SOUND],
    )
    return Graph(lengths), Graph(sound)
