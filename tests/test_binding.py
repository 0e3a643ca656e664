"""The binder: what it decides, when, and that arrival order changes neither."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.binding import Binder, BindingSettings
from streaming.binding_assignment import best_assignment, best_totals, choose, posterior, settle
from streaming.binding_moment import moment
from streaming.binding_scores import LagPrior, Scores
from streaming.events import Binding, Deictic, DeicticKind, DeicticsSeen, Stroke, StrokesSeen


def word(
    index: int, onset: float, *, kind: DeicticKind = "object", probability: float = 1.0
) -> Deictic:
    return Deictic(
        index=index,
        text="this",
        onset=onset,
        offset=onset + 0.3,
        kind=kind,
        probability=probability,
    )


def stroke(index: int, apex: float, *, quality: float = 0.9) -> Stroke:
    return Stroke(
        index=index,
        onset=apex - 0.3,
        apex=apex,
        tip=(0.5, 0.5),
        knuckle=(0.4, 0.6),
        quality=quality,
    )


def bind(*events: Any, settings: BindingSettings | None = None) -> list[Binding]:
    binder = Binder(settings)
    made = [binding for event in events for binding in binder.push(event)]
    return made + binder.finish()


def pairs(bindings: list[Binding]) -> list[tuple[int | None, int | None]]:
    return [(b.deictic, b.stroke) for b in bindings]


def seen(until: float) -> list[Any]:
    return [DeicticsSeen(until=until), StrokesSeen(until=until)]


# --- what it decides -------------------------------------------------------------------------


def test_each_word_takes_its_own_stroke() -> None:
    made = bind(word(0, 1.0), stroke(0, 1.2), word(1, 3.0), stroke(1, 3.1))
    assert pairs(made) == [(0, 0), (1, 1)]


def test_a_word_without_a_stroke_is_bound_to_none() -> None:
    assert pairs(bind(word(0, 1.0), stroke(0, 3.5))) == [(0, None)]


def test_a_beat_far_from_the_word_is_left_out() -> None:
    made = bind(stroke(0, 0.6, quality=0.4), stroke(1, 2.1), word(0, 2.0))
    assert pairs(made) == [(0, 1)]


def test_an_it_without_a_stroke_leaves_the_stroke_to_the_place() -> None:
    made = bind(
        word(0, 1.0),
        word(1, 2.6, kind="anaphor"),
        word(2, 3.2, kind="place"),
        stroke(0, 1.2),
        stroke(1, 3.1),
    )
    assert pairs(made) == [(0, 0), (1, None), (2, 1)]


def test_an_it_with_a_stroke_of_its_own_takes_it() -> None:
    made = bind(word(0, 1.0), stroke(0, 1.2), word(1, 3.0, kind="anaphor"), stroke(1, 3.2))
    assert pairs(made) == [(0, 0), (1, 1)]


def test_pairs_never_cross() -> None:
    made = bind(word(0, 1.0), word(1, 1.5), stroke(0, 1.3), stroke(1, 1.4))
    assert pairs(made) == [(0, 0), (1, 1)]


def test_silent_strokes_stand_alone_in_order() -> None:
    made = bind(stroke(0, 1.0), stroke(1, 3.0), DeicticsSeen(until=20.0), StrokesSeen(until=20.0))
    assert pairs(made) == [(None, 0), (None, 1)]


def test_no_stroke_stands_alone_beside_a_deictic() -> None:
    assert pairs(bind(stroke(0, 1.0), word(0, 3.5))) == [(0, None)]


def test_a_deictic_that_is_hardly_one_takes_no_stroke_at_a_stretch() -> None:
    assert pairs(bind(word(0, 1.0, probability=0.02), stroke(0, 2.1))) == [(0, None)]


# --- when it decides -------------------------------------------------------------------------


def test_word_waits_for_both_watermarks() -> None:
    binder = Binder()
    assert binder.push(word(0, 1.0)) == []
    assert binder.push(stroke(0, 1.2)) == []
    assert binder.push(DeicticsSeen(until=9.0)) == []
    made = binder.push(StrokesSeen(until=2.0))
    assert pairs(made) == [(0, 0)]
    assert made[0].reason == "margin"


def test_word_does_not_wait_for_the_deadline_when_nothing_better_can_come() -> None:
    binder = Binder()
    for event in (word(0, 1.0), stroke(0, 1.2), *seen(1.9)):
        made = binder.push(event)
    assert pairs(made) == [(0, 0)]


def test_none_is_decided_when_the_window_closes() -> None:
    binder = Binder()
    for event in (word(0, 1.0), *seen(2.25)):
        assert binder.push(event) == []
    made = [b for event in seen(2.31) for b in binder.push(event)]
    assert [(b.stroke, b.reason) for b in made] == [(None, "window")]


def test_end_of_stream_decides_what_is_open() -> None:
    made = bind(word(0, 1.0), stroke(0, 1.2))
    assert [(b.stroke, b.reason) for b in made] == [(0, "end")]


def test_a_chain_without_end_is_cut_at_the_deadline() -> None:
    step = 1.0
    events: list[Any] = []
    for i in range(12):
        events += [word(i, 1.0 + i * step), stroke(i, 1.75 + i * step)]
        events += seen(1.75 + i * step)
    binder = Binder()
    known_by: dict[int, float] = {}
    now = 0.0
    for event in events:
        now = max(now, getattr(event, "until", 0.0))
        for binding in binder.push(event):
            assert binding.deictic is not None
            known_by[binding.deictic] = now
    assert len(known_by) >= 8
    assert all(known_by[i] <= 1.0 + i * step + 3.0 + step for i in known_by)


def test_late_events_are_counted_and_still_taken() -> None:
    binder = Binder()
    binder.push(StrokesSeen(until=5.0))
    binder.push(stroke(0, 1.2))
    binder.push(word(0, 1.0))
    assert binder.counters.counts == {"late_stroke": 1}
    assert pairs(binder.finish()) == [(0, 0)]


def test_memory_stays_flat() -> None:
    binder = Binder()
    for i in range(2000):
        for event in (word(i, 2.0 * i), stroke(i, 2.0 * i + 0.1), *seen(2.0 * i + 1.5)):
            binder.push(event)
    held = (binder._words, binder._strokes, binder._open, binder._bound, binder._pointed)
    assert sum(len(part) for part in held) < 40


# --- properties ------------------------------------------------------------------------------

TIMES = st.integers(0, 120).map(lambda tick: tick / 16)  # coarse, so that ties happen
KINDS = st.sampled_from(["object", "place", "anaphor"])
QUALITIES = st.sampled_from([0.3, 0.6, 0.9, 1.0])


@st.composite
def word_stream(draw: st.DrawFn) -> list[Any]:
    times = sorted(draw(st.lists(TIMES, max_size=5)))
    words = [
        word(i, t, kind=draw(KINDS), probability=draw(st.sampled_from([0.3, 1.0])))
        for i, t in enumerate(times)
    ]
    return _with_watermarks(draw, [(w.onset, w) for w in words], DeicticsSeen)


@st.composite
def stroke_stream(draw: st.DrawFn) -> list[Any]:
    times = sorted(draw(st.lists(TIMES, max_size=5)))
    strokes = [stroke(i, t, quality=draw(QUALITIES)) for i, t in enumerate(times)]
    return _with_watermarks(draw, [(s.apex, s) for s in strokes], StrokesSeen)


def _with_watermarks(draw: st.DrawFn, timed: list[tuple[float, Any]], kind: type) -> list[Any]:
    marks = draw(st.lists(TIMES, max_size=8))
    timed = timed + [(mark, kind(until=mark)) for mark in marks]
    # At one time, what happens there comes after the watermark: "before until" excludes it.
    return [e for _, e in sorted(timed, key=lambda te: (te[0], not isinstance(te[1], kind)))]


@st.composite
def interleaved(draw: st.DrawFn, first: list[Any], second: list[Any]) -> list[Any]:
    order = draw(st.permutations([0] * len(first) + [1] * len(second)))
    sides = [iter(first), iter(second)]
    return [next(sides[side]) for side in order]


@given(st.data())
def test_interleaving_does_not_change_bindings(data: st.DataObject) -> None:
    words, strokes = data.draw(word_stream()), data.draw(stroke_stream())
    one = bind(*data.draw(interleaved(words, strokes)))
    other = bind(*data.draw(interleaved(words, strokes)))
    assert one == other


@given(st.data())
def test_decisions_of_a_prefix_are_a_prefix_of_the_decisions(data: st.DataObject) -> None:
    words, strokes = data.draw(word_stream()), data.draw(stroke_stream())
    events = data.draw(interleaved(words, strokes))
    cut = data.draw(st.integers(0, len(events)))
    binder = Binder()
    early = [b for event in events[:cut] for b in binder.push(event)]
    whole = bind(*events)
    assert whole[: len(early)] == early


@given(st.data())
def test_every_deictic_gets_one_binding_in_order_and_strokes_serve_once(
    data: st.DataObject,
) -> None:
    words, strokes = data.draw(word_stream()), data.draw(stroke_stream())
    made = bind(*words, *strokes)
    assert [b.deictic for b in made if b.deictic is not None] == [
        w.index for w in words if isinstance(w, Deictic)
    ]
    used = [b.stroke for b in made if b.stroke is not None and b.deictic is not None]
    assert used == sorted(set(used))
    assert all(0.0 <= b.probability <= 1.0 for b in made)


@given(st.data())
def test_bindings_within_the_deadline_are_the_best_assignment(data: st.DataObject) -> None:
    # Everything happens inside one deadline, so cutting the horizon changes nothing.
    short = st.integers(0, 32).map(lambda tick: tick / 16)
    words = [word(i, t) for i, t in enumerate(sorted(data.draw(st.lists(short, max_size=4))))]
    strokes = [stroke(i, t) for i, t in enumerate(sorted(data.draw(st.lists(short, max_size=4))))]
    scores = Scores()
    exact = BindingSettings(slack=0.0)
    made = [b.stroke for b in bind(*words, *strokes, settings=exact) if b.deictic is not None]
    best = best_assignment([[scores.gain(w, s) for s in strokes] for w in words])
    assert made == best


GAINS = st.integers(0, 4).flatmap(
    lambda strokes: st.lists(
        st.lists(st.integers(0, 12).map(lambda n: n / 4), min_size=strokes, max_size=strokes),
        min_size=1,
        max_size=4,
    )
)


def every_assignment(gains: list[list[float]]) -> list[tuple[int | None, ...]]:
    ways: list[tuple[int | None, ...]] = [()]
    for row in gains:
        ways = [
            (*way, choice)
            for way in ways
            for choice in [*(q for q, gain in enumerate(row) if gain > 0), None]
            if choice is None or all(taken is None or taken < choice for taken in way)
        ]
    return ways


def worth(gains: list[list[float]], way: tuple[int | None, ...]) -> float:
    return sum(row[q] for row, q in zip(gains, way, strict=True) if q is not None)


@given(GAINS)
def test_best_assignment_is_the_first_of_the_best(gains: list[list[float]]) -> None:
    ways = every_assignment(gains)
    top = max(worth(gains, way) for way in ways)
    first = min(
        (way for way in ways if worth(gains, way) == top),
        key=lambda way: [math.inf if q is None else q for q in way],
    )
    assert tuple(best_assignment(gains)) == first
    assert best_totals(gains, word_from=0, stroke_from=0)[-1][-1] == top


@given(GAINS)
def test_posterior_sums_the_weights_of_all_assignments(gains: list[list[float]]) -> None:
    ways = every_assignment(gains)
    whole = sum(math.exp(worth(gains, way)) for way in ways)
    for choice, share in enumerate(posterior(gains)):
        wanted = None if choice == len(gains[0]) else choice
        weight = sum(math.exp(worth(gains, way)) for way in ways if way[0] == wanted)
        assert share == pytest.approx(weight / whole, abs=1e-12)


@given(GAINS, st.data())
def test_what_is_settled_no_future_changes(gains: list[list[float]], data: st.DataObject) -> None:
    quarter = st.integers(0, 12).map(lambda n: n / 4)
    words, strokes = len(gains), len(gains[0])
    by_stroke = data.draw(st.lists(quarter, min_size=strokes, max_size=strokes))
    by_word = data.draw(st.lists(quarter, min_size=words, max_size=words))
    slack = data.draw(st.sampled_from([0.0, 0.25, 1.0]))
    settled = settle(gains, words_to_come=by_stroke, strokes_to_come=by_word, slack=slack)
    if settled is None:
        return
    more_words, more_strokes = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))

    def at_most(limit: float) -> float:
        return data.draw(st.integers(0, int(limit * 4)).map(lambda n: n / 4))

    future = [
        [*row, *(at_most(by_word[p]) for _ in range(more_strokes))] for p, row in enumerate(gains)
    ]
    for _ in range(more_words):
        known = [at_most(by_stroke[q]) for q in range(strokes)]
        future.append([*known, *(data.draw(quarter) for _ in range(more_strokes))])
    assert choose(future, slack=slack) == settled.stroke


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_bounds_on_what_may_come_hold(lag: float, later: float) -> None:
    scores = Scores()
    w = word(0, 5.0)
    since = 5.0 + lag
    coming = stroke(0, since + abs(later), quality=1.0)
    assert scores.gain(w, coming) <= scores.best_stroke_to_come(w, since=since)
    s = stroke(0, 5.0)
    assert scores.gain(word(1, since + abs(later)), s) <= scores.best_word_to_come(s, since=since)


def test_no_stroke_is_worth_taking_after_the_last_lag() -> None:
    scores = Scores()
    for kind in ("object", "place", "anaphor"):
        w = word(0, 2.0, kind=kind)  # type: ignore[arg-type]
        last = scores.last_lag(w)
        assert scores.gain(w, stroke(0, 2.0 + last - 1e-6, quality=1.0)) > 0.0
        assert scores.best_stroke_to_come(w, since=2.0 + last + 1e-6) == 0.0


# --- settings and the moment -----------------------------------------------------------------


def test_nonsense_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"mode 2\.0 lies outside"):
        LagPrior(mode=2.0)
    with pytest.raises(ValueError, match=r"deadline is 1\.0"):
        BindingSettings(deadline=1.0)


def test_moment_is_the_hold_time_closest_to_the_word() -> None:
    s, w = stroke(0, 2.0), word(0, 2.4)
    assert moment(s) == 2.0
    assert moment(s, word(0, 1.0)) == 2.0
    assert moment(s, w, hold_end=3.0) == pytest.approx(2.55)
    assert moment(s, w, hold_end=2.2) == 2.2
    assert moment(s, w, seen=2.3) == 2.3
    assert moment(s, w) == pytest.approx(2.55)
