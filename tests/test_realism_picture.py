"""Statistics of pictures whose light, noise and sharpness are known."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from replay.measure.realism_picture import look, noise_sigma
from replay.measure.realism_watch import bits_per_pixel, grain
from streaming.events import Hand
from tests.hand_fakes import flat_hand
from tests.media_maker import write_clip


def plain(level: int = 120, width: int = 320, height: int = 240) -> np.ndarray:
    return np.full((height, width, 3), level, np.uint8)


def noisy(sigma: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    grey = rng.normal(120, sigma, size=(240, 320, 1)).repeat(3, axis=2)
    return np.clip(grey.round(), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("sigma", [1.0, 3.0, 10.0])
def test_noise_is_found_as_it_was_added(sigma: float) -> None:
    assert look(noisy(sigma)).noise == pytest.approx(sigma, rel=0.1)


def test_a_ramp_has_no_noise() -> None:
    ramp = np.linspace(0, 255, 320, dtype=np.float32)[None].repeat(240, axis=0)
    assert noise_sigma(ramp) == pytest.approx(0.0, abs=0.01)


def test_grain_is_what_changes_between_frames() -> None:
    assert grain(noisy(4.0, 1), noisy(4.0, 2)) == pytest.approx(4.0, rel=0.1)
    assert grain(plain(), plain()) == 0.0
    assert np.isnan(grain(plain(), plain(width=64)))


def test_light_and_colour_are_those_of_the_picture() -> None:
    image = plain()
    image[:, :160] = (200, 100, 100)
    seen = look(image)
    assert seen.luminance == pytest.approx((120 + 0.299 * 200 + 0.701 * 100) / 2, abs=1)
    assert seen.saturation == pytest.approx(0.25, abs=0.01)
    assert seen.warmth == pytest.approx(160 / 110, abs=0.01)
    assert seen.clipped == 0.0
    assert look(plain(255)).clipped == 1.0


def test_dark_corners_are_a_vignette() -> None:
    rows, columns = np.mgrid[-1:1:240j, -1:1:320j]
    image = (200 * (1 - 0.3 * (rows**2 + columns**2)))[..., None].repeat(3, axis=2)
    assert look(image.astype(np.uint8)).border < 0.6
    assert look(plain()).border == pytest.approx(1.0)


def test_blur_takes_sharpness_and_detail() -> None:
    sharp = noisy(30.0)
    soft = np.asarray(cv2.GaussianBlur(sharp, (0, 0), 3.0), np.uint8)
    assert look(soft).sharpness < look(sharp).sharpness / 3
    assert look(soft).detail < look(sharp).detail / 3


def test_wide_pictures_are_measured_at_the_same_width() -> None:
    image = plain(width=320)
    image[:, 150:] = 30
    wide = np.asarray(cv2.resize(image, (1920, 1440), interpolation=cv2.INTER_CUBIC), np.uint8)
    usual = np.asarray(cv2.resize(image, (640, 480), interpolation=cv2.INTER_CUBIC), np.uint8)
    assert look(wide).sharpness == pytest.approx(look(usual).sharpness, rel=0.35)


def test_a_hand_is_measured_within_its_outline() -> None:
    points = flat_hand()
    flat = tuple((0.5 + 0.4 * float(x), 0.8 + 0.5 * float(y)) for x, y, _ in points)
    hand = Hand(track=0, side="right", score=1.0, landmarks=flat)
    image = plain(60)
    hull = cv2.convexHull((np.asarray(flat) * (320, 240)).round().astype(np.int32))
    cv2.fillConvexPoly(image, hull, (180, 120, 90))
    seen = look(image, hand).hand
    assert seen is not None
    skin = 0.299 * 180 + 0.587 * 120 + 0.114 * 90
    assert seen.luminance == pytest.approx(skin, abs=2)
    assert seen.edge == pytest.approx(skin - 60, abs=6)
    assert seen.redness == pytest.approx(1.5, abs=0.02)
    assert seen.saturation == pytest.approx(0.5, abs=0.02)


def test_a_hand_beyond_the_picture_has_no_look() -> None:
    away = tuple((2.0 + 0.1 * x, 0.5 + 0.1 * y) for x, y, _ in flat_hand().tolist())
    assert look(plain(), Hand(track=0, side="left", score=1.0, landmarks=away)).hand is None


def test_bits_are_those_of_the_video_track(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", seconds=2.0)
    bits = bits_per_pixel(clip)
    assert 0 < bits * 64 * 48 * 60 / 8 < clip.stat().st_size
    sound = write_clip(tmp_path / "sound.mp4", seconds=1.0, blind=True)
    assert np.isnan(bits_per_pixel(sound))
