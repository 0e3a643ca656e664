"""The program espeak-ng as a voice: light, plain to hear that it is a machine, chosen by name only.

It runs as a program of its own (GPL-3.0; nothing of it is imported), once a word, so the times of
words are those of their sounds. English is read from the text by its own rules, Chinese from the
project's pinyin (not all builds of the program know characters).
"""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replay.synth.script import Language
from replay.synth.speech.phrase import PhraseWord, Utterance

PROGRAM = "espeak-ng"
_VOICES: dict[Language, str] = {"en": "en-us", "zh": "cmn-latn-pinyin"}
_WORDS_A_MINUTE = 150
_SILENCE = 0.004
"""Amplitude of what counts as silence at the ends of a word."""


class EspeakVoice:
    """The program's usual voice of a language.

    Raises:
        ValueError: If the program is not on the PATH.
    """

    border = 0.0

    def __init__(self, language: Language) -> None:
        found = shutil.which(PROGRAM)
        if found is None:
            raise ValueError(
                f"voice 'espeak' needs the program {PROGRAM} on the PATH; install it, or choose "
                "another voice"
            )
        self._program, self._language = found, language

    def utter(
        self, words: Sequence[PhraseWord], *, speed: float, rng: np.random.Generator
    ) -> Utterance:
        """As :meth:`.phrase.PhraseModel.utter`.

        Raises:
            ValueError: If the program fails, or says nothing.
        """
        sounds: list[NDArray[np.float32]] = []
        bounds: list[tuple[float, float]] = []
        at, rate = 0, 22_050
        for word in words:
            written = word.text if self._language == "en" else word.said.replace(" ", "")
            rate, sound = self._word(written, speed / word.emphasis)
            bounds.append((at, at + len(sound)))
            at += len(sound)
            sounds.append(sound)
        return Utterance(
            samples=np.concatenate(sounds), rate=rate, bounds=np.array(bounds, np.float64)
        )

    def _word(self, text: str, speed: float) -> tuple[int, NDArray[np.float32]]:
        pace = str(round(_WORDS_A_MINUTE * speed))
        command = [self._program, "-v", _VOICES[self._language], "-s", pace, "--stdin", "--stdout"]
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
        if done.returncode != 0:
            reason = done.stderr.decode(errors="replace").strip()
            raise ValueError(f"{PROGRAM} cannot say {text!r}: {reason}")
        # Written to a pipe, the header does not know how much sound follows.
        with wave.open(io.BytesIO(done.stdout)) as spoken:
            rate = spoken.getframerate()
        body = np.frombuffer(done.stdout[44 : len(done.stdout) // 2 * 2], "<i2")
        samples = body.astype(np.float32) / 32768.0
        loud = np.flatnonzero(np.abs(samples) > _SILENCE)
        if not len(loud):
            raise ValueError(f"{PROGRAM} says nothing for {text!r}")
        return rate, samples[loud[0] : loud[-1] + 1]
