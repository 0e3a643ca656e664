"""The one asyncio loop around every component, and the channels between them.

Everything that travels between stages is an :class:`Item`: what one input brought out, with the
media watermark at which that became known. An item without events is pure progress. Items of one
channel come in order of ``known_at``, so two channels join by taking the smaller one first: the
result cannot depend on which thread was faster.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What became known at one moment.

    Attributes:
        known_at: Media watermark; infinite for what only the end of the stream brought out.
        events: In the order in which they were said.
        sent_at: Session clock when it entered its channel.
    """

    known_at: Seconds
    events: tuple[Any, ...] = ()
    sent_at: Seconds = 0.0

    @property
    def finish(self) -> bool:
        """True for what only the end of the stream brought out."""
        return math.isinf(self.known_at)


class Channel:
    """A queue of items from one stage to the next.

    Items without events only say how far the stream is. They take no room, hold nobody back and
    drop nothing; of several in a row the last one stays.

    Args:
        capacity: Most items with events that wait in it; None for as many as come.
        overflow: What happens to one item more: ``wait`` holds the sender back, ``drop_oldest``
            throws away the item that has waited longest and counts it.
        on_drop: Told about every item thrown away.

    Raises:
        ValueError: If ``capacity`` is below 1.
    """

    def __init__(
        self,
        capacity: int | None,
        *,
        overflow: Literal["wait", "drop_oldest"] = "wait",
        on_drop: Callable[[Item], None] | None = None,
    ) -> None:
        if capacity is not None and capacity < 1:
            raise ValueError(f"a channel's capacity is at least 1, not {capacity}")
        self._capacity = math.inf if capacity is None else capacity
        self._overflow = overflow
        self._on_drop = on_drop
        self._items: deque[Item] = deque()
        self._full = 0  # items with events
        self._closed = False
        self._changed = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._items)

    async def send(self, item: Item) -> None:
        """Put ``item`` in, by the channel's overflow rule."""
        async with self._changed:
            if not item.events:
                if self._items and not self._items[-1].events:
                    self._items.pop()
            else:
                if self._overflow == "wait":
                    await self._changed.wait_for(lambda: self._full < self._capacity)
                elif self._full >= self._capacity:
                    self._drop_oldest()
                self._full += 1
            self._items.append(item)
            self._changed.notify_all()

    def _drop_oldest(self) -> None:
        oldest = next(index for index, item in enumerate(self._items) if item.events)
        dropped = self._items[oldest]
        del self._items[oldest]
        self._full -= 1
        if self._on_drop is not None:
            self._on_drop(dropped)

    async def close(self) -> None:
        """Say that nothing more will come."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()

    async def receive(self, most: int = 1) -> list[Item]:
        """The next items, at least one and at most ``most``; empty when the channel has ended."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._items) or self._closed)
            taken = [self._items.popleft() for _ in range(min(most, len(self._items)))]
            self._full -= sum(bool(item.events) for item in taken)
            self._changed.notify_all()
            return taken


class Runnable(Protocol):
    """What a stage runs: a component, or a chain of them."""

    @property
    def accepts(self) -> tuple[type, ...]: ...

    def push(self, event: Any) -> Sequence[Any]: ...

    def finish(self) -> Sequence[Any]: ...


Record = Callable[[str, Item], None]
"""Told by every stage what it said: the stage's name and the item."""


async def run_stage(
    component: Runnable,
    inbox: AsyncIterator[list[Item]],
    outbox: Channel | None,
    *,
    name: str,
    record: Record,
    worker: Executor | None = None,
    before: Callable[[Item], None] | None = None,
    forward: tuple[type, ...] = (),
    beside: Callable[[Item], tuple[Any, ...]] | None = None,
) -> None:
    """Feed ``inbox`` to ``component`` and its answers to ``outbox``, until both end.

    Args:
        inbox: Batches of items in order of ``known_at``; one worker call serves a whole batch.
        outbox: Where to, or None for the last stage.
        name: The stage's name in the trace.
        record: Told about every item, before it is sent on.
        worker: Runs the component's calls; None runs them in the event loop.
        before: Told about every item just before the component gets it.
        forward: Event types of the input that are sent on as well (not recorded).
        beside: Shown every item once it is recorded; what it returns is sent on after the
            component's own events (not recorded). Runs in the event loop.
    """

    def step(batch: list[Item]) -> list[tuple[Item, Item]]:
        answered = []
        for item in batch:
            if before is not None:
                before(item)
            said: list[Any] = []
            passed: list[Any] = []
            for event in item.events:
                if isinstance(event, forward):
                    passed.append(event)
                if isinstance(event, component.accepts):
                    said += component.push(event)
            answer = replace(item, events=tuple(said))
            answered.append((answer, replace(item, events=(*passed, *said))))
        return answered

    def with_more(answer: Item, onward: Item) -> Item:
        more = () if beside is None else beside(answer)
        return replace(onward, events=(*onward.events, *more)) if more else onward

    async def call(function: Callable[..., Any], *arguments: Any) -> Any:
        if worker is None:
            return function(*arguments)
        return await asyncio.get_running_loop().run_in_executor(worker, function, *arguments)

    async for batch in inbox:
        idle = not any(item.events for item in batch)
        for answer, onward in step(batch) if idle else await call(step, batch):
            record(name, answer)
            if outbox is not None:
                await outbox.send(with_more(answer, onward))
    last = Item(known_at=math.inf, events=tuple(await call(component.finish)))
    record(name, last)
    if outbox is not None:
        await outbox.send(with_more(last, last))
        await outbox.close()


