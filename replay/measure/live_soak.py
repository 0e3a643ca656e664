"""Clients come and go for long, some of them cut off: does the server's process stay as it was?

Each cycle begins at its time, streams a clip by ``deixis publish`` in a process of its own, and
ends: over WebSocket and WebRTC in turn, two that say goodbye and then two that are killed in the
middle. The server is asked for its own gauges (``/metrics``) twice a minute, just before a cycle
begins. A session that was cut off lives on for a while, so the samples are of different states:
only those with the number of sessions that most of them have are compared.

A gauge is flat when the median of its last third is above that of its first third by no more than
is allowed for it (:data:`ALLOWED`), and its value *at rest* at the end is above that at the start
by no more either: without any session, once before the soak, after every clip and every kind of
cycle so that everything is loaded, and once after it. The slope is that of Theil and Sen: the
median over all pairs of samples, which one odd sample cannot move.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, cycle
from pathlib import Path
from statistics import median

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from replay.measure.live_processes import (
    SENDERS,
    Child,
    LiveMeasureError,
    Sender,
    Served,
    publishing,
    serving,
)
from streaming.clock import RealtimeClock
from streaming.events import Seconds

SAMPLE_EVERY: Seconds = 30.0
_RESTS_WITHIN: Seconds = 120.0
_SETTLED: Seconds = 3.0
"""After the last session has ended, until its memory is given back."""
_CONNECTED_WITHIN: Seconds = 60.0
_CUT_AFTER: Seconds = 3.0
"""Of streaming."""
_GAUGES: dict[str, str] = {
    "process_resident_memory_bytes": "rss_mb",
    "process_cpu_seconds_total": "cpu_seconds",
    "process_open_fds": "descriptors",
    "deixis_threads": "threads",
    "deixis_tasks": "tasks",
    "deixis_sessions": "sessions",
}
_MEGABYTE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """How much higher a gauge may end: the larger of a share of it and a number."""

    share: float
    least: float


ALLOWED: dict[str, Allowed] = {
    "rss_mb": Allowed(share=0.03, least=10.0),
    "descriptors": Allowed(share=0.0, least=2.0),
    "threads": Allowed(share=0.0, least=2.0),
    "tasks": Allowed(share=0.0, least=2.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The server at one moment.

    Attributes:
        at: Seconds since the soak began.
        values: By name, as in :data:`_GAUGES`.
    """

    at: Seconds
    values: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """How a gauge went.

    Attributes:
        first, last: Median of the first and the last third of its samples.
        rest_before, rest_after: At rest.
        least, most: Of all samples.
        slope: A minute, by Theil and Sen.
        allowed: Most that ``last`` may be above ``first``.
    """

    first: float
    last: float
    rest_before: float
    rest_after: float
    least: float
    most: float
    slope: float
    allowed: float

    @property
    def flat(self) -> bool:
        grown = max(self.last - self.first, self.rest_after - self.rest_before)
        return grown <= self.allowed


@dataclass(slots=True, kw_only=True)
class Soak:
    """What came of it.

    Attributes:
        cycles: How many were begun, by kind.
        failed: What went wrong in cycles that should have gone well; one line each.
        samples: In order.
        rests: At rest, before and after.
    """

    cycles: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    rests: list[Sample] = field(default_factory=list)

    def alike(self) -> list[Sample]:
        """The samples with the number of sessions that most of them have."""
        usual = Counter(one.values["sessions"] for one in self.samples).most_common(1)
        return [one for one in self.samples if one.values["sessions"] == usual[0][0]]

    def trends(self) -> dict[str, Trend]:
        """Of every gauge that should be flat, once there are three samples alike and two rests."""
        samples = self.alike()
        if len(samples) < 3 or len(self.rests) < 2:
            return {}
        return {
            name: trend(samples, name, allowed, rests=(self.rests[0], self.rests[-1]))
            for name, allowed in ALLOWED.items()
        }

    @property
    def flat(self) -> bool:
        """Every gauge is flat, and there were enough samples to say so."""
        trends = self.trends()
        return bool(trends) and all(one.flat for one in trends.values())


