"""Utterances from judged windows: thresholds, pre-roll, sample counts, chunking."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streaming.events import AudioBlock, Speech, SpeechEnd, SpeechSeen, SpeechStart
from streaming.vad import WINDOW, Vad, VadSettings

STEP = WINDOW / 16_000


class Script:
    """Says one probability after the other, the last one again and again."""

    def __init__(self, probabilities: Sequence[float]) -> None:
        self._left = list(probabilities)

    def probability(self, window: NDArray[np.float32]) -> float:
        assert window.shape == (WINDOW,)
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


def block(windows: float, *, onset: float = 0.0) -> AudioBlock:
    return AudioBlock(onset=onset, samples=np.ones(round(windows * WINDOW), dtype=np.float32))


def hear(probabilities: Sequence[float], settings: VadSettings | None = None) -> list[object]:
    vad = Vad(Script([*probabilities, 0.0]), settings)
    return [*vad.push(block(len(probabilities))), *vad.finish()]


def only(kind: type, events: Sequence[object]) -> list[object]:
    return [event for event in events if isinstance(event, kind)]


def plain(events: Sequence[object]) -> list[object]:
    return [
        (event.utterance, event.onset, event.voiced, event.samples.tobytes())
        if isinstance(event, Speech)
        else event
        for event in events
    ]


def test_silence_opens_nothing_and_time_goes_on() -> None:
    events = hear([0.1] * 40)
    assert only(SpeechStart, events) == []
    assert only(SpeechSeen, events)[-1] == SpeechSeen(until=40 * STEP)


def test_click_shorter_than_speech_opens_nothing() -> None:
    assert only(SpeechStart, hear([0.1] * 10 + [0.9] * 2 + [0.1] * 10)) == []


def test_utterance_begins_where_the_voice_begins_and_ends_where_it_ends() -> None:
    events = hear([0.1] * 20 + [0.9] * 30 + [0.1] * 40)
    assert only(SpeechStart, events) == [SpeechStart(utterance=0, onset=20 * STEP)]
    assert only(SpeechEnd, events) == [SpeechEnd(utterance=0, offset=50 * STEP)]


def test_pre_roll_comes_first() -> None:
    events = hear([0.1] * 20 + [0.9] * 30 + [0.1] * 40)
    first = next(event for event in events if isinstance(event, Speech))
    assert first.onset == pytest.approx((20 - 9) * STEP)
    assert len(first.samples) == (9 + 3) * WINDOW


def test_speech_between_the_thresholds_keeps_an_utterance_open() -> None:
    events = hear([0.9] * 10 + [0.4] * 60 + [0.1] * 40)
    assert only(SpeechEnd, events) == [SpeechEnd(utterance=0, offset=70 * STEP)]


def test_pause_is_marked_as_not_voiced() -> None:
    events = hear([0.9] * 10 + [0.1] * 5 + [0.9] * 10 + [0.1] * 40)
    unvoiced = [e for e in events if isinstance(e, Speech) and not e.voiced]
    assert unvoiced[0].onset == pytest.approx(10 * STEP)
    assert only(SpeechEnd, events) == [SpeechEnd(utterance=0, offset=25 * STEP)]


def test_sound_of_an_utterance_has_no_hole() -> None:
    vad = Vad(Script([0.1] * 20 + [0.9] * 30 + [0.1] * 40))
    speech = [event for event in vad.push(block(90)) if isinstance(event, Speech)]
    for before, behind in itertools.pairwise(speech):
        assert behind.onset == pytest.approx(before.onset + len(before.samples) / 16_000)


def test_watermark_never_passes_a_start_that_comes_later() -> None:
    seen = -1.0
    for event in hear([0.1] * 20 + [0.9] * 30 + [0.1] * 40 + [0.9] * 10 + [0.1] * 40):
        match event:
            case SpeechSeen():
                assert event.until >= seen
                seen = event.until
            case SpeechStart():
                assert event.onset >= seen


def test_last_part_of_a_window_counts() -> None:
    vad = Vad(Script([0.9]))
    vad.push(block(10.5))
    end = vad.finish()
    assert SpeechEnd(utterance=0, offset=10.5 * STEP) in end
    counts = vad.counters.counts
    assert counts["vad_samples"] == round(10.5 * WINDOW)
    silent = counts.get("vad_samples_silent", 0)
    assert counts["vad_samples_voiced"] + silent == counts["vad_samples"]


def test_gap_between_blocks_is_silence_and_counted() -> None:
    vad = Vad(Script([0.0]))
    vad.push(block(10))
    vad.push(block(10, onset=20 * STEP))
    assert vad.counters.counts["vad_gap_samples"] == 10 * WINDOW
    assert vad.finish()[-1] == SpeechSeen(until=30 * STEP)


def test_block_that_goes_back_is_refused() -> None:
    vad = Vad(Script([0.0]))
    vad.push(block(10))
    with pytest.raises(ValueError, match=r"begins at 0\.160000 s, before"):
        vad.push(block(10, onset=5 * STEP))


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"off=0\.6, on=0\.5"):
        VadSettings(on=0.5, off=0.6)


@given(
    probabilities=st.lists(st.sampled_from([0.05, 0.4, 0.9]), min_size=1, max_size=120),
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=6),
)
def test_chunk_sizes_change_nothing(probabilities: list[float], sizes: list[int]) -> None:
    sound = np.arange(len(probabilities) * WINDOW, dtype=np.float32)
    whole = Vad(Script(probabilities))
    expected = [*whole.push(AudioBlock(onset=0.0, samples=sound)), *whole.finish()]
    cut = Vad(Script(probabilities))
    events: list[object] = []
    place, turn = 0, 0
    while place < len(sound):
        part = sound[place : place + sizes[turn % len(sizes)]]
        events += cut.push(AudioBlock(onset=place / 16_000, samples=part))
        place, turn = place + len(part), turn + 1
    assert plain([*events, *cut.finish()]) == plain(expected)
