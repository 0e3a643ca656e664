"""How many requests run at once, and when another attempt is made."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.asking.endpoint import Overloaded, Rejected, ServerFault
from streaming.asking.limits import Limiter, RetryPolicy, read_asking_settings
from streaming.clock import RealtimeClock

RNG = random.Random(1)


async def run_through(limiter: Limiter, seconds: float = 1.0) -> None:
    async with limiter.slot():
        await asyncio.sleep(seconds)
        limiter.succeeded()


async def test_no_more_run_at_once_than_allowed() -> None:
    clock = RealtimeClock()
    limiter = Limiter(3, clock=clock)
    await asyncio.gather(*(run_through(limiter) for _ in range(9)))
    assert clock.now() == pytest.approx(3.0)
    assert limiter.running == 0


async def test_overload_halves_the_limit_once_for_requests_that_ran_together() -> None:
    limiter = Limiter(8, clock=RealtimeClock())

    async def overloaded() -> None:
        async with limiter.slot() as slot:
            await asyncio.sleep(1)
            limiter.overloaded(slot)

    await asyncio.gather(*(overloaded() for _ in range(8)))
    assert limiter.limit == 4
    assert limiter.counters.counts == {"slowed": 1}


async def test_limit_never_falls_below_one_and_climbs_back() -> None:
    limiter = Limiter(4, clock=RealtimeClock())
    for _ in range(10):
        async with limiter.slot() as slot:
            limiter.overloaded(slot)
    assert limiter.limit == 1
    for _ in range(30):
        await run_through(limiter)
    assert limiter.limit == 4


async def test_wait_that_the_server_asks_for_holds_for_all() -> None:
    clock = RealtimeClock()
    limiter = Limiter(8, clock=clock)
    async with limiter.slot() as slot:
        limiter.overloaded(slot, retry_after=30.0)
    began: list[float] = []

    async def note() -> None:
        async with limiter.slot():
            began.append(clock.now())

    await asyncio.gather(*(note() for _ in range(5)))
    assert began == [pytest.approx(30.0)] * 5


async def test_cancelled_request_gives_its_place_back() -> None:
    limiter = Limiter(1, clock=RealtimeClock())
    first = asyncio.create_task(run_through(limiter, 100))
    waiting = asyncio.create_task(run_through(limiter, 1))
    last = asyncio.create_task(run_through(limiter, 1))
    await asyncio.sleep(1)
    waiting.cancel()
    first.cancel()
    await asyncio.wait_for(last, 5)
    assert limiter.running == 0


def test_waits_double_up_to_a_cap_and_are_drawn_from_zero() -> None:
    policy = RetryPolicy(attempts=20, base=1.0, cap=8.0)
    for failed, longest in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (9, 8.0)):
        waits = [policy.wait(failed, ServerFault("x"), RNG) for _ in range(200)]
        assert all(wait is not None and 0 <= wait <= longest for wait in waits)
        assert max(wait or 0 for wait in waits) > 0.8 * longest


@given(st.integers(0, 10_000), st.floats(0, 300))
def test_no_wait_is_shorter_than_the_server_asks(seed: int, asked: float) -> None:
    wait = RetryPolicy().wait(1, Overloaded("x", retry_after=asked), random.Random(seed))
    assert wait is not None
    assert asked <= wait <= asked + 1.0


def test_what_cannot_be_mended_and_the_last_attempt_are_given_up() -> None:
    policy = RetryPolicy(attempts=3)
    assert policy.wait(1, Rejected("no such model"), RNG) is None
    assert policy.wait(3, ServerFault("x"), RNG) is None
    assert policy.wait(1, Overloaded("x", retry_after=301.0), RNG) is None


def test_same_seed_gives_the_same_waits() -> None:
    drawn = [
        [RetryPolicy().wait(n, ServerFault("x"), rng) for n in (1, 2, 3)]
        for rng in (random.Random(7), random.Random(7))
    ]
    assert drawn[0] == drawn[1]


def test_shipped_settings_read() -> None:
    settings = read_asking_settings()
    assert settings.generation.temperature == 0
    assert settings.format_retries == 0


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"base": -1.0}, {"cap": -1.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected at least 1"):
        RetryPolicy(**wrong)  # type: ignore[arg-type]
