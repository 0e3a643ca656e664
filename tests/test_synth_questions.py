"""Questions about pointing stills: right answers, fair alternatives, every kind of question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.synth.queries import misprint, queries, side_of, with_article
from replay.synth.question_words import DeixisLevel, Dimension, QuestionType, question_words
from replay.synth.questions import DIMENSIONS, LEVELS, TYPES, Asked, ask
from replay.synth.sights import Sight, Thing

FIELDS = [
    "image_id",
    "image_path",
    "question",
    "options",
    "answer",
    "dimension",
    "deixis_level",
    "type",
]


def square(x: float, y: float) -> tuple[tuple[float, float], ...]:
    return tuple(
        (x + dx, y + dy) for dx, dy in ((-0.04, -0.04), (0.04, -0.04), (0.04, 0.04), (-0.04, 0.04))
    )


def thing(label: int, noun: str, colour: str | None, x: float, y: float, **facts: object) -> Thing:
    made = Thing(
        label=label,
        name=f"{colour} {noun}" if colour else noun,
        noun=noun,
        alike=noun,
        colour=colour,
        family=colour or "",
        category="drinkware",
        material="ceramic",
        use="used for drinking",
        qualities=frozenset(["container", "fragile"]),
        text=None,
        legible=True,
        centre=(x, y, 0.05),
        footprint=square(x, y),
        height=0.1,
        seen=(0.5 + x, 0.9 - y),
        share=0.01,
    )
    return replace(made, **facts)  # type: ignore[arg-type]


MUG = thing(10, "mug", "red", 0.0, 0.3)
LEMON = thing(
    11,
    "lemon",
    None,
    0.2,
    0.3,
    category="fruit",
    material="food",
    use="eaten",
    qualities=frozenset(["edible"]),
)
BOX = thing(
    12,
    "box",
    "blue",
    -0.3,
    0.2,
    category="container",
    material="cardboard",
    use="used for storing",
    text="BOLTS",
)
PEN = thing(
    13,
    "pen",
    "green",
    0.0,
    0.55,
    category="stationery",
    material="plastic",
    use="used for writing",
    share=0.05,
)
HAMMER = thing(
    14,
    "hammer",
    "black",
    0.4,
    0.6,
    category="tool",
    material="steel",
    use="used for driving nails",
    qualities=frozenset(),
)
PLATE = thing(15, "plate", "white", -0.35, 0.5, category="tableware", use="used for serving food")
THINGS = (MUG, LEMON, BOX, PEN, HAMMER, PLATE)


def sight(target: Thing | None) -> Sight:
    where = (0.1, 0.4, 0.0) if target is None else target.centre
    return Sight(
        things=THINGS,
        target=None if target is None else target.label,
        place=where,
        tip=(0.05, 0.25, 0.15),
    )


def asked(
    seed: int, target: Thing | None, dimension: Dimension, level: DeixisLevel, kind: QuestionType
) -> Asked | None:
    return ask(
        np.random.default_rng(seed), sight(target), dimension=dimension, level=level, kind=kind
    )


def everything(target: Thing | None, seeds: int = 15) -> list[Asked]:
    made = [
        asked(seed, target, dimension, LEVELS[seed % 3], kind)
        for seed in range(seeds)
        for dimension in DIMENSIONS
        for kind in TYPES
    ]
    return [question for question in made if question is not None]


targets = st.sampled_from([*THINGS, None])


@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 2**32),
    target=targets,
    dimension=st.sampled_from(DIMENSIONS),
    level=st.sampled_from(LEVELS),
    kind=st.sampled_from(TYPES),
)
def test_a_question_has_one_right_answer_in_the_form_of_its_type(
    seed: int,
    target: Thing | None,
    dimension: Dimension,
    level: DeixisLevel,
    kind: QuestionType,
) -> None:
    made = asked(seed, target, dimension, level, kind)
    if made is None:
        return
    item = made.item("7", "images/7.jpg")
    assert list(item) == FIELDS
    assert item["dimension"] == dimension
    assert item["deixis_level"] == level
    assert "{" not in made.question
    assert made == asked(seed, target, dimension, level, kind)
    if kind == "Multiple_Choice":
        assert made.options is not None
        assert [option[:3] for option in made.options] == ["A. ", "B. ", "C. ", "D. "]
        assert len({option[3:].lower() for option in made.options}) == 4
        assert made.answer in made.options
    else:
        assert made.options is None
        assert made.answer in ("True", "False") if kind == "True_False" else made.answer


def test_every_dimension_type_and_query_is_asked() -> None:
    made = [one for target in [*THINGS, None] for one in everything(target, 12)]
    crossed = {(one.dimension, one.type) for one in made}
    assert crossed == {(dimension, kind) for dimension in DIMENSIONS for kind in TYPES}
    assert {one.name for one in made} == set(question_words().ask)


@pytest.mark.parametrize(
    ("level", "phrases"),
    [("L1", ["pointing", "finger"]), ("L2", ["here", "there"]), ("L3", ["this", "that"])],
)
def test_deixis_levels_name_the_gesture_the_place_or_nothing(
    level: DeixisLevel, phrases: list[str]
) -> None:
    for seed in range(40):
        made = asked(seed, MUG, "Basic Perception", level, "Multiple_Choice")
        assert made is not None
        words = made.question.lower()
        assert any(phrase in words for phrase in phrases)
        assert level == "L1" or "point" not in words
        assert level != "L3" or not {"here", "there"} & set(words.rstrip("?.").split())


def test_pointing_at_nothing_is_answered_with_nothing() -> None:
    for made in everything(None):
        assert made.dimension == "Adversarial"
        if made.type == "True_False":
            assert made.answer == "False"
        else:
            assert "Nothing" in made.answer


def test_the_thing_near_the_hand_and_the_largest_tempt_first() -> None:
    assert sight(LEMON).rivals()[:2] == (MUG, PEN)
    kind = queries(np.random.default_rng(0), sight(LEMON), question_words())[0]
    assert kind.wrong[:2] == ("A mug", "A pen")


def test_true_and_false_claims_are_about_as_many() -> None:
    made = [asked(seed, MUG, "Basic Perception", "L3", "True_False") for seed in range(200)]
    true = sum(one is not None and one.answer == "True" for one in made)
    assert 70 < true < 130


def test_sides_are_those_that_the_wearer_sees() -> None:
    assert side_of(MUG, LEMON) == "to the left of"
    assert side_of(MUG, PEN) == "in front of"
    assert side_of(HAMMER, MUG) is None


def test_near_ties_of_distance_are_not_asked() -> None:
    names = [one.name for one in queries(np.random.default_rng(0), sight(MUG), question_words())]
    assert "nearest" in names
    tie = replace(BOX, centre=(-0.2, 0.3, 0.05), footprint=square(-0.2, 0.3))
    tied = replace(sight(MUG), things=(MUG, LEMON, tie, PEN, HAMMER, PLATE))
    names = [one.name for one in queries(np.random.default_rng(0), tied, question_words())]
    assert "nearest" not in names


def test_materials_that_are_taken_for_one_another_are_no_alternatives() -> None:
    for one in everything(HAMMER):
        if one.name == "material" and one.options is not None:
            assert "metal" not in " ".join(one.options).lower()


@given(text=st.text("ABC 19", min_size=1, max_size=8).filter(str.strip), seed=st.integers(0, 99))
def test_a_misprint_is_another_text_of_the_same_length_unless_nothing_can_be_changed(
    text: str, seed: int
) -> None:
    other = misprint(np.random.default_rng(seed), text)
    assert other != text
    assert len(other) == len(text)


def test_a_part_of_the_print_is_no_wrong_answer() -> None:
    label = replace(BOX, text="FRAGILE TEA")
    there = Sight(things=(label, MUG), target=label.label, place=label.centre, tip=MUG.centre)
    made = queries(np.random.default_rng(0), there, question_words())
    wrong = next(one.wrong for one in made if one.name == "text")
    assert not {"FRAGILE", "TEA"} & set(wrong)
    assert len(wrong) >= 3


def test_articles() -> None:
    nouns = ("mug", "apple", "USB stick", "pair of scissors", "thermos")
    assert [with_article(noun) for noun in nouns] == [
        "a mug",
        "an apple",
        "a USB stick",
        "a pair of scissors",
        "a thermos",
    ]
