"""Whisper on CTranslate2, asked about short windows.

``transcribe()`` pads every window to 30 s; here the encoder sees the window and a little silence
behind it, and one encoding serves the decoder, the aligner and the language detection.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import tokenizers
from faster_whisper.feature_extractor import FeatureExtractor
from numpy.typing import NDArray

from streaming.events import SAMPLE_RATE, Seconds
from streaming.transcript_recognizer import Aligned, Decoded
from streaming.weights import WHISPER_BASE, WHISPER_TINY_EN, WeightsError, model_folder

FRAMES_PER_SECOND = 100
"""Of the spectrogram; the encoder gives half as many."""
MARK = 0.02
"""Seconds between two timestamp tokens."""
ONSET_BIASES: dict[tuple[tuple[int, int], ...], Seconds] = {
    ((1, 0), (2, 0), (2, 5), (3, 0), (3, 1), (3, 2), (3, 3), (3, 4)): 0.09,  # tiny.en
    ((3, 1), (4, 2), (4, 3), (4, 7), (5, 1), (5, 2), (5, 4), (5, 6)): -0.03,  # base
}
"""By alignment heads: median of (aligned - true onset), as ``deixis measure asr`` prints it."""
BUNDLED = {weights.name: weights for weights in (WHISPER_TINY_EN, WHISPER_BASE)}
LONGEST_WINDOW = 30
"""Seconds that the encoder was trained on."""


def find_model(name: str) -> Path:
    """Folder of a model: a bundled one, a folder, or one already in the local hub cache.

    Raises:
        WeightsError: If there is none; says what to do.
    """
    if name in BUNDLED:
        return model_folder(BUNDLED[name])
    if (Path(name) / "model.bin").is_file():
        return Path(name)
    from faster_whisper.utils import download_model

    try:
        return Path(download_model(name, local_files_only=True))
    except (ValueError, OSError) as error:
        raise WeightsError(
            f"no Whisper model {name!r}: not bundled ({', '.join(BUNDLED)}), no folder "
            f"with model.bin, nor in the local hub cache; download it there first ({error})"
        ) from error


class WhisperRecognizer:
    """A Whisper model (see :class:`streaming.transcript_recognizer.Recognizer`).

    Args:
        folder: A model in faster-whisper's form: ``model.bin``, ``config.json``,
            ``tokenizer.json``.
        threads: Of one call.
        calls: That go on at once: no session's hop waits for another's careful pass.
        onset_bias: See :class:`streaming.transcript_recognizer.Recognizer`; what was measured for
            the model's alignment heads when None.
    """

    def __init__(
        self,
        folder: Path,
        *,
        threads: int = 2,
        calls: int = 2,
        onset_bias: Seconds | None = None,
    ) -> None:
        try:
            self.model: Any = ctranslate2.models.Whisper(
                str(folder),
                device="cpu",
                compute_type="int8",
                intra_threads=threads,
                inter_threads=calls,
            )
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        except (RuntimeError, OSError, ValueError) as error:
            raise WeightsError(f"{folder} holds no usable Whisper model: {error}") from error
        self.multilingual: bool = self.model.is_multilingual
        self.onset_bias = _measured_bias(folder) if onset_bias is None else onset_bias
        self._features = FeatureExtractor(feature_size=_mel_bands(folder))
        self.start = self._special("<|startoftranscript|>")
        self.end = self._special("<|endoftext|>")
        self.first_mark = self._special("<|notimestamps|>") + 1

    def listen(self, sound: NDArray[np.float32], *, padding: Seconds = 1.0) -> WhisperWindow:
        """Encode ``sound`` and ``padding`` of silence behind it, 30 s at most."""
        if len(sound) < SAMPLE_RATE // 10:
            raise ValueError(f"{len(sound)} samples are too few to listen to")
        if len(sound) > LONGEST_WINDOW * SAMPLE_RATE:
            raise ValueError(f"{len(sound)} samples are more than {LONGEST_WINDOW} s")
        room = min(round(padding * SAMPLE_RATE), LONGEST_WINDOW * SAMPLE_RATE - len(sound))
        features = self._features(np.pad(sound, (0, room)), padding=160)
        view = ctranslate2.StorageView.from_array(
            np.ascontiguousarray(features[np.newaxis, :, : LONGEST_WINDOW * FRAMES_PER_SECOND])
        )
        return WhisperWindow(self, self.model.encode(view), len(sound) / SAMPLE_RATE)

    def spell(self, token: int) -> bytes:
        """The bytes of a token; empty for special tokens."""
        if token >= self.end:
            return b""
        piece = self._tokenizer.id_to_token(token) or ""
        return bytes(_byte_values()[letter] for letter in piece)

    def header(self, language: str) -> list[int]:
        """The tokens that open a transcript in ``language``."""
        if not self.multilingual:
            return [self.start]
        return [self.start, self._special(f"<|{language}|>"), self._special("<|transcribe|>")]

    def _special(self, name: str) -> int:
        token = self._tokenizer.token_to_id(name)
        if token is None:
            raise ValueError(f"the model knows no {name}")
        return int(token)


class WhisperWindow:
    """Encoded sound (see :class:`streaming.transcript_recognizer.Window`)."""

    def __init__(self, whisper: WhisperRecognizer, encoded: Any, duration: Seconds) -> None:
        self._whisper = whisper
        self._encoded = encoded
        self._duration = duration

    def languages(self, among: Sequence[str]) -> Mapping[str, float]:
        """Probabilities of ``among``; English alone for an English-only model."""
        if not self._whisper.multilingual:
            return {"en": 1.0}
        heard = {
            token[2:-2]: float(share)
            for token, share in self._whisper.model.detect_language(self._encoded)[0]
        }
        total = sum(heard.get(code, 0.0) for code in among) or 1.0
        return {code: heard.get(code, 0.0) / total for code in among}

    def decode(self, *, language: str, limit: int, beam: int = 1) -> Decoded:
        """Decode at temperature 0 with timestamp tokens, which keep short windows from looping."""
        whisper = self._whisper
        result = whisper.model.generate(
            self._encoded,
            [whisper.header(language)],
            beam_size=beam,
            max_length=min(448, 2 * limit),  # CTranslate2 halves it
            return_no_speech_prob=True,
        )[0]
        tokens: list[int] = []
        marks: list[tuple[int, Seconds]] = []
        for token in result.sequences_ids[0]:
            if token >= whisper.first_mark:
                marks.append((len(tokens), (token - whisper.first_mark) * MARK))
            elif token < whisper.end:
                tokens.append(token)
        return Decoded(
            tokens=tuple(tokens), marks=tuple(marks), no_speech=float(result.no_speech_prob)
        )

    def align(self, *, language: str, tokens: Sequence[int]) -> list[Aligned]:
        """Times by dynamic time warping over the cross-attention of the model's aligned heads."""
        if not tokens:
            return []
        whisper = self._whisper
        result = whisper.model.align(
            self._encoded,
            whisper.header(language),
            [list(tokens)],
            [round(self._duration * FRAMES_PER_SECOND)],
        )[0]
        onsets = [0.0] * (len(tokens) + 1)
        last = -1
        for position, frame in result.alignments:
            if position != last:
                for skipped in range(last + 1, position + 1):
                    onsets[min(skipped, len(tokens))] = frame * 2 / FRAMES_PER_SECOND
                last = position
        for missing in range(last + 1, len(tokens) + 1):
            onsets[missing] = self._duration
        return [
            Aligned(
                onset=onsets[index],
                offset=onsets[index + 1],
                probability=float(result.text_token_probs[index]),
            )
            for index in range(len(tokens))
        ]


