"""What can be asked about the target of a still, with the answer and what is mistaken for it.

Only what a person who sees the picture would agree on is asked: near ties of distances and
directions, materials and colours that are confused, and half-true uses are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from replay.synth.question_words import QuestionWords
from replay.synth.sights import Sight, Thing

Claim = tuple[str, bool]

CLEAR_GAP = 0.035
"""How much nearer the nearest neighbour is than the second, metres."""
CLEAR_RATIO = 1.6
"""How much further apart two things are in the one direction than in the other."""
CLEAR_SHIFT = 0.07
"""And how far at least, metres."""

HARD = frozenset({"tool", "fastener", "reading", "electronics", "toy", "part"})
FOOD = frozenset({"food", "drink", "fruit", "vegetable"})
SOFT_MATERIALS = frozenset(
    {"metal", "steel", "wood", "rubber", "cardboard", "paper", "foam", "fabric"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Something to ask.

    Attributes:
        name: Key of its wordings in ``configs/synth_questions.toml``.
        answer: As an option and as an answer in one's own words.
        wrong: Other options, the most tempting first.
        claims: Values for yes-or-no questions and whether they are true.
        other: Name of a further thing that the question names.
    """

    name: str
    answer: str = ""
    wrong: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = field(default=())
    other: str = ""


Asker = Callable[[np.random.Generator, Sight, QuestionWords], list[Query]]


def queries(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    """All that can be asked about a sight, in a fixed order."""
    askers: Sequence[Asker] = VOID if sight.thing is None else SOLID
    return [query for asker in askers for query in asker(rng, sight, words)]


def with_article(noun: str) -> str:
    """ "a mug", "an apple", "a USB stick"."""
    vowel = noun[0].lower() in "aeiou" and not noun.startswith(("USB", "uni", "use"))
    return f"{'an' if vowel else 'a'} {noun}"


def sentence(text: str) -> str:
    """With a capital."""
    return text[:1].upper() + text[1:]


def _target(sight: Sight) -> Thing:
    thing = sight.thing
    assert thing is not None
    return thing


def _apart(answer: str, wrong: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in wrong if text != answer))


# --- basic perception --------------------------------------------------------------------------


