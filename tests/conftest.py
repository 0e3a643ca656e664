"""Fixtures that every test module shares."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from tests.virtual_time import VirtualTimeLoop

settings.register_profile("default", deadline=None, max_examples=50)
settings.load_profile("default")

SHARED_MEDIA = Path(__file__).resolve().parents[2] / "shared" / "media"


@pytest.fixture(scope="session")
def shared_media() -> Path:
    """Real files to test against, which lie beside the checkout and are not part of it."""
    if not SHARED_MEDIA.is_dir():
        pytest.skip(f"no real media at {SHARED_MEDIA}")
    return SHARED_MEDIA


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Async tests run on virtual time, except those marked ``threads``."""
    if item.get_closest_marker("threads"):
        return {"threads": asyncio.new_event_loop}
    return {"virtual": VirtualTimeLoop}
