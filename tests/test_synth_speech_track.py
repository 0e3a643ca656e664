"""Sound tracks: speech where it was put, noise as loud as asked, rooms that keep times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.synth.script import SpokenWord
from replay.synth.speech import RATE, Speech, mix
from replay.synth.speech.noise import KINDS, band, shaped
from replay.synth.speech.room import heard
from replay.synth.speech.track import background, placed

pytestmark = pytest.mark.usefixtures("speakers")


def tone(*, words: tuple[tuple[float, float], ...] = ((0.1, 0.5), (0.7, 1.1))) -> Speech:
    """Bursts of a tone where the words are."""
    samples = np.zeros(round((words[-1][1] + 0.1) * RATE), np.float32)
    for onset, offset in words:
        times = np.arange(round(onset * RATE), round(offset * RATE))
        samples[times] = 0.14 * np.sin(2.0 * np.pi * 440.0 * times / RATE)
    return Speech(
        samples=samples,
        rate=RATE,
        words=tuple(SpokenWord(onset=onset, offset=offset) for onset, offset in words),
        voice="tone",
        speed=1.0,
        shift=1.0,
    )


def decibels(power: float) -> float:
    return 10.0 * float(np.log10(power))


@pytest.mark.parametrize("seed", range(12))
def test_noise_is_as_loud_as_asked(seed: int) -> None:
    speech = tone()
    both = mix(np.random.default_rng(seed), "easy", speech, seconds=4.0, start=1.0)
    alone = mix(np.random.default_rng(seed), "easy", None, seconds=4.0)
    _, said = placed(speech, round(4.0 * RATE), 1.0)
    noise = alone.samples.astype(np.float64)
    voice = both.samples - noise
    measured = decibels(np.mean(voice[said] ** 2) / np.mean(noise**2))
    assert both.kinds == alone.kinds
    assert measured == pytest.approx(both.snr_db, abs=1.0)


@given(st.integers(0, 10_000), st.sampled_from(("easy", "real", "hard")))
@settings(max_examples=15, deadline=None)
def test_track_is_what_was_asked_for(seed: int, difficulty) -> None:
    track = mix(np.random.default_rng(seed), difficulty, tone(), seconds=2.0, start=0.3)
    low, high = {"easy": (25, 40), "real": (12, 25), "hard": (3, 12)}[difficulty]
    assert track.samples.dtype == np.float32
    assert track.samples.shape in ((2 * RATE, 1), (2 * RATE, 2))
    assert np.abs(track.samples).max() <= 1.0
    assert low <= track.snr_db <= high
    assert -30.0 <= track.level_db <= -18.0


@given(st.integers(0, 10_000), st.floats(0.1, 0.9), st.floats(0.1, 2.0))
@settings(max_examples=15, deadline=None)
def test_voice_is_heard_when_it_is_said(seed: int, reverb: float, distance: float) -> None:
    click = np.zeros(RATE)
    click[RATE // 2] = 1.0
    sound = heard(np.random.default_rng(seed), click, reverb=reverb, distance=distance, channels=2)
    first = np.flatnonzero(np.abs(sound).max(axis=1) > 0.1 * np.abs(sound).max())[0]
    assert abs(first - RATE // 2) <= 24  # half a millisecond


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_channels_never_cancel_out(seed: int) -> None:
    voice = shaped(np.random.default_rng(0), RATE, band(100.0, 3500.0))
    sound = heard(np.random.default_rng(seed), voice, reverb=0.3, distance=0.5, channels=2)
    mixed, single = np.mean(sound.mean(axis=1) ** 2), np.mean(sound**2)
    assert decibels(mixed / single) > -3.0


def test_silent_clip_has_background_only() -> None:
    silent = Speech(
        samples=np.zeros(0, np.float32), rate=RATE, words=(), voice="", speed=1.0, shift=1.0
    )
    track = mix(np.random.default_rng(2), "real", silent, seconds=3.0)
    nothing = mix(np.random.default_rng(2), "real", None, seconds=3.0)
    assert len(track.samples) == 3 * RATE
    assert np.array_equal(track.samples, nothing.samples)
    power = decibels(np.mean(track.samples.astype(np.float64) ** 2))
    assert power == pytest.approx(track.level_db - track.snr_db, abs=6.0)


def test_speech_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"speech from 3\.50 to 4\.60 s does not fit into 4\.00 s"):
        mix(np.random.default_rng(0), "easy", tone(), seconds=4.0, start=3.5)


def test_room_after_the_last_word_may_be_cut_off() -> None:
    track = mix(np.random.default_rng(0), "real", tone(), seconds=1.11, start=0.0)
    assert len(track.samples) == round(1.11 * RATE)


@pytest.mark.parametrize("kind", list(KINDS))
def test_noise_has_unit_power_and_no_offset(kind: str) -> None:
    sound = KINDS[kind](np.random.default_rng(3), 3 * RATE)
    assert sound.shape == (3 * RATE,)
    assert np.mean(sound**2) == pytest.approx(1.0)
    assert abs(np.mean(sound)) < 0.1
    assert np.abs(sound).max() < 12.0


def test_same_seed_same_background() -> None:
    first, second = (background(np.random.default_rng(6), RATE, 2, most=3) for _ in range(2))
    assert first[0] == second[0]
    assert np.array_equal(first[1], second[1])
