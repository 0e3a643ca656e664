"""What a room and a microphone do to a voice: reflections, distance, more channels."""

from __future__ import annotations

import numpy as np
from scipy.signal import fftconvolve

from replay.synth.speech.noise import band, shaped
from replay.synth.speech.saying import RATE
from replay.synth.world import Floats
from streaming.events import Seconds

_CRITICAL_DISTANCE = 1.0
"""Metres at which the reflections are as strong as the direct sound, in a room of 0.5 s."""

_ECHOES = 8
"""Early reflections."""

_SHARED = 0.6
"""How much of its late reflections a channel has from the first one: microphones are close."""


def impulse_response(
    rng: np.random.Generator, *, reverb: Seconds, distance: float, channels: int
) -> Floats:
    """Of a room, from the mouth to the microphones, shape ``(n, channels)``.

    The direct sound is the first sample, so times stay exact. Then come a few early reflections and
    noise that decays exponentially, faster at high frequencies. Channels share the direct sound,
    the early reflections, and most of the late ones.

    Args:
        reverb: Time in which the reverberation falls by 60 dB.
        distance: Metres; the reflections are the stronger, the further the mouth is.
    """
    length = max(int(1.1 * reverb * RATE), RATE // 50)
    times = np.arange(length) / RATE
    late_power = (distance / _CRITICAL_DISTANCE) ** 2 * (reverb / 0.5)
    early = np.zeros(length)
    for _ in range(_ECHOES):
        at = rng.uniform(0.002, 0.03)
        place = min(int(at * RATE), length - 1)
        early[place] += rng.choice((-1.0, 1.0)) * rng.uniform(0.3, 1.0)
    early *= np.sqrt(0.3 * late_power / max(float(np.sum(early**2)), 1e-9))
    late = np.stack([_tail(rng, times, reverb) for _ in range(channels)], axis=1)
    late = _SHARED * late[:, :1] + (1.0 - _SHARED) * late
    late *= np.sqrt(0.7 * late_power / np.maximum(np.sum(late**2, axis=0), 1e-9))
    response: Floats = early[:, None] + late
    response[0] = 1.0
    return response


def _tail(rng: np.random.Generator, times: Floats, reverb: Seconds) -> Floats:
    """Late reflections: noise in three bands that fades in, and away."""
    tail = np.zeros(len(times))
    for low, high, faster in ((80.0, 1000.0, 1.0), (1000.0, 4000.0, 1.15), (4e3, 12e3, 1.6)):
        noise = shaped(rng, len(times), band(low, high, 3.0))
        tail += noise * np.exp(-6.91 * faster * times / reverb) / faster
    return tail * np.minimum(times / 0.02, 1.0)


def heard(
    rng: np.random.Generator, voice: Floats, *, reverb: Seconds, distance: float, channels: int
) -> Floats:
    """A voice as the microphones hear it, shape ``(n, channels)``; no later than it was said."""
    near = _from_afar(voice, distance)
    response = impulse_response(rng, reverb=reverb, distance=distance, channels=channels)
    # The second channel is a little later and weaker; too little to cancel anything in their mean.
    late = int(rng.integers(0, 10)) if channels > 1 else 0
    weaker = 10.0 ** (-rng.uniform(1.0, 4.0) / 20.0) if channels > 1 else 1.0
    out = np.zeros((len(voice), channels))
    for channel in range(channels):
        sound = fftconvolve(near, response[:, channel])[: len(voice)]
        if channel:
            sound = weaker * np.concatenate([np.zeros(late), sound])[: len(voice)]
        out[:, channel] = sound
    return out[:, ::-1] if channels > 1 and rng.uniform() < 0.5 else out


def _from_afar(voice: Floats, distance: float) -> Floats:
    """High frequencies fall off with distance, and small microphones hear no low ones."""
    size = 1 << max(len(voice) - 1, 1).bit_length()
    frequencies = np.fft.rfftfreq(size, 1.0 / RATE)
    low = frequencies**2 / (frequencies**2 + 90.0**2)
    high = 1.0 / (1.0 + (frequencies / (14_000.0 / (1.0 + distance))) ** 2)
    spectrum = np.fft.rfft(voice, size) * low * high
    return np.asarray(np.fft.irfft(spectrum, size)[: len(voice)])
