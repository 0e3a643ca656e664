"""Turns that are asked before they are over: when, how often, and what becomes of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Literal

import pytest

from replay.measure.early import compared
from streaming.answering import Answering
from streaming.build import EngineSettings, describe_settings
from streaming.events import (
    Answer,
    AnswerStopped,
    Asked,
    Counters,
    DeicticsSeen,
    Referent,
    SpeechEnd,
    SpeechStart,
    Word,
    WordsSeen,
)
from streaming.grounding import Grounder, GroundingSettings, Query, Task
from streaming.stage import Channel, Item
from tests.test_grounding import bound, deictic, in_order, run, stroke, video
from tests.virtual_time import VirtualTimeLoop

EARLY = GroundingSettings(early_after=0.2)
Told = tuple[float, Any]


def words(*spans: tuple[float, float], after: float = 0.3, lag: float = 0.2) -> list[Told]:
    """Words known ``after`` their end; what no word began before is known ``lag`` later."""
    told: list[Told] = []
    for place, (onset, offset) in enumerate(spans):
        known = offset + after
        told.append((known, Word(text="this", onset=onset, offset=offset)))
        told.append((known, WordsSeen(until=offset)))
        told.append((known, DeicticsSeen(until=offset)))
        following = spans[place + 1][0] if place + 1 < len(spans) else offset + 1.0
        quiet = offset + 0.1
        while quiet < following - 0.05:
            told.append((max(known, quiet + lag), WordsSeen(until=quiet)))
            quiet += 0.1
    return told


def speech(onset: float, offset: float, *, utterance: int = 0) -> list[Told]:
    """An utterance whose end the voice detector knows a second later."""
    return [
        (onset + 0.1, SpeechStart(utterance=utterance, onset=onset)),
        (offset + 1.0, SpeechEnd(utterance=utterance, offset=offset)),
        (offset + 1.0, WordsSeen(until=offset + 0.9)),
    ]


def one_turn(*more: list[Told], until: float = 2.2) -> list[Told]:
    """ "This", spoken until 2.2 s, pointed at before 2.1 s; the end of the turn comes last."""
    return in_order(
        video(6.0),
        speech(1.5, until),
        words((1.6, 2.2)),
        deictic(0, 1.6, known=2.5),
        stroke(0, 1.8, end=2.0),
        bound(0, 0, known=2.5),
        *more,
    )


def going_on() -> list[Told]:
    """The speaker says and points at one thing more after a pause."""
    return in_order(
        video(7.0),
        speech(1.5, 3.4),
        words((1.6, 2.2), (3.0, 3.4)),
        deictic(0, 1.6, known=2.5),
        stroke(0, 1.8, end=2.0),
        bound(0, 0, known=2.5),
        deictic(1, 3.0, known=3.7),
        stroke(1, 3.1, end=3.3),
        bound(1, 1, known=3.75),
    )


def pairs(query: Query) -> list[tuple[int | None, int | None]]:
    return [(one.deictic, one.stroke) for one in query.pointed]


def test_turn_is_asked_early_once_and_not_again_at_its_end() -> None:
    ((usual, whole),) = run(Grounder(), one_turn())
    grounder = Grounder(EARLY)
    ((known, query),) = run(grounder, one_turn())
    assert known == pytest.approx(2.6)
    assert usual == pytest.approx(3.2)
    assert pairs(query) == pairs(whole)
    assert query.words == whole.words
    assert query.supersedes is None
    assert grounder.finish() == []
    assert grounder.counters.counts["queries"] == 1


def test_turn_that_ends_with_the_stream_is_not_asked_again() -> None:
    events = [(known, event) for known, event in one_turn() if known < 3.0]
    grounder = Grounder(EARLY)
    assert len(run(grounder, events)) == 1
    assert grounder.finish() == []


def test_all_of_a_turn_that_goes_on_is_asked_again() -> None:
    first, second = run(Grounder(EARLY), going_on())
    assert pairs(first[1]) == [(0, 0)]
    assert pairs(second[1]) == [(0, 0), (1, 1)]
    assert second[0] == pytest.approx(3.8)
    assert (first[1].turn, second[1].turn) == (0, 1)
    assert (first[1].supersedes, second[1].supersedes) == (None, 0)
    assert len(second[1].words) == 2


def test_words_without_pointing_are_asked_about_as_well() -> None:
    events = in_order(one_turn(until=3.4), words((3.0, 3.4)))
    first, second = run(Grounder(EARLY), events)
    assert pairs(first[1]) == pairs(second[1])
    assert (len(second[1].words), second[1].supersedes) == (2, 0)


def test_binding_that_changes_what_was_meant_is_asked_again() -> None:
    events = in_order(
        video(6.0),
        speech(1.5, 2.2),
        words((1.6, 2.2)),
        deictic(0, 1.6, known=2.5),
        bound(0, None, known=2.5),
        stroke(0, 2.4, end=2.6),
        bound(0, 0, known=2.9),
    )
    first, second = run(Grounder(EARLY), events)
    assert (pairs(first[1]), pairs(second[1])) == ([(0, None)], [(0, 0)])
    assert second[1].supersedes == 0


def test_turn_with_an_unbound_word_waits() -> None:
    events = in_order(one_turn(), deictic(1, 1.9, known=2.5), bound(1, None, known=3.5))
    asked = run(Grounder(EARLY), events)
    assert [known for known, _ in asked] == [pytest.approx(3.5)]


def test_word_that_may_still_refer_is_waited_for() -> None:
    events = in_order(
        video(6.0),
        speech(1.5, 2.2),
        [told for told in words((1.6, 2.2)) if not isinstance(told[1], DeicticsSeen)],
        deictic(0, 1.6, known=2.5)[:1],
        stroke(0, 1.8, end=2.0),
        bound(0, 0, known=2.5),
        [(2.9, DeicticsSeen(until=2.3))],
    )
    ((known, _),) = run(Grounder(EARLY), events)
    assert known == pytest.approx(2.9)


def test_held_stroke_is_waited_for() -> None:
    events = in_order(
        video(6.0),
        speech(1.5, 2.2),
        words((1.6, 2.2)),
        deictic(0, 1.6, known=2.5),
        stroke(0, 1.8, end=2.65),
        bound(0, 0, known=2.5),
    )
    ((known, _),) = run(Grounder(EARLY), events)
    assert known == pytest.approx(2.75)


def test_voice_after_the_last_word_is_waited_for() -> None:
    events = in_order(one_turn(until=2.25), [(2.55, SpeechStart(utterance=1, onset=2.4))])
    assert run(Grounder(EARLY), events) == []


@pytest.mark.parametrize("task", [Task(benchmark=True, referents=1, instruction=2)])
def test_benchmark_is_never_asked_early(task: Task) -> None:
    early, usual = Grounder(EARLY, task=task), Grounder(task=task)
    assert [k for k, _ in run(early, one_turn())] == [k for k, _ in run(usual, one_turn())]


def test_off_is_as_it_was() -> None:
    off = run(Grounder(GroundingSettings(early_after=0.0)), going_on())
    ((known, query),) = off
    assert known == pytest.approx(4.4)
    assert query.supersedes is None


def test_question_of_a_prefix_is_the_question_of_the_whole() -> None:
    events = going_on()
    whole = run(Grounder(EARLY), events)
    for cut in range(0, len(events), 5):
        part = run(Grounder(EARLY), events[:cut])
        assert [(k, pairs(q), q.asked_at, q.supersedes) for k, q in part] == [
            (k, pairs(q), q.asked_at, q.supersedes) for k, q in whole[: len(part)]
        ]
        assert all(query.asked_at <= known + 1e-9 for known, query in part)


def test_early_answer_that_the_speaker_stopped_leaves_its_turn_whole() -> None:
    grounder = Grounder(EARLY)
    events = one_turn()
    cut = next(place for place, (known, _) in enumerate(events) if known > 2.7)
    assert len(run(grounder, events[:cut])) == 1
    stopped = [(2.7, AnswerStopped(turn=0, reason="interrupted"))]
    ((known, query),) = run(grounder, stopped + events[cut:])
    assert known == pytest.approx(3.2)
    assert (pairs(query), query.turn, query.supersedes) == ([(0, 0)], 1, None)


def test_early_answer_that_stood_can_be_interrupted_afterwards() -> None:
    grounder = Grounder(EARLY)
    run(grounder, one_turn())
    grounder.push(SpeechStart(utterance=1, onset=5.9))
    grounder.push(AnswerStopped(turn=0, reason="interrupted"))
    assert grounder.counters.counts["turns_reopened"] == 1
    (query,) = grounder.finish()
    assert pairs(query) == [(0, 0)]


def test_next_turn_owes_nothing_to_the_early_question_of_the_last() -> None:
    second = in_order(
        speech(5.0, 5.5, utterance=1),
        words((5.1, 5.5)),
        deictic(1, 5.1, known=5.8),
        stroke(1, 5.2, end=5.3),
        bound(1, 1, known=5.8),
    )
    first, then = run(Grounder(EARLY), in_order(one_turn(), second))
    assert (first[1].turn, then[1].turn) == (0, 1)
    assert then[1].supersedes is None
    assert pairs(then[1]) == [(1, 1)]


def test_negative_pause_is_refused() -> None:
    with pytest.raises(ValueError, match="early_after is -1"):
        GroundingSettings(early_after=-1)


# --- what becomes of the answer ---------------------------------------------------------------


class Answers:
    """Answers a question within ``takes`` seconds of the loop."""

    name = "timed"
    coord_order: Literal["xy", "yx"] = "xy"

    def __init__(self, takes: float) -> None:
        self.takes = takes
        self.done: list[int] = []

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        await asyncio.sleep(self.takes)
        self.done.append(query.turn)
        yield Answer(turn=query.turn, referents=(), frame_time=0.0)


def answered(model: Answers, *asked: tuple[float, Query], waits: bool = False) -> list[str]:
    """What is recorded of questions that are put at these times, in virtual time."""
    told: list[str] = []

    def record(stage: str, item: Item) -> None:
        for event in item.events:
            kind = event.reason if isinstance(event, AnswerStopped) else type(event).__name__
            assert isinstance(event, Asked | Answer | AnswerStopped)
            told.append(f"{kind} {event.turn}")

    async def put() -> None:
        answering = Answering(
            model, record=record, counters=Counters(), waits=waits, barge_in=True, within=60.0
        )
        channel = Channel(None)
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            group.create_task(answering.run(channel, group))
            for at, query in asked:
                await asyncio.sleep(at - loop.time())
                await channel.send(Item(known_at=at, events=(query,)))
            await channel.close()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(put())
    return told


def question(turn: int, *, supersedes: int | None = None) -> Query:
    return Query(turn=turn, asked_at=0.0, task=Task(), pointed=(), supersedes=supersedes)


def test_early_answer_under_way_is_stopped_once() -> None:
    model = Answers(2.0)
    told = answered(model, (1.0, question(0)), (2.0, question(1, supersedes=0)))
    assert told == ["Asked 0", "superseded 0", "Asked 1", "Answer 1"]
    assert model.done == [1]


@pytest.mark.parametrize("waits", [False, True])
def test_early_answer_that_was_given_is_taken_back(waits: bool) -> None:
    told = answered(Answers(0.5), (1.0, question(0)), (2.0, question(1, supersedes=0)), waits=waits)
    assert told == ["Asked 0", "Answer 0", "superseded 0", "Asked 1", "Answer 1"]


def test_answer_to_another_turn_stands() -> None:
    told = answered(Answers(0.5), (1.0, question(0)), (2.0, question(1)))
    assert told == ["Asked 0", "Answer 0", "Asked 1", "Answer 1"]


# --- where it is on ---------------------------------------------------------------------------


def test_fast_pace_and_models_that_follow_the_stream_never_ask_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "streaming.build.load", lambda kind, path: EARLY if kind is GroundingSettings else kind()
    )

    def after(settings: EngineSettings) -> float:
        return float(describe_settings(settings)["grounding"]["early_after"])

    assert after(EngineSettings()) == 0.0
    assert after(EngineSettings(early=True)) == EARLY.early_after
    assert after(EngineSettings(early=True, model="gemini-live:some-model")) == 0.0


# --- the measure ------------------------------------------------------------------------------


def test_measure_says_how_much_earlier_and_whether_answers_agree() -> None:
    cup = Referent(kind="object", point=(0.5, 0.5), time=1.8, description="cup", deictic=0)
    answer = Answer(turn=0, referents=(cup,), frame_time=3.0)
    moved = replace(answer, referents=(replace(cup, point=(0.5, 0.6)),))
    other = replace(answer, referents=(replace(cup, description="mug"),))
    late, early = replace(question(0), asked_at=3.0), replace(question(0), asked_at=2.5)
    gain = compared([(late, answer)], [(early, moved)]) + compared(
        [(late, answer)], [(late, other)]
    )
    assert (gain.turns, gain.early, gain.same) == (2, (0.5, 0.0), 1)
    assert list(gain.apart) == pytest.approx([0.1])
    assert compared([(late, answer)], []).unmatched == 1
