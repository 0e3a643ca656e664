"""What is said in made clips: instructions, roles, strokes, pauses."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.synth.script import Difficulty, Language, Script, StrokeTarget
from replay.synth.wording import compose, vocabulary
from replay.synth.wording.grammar import POINTING, Grammar
from replay.synth.wording.settings import wording
from streaming.deixis import DeixisFinder, load_lexicons
from streaming.events import Deictic, Word

LEXICONS = load_lexicons()
BESIDE = {"left", "right", "front", "behind"}
PLACES = {"space"} | BESIDE
KINDS: dict[int, tuple[set[str], ...]] = {
    1: ({"object"},),
    2: ({"object"},),
    3: ({"object"}, {"space"}),
    4: ({"object"}, BESIDE),
    5: ({"object"}, PLACES, {"object"}),
    6: ({"object"}, PLACES, {"object"}, PLACES),
}

languages = st.sampled_from(get_args(Language))
difficulties = st.sampled_from(get_args(Difficulty))
seeds = st.integers(0, 2**32)


def script(seed: int, instruction: int, language: Language, difficulty: Difficulty) -> Script:
    return compose(np.random.default_rng(seed), instruction, language, difficulty)


def many(instruction: int, language: Language, difficulty: Difficulty, n: int) -> list[Script]:
    return [script(seed, instruction, language, difficulty) for seed in range(n)]


def found_by_lexicon(made: Script) -> tuple[list[Deictic], list[tuple[float, float]]]:
    pace = wording(made.language)[0].pace
    finder = DeixisFinder(LEXICONS)
    now, said, spans = 0.5, [], []
    for word in made.words:
        now += word.pause
        end = now + pace.length(word.text)
        spans.append((now, end))
        text = word.text + word.punctuation
        said += finder.push(Word(text=text, onset=now, offset=end, language=made.language))
        now = end + 1e-3
    said += finder.finish()
    return [event for event in said if isinstance(event, Deictic)], spans


@settings(deadline=None, max_examples=60)
@given(seed=seeds, instruction=st.integers(1, 6), language=languages, difficulty=difficulties)
def test_referents_are_those_of_the_instruction(
    seed: int, instruction: int, language: Language, difficulty: Difficulty
) -> None:
    made = script(seed, instruction, language, difficulty)
    kinds = [made.targets[stroke] for stroke in made.referents]
    assert len(kinds) == len(KINDS[instruction])
    for kind, allowed in zip(kinds, KINDS[instruction], strict=True):
        assert kind in allowed


@settings(deadline=None, max_examples=60)
@given(seed=seeds, instruction=st.integers(2, 6), language=languages, difficulty=difficulties)
def test_every_stroke_has_one_word_and_withdrawn_ones_are_no_referents(
    seed: int, instruction: int, language: Language, difficulty: Difficulty
) -> None:
    made = script(seed, instruction, language, difficulty)
    strokes = [word.stroke for word in made.words if word.role in POINTING]
    assert strokes == list(range(made.strokes))
    assert len(made.targets) == made.strokes
    kept = [word.stroke for word in made.words if word.role == "deictic"]
    assert kept == list(made.referents)
    assert all(word.stroke is None for word in made.words if word.role not in POINTING)


@settings(deadline=None, max_examples=60)
@given(seed=seeds, instruction=st.integers(2, 6), language=languages, difficulty=difficulties)
def test_every_word_is_in_the_vocabulary(
    seed: int, instruction: int, language: Language, difficulty: Difficulty
) -> None:
    known = set(vocabulary(language))
    for word in script(seed, instruction, language, difficulty).words:
        small = word.text[0].lower() + word.text[1:]
        assert word.text in known or small in known


@settings(deadline=None, max_examples=30)
@given(seed=seeds, instruction=st.integers(1, 6), language=languages, difficulty=difficulties)
def test_a_seed_always_gives_the_same_script(
    seed: int, instruction: int, language: Language, difficulty: Difficulty
) -> None:
    made = script(seed, instruction, language, difficulty)
    assert made == script(seed, instruction, language, difficulty)


def test_a_silent_instruction_has_a_stroke_and_no_words() -> None:
    made = script(1, 1, "en", "real")
    assert made == Script(language="en", words=(), strokes=1, referents=(0,), targets=("object",))


@pytest.mark.parametrize("instruction", [0, 7])
def test_an_unknown_instruction_is_refused(instruction: int) -> None:
    with pytest.raises(ValueError, match=f"instruction is {instruction}"):
        script(1, instruction, "en", "real")


def said_sides(made: Script, phrases: dict[str, str]) -> list[str]:
    """The sides that the text names, in order, those of corrected references once a stroke."""
    text = made.text.lower()
    at = sorted(
        (place, side)
        for phrase, side in phrases.items()
        for place in range(len(text))
        if text.startswith(phrase, place)
    )
    return [side for _, side in at]


ENGLISH = {"right of": "right", "right side of": "right", "left of": "left"} | {
    "left side of": "left",
    "in front of": "front",
    "behind": "behind",
}
CHINESE = {"右边": "right", "右侧": "right", "右面": "right", "左边": "left"} | {
    "左侧": "left",
    "左面": "left",
    "前面": "front",
    "后面": "behind",
}


@pytest.mark.parametrize(("language", "phrases"), [("en", ENGLISH), ("zh", CHINESE)])
@pytest.mark.parametrize("instruction", [4, 5, 6])
def test_the_side_is_the_one_that_is_said(
    language: Language, phrases: dict[str, str], instruction: int
) -> None:
    for made in many(instruction, language, "hard", 60):
        sides = [made.targets[stroke] for stroke in made.referents]
        assert said_sides(made, phrases) == [side for side in sides if side in BESIDE]


@pytest.mark.parametrize("language", get_args(Language))
def test_every_target_occurs(language: Language) -> None:
    seen = {target for made in many(6, language, "real", 80) for target in made.targets}
    assert seen == set(get_args(StrokeTarget))


@pytest.mark.parametrize("language", get_args(Language))
def test_wordings_vary(language: Language) -> None:
    texts = Counter(made.text for made in many(3, language, "real", 200))
    assert len(texts) > 140
    assert texts.most_common(1)[0][1] <= 8


@pytest.mark.parametrize("language", get_args(Language))
def test_harder_talk_holds_more_that_does_not_point(language: Language) -> None:
    def count(difficulty: Difficulty) -> Counter[str]:
        made = [script for kind in (3, 5) for script in many(kind, language, difficulty, 150)]
        return Counter(word.role for script in made for word in script.words)

    easy, real, hard = count("easy"), count("real"), count("hard")
    for role in ("filler", "withdrawn", "anaphor"):
        assert easy[role] == 0 < real[role] < hard[role]
    assert easy["non_deictic"] < real["non_deictic"] < hard["non_deictic"]
    assert easy["deictic"] == real["deictic"] == hard["deictic"]


@pytest.mark.parametrize("difficulty", get_args(Difficulty))
@pytest.mark.parametrize("language", get_args(Language))
def test_pointing_words_lie_as_far_apart_as_asked(
    language: Language, difficulty: Difficulty
) -> None:
    file, _ = wording(language)
    habits = file.habits(difficulty)
    for made in many(6, language, difficulty, 60):
        onsets, now = [], 0.0
        for word in made.words:
            now += word.pause
            if word.role in POINTING:
                onsets.append(now)
            now += file.pace.length(word.text)
        assert all(after - before > habits.gap[0] - 0.02 for before, after in pairwise(onsets))
        assert made.words[0].pause == 0.0
        assert all(0.0 <= word.pause < 3.0 for word in made.words)


def test_english_sentences_begin_with_a_capital() -> None:
    for made in many(5, "en", "hard", 60):
        begins = True
        for word in made.words:
            assert word.text[0].isupper() or not begins
            begins = word.punctuation.endswith((".", "?"))
        assert made.words[-1].punctuation in (".", "?")


@pytest.mark.parametrize("language", get_args(Language))
def test_the_lexicon_agrees_with_what_words_do(language: Language) -> None:
    pointing = agreed = 0
    for made in (script for kind in range(2, 7) for script in many(kind, language, "real", 40)):
        found, spans = found_by_lexicon(made)
        heads = {
            number: span
            for number, (word, span) in enumerate(zip(made.words, spans, strict=True))
            if word.role in (*POINTING, "anaphor")
        }
        for event in found:
            inside = [
                n for n, (on, off) in heads.items() if event.onset <= (on + off) / 2 <= event.offset
            ]
            pointing += 1
            agreed += len(inside) == 1
        pointing += made.strokes
        agreed += sum(
            any(event.onset <= (on + off) / 2 <= event.offset for event in found)
            for number, (on, off) in heads.items()
            if made.words[number].role in POINTING
        )
    assert agreed / pointing >= 0.97


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ({"a": "<b>"}, "names 'b', which there is not"),
        ({"a": "<b>", "b": "x <a>"}, "contains itself"),
        ({"a": "*"}, "no word"),
        ({"a": "x @0"}, "all its weights are 0"),
    ],
)
def test_a_faulty_grammar_is_refused(phrases: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Grammar(phrases)
