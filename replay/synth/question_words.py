"""Wordings of questions about pointing stills: ``configs/synth_questions.toml``.

EgoPoint-Bench's deixis levels (arXiv 2604.21461): **L1** names the gesture ("the object I am
pointing at"), **L2** says where the object is ("that thing over there", "this object right here"),
**L3** has the pronoun alone, so that only the picture tells what is meant ("this").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from streaming.config import config_path, load

Dimension = Literal[
    "Basic Perception",
    "Affordance & Function",
    "Context & Relation",
    "OCR & Text",
    "Adversarial",
]
DeixisLevel = Literal["L1", "L2", "L3"]
QuestionType = Literal["Multiple_Choice", "True_False", "Open_Ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refer:
    """Ways to refer to the target; of L2, to one near the wearer and one further off."""

    L1: tuple[str, ...]
    L2_near: tuple[str, ...]
    L2_far: tuple[str, ...]
    L3: tuple[str, ...]

    def phrases(self, level: DeixisLevel, *, far: bool) -> tuple[str, ...]:
        """Those of a level."""
        if level == "L2":
            return self.L2_far if far else self.L2_near
        return self.L1 if level == "L1" else self.L3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordings:
    """Ways to ask one thing, by type of the question; none: not asked so."""

    dimension: Dimension
    choice: tuple[str, ...]
    judge: tuple[str, ...]
    open: tuple[str, ...]

    def of(self, kind: QuestionType) -> tuple[str, ...]:
        """Those of a type."""
        by_type = {"Multiple_Choice": self.choice, "True_False": self.judge}
        return by_type.get(kind, self.open)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWords:
    """``configs/synth_questions.toml``.

    Attributes:
        refer, refer_place: What stands for ``{it}``: a thing, or a place on the table.
        materials: That are offered.
        materials_alike: Rows of materials that are not told apart.
        colours: Name and family of those that are offered.
        foods, words: Wrong flavours and prints.
    """

    materials: tuple[str, ...]
    materials_alike: tuple[str, ...]
    colours: tuple[tuple[str, str], ...]
    foods: tuple[str, ...]
    words: tuple[str, ...]
    refer: Refer
    refer_place: Refer
    ask: dict[str, Wordings]

    def alike(self, material: str) -> frozenset[str]:
        """The materials that ``material`` might be taken for, itself included."""
        rows = [row.split() for row in self.materials_alike]
        return frozenset([material, *(name for row in rows if material in row for name in row)])


@cache
def question_words() -> QuestionWords:
    """The project's own wordings."""
    return load(QuestionWords, config_path("synth_questions.toml"))