async def batches(channel: Channel, most: int) -> AsyncIterator[list[Item]]:
    """What waits in ``channel``, up to ``most`` items at a time, until it ends."""
    while batch := await channel.receive(most):
        yield batch


class Join:
    """Brings several channels into one, in order of ``known_at``, ties by the channels' order.

    An item goes on when every other channel has one that is not earlier, or has ended. So the order
    depends on what became known when, never on which stage ran first.

    Args:
        lanes: How many channels.
        capacity: Of :attr:`channel`.
        patience: How many items with events a lane may be ahead of the others before it is held
            back; None for as many as come. They hold pictures, so this bounds the memory when
            another lane is stuck. Only for lanes whose sender never waits for this one: it would
            wait for ever.

    Attributes:
        channel: Where the items come out.
    """

    def __init__(self, lanes: int, *, capacity: int, patience: int | None = None) -> None:
        self.channel = Channel(capacity)
        self._order = Ordered(lanes)
        self._ahead = [0] * lanes
        self._patience = math.inf if patience is None else patience
        self._open = lanes
        self._turn = asyncio.Condition()

    async def feed(self, lane: int, channel: Channel, *, most: int = 16) -> None:
        """Take lane number ``lane`` from ``channel`` until it ends. Run one task a lane."""
        async for batch in batches(channel, most):
            async with self._turn:
                await self._turn.wait_for(lambda: self._ahead[lane] < self._patience)
                for item in batch:
                    self._order.put(lane, item.known_at, (lane, item))
                    self._ahead[lane] += bool(item.events)
                await self._pass_on()
        async with self._turn:
            self._order.close(lane)
            await self._pass_on()
            self._open -= 1
            if not self._open:
                await self.channel.close()

    async def _pass_on(self) -> None:
        for _, (lane, item) in self._order.ready():
            self._ahead[lane] -= bool(item.events)
            await self.channel.send(item)
        self._turn.notify_all()


class Ordered:
    """Puts several ordered lanes into one order: by ``known_at``, then lane, then arrival.

    A pure structure: :meth:`ready` gives out what no lane can come before any more.
    """

    def __init__(self, lanes: int) -> None:
        self._heap: list[tuple[Seconds, int, int, Any]] = []
        self._reached = [-math.inf] * lanes
        self._open = [True] * lanes
        self._count = 0

    def put(self, lane: int, known_at: Seconds, thing: Any) -> None:
        """Add ``thing``.

        Raises:
            ValueError: If its lane has already passed ``known_at``.
        """
        self.reach(lane, known_at)
        self._count += 1
        heapq.heappush(self._heap, (known_at, lane, self._count, thing))

    def reach(self, lane: int, known_at: Seconds) -> None:
        """Say that ``lane`` brings nothing earlier than ``known_at`` any more.

        Raises:
            ValueError: If it said so of a later time already.
        """
        if known_at < self._reached[lane]:
            raise ValueError(f"lane {lane} goes back from {self._reached[lane]} to {known_at}")
        self._reached[lane] = known_at

    def close(self, lane: int) -> None:
        """Say that ``lane`` brings nothing more at all."""
        self._open[lane] = False

    def ready(self) -> list[tuple[Seconds, Any]]:
        """What is settled now: pairs of ``known_at`` and thing, in order."""
        out = []
        while self._heap and self._settled(*self._heap[0][:2]):
            known_at, _, _, thing = heapq.heappop(self._heap)
            out.append((known_at, thing))
        return out

    def _settled(self, known_at: Seconds, lane: int) -> bool:
        """No open lane can still bring something that belongs before this."""
        return all(
            not is_open or reached > known_at or (reached == known_at and other >= lane)
            for other, (reached, is_open) in enumerate(zip(self._reached, self._open, strict=True))
        )
