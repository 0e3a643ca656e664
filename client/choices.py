"""Values that a person chooses on the command line, checked before any work begins."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from streaming.build import language_code, model_name
from streaming.grounding import ModelError


def _known_language(kind: Any, value: str) -> None:
    language_code(value)


def _known_model(kind: Any, value: str) -> None:
    try:
        model_name(value)
    except ModelError as error:
        raise ValueError(str(error)) from error


LanguageName: TypeAlias = Annotated[str, Parameter(validator=_known_language)]
ModelName: TypeAlias = Annotated[str, Parameter(validator=_known_model)]
Count: TypeAlias = Annotated[int, Parameter(validator=Number(gte=1))]
