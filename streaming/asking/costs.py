"""What asking costs, and a limit that it keeps to.

Prices stand in ``configs/prices.toml``, by name of the model; a model that is not there costs an
unknown sum, which is said and never taken for nothing. Before a request is sent its highest cost is
set aside, so that requests that run at once cannot go over the limit together.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from typing import Any

from streaming.asking.endpoint import Generation, OverBudget, Usage
from streaming.asking.limits import Bell
from streaming.asking.request import FilmPart, PicturePart, Request, TextPart
from streaming.config import ConfigError, config_path, load

_MILLION = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Price of a model, US dollars per million tokens.

    Attributes:
        models: Pattern of its name, as on the command line; ``*`` stands for anything.
        sent: Of the request.
        cached: Those that the provider had cached; None: as ``sent``.
        written: Of the answer and of thoughts.
    """

    models: str
    sent: float
    written: float
    cached: float | None = None

    def __post_init__(self) -> None:
        if min(self.sent, self.written, self.cached or 0.0) < 0:
            raise ValueError(f"price of {self.models}: expected no negative numbers")

    def of(self, usage: Usage) -> float:
        """What tokens cost, US dollars."""
        cached = min(usage.cached, usage.sent)
        rate = self.sent if self.cached is None else self.cached
        sent = (usage.sent - cached) * self.sent + cached * rate
        return (sent + (usage.written + usage.thought) * self.written) / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Tokens that a request takes at most, roughly, before it is sent.

    Attributes:
        bytes_per_token: Of text, in UTF-8.
        picture: Of one picture.
        film_second: Of one second of film with sound.
    """

    bytes_per_token: float = 4.0
    picture: int = 1600
    film_second: int = 300

    def __post_init__(self) -> None:
        if self.bytes_per_token <= 0 or self.picture < 0 or self.film_second < 0:
            raise ValueError("estimates of tokens: expected positive numbers")

    def of(self, request: Request, generation: Generation) -> Usage:
        """The estimate; the answer counts with the longest that is allowed."""
        texts = len(request.system.encode(errors="surrogatepass")) + len(str(request.schema or ""))
        tokens = 0.0
        for part in request.parts:
            match part:
                case TextPart():
                    texts += len(part.text.encode(errors="surrogatepass"))
                case PicturePart():
                    tokens += self.picture
                case FilmPart():
                    tokens += self.film_second * max(1.0, part.until)
        sent = int(tokens + texts / self.bytes_per_token) + 1
        return Usage(sent=sent, written=generation.max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The price list, see ``configs/prices.toml``.

    Attributes:
        date: When it was looked up.
        pages: Where it stands.
        price: By name; the first that fits counts.
        estimate: Tokens of requests that are still to be sent.
    """

    date: str = ""
    pages: tuple[str, ...] = ()
    price: tuple[Price, ...] = ()
    estimate: Estimate = field(default_factory=Estimate)

    def of(self, model: str) -> Price | None:
        """The price of ``model``, or None when it is not known."""
        return next(
            (one for one in self.price if fnmatch.fnmatchcase(model, one.models)),
            None,
        )


def read_prices() -> Prices:
    """The project's price list.

    Raises:
        ConfigError: If the file is missing or does not fit.
    """
    return load(Prices, config_path("prices.toml"))


def own_price(price_in: float | None, price_out: float | None) -> Price | None:
    """The price that a person gave, US dollars per million tokens; None when none was given.

    Raises:
        ConfigError: If only one of the two was given, or one is negative.
    """
    if price_in is None and price_out is None:
        return None
    if price_in is None or price_out is None:
        raise ConfigError("--price-in and --price-out go together; give both")
    if price_in < 0 or price_out < 0:
        raise ConfigError(f"prices {price_in:g} and {price_out:g}: expected 0 or more")
    return Price(models="*", sent=price_in, written=price_out)


