"""Finding the words that point: in marked sentences, and as a stream."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.measure.deixis import count_spans, read_sentences, spoken
from streaming.deixis import DeixisFinder, load_lexicons
from streaming.deixis_lexicon import Lexicon, LexiconFile, RuleEntry, cut
from streaming.events import Deictic, DeicticsSeen, Utterance, Word, WordsSeen

SENTENCES = Path(__file__).parent / "data"
LEXICONS = load_lexicons()


def word(text: str, onset: float, *, utterance: int = 0, language: str = "en") -> Word:
    return Word(text=text, onset=onset, offset=onset + 0.25, utterance=utterance, language=language)


def words(text: str, *, language: str = "en", utterance: int = 0) -> list[Word]:
    return [
        word(piece, 0.3 * place, utterance=utterance, language=language)
        for place, piece in enumerate(text.split())
    ]


def found(*events: Any) -> list[Deictic]:
    finder = DeixisFinder(LEXICONS)
    said = [event for given_ in events for event in finder.push(given_)] + finder.finish()
    return [event for event in said if isinstance(event, Deictic)]


def texts(*events: Any) -> list[str]:
    return [deictic.text for deictic in found(*events)]


# --- marked sentences --------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["tune", "seen", "held"])
@pytest.mark.parametrize("plain", [False, True], ids=["punctuated", "plain"])
def test_precision_and_recall_on_marked_sentences(language: str, part: str, plain: bool) -> None:
    parts = read_sentences(SENTENCES / f"deictic_sentences.{language}.txt")
    counts = count_spans(parts[part], language, LEXICONS, plain=plain)
    assert counts.precision > 0.95, counts.wrong
    assert counts.recall > 0.95, counts.wrong


@pytest.mark.parametrize(("language", "least"), [("en", 150), ("zh", 100)])
def test_there_are_enough_sentences(language: str, least: int) -> None:
    parts = read_sentences(SENTENCES / f"deictic_sentences.{language}.txt")
    assert sum(len(sentences) for sentences in parts.values()) >= least


# --- what only looks deictic, and what only looks as if it were not ------------------------------

EITHER_WAY = [
    # "after that" and its like are a time, whatever the verb is
    ("After that take this.", ["this"]),
    ("Put this here, and after that place that one there.", ["this", "here", "that one", "there"]),
    ("Before that bring me this.", ["this"]),
    ("Besides that hand me those.", ["those"]),
    ("Then after that this goes here.", ["this", "here"]),
    ("Put this one here after that.", ["this one", "here"]),
    ("After that please carefully hold this.", ["this"]),
    ("Put this after that.", ["this", "that"]),
    ("Put this after that, please.", ["this", "that"]),
    ("Put this before that box.", ["this", "that"]),
    ("After that one take this.", ["that one", "this"]),
    # a wish points, a liking does not
    ("I'd like this.", ["this"]),
    ("I'd like that.", ["that"]),
    ("We would really like those, please.", ["those"]),
    ("I'd like that very much.", []),
    ("People like that.", []),
    ("Do it like this.", ["it"]),
    # a place before an existential "there"
    ("Put that there? There is no hurry.", ["that", "there"]),
    ("Leave this one there. There are too many.", ["this one", "there"]),
    ("Bring me that one. There is no hurry.", ["that one"]),
    ("Put that, er, there? There is no hurry.", ["that", "there"]),
    # talk and what is pointed at, without the comma between them
    ("Give me that. I'll need it.", ["that", "it"]),
    ("Put that, I mean this one, there.", ["that", "this one", "there"]),
    ("I read somewhere that music helps.", []),
    # 那个 as "er": the order has an object of its own
    ("那个，帮我把这个拿过来。", ["这个"]),
    ("那个，请你拿一下这个。", ["这个"]),
    ("那个，能不能把那个递给我？", ["那个"]),
    ("那个，这个东西放到那里。", ["这个", "那里"]),
    ("那个，先拿起这个。", ["这个"]),
    ("那个，递给我，递给我这个。", ["这个"]),
    ("那个，我想问一下。", []),
    ("那个，递给我。", ["那个"]),
    ("那个，帮我拿过来。", ["那个"]),
    ("那个，你把它放到这里。", ["那个", "它", "这里"]),
    ("拿那个，再把这个放这里。", ["那个", "这个", "这里"]),
    # 那个 in place of something
    ("不，那个，我要用它。", ["那个", "它"]),
    ("等等，那个，我要用它。", ["那个", "它"]),
    ("错了，这个，我要用它。", ["这个", "它"]),
    ("拿这个，不对，那个，把它给我。", ["这个", "那个", "它"]),
    # 那是 and a time or somebody's business
    ("那是昨天的事。", []),
    ("那是很久以前的事了。", []),
    ("那是别人的问题。", []),
    ("那是昨天的报纸。", ["那"]),
    # 那 and 把, begun twice
    ("那把，把这个放到那里。", ["这个", "那里"]),
    ("好，那把，那把这个给我。", ["这个"]),
    ("那把门关上。", []),
    ("那把椅子给我。", ["那把"]),
    ("要这把，把它给我。", ["这把", "它"]),
    ("那，拿起这个。", ["这个"]),
]


@pytest.mark.parametrize("plain", [False, True], ids=["punctuated", "plain"])
@pytest.mark.parametrize(("sentence", "pointing"), EITHER_WAY)
def test_what_points_does_not_hang_on_punctuation(
    sentence: str, pointing: list[str], plain: bool
) -> None:
    language = "en" if sentence.isascii() else "zh"
    said = [one for one, _ in spoken(sentence, language, plain=plain)]
    assert texts(*said) == pointing


# --- spans and kinds ---------------------------------------------------------------------------


def test_an_expression_of_several_words_is_one_span() -> None:
    made = found(*words("put this one over there."))
    assert [(d.text, d.onset, d.kind) for d in made] == [
        ("this one", 0.3, "object"),
        ("over there", pytest.approx(0.9), "place"),
    ]
    assert made[1].offset == pytest.approx(1.2 + 0.25)


def test_that_one_over_there_is_one_referent_unless_something_is_put() -> None:
    assert texts(*words("give me that one over there")) == ["that one over there"]
    assert texts(*words("put that one over there")) == ["that one", "over there"]


def test_chinese_is_found_as_words_and_as_characters() -> None:
    whole = found(word("把", 0.0, language="zh"), word("这个", 0.3, language="zh"))
    halves = found(
        word("把", 0.0, language="zh"),
        word("这", 0.3, language="zh"),
        word("个", 0.55, language="zh"),
    )
    phrase = found(word("把这个", 0.0, language="zh"))
    assert [d.text for d in whole] == [d.text for d in halves] == [d.text for d in phrase]
    assert (whole[0].onset, whole[0].offset) == (0.3, 0.55)
    assert halves[0].offset == 0.8
    assert phrase[0].onset == pytest.approx(0.25 / 3)


def test_traditional_characters_keep_their_shape() -> None:
    assert texts(word("這個", 0.0, language="zh"), word("放", 0.3, language="zh")) == ["這個"]


def test_both_languages_in_one_sentence() -> None:
    made = found(
        word("把", 0.0, language="zh"),
        word("this", 0.3, language="zh"),
        word("放到", 0.6, language="zh"),
        word("那里", 0.9, language="zh"),
    )
    assert [d.text for d in made] == ["this", "那里"]


def test_other_languages_are_left_alone() -> None:
    assert found(word("this", 0.0, language="de")) == []


def test_homophones_are_found_with_less_certainty() -> None:
    made = found(*[word(c, 0.3 * i, language="zh") for i, c in enumerate("把它放到哪里。")])
    assert [(d.text, d.kind) for d in made] == [("它", "anaphor"), ("哪里", "place")]
    assert made[1].probability < 0.7


def test_punctuation_case_and_contractions() -> None:
    assert texts(*words("“THAT’s mine!”")) == ["that"]
    assert texts(*words("That’s right!")) == []
    assert cut("isn't that's 这个 2个") == ("is", "n't", "that", "'s", "这", "个", "2", "个")


# --- streaming ---------------------------------------------------------------------------------


def test_a_word_waits_for_the_next_one() -> None:
    finder = DeixisFinder(LEXICONS)
    finder.push(word("take", 0.0))
    assert not any(isinstance(e, Deictic) for e in finder.push(word("this", 0.3)))
    made = finder.push(word("cup", 0.6))
    assert [e.text for e in made if isinstance(e, Deictic)] == ["this"]


def test_a_place_where_something_is_put_does_not_wait() -> None:
    finder = DeixisFinder(LEXICONS)
    for early in words("put this"):
        finder.push(early)
    made = finder.push(word("there", 0.6))
    assert [e.text for e in made if isinstance(e, Deictic)] == ["this", "there"]
    assert made[-1] == DeicticsSeen(until=0.85)


def test_silence_after_a_word_ends_the_wait() -> None:
    finder = DeixisFinder(LEXICONS)
    finder.push(word("take", 0.0))
    finder.push(word("this", 0.3))
    assert not any(isinstance(e, Deictic) for e in finder.push(WordsSeen(until=1.0)))
    made = finder.push(WordsSeen(until=1.2))
    assert [e.text for e in made if isinstance(e, Deictic)] == ["this"]


def test_the_end_of_the_utterance_ends_the_wait() -> None:
    finder = DeixisFinder(LEXICONS)
    finder.push(word("this", 0.3))
    end = Utterance(index=0, onset=0.3, offset=0.6, language="en", words=())
    assert [e.text for e in finder.push(end) if isinstance(e, Deictic)] == ["this"]


def test_punctuation_ends_the_wait() -> None:
    finder = DeixisFinder(LEXICONS)
    finder.push(word("take", 0.0))
    assert [e.text for e in finder.push(word("this.", 0.3)) if isinstance(e, Deictic)] == ["this"]


def test_the_watermark_stays_behind_what_is_undecided() -> None:
    finder = DeixisFinder(LEXICONS)
    said = [*finder.push(word("take", 0.0)), *finder.push(word("this", 0.3))]
    said += finder.push(WordsSeen(until=0.5))
    marks = [e.until for e in said if isinstance(e, DeicticsSeen)]
    assert marks[-1] == 0.3
    ended = finder.finish()
    assert isinstance(ended[-1], DeicticsSeen)
    assert ended[-1].until == float("inf")


def test_a_new_start_is_one_referent() -> None:
    assert texts(*words("put this um this one here")) == ["this one", "here"]
    assert texts(word("take", 0.0), word("this", 0.3), word("this", 1.0)) == ["this", "this"]


def test_context_does_not_reach_over_an_utterance() -> None:
    first = word("like", 0.0, utterance=0)
    assert texts(first, word("this", 0.3, utterance=1)) == ["this"]
    assert texts(first, word("this", 0.3, utterance=0)) == []


VOCABULARY = st.sampled_from(
    [
        *[
            "put",
            "this",
            "that",
            "one",
            "over",
            "there",
            "here",
            "is",
            "I",
            "think",
            "it.",
            "them,",
            "so",
            "um",
            "like",
            "morning",
        ],
        *"这 个 这个 那里 把 时候 那 我 放到".split(),  # noqa: SIM905
    ]
)


@st.composite
def word_stream(draw: st.DrawFn) -> list[Any]:
    events: list[Any] = []
    now, utterance = 0.0, 0
    for text in draw(st.lists(VOCABULARY, max_size=14)):
        now += draw(st.sampled_from([0.0, 0.1, 0.7, 1.5]))
        utterance += draw(st.sampled_from([0, 0, 0, 1]))
        language = "zh" if ord(text[0]) > 0x3000 else "en"
        events.append(word(text, now, utterance=utterance, language=language))
        now += 0.25
    return events


@given(word_stream(), st.data())
def test_watermarks_change_when_but_never_what(events: list[Any], data: st.DataObject) -> None:
    sparse = found(*events)
    dense: list[Any] = []
    for event, after in itertools.zip_longest(events, events[1:]):
        dense.append(event)
        top = event.offset + 5.0 if after is None else after.onset
        for _ in range(data.draw(st.integers(0, 3))):
            share = data.draw(st.floats(0, 1))
            dense.append(WordsSeen(until=event.onset + share * (top - event.onset)))
    assert found(*dense) == sparse


@given(word_stream(), st.data())
def test_decisions_of_a_prefix_are_a_prefix_of_the_decisions(
    events: list[Any], data: st.DataObject
) -> None:
    cut_at = data.draw(st.integers(0, len(events)))
    finder = DeixisFinder(LEXICONS)
    early = [
        said
        for event in events[:cut_at]
        for said in finder.push(event)
        if isinstance(said, Deictic)
    ]
    assert found(*events)[: len(early)] == early


@given(word_stream())
def test_deictics_are_in_order_and_never_behind_the_watermark(events: list[Any]) -> None:
    finder = DeixisFinder(LEXICONS)
    seen = float("-inf")
    indices = []
    for event in [*events, None]:
        said = finder.finish() if event is None else finder.push(event)
        for one in said:
            if isinstance(one, Deictic):
                assert one.onset >= seen
                indices.append(one.index)
            else:
                assert one.until > seen
                seen = one.until
    assert indices == list(range(len(indices)))


# --- lexicon files -----------------------------------------------------------------------------


def test_a_rule_about_nothing_is_an_error() -> None:
    file = LexiconFile(language="xx", rule=(RuleEntry(of=("foo",)),))
    with pytest.raises(ValueError, match="'foo'"):
        Lexicon(file)


def test_spoken_words_lie_where_they_are_written() -> None:
    assert [(w.text, place) for w, place in spoken("把 this放。", "zh")] == [
        ("把", 0),
        ("this", 2),
        ("放。", 6),
    ]
