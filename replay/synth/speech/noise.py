"""Background sounds, made from nothing: rooms, machines, kitchens, keyboards, steps.

Each is a function of a generator and a length in samples at :data:`~.saying.RATE`, and gives
``(n,)`` float64 with a root mean square of 1 (0 for a sound that did not happen).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.signal import fftconvolve, lfilter

from replay.synth.speech.saying import RATE
from replay.synth.world import Floats

Noise = Callable[[np.random.Generator, int], Floats]


def even(sound: Floats) -> Floats:
    """The sound with a root mean square of 1; silence stays silence."""
    power = float(np.sqrt(np.mean(sound**2))) if len(sound) else 0.0
    return sound / power if power > 0.0 else sound


def tamed(sound: Floats, crest: float) -> Floats:
    """Rare sounds as a room and a recorder hear them: peaks at ``crest`` times the mean at most."""
    sound = even(sound)
    for _ in range(3):
        sound = even(crest * np.tanh(sound / crest))
    return sound


def shaped(rng: np.random.Generator, length: int, gain: Callable[[Floats], Floats]) -> Floats:
    """Gaussian noise whose spectrum has amplitude ``gain(frequencies in Hz)``."""
    if length == 0:
        return np.zeros(0)
    size = 1 << max(length - 1, 1).bit_length()
    bins = size // 2 + 1
    frequencies = np.fft.rfftfreq(size, 1.0 / RATE).astype(np.float64)
    spectrum = (rng.standard_normal(bins) + 1j * rng.standard_normal(bins)) * gain(frequencies)
    spectrum[0] = 0.0
    return even(np.fft.irfft(spectrum, size)[:length])


def band(low: float, high: float, order: float = 2.0) -> Callable[[Floats], Floats]:
    """A gain of 1 between ``low`` and ``high`` Hz that falls off outside."""

    def gain(frequencies: Floats) -> Floats:
        above = (np.maximum(frequencies, 1.0) / low) ** order
        below = (frequencies / high) ** order
        return np.asarray(above / (1.0 + above) / (1.0 + below))

    return gain


def pink(rng: np.random.Generator, length: int) -> Floats:
    """Even power in each octave from 30 Hz on: rooms, traffic far off."""
    return shaped(rng, length, lambda f: 1.0 / np.sqrt(np.maximum(f, 30.0)))


def brown(rng: np.random.Generator, length: int) -> Floats:
    """Rumble: power falls by 6 dB an octave from 40 Hz on."""
    return shaped(rng, length, lambda f: 1.0 / np.maximum(f, 40.0))


def hum(rng: np.random.Generator, length: int) -> Floats:
    """Mains hum of 50 or 60 Hz with its harmonics, over a little room."""
    base = float(rng.choice((50.0, 60.0))) * (1.0 + rng.uniform(-0.002, 0.002))
    times = np.arange(length) / RATE
    sound = np.zeros(length)
    for harmonic in range(1, 9):
        strength = rng.uniform(0.2, 1.0) / harmonic
        sound += strength * np.sin(2.0 * np.pi * (base * harmonic * times + rng.uniform()))
    return even(even(sound) + 0.3 * pink(rng, length))


def fan(rng: np.random.Generator, length: int) -> Floats:
    """A fan or air conditioning: broad noise, breathing a little, with the tone of its blades."""
    air = shaped(rng, length, band(rng.uniform(60.0, 200.0), rng.uniform(800.0, 3000.0)))
    times = np.arange(length) / RATE
    turning = rng.uniform(0.3, 2.0)
    breath = 1.0 + rng.uniform(0.05, 0.2) * np.sin(2.0 * np.pi * (turning * times + rng.uniform()))
    blades = rng.uniform(80.0, 300.0)
    tone = np.sin(2.0 * np.pi * blades * times) + 0.5 * np.sin(4.0 * np.pi * blades * times)
    return even(air * breath + rng.uniform(0.05, 0.25) * tone)


def water(rng: np.random.Generator, length: int) -> Floats:
    """A running tap or something that fries: bright noise that flickers."""
    wash = shaped(rng, length, band(rng.uniform(400.0, 900.0), rng.uniform(5000.0, 10000.0)))
    flicker = shaped(rng, length, band(2.0, rng.uniform(10.0, 30.0)))
    return tamed(wash * np.exp(0.3 * flicker), 10.0)


def clatter(rng: np.random.Generator, length: int) -> Floats:
    """Dishes and tools: a few strokes, each a handful of ringing modes."""
    sound = np.zeros(length)
    for start in _moments(rng, length, rate=1.2, burst=0.4):
        ring = np.zeros(int(rng.uniform(0.08, 0.4) * RATE))
        times = np.arange(len(ring)) / RATE
        base = rng.uniform(700.0, 3000.0)
        for _ in range(int(rng.integers(3, 8))):
            decay = rng.uniform(15.0, 80.0)
            ring += (
                rng.uniform(0.2, 1.0)
                * np.exp(-decay * times)
                * np.sin(2.0 * np.pi * base * rng.uniform(0.8, 4.0) * times)
            )
        ring[:96] += rng.standard_normal(96) * np.linspace(1.0, 0.0, 96)
        _add(sound, start, ring * 10.0 ** rng.uniform(-0.9, 0.0))
    return tamed(even(sound) + 0.15 * pink(rng, length), 10.0)


def typing(rng: np.random.Generator, length: int) -> Floats:
    """Keys in bursts: a click down, a softer one up."""
    sound = np.zeros(length)
    at = rng.uniform(0.0, 0.5) * RATE
    while at < length:
        for _ in range(int(rng.integers(2, 14))):
            strength = 10.0 ** rng.uniform(-0.5, 0.0)
            _add(sound, int(at), strength * _click(rng, 0.012))
            up = int(at + rng.uniform(0.05, 0.09) * RATE)
            _add(sound, up, 0.4 * strength * _click(rng, 0.008))
            at += rng.uniform(0.09, 0.28) * RATE
        at += rng.uniform(0.2, 1.2) * RATE
    return tamed(even(sound) + 0.2 * pink(rng, length), 10.0)


def footsteps(rng: np.random.Generator, length: int) -> Floats:
    """Somebody walks: a thump of the heel and a scrape of the toes."""
    sound = np.zeros(length)
    period = rng.uniform(0.48, 0.65)
    at = rng.uniform(0.0, period)
    while at * RATE < length:
        thump = shaped(rng, int(0.09 * RATE), band(60.0, rng.uniform(200.0, 500.0)))
        thump *= np.exp(-np.arange(len(thump)) / (0.02 * RATE))
        _add(sound, int(at * RATE), thump * rng.uniform(0.6, 1.0))
        _add(sound, int((at + rng.uniform(0.06, 0.1)) * RATE), 0.3 * _click(rng, 0.03))
        at += period * rng.uniform(0.93, 1.07)
    return tamed(even(sound) + 0.2 * pink(rng, length), 10.0)


def _click(rng: np.random.Generator, seconds: float) -> Floats:
    length = int(seconds * RATE * 3)
    noise = rng.standard_normal(length) * np.exp(-np.arange(length) / (seconds * RATE / 2.0))
    tone = rng.uniform(1500.0, 4500.0)
    radius = 0.92
    return np.asarray(
        lfilter([1.0], [1.0, -2.0 * radius * np.cos(2.0 * np.pi * tone / RATE), radius**2], noise)
        * (1.0 - radius)
    )


def _moments(rng: np.random.Generator, length: int, *, rate: float, burst: float) -> list[int]:
    """Samples at which something happens ``rate`` times a second, at times twice in a row."""
    moments: list[int] = []
    at = rng.exponential(1.0 / rate)
    while at * RATE < length:
        moments.append(int(at * RATE))
        near = rng.uniform() < burst
        at += rng.uniform(0.06, 0.2) if near else rng.exponential(1.0 / rate)
    return moments


def _add(sound: Floats, start: int, piece: Floats) -> None:
    end = min(start + len(piece), len(sound))
    if end > start:
        sound[start:end] += piece[: end - start]


def dulled(rng: np.random.Generator, sound: Floats) -> Floats:
    """The sound as it comes from elsewhere in the room: low-passed and smeared."""
    length = int(rng.uniform(0.05, 0.2) * RATE)
    tail = rng.standard_normal(length) * np.exp(-np.arange(length) / (length / 4.0))
    tail = np.cumsum(tail) * 0.05 + tail
    return even(fftconvolve(sound, tail)[: len(sound)])


KINDS: Mapping[str, Noise] = {
    "pink": pink,
    "brown": brown,
    "hum": hum,
    "fan": fan,
    "water": water,
    "clatter": clatter,
    "typing": typing,
    "footsteps": footsteps,
}
"""Noises by name; ``babble`` is made in :mod:`.babble`, for it needs voices."""
