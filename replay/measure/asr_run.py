"""Runs the hearing on recordings: real models, real source, measured time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import psutil

from replay.measure.asr import Measures, listen, measure
from replay.measure.asr_truth import Recording
from replay.source import open_source
from streaming.clock import Stopwatch
from streaming.events import SAMPLE_RATE, AudioBlock, Seconds
from streaming.models.silero import Silero
from streaming.models.whisper import WhisperRecognizer, find_model, offline_text
from streaming.transcript import Transcript, TranscriptSettings
from streaming.vad import Vad, VadSettings

BLOCK = 512
AFTERWARDS: Seconds = 2.0
"""Silence behind a recording: a live stream goes on when the speaker has stopped."""
RSS_EVERY: Seconds = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One recording's measures, and what was heard in it."""

    measures: Measures
    model: str
    live: str
    final: str


class AsrRig:
    """Hearing with given settings, models loaded once.

    Args:
        model: Name of the Whisper model, or ``auto``.
        language: ``en``, ``zh``, ``auto``, or empty for each recording's own. With ``auto`` it is
            recognised from the sound where the recording does not state it.
        vad: Settings of the VAD.
        transcript: Settings of the transcript.
    """

    def __init__(
        self, *, model: str, language: str, vad: VadSettings, transcript: TranscriptSettings
    ) -> None:
        self._model = model
        self._language = language
        self._vad = vad
        self._transcript = transcript
        self._recognizers: dict[str, WhisperRecognizer] = {}

    @cached_property
    def _voice(self) -> Silero:
        return Silero()

    def language_of(self, recording: Recording) -> str:
        """Language to hear a recording in, or ``auto``."""
        if self._language == "auto" and recording.language_stated:
            return recording.language
        return self._language or recording.language

    def recognizer(self, recording: Recording) -> tuple[str, WhisperRecognizer]:
        """Name and recogniser for a recording."""
        language = self.language_of(recording)
        name = self._model
        if name == "auto":
            name = "tiny.en" if language == "en" else "base"
        if name not in self._recognizers:
            self._recognizers[name] = WhisperRecognizer(find_model(name))
        return name, self._recognizers[name]

    def hearing(self, recording: Recording) -> tuple[Vad, Transcript]:
        """A fresh VAD and a fresh transcript for a recording."""
        self._voice.reset()
        _, recognizer = self.recognizer(recording)
        language = self.language_of(recording)
        return (
            Vad(self._voice, self._vad),
            Transcript(recognizer, language=language, settings=self._transcript),
        )

    def measure(self, recording: Recording, *, reference: bool) -> Measured:
        """Hear one recording and compare."""
        name, _ = self.recognizer(recording)
        blocks = list(read_blocks(recording))
        vad, transcript = self.hearing(recording)
        duration = blocks[-1].offset if blocks else 0.0
        heard = listen([*blocks, *silence(duration, AFTERWARDS)], vad, transcript, watch=Stopwatch)
        heard.duration = duration
        offline = None
        if reference and blocks:
            sound = np.concatenate([block.samples for block in blocks])
            offline = offline_text(find_model(name), sound, language=recording.language)
        return Measured(
            measures=measure(recording.words, heard, language=recording.language, offline=offline),
            model=name,
            live=_joined([emitted.word.text for emitted in heard.emitted], recording.language),
            final=_joined([word.text for word in heard.final], recording.language),
        )


def _joined(words: Sequence[str], language: str) -> str:
    return ("" if language == "zh" else " ").join(words)


def read_blocks(recording: Recording) -> Iterator[AudioBlock]:
    """The sound of a recording as the source plays it."""
    for event in open_source(recording.audio).events():
        if isinstance(event, AudioBlock):
            yield event


def silence(onset: Seconds, duration: Seconds) -> Iterator[AudioBlock]:
    """Digital silence in blocks from ``onset`` on."""
    left, place = round(duration * SAMPLE_RATE), 0
    while left > 0:
        size = min(BLOCK, left)
        yield AudioBlock(
            onset=onset + place / SAMPLE_RATE, samples=np.zeros(size, dtype=np.float32)
        )
        place, left = place + size, left - size


def loop_memory(
    rig: AsrRig, recordings: Sequence[Recording], *, minutes: float
) -> list[tuple[float, float]]:
    """Resident memory in MB at each minute of one endless stream of the recordings.

    The stream is one session: one VAD, one transcript, time that goes on.
    """
    sounds = [
        np.concatenate([block.samples for block in read_blocks(recording)])
        for recording in recordings
    ]
    vad, transcript = rig.hearing(recordings[0])
    me: Any = psutil.Process(os.getpid())
    marks: list[tuple[float, float]] = []
    received, due = 0, RSS_EVERY
    gap = np.zeros(SAMPLE_RATE, dtype=np.float32)
    end = minutes * 60.0 * SAMPLE_RATE
    while received < end:
        for sound in (part for one in sounds for part in (one, gap)):
            for begin in range(0, len(sound), BLOCK):
                samples = sound[begin : begin + BLOCK]
                block = AudioBlock(onset=received / SAMPLE_RATE, samples=samples)
                for event in vad.push(block):
                    transcript.push(event)
                received += len(samples)
                if received / SAMPLE_RATE >= due:
                    marks.append((due / 60.0, me.memory_info().rss / 1e6))
                    due += RSS_EVERY
                if received >= end:
                    return marks
    return marks if marks else [(math.nan, math.nan)]
