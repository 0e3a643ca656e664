"""Packets of sound in the order in which they were sent, as early as the network allows.

aiortc's own buffer keeps four packets back always, and after one that is lost fifteen for good, so
that from then on whoever is overtaken is lost as well. Here a packet goes on at once if nothing is
missing before it, and else waits as long as packets have lately been overtaken by, and no longer.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from streaming.events import Counters, Seconds

Packet = TypeVar("Packet")

_ROUND = 1 << 16
_FAR = 1 << 10
"""Packets further away are not late or early but of another count."""


class PacketOrder(Generic[Packet]):
    """Puts packets in order.

    It has no clock: ``arrival`` is in seconds of any clock that does not go back.

    Args:
        first: How long packets wait for one that is missing before any was overtaken.
        least, most: Bounds of that.
        window: Seconds of the past that tell it.
        margin: Times the longest of it.

    Attributes:
        counters: ``rtc_sound_lost`` packets that nobody waited for any more, and of these
            ``rtc_sound_late`` that came in the end.
    """

    def __init__(
        self,
        *,
        first: Seconds = 0.12,
        least: Seconds = 0.04,
        most: Seconds = 0.3,
        window: Seconds = 10.0,
        margin: float = 1.5,
        counters: Counters | None = None,
    ) -> None:
        self.counters = Counters() if counters is None else counters
        self._first, self._least, self._most = first, least, most
        self._window, self._margin = window, margin
        self._next: int | None = None
        self._source: int | None = None
        self._began: Seconds = 0.0
        self._held: dict[int, tuple[Seconds, Packet]] = {}
        self._missed: dict[int, Seconds] = {}
        """Of those missing when they were first passed; the given up as well, for a while."""
        self._overtaken: deque[tuple[Seconds, Seconds]] = deque(maxlen=500)

    def push(self, packet: Packet, *, source: int, sequence: int, arrival: Seconds) -> list[Packet]:
        """Take a packet; returns those that go on, in order.

        Args:
            packet: It.
            source: Another one starts anew.
            sequence: Its number, 16 bits.
            arrival: When it came.
        """
        number = self._unwrap(sequence)
        if self._next is None or source != self._source or abs(number - self._next) > _FAR:
            going = [held for _, (_, held) in sorted(self._held.items())]
            self._start(source, sequence, arrival)
            return [*going, packet]
        self._note_overtaken(number, arrival)
        if number < self._next:
            if self._missed.pop(number, None) is not None:
                self.counters.add("rtc_sound_late")
            return []
        if number not in self._held:
            self._held[number] = (arrival, packet)
        return self._released(arrival)

    def _start(self, source: int, sequence: int, arrival: Seconds) -> None:
        self._held.clear()
        self._missed.clear()
        self._overtaken.clear()
        self._source, self._next, self._began = source, sequence + 1, arrival

    def _unwrap(self, sequence: int) -> int:
        if self._next is None:
            return sequence
        away = (sequence - self._next) % _ROUND
        return self._next + (away - _ROUND if away >= _ROUND // 2 else away)

    def _note_overtaken(self, number: int, arrival: Seconds) -> None:
        passed = self._missed.get(number)
        if passed is not None:
            self._overtaken.append((arrival, arrival - passed))
        elif self._next is not None:
            newest = max(self._held, default=self._next - 1)
            for missing in range(max(newest + 1, self._next), number):
                self._missed[missing] = arrival

    def _released(self, arrival: Seconds) -> list[Packet]:
        going: list[Packet] = []
        patience = self._patience(arrival)
        while self._held and self._next is not None:
            if self._next in self._held:
                going.append(self._held.pop(self._next)[1])
                self._missed.pop(self._next, None)
                self._next += 1
                continue
            first = min(self._held)
            if arrival - self._missed.get(self._next, arrival) < patience:
                break
            self.counters.add("rtc_sound_lost", first - self._next)
            self._next = first
        self._forget(arrival)
        return going

    def _patience(self, arrival: Seconds) -> Seconds:
        while self._overtaken and arrival - self._overtaken[0][0] > self._window:
            self._overtaken.popleft()
        longest = max((by for _, by in self._overtaken), default=0.0) * self._margin
        if arrival - self._began < self._window:
            longest = max(longest, self._first)
        return min(self._most, max(self._least, longest))

    def _forget(self, arrival: Seconds) -> None:
        old = [one for one, passed in self._missed.items() if arrival - passed > 1.0]
        for one in old:
            if self._next is not None and one < self._next:
                del self._missed[one]
