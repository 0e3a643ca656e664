"""VRS recordings of Aria glasses, read by Meta's own library."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from replay.discover import find_clips
from replay.media.cutting import FileFilm
from replay.media.opening import SourceError
from replay.source import open_source
from streaming.events import AudioBlock, SourceNote, VideoFrame
from tests.media_maker import flashes
from tests.vrs_maker import write_recording

needs_aria = pytest.mark.skipif(
    importlib.util.find_spec("projectaria_tools") is None,
    reason="needs the extra aria: uv pip install --no-deps projectaria-tools==2.3.0",
)
BEGIN = 5_000_000_000
"""Nanoseconds of the device's clock at the first sample of sound."""
RATE, RECORD, MICROPHONES = 48_000, 4096, 7
SECONDS = 2.0
EVENTS = (0.5, 1.2)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two seconds with a click and a flash at each event; the first picture is 0.1 s late."""
    return write_recording(tmp_path / "glasses.vrs", pictures=pictures(), sounds=sounds())


def pictures() -> list[tuple[int, np.ndarray]]:
    """20 a second, 32 wide and 48 high as the camera lies: red is what is its left."""
    made = []
    for index in range(2, round(SECONDS * 20)):
        lit = any(0 <= index - round(event * 20) < 2 for event in EVENTS)
        image = np.full((48, 32, 3), 250 if lit else 60, dtype=np.uint8)
        image[:, :4] = (200, 0, 0)
        made.append((BEGIN + index * 50_000_000, image))
    return made


def sounds() -> list[tuple[int, np.ndarray]]:
    times = np.arange(round(SECONDS * RATE)) / RATE
    loud = np.any([(times >= event) & (times < event + 0.02) for event in EVENTS], axis=0)
    wave = (loud * 2.0**30 * np.sin(2 * np.pi * 1000 * times)).astype(np.int32)
    return [
        (BEGIN + round(at / RATE * 1e9), np.tile(wave[at : at + RECORD, None], MICROPHONES))
        for at in range(0, len(wave), RECORD)
    ]


@needs_aria
def test_sound_and_pictures_are_on_the_devices_clock(recording: Path) -> None:
    source = open_source(recording)
    events = list(source.events())
    frames = [event for event in events if isinstance(event, VideoFrame)]
    blocks = [event for event in events if isinstance(event, AudioBlock)]
    assert [frame.time for frame in frames] == pytest.approx(
        [0.1 + index / 20 for index in range(38)], abs=1e-6
    )
    sound = np.concatenate([block.samples for block in blocks])
    assert len(sound) == pytest.approx(SECONDS * 16_000, abs=16)
    heard = np.flatnonzero(np.abs(sound) > 0.2) / 16_000
    clicks = [at for at, before in zip(heard, [-1.0, *heard], strict=False) if at - before > 0.1]
    assert clicks == pytest.approx(EVENTS, abs=0.002)
    assert flashes(frames) == pytest.approx(EVENTS, abs=1e-6)
    assert np.abs(sound).max() == pytest.approx(0.5, abs=0.05)
    told = [one.time if isinstance(one, VideoFrame) else one.offset for one in events]
    assert told == sorted(told)


@needs_aria
def test_pictures_of_a_camera_that_lies_are_turned_upright(recording: Path) -> None:
    source = open_source(recording)
    frame = next(event for event in source.events() if isinstance(event, VideoFrame))
    assert (source.info.width, source.info.height) == (48, 32)
    assert frame.image.shape == (32, 48, 3)
    assert frame.image[1, 24].tolist() == [200, 0, 0]  # the camera's left is up
    assert frame.image[20, 24].tolist() == [60, 60, 60]
    assert source.info.rotation == 270
    assert source.info.fps == pytest.approx(20.0)
    assert (source.info.sample_rate, source.info.channels) == (RATE, MICROPHONES)


@needs_aria
def test_a_prefix_is_what_the_whole_begins_with(recording: Path) -> None:
    whole = [repr(event) for event in open_source(recording).events()]
    prefix = [repr(event) for event in open_source(recording, until=0.9).events()]
    assert 10 < len(prefix) < len(whole)
    assert whole[: len(prefix)] == prefix


@needs_aria
def test_a_recording_is_a_clip_like_any_other(recording: Path) -> None:
    assert [clip.path for clip in find_clips([recording.parent]).clips] == [recording]
    film = recording.with_suffix(".mp4")
    film.write_bytes(FileFilm(recording).until(1.0))
    assert open_source(film).info.audio
    assert open_source(recording, max_side=24).info.width == 24


@needs_aria
def test_without_microphones_it_is_silent(tmp_path: Path) -> None:
    source = open_source(write_recording(tmp_path / "silent.vrs", pictures=pictures()))
    assert (source.info.video, source.info.audio) == (True, False)
    events = list(source.events())
    assert isinstance(events[0], SourceNote)
    assert events[0].kind == "no_audio"
    assert sum(isinstance(event, VideoFrame) for event in events) == 38


@needs_aria
def test_what_is_no_recording_is_refused_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "noise.vrs"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(SourceError, match=r"noise\.vrs: is no VRS recording"):
        open_source(path)
    assert capfd.readouterr().err == ""


def test_without_the_extra_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_recording(tmp_path / "glasses.vrs", pictures=pictures())
    for name in ("projectaria_tools", "projectaria_tools.core"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SourceError, match=r"needs the extra `aria`; run: uv pip install"):
        open_source(path)
