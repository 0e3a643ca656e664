"""Channels, joins and the stage loop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.clock import FastClock, RealtimeClock
from streaming.component import Chain
from streaming.events import Counters
from streaming.stage import Channel, Item, Join, Ordered, batches, run_stage


def item(known_at: float, *events: Any) -> Item:
    return Item(known_at=known_at, events=events)


class Doubler:
    """Says every number twice, and the number of numbers at the end."""

    accepts: tuple[type, ...] = (int,)

    def __init__(self) -> None:
        self.counters = Counters()
        self._count = 0

    def push(self, event: Any) -> list[Any]:
        self._count += 1
        return [str(event), str(event)]

    def finish(self) -> list[Any]:
        return [f"{self._count} seen"]


class Counter:
    """Counts strings, and says the count at the end."""

    accepts: tuple[type, ...] = (str,)

    def __init__(self) -> None:
        self.counters = Counters()

    def push(self, event: Any) -> list[Any]:
        self.counters.add("strings")
        return []

    def finish(self) -> list[Any]:
        return [float(self.counters.counts.get("strings", 0))]


def test_chain_offers_each_component_what_the_ones_before_it_said() -> None:
    chain = Chain([("double", Doubler()), ("count", Counter())])
    assert chain.push(7) == ["7", "7"]
    assert chain.finish() == ["1 seen", 3.0]
    assert chain.counters.counts == {"strings": 3}
    assert chain.accepts == (int, str)
    assert chain.steps == {"double": 2, "count": 4}


async def test_stage_keeps_order_and_marks_what_the_end_brought() -> None:
    inbox, outbox = Channel(10), Channel(10)
    recorded: list[tuple[str, Item]] = []
    for number in range(3):
        await inbox.send(item(float(number), number))
    await inbox.close()
    await run_stage(
        Doubler(),
        batches(inbox, 2),
        outbox,
        name="double",
        record=lambda name, said: recorded.append((name, said)),
        forward=(int,),
    )
    said = [one async for batch in batches(outbox, 10) for one in batch]
    assert [one.known_at for one in said] == [0.0, 1.0, 2.0, math.inf]
    assert said[0].events == (0, "0", "0")
    assert said[-1].events == ("3 seen",)
    assert said[-1].finish
    assert recorded[0] == ("double", item(0.0, "0", "0"))


async def test_full_channel_holds_the_sender_back() -> None:
    channel = Channel(1)
    await channel.send(item(0.0, "first"))
    sender = asyncio.create_task(channel.send(item(1.0, "second")))
    await asyncio.sleep(1)
    assert not sender.done()
    assert [one.known_at for one in await channel.receive()] == [0.0]
    await sender


async def test_newest_item_wins_in_a_dropping_channel() -> None:
    dropped: list[Item] = []
    channel = Channel(2, overflow="drop_oldest", on_drop=dropped.append)
    for number in range(5):
        await channel.send(item(float(number), number))
    assert [one.known_at for one in await channel.receive(9)] == [3.0, 4.0]
    assert [one.known_at for one in dropped] == [0.0, 1.0, 2.0]


async def test_progress_takes_no_room_and_only_the_last_of_it_stays() -> None:
    channel = Channel(1, overflow="drop_oldest")
    await channel.send(item(0.0, "frame"))
    for number in range(1, 5):
        await channel.send(item(float(number)))
    assert await channel.receive(9) == [item(0.0, "frame"), item(4.0)]


async def test_progress_does_not_save_the_oldest_item_from_being_dropped() -> None:
    channel = Channel(1, overflow="drop_oldest")
    for one in (item(0.0), item(1.0, "old"), item(2.0), item(3.0, "new"), item(4.0)):
        await channel.send(one)
    assert await channel.receive(9) == [item(0.0), item(2.0), item(3.0, "new"), item(4.0)]


async def test_lane_far_ahead_is_held_back_until_the_others_follow() -> None:
    slow, quick = Channel(None), Channel(2)
    join = Join(2, capacity=100, patience=5)
    sent = 0

    async def send() -> None:
        nonlocal sent
        for number in range(50):
            await quick.send(item(float(number), "picture"))
            sent += 1
        await quick.close()

    async with asyncio.TaskGroup() as group:
        group.create_task(send())
        group.create_task(join.feed(0, slow))
        group.create_task(join.feed(1, quick, most=1))
        await asyncio.sleep(1)
        assert sent == 5 + 1 + 2  # waiting in the join, in its hand, in the channel
        await slow.send(item(100.0))
        await slow.close()
    assert len(await join.channel.receive(100)) == 51


def test_channel_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        Channel(0)


LANES = st.lists(st.lists(st.integers(0, 5), max_size=6).map(sorted), min_size=1, max_size=3)


@given(lanes=LANES, order=st.randoms(use_true_random=False))
def test_join_order_does_not_depend_on_who_is_first(lanes: list[list[int]], order: Any) -> None:
    expected = sorted((t, lane, i) for lane, times in enumerate(lanes) for i, t in enumerate(times))
    left = {lane: list(enumerate(times)) for lane, times in enumerate(lanes)}
    ordered = Ordered(len(lanes))
    got: list[Any] = []
    while left:
        lane = order.choice(sorted(left))
        if left[lane]:
            index, time = left[lane].pop(0)
            ordered.put(lane, float(time), (time, lane, index))
        else:
            ordered.close(lane)
            del left[lane]
        got += [thing for _, thing in ordered.ready()]
    assert got == expected


def test_lane_that_goes_back_is_refused() -> None:
    ordered = Ordered(1)
    ordered.reach(0, 2.0)
    with pytest.raises(ValueError, match="goes back"):
        ordered.put(0, 1.0, "late")


async def _joined(lanes: Sequence[Sequence[tuple[float, float]]]) -> list[float]:
    """Send ``(delay, known_at)`` pairs down each lane and return the joined order."""
    channels = [Channel(2) for _ in lanes]
    join = Join(len(lanes), capacity=2)

    async def send(channel: Channel, pairs: Sequence[tuple[float, float]]) -> None:
        for delay, known_at in pairs:
            await asyncio.sleep(delay)
            await channel.send(item(known_at, "event"))
        await channel.close()

    async with asyncio.TaskGroup() as group:
        for lane, pairs in enumerate(lanes):
            group.create_task(send(channels[lane], pairs))
            group.create_task(join.feed(lane, channels[lane]))
        return [one.known_at async for batch in batches(join.channel, 1) for one in batch]


async def test_join_waits_for_the_slow_lane() -> None:
    slow, fast = [(5.0, 1.0), (5.0, 2.0)], [(0.0, 0.5), (0.0, 1.5), (0.0, 9.0)]
    assert await _joined([slow, fast]) == [0.5, 1.0, 1.5, 2.0, 9.0]


async def test_realtime_clock_waits_and_fast_clock_jumps() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await RealtimeClock().wait_until(3.0)
    assert loop.time() - began == pytest.approx(3.0)
    fast = FastClock()
    await fast.wait_until(100.0)
    assert fast.now() == 100.0
    assert loop.time() - began == pytest.approx(3.0)
