"""Fixtures that every test module shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=50)
settings.load_profile("default")

SHARED_MEDIA = Path(__file__).resolve().parents[2] / "shared" / "media"


@pytest.fixture(scope="session")
def shared_media() -> Path:
    """Real files to test against, which lie beside the checkout and are not part of it."""
    if not SHARED_MEDIA.is_dir():
        pytest.skip(f"no real media at {SHARED_MEDIA}")
    return SHARED_MEDIA
