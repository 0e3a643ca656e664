"""How much one client may ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.limits import (
    Budget,
    Budgets,
    Limits,
    MessageBudget,
    body_length,
    check_sdp,
)

SDP = b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"
steps = st.lists(
    st.tuples(st.floats(min_value=0.0, max_value=10.0), st.floats(min_value=0.0, max_value=5.0)),
    max_size=60,
)


@given(steps)
def test_no_more_is_spent_than_was_there(taken: list[tuple[float, float]]) -> None:
    budget, now, spent = Budget(rate=2.0, burst=10.0, now=0.0), 0.0, 0.0
    for wait, amount in taken:
        now += wait
        if budget.afford(amount, now=now):
            spent += amount
        assert spent <= 10.0 + 2.0 * now + 1e-6


@given(steps)
def test_whoever_waits_as_told_keeps_the_rate(taken: list[tuple[float, float]]) -> None:
    budget, now, spent = Budget(rate=2.0, burst=10.0, now=0.0), 0.0, 0.0
    for wait, amount in taken:
        now += wait
        now += budget.spend(amount, now=now)
        spent += amount
        assert spent <= 10.0 + 2.0 * now + 1e-6


def test_a_clock_that_goes_back_gives_nothing() -> None:
    budget = Budget(rate=1.0, burst=1.0, now=100.0)
    assert budget.afford(1.0, now=100.0)
    assert not budget.afford(1.0, now=0.0)
    assert not budget.afford(1.0, now=100.5)
    assert budget.afford(1.0, now=101.0)


@given(st.lists(st.text(max_size=4), max_size=200))
def test_addresses_do_not_pile_up(addresses: list[str]) -> None:
    budgets = Budgets(rate=1.0, burst=1.0, most=8)
    for address in addresses:
        budgets.afford(address, 1.0, now=0.0)
        assert len(budgets) <= 8


def test_one_address_does_not_spend_anothers_budget() -> None:
    budgets = Budgets(rate=1.0, burst=2.0)
    assert [budgets.afford("a", 1.0, now=0.0) for _ in range(3)] == [True, True, False]
    assert budgets.afford("b", 1.0, now=0.0)
    assert budgets.afford("a", 1.0, now=1.0)


def test_messages_cost_by_number_and_by_size() -> None:
    limits = Limits(messages=10.0, messages_burst=1.0, bytes=100.0, bytes_burst=1000.0)
    budget = MessageBudget(limits, now=0.0)
    assert budget.spend(10, now=0.0) == 0.0
    assert budget.spend(10, now=0.0) == pytest.approx(0.1)
    assert budget.spend(1180, now=0.0) == pytest.approx(2.0)


@pytest.mark.parametrize("name", Limits.__slots__)
def test_a_limit_is_more_than_nothing(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})


@given(st.binary())
def test_a_length_is_a_number_or_refused(said: bytes) -> None:
    try:
        assert body_length({b"content-length": said}) == int(said)
    except ValueError:
        assert not said.isdigit() or len(said) > 18


def test_a_body_in_chunks_has_no_length() -> None:
    assert body_length({b"transfer-encoding": b"chunked", b"content-length": b"1"}) is None


def test_an_offer_has_no_more_parts_than_a_real_client_sends() -> None:
    limits = Limits()
    assert check_sdp(SDP, limits) is None
    for offer, status in (
        (b"", 400),
        (b"hello", 400),
        (SDP + b"\0", 400),
        (SDP + b"\xff\xfe", 400),
        (SDP + b"a=x\r\n" * 2001, 400),
        (SDP + b"m=audio 9 x 0\n" * 9, 400),
        (SDP + b" a=candidate:1 1 udp 1 10.0.0.1 1 typ host\n" * 129, 400),
        (SDP + b"a=" + b"x" * 70_000, 413),
    ):
        refusal = check_sdp(offer, limits)
        assert refusal is not None
        assert (refusal.status, refusal.reason) == (status, "sdp")


@given(st.binary(max_size=2000))
def test_any_offer_is_looked_at_without_harm(offer: bytes) -> None:
    check_sdp(offer, Limits())
    check_sdp(SDP + offer, Limits())