def trend(
    samples: Sequence[Sample], name: str, allowed: Allowed, *, rests: tuple[Sample, Sample]
) -> Trend:
    """How the gauge ``name`` went over at least three samples.

    Raises:
        ValueError: If there are fewer.
    """
    if len(samples) < 3:
        raise ValueError(f"a trend needs three samples, not {len(samples)}")
    values = [one.values[name] for one in samples]
    third = len(values) // 3
    slopes = [
        60.0 * (later.values[name] - earlier.values[name]) / (later.at - earlier.at)
        for earlier, later in combinations(samples, 2)
    ]
    first = median(values[:third])
    return Trend(
        first=first,
        last=median(values[-third:]),
        rest_before=rests[0].values[name],
        rest_after=rests[1].values[name],
        least=min(values),
        most=max(values),
        slope=median(slopes),
        allowed=max(allowed.least, allowed.share * first),
    )


def read_gauges(text: str) -> dict[str, float]:
    """The gauges of a server from what ``/metrics`` says.

    Raises:
        LiveMeasureError: If one is missing.
    """
    found = {
        _GAUGES[sample.name]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name in _GAUGES
    }
    if missing := set(_GAUGES.values()) - set(found):
        raise LiveMeasureError(f"the server does not tell its {', '.join(sorted(missing))}")
    found["rss_mb"] /= _MEGABYTE
    return found


async def soak(
    clips: Sequence[Path],
    *,
    minutes: float,
    cycles_per_minute: float,
    told: Callable[[Sample], None] = lambda sample: None,
) -> Soak:
    """Run it.

    Raises:
        LiveMeasureError: If the server does not begin, or does not live to the end.
    """
    done = Soak()
    async with serving() as served, httpx2.AsyncClient(timeout=10.0) as client:
        kinds = [(sender, cut) for cut in (False, True) for sender in SENDERS]
        for number in range(max(len(kinds), len(clips))):
            sender, cut = kinds[number % len(kinds)]
            await _cycle(clips[number % len(clips)], served, sender, cut=cut, done=done)
        clock = RealtimeClock()
        await _rest(served, client, clock, done)
        clock = RealtimeClock()
        plan = cycle(kinds)
        running: set[asyncio.Task[None]] = set()
        for number in range(int(minutes * cycles_per_minute)):
            at = 60.0 * number / cycles_per_minute
            await clock.wait_until(at)
            if at >= SAMPLE_EVERY * len(done.samples):
                await _sample(served, client, clock.now(), done, told)
            sender, cut = next(plan)
            one = _cycle(clips[number % len(clips)], served, sender, cut=cut, done=done)
            task = asyncio.create_task(one)
            running.add(task)
            task.add_done_callback(running.discard)
        await clock.wait_until(60.0 * minutes)
        await _sample(served, client, clock.now(), done, told)
        if running:
            await asyncio.wait(running)
        await _rest(served, client, clock, done)
    return done


async def _rest(
    served: Served, client: httpx2.AsyncClient, clock: RealtimeClock, done: Soak
) -> None:
    """Wait until there is no session, and take a sample."""
    late = clock.now() + _RESTS_WITHIN
    while (await _ask(served, client))["sessions"] > 0:
        if clock.now() > late:
            raise LiveMeasureError(f"sessions did not end within {_RESTS_WITHIN:g} s")
        await asyncio.sleep(1.0)
    await asyncio.sleep(_SETTLED)
    done.rests.append(Sample(at=clock.now(), values=await _ask(served, client)))


async def _sample(
    served: Served,
    client: httpx2.AsyncClient,
    at: Seconds,
    done: Soak,
    told: Callable[[Sample], None],
) -> None:
    done.samples.append(Sample(at=at, values=await _ask(served, client)))
    told(done.samples[-1])


async def _ask(served: Served, client: httpx2.AsyncClient) -> dict[str, float]:
    if served.child.code is not None:
        raise LiveMeasureError(f"the server ended with {served.child.code}")
    try:
        text = (await client.get(f"http://{served.host}/metrics")).text
    except httpx2.HTTPError as error:
        raise LiveMeasureError(f"the server does not answer ({type(error).__name__})") from None
    return read_gauges(text)


async def _cycle(clip: Path, served: Served, sender: Sender, *, cut: bool, done: Soak) -> None:
    name = f"{sender} cut off" if cut else sender
    done.cycles[name] = done.cycles.get(name, 0) + 1
    child = await publishing(clip, served, sender)
    try:
        await _stream(child, cut=cut)
    except LiveMeasureError as error:
        done.failed.append(f"{name}: {error}")
    finally:
        child.kill()
        await child.ended()


async def _stream(child: Child, *, cut: bool) -> None:
    await child.wait_for("connected: session (.+)", within=_CONNECTED_WITHIN)
    if cut:
        await asyncio.sleep(_CUT_AFTER)
    elif await child.ended() != 0:
        raise LiveMeasureError(child.last_words())
