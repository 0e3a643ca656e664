"""The source's pure parts: mixing, placing sound on the timeline, joining epochs."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from replay.media.epochs import Epochs
from replay.media.mixing import MonoMixer
from replay.media.sound import SoundTrack
from replay.source import open_source
from streaming.events import AudioBlock, SourceNote
from tests.media_maker import clicks, flashes, sorted_out, write_clip

RATE = 16_000


def noise(channels: int, count: int, seed: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 0.1, (channels, count)).astype(np.float32)


def joined(events: list[AudioBlock | SourceNote]) -> NDArray[np.float32]:
    blocks = [event for event in events if isinstance(event, AudioBlock)]
    end = 0.0
    for block in blocks:
        assert block.onset == pytest.approx(end, abs=1e-9)
        end = block.offset
    assert all(len(block.samples) == 512 for block in blocks[:-1])
    return np.concatenate([block.samples for block in blocks] or [np.zeros(0, np.float32)])


@given(cuts=st.lists(st.integers(1, 2999), max_size=12), channels=st.integers(1, 3))
@settings(max_examples=30)
def test_mix_does_not_depend_on_how_sound_is_cut(cuts: list[int], channels: int) -> None:
    sound = noise(channels, 3000)
    sound[-1, 1000:2000] = -sound[0, 1000:2000]

    def mix(places: list[int]) -> NDArray[np.float32]:
        mixer = MonoMixer(channels=channels, rate=RATE)
        pieces = np.split(sound, sorted(set(places)), axis=1)
        mixed = [window for piece in pieces for window in mixer.push(piece)]
        return np.concatenate([*mixed, *mixer.finish()])

    assert np.array_equal(mix(cuts), mix([]))


def test_mix_of_the_past_does_not_depend_on_the_future() -> None:
    before = noise(2, 3200)
    cancels = noise(1, 3200, seed=1)
    mixed = []
    for after in (np.concatenate([cancels, cancels]), np.concatenate([cancels, -cancels])):
        mixer = MonoMixer(channels=2, rate=RATE)
        mixed.append(np.concatenate(mixer.push(np.concatenate([before, after], axis=1))))
    assert np.array_equal(mixed[0][:3200], mixed[1][:3200])


@example(frames=[(None, 1, (1, 16_000)), (1.4399893866440028, 0, (1, 16_000))])
@given(
    frames=st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-2, 20)),
            st.integers(0, 3000),
            st.sampled_from([(1, 16_000), (2, 16_000), (1, 8_000), (2, 44_100)]),
        ),
        max_size=15,
    )
)
def test_blocks_are_contiguous_whatever_the_times_say(
    frames: list[tuple[float | None, int, tuple[int, int]]],
) -> None:
    track = SoundTrack()
    said: list[AudioBlock | SourceNote] = []
    for time, count, (channels, rate) in frames:
        said += track.push(time, noise(channels, count), rate=rate)
    said += track.finish()
    said += track.close()
    assert len(joined(said)) / RATE == pytest.approx(track.end, abs=1e-4)
    available = 0.0
    for event in said:
        assert event.offset >= available - 1e-9
        available = event.offset if isinstance(event, AudioBlock) else available
        if isinstance(event, SourceNote):
            assert event.onset <= event.offset


@given(jitter=st.lists(st.floats(-0.001, 0.001), min_size=20, max_size=60))
def test_rounded_times_neither_add_nor_take_samples(jitter: list[float]) -> None:
    sound = noise(1, 320 * len(jitter))
    track = SoundTrack()
    said: list[AudioBlock | SourceNote] = []
    for index, error in enumerate([0.0, *jitter[1:]]):
        piece = sound[:, index * 320 : (index + 1) * 320]
        said += track.push(index * 0.02 + error, piece, rate=RATE)
    said += track.finish()
    said += track.close()
    assert np.array_equal(joined(said), np.clip(sound[0], -1, 1))


def test_lost_packet_of_20_ms_is_a_gap() -> None:
    track = SoundTrack()
    said: list[AudioBlock | SourceNote] = []
    for index in (0, 1, 2, 4, 5):
        said += track.push(index * 0.02, noise(1, 320), rate=RATE)
    (gap,) = [event for event in said if isinstance(event, SourceNote)]
    assert (gap.kind, gap.onset, gap.offset) == ("audio_gap", 0.06, pytest.approx(0.08))


def test_sound_that_comes_twice_is_heard_once() -> None:
    track = SoundTrack()
    said = list(track.push(0.0, noise(1, 16_000), rate=RATE))
    said += track.push(0.5, noise(1, 16_000), rate=RATE)
    said += [*track.finish(), *track.close()]
    assert len(joined(said)) == 24_000
    (overlap,) = [event for event in said if isinstance(event, SourceNote)]
    assert (overlap.kind, overlap.onset, overlap.offset) == ("audio_overlap", 0.5, 1.0)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["audio", "video"]), st.floats(-1e5, 1e5)), max_size=30
    )
)
def test_epochs_never_go_back_far_nor_ahead_far(steps: list[tuple[str, float]]) -> None:
    epochs = Epochs(forward=10.0)
    placed: dict[str, float] = {}
    end = None
    for kind, time in steps:
        now = time + epochs.shift(kind, time, 0.04)  # type: ignore[arg-type]
        if end is not None:
            assert now <= end + 10.0 + 1e-6
            assert now >= placed.get(kind, -1e9) - 1.0 - 1e-6
        placed[kind] = max(now, placed.get(kind, now))
        end = max(placed.values()) + 0.04


def test_one_garbled_time_does_not_move_what_follows() -> None:
    epochs = Epochs()
    for time in (0.0, 0.04, 9e4, 0.12, 0.16):
        shift = epochs.shift("video", time, 0.04)
        epochs.shift("audio", min(time, 1.0), 0.02)
    assert shift == 0.0
    assert len(epochs.jumps) == 1


def test_clock_of_a_transport_stream_may_overflow(tmp_path: Path) -> None:
    # Its 33 bits at 90 kHz last 95443.7 s.
    path = write_clip(tmp_path / "a.ts", events=[1.0, 2.5, 3.5], start=95_441.7)
    played = sorted_out(open_source(path).events())
    assert clicks(played.blocks) == pytest.approx(flashes(played.frames), abs=0.002)
    assert len(played.frames) == 120
    assert played.kinds() == []


def write_wav(path: Path, samples: NDArray[np.generic], *, rate: int, tag: int = 1) -> Path:
    """A WAV file of samples shaped ``(n, channels)``."""
    channels, width = samples.shape[1], samples.dtype.itemsize
    form = struct.pack(
        "<HHIIHH", tag, channels, rate, rate * channels * width, channels * width, 8 * width
    )
    content = samples.tobytes()
    path.write_bytes(
        b"RIFF" + struct.pack("<I", 36 + len(content)) + b"WAVEfmt " + struct.pack("<I", 16) + form
        + b"data" + struct.pack("<I", len(content)) + content
    )  # fmt: skip
    return path


@pytest.mark.parametrize(
    ("kind", "tag", "scale", "middle"),
    [("u1", 1, 127, 128), ("<i2", 1, 32767, 0), ("<i4", 1, 2**31 - 1, 0), ("<f8", 3, 1, 0)],
)
@pytest.mark.parametrize("channels", [1, 7])
def test_every_sample_format_is_read_at_full_scale(
    tmp_path: Path, kind: str, tag: int, scale: int, middle: int, channels: int
) -> None:
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)
    samples = np.repeat(tone[:, None], channels, axis=1) * scale + middle
    path = write_wav(tmp_path / "a.wav", samples.astype(kind), rate=RATE, tag=tag)
    sound = sorted_out(open_source(path).events()).sound
    assert np.abs(sound - tone).max() < 0.02


def test_sound_that_is_no_number_is_silence(tmp_path: Path) -> None:
    samples = np.full((RATE, 1), np.nan, dtype="<f4")
    path = write_wav(tmp_path / "a.wav", samples, rate=RATE, tag=3)
    assert not sorted_out(open_source(path).events()).sound.any()


def test_impossible_rate_is_noted_and_not_blown_up(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", np.zeros((2_000, 1), dtype="<i2"), rate=1)
    played = sorted_out(open_source(path).events())
    assert "broken_packet" in played.kinds()
    assert "no_audio" in played.kinds()
    assert not played.blocks
