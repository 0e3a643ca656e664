"""Values that a person chooses on the command line, checked before any work begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from client.usage import UsageError
from streaming.asking.asked import When
from streaming.asking.engine import AskingChoice
from streaming.asking.interfaces import INTERFACES
from streaming.asking.opening import check_base_url
from streaming.build import language_code, model_name
from streaming.config import ConfigError
from streaming.grounding import ModelError


def _known_language(kind: Any, value: str) -> None:
    language_code(value)


def _known_model(kind: Any, value: str) -> None:
    try:
        model_name(value)
    except ModelError as error:
        raise ValueError(str(error)) from error


def _known_interface(kind: Any, value: str | None) -> None:
    if value is not None and value not in INTERFACES:
        raise ValueError(f"no interface {value!r}; use one of {', '.join(INTERFACES)}")


def checked_url(value: str | None) -> str | None:
    """The address of a server, as given.

    Not a validator of the parser, which would print an address with a secret in it.

    Raises:
        UsageError: If it is none, or holds a secret.
    """
    try:
        check_base_url(value)
    except ModelError as error:
        raise UsageError(str(error)) from error
    return value


LanguageName: TypeAlias = Annotated[str, Parameter(validator=_known_language)]
ModelName: TypeAlias = Annotated[str, Parameter(validator=_known_model)]
Count: TypeAlias = Annotated[int, Parameter(validator=Number(gte=1))]
InterfaceName: TypeAlias = Annotated[str, Parameter(validator=_known_interface)]
Dollars: TypeAlias = Annotated[float, Parameter(validator=Number(gte=0))]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskingOptions:
    """How a model behind an API is asked.

    Parameters
    ----------
    interface
        What the model is shown: `video`, `frames`, `frames+asr`, `no_frame_timestamps`,
        `no_word_timing`, or `bound` (what this pipeline worked out).
    when
        Whose times the answers have: the `model`'s, or the `binder`'s (ours).
    base_url
        Server with the provider's protocol, such as `http://localhost:8000/v1`; keys come from
        the environment.
    responses
        File that responses are kept in and taken from, so that none is paid twice;
        `--model scripted:FILE` replays it offline.
    max_cost
        Most US dollars; what would go over is not sent.
    price_in
        US dollars per million tokens sent, in place of the price list.
    price_out
        US dollars per million tokens written, in place of the price list.
    """

    interface: InterfaceName = "bound"
    when: When = "model"
    base_url: str | None = None
    responses: Path | None = None
    max_cost: Dollars | None = None
    price_in: Dollars | None = None
    price_out: Dollars | None = None

    def choice(self) -> AskingChoice:
        """The same, for the pipeline.

        Raises:
            UsageError: If options do not go together.
        """
        try:
            return AskingChoice(
                interface=self.interface,
                when=self.when,
                base_url=checked_url(self.base_url),
                responses=self.responses,
                max_cost=self.max_cost,
                price_in=self.price_in,
                price_out=self.price_out,
            )
        except ConfigError as error:
            raise UsageError(str(error)) from error