def _mel_bands(folder: Path) -> int:
    path = folder / "preprocessor_config.json"
    if not path.is_file():
        return 80
    return int(json.loads(path.read_text(encoding="utf-8")).get("feature_size", 80))


def _measured_bias(folder: Path) -> Seconds:
    """The aligner's bias, which comes from the heads that it attends with; 0 when not measured."""
    path = folder / "config.json"
    if not path.is_file():
        return 0.0
    heads = json.loads(path.read_text(encoding="utf-8")).get("alignment_heads", [])
    return ONSET_BIASES.get(tuple((int(layer), int(head)) for layer, head in heads), 0.0)


@functools.cache
def _byte_values() -> dict[str, int]:
    """The byte of each letter in GPT-2's byte-level vocabulary: printable bytes stand for
    themselves, the others for the letters from U+0100 on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [value for value in range(256) if value not in printable]
    values = {chr(value): value for value in printable}
    values.update({chr(0x100 + index): value for index, value in enumerate(others)})
    return values


def offline_text(folder: Path, sound: NDArray[np.float32], *, language: str) -> str:
    """What faster-whisper's own greedy ``transcribe`` makes of a whole recording."""
    from faster_whisper import WhisperModel

    model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=2)
    segments, _ = model.transcribe(sound, beam_size=1, language=language)
    return " ".join(segment.text for segment in segments)
