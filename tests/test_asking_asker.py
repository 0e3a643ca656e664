"""Asking until there is an answer, once, and never twice for money."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from streaming.asking.asker import Asker
from streaming.asking.costs import Ledger, Price, Prices
from streaming.asking.endpoint import (
    AttemptFailed,
    Blocked,
    EmptyReply,
    Exhausted,
    Generation,
    OverBudget,
    Overloaded,
    Rejected,
    ServerFault,
    TooSlow,
    Unreachable,
    Usage,
)
from streaming.asking.limits import Limiter, RetryPolicy
from streaming.asking.responses import ResponseCache
from streaming.clock import RealtimeClock
from streaming.config import ConfigError
from tests.asking_fakes import TEXT, USAGE, FakeEndpoint, Told, request

PRICES = Prices(price=(Price(models="gemini:fake", sent=1.0, written=10.0),))


def asker(endpoint: FakeEndpoint, **settings: Any) -> Asker:
    settings.setdefault("retry", RetryPolicy(attempts=4))
    return Asker(endpoint, rng=random.Random(3), **settings)


async def test_answer_comes_with_how_it_was_come_by() -> None:
    asked = await asker(FakeEndpoint([Told(after=2.0)])).ask(request())
    assert asked.completion.text == TEXT
    assert (asked.attempts, asked.failures, asked.from_cache) == (1, (), False)
    assert asked.seconds == pytest.approx(2.0)


@pytest.mark.parametrize(
    "failure", [Overloaded("429"), ServerFault("500"), Unreachable("reset"), TooSlow("slow")]
)
async def test_failure_that_may_pass_is_tried_again(failure: AttemptFailed) -> None:
    endpoint = FakeEndpoint([Told(failure=failure), Told(failure=failure), Told()])
    one = asker(endpoint)
    asked = await one.ask(request())
    assert asked.attempts == 3
    assert asked.failures == (failure.kind,) * 2
    assert asked.waited > 0
    assert one.counters.counts == {f"attempt_{failure.kind}": 2}


@pytest.mark.parametrize("failure", [Rejected("bad key"), Blocked("safety"), Exhausted("thoughts")])
async def test_failure_that_stays_is_raised_at_once(failure: AttemptFailed) -> None:
    endpoint = FakeEndpoint([Told(failure=failure)])
    with pytest.raises(type(failure)):
        await asker(endpoint).ask(request())
    assert len(endpoint.asked) == 1


async def test_last_failure_is_raised_after_the_last_attempt() -> None:
    endpoint = FakeEndpoint([Told(failure=ServerFault(f"fault {n}")) for n in range(9)])
    with pytest.raises(ServerFault, match="fault 3"):
        await asker(endpoint).ask(request())
    assert len(endpoint.asked) == 4


async def test_wait_that_the_server_asks_for_is_kept() -> None:
    endpoint = FakeEndpoint([Told(after=0, failure=Overloaded("429", retry_after=20.0)), Told()])
    await asker(endpoint).ask(request())
    assert 20.0 <= endpoint.times[1] - endpoint.times[0] <= 21.0


async def test_others_wait_too_when_one_is_told_to() -> None:
    endpoint = FakeEndpoint([Told(after=0, failure=Overloaded("429", retry_after=20.0)), Told()])
    one = asker(endpoint, limiter=Limiter(1, clock=RealtimeClock()))
    await asyncio.gather(one.ask(request("a")), one.ask(request("b")))
    assert min(endpoint.times[1:]) >= 20.0


async def test_attempt_that_hangs_is_given_up() -> None:
    endpoint = FakeEndpoint([Told(after=1e9)])
    with pytest.raises(TooSlow, match="within 10 s"):
        await asker(endpoint, generation=Generation(within=10.0)).ask(request())
    assert endpoint.left == 4


async def test_answers_without_text_are_no_answers() -> None:
    with pytest.raises(EmptyReply):
        await asker(FakeEndpoint([Told(text=" ")])).ask(request())
    cut = FakeEndpoint([Told(text="", finish="length")])
    with pytest.raises(Exhausted, match="before any text"):
        await asker(cut).ask(request())
    assert len(cut.asked) == 1


async def test_answer_that_breaks_off_is_a_fault_of_the_server() -> None:
    endpoint = FakeEndpoint([Told(ends=False), Told()])
    asked = await asker(endpoint).ask(request())
    assert asked.failures == ("server_fault",)


async def test_text_is_followed_and_begins_again_with_another_attempt() -> None:
    seen: list[str] = []
    endpoint = FakeEndpoint([Told(text="abcd", pieces=2, ends=False), Told(text="xyz", pieces=3)])
    await asker(endpoint).ask(request(), seen.append)
    assert seen == ["ab", "abcd", "x", "xy", "xyz"]


async def test_answer_is_not_paid_twice_over_two_runs(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    endpoint = FakeEndpoint()
    for run in range(2):
        with ResponseCache(path) as cache:
            ledger = Ledger(prices=PRICES)
            asked = await asker(endpoint, cache=cache, ledger=ledger).ask(request())
            assert asked.from_cache == (run == 1)
            assert asked.completion.text == TEXT
            assert (ledger.spent > 0) == (run == 0)
    assert len(endpoint.asked) == 1


async def test_equal_requests_that_come_together_are_asked_once(tmp_path: Path) -> None:
    endpoint = FakeEndpoint()
    with ResponseCache(tmp_path / "r.jsonl") as cache:
        first, second = asker(endpoint, cache=cache), asker(endpoint, cache=cache)
        found = await asyncio.gather(*(one.ask(request()) for one in (first, second, first)))
    assert len(endpoint.asked) == 1
    assert [one.completion.text for one in found] == [TEXT] * 3
    assert [one.from_cache for one in found] == [False, True, True]


async def test_failure_is_shared_by_those_who_waited_for_it() -> None:
    endpoint = FakeEndpoint([Told(failure=Blocked("safety"))])
    one = asker(endpoint)
    found = await asyncio.gather(*(one.ask(request()) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(outcome, Blocked) for outcome in found)
    assert len(endpoint.asked) == 1


async def test_another_takes_over_when_the_first_is_cancelled(tmp_path: Path) -> None:
    endpoint = FakeEndpoint([Told(after=10.0)])
    with ResponseCache(tmp_path / "r.jsonl") as cache:
        one = asker(endpoint, cache=cache)
        first = asyncio.create_task(one.ask(request()))
        second = asyncio.create_task(one.ask(request()))
        third = asyncio.create_task(one.ask(request()))
        await asyncio.sleep(1)
        first.cancel()
        third.cancel()
        assert (await second).completion.text == TEXT
    assert len(endpoint.asked) == 2


async def test_cancel_leaves_nothing_half_written_and_frees_everything(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    endpoint = FakeEndpoint([Told(after=10.0, pieces=50)])
    limiter = Limiter(1, clock=RealtimeClock())
    ledger = Ledger(1.0, PRICES)
    with ResponseCache(path) as cache:
        one = asker(endpoint, cache=cache, ledger=ledger, limiter=limiter)
        task = asyncio.create_task(one.ask(request()))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (limiter.running, endpoint.at_once, cache.flights) == (0, 0, {})
        assert ledger.tally("gemini:fake").unreported == 1
    assert path.read_bytes() == b""


async def test_cut_off_text_is_kept_and_never_sent_back(tmp_path: Path) -> None:
    endpoint = FakeEndpoint([Told(text='{"selected_options": ["A', finish="length")])
    with ResponseCache(tmp_path / "r.jsonl") as cache:
        one = asker(endpoint, cache=cache, format_retries=2)
        for _ in range(2):
            assert (await one.ask(request())).completion.finish == "length"
    assert len(endpoint.asked) == 1


async def test_text_that_is_no_json_goes_back_with_a_note_when_asked_for() -> None:
    endpoint = FakeEndpoint([Told(text="I see a mug."), Told()])
    asked = await asker(endpoint, format_retries=1).ask(request())
    assert asked.completion.text == TEXT
    assert asked.unreadable == ("I see a mug.",)
    assert asked.attempts == 2
    note = endpoint.asked[1].parts[-1]
    assert "I see a mug." in getattr(note, "text", "")
    plain = FakeEndpoint([Told(text="I see a mug.")])
    assert (await asker(plain).ask(request())).completion.text == "I see a mug."
    assert len(plain.asked) == 1


async def test_warm_answers_are_neither_kept_nor_shared(tmp_path: Path) -> None:
    endpoint = FakeEndpoint()
    with ResponseCache(tmp_path / "r.jsonl") as cache:
        one = asker(endpoint, cache=cache, generation=Generation(temperature=0.7))
        await asyncio.gather(one.ask(request()), one.ask(request()))
        assert not any(cache.get(one.key) for one in cache)
    assert len(endpoint.asked) == 2


async def test_failed_attempts_that_report_tokens_are_paid_for() -> None:
    failed = ServerFault("broke off", usage=Usage(sent=1000))
    ledger = Ledger(prices=PRICES)
    await asker(FakeEndpoint([Told(failure=failed), Told()]), ledger=ledger).ask(request())
    assert ledger.tally("gemini:fake").usage == USAGE + Usage(sent=1000)


async def test_over_the_limit_no_request_is_sent() -> None:
    endpoint = FakeEndpoint()
    with pytest.raises(OverBudget):
        await asker(endpoint, ledger=Ledger(0.001, PRICES)).ask(request())
    assert endpoint.asked == []
    with pytest.raises(ConfigError, match="price of gemini:other is not known"):
        asker(FakeEndpoint(name="gemini:other"), ledger=Ledger(1.0, PRICES))


async def test_server_that_takes_three_at_once_gets_through_all() -> None:
    endpoint = FakeEndpoint()

    def busy(asked: object) -> Told:
        return Told(after=0.1, failure=Overloaded("429")) if endpoint.at_once > 3 else Told()

    endpoint.script = busy
    one = asker(endpoint, retry=RetryPolicy(attempts=30, cap=4.0))
    found = await asyncio.gather(*(one.ask(request(str(n))) for n in range(40)))
    assert len(found) == 40
    assert one.counters.counts["attempt_overloaded"] < 40
