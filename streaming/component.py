"""Pure streaming components, and how they are put one behind the other.

A component is fed with :meth:`Component.push` and closed once with :meth:`Component.finish`. It
has no clock, does no I/O of its own and draws no random numbers, so what it says depends only on
what it was given. A model that it needs is handed in behind a Protocol that the component's module
owns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from streaming.clock import Stopwatch
from streaming.events import Counters


class Component(Protocol):
    """One step of the pipeline.

    Attributes:
        accepts: The event types that it wants; others are not offered to it.
        counters: What it counted so far.
    """

    accepts: tuple[type, ...]
    counters: Counters

    def push(self, event: Any) -> Sequence[Any]:
        """Take one event and return what it made certain."""
        ...

    def finish(self) -> Sequence[Any]:
        """Take the end of the stream and return what was still open."""
        ...


class Chain:
    """Components in a row: each sees the input and all that the ones before it said.

    Its output holds, in order, what every component said.

    Attributes:
        busy: Wall seconds spent in each component's own ``push`` and ``finish``.
        cpu: CPU seconds of the calling thread in them; threads of a model's own are not in it.
        steps: Number of calls.
        longest: Wall seconds of the longest one.
    """

    def __init__(self, components: Sequence[tuple[str, Component]]) -> None:
        self._components = list(components)
        self.busy: dict[str, float] = {name: 0.0 for name, _ in components}
        self.cpu: dict[str, float] = {name: 0.0 for name, _ in components}
        self.steps: dict[str, int] = {name: 0 for name, _ in components}
        self.longest: dict[str, float] = {name: 0.0 for name, _ in components}
        self.accepts: tuple[type, ...] = tuple(
            dict.fromkeys(kind for _, component in components for kind in component.accepts)
        )

    @property
    def counters(self) -> Counters:
        total = Counters()
        total.merge([component.counters for _, component in self._components])
        return total

    def push(self, event: Any) -> list[Any]:
        return self._run([event], first=0)[1:]

    def finish(self) -> list[Any]:
        said: list[Any] = []
        for position, (name, component) in enumerate(self._components):
            watch = Stopwatch(thread=True)
            last = list(component.finish())
            self._spent(name, watch)
            said += self._run(last, first=position + 1)
        return said

    def _run(self, events: list[Any], *, first: int) -> list[Any]:
        for name, component in self._components[first:]:
            for event in tuple(events):
                if isinstance(event, component.accepts):
                    watch = Stopwatch(thread=True)
                    events += component.push(event)
                    self._spent(name, watch)
        return events

    def _spent(self, name: str, watch: Stopwatch) -> None:
        seconds = watch.wall()
        self.busy[name] += seconds
        self.cpu[name] += watch.cpu()
        self.steps[name] += 1
        self.longest[name] = max(self.longest[name], seconds)
