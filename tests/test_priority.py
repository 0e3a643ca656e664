"""Threads that step back: themselves only, and what they begin."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from streaming.priority import STEPS_BACK, step_back

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority there")


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_only_the_thread_that_steps_back_does() -> None:
    before = niceness()
    with ThreadPoolExecutor(1, initializer=step_back, initargs=(3,)) as worker:
        assert worker.submit(niceness).result() == min(19, before + 3)
    assert niceness() == before


def test_a_stage_without_steps_stays_where_it_is() -> None:
    before = niceness()
    with ThreadPoolExecutor(1, initializer=step_back, initargs=(0,)) as worker:
        assert worker.submit(niceness).result() == before
    assert "hearing" not in STEPS_BACK
