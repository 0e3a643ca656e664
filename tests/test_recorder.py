"""The recorder writes one order, whoever was first."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streaming.clock import FastClock
from streaming.events import StrokesSeen, Word, WordsSeen
from streaming.recorder import STAGES, Recorder
from streaming.stage import Item


def word(text: str, onset: float) -> Word:
    return Word(text=text, onset=onset, offset=onset)


SAID = st.lists(st.integers(0, 4), max_size=5).map(sorted)


@given(
    lanes=st.lists(SAID, min_size=len(STAGES), max_size=len(STAGES)),
    order=st.randoms(use_true_random=False),
)
def test_trace_does_not_depend_on_who_is_first(lanes: list[list[int]], order: Any) -> None:
    def written(shuffled: bool) -> list[str]:
        lines: list[str] = []
        recorder = Recorder(lines.append, clock=FastClock(), pace="fast")
        left = {stage: list(times) for stage, times in zip(STAGES, lanes, strict=True)}
        while any(left.values()):
            waiting = [stage for stage in STAGES if left[stage]]
            stage = order.choice(waiting) if shuffled else waiting[0]
            time = float(left[stage].pop(0))
            recorder.record(stage, Item(known_at=time, events=(word(stage, time),)))
        recorder.end({})
        return lines

    assert written(True) == written(False)


def test_listeners_hear_at_once_what_the_trace_still_holds_back() -> None:
    lines: list[str] = []
    heard: list[str] = []
    recorder = Recorder(
        lines.append,
        clock=FastClock(),
        pace="fast",
        listeners=(lambda line: heard.append(line["type"]),),
    )
    recorder.record("understanding", Item(known_at=1.0, events=(word("late", 1.0),)))
    assert heard == ["Word"]
    assert lines == []
    for stage in STAGES:
        recorder.record(stage, Item(known_at=1.0))
    recorder.end({"complete": True})
    assert [json.loads(line)["type"] for line in lines] == ["Word", "End"]
    assert json.loads(lines[-1])["duration"] == 1.0


def test_what_the_end_brings_is_known_at_the_last_moment_and_marked() -> None:
    lines: list[str] = []
    recorder = Recorder(lines.append, clock=FastClock(), pace="fast")
    recorder.record("source", Item(known_at=3.0))
    recorder.record("seeing", Item(known_at=math.inf, events=(StrokesSeen(until=math.inf),)))
    recorder.end({})
    seen = json.loads(lines[0])
    assert (seen["known_at"], seen["finish"], seen["until"]) == (3.0, True, None)


def test_watermarks_that_later_lines_imply_are_left_out() -> None:
    lines: list[str] = []
    recorder = Recorder(lines.append, clock=FastClock(), pace="fast")
    recorder.record("hearing", Item(known_at=1.0, events=(WordsSeen(until=1.0),)))
    recorder.end({})
    assert len(lines) == 1
