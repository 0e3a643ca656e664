"""Comparing two sets: distances, what is read from trees and tables, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.commands.measure_realism import realism
from replay.measure.asr_truth import TrueWord
from replay.measure.realism import (
    Gathered,
    RealismError,
    chance,
    compare,
    distance,
    gather,
)
from replay.measure.realism_measures import MEASURES
from replay.measure.realism_sound import MOST_DB, sound_values, word_values
from replay.measure.realism_truth import PUBLISHED_WINDOWS, read_tables, read_tree
from streaming.vad import WINDOW
from tests.media_maker import write_clip

SAMPLES = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=30)
SHIPPED = Path(__file__).resolve().parents[1] / "replay" / "clips"


def gathered(**values: list[float]) -> Gathered:
    return Gathered(values={key: tuple(found) for key, found in values.items()}, files=1)


@given(SAMPLES, SAMPLES)
def test_distance_is_that_of_kolmogorov_and_smirnov(one: list[float], other: list[float]) -> None:
    shares = [
        abs(sum(v <= at for v in one) / len(one) - sum(v <= at for v in other) / len(other))
        for at in range(10)
    ]
    assert distance(one, other) == pytest.approx(max(shares))


def test_samples_without_overlap_are_one_apart() -> None:
    assert distance([1.0, 2.0], [3.0, 4.0, 5.0]) == 1.0


def test_an_empty_sample_has_no_distance() -> None:
    with pytest.raises(ValueError, match="0 and 1 values"):
        distance([], [1.0])


def test_chance_is_exceeded_by_one_pair_of_equal_samples_in_twenty() -> None:
    rng = np.random.default_rng(5)
    far = [distance(rng.normal(size=40), rng.normal(size=60)) > chance(40, 60) for _ in range(400)]
    assert 0.01 < np.mean(far) < 0.08


def test_the_most_different_measure_comes_first() -> None:
    spread = [float(value) for value in range(20)]
    rows = compare(
        gathered(head_p50=spread, move_peak=[value + 50 for value in spread], snr=[1.0]),
        gathered(head_p50=spread, move_peak=spread, snr=spread, noise=spread),
    )
    assert [row.measure.key for row in rows] == ["move_peak", "head_p50", "noise", "snr"]
    assert [row.differs for row in rows] == [True, False, False, False]
    assert rows[0].distance == 1.0
    assert math.isnan(rows[2].distance)
    assert math.isnan(rows[3].distance)


def test_windows_are_compared_with_the_published_percentiles() -> None:
    low, middle, high = PUBLISHED_WINDOWS["window_L3"]
    [row] = compare(gathered(window_L3=[middle] * 10), gathered(noise=[]))[:1]
    assert row.levels == (5, 50, 95)
    assert row.real.percentiles == (low, middle, high)
    assert row.distance == pytest.approx(0.5)
    [far] = compare(gathered(window_L3=[9.0] * 10), gathered())
    assert far.distance == pytest.approx(0.95)


def test_every_measure_is_named_once_and_explained() -> None:
    keys = [measure.key for measure in MEASURES]
    assert len(set(keys)) == len(keys)
    assert all(measure.meaning for measure in MEASURES)


def test_a_comparison_without_distance_is_json() -> None:
    [row] = compare(gathered(snr=[10.0]), gathered())
    assert json.loads(json.dumps(row.as_json(), allow_nan=False))["distance"] is None


class Loud:
    """A voice model that takes what is loud for a voice."""

    def probability(self, window: np.ndarray) -> float:
        return float(np.abs(window).max() > 0.05)


def bursts(*, voice: float, noise: float) -> np.ndarray:
    """A second of noise, a second of voice, a second of noise, of known deviations."""
    rng = np.random.default_rng(2)
    levels = np.repeat([noise, voice, noise], 31 * WINDOW)
    return (rng.normal(size=len(levels)) * levels).astype(np.float32)


def test_snr_is_the_voice_over_the_noise_in_silence() -> None:
    values = sound_values(bursts(voice=0.1, noise=0.01), Loud())
    assert values["snr"][0] == pytest.approx(20.0, abs=0.5)
    assert values["voice_level"][0] == pytest.approx(-20.0, abs=0.3)


def test_digital_silence_has_the_greatest_snr() -> None:
    assert sound_values(bursts(voice=0.1, noise=0.0), Loud())["snr"] == [MOST_DB]


def test_sound_without_a_voice_has_no_level() -> None:
    assert sound_values(np.zeros(40 * WINDOW, np.float32), Loud()) == {}
    assert sound_values(np.zeros(0, np.float32), Loud()) == {}


def test_words_give_their_rate_lengths_and_pauses() -> None:
    words = [
        TrueWord(text="put", onset=0.0, offset=0.2),
        TrueWord(text="This,", onset=0.2, offset=0.5),
        TrueWord(text="uh"),
        TrueWord(text="here", onset=1.0, offset=1.5),
    ]
    values = word_values(words, "en")
    assert values["rate_en"] == [pytest.approx(3.0)]
    assert values["word_length"] == [pytest.approx(0.3)]
    assert values["deictic_length"] == [pytest.approx(0.4)]
    assert values["pause"] == [pytest.approx(0.5)]
    assert word_values(words[:1], "en") == {}


def test_chinese_is_counted_in_characters() -> None:
    words = [
        TrueWord(text="把", onset=0.0, offset=0.2),
        TrueWord(text="这个", onset=0.2, offset=0.6),
    ]
    assert word_values(words, "zh")["rate_zh"] == [pytest.approx(5.0)]


def test_an_elan_table_gives_gestures_and_when_their_words_come(tmp_path: Path) -> None:
    table = tmp_path / "points.csv"
    table.write_text(
        '"Point@1",00:00:01.000,1000,00:00:02.500,2500,00:00:01.500,1500,"index"\n'
        '"Point@1",00:00:04.000,4000,00:00:05.000,5000,00:00:01.000,1000,"index"\n'
        '"words@1",00:00:01.200,1200,00:00:01.500,1500,00:00:00.300,300,"this one"\n'
        '"words@1",00:00:03.900,3900,00:00:04.100,4100,00:00:00.200,200,"there"\n'
    )
    assert read_tables([table, table]) == [
        {"gesture_length": [1.5], "word_after_gesture": [pytest.approx(0.2)]},
        {"gesture_length": [1.0], "word_after_gesture": [pytest.approx(-0.1)]},
    ]


def test_a_table_of_apexes_gives_their_lag_to_the_nearest_word(tmp_path: Path) -> None:
    table = tmp_path / "apexes.csv"
    table.write_text(
        '"pronoun","1",1000,1200,200,"das"\n"pronoun","1",4000,4200,200,"dem"\n'
        '"pronoun","1",9000,9100,100,"das"\n'
        '"gesture_apex","1",1400,1500,100,""\n"gesture_apex","1",3500,3600,100,""\n'
    )
    assert [value["apex_after_word"] for value in read_tables([table, table])] == [
        [pytest.approx(0.4)],
        [pytest.approx(-0.5)],
    ]


def test_another_table_is_no_annotation(tmp_path: Path) -> None:
    table = tmp_path / "other.csv"
    table.write_text("name,value\na,1\n")
    assert read_tables([table, table]) == []


def test_the_shipped_tree_gives_windows_lags_and_words() -> None:
    trees = read_tree(SHIPPED)
    lags = [value["apex_after_word"][0] for value in trees if "apex_after_word" in value]
    assert len(lags) >= 4
    assert all(-1.5 < lag < 1.5 for lag in lags)
    assert any("window_L3" in value for value in trees)
    assert any("rate_en" in value for value in trees)


def test_a_folder_that_is_no_tree_gives_nothing(tmp_path: Path) -> None:
    assert read_tree(tmp_path) == []


def test_nothing_to_measure_says_what_was_named(tmp_path: Path) -> None:
    with pytest.raises(RealismError, match="nothing that can be measured"):
        gather([tmp_path])


def test_made_and_real_videos_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, real = tmp_path / "made", tmp_path / "real"
    made.mkdir()
    real.mkdir()
    write_clip(made / "a.mp4", seconds=0.6)
    write_clip(real / "b.mp4", seconds=0.6)
    broken = real / "c.mp4"
    broken.write_bytes(b"no video")
    assert realism(made, against=[real], workers=1, print_json=True) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == {"made": 1, "real": 1}
    assert [bad["name"] for bad in said["failed"]] == ["c.mp4"]
    rows = {row["measure"]: row for row in said["measures"]}
    assert rows["hit_rate"]["made"] == {"n": 1, "percentiles": [0.0, 0.0, 0.0]}
    assert rows["luminance"]["real"]["n"] == 1


@pytest.mark.media
def test_real_pointing_is_seen_in_real_footage(shared_media: Path) -> None:
    real = gather([shared_media / "videos" / "egogestar_right_3.mp4", shared_media / "annotations"])
    assert real.values["hit_rate"][0] > 0.9
    assert 0.3 < real.values["hand_size"][0] < 0.7
    assert len(real.values["gesture_length"]) == 38
    assert np.median(real.values["word_after_gesture"]) == pytest.approx(0.218, abs=0.001)


def test_the_table_names_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_clip(tmp_path / "a.mp4", seconds=0.6)
    assert realism(tmp_path, against=[tmp_path], workers=1) == 0
    said = capsys.readouterr().out
    assert "1 made against 1 real files" in said
    assert "bits_per_pixel" in said
