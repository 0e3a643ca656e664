"""Where somebody speaks: sound cut into utterances, on integer sample counts.

The sound is judged in windows of 512 samples (32 ms) counted from the stream's first sample, so how
the blocks were cut changes nothing. An utterance opens after :attr:`VadSettings.min_speech` of
voice and closes after :attr:`VadSettings.min_silence` without; in between the lower threshold
holds (hysteresis). What is passed on begins :attr:`VadSettings.pre_roll` before the voice, so that
a soft first consonant survives, and never before the last voice of the utterance before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streaming.events import (
    SAMPLE_RATE,
    AudioBlock,
    Counters,
    Seconds,
    Speech,
    SpeechEnd,
    SpeechSeen,
    SpeechStart,
)

WINDOW = 512
Heard: TypeAlias = Speech | SpeechStart | SpeechEnd | SpeechSeen


class VoiceModel(Protocol):
    """Judges windows of 512 samples, one after the other."""

    def probability(self, window: NDArray[np.float32]) -> float:
        """How likely a voice is in the window, 0...1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VadSettings:
    """Settings of :class:`Vad` (``configs/vad.toml``).

    Attributes:
        on: Probability from which a window opens an utterance.
        off: Probability under which a window counts as silent in an open utterance.
        min_speech: Voice that opens an utterance.
        min_silence: Silence that closes it.
        pre_roll: Sound passed on from before the voice.
        watermark: Longest time between two watermarks.
    """

    on: float = 0.5
    off: float = 0.35
    min_speech: Seconds = 0.096
    min_silence: Seconds = 1.0
    pre_roll: Seconds = 0.3
    watermark: Seconds = 0.064

    def __post_init__(self) -> None:
        if not 0.0 < self.off <= self.on < 1.0:
            raise ValueError(f"thresholds off={self.off}, on={self.on}: need 0 < off <= on < 1")
        for name in ("min_speech", "min_silence", "watermark"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0")
        if self.pre_roll < 0.0:
            raise ValueError(f"pre_roll is {self.pre_roll}, expected 0 or more")


def _windows(seconds: Seconds) -> int:
    return max(1, round(seconds * SAMPLE_RATE / WINDOW))


class Vad:
    """Cuts sound into utterances.

    Counters: ``vad_samples`` received, of which ``vad_samples_voiced`` fell into an open utterance
    (the pauses inside it included) and ``vad_samples_silent`` did not; ``vad_gap_samples`` were
    missing between blocks and taken as silence.

    Args:
        model: Judges the windows; it must not have heard anything yet.
        settings: See :class:`VadSettings`.
    """

    accepts: tuple[type, ...] = (AudioBlock,)

    def __init__(self, model: VoiceModel, settings: VadSettings | None = None) -> None:
        settings = settings or VadSettings()
        self.counters = Counters()
        self._model = model
        self._on, self._off = settings.on, settings.off
        self._min_speech = _windows(settings.min_speech)
        self._min_silence = _windows(settings.min_silence)
        self._watermark = _windows(settings.watermark)
        self._pre_roll = round(settings.pre_roll * SAMPLE_RATE / WINDOW)
        self._origin: Seconds = 0.0
        self._received = 0
        self._judged = 0  # windows
        self._rest = np.zeros(0, dtype=np.float32)
        self._held: list[NDArray[np.float32]] = []  # what the next utterance could begin with
        self._run = 0  # windows: voice while closed, silence while open
        self._open = False
        self._utterance = -1
        self._seen_at = 0
        self._decided_until = 0

    def push(self, event: AudioBlock) -> list[Heard]:
        """Take sound that follows the sound before.

        Raises:
            ValueError: If the block begins before the end of the one before.
        """
        samples = self._continued(event)
        self._received += len(samples)
        self.counters.add("vad_samples", len(samples))
        sound = np.concatenate([self._rest, samples])
        whole = len(sound) // WINDOW * WINDOW
        self._rest = sound[whole:].copy()
        said: list[Heard] = []
        for begin in range(0, whole, WINDOW):
            said += self._judge(sound[begin : begin + WINDOW].copy(), real=WINDOW)
        return said

    def finish(self) -> list[Heard]:
        """Judge the last part of a window and close what is open."""
        said: list[Heard] = []
        real = len(self._rest)
        if real:
            said += self._judge(np.pad(self._rest, (0, WINDOW - real)), real=real)
            self._rest = self._rest[:0]
        if self._open:
            said.append(self._close())
        said.append(SpeechSeen(until=self._time(self._received)))
        return said

    def _continued(self, block: AudioBlock) -> NDArray[np.float32]:
        if self._received == 0:
            self._origin = block.onset
        missing = round((block.onset - self._origin) * SAMPLE_RATE) - self._received
        if missing < -1:
            raise ValueError(
                f"audio block begins at {block.onset:.6f} s, before the sound already received "
                f"ends at {self._time(self._received):.6f} s"
            )
        if missing > 1:
            self.counters.add("vad_gap_samples", missing)
            return np.concatenate([np.zeros(missing, dtype=np.float32), block.samples])
        return block.samples

    def _time(self, samples: int) -> Seconds:
        return self._origin + samples / SAMPLE_RATE

    def _judge(self, window: NDArray[np.float32], *, real: int) -> list[Heard]:
        probability = self._model.probability(window)
        self._judged += 1
        said = (
            self._while_open(window, probability, real)
            if self._open
            else self._while_closed(window, probability, real)
        )
        if self._judged - self._seen_at >= self._watermark:
            self._seen_at = self._judged
            said.append(SpeechSeen(until=self._decided()))
        return said

    def _decided(self) -> Seconds:
        """Before this time everything is passed on or known to be no speech."""
        held = 0 if self._open else len(self._held)
        self._decided_until = max(self._decided_until, (self._judged - held) * WINDOW)
        return self._time(self._decided_until)

    def _while_closed(
        self, window: NDArray[np.float32], probability: float, real: int
    ) -> list[Heard]:
        self._held.append(window)
        threshold = self._on if self._run == 0 else self._off
        self._run = self._run + 1 if probability >= threshold else 0
        if self._run < self._min_speech:
            del self._held[: max(0, len(self._held) - self._pre_roll - self._run)]
            self.counters.add("vad_samples_silent", real)
            return []
        first = self._judged - len(self._held)
        onset = self._time((self._judged - self._run) * WINDOW)
        self.counters.add("vad_samples_voiced", real)
        self._utterance += 1
        start = SpeechStart(utterance=self._utterance, onset=onset)
        sound = Speech(
            utterance=self._utterance,
            onset=self._time(first * WINDOW),
            samples=np.concatenate(self._held),
        )
        self._held = []
        self._open, self._run = True, 0
        return [start, sound]

    def _while_open(
        self, window: NDArray[np.float32], probability: float, real: int
    ) -> list[Heard]:
        self._run = 0 if probability >= self._off else self._run + 1
        self._held = (
            [*self._held, window][-self._pre_roll :] if self._run and self._pre_roll else []
        )
        self.counters.add("vad_samples_voiced", real)
        said: list[Heard] = [
            Speech(
                utterance=self._utterance,
                onset=self._time((self._judged - 1) * WINDOW),
                samples=window[:real],
                voiced=self._run == 0,
            )
        ]
        if self._run >= self._min_silence:
            said.append(self._close())
        return said

    def _close(self) -> SpeechEnd:
        end = min(self._received, (self._judged - self._run) * WINDOW)
        self._open, self._run = False, 0
        return SpeechEnd(utterance=self._utterance, offset=self._time(end))
