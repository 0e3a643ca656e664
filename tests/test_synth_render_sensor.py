"""What the synthetic camera's sensor and its files do."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.synth.render import Lens, Sensor, draw_lens, write_video
from replay.synth.render.sensor import tone_curve
from replay.synth.script import Difficulty

LENS = Lens(width=96, height=64, fov=80.0)
GREY = np.full((64, 96, 3), 0.2, np.float32)


def sensor(difficulty: Difficulty, seed: int = 1) -> Sensor:
    return Sensor.draw(np.random.default_rng(seed), difficulty, LENS, 7.0)


@pytest.mark.parametrize("difficulty", ["easy", "real", "hard"])
def test_a_frame_depends_on_its_time_alone(difficulty: Difficulty) -> None:
    one, other = sensor(difficulty), sensor(difficulty)
    one.expose(GREY, 0.5)
    np.testing.assert_array_equal(one.expose(GREY, 1.0), other.expose(GREY, 1.0))
    assert (one.expose(GREY, 1.0) != one.expose(GREY, 1.0 + 1 / 30)).any()


def test_noise_grows_with_difficulty() -> None:
    spread = [
        np.mean([sensor(kind, seed).expose(GREY, 1.0)[28:36, 40:56].std() for seed in range(8)])
        for kind in ("easy", "real", "hard")
    ]
    assert spread[0] < spread[1] < spread[2]


def test_more_light_is_never_darker() -> None:
    made = sensor("easy")
    means = [made.expose(GREY * factor, 1.0).mean() for factor in (0.0, 0.5, 1.0, 3.0, 20.0)]
    assert means == sorted(means)
    assert means[0] < 5
    assert means[-1] > 250


def test_lenses_are_drawn_within_the_settings() -> None:
    rng = np.random.default_rng(0)
    for difficulty, low, high in (("easy", 60, 80), ("real", 66, 95), ("hard", 90, 115)):
        for _ in range(20):
            assert low <= draw_lens(rng, difficulty, width=640, height=480).fov <= high  # type: ignore[arg-type]


def pictures() -> list[np.ndarray]:
    made = sensor("real")
    return [made.expose(GREY * (1 + number / 20), number / 30) for number in range(20)]


def test_a_video_is_written_the_same_twice_and_read_back(tmp_path: Path) -> None:
    sound = (0.1 * np.random.default_rng(0).standard_normal((32000, 2))).astype(np.float32)
    for name in ("one.mp4", "two.mp4"):
        write_video(tmp_path / name, pictures(), fps=Fraction(30), audio=sound, rate=48000, crf=23)
    assert (tmp_path / "one.mp4").read_bytes() == (tmp_path / "two.mp4").read_bytes()
    with av.open(str(tmp_path / "one.mp4")) as container:
        frames = list(container.decode(video=0))
    assert len(frames) == 20
    assert [float(frame.pts * frame.time_base) for frame in frames] == pytest.approx(
        [number / 30 for number in range(20)], abs=1e-3
    )
    difference = frames[10].to_ndarray(format="rgb24").astype(float) - pictures()[10]
    assert abs(difference.mean()) < 3
    with av.open(str(tmp_path / "one.mp4")) as container:
        heard = sum(frame.samples for frame in container.decode(audio=0))
    assert abs(heard - 32000) <= 2048


def test_a_video_without_sound_has_no_track_for_it(tmp_path: Path) -> None:
    path = tmp_path / "silent.mp4"
    write_video(path, pictures(), fps=Fraction(30000, 1001), audio=None, rate=48000, crf=23)
    with av.open(str(path)) as container:
        assert [stream.type for stream in container.streams] == ["video"]


@pytest.mark.parametrize(
    ("frames", "message"), [([], "no frames"), ([np.zeros((11, 12, 3), np.uint8)], "even sides")]
)
def test_what_cannot_be_written_is_said(
    tmp_path: Path, frames: list[np.ndarray], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        write_video(tmp_path / "x.mp4", frames, fps=Fraction(30), audio=None, rate=48000, crf=23)


@given(contrast=st.floats(0.0, 1.0), knee=st.floats(0.5, 1.0))
def test_tones_rise_from_black_to_white(contrast: float, knee: float) -> None:
    tones = tone_curve(contrast, knee)
    assert tones[0] == 0.0
    assert tones[-1] == pytest.approx(255.0, abs=0.5)
    assert (np.diff(tones) >= -1e-4).all()


def test_contrast_darkens_what_is_dark_and_brightens_what_is_bright() -> None:
    flat, steep = tone_curve(0.0, 0.95), tone_curve(1.0, 0.95)
    dark, bright = np.flatnonzero(flat > 60)[0], np.flatnonzero(flat > 200)[0]
    assert steep[dark] < flat[dark] - 5
    assert steep[bright] > flat[bright] + 5
