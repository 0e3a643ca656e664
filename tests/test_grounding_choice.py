"""Which strokes and words the referents come from, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.events import Binding, Deictic, DeicticKind, Stroke
from streaming.grounding_choice import choose, kinds_of, steady_moment


def stroke(index: int, apex: float, quality: float = 1.0) -> Stroke:
    return Stroke(
        index=index,
        onset=apex - 0.3,
        apex=apex,
        tip=(0.5, 0.5),
        knuckle=(0.6, 0.6),
        quality=quality,
    )


def deictic(index: int, onset: float, kind: DeicticKind = "object") -> Deictic:
    return Deictic(index=index, text="this", onset=onset, offset=onset + 0.3, kind=kind)


def bound(deictic: int | None, stroke: int | None, probability: float = 0.9) -> Binding:
    return Binding(deictic=deictic, stroke=stroke, probability=probability, reason="window")


def chosen(
    instruction: int | None,
    deictics: list[Deictic],
    bindings: list[Binding],
    strokes: list[Stroke],
) -> list[tuple[str, int | None, int | None]]:
    found = choose(
        kinds_of(instruction, None),
        deictics=deictics,
        bindings=bindings,
        strokes=strokes,
        hold_ends={s.index: s.apex + 0.5 for s in strokes},
        inset=0.08,
    )
    return [(one.kind, one.deictic, one.stroke) for one in found]


def test_kinds_follow_the_instruction_else_the_count() -> None:
    assert kinds_of(6, None) == ("object", "space", "object", "space")
    assert kinds_of(5, 3) == ("object", "space", "object")
    assert kinds_of(None, 2) == ("object", "space")
    assert kinds_of(None, None) is None


def test_bound_strokes_are_the_referents_in_order() -> None:
    found = chosen(
        3,
        [deictic(0, 1.0), deictic(1, 2.0, "place")],
        [bound(0, 0), bound(1, 1)],
        [stroke(0, 1.0), stroke(1, 2.0)],
    )
    assert found == [("object", 0, 0), ("space", 1, 1)]


def test_beat_without_a_word_is_left_out() -> None:
    found = chosen(
        3,
        [deictic(0, 2.0), deictic(1, 3.0, "place")],
        [bound(0, 1), bound(1, 2), bound(None, 0, 0.6)],
        [stroke(0, 1.0), stroke(1, 2.0), stroke(2, 3.0)],
    )
    assert found == [("object", 0, 1), ("space", 1, 2)]


def test_anaphor_without_a_stroke_is_no_referent() -> None:
    found = chosen(
        5,
        [deictic(0, 1.0), deictic(1, 2.0), deictic(2, 3.0), deictic(3, 3.5, "anaphor")],
        [bound(0, 0), bound(1, 1), bound(2, 2), bound(3, None)],
        [stroke(0, 1.0), stroke(1, 2.0), stroke(2, 3.0)],
    )
    assert found == [("object", 0, 0), ("space", 1, 1), ("object", 2, 2)]


def test_anaphor_with_a_stroke_is_one() -> None:
    found = chosen(
        4,
        [deictic(0, 1.0), deictic(1, 2.0, "anaphor")],
        [bound(0, 0), bound(1, 1)],
        [stroke(0, 1.0), stroke(1, 2.0)],
    )
    assert found == [("object", 0, 0), ("space", 1, 1)]


def test_silent_clip_takes_its_best_stroke() -> None:
    found = chosen(
        1,
        [],
        [bound(None, 0, 0.5), bound(None, 1, 0.85)],
        [stroke(0, 1.0, quality=0.3), stroke(1, 3.0, quality=0.9)],
    )
    assert found == [("object", None, 1)]


def test_silent_clip_takes_the_hold_and_not_the_wait_before_it() -> None:
    found = choose(
        kinds_of(1, None),
        deictics=[],
        bindings=[bound(None, 0, 0.88), bound(None, 1, 0.65)],
        strokes=[stroke(0, 1.0, quality=1.0), stroke(1, 1.6, quality=0.55)],
        hold_ends={0: 1.2, 1: 2.3},
        inset=0.08,
    )
    assert [one.stroke for one in found] == [1]


def test_unbound_stroke_fills_in_for_a_missed_word() -> None:
    found = chosen(3, [deictic(0, 1.0)], [bound(0, 0)], [stroke(0, 1.0), stroke(1, 2.0)])
    assert found == [("object", 0, 0), ("space", None, 1)]


def test_word_without_a_stroke_keeps_its_place() -> None:
    found = chosen(
        3,
        [deictic(0, 1.0), deictic(1, 2.0, "place")],
        [bound(0, None), bound(1, 0)],
        [stroke(0, 2.0)],
    )
    assert found == [("object", 0, None), ("space", 1, 0)]


def test_place_word_goes_to_the_space_when_the_object_is_missing() -> None:
    found = chosen(3, [deictic(0, 2.0, "place")], [bound(0, 0)], [stroke(0, 2.0)])
    assert found == [("object", None, None), ("space", 0, 0)]


def test_without_a_count_words_with_strokes_count() -> None:
    found = chosen(
        None,
        [deictic(0, 1.0), deictic(1, 2.0, "place"), deictic(2, 2.6, "anaphor")],
        [bound(0, 0), bound(1, 1), bound(None, 2), bound(2, None)],
        [stroke(0, 1.0), stroke(1, 2.0), stroke(2, 4.0)],
    )
    assert found == [("object", 0, 0), ("space", 1, 1)]


def test_without_a_count_or_words_lone_strokes_count() -> None:
    assert chosen(None, [], [bound(None, 0)], [stroke(0, 1.0)]) == [("object", None, 0)]


@given(
    apex=st.floats(0, 10),
    hold=st.floats(0, 3),
    onset=st.floats(0, 15),
    inset=st.floats(0, 0.5),
    worded=st.booleans(),
)
def test_moment_lies_in_the_hold(
    apex: float, hold: float, onset: float, inset: float, worded: bool
) -> None:
    word = deictic(0, onset) if worded else None
    time = steady_moment(stroke(0, apex), apex + hold, word, inset=inset)
    assert apex - 1e-9 <= time <= apex + hold + 1e-9


def test_moment_is_near_the_word_and_off_the_ends() -> None:
    one = stroke(0, 2.0)
    assert steady_moment(one, 3.0, None, inset=0.08) == pytest.approx(2.08)
    assert steady_moment(one, 3.0, deictic(0, 1.0), inset=0.08) == pytest.approx(2.08)
    assert steady_moment(one, 3.0, deictic(0, 2.3), inset=0.08) == pytest.approx(2.45)
    assert steady_moment(one, 3.0, deictic(0, 4.0), inset=0.08) == pytest.approx(2.92)
    assert steady_moment(one, None, deictic(0, 4.0), inset=0.08) == pytest.approx(2.16)


@given(
    st.sampled_from([1, 3, 5, 6]),
    st.lists(st.floats(0, 10), max_size=6, unique=True),
    st.lists(st.floats(0, 10), max_size=6, unique=True),
)
def test_as_many_referents_as_asked_and_in_order(
    instruction: int, onsets: list[float], apexes: list[float]
) -> None:
    deictics = [deictic(k, onset) for k, onset in enumerate(sorted(onsets))]
    strokes = [stroke(k, apex) for k, apex in enumerate(sorted(apexes))]
    pairs = min(len(deictics), len(strokes))
    found = choose(
        kinds_of(instruction, None),
        deictics=deictics,
        bindings=[bound(k, k) for k in range(pairs)],
        strokes=strokes,
        hold_ends={},
        inset=0.08,
    )
    assert len(found) == len(kinds_of(instruction, None) or ())
    used = [one.stroke for one in found if one.stroke is not None]
    assert used == sorted(set(used))
