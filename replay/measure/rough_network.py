"""A network that delays and loses packets, inside this process: between ICE and whoever uses it.

Packets are held back where :class:`aioice.Connection` hands them over, each by a delay of its own,
so that they overtake each other as they do on a network. It needs no rights and no kernel module.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any
from weakref import WeakKeyDictionary

import aioice

from streaming.events import Seconds

_MEDIA = range(128, 192)
"""First bytes of RTP and RTCP (RFC 7983)."""


class RoughNetwork:
    """Delays and loses packets of media and their reports, in both directions.

    Args:
        jitter: Each packet is delayed by between 0 and this, evenly.
        loss: Share that is lost.
        seed: Of the chance.

    Attributes:
        lost: Packets.
    """

    def __init__(self, *, jitter: Seconds, loss: float, seed: int = 0) -> None:
        self.lost = 0
        self._jitter = jitter
        self._loss = loss
        self._chance = random.Random(seed)
        self._arriving: WeakKeyDictionary[aioice.Connection, _Arriving] = WeakKeyDictionary()

    def install(self) -> None:
        """Have all connections of this process go through it, for good."""
        recv, send = aioice.Connection.recv, aioice.Connection.send
        network = self

        async def rough_recv(self: aioice.Connection) -> bytes:
            arriving = network._arriving.get(self)
            if arriving is None:
                arriving = network._arriving[self] = _Arriving()
                arriving.reading = asyncio.create_task(network._read(self, recv, arriving))
            packet = await arriving.packets.get()
            if isinstance(packet, ConnectionError):
                arriving.packets.put_nowait(packet)
                raise packet
            return packet

        async def rough_send(self: aioice.Connection, data: bytes) -> None:
            delay = network._delay(data)
            if delay == 0.0:
                await send(self, data)
            elif delay is not None:
                asyncio.get_running_loop().call_later(delay, _spawn, send, self, data)

        for name, rough in (("recv", rough_recv), ("send", rough_send)):
            setattr(aioice.Connection, name, rough)

    async def _read(self, connection: Any, recv: Any, arriving: _Arriving) -> None:
        later = asyncio.get_running_loop().call_later
        try:
            while True:
                packet = await recv(connection)
                delay = self._delay(packet)
                if delay is not None:
                    later(delay, arriving.packets.put_nowait, packet)
        except ConnectionError as error:
            arriving.packets.put_nowait(error)

    def _delay(self, packet: bytes) -> Seconds | None:
        """How long a packet is on its way; None if it does not arrive."""
        if not packet or packet[0] not in _MEDIA:
            return 0.0
        if self._chance.random() < self._loss:
            self.lost += 1
            return None
        return self._chance.random() * self._jitter


class _Arriving:
    """Packets of one connection that have arrived, or why none do any more."""

    def __init__(self) -> None:
        self.packets: asyncio.Queue[bytes | ConnectionError] = asyncio.Queue()
        self.reading: asyncio.Task[None] | None = None


_sending: set[asyncio.Task[None]] = set()


def _spawn(send: Any, connection: Any, packet: bytes) -> None:
    async def sent() -> None:
        try:
            await send(connection, packet)
        except ConnectionError:
            return  # the connection ended while the packet was on its way

    task = asyncio.create_task(sent())
    _sending.add(task)
    task.add_done_callback(_sending.discard)
