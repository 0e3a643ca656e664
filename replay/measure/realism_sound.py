"""What a clip sounds like, and how its words are spoken.

* *Voice* is what Silero is at least 0.8 sure of, *silence* what it is at most 0.1 sure of, in
  windows of 32 ms; silence within 0.1 s of anything else is passed over (breath, reverberation).
* The *signal-to-noise ratio* is the mean power of voice less that of silence, over that of
  silence. Without half a second of each there is none. It stops at 80 dB (digital silence).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replay.measure.asr_truth import TrueWord
from streaming.vad import WINDOW, VoiceModel

MOST_DB = 80.0
_VOICE, _SILENCE, _APART, _LEAST = 0.8, 0.1, 3, 16
"""Probabilities; windows that silence keeps away; windows of each that are needed."""
_PAUSE = 0.15

_DEICTIC_EN = ("this", "that", "these", "those", "here", "there")
_DEICTIC_ZH = ("这", "那", "这个", "那个", "这里", "那里", "这儿", "那儿", "这边", "那边")
DEICTIC = frozenset((*_DEICTIC_EN, *_DEICTIC_ZH))

Values = dict[str, list[float]]


def sound_values(samples: NDArray[np.float32], model: VoiceModel) -> Values:
    """Level and signal-to-noise ratio of mono sound at 16 kHz; empty where there is no voice."""
    count = len(samples) // WINDOW
    if count < _LEAST:
        return {}
    windows = samples[: count * WINDOW].reshape(count, WINDOW)
    voice = np.array([model.probability(window) for window in windows])
    power = np.asarray((windows.astype(np.float64) ** 2).mean(axis=1))
    near = np.convolve(voice > _SILENCE, np.ones(2 * _APART + 1), mode="same")[:count] > 0
    spoken, silent = power[voice >= _VOICE], power[~near]
    if len(spoken) < _LEAST:
        return {}
    values = {"voice_level": [10 * math.log10(max(1e-12, float(spoken.mean())))]}
    if len(silent) >= _LEAST:
        noise = max(1e-12, float(silent.mean()))
        ratio = 10 * math.log10(max(1e-12, float(spoken.mean()) - noise) / noise)
        values["snr"] = [min(MOST_DB, ratio)]
    return values


def word_values(words: Sequence[TrueWord], language: str) -> Values:
    """Rate, lengths and pauses of timed words; empty when too few have times."""
    timed = [word for word in words if not math.isnan(word.onset + word.offset)]
    spoken = sum(word.offset - word.onset for word in timed)
    if len(timed) < 2 or spoken <= 0:
        return {}
    if language == "zh":
        values = {"rate_zh": [sum(len(word.text) for word in timed) / spoken]}
    else:
        values = {"rate_en": [len(timed) / spoken]}
    values["word_length"] = [float(np.median([word.offset - word.onset for word in timed]))]
    deictic = [word.offset - word.onset for word in timed if _plain(word.text) in DEICTIC]
    if deictic:
        values["deictic_length"] = [float(np.median(deictic))]
    gaps = [other.onset - one.offset for one, other in itertools.pairwise(timed)]
    if pauses := [gap for gap in gaps if gap >= _PAUSE]:
        values["pause"] = [float(np.median(pauses))]
    return values


def _plain(text: str) -> str:
    return text.lower().strip(".,!?;:。，！？ ")
