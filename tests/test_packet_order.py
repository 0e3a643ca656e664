"""Packets of sound that overtake each other, and some that never come."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from server.packet_order import PacketOrder

ROUND = 1 << 16
EVERY = 0.02


def play(
    order: PacketOrder[int],
    *,
    jitter: float,
    loss: float = 0.0,
    count: int = 500,
    first: int = 0,
    seed: int = 0,
) -> tuple[list[int], int, list[float]]:
    """What goes on of ``count`` packets, how many were lost, and how late each went on."""
    chance = random.Random(seed)
    kept = [one for one in range(count) if one in (0, count - 1) or chance.random() >= loss]
    arriving = sorted(
        (one * EVERY + (chance.random() * jitter if one else 0.0), one) for one in kept
    )
    going: list[int] = []
    late: list[float] = []
    for arrival, one in arriving:
        given = order.push(one, source=1, sequence=(first + one) % ROUND, arrival=arrival)
        going += given
        late += [arrival - number * EVERY for number in given]
    return going, count - len(kept), late


@settings(max_examples=50)
@given(
    first=st.integers(0, ROUND - 1),
    jitter=st.floats(0.0, 0.09),
    loss=st.floats(0.0, 0.1),
    seed=st.integers(0, 1 << 16),
)
def test_all_that_come_go_on_in_order(first: int, jitter: float, loss: float, seed: int) -> None:
    order: PacketOrder[int] = PacketOrder()
    going, lost, late = play(order, jitter=jitter, loss=loss, first=first, seed=seed)
    assert all(a < b for a, b in pairwise(going))
    # Whoever waits at the end waits for one that is lost.
    assert 500 - lost - 20 <= len(going) <= 500 - lost
    assert order.counters.counts.get("rtc_sound_late", 0) == 0
    assert max(late) < 0.3 + jitter + 2 * EVERY


def test_nothing_waits_that_is_not_overtaken() -> None:
    going, _, late = play(PacketOrder(), jitter=0.0)
    assert going == list(range(500))
    assert max(late) < 1e-9


def test_it_learns_how_far_packets_are_overtaken() -> None:
    order: PacketOrder[int] = PacketOrder(first=0.04)
    play(order, jitter=0.2, count=1000)
    soon = order.counters.counts.get("rtc_sound_late", 0)
    play(order, jitter=0.2, count=1000, first=1000, seed=1)
    assert soon > 0
    assert order.counters.counts["rtc_sound_late"] - soon <= 2


def test_it_forgets_how_far_packets_were_overtaken() -> None:
    order: PacketOrder[str] = PacketOrder(window=1.0)
    for number, arrival in ((0, 0.0), (2, 0.02), (1, 0.1), (3, 0.12)):
        order.push("x", source=1, sequence=number, arrival=arrival)
    order.push("x", source=1, sequence=5, arrival=5.0)
    assert order.push("x", source=1, sequence=6, arrival=5.03) == []
    assert order.push("x", source=1, sequence=7, arrival=5.05) == ["x", "x", "x"]
    assert order.counters.counts == {"rtc_sound_lost": 1}


def test_a_late_packet_is_counted_and_left_out() -> None:
    order: PacketOrder[str] = PacketOrder()
    order.push("a", source=1, sequence=0, arrival=0.0)
    order.push("c", source=1, sequence=2, arrival=0.04)
    assert order.push("d", source=1, sequence=3, arrival=0.2) == ["c", "d"]
    assert order.push("b", source=1, sequence=1, arrival=0.21) == []
    assert order.push("d", source=1, sequence=3, arrival=0.22) == []
    assert order.counters.counts == {"rtc_sound_lost": 1, "rtc_sound_late": 1}


def test_another_source_or_count_starts_anew_and_loses_nothing() -> None:
    order: PacketOrder[str] = PacketOrder()
    order.push("a", source=1, sequence=0, arrival=0.0)
    assert order.push("c", source=1, sequence=2, arrival=0.04) == []
    assert order.push("x", source=2, sequence=9, arrival=0.06) == ["c", "x"]
    assert order.push("y", source=2, sequence=30_000, arrival=0.08) == ["y"]
    assert order.push("z", source=2, sequence=30_001, arrival=0.1) == ["z"]
