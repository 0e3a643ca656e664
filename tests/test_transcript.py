"""Committed words: order, watermarks, chunking, prefixes, pauses, trimming, noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.events import Partial, Utterance, Word, WordsSeen
from streaming.transcript import Transcript, TranscriptSettings, language_code
from streaming.transcript_final import MOST_WAITING
from streaming.vad import Vad
from tests.hearing_fakes import FakeRecognizer, FakeVoice, Said, blocks_of, script

PLAIN = TranscriptSettings(level=0.0)
SENTENCE = script(("put", 1.0, 1.3), ("this", 1.35, 1.8), ("over", 1.85, 2.2), ("there", 2.25, 2.7))


def hear(
    said: Sequence[Said],
    duration: float,
    *,
    sizes: Sequence[int] = (512,),
    finish: bool = True,
    fake: FakeRecognizer | None = None,
    settings: TranscriptSettings = PLAIN,
    language: str = "en",
) -> tuple[list[Any], Transcript]:
    vad = Vad(FakeVoice(said))
    transcript = Transcript(fake or FakeRecognizer(said), language=language, settings=settings)
    events: list[Any] = []
    for block in blocks_of(duration, sizes=sizes):
        for heard in vad.push(block):
            events += transcript.push(heard)
    if finish:
        for heard in vad.finish():
            events += transcript.push(heard)
        events += transcript.finish()
    return events, transcript


def words(events: Sequence[Any]) -> list[Word]:
    return [event for event in events if isinstance(event, Word)]


@st.composite
def scripts(draw: st.DrawFn) -> list[Said]:
    said, at = [], draw(st.floats(0.0, 1.5))
    for index in range(draw(st.integers(1, 14))):
        length = draw(st.floats(0.12, 0.7))
        said.append(Said(f"word{index}", at, at + length))
        at += length + draw(st.sampled_from([0.0, 0.02, 0.1, 0.4, 1.2]))
    return said


def test_words_are_committed_as_they_were_said() -> None:
    events, _ = hear(SENTENCE, 5.0)
    assert [word.text for word in words(events)] == ["put", "this", "over", "there"]
    for word, true in zip(words(events), SENTENCE, strict=True):
        assert word.onset == pytest.approx(true.onset, abs=0.05)


def test_last_word_is_committed_in_the_pause_before_the_utterance_ends() -> None:
    said = SENTENCE
    events, _ = hear(said, 3.1, finish=False)
    assert words(events)[-1].text == "there"


def test_final_pass_comes_as_one_utterance() -> None:
    events, _ = hear(SENTENCE, 5.0)
    (utterance,) = [event for event in events if isinstance(event, Utterance)]
    assert [word.text for word in utterance.words] == ["put", "this", "over", "there"]
    assert utterance.onset <= 1.0 + 0.05
    assert utterance.offset >= 2.7 - 0.05


def test_utterances_that_follow_closely_share_a_window_of_the_final_pass() -> None:
    said = script(("put", 1.0, 1.4), ("this", 1.45, 1.8), ("there", 3.6, 4.0), ("please", 4.1, 4.5))
    fake = FakeRecognizer(said)
    events, _ = hear(said, 9.0, fake=fake)
    utterances = [event for event in events if isinstance(event, Utterance)]
    assert [[word.text for word in one.words] for one in utterances] == [
        ["put", "this"],
        ["there", "please"],
    ]
    assert [window for window in fake.asked if window[0] < 1.0 and window[1] > 4.5]


def test_final_pass_waits_for_a_silence_and_no_longer() -> None:
    def finals(duration: float) -> list[Any]:
        events, _ = hear(SENTENCE, duration, finish=False)
        return [event for event in events if isinstance(event, Utterance)]

    assert not finals(4.5)
    assert len(finals(5.7)) == 1


def test_word_said_twice_in_a_row_is_committed_twice() -> None:
    said = script(("put", 1.0, 1.3), ("this", 1.35, 1.8), ("this", 1.85, 2.2), ("there", 2.3, 2.7))
    events, _ = hear(said, 5.0)
    assert [word.text for word in words(events)] == ["put", "this", "this", "there"]


def test_watermark_goes_on_in_silence() -> None:
    events, _ = hear([], 4.0, finish=False)
    seen = [event.until for event in events if isinstance(event, WordsSeen)]
    assert seen == sorted(seen)
    assert seen[-1] > 3.5


def test_improbable_words_in_a_pause_are_taken_for_noise() -> None:
    fake = FakeRecognizer(SENTENCE, probability=0.1)
    events, transcript = hear(SENTENCE, 5.0, fake=fake, settings=_impatient(patience=9.0))
    assert words(events) == []
    assert transcript.counters.counts["words_rejected"] == 4
    assert not [event for event in events if isinstance(event, Utterance)]


def _impatient(**changes: Any) -> TranscriptSettings:
    return TranscriptSettings(level=0.0, **changes)


def test_loop_behind_the_end_is_cut() -> None:
    events, transcript = hear(SENTENCE, 5.0, fake=FakeRecognizer(SENTENCE, loop=True))
    assert [word.text for word in words(events)] == ["put", "this", "over", "there"]
    assert transcript.counters.counts["tokens_cut"] > 0


def test_window_stays_bounded_in_a_long_utterance() -> None:
    said = [Said(f"w{index}", 0.5 + 0.4 * index, 0.85 + 0.4 * index) for index in range(150)]
    fake = FakeRecognizer(said)
    events, _ = hear(said, 62.0, fake=fake)
    assert [word.text for word in words(events)] == [word.text for word in said]
    final = [event for event in events if isinstance(event, Utterance)]
    assert [word.text for word in final[0].words] == [word.text for word in said]
    assert max(end - begin for begin, end in fake.asked) <= 28.5


def test_window_stays_bounded_when_nothing_is_believed() -> None:
    said = [Said(f"w{index}", 0.5 + 0.4 * index, 0.85 + 0.4 * index) for index in range(100)]
    fake = FakeRecognizer(said, probability=0.05)
    hear(said, 42.0, fake=fake, settings=_impatient(patience=99.0))
    assert max(end - begin for begin, end in fake.asked) <= 28.5


def test_hops_are_skipped_and_counted_when_behind() -> None:
    vad = Vad(FakeVoice(SENTENCE))
    transcript = Transcript(FakeRecognizer(SENTENCE), settings=PLAIN)
    transcript.set_backlog(5.0)
    events: list[Any] = []
    for block in blocks_of(5.0):
        for heard in vad.push(block):
            events += transcript.push(heard)
    assert transcript.counters.counts["hops_skipped"] > 0
    assert [word.text for word in words(events)] == ["put", "this", "over", "there"]


class Course:
    """Utterances of one word each, and a hearing that is so far behind as it is told."""

    def __init__(self, *, utterances: int) -> None:
        self.said = [Said(f"word{n}", 1.0 + 5.0 * n, 1.6 + 5.0 * n) for n in range(utterances)]
        self.fake = FakeRecognizer(self.said)
        self.transcript = Transcript(self.fake, settings=PLAIN)
        self.vad = Vad(FakeVoice(self.said))
        self.events: list[Any] = []

    def go(self, *, behind_until: float) -> Course:
        for place, block in enumerate(blocks_of(5.0 * len(self.said) + 4.0)):
            late = place * 512 / 16_000 < behind_until
            self.transcript.set_backlog(5.0 if late else 0.0)
            for heard in self.vad.push(block):
                self.events += self.transcript.push(heard)
        return self

    @property
    def finals(self) -> list[str]:
        said = [event for event in self.events if isinstance(event, Utterance)]
        return [word.text for event in said for word in event.words]


def test_the_final_pass_is_put_off_while_hearing_is_behind() -> None:
    course = Course(utterances=2)
    course.go(behind_until=99.0)
    assert [word.text for word in words(course.events)] == ["word0", "word1"]
    assert course.finals == []
    course.events += course.transcript.finish()
    assert course.finals == ["word0", "word1"]


def test_what_was_put_off_is_read_once_hearing_has_caught_up() -> None:
    course = Course(utterances=2).go(behind_until=10.0)
    assert course.finals == ["word0", "word1"]
    assert "windows_unread" not in course.transcript.counters.counts


def test_windows_that_wait_too_long_stay_as_they_were_committed() -> None:
    course = Course(utterances=6).go(behind_until=99.0)
    assert course.transcript.counters.counts["windows_unread"] == 6 - MOST_WAITING
    assert course.finals == [f"word{n}" for n in range(6 - MOST_WAITING)]
    course.events += course.transcript.finish()
    assert course.finals == [f"word{n}" for n in range(6)]


def test_language_is_found_for_each_utterance() -> None:
    fake = FakeRecognizer(SENTENCE, multilingual=True, shares={"en": 0.1, "zh": 0.9})
    events, _ = hear(SENTENCE, 5.0, fake=fake, language="auto")
    assert {word.language for word in words(events)} == {"zh"}


def test_fixed_language_is_not_asked_about() -> None:
    fake = FakeRecognizer(SENTENCE, multilingual=True, shares={"en": 0.1, "zh": 0.9})
    events, _ = hear(SENTENCE, 5.0, fake=fake, language="en")
    assert {word.language for word in words(events)} == {"en"}


def test_english_model_refuses_chinese() -> None:
    with pytest.raises(ValueError, match="only English"):
        Transcript(FakeRecognizer(SENTENCE), language="zh")


@pytest.mark.parametrize(
    ("name", "code"),
    [("en", "en"), ("zh-Hans", "zh"), ("cmn", "zh"), ("zh_TW", "zh"), ("auto", "auto")],
)
def test_names_of_languages(name: str, code: str) -> None:
    assert language_code(name) == code


def test_nonsense_is_no_language() -> None:
    with pytest.raises(ValueError, match="no language"):
        language_code("klingon-x!")


@settings(max_examples=25)
@given(said=scripts(), sizes=st.lists(st.integers(40, 9000), min_size=1, max_size=5))
def test_chunk_sizes_change_no_event(said: list[Said], sizes: list[int]) -> None:
    duration = said[-1].offset + 1.5
    assert hear(said, duration, sizes=sizes)[0] == hear(said, duration)[0]


@settings(max_examples=25)
@given(said=scripts(), share=st.floats(0.1, 0.95))
def test_prefix_of_the_stream_gives_a_prefix_of_the_decisions(
    said: list[Said], share: float
) -> None:
    duration = said[-1].offset + 1.5
    whole, _ = hear(said, duration)
    part, _ = hear(said, round(duration * share * 16_000) / 16_000, finish=False)
    assert whole[: len(part)] == part


@settings(max_examples=40)
@given(said=scripts(), bias=st.floats(-0.2, 0.2))
def test_words_never_overlap_and_keep_to_the_watermark(said: list[Said], bias: float) -> None:
    duration = said[-1].offset + 1.0
    events, _ = hear(said, duration, fake=FakeRecognizer(said, onset_bias=bias))
    seen, last = -1.0, 0.0
    for event in events:
        match event:
            case WordsSeen():
                assert event.until > seen
                seen = event.until
            case Word():
                assert event.onset >= max(seen, last)
                assert event.offset <= duration + 1e-6
                last = event.offset
            case Partial():
                assert all(word.onset >= last for word in event.words)


@settings(max_examples=25)
@given(said=scripts())
def test_every_word_of_clear_speech_is_committed_once(said: list[Said]) -> None:
    events, _ = hear(said, said[-1].offset + 1.5)
    assert [word.text for word in words(events)] == [word.text for word in said]
