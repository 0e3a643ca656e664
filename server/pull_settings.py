"""The numbers of fetched streams, the ``[pull]`` table of ``configs/server.toml``."""

from __future__ import annotations

from dataclasses import dataclass, fields

from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PullSettings:
    """When a fetched stream counts as gone, and when to try again.

    Attributes:
        open_within, read_within: Seconds for connecting, and for each read.
        first_wait, longest_wait: Between two attempts; each doubles the one before.
        attempts: That may fail in a row; 0 for no end.
        steady: A connection that held so long makes the next wait the first again.
    """

    open_within: Seconds = 10.0
    read_within: Seconds = 10.0
    first_wait: Seconds = 0.5
    longest_wait: Seconds = 15.0
    attempts: int = 0
    steady: Seconds = 10.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value < 0 or (value == 0 and one.name != "attempts"):
                raise ValueError(f"{one.name} is {value}, expected above 0")