def _kind(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    others = [one for one in sight.rivals() if one.alike != thing.alike]
    nouns = _apart(thing.noun, [one.noun for one in others])
    claims = [
        (with_article(thing.noun), True),
        *((with_article(noun), False) for noun in nouns[:3]),
    ]
    return [
        Query(
            name="kind",
            answer=sentence(with_article(thing.noun)),
            wrong=tuple(sentence(with_article(noun)) for noun in nouns),
            claims=tuple(claims),
        )
    ]


def _colour(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    if thing.colour is None:
        return []
    seen = [one.colour for one in sight.rivals() if one.colour and one.family != thing.family]
    more = [name for name, family in words.colours if family != thing.family]
    wrong = _apart(thing.colour, [*seen, *_shuffled(rng, more)])
    return [
        Query(
            name="colour",
            answer=sentence(thing.colour),
            wrong=_of_different_families([sentence(name) for name in wrong], words),
            claims=((thing.colour, True), *((name, False) for name in wrong[:3])),
        )
    ]


def _of_different_families(names: Sequence[str], words: QuestionWords) -> tuple[str, ...]:
    """Leave out a colour when one of its family is there already."""
    families = {sentence(name): family for name, family in words.colours}
    kept: dict[str, str] = {}
    for name in names:
        kept.setdefault(families.get(name, name), name)
    return tuple(kept.values())


def _material(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    if thing.material == "food":
        return []
    row = words.alike(thing.material)
    seen = [one.material for one in sight.rivals()]
    wrong: list[str] = []
    for name in [*seen, *_shuffled(rng, list(words.materials))]:
        taken = [word for other in wrong for word in words.alike(other)]
        if name != "food" and name not in row and name not in taken:
            wrong.append(name)
    return [
        Query(
            name="material",
            answer=sentence(thing.material),
            wrong=tuple(sentence(name) for name in wrong),
            claims=((thing.material, True), *((name, False) for name in wrong[:3])),
        )
    ]


# --- use ---------------------------------------------------------------------------------------


def _use(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    own = _content(thing.use) | (_KEEPING if "container" in thing.qualities else set())
    wrong: list[str] = []
    for one in sight.rivals():
        if not _content(one.use) & own and one.alike != thing.alike:
            wrong.append(_it(one.use))
    wrong = list(_apart(_it(thing.use), wrong))
    claims = ((_it(thing.use), True), *((text, False) for text in wrong[:3]))
    return [Query(name="use", answer=_it(thing.use), wrong=tuple(wrong), claims=claims)]


def _it(use: str) -> str:
    """ "used for drinking", "eaten raw", "contains milk" as a sentence."""
    return f"It {use}" if use.split()[0].endswith("s") else f"It is {use}"


_PLAIN = {
    "used",
    "for",
    "contains",
    "a",
    "to",
    "on",
    "with",
    "in",
    "into",
    "things",
    "the",
    "of",
} | {"and", "or", "its", "as", "onto"}


_KEEPING = {"stor", "hold", "carry"}
"""What one can do with any container."""


def _content(use: str) -> set[str]:
    """What a use is about: two uses that share a word of it may both be true of a thing."""
    return {
        word.removesuffix("s").removesuffix("ing") for word in use.split() if word not in _PLAIN
    }


def _qualities(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    has = thing.qualities.__contains__
    judged: list[tuple[str, bool | None]] = [
        ("container", True if has("container") else _unless(thing, FOOD | HARD)),
        ("edible", True if has("edible") or thing.category in FOOD else _unless(thing, HARD)),
        ("electronic", True if has("electronic") else _unless(thing, FOOD | {"drinkware"})),
        ("fragile", _shatters(thing)),
        ("sharp", True if has("sharp") or has("cutting") else _unless(thing, FOOD | {"reading"})),
        ("writing", True if has("writing") else _unless(thing, FOOD | {"drinkware", "tool"})),
    ]
    return [Query(name=name, claims=(("", truth),)) for name, truth in judged if truth is not None]


def _unless(thing: Thing, categories: frozenset[str]) -> bool | None:
    """False for things of which it is surely false; None: better not asked."""
    return False if thing.category in categories else None


def _shatters(thing: Thing) -> bool | None:
    if "fragile" in thing.qualities and thing.material in ("ceramic", "glass"):
        return True
    if thing.category == "electronics":
        return None
    return False if thing.material in SOFT_MATERIALS else None


# --- place -------------------------------------------------------------------------------------


def _nearest(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    others = sorted(sight.rivals(), key=thing.gap)
    if len(others) < 4 or others[1].gap(thing) - others[0].gap(thing) < CLEAR_GAP:
        return []
    names = [f"the {one.name}" for one in others[:4]]
    return [
        Query(
            name="nearest",
            answer=sentence(names[0]),
            wrong=tuple(sentence(name) for name in names[1:]),
            claims=((names[0], True), *((name, False) for name in names[1:3])),
        )
    ]


SIDES = ("to the left of", "to the right of", "in front of", "behind")


def side_of(thing: Thing, other: Thing) -> str | None:
    """Where ``thing`` is as the wearer sees it; None when one could argue."""
    right, away = (a - b for a, b in zip(thing.centre[:2], other.centre[:2], strict=True))
    across, down = (a - b for a, b in zip(thing.seen, other.seen, strict=True))
    if abs(right) > max(CLEAR_SHIFT, CLEAR_RATIO * abs(away)) and right * across > 0:
        return SIDES[int(right > 0)]
    if abs(away) > max(CLEAR_SHIFT, CLEAR_RATIO * abs(right)) and away * down < 0:
        return SIDES[2 + int(away > 0)]
    return None


def _side(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    clear = [(one, side) for one in sight.rivals() if (side := side_of(thing, one))]
    clear.sort(key=lambda pair: thing.gap(pair[0]))
    found = []
    for other, side in clear[:2]:
        phrases = {name: f"{name} the {other.name}" for name in SIDES}
        wrong = [phrases[name] for name in SIDES if name != side]
        found.append(
            Query(
                name="side",
                answer=sentence(phrases[side]),
                wrong=tuple(sentence(text) for text in wrong),
                claims=((phrases[side], True), *((text, False) for text in wrong)),
                other=other.name,
            )
        )
    return found


def _closer(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    reach = math.hypot(*thing.centre[:2])
    claims = []
    for one in sight.rivals():
        more = math.hypot(*one.centre[:2]) - reach
        if abs(more) > 0.1 and abs(one.centre[1] - thing.centre[1]) > 0.08:
            claims.append((one.name, more > 0))
    return [Query(name="closer", claims=tuple(claims))] if claims else []


# --- print -------------------------------------------------------------------------------------


def _text(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    if not thing.text or not thing.legible:
        return []
    seen = [one.text for one in sight.rivals() if one.text]
    others = [*seen[:2], misprint(rng, thing.text), *_shuffled(rng, words.words)]
    # "BOLTS" is as good as true of "BOLTS M6".
    wrong = _apart(thing.text, [one for one in others if not _within(one, thing.text)])
    claims = ((thing.text, True), *((text, False) for text in wrong[:3]))
    return [Query(name="text", answer=thing.text, wrong=wrong, claims=claims)]


def _within(one: str, other: str) -> bool:
    return bool(set(one.split()) <= set(other.split()) or set(other.split()) <= set(one.split()))


def misprint(rng: np.random.Generator, text: str) -> str:
    """``text`` with one letter changed."""
    places = [place for place, letter in enumerate(text) if letter.isalnum()]
    places = places[1:-1] or places  # the ends are the first to turn out of sight
    if not places:
        return text + "X"
    place = places[int(rng.integers(len(places)))]
    letters = "AEIOU" if text[place].upper() in "AEIOU" else "BDFKLMNPRST"
    if text[place].isdigit():
        letters = "0123456789"
    letter = next(one for one in _shuffled(rng, letters) if one != text[place].upper())
    return text[:place] + (letter if text[place].isupper() else letter.lower()) + text[place + 1 :]


# --- traps -------------------------------------------------------------------------------------


def _other(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    """Is it the one near the hand? That is what a model says which does not follow the finger."""
    thing = _target(sight)
    claims = [(one.name, False) for one in sight.rivals()[:2]]
    return [Query(name="other", claims=((thing.name, True), *claims))]


def _missing(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    """Questions about what the target does not have."""
    thing = _target(sight)
    found = []
    if thing.text is None and thing.category not in ("electronics", "reading"):
        texts = [one.text for one in sight.rivals() if one.text]
        wrong = _apart("", [*texts, *_shuffled(rng, words.words)])
        claims = tuple((text, False) for text in wrong[:2])
        found.append(
            Query(name="no_text", answer="Nothing is printed on it", wrong=wrong, claims=claims)
        )
    if "electronic" not in thing.qualities and thing.category in FOOD | {"drinkware", "tableware"}:
        wrong = ("On its left side", "At its lower end", "On its top", "On its back")
        found.append(
            Query(name="no_switch", answer="It has none", wrong=wrong, claims=(("", False),))
        )
    if thing.category in HARD:
        wrong = tuple(sentence(name) for name in _shuffled(rng, words.foods))
        claims = tuple((name.lower(), False) for name in wrong[:2])
        found.append(
            Query(name="no_food", answer="It is nothing to eat", wrong=wrong, claims=claims)
        )
    return found


def _wrong_colour(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    thing = _target(sight)
    said = [one.colour for one in sight.rivals() if one.colour and one.family != thing.family]
    if thing.colour is None or not said:
        return []
    wrong = (
        "So that it is found more easily",
        f"Because things of its kind are always {said[0]}",
        "To mark it as somebody's own",
    )
    answer = f"It is not {said[0]} but {thing.colour}"
    return [
        Query(
            name="wrong_colour",
            answer=answer,
            wrong=wrong,
            claims=((said[0], False),),
            other=said[0],
        )
    ]


def _void(rng: np.random.Generator, sight: Sight, words: QuestionWords) -> list[Query]:
    others = sight.rivals()
    names = [f"the {one.name}" for one in others]
    return [
        Query(
            name="void",
            answer="Nothing, only the bare table",
            wrong=tuple(sentence(name) for name in names),
            claims=tuple((name, False) for name in names[:3]),
        ),
        Query(
            name="void_place",
            answer="Nothing stands there",
            wrong=tuple(sentence(name) for name in names),
            claims=tuple((name, False) for name in names[:3]),
        ),
    ]


def _shuffled(rng: np.random.Generator, items: Sequence[str]) -> list[str]:
    return [items[place] for place in rng.permutation(len(items))]


SOLID: tuple[Asker, ...] = (
    _kind,
    _colour,
    _material,
    _use,
    _qualities,
    _nearest,
    _side,
    _closer,
    _text,
    _other,
    _missing,
    _wrong_colour,
)
VOID: tuple[Asker, ...] = (_void,)
