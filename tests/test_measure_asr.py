"""Transcripts against what was said: truth files, tokens, pairs, delays, stability."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from replay.measure.asr import (
    Emitted,
    Hearing,
    Measures,
    disorder,
    listen,
    measure,
    pair_words,
    text_errors,
)
from replay.measure.asr_text import tokens_of
from replay.measure.asr_truth import TrueWord, TruthError, find_recordings, read_textgrid
from streaming.events import Counters, Partial, Utterance, Word, WordsSeen
from tests.hearing_fakes import blocks_of

LONG = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "phones"
        xmin = 0
        xmax = 2
        intervals: size = 1
        intervals [1]:
            xmin = 0
            xmax = 2
            text = "DH"
    item [2]:
        class = "IntervalTier"
        name = "Words"
        xmin = 0
        xmax = 2
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 0.5
            text = ""
        intervals [2]:
            xmin = 0.5
            xmax = 1.25
            text = "this ""one"" 2"
        intervals [3]:
            xmin = 1.25
            xmax = 2
            text = "[SIL]"
"""
SHORT = """File type = "ooTextFile"
Object class = "TextGrid"

0
2
<exists>
2
"TextTier"
"marks"
0
2
1
0.25
"tap"
"IntervalTier"
"words"
0
2
2
0
0.5
"put"
0.5
1.25
"this"
"""


def true(text: str, onset: float, offset: float) -> TrueWord:
    return TrueWord(text=text, onset=onset, offset=offset)


def word(text: str, onset: float, offset: float) -> Word:
    return Word(text=text, onset=onset, offset=offset)


def test_long_textgrid_with_quotes_and_silence(tmp_path: Path) -> None:
    path = tmp_path / "a.TextGrid"
    path.write_text(LONG, encoding="utf-8")
    assert list(read_textgrid(path)) == [true('this "one" 2', 0.5, 1.25)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
def test_short_textgrid_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.TextGrid"
    path.write_text(SHORT, encoding=encoding)
    assert list(read_textgrid(path)) == [true("put", 0.0, 0.5), true("this", 0.5, 1.25)]


def test_what_is_no_textgrid_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "a.TextGrid"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(TruthError, match=r"a\.TextGrid is no TextGrid"):
        list(read_textgrid(path))


@pytest.mark.parametrize(
    "content",
    [
        [{"word": "这个", "start": 0.5, "end": 1.0}],
        {"words": [{"text": "这个", "begin_time": 500, "end_time": 1000}]},
        {"alignment": [["这个", 0.5, 1.0]]},
        [[0.5, 1.0, "这个"]],
    ],
)
def test_alignments_in_json(tmp_path: Path, content: object) -> None:
    (tmp_path / "a.wav").touch()
    (tmp_path / "a.align.json").write_text(json.dumps(content), encoding="utf-8")
    (recording,) = find_recordings(tmp_path)
    assert recording.words == (true("这个", 0.5, 1.0),)
    assert recording.language == "zh"
    assert recording.timed


def test_text_has_words_without_times(tmp_path: Path) -> None:
    (tmp_path / "a.wav").touch()
    (tmp_path / "a.txt").write_text("put this\nthere", encoding="utf-8")
    (recording,) = find_recordings(tmp_path)
    assert [word.text for word in recording.words] == ["put", "this", "there"]
    assert not recording.timed


def test_folder_without_truth_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a.wav").touch()
    with pytest.raises(TruthError, match="holds no sound with"):
        find_recordings(tmp_path)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Uh, HERE'S 21 words.", "here is twenty one words"),
        ("I don't yknow — alright", "i do not you know all right"),
        ("that’s it, um, 1999", "that is it one thousand nine hundred ninety nine"),
        ("'cause we can't", "because we can not"),
    ],
)
def test_english_is_compared_as_it_is_read(text: str, tokens: str) -> None:
    assert tokens_of(text, language="en") == tokens.split()


def test_chinese_is_compared_by_simplified_characters() -> None:
    assert tokens_of("這個，放到 A4。", language="zh") == ["这", "个", "放", "到", "a4"]


