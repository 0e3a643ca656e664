"""Opens the model of a session that is asked through an endpoint, as a person chose it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from streaming.asking.asked import AskedModel, When
from streaming.asking.asker import Asker
from streaming.asking.costs import Ledger, own_price
from streaming.asking.interfaces import INTERFACES, needs
from streaming.asking.limits import read_asking_settings
from streaming.asking.opening import Keys, check_base_url, open_endpoint
from streaming.asking.prompts import load_prompts
from streaming.asking.responses import ResponseCache
from streaming.config import config_path, load
from streaming.grounding_query import ModelError
from streaming.prefix import PrefixSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingChoice:
    """What a person chooses about a model that is asked.

    Attributes:
        interface: The input interface, see :mod:`streaming.asking.interfaces`.
        when: Whose times the answers have: the ``model``'s, or the ``binder``'s.
        base_url: The server, in place of the provider's own.
        responses: File that responses are kept in and taken from; None for none.
        max_cost: Most US dollars of this process; None for no limit.
        price_in, price_out: US dollars per million tokens, in place of the price list.

    Raises:
        ModelError: If there is no such interface, or the address cannot be used.
        ConfigError: If the prices make no sense.
    """

    interface: str = "bound"
    when: When = "model"
    base_url: str | None = None
    responses: Path | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None

    def __post_init__(self) -> None:
        if self.interface not in INTERFACES:
            raise ModelError(f"no interface {self.interface!r}; use one of {', '.join(INTERFACES)}")
        check_base_url(self.base_url)
        own_price(self.price_in, self.price_out)

    def described(self) -> dict[str, Any]:
        """What of it an answer depends on, for a record."""
        return {"interface": self.interface, "when": self.when, "base_url": self.base_url}


class AskingEngine:
    """Opens the model for one session after another; they share one ledger.

    Args:
        model: As on the command line.
        choice: What the person chose.

    Attributes:
        ledger: What it all costs.
        prefix: How frames of the stream are sampled, where the interface wants them.
        wants_film: Whether it wants the stream as a film.
        description: Every setting that an answer depends on, for a record.

    Raises:
        ConfigError: If a settings file is missing or does not fit, or a limit of costs is set for
            a model whose price is not known.
    """

    def __init__(self, model: str, choice: AskingChoice) -> None:
        self._model = model
        self._choice = choice
        self._settings = read_asking_settings()
        self._prompts = load_prompts()
        own = own_price(choice.price_in, choice.price_out)
        self.ledger = Ledger(choice.max_cost, own=own)
        self.ledger.check(model)
        wanted = needs(choice.interface)
        self.wants_film = "film" in wanted
        self.prefix: PrefixSettings | None = None
        if "frames" in wanted:
            self.prefix = load(PrefixSettings, config_path("prefix.toml"))
        self.description: dict[str, Any] = {
            **choice.described(),
            "generation": self._settings.generation.as_key(),
            "format_retries": self._settings.format_retries,
            "prefix": None if self.prefix is None else asdict(self.prefix),
            "prompts": [self._prompts.in_language(code).name for code in ("en", "zh")],
        }

    def open(self, keys: Keys) -> tuple[AskedModel, ResponseCache | None]:
        """The model of one session, and the file of its responses; close both in the end.

        Call it inside the event loop that the session runs in.

        Raises:
            ModelError: If the key is missing, there is no such model, or the file of responses
                cannot be used.
        """
        choice, settings = self._choice, self._settings
        endpoint = open_endpoint(
            self._model, keys=keys, base_url=choice.base_url, takes_films=self.wants_film
        )
        cache = None if choice.responses is None else ResponseCache(choice.responses)
        asker = Asker(
            endpoint,
            settings.generation,
            retry=settings.retry,
            cache=cache,
            ledger=self.ledger,
            format_retries=settings.format_retries,
        )
        model = AskedModel(
            asker, interface=choice.interface, prompts=self._prompts, when=choice.when
        )
        return model, cache
