"""What the server counts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from server.limits import REASONS
from server.metrics import Metrics
from server.metrics_route import metrics_routes
from tests.guard_maker import SECRET, call, open_guard, request


def test_each_server_counts_for_itself() -> None:
    one, other = Metrics(process=False), Metrics(process=False)
    one.session_opened("whip")
    assert one.value("deixis_sessions") == 1
    assert other.value("deixis_sessions") == 0


def test_everything_is_told() -> None:
    metrics = Metrics(process=False)
    metrics.session_opened("whip")
    metrics.session_opened("websocket")
    metrics.session_closed()
    metrics.reader_came()
    metrics.received("whip", "frame", 1000)
    metrics.received("whip", "block")
    metrics.dropped("late", 3)
    metrics.refused("origin")
    metrics.slowed()
    metrics.answered("cancelled")
    metrics.event("Word", 0.7)
    text = metrics.render()[0].decode()
    for line in (
        "deixis_sessions 1.0",
        'deixis_sessions_opened_total{way="whip"} 1.0',
        "deixis_feed_readers 1.0",
        'deixis_received_total{media="frame",way="whip"} 1.0',
        'deixis_received_bytes_total{way="whip"} 1000.0',
        'deixis_dropped_total{kind="late"} 3.0',
        'deixis_refused_total{reason="origin"} 1.0',
        "deixis_slowed_total 1.0",
        'deixis_answers_total{outcome="cancelled"} 1.0',
        'deixis_event_lag_seconds_bucket{event="Word",le="0.8"} 1.0',
        'deixis_event_lag_seconds_bucket{event="Word",le="0.6"} 0.0',
    ):
        assert line in text.splitlines()


def test_every_reason_is_told_from_the_start() -> None:
    text = Metrics(process=False).render()[0].decode()
    for reason in REASONS:
        assert f'deixis_refused_total{{reason="{reason}"}} 0.0' in text


def test_the_process_is_told_on_request() -> None:
    assert b"process_resident_memory_bytes" in Metrics().render()[0]
    assert b"process_resident_memory_bytes" not in Metrics(process=False).render()[0]


@settings(max_examples=10)
@given(st.lists(st.text(), max_size=10))
def test_made_up_labels_do_not_make_it_grow(labels: list[str]) -> None:
    metrics = Metrics(process=False)

    def count(label: str) -> int:
        metrics.dropped(label)
        metrics.answered(label)
        metrics.event(label, -1.0)
        metrics.session_opened(label)
        return len(metrics.render()[0].splitlines())

    size = count("no such kind")
    for label in labels:
        if label not in ("frame", "block", "late", "packet", "message", "feed"):
            assert count(label) == size


async def test_metrics_need_the_token() -> None:
    gate = open_guard()
    app = Starlette(routes=metrics_routes(None, gate, None), middleware=list(gate.middleware()))
    assert (await call(app, request("/metrics"))).status == 401
    bearer = [("authorization", f"Bearer {SECRET}")]
    told = await call(app, request("/metrics", headers=bearer))
    assert told.status == 200
    assert told.headers["content-type"].startswith("text/plain")
    assert b'deixis_refused_total{reason="token"} 1.0' in told.body
