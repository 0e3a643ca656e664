"""Scripts that are said: word times, pauses, pronunciations, and the same bytes every time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.synth.script import Language, Script, ScriptWord, WordRole
from replay.synth.speech import UnknownWordError, named_voice, voices
from replay.synth.speech.kokoro import american
from replay.synth.speech.mandarin import in_a_row, syllables
from replay.synth.speech.phrase import PhraseWord, Utterance, settled_edges, word_bounds
from replay.synth.speech.piper import PiperVoice
from replay.synth.speech.pronunciation import pronunciations, stressed
from replay.synth.speech.saying import RATE, Voice
from replay.synth.wording import vocabulary

pytestmark = pytest.mark.usefixtures("speakers")

ROOT = Path(__file__).resolve().parent.parent


def word(text: str, end: str = "", role: WordRole = "plain", pause: float = 0.0) -> ScriptWord:
    return ScriptWord(text=text, punctuation=end, role=role, pause=pause)


def script(*words: ScriptWord, language: Language = "en") -> Script:
    return Script(language=language, words=words, strokes=0, referents=())


class Buzzer:
    """A voice whose words are bursts of 0.2 s, 0.05 s apart, with 0.1 s of silence around."""

    border = 0.5

    def __init__(self) -> None:
        self.phrases: list[list[str]] = []

    def utter(
        self, words: Sequence[PhraseWord], *, speed: float, rng: np.random.Generator
    ) -> Utterance:
        rate = 16_000
        self.phrases.append([word.text + word.punctuation for word in words])
        lengths = np.array([0.2 * said.emphasis for said in words]) * rate / speed
        starts = 0.1 * rate + np.cumsum(lengths + 0.05 * rate) - lengths - 0.05 * rate
        samples = np.zeros(int(starts[-1] + lengths[-1] + 0.1 * rate), np.float32)
        for start, length in zip(starts, lengths, strict=True):
            samples[int(start) : int(start + length)] = rng.choice((-0.5, 0.5))
        bounds = np.stack([starts, starts + lengths], axis=1)
        return Utterance(samples=samples, rate=rate, bounds=bounds)


def buzz(said: Script, *, seed: int = 0, speed: float = 1.0):
    model = Buzzer()
    voice = Voice(name="buzzer", language=said.language, model=model)
    return voice.say(said, speed=speed, rng=np.random.default_rng(seed)), model


WORDS = st.builds(
    word,
    st.sampled_from(("put", "this", "over", "there", "mug")),
    st.sampled_from(("", "", "", ",", ".")),
    st.sampled_from(("plain", "deictic")),
    st.sampled_from((0.0, 0.0, 0.03, 0.2, 1.1)),
)


@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(0, 9), st.floats(0.85, 1.2))
@settings(max_examples=40, deadline=None)
def test_words_are_heard_in_order_inside_the_sound(words, seed, speed) -> None:
    speech, _ = buzz(script(*words), seed=seed, speed=speed)
    times = [time for said in speech.words for time in (said.onset, said.offset)]
    assert len(speech.words) == len(words)
    assert times == sorted(times)
    assert times[0] >= 0.0
    assert times[-1] <= speech.seconds
    assert all(said.onset < said.offset for said in speech.words)


@given(st.lists(WORDS, min_size=2, max_size=8), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_pauses_are_as_long_as_asked(words, seed) -> None:
    speech, _ = buzz(script(*words), seed=seed)
    for place in range(1, len(words)):
        silence = speech.words[place].onset - speech.words[place - 1].offset
        if words[place].pause > 0.0:
            assert silence == pytest.approx(words[place].pause, abs=1.5 / RATE)
        elif words[place - 1].punctuation:
            assert silence >= 0.1


def test_pause_before_the_first_word_is_kept() -> None:
    speech, _ = buzz(script(word("put", pause=0.7)))
    assert speech.words[0].onset == pytest.approx(0.7, abs=1.5 / RATE)


def test_phrases_part_at_pauses_and_punctuation() -> None:
    _, model = buzz(
        script(word("put"), word("this", ","), word("over"), word("there", pause=0.5), word("mug"))
    )
    assert model.phrases == [["put", "this,"], ["over,"], ["there", "mug."]]


def test_short_pause_is_cut_into_the_phrase() -> None:
    speech, model = buzz(script(word("put"), word("this", pause=0.05)))
    assert model.phrases == [["put", "this."]]
    gap = speech.samples[
        round(speech.words[0].offset * RATE) + 500 : round(speech.words[1].onset * RATE) - 500
    ]
    assert np.abs(gap).max() < 0.01


def test_silent_script_has_no_sound() -> None:
    speech, _ = buzz(script())
    assert speech.words == ()
    assert speech.seconds == 0.0


def test_word_that_points_is_stressed_and_longer() -> None:
    assert stressed("ðɪs") == "ðˈɪs"
    assert stressed("ˌoʊvɚ") == "ˈoʊvɚ"
    plain, _ = buzz(script(word("this")))
    pointing, _ = buzz(script(word("this", role="deictic")))
    assert pointing.words[0].offset > plain.words[0].offset * 1.02


def test_unknown_word_names_itself_and_the_file() -> None:
    with pytest.raises(UnknownWordError, match=r"'flibber'.*pronunciations\.en\.toml"):
        buzz(script(word("put"), word("flibber")))


def test_unknown_character_names_the_word_and_the_file() -> None:
    with pytest.raises(UnknownWordError, match=r"'把龘'.*pronunciations\.zh\.toml"):
        pronunciations("zh").of("把龘")


def test_voice_refuses_another_language() -> None:
    with pytest.raises(ValueError, match="speaks en, not zh"):
        voices("en")[0].say(script(language="zh"), speed=1.0, rng=np.random.default_rng(0))


def test_voice_refuses_a_speed_out_of_reach() -> None:
    with pytest.raises(ValueError, match=r"speed 3 is not within 0\.7"):
        buzz(script(word("put")), speed=3.0)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_all_words_of_the_scripts_can_be_said(language: Language) -> None:
    table = pronunciations(language)
    assert all(table.of(text) for text in vocabulary(language))


def test_all_english_words_can_be_spelled_by_all_voices() -> None:
    words = pronunciations("en").words
    assert set("".join(words.values())) <= PiperVoice.symbols()
    spelled = set("".join(american(stressed(ipa)) for ipa in words.values()))
    assert spelled <= set("AIOWYbdfhijklmnpstuvwzæðŋɐɑɔəɛɜɡɪɹTʃʊʌʒʔˈˌθᵻʤʧᵊ")


def test_all_chinese_words_are_syllables() -> None:
    for written, pinyin in pronunciations("zh").words.items():
        assert all(one.phonemes for one in syllables(pinyin, written))


@pytest.mark.parametrize(
    ("words", "tones"),
    [
        ([("给", "gei3"), ("我", "wo3")], [2, 3]),
        ([("不", "bu4"), ("要", "yao4")], [2, 4]),
        ([("不", "bu4"), ("好", "hao3")], [4, 3]),
        ([("一", "yi1"), ("个", "ge4")], [2, 4]),
        ([("一", "yi1"), ("杯", "bei1")], [4, 1]),
        ([("部", "bu4"), ("件", "jian4")], [4, 4]),
    ],
)
def test_tones_change_in_a_row(words, tones) -> None:
    row = in_a_row([syllables(pinyin, written) for written, pinyin in words])
    assert [one.tone for said in row for one in said] == tones


@pytest.mark.parametrize(
    ("pinyin", "phonemes"),
    [("zhe4", "ꭧɤ↘"), ("yan2", "jɛ↗n"), ("wei3", "wei↓"), ("qu4", "ʨʰy↘"), ("shi5", "ʂɨ")],
)
def test_pinyin_is_resolved(pinyin: str, phonemes: str) -> None:
    assert syllables(pinyin, "字")[0].phonemes == phonemes


def test_nonsense_is_no_pinyin() -> None:
    with pytest.raises(ValueError, match="'zha' is no syllable"):
        syllables("zha", "炸")


def test_words_share_a_border_inside_a_phrase() -> None:
    bounds = word_bounds([0, 0, None, 1], np.array([5.0, 8.0, 10.0, 14.0, 20.0]), 2, border=0.5)
    assert bounds.tolist() == [[5.0, 12.0], [12.0, 20.0]]


def test_edges_settle_where_the_sound_is() -> None:
    samples = np.zeros(16_000, np.float32)
    samples[4000:9000] = 0.5
    made = Utterance(samples=samples, rate=16_000, bounds=np.array([[3000.0, 6000], [6000, 15000]]))
    assert settled_edges(made).bounds.tolist() == [[4000.0, 6000.0], [6000.0, 9040.0]]


def test_missing_program_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ValueError, match="'espeak' needs the program espeak-ng"):
        named_voice("en", "espeak")


def test_unknown_voice_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no voice 'joan' for en; there are: joe, "):
        named_voice("en", "joan")


_SAY = """
import hashlib, numpy as np
from replay.synth.script import Script, ScriptWord
from replay.synth.speech import mix, named_voice

for language, voice, texts in (("en", "joe", ("take", "this")), ("zh", "zm_yunxi", ("这个",))):
    words = tuple(ScriptWord(text=text) for text in texts)
    said = Script(language=language, words=words, strokes=0, referents=())
    rng = np.random.default_rng(4)
    speech = named_voice(language, voice).say(said, speed=1.1, rng=rng)
    track = mix(rng, "real", speech, seconds=2.0, start=0.5)
    print(hashlib.sha256(track.samples.tobytes()).hexdigest())
"""


def test_another_process_makes_the_same_bytes() -> None:
    others = [
        subprocess.run(
            [sys.executable, "-c", _SAY],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert len(others[0]) == 2
    assert others[0] == others[1]
