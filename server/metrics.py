"""What the server counts, for Prometheus, in a registry of its own.

Every label has a closed set of values: whatever a client makes up is counted as ``other``, so that
it cannot make the registry grow.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from server.limits import REASONS, Reason
from streaming.events import Seconds

Way: TypeAlias = Literal["websocket", "whip", "pull"]
"""How sound and pictures come in."""
Media: TypeAlias = Literal["frame", "block"]

WAYS: tuple[str, ...] = ("websocket", "whip", "pull")
DROPS: tuple[str, ...] = ("frame", "block", "late", "packet", "message", "feed")
EVENTS: tuple[str, ...] = ("Word", "Stroke", "Binding", "Answer")
OUTCOMES: tuple[str, ...] = ("answered", "failed", "cancelled", "superseded")
OTHER = "other"
_LAGS: tuple[Seconds, ...] = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.6, 2.0, 3.0, 5.0, 10.0)


def _known(value: str, allowed: tuple[str, ...]) -> str:
    return value if value in allowed else OTHER


class Metrics:
    """The server's counters. Every method may be called from any thread.

    Args:
        process: Also tell the process's memory, CPU and open files (on Linux).
    """

    def __init__(self, *, process: bool = True) -> None:
        self.registry = CollectorRegistry()
        if process:
            ProcessCollector(registry=self.registry)
        self._sessions = Gauge("deixis_sessions", "Sessions open now.", registry=self.registry)
        self._opened = self._counter("deixis_sessions_opened", "Sessions by the way in.", "way")
        self._readers = Gauge("deixis_feed_readers", "Readers of feeds.", registry=self.registry)
        self._tasks = Gauge("deixis_tasks", "Tasks of the event loop.", registry=self.registry)
        self._threads = Gauge("deixis_threads", "Threads of the process.", registry=self.registry)
        self._received = self._counter("deixis_received", "Frames and blocks.", "way", "media")
        self._bytes = self._counter("deixis_received_bytes", "Bytes of media.", "way")
        self._dropped = self._counter("deixis_dropped", "What was left out, by kind.", "kind")
        self._refused = self._counter("deixis_refused", "Requests refused, by reason.", "reason")
        self._slowed = self._counter("deixis_slowed", "Messages read later to keep the rate.")
        self._answers = self._counter("deixis_answers", "Answers by outcome.", "outcome")
        self._lag = Histogram(
            "deixis_event_lag_seconds",
            "From what an event is about until it was sent.",
            ("event",),
            buckets=_LAGS,
            registry=self.registry,
        )
        for reason in REASONS:
            self._refused.labels(reason)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def session_opened(self, way: str) -> None:
        """A session began."""
        self._sessions.inc()
        self._opened.labels(_known(way, WAYS)).inc()

    def session_closed(self) -> None:
        """A session ended."""
        self._sessions.dec()

    def reader_came(self) -> None:
        """Somebody reads a feed."""
        self._readers.inc()

    def reader_left(self) -> None:
        """And does so no more."""
        self._readers.dec()

    def running(self, *, tasks: int, threads: int) -> None:
        """How much of each runs now."""
        self._tasks.set(tasks)
        self._threads.set(threads)

    def received(self, way: str, media: Media, size: int = 0) -> None:
        """A frame or a block came in, ``size`` bytes as they were sent."""
        self._received.labels(_known(way, WAYS), media).inc()
        self._bytes.labels(_known(way, WAYS)).inc(max(0, size))

    def dropped(self, kind: str, count: int = 1) -> None:
        """Something was left out (:data:`DROPS`)."""
        self._dropped.labels(_known(kind, DROPS)).inc(max(0, count))

    def refused(self, reason: Reason) -> None:
        """Something was refused."""
        self._refused.labels(_known(reason, REASONS)).inc()

    def slowed(self) -> None:
        """A message waits because its sender is faster than agreed."""
        self._slowed.inc()

    def answered(self, outcome: str) -> None:
        """A query ended (:data:`OUTCOMES`)."""
        self._answers.labels(_known(outcome, OUTCOMES)).inc()

    def event(self, kind: str, lag: Seconds) -> None:
        """An event was sent, ``lag`` seconds after what it is about."""
        self._lag.labels(_known(kind, EVENTS)).observe(max(0.0, lag))

    def value(self, name: str, **labels: str) -> float:
        """One value as it would be told; 0 for a series that has none yet."""
        return self.registry.get_sample_value(name, labels) or 0.0

    def render(self) -> tuple[bytes, str]:
        """All of it in Prometheus's text format, and that format's media type."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST
