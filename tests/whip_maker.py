"""A hub whose sessions remember when they heard clicks and saw flashes."""

from __future__ import annotations

from dataclasses import dataclass, field

import ifaddr
import numpy as np
import pytest
from numpy.typing import NDArray

from replay.measure.sync import Onsets
from server.hub import HubFull

IN_STEP = 0.040
FLASH_EVERY = 0.8
FLASH = 0.16


@dataclass
class Taken:
    """An ingest that remembers when something was loud or bright.

    Attributes:
        fading: When flashes began of which only the left half is white all the time.
    """

    sounds: list[tuple[float, float, float]] = field(default_factory=list)
    pictures: list[tuple[float, float]] = field(default_factory=list)
    sizes: set[tuple[int, ...]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    closed: str | None = None
    fading: list[float] = field(default_factory=list)
    onsets: Onsets = field(default_factory=Onsets)

    def sound(self, samples: NDArray[np.float32], *, rate: int, time: float) -> None:
        loud = np.flatnonzero(np.abs(samples).max(axis=0) > 0.1)
        onset = time + float(loud[0]) / rate if loud.size else -1.0
        self.sounds.append((time, samples.shape[1] / rate, onset))

    def picture(self, image: NDArray[np.uint8], *, time: float, pixel_aspect: float = 1.0) -> None:
        self.pictures.append((time, float(image.mean())))
        self.sizes.add(image.shape)
        began = self.onsets.flash(image, time=time)
        if began is not None:
            self.fading.append(began)

    def note(self, kind: str, text: str) -> None:
        self.notes.append(kind)
        self.said[kind] = text

    def close(self, reason: str) -> None:
        self.closed = self.closed or reason

    def clicks(self) -> list[float]:
        """Onsets of sounds after quiet."""
        onsets = [onset for _, _, onset in self.sounds if onset >= 0.0]
        return [b for a, b in zip([-1.0, *onsets], onsets, strict=False) if b - a > 0.2]

    def flashes(self) -> list[float]:
        """Times of the first bright picture after a dark one."""
        pairs = zip(self.pictures, self.pictures[1:], strict=False)
        return [b[0] for a, b in pairs if a[1] < 128 <= b[1]]

    def apart(self) -> list[tuple[float, float]]:
        """Of each click, when it was and how much later the nearest flash is."""
        flashes = self.flashes()
        return [
            (click, min((flash - click for flash in flashes), key=abs)) for click in self.clicks()
        ]


@dataclass
class MadeSession:
    id: str
    language: str
    ingest: Taken = field(default_factory=Taken)
    failure: str | None = None

    async def started(self) -> None:
        if self.failure is not None:
            raise RuntimeError(self.failure)


class MadeHub:
    """Takes ``room`` sessions."""

    def __init__(self, *, room: int = 4, failure: str | None = None) -> None:
        self.sessions: dict[str, MadeSession] = {}
        self._room = room
        self._failure = failure

    def open(self, kind: str, *, language: str) -> MadeSession:
        assert kind == "whip"
        if len(self.sessions) >= self._room:
            raise HubFull("no room")
        session = MadeSession(f"s{len(self.sessions)}", language, failure=self._failure)
        self.sessions[session.id] = session
        return session

    def get(self, name: str) -> MadeSession | None:
        return self.sessions.get(name)


def needs_network() -> None:
    """ICE leaves out 127.0.0.1, so another address of this machine is needed."""
    addresses = [str(ip.ip) for one in ifaddr.get_adapters() for ip in one.ips if ip.is_IPv4]
    if all(address.startswith("127.") for address in addresses):
        pytest.skip("this machine has no address but 127.0.0.1")