def test_errors_are_counts_that_add() -> None:
    one = text_errors(["put", "this", "there"], ["put", "that"])
    assert (one.hits, one.substitutions, one.deletions, one.insertions) == (1, 1, 1, 0)
    both = one + text_errors([], ["noise"])
    assert (both.reference, both.errors) == (3, 3)
    assert both.rate == pytest.approx(1.0)


def test_pairs_go_through_contractions() -> None:
    said = [true("here's", 0.0, 0.4), true("this", 0.4, 0.8), true("one", 0.8, 1.0)]
    heard = [word("Here", 0.0, 0.2), word("is", 0.2, 0.4), word("that", 0.4, 0.8)]
    assert pair_words(said, heard, language="en") == [(0, 0, True), (1, 2, False)]


def test_measures_of_a_small_hearing() -> None:
    heard = Hearing(
        duration=2.0,
        end=4.0,
        emitted=[
            Emitted(word=word("put", 0.1, 0.4), unaware=1.0, aware=1.2),
            Emitted(word=word("this", 0.5, 0.9), unaware=1.5, aware=1.8),
        ],
        final=[word("Put", 0.1, 0.4), word("that", 0.5, 0.9)],
        unstable=1,
        cpu=1.0,
        wall=0.5,
        steps=[0.2, 0.3],
    )
    said = [true("put", 0.0, 0.5), true("this", 0.5, 1.0)]
    found = measure(said, heard, language="en", offline="put this").summary()
    assert found["error_rate_live"] == 0.0
    assert found["error_rate_final"] == 0.5
    assert found["error_rate_offline"] == 0.0
    assert found["onset_error"]["p50"] == pytest.approx(0.05)
    assert found["delay_unaware"]["p50"] == pytest.approx(0.5)
    assert found["delay_aware"]["p50"] == pytest.approx(0.75)
    assert found["delay_aware"]["p99"] is None
    assert found["unstable_ratio"] == 0.5
    assert (found["cpu_per_second"], found["longest_step"]) == (0.5, 0.3)


def test_measures_of_nothing_are_undefined_not_zero() -> None:
    found = Measures().summary()
    assert found["error_rate_live"] is None
    assert found["onset_error"]["p50"] is None


def test_disorder_counts_overlaps_and_words_outside() -> None:
    words = [word("a", 0.0, 1.0), word("b", 0.5, 1.2), word("c", 1.5, 3.0)]
    assert disorder(words, end=2.0) == 2


class Recorded:
    """A component that says what it is told to, step by step."""

    accepts: tuple[type, ...] = ()

    def __init__(self, steps: list[list[object]]) -> None:
        self.counters = Counters()
        self._steps = steps

    def push(self, event: object) -> list[object]:
        return self._steps.pop(0) if self._steps else []

    def finish(self) -> list[object]:
        return []


class Echo(Recorded):
    def push(self, event: object) -> list[object]:
        return [event]


class Slow:
    """Every step takes 50 ms."""

    def wall(self) -> float:
        return 0.05

    def cpu(self) -> float:
        return 0.02


def test_aware_time_waits_for_the_step_before() -> None:
    steps: list[list[object]] = [
        [Partial(utterance=0, words=(word("put", 0.0, 0.1), word("thin", 0.1, 0.2)))],
        [word("put", 0.0, 0.1), Partial(utterance=0, words=(word("this", 0.1, 0.2),))],
        [word("this", 0.1, 0.2), WordsSeen(until=0.2), Partial(utterance=0, words=())],
    ]
    final = Utterance(index=0, onset=0.0, offset=0.2, language="en", words=(word("put", 0.0, 0.1),))
    steps.append([final])
    heard = listen(blocks_of(4 * 512 / 16_000), Echo([]), Recorded(steps), watch=Slow)
    assert [one.unaware for one in heard.emitted] == pytest.approx([0.064, 0.096])
    assert [one.aware for one in heard.emitted] == pytest.approx([0.132, 0.182])
    assert heard.unstable == 1
    assert len(heard.final) == 1
    assert heard.lateness == pytest.approx(0.032 + 5 * 0.05 - 0.128)
    assert not math.isnan(heard.cpu)
