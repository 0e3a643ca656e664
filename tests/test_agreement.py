"""Comparing what two runs decided."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replay.measure.agreement import Decision, agreement, read_run, reasons
from streaming.events import Asked, Binding, Deictic, Stroke, Word
from streaming.trace import dump_line, encode_event

DECISIONS = st.lists(
    st.builds(
        Decision,
        what=st.sampled_from("ab"),
        times=st.tuples(st.one_of(st.none(), st.integers(0, 40).map(lambda n: n / 10))),
    ),
    max_size=8,
)


def traced(*events: Any, counters: dict[str, int] | None = None) -> list[str]:
    lines = [encode_event(one, known_at=1.0, emitted_at=1.0, stage="hearing") for one in events]
    end = {"type": "End", "complete": True, "counters": counters or {}}
    return [dump_line(line) for line in [{"type": "Header"}, *lines, end]]


def session(*, shift: float = 0.0, index: int = 0) -> list[Any]:
    at = (0.5, 0.5)
    return [
        Word(text="this", onset=1.0 + shift, offset=1.2 + shift),
        Deictic(index=index, text="this", kind="object", onset=1.0 + shift, offset=1.2 + shift),
        Stroke(index=index, onset=0.8 + shift, apex=1.1 + shift, tip=at, knuckle=at),
        Binding(deictic=index, stroke=index, probability=0.9, reason="margin"),
        Binding(deictic=None, stroke=index, probability=0.5, reason="end"),
        Asked(turn=index, asked_at=2.0, deictics=(index, None), strokes=(index, None)),
    ]


def test_runs_that_say_the_same_agree_whatever_they_number_it() -> None:
    first, second = read_run(traced(*session())), read_run(traced(*session(index=7)))
    for kind, decisions in first.decisions.items():
        agreed = agreement(decisions, second.decisions[kind])
        assert agreed.same == agreed.total == len(decisions) > 0


def test_times_may_be_counted_from_where_a_recording_begins() -> None:
    first = read_run(traced(*session(shift=5.0)), begin=5.0)
    second = read_run(traced(*session()))
    assert agreement(first.decisions["bindings"], second.decisions["bindings"]).same == 2


def test_what_moved_and_what_is_missing_is_told() -> None:
    first = [Decision(what="this", times=(1.0,)), Decision(what="that", times=(2.0,))]
    second = [Decision(what="this", times=(1.1,)), Decision(what="that", times=(3.0,))]
    agreed = agreement(first, second)
    assert agreed.same == 0
    assert [round(moved, 6) for moved in agreed.moved] == [0.1]
    assert [one.told() for one in agreed.only_first] == ["that at 2.000 s"]
    assert [one.told() for one in agreed.only_second] == ["that at 3.000 s"]
    assert agreed.total == 2


def test_only_counters_that_explain_a_difference_are_reasons() -> None:
    run = read_run(traced(counters={"hops_skipped": 2, "strokes": 4, "frames_skipped": 0}))
    assert run.complete
    assert reasons(run) == {"hops_skipped": 2}


@given(first=DECISIONS, second=DECISIONS)
def test_every_decision_is_counted_once(first: list[Decision], second: list[Decision]) -> None:
    agreed = agreement(first, second)
    assert agreed.total == len(first)
    assert agreed.same + len(agreed.moved) + len(agreed.only_second) == len(second)
    assert agreement(first, first).same == len(first)
