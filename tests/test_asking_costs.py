"""Tokens, money, and a limit that is kept to."""

from __future__ import annotations

import asyncio

import pytest

from streaming.asking.costs import Estimate, Ledger, Price, Prices, own_price, read_prices
from streaming.asking.endpoint import Generation, OverBudget, Usage
from streaming.asking.request import FilmPart, Request
from streaming.config import ConfigError
from tests.asking_fakes import request

PRICES = Prices(
    date="2026-01",
    price=(Price(models="gemini:fake*", sent=1.0, cached=0.1, written=10.0),),
)
SHORT = Generation(max_tokens=1000)


def test_cached_and_thought_tokens_have_their_own_price() -> None:
    usage = Usage(sent=1_000_000, cached=400_000, written=10_000, thought=90_000)
    assert PRICES.price[0].of(usage) == pytest.approx(0.6 + 0.04 + 1.0)
    assert Price(models="*", sent=1.0, written=0.0).of(usage) == pytest.approx(1.0)


def test_shipped_prices_read_and_tell_families_apart() -> None:
    prices = read_prices()
    assert prices.date
    assert prices.pages
    flash, lite = prices.of("gemini:gemini-2.5-flash"), prices.of("gemini:gemini-2.5-flash-lite")
    assert flash is not None
    assert lite is not None
    assert lite.written < flash.written
    assert prices.of("openai:gpt-5-mini-2025-08-07") is not None
    assert prices.of("openai:llama-local") is None


async def test_price_that_is_not_known_is_said_and_not_taken_for_nothing() -> None:
    ledger = Ledger(prices=PRICES)
    ledger.settle(await ledger.reserve("openai:mine", request(), SHORT), Usage(sent=5))
    assert ledger.as_json()["models"]["openai:mine"]["cost"] is None
    assert "cost not known" in ledger.described()
    with pytest.raises(ConfigError, match=r"price of openai:mine is not known.*--price-in"):
        Ledger(1.0, PRICES).check("openai:mine")


def test_price_of_a_person_goes_before_the_list() -> None:
    own = own_price(2.0, 4.0)
    assert own is not None
    ledger = Ledger(1.0, PRICES, own=own)
    ledger.check("openai:mine")
    assert ledger.price_of("gemini:fake") == own
    assert own_price(None, None) is None
    with pytest.raises(ConfigError, match="give both"):
        own_price(1.0, None)
    with pytest.raises(ConfigError, match="0 or more"):
        own_price(-1.0, 1.0)
    with pytest.raises(ConfigError, match="0 or more"):
        Ledger(float("nan"), PRICES)


def test_estimate_counts_texts_pictures_films_and_the_longest_answer() -> None:
    estimate = Estimate(bytes_per_token=4.0, picture=1000, film_second=300)
    plain = estimate.of(request(), SHORT)
    assert 1000 < plain.sent < 1030
    assert plain.written == 1000
    film = Request(
        system="",
        parts=(FilmPart(content=b"", until=10.0),),
        schema=None,
        interface="video",
        prompt="en/1",
        words="none",
        asked_at=10.0,
    )
    assert estimate.of(film, SHORT).sent == 3001


async def test_over_the_limit_nothing_is_sent() -> None:
    ledger = Ledger(0.015, PRICES)
    ledger.settle(await ledger.reserve("gemini:fake", request(), SHORT), Usage(written=1000))
    assert ledger.spent == pytest.approx(0.01)
    with pytest.raises(OverBudget, match=r"0\.0100 of 0\.015 are spent; raise --max-cost"):
        await ledger.reserve("gemini:fake", request(), SHORT)


async def test_requests_that_run_at_once_do_not_go_over_the_limit_together() -> None:
    ledger = Ledger(0.035, PRICES)
    sent = 0

    async def ask() -> None:
        nonlocal sent
        reserved = await ledger.reserve("gemini:fake", request(), SHORT)
        sent += 1
        await asyncio.sleep(1)
        ledger.settle(reserved, Usage(sent=1000, written=900))

    outcomes = await asyncio.gather(*(ask() for _ in range(10)), return_exceptions=True)
    assert ledger.spent <= 0.035
    assert sent == 3
    assert sum(isinstance(outcome, OverBudget) for outcome in outcomes) == 7


async def test_what_is_set_aside_and_not_used_lets_others_go() -> None:
    ledger = Ledger(0.025, PRICES)

    async def ask() -> None:
        reserved = await ledger.reserve("gemini:fake", request(), SHORT)
        await asyncio.sleep(1)
        ledger.settle(reserved, Usage(sent=10, written=10))

    await asyncio.gather(*(ask() for _ in range(20)))
    assert ledger.tally("gemini:fake").requests == 20


async def test_failed_attempts_count_and_those_without_tokens_are_told() -> None:
    ledger = Ledger(prices=PRICES)
    for usage in (Usage(), Usage(written=100)):
        reserved = await ledger.reserve("gemini:fake", request(), SHORT)
        ledger.settle(reserved, usage, failed=True)
    ledger.reused("gemini:fake")
    told = ledger.as_json()["models"]["gemini:fake"]
    assert (told["failed"], told["unreported"], told["reused"]) == (2, 1, 1)
    assert told["cost"] == pytest.approx(0.001)
    assert "1 failed attempts told no tokens" in ledger.described()
