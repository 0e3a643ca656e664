"""Films up to a moment: nothing later in them, sound and picture where they were."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from replay.media.cutting import FileFilm, cut_film
from replay.source import SourceError, open_source
from tests.media_maker import clicks, flashes, sorted_out, write_clip, write_picture

SUFFIXES = (".mp4", ".mov", ".mkv", ".ts", ".webm", ".avi")


def ends(content: bytes, folder: Path) -> tuple[float, float]:
    """Time of the last picture, and end of the sound; 0 for what there is none of."""
    path = folder / "cut.mp4"
    path.write_bytes(content)
    picture, sound = 0.0, 0.0
    with av.open(str(path)) as container:
        for frame in container.decode():
            time = float((frame.pts or 0) * (frame.time_base or Fraction(1)))
            if isinstance(frame, av.VideoFrame):
                picture = max(picture, time)
            else:
                assert isinstance(frame, av.AudioFrame)
                sound = max(sound, time + frame.samples / frame.sample_rate)
    return picture, sound


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_whole_film_is_the_file_unchanged(tmp_path: Path, suffix: str) -> None:
    path = write_clip(tmp_path / f"clip{suffix}", seconds=1.0)
    film = FileFilm(path)
    played = sorted_out(open_source(path).events())
    end = max(played.frames[-1].time, played.blocks[-1].offset)
    assert film.until(end) == path.read_bytes()
    assert film.until(1e9) == path.read_bytes()


@pytest.mark.parametrize("suffix", [".mp4", ".ts", ".avi"])
def test_nothing_after_the_moment_is_in_a_cut_film(tmp_path: Path, suffix: str) -> None:
    path = write_clip(tmp_path / f"clip{suffix}", seconds=1.0)
    frames = [frame.time for frame in sorted_out(open_source(path).events()).frames]
    for time in (0.1, 0.51, 0.9):
        picture, sound = ends(FileFilm(path).until(time), tmp_path)
        assert picture == pytest.approx(max(one for one in frames if one <= time), abs=1e-4)
        # Sound comes in whole blocks of AAC; the last is filled up with silence.
        assert time - 0.04 <= sound <= time + 0.064


def test_sound_and_picture_stay_where_they_were(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", seconds=3.0, events=(0.6, 1.4, 2.4))
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(FileFilm(path).until(2.0))
    played = sorted_out(open_source(cut).events())
    assert flashes(played.frames) == pytest.approx([0.6, 1.4], abs=0.035)
    assert clicks(played.blocks) == pytest.approx([0.6, 1.4], abs=0.035)


def test_sound_that_begins_late_stays_late(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", seconds=3.0, events=(1.5,), audio_from=1.0)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(FileFilm(path).until(2.0))
    played = sorted_out(open_source(cut).events())
    assert clicks(played.blocks) == pytest.approx([1.5], abs=0.035)


def test_pictures_that_begin_late_stay_late(tmp_path: Path) -> None:
    times = [0.8 + k / 20 for k in range(40)]
    path = write_clip(tmp_path / "clip.mkv", seconds=2.8, events=(1.5,), frame_times=times)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(FileFilm(path).until(2.0))
    played = sorted_out(open_source(cut).events())
    assert played.frames[0].time == pytest.approx(0.8, abs=0.002)
    assert flashes(played.frames) == pytest.approx([1.5], abs=0.06)
    assert clicks(played.blocks) == pytest.approx([1.5], abs=0.06)


def test_uneven_frame_times_are_kept(tmp_path: Path) -> None:
    times = [0.0, 0.1, 0.13, 0.5, 0.9, 0.93, 1.4]
    path = write_clip(tmp_path / "clip.mkv", seconds=1.5, frame_times=times)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(FileFilm(path).until(1.0))
    played = sorted_out(open_source(cut).events())
    assert [frame.time for frame in played.frames] == pytest.approx(times[:-1], abs=0.002)


def test_same_moment_gives_the_same_bytes(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", seconds=2.0, events=(0.5,), size=(320, 240))
    assert FileFilm(path).until(1.2) == cut_film(path, 1.2)


def test_sound_alone_and_pictures_alone_can_be_cut(tmp_path: Path) -> None:
    blind = write_clip(tmp_path / "blind.mp4", seconds=2.0, blind=True)
    picture, sound = ends(FileFilm(blind).until(1.0), tmp_path)
    assert picture == 0.0
    assert 0.9 < sound < 1.07
    silent = write_clip(tmp_path / "silent.mp4", seconds=2.0, silent=True)
    picture, sound = ends(FileFilm(silent).until(1.0), tmp_path)
    assert picture == pytest.approx(1.0, abs=0.001)
    assert sound == 0.0


def test_odd_sides_are_made_even(tmp_path: Path) -> None:
    image = np.full((33, 51, 3), 120, np.uint8)
    path = write_picture(tmp_path / "still.png", image)
    (frame, *_) = sorted_out(
        open_source(_saved(tmp_path, FileFilm(path).until(9.0))).events()
    ).frames
    assert frame.image.shape[:2] == (32, 52)


def test_nothing_before_the_moment_is_an_error(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", seconds=1.0)
    with pytest.raises(ValueError, match=r"clip\.mp4: nothing of it lies before -1\.000 s"):
        FileFilm(path).until(-1.0)


def test_file_that_is_gone_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        FileFilm(tmp_path / "gone.mp4").until(1.0)


def test_rate_is_held_down_for_long_films(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.mp4"
    with av.open(str(path), "w") as container:
        video = container.add_stream("mpeg4", rate=20)
        video.width, video.height, video.pix_fmt = 320, 240, "yuv420p"
        for _ in range(40):
            noise = rng.integers(0, 255, (240, 320, 3), dtype=np.uint8)
            container.mux(video.encode(av.VideoFrame.from_ndarray(noise, format="rgb24")))
        container.mux(video.encode(None))
    free = len(cut_film(path, 1.5))
    monkeypatch.setattr("replay.media.cutting.MOST_BYTES", 100_000)
    held = len(cut_film(path, 1.5))
    assert held < 0.6 * free


def _saved(folder: Path, content: bytes) -> Path:
    path = folder / "film.mp4"
    path.write_bytes(content)
    return path
