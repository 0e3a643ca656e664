"""Questions about pointing stills, as items of EgoPoint-Bench (arXiv 2604.21461).

An item has the benchmark's fields: ``image_id, image_path, question, options, answer, dimension,
deixis_level, type``. The five dimensions, three deixis levels (see
:mod:`replay.synth.question_words`) and three types are crossed as far as a scene answers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

import numpy as np

from replay.synth.queries import Query, queries
from replay.synth.question_words import (
    DeixisLevel,
    Dimension,
    QuestionType,
    QuestionWords,
    Wordings,
    question_words,
)
from replay.synth.sights import Sight

T = TypeVar("T")

DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
LEVELS: tuple[DeixisLevel, ...] = get_args(DeixisLevel)
TYPES: tuple[QuestionType, ...] = get_args(QuestionType)

OPTIONS = 4
FAR = 0.5
"""From this far on a thing is "over there", metres from the table's near edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with its answer.

    Attributes:
        name: What it asks, a key of ``configs/synth_questions.toml``.
        options: ``A. ...``, of a multiple choice only.
        answer: The right option as it stands there; True or False; or an answer in one's own words.
    """

    name: str
    question: str
    options: tuple[str, ...] | None
    answer: str
    dimension: Dimension
    level: DeixisLevel
    type: QuestionType

    def item(self, image_id: str, image_path: str) -> dict[str, Any]:
        """As the benchmark writes it."""
        return {
            "image_id": image_id,
            "image_path": image_path,
            "question": self.question,
            "options": None if self.options is None else list(self.options),
            "answer": self.answer,
            "dimension": self.dimension,
            "deixis_level": self.level,
            "type": self.type,
        }


def ask(
    rng: np.random.Generator,
    sight: Sight,
    *,
    dimension: Dimension,
    level: DeixisLevel,
    kind: QuestionType,
) -> Asked | None:
    """Draw a question about what is pointed at; None when none such can be answered here."""
    words = question_words()
    able = [
        query
        for query in queries(rng, sight, words)
        if words.ask[query.name].dimension == dimension and _can(query, words, kind)
    ]
    if not able:
        return None
    names = list(dict.fromkeys(query.name for query in able))
    name = names[int(rng.integers(len(names)))]
    query = _one(rng, [query for query in able if query.name == name])
    template = _one(rng, words.ask[name].of(kind))
    place = name == "void_place"
    refer = words.refer_place if place else words.refer
    it = _one(rng, refer.phrases(level, far=sight.place[1] > FAR))
    value, options, answer = "", None, query.answer
    if kind == "Multiple_Choice":
        options, answer = _options(rng, query)
    elif kind == "True_False":
        value, truth = _claim(rng, query)
        answer = str(truth)
    question = template.format(it=it, other=query.other, value=value)
    return Asked(
        name=name,
        question=question[0].upper() + question[1:],
        options=options,
        answer=answer,
        dimension=dimension,
        level=level,
        type=kind,
    )


def _can(query: Query, words: QuestionWords, kind: QuestionType) -> bool:
    wordings: Wordings = words.ask[query.name]
    if not wordings.of(kind):
        return False
    if kind == "Multiple_Choice":
        return len(query.wrong) >= OPTIONS - 1
    return bool(query.claims) if kind == "True_False" else bool(query.answer)


def _options(rng: np.random.Generator, query: Query) -> tuple[tuple[str, ...], str]:
    texts = [query.answer, *query.wrong[: OPTIONS - 1]]
    order = rng.permutation(len(texts))
    options = tuple(f"{'ABCD'[place]}. {texts[which]}" for place, which in enumerate(order))
    return options, options[int(np.flatnonzero(order == 0)[0])]


def _claim(rng: np.random.Generator, query: Query) -> tuple[str, bool]:
    """A true one as often as a false one, where there are both."""
    true = [claim for claim in query.claims if claim[1]]
    false = [claim for claim in query.claims if not claim[1]]
    if true and false:
        return _one(rng, true if rng.random() < 0.5 else false)
    return _one(rng, true or false)


def _one(rng: np.random.Generator, items: Sequence[T]) -> T:
    return items[int(rng.integers(len(items)))]
