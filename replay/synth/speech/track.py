"""The sound track of a clip: speech in a room, among other sounds, as a recorder takes it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from replay.synth.script import Difficulty
from replay.synth.speech.babble import babble
from replay.synth.speech.noise import KINDS, dulled, even
from replay.synth.speech.room import heard
from replay.synth.speech.saying import RATE, Speech
from replay.synth.speech.settings import TrackSettings, speech_settings
from replay.synth.world import Floats
from streaming.events import Seconds

_HEADROOM = 0.97
"""Highest peak of a track that is not clipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soundtrack:
    """What a clip sounds like, and what was drawn for it.

    Attributes:
        samples: Shape ``(n, channels)``, -1...1.
        rate: Samples a second.
        start: Time of the speech's first sample, seconds; a word is heard at ``start`` + its own
            onset.
        snr_db: Power of the speech while it is said over that of the noise; in a silent clip that
            of a speech that might have been.
        reverb: Reverberation time (60 dB), seconds.
        distance: From the mouth to the microphone, metres.
        kinds: Names of the background sounds, the strongest first.
        level_db: Of the speech, dBFS, before clipping or gain control.
        clipped: Whether the loudest parts are clipped.
        gain_controlled: Whether quiet parts were made louder.
    """

    samples: NDArray[np.float32] = field(repr=False)
    rate: int
    start: Seconds
    snr_db: float
    reverb: Seconds
    distance: float
    kinds: tuple[str, ...]
    level_db: float
    clipped: bool
    gain_controlled: bool


def mix(
    rng: np.random.Generator,
    difficulty: Difficulty,
    speech: Speech | None,
    *,
    seconds: Seconds,
    start: Seconds = 0.0,
) -> Soundtrack:
    """A sound track of ``seconds`` in which ``speech`` begins at ``start``.

    Args:
        speech: None, or one without words: background only.

    Raises:
        ValueError: If a word lies outside of the track.
    """
    drawn = speech_settings()
    settings = drawn.at(difficulty)
    length = round(seconds * RATE)
    channels = 2 if rng.uniform() < settings.stereo else 1
    snr = float(rng.uniform(*settings.snr))
    reverb, distance = float(rng.uniform(*settings.reverb)), float(rng.uniform(*settings.distance))
    level = float(rng.uniform(*drawn.level))
    kinds, noise = background(rng, length, channels, most=settings.kinds)
    voice, said = np.zeros((length, channels)), np.zeros(length, bool)
    if speech is not None and speech.words:
        dry, said = placed(speech, length, start)
        voice = heard(rng, dry, reverb=reverb, distance=distance, channels=channels)
        voice *= 10.0 ** (level / 20.0) / max(_loudness(voice[said]), 1e-9)
    track = voice + noise * 10.0 ** ((level - snr) / 20.0)
    samples, clipped, controlled = _recorded(rng, track, settings)
    return Soundtrack(
        samples=samples.astype(np.float32),
        rate=RATE,
        start=start,
        snr_db=snr,
        reverb=reverb,
        distance=distance,
        kinds=kinds,
        level_db=level,
        clipped=clipped,
        gain_controlled=controlled,
    )


def placed(speech: Speech, length: int, start: Seconds) -> tuple[Floats, NDArray[np.bool_]]:
    """The dry speech in a track of ``length`` samples, and where a word is said.

    Raises:
        ValueError: If a word lies outside of the track.
    """
    first = round(start * RATE)
    last = start + speech.words[-1].offset
    if start + speech.words[0].onset < 0.0 or last > length / RATE:
        raise ValueError(
            f"speech from {start:.2f} to {last:.2f} s does not fit into {length / RATE:.2f} s"
        )
    dry = np.zeros(length)
    begin, end = max(first, 0), min(first + len(speech.samples), length)
    dry[begin:end] = speech.samples[begin - first : end - first]
    said = np.zeros(length, bool)
    for word in speech.words:
        said[round((start + word.onset) * RATE) : round((start + word.offset) * RATE)] = True
    return dry, said


def background(
    rng: np.random.Generator, length: int, channels: int, *, most: int
) -> tuple[tuple[str, ...], Floats]:
    """Names of the sounds, the strongest first, and their sum with a root mean square of 1."""
    names = [*KINDS, "babble"]
    count = int(rng.integers(1, most + 1))
    chosen = [names[place] for place in rng.choice(len(names), size=count, replace=False)]
    total = np.zeros((length, channels))
    for place, name in enumerate(chosen):
        weight = 10.0 ** (-rng.uniform(2.0, 8.0) * place / 20.0)
        sound = babble(rng, length) if name == "babble" else KINDS[name](rng, length)
        for channel in range(channels):
            total[:, channel] += weight * (dulled(rng, sound) if channel else sound)
    hiss = rng.standard_normal((length, channels)) * 0.05
    return tuple(chosen), np.asarray(even(total + hiss))


def _recorded(
    rng: np.random.Generator, track: Floats, settings: TrackSettings
) -> tuple[Floats, bool, bool]:
    """The track after the recorder, whether it clipped, and whether it evened out the level."""
    clipped = bool(rng.uniform() < settings.clipping)
    controlled = bool(rng.uniform() < settings.gain_control)
    share = rng.uniform(0.001, 0.006)
    if controlled:
        track = _gain_controlled(track)
    if clipped:
        ceiling = float(np.quantile(np.abs(track), 1.0 - share))
        if ceiling > 0.0:
            track = np.clip(track / ceiling, -1.0, 1.0) * _HEADROOM
    peak = float(np.max(np.abs(track), initial=0.0))
    return (track * (_HEADROOM / peak) if peak > _HEADROOM else track), clipped, controlled


def _gain_controlled(track: Floats) -> Floats:
    """Quiet parts made louder, by at most 10 dB, with an attack of 20 ms and a release of 0.4 s."""
    block = RATE // 100
    blocks = -(-len(track) // block)
    padded = np.zeros(blocks * block)
    padded[: len(track)] = np.max(np.abs(track), axis=1)
    loud = padded.reshape(blocks, block).max(axis=1)
    target = max(float(np.quantile(loud, 0.9)), 1e-9)
    followed, now = np.empty(blocks), target
    for place in range(blocks):
        rate = 0.4 if loud[place] > now else 0.025
        now += rate * (loud[place] - now)
        followed[place] = now
    gain = np.minimum((target / np.maximum(followed, 1e-9)) ** 0.6, 10.0**0.5)
    middle = (np.arange(blocks) + 0.5) * block
    smooth = np.interp(np.arange(len(track)), middle, gain)
    return np.asarray(track * smooth[:, None])


def _loudness(sound: Floats) -> float:
    """Root mean square over all channels."""
    return float(np.sqrt(np.mean(sound**2))) if sound.size else 0.0
