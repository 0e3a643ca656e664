"""Numbers of speech and sound tracks (``configs/synth_speech.toml``)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from replay.synth.script import Difficulty
from streaming.config import config_path, load
from streaming.events import Seconds

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SayingSettings:
    """How scripts are said.

    Attributes:
        shift: Furthest shift of pitch and formants, in semitones, either way.
        emphasis: How much longer a word is said that points; drawn from this range.
        rhythm: Standard deviation of the lengths of symbols, as a fraction, where the voice itself
            does not vary them.
        level: How much phrases differ in level, dB, either way.
        comma: Silence after punctuation inside a sentence where the script asks for none.
        stop: The same after the end of a sentence.
        splice: A pause shorter than this is cut into a phrase; a longer one parts two phrases.
        lead: How much sound before a phrase's first word is kept.
        tail: How much sound after its last word is kept.
    """

    shift: float
    emphasis: Range
    rhythm: float
    level: float
    comma: tuple[Seconds, Seconds]
    stop: tuple[Seconds, Seconds]
    splice: Seconds
    lead: Seconds
    tail: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackSettings:
    """What a sound track is like at one difficulty.

    Attributes:
        snr: Of speech to noise, dB, over the time of speech.
        reverb: Reverberation time (60 dB), seconds.
        distance: From the mouth to the microphone, metres.
        kinds: Most kinds of noise at once.
        clipping: Chance that the loudest parts are clipped.
        gain_control: Chance that quiet parts are made louder, as recorders do.
        stereo: Chance of two channels.
    """

    snr: Range
    reverb: Range
    distance: Range
    kinds: int
    clipping: float
    gain_control: float
    stereo: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechSettings:
    """All of ``configs/synth_speech.toml``.

    Attributes:
        level: Of a track, dBFS: of its speech, or of its noise where nothing is said.
    """

    level: Range
    saying: SayingSettings
    easy: TrackSettings
    real: TrackSettings
    hard: TrackSettings

    def at(self, difficulty: Difficulty) -> TrackSettings:
        """The settings of one difficulty."""
        return {"easy": self.easy, "real": self.real, "hard": self.hard}[difficulty]


@functools.cache
def speech_settings() -> SpeechSettings:
    """The project's own settings, read once.

    Raises:
        ConfigError: If the file cannot be read or holds something unknown.
    """
    return load(SpeechSettings, config_path("synth_speech.toml"))