@dataclass(slots=True)
class Tally:
    """What one model took.

    Attributes:
        requests: Attempts that brought an answer.
        reused: Answers that were there already and cost nothing.
        failed: Attempts that failed.
        unreported: Those of them that were sent and said nothing of tokens; a provider may charge
            for them all the same.
        usage: Tokens, of failed attempts too.
        cost: US dollars; None when the price is not known.
    """

    requests: int = 0
    reused: int = 0
    failed: int = 0
    unreported: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Money set aside for one attempt."""

    model: str
    price: Price | None
    most: float


class Ledger:
    """Counts tokens and money, and keeps to a limit.

    Args:
        limit: Most US dollars; None for no limit.
        prices: The price list; the project's own without.
        own: A price that a person gave, in place of the list.

    Attributes:
        limit: The same.
        spent: US dollars so far, of models whose price is known.
    """

    def __init__(
        self, limit: float | None = None, prices: Prices | None = None, *, own: Price | None = None
    ) -> None:
        if limit is not None and not limit >= 0:
            raise ConfigError(f"limit of costs {limit}: expected 0 or more US dollars")
        self.limit = limit
        self.spent = 0.0
        self._prices = prices if prices is not None else read_prices()
        self._own = own
        self._set_aside = 0.0
        self._under_way = 0
        self._tallies: dict[str, Tally] = {}
        self._bell = Bell()

    def price_of(self, model: str) -> Price | None:
        """The price of a model, or None when it is not known."""
        return self._own if self._own is not None else self._prices.of(model)

    def check(self, model: str) -> None:
        """Refuse a limit that cannot be kept to.

        Raises:
            ConfigError: If there is a limit, and the model's price is not known.
        """
        if self.limit is not None and self.price_of(model) is None:
            raise ConfigError(
                f"the price of {model} is not known, so --max-cost cannot be kept to; give "
                "--price-in and --price-out (US dollars per million tokens) as well"
            )

    async def reserve(self, model: str, request: Request, generation: Generation) -> Reservation:
        """Set aside what one attempt may cost; waits while that hangs on requests under way.

        Raises:
            OverBudget: If it would go over the limit.
            ConfigError: As :meth:`check`.
        """
        self.check(model)
        price = self.price_of(model)
        most = 0.0
        if price is not None:
            most = price.of(self._prices.estimate.of(request, generation))
        if self.limit is not None:
            while self.spent + self._set_aside + most > self.limit + 1e-12:
                if self.spent + most > self.limit + 1e-12 or not self._under_way:
                    raise OverBudget(
                        f"not sent to {model}: it may cost {most:.4f} US dollars, and "
                        f"{self.spent:.4f} of {self.limit:g} are spent; raise --max-cost to go on"
                    )
                await self._bell.heard()
        self._set_aside += most
        self._under_way += 1
        return Reservation(model=model, price=price, most=most)

    def settle(self, reservation: Reservation, usage: Usage, *, failed: bool = False) -> None:
        """An attempt is over: count what it took, and free the rest of what was set aside."""
        tally = self._tally(reservation.model)
        tally.usage += usage
        if failed:
            tally.failed += 1
            tally.unreported += usage == Usage()
        else:
            tally.requests += 1
        if reservation.price is not None:
            cost = reservation.price.of(usage)
            tally.cost = (tally.cost or 0.0) + cost
            self.spent += cost
        self._under_way -= 1
        # From nothing again when nothing is under way, lest rounding errors add up.
        self._set_aside = self._set_aside - reservation.most if self._under_way else 0.0
        self._bell.ring()

    def reused(self, model: str) -> None:
        """Count an answer that was there already."""
        self._tally(model).reused += 1

    def tally(self, model: str) -> Tally:
        """What a model took so far."""
        return self._tallies.get(model, Tally())

    def as_json(self) -> dict[str, Any]:
        """All of it, for a record: by model tokens, attempts, and cost (null when not known)."""
        return {
            "limit": self.limit,
            "spent": round(self.spent, 6),
            "prices": None if self._own is not None else self._prices.date,
            "models": {
                name: {
                    "requests": one.requests,
                    "reused": one.reused,
                    "failed": one.failed,
                    "unreported": one.unreported,
                    "sent": one.usage.sent,
                    "cached": one.usage.cached,
                    "written": one.usage.written,
                    "thought": one.usage.thought,
                    "cost": None if one.cost is None else round(one.cost, 6),
                }
                for name, one in sorted(self._tallies.items())
            },
        }

    def described(self) -> str:
        """One line for a person."""
        told = [_told(name, one) for name, one in sorted(self._tallies.items())]
        return "; ".join(told) or "nothing was asked"

    def _tally(self, model: str) -> Tally:
        if model not in self._tallies:
            known = self.price_of(model) is not None
            self._tallies[model] = Tally(cost=0.0 if known else None)
        return self._tallies[model]


def _told(name: str, tally: Tally) -> str:
    usage = tally.usage
    cost = "cost not known" if tally.cost is None else f"{tally.cost:.4f} US dollars"
    told = (
        f"{name}: {tally.requests} answers ({tally.reused} more reused), {usage.sent} tokens sent, "
        f"{usage.written + usage.thought} written, {cost}"
    )
    if tally.unreported:
        told += f"; {tally.unreported} failed attempts told no tokens and may be charged too"
    return told
