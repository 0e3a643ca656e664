"""What a soak says of its samples."""

from __future__ import annotations

import asyncio
import threading

import pytest
from starlette.applications import Starlette

from replay.measure.live_processes import LiveMeasureError
from replay.measure.live_soak import ALLOWED, Allowed, Sample, Soak, read_gauges, trend
from server.metrics_route import metrics_routes
from tests.guard_maker import SECRET, call, open_guard, request

EVEN = {"rss_mb": 500.0, "descriptors": 12.0, "threads": 13.0, "tasks": 3.0, "sessions": 1.0}
REST = Sample(at=0.0, values=EVEN)


def samples(**changing: list[float]) -> list[Sample]:
    count = max((len(values) for values in changing.values()), default=9)
    return [
        Sample(
            at=30.0 * number,
            values={**EVEN, **{name: values[number] for name, values in changing.items()}},
        )
        for number in range(count)
    ]


def test_what_stays_is_flat() -> None:
    soak = Soak(samples=samples(), rests=[REST, REST])
    assert soak.flat
    assert all(one.slope == 0.0 for one in soak.trends().values())


def test_what_grows_is_not_flat_and_its_slope_is_told_a_minute() -> None:
    grown = trend(
        samples(tasks=[3.0 + number for number in range(9)]),
        "tasks",
        ALLOWED["tasks"],
        rests=(REST, REST),
    )
    assert not grown.flat
    assert grown.slope == pytest.approx(2.0)
    assert (grown.first, grown.last) == (4.0, 10.0)


def test_one_odd_sample_is_no_growth() -> None:
    values = [12.0] * 9
    values[-1] = 90.0
    odd = trend(
        samples(descriptors=values), "descriptors", ALLOWED["descriptors"], rests=(REST, REST)
    )
    assert odd.flat
    assert odd.slope == 0.0
    assert odd.most == 90.0


def test_a_share_of_the_first_third_is_allowed() -> None:
    rising = samples(rss_mb=[1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1029.0])
    rests = (REST, REST)
    assert trend(rising, "rss_mb", Allowed(share=0.03, least=10.0), rests=rests).flat
    assert not trend(rising, "rss_mb", Allowed(share=0.001, least=10.0), rests=rests).flat


def test_what_is_not_given_back_at_rest_is_not_flat() -> None:
    grown = Sample(at=1800.0, values={**EVEN, "rss_mb": 600.0})
    soak = Soak(samples=samples(), rests=[REST, grown])
    assert not soak.flat
    assert not soak.trends()["rss_mb"].flat
    assert soak.trends()["tasks"].flat


def test_only_samples_alike_are_compared() -> None:
    sessions = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0]
    memory = [500.0] * 6 + [900.0] * 2
    soak = Soak(samples=samples(sessions=sessions, rss_mb=memory), rests=[REST, REST])
    assert len(soak.alike()) == 6
    assert soak.flat


def test_too_few_samples_say_nothing() -> None:
    few = samples()[:2]
    assert not Soak(samples=few, rests=[REST, REST]).flat
    assert not Soak(samples=samples(), rests=[REST]).flat
    with pytest.raises(ValueError, match="three samples"):
        trend(few, "tasks", ALLOWED["tasks"], rests=(REST, REST))


async def test_the_gauges_are_read_from_what_the_server_tells() -> None:
    gate = open_guard()
    app = Starlette(routes=metrics_routes(None, gate, None), middleware=list(gate.middleware()))
    bearer = [("authorization", f"Bearer {SECRET}")]
    told = (await call(app, request("/metrics", headers=bearer))).body.decode()
    assert "deixis_threads" in told
    process = (
        "process_resident_memory_bytes 5e8\nprocess_cpu_seconds_total 7\nprocess_open_fds 12\n"
    )
    gauges = read_gauges(told + process)
    assert gauges["rss_mb"] == 500.0
    assert gauges["threads"] >= threading.active_count()
    assert gauges["tasks"] >= len(asyncio.all_tasks()) > 0


def test_a_server_that_does_not_tell_is_an_error() -> None:
    with pytest.raises(LiveMeasureError, match="tasks"):
        read_gauges("deixis_sessions 1\n")
