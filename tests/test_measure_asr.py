"""Transcripts against what was said: truth files, tokens, pairs, delays, stability."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from client.commands.measure_asr import asr
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
from replay.measure.asr_run import AsrRig, Measured
from replay.measure.asr_text import tokens_of
from replay.measure.asr_truth import (
    Recording,
    TrueWord,
    TruthError,
    find_recordings,
    read_textgrid,
)
from streaming.events import Counters, Partial, Utterance, Word, WordsSeen
from streaming.transcript import TranscriptSettings
from streaming.vad import VadSettings
from tests.hearing_fakes import blocks_of
from tests.made_truths import clip_truth, said, write_tree

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


def test_clips_of_a_tree_are_recordings_in_its_languages(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        clip_truth(words=(said("Take", 500, 800), said("OK", 900, 1100, punct="."))),
        clip_truth("b.mp4", language="zh", words=(said("OK", 500, 800),), difficulty="hard"),
        clip_truth("c.mp4"),
    )
    one, silent, chinese = find_recordings(tmp_path)
    assert one.words == (true("Take", 0.5, 0.8), true("OK", 0.9, 1.1))
    assert (one.language, one.difficulty, one.language_stated) == ("en", "real", True)
    assert (chinese.language, chinese.difficulty) == ("zh", "hard")
    assert (silent.audio.name, silent.words, silent.language) == ("c.mp4", (), "en")


def test_tree_without_made_truth_has_the_words_of_its_annotations(tmp_path: Path) -> None:
    speaks = clip_truth(words=(said("Take", 500, 800),))
    untold = clip_truth("c.mp4")
    write_tree(tmp_path, speaks, untold)
    (tmp_path / "truth.json").unlink()
    (recording,) = find_recordings(tmp_path)
    assert recording.words == (true("Take", 0.6, 0.8),)
    (tmp_path / "data_en" / "Inst3").rename(tmp_path / "data_en" / "Inst1")
    assert [one.audio.name for one in find_recordings(tmp_path)] == ["a.mp4", "c.mp4"]


def test_tree_without_any_transcript_is_one_clear_line(tmp_path: Path) -> None:
    write_tree(tmp_path, clip_truth())
    (tmp_path / "truth.json").unlink()
    with pytest.raises(TruthError, match="no clip of this tree has a transcript"):
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
    assert tokens_of("呃，這個，嗯", language="zh") == ["这", "个"]


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


def test_words_heard_where_nothing_is_said_are_invented() -> None:
    emitted = [Emitted(word=word("thank", 0.1, 0.4), unaware=1.0, aware=1.2)]
    final = [word("Thank", 0.1, 0.4), word("you", 0.5, 0.9)]
    heard = Hearing(duration=2.0, end=4.0, emitted=emitted, final=final)
    pool = measure([], heard, language="en")
    assert pool.summary()["silent"] == {
        "files": 1,
        "duration": 2.0,
        "invented_live": 1,
        "invented_final": 2,
    }
    spoken = measure([true("put", 0.0, 0.5)], Hearing(duration=1.0), language="en")
    assert "silent" not in spoken.summary()
    pool.add(spoken)
    assert pool.summary()["silent"]["duration"] == 2.0
    assert pool.summary()["error_rate_live"] == 2.0


class Hears:
    """A rig that hears "this" in every recording."""

    def __init__(self, **kwargs: object) -> None:
        pass

    def measure(self, recording: Recording, *, reference: bool) -> Measured:
        said = [Emitted(word=word("this", 0.5, 0.9), unaware=1.5, aware=1.8)]
        heard = Hearing(duration=2.0, end=4.0, emitted=said)
        found = measure(recording.words, heard, language=recording.language)
        return Measured(measures=found, model="m", live="this", final="")


def test_command_pools_by_difficulty_and_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("client.commands.measure_asr.AsrRig", Hears)
    this = said("this", 500, 900)
    write_tree(
        tmp_path,
        clip_truth(words=(this,), difficulty="hard"),
        clip_truth("b.mp4", words=(this, said("one", 900, 1100)), difficulty="easy"),
        clip_truth("c.mp4", difficulty="easy"),
    )
    asr(tmp_path, json=True)
    document = json.loads(capsys.readouterr().out)
    parts = document["by_difficulty"]
    assert list(parts) == ["easy", "hard"]
    assert parts["easy"]["en"]["files"] == 2
    assert parts["easy"]["en"]["silent"]["invented_live"] == 1
    assert parts["hard"]["en"]["error_rate_live"] == 0.0
    assert document["files"][1]["difficulty"] == "easy"
    asr(tmp_path)
    shown = capsys.readouterr().out
    assert "hard en" in shown
    assert "words invented there, live" in shown


def test_auto_takes_the_language_that_a_tree_states() -> None:
    def language(given: str, *, stated: bool) -> str:
        recording = Recording(
            audio=Path("a"), words=(), language="zh", origin=Path("a"), language_stated=stated
        )
        rig = AsrRig(model="m", language=given, vad=VadSettings(), transcript=TranscriptSettings())
        return rig.language_of(recording)

    assert language("auto", stated=True) == language("", stated=False) == "zh"
    assert language("auto", stated=False) == "auto"
    assert language("en", stated=True) == "en"


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
