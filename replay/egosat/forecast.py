"""What share a model gives each letter, from the log-probabilities of its tokens.

``p(k) = p_raw(k) / Σ p_raw``, where ``p_raw(k)`` adds up every single token that says letter ``k``:
"A", " A", "a", "\\nA" and the like; ``Conf = max p`` and ``Ent = -Σ p ln p`` (EgoSAT, section on
confidence). The letter's place is the first generated token that says one, or the first inside
``<ANS>``, where the answer has tags.

A provider tells the likeliest few tokens of a place, not all of them. A letter that is not among
them has at most the mass that is left over; it counts as 0, and :attr:`Forecast.mass` says how much
of the place's probability the four letters have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.egosat.calibration import entropy
from replay.egosat.names import LETTERS, Letter
from streaming.asking.endpoint import TokenChance

_ROUNDED_UP = 1e-6
_AROUND = " \t\r\n▁Ġ.():*\"'<>"
"""What may stand around a letter within its token; two of them are tokenizers' signs of a space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The shares of the four letters.

    Attributes:
        raw: Probability of each letter, its tokens added up.
        shares: The same, divided by their sum.
    """

    raw: Mapping[Letter, float]
    shares: Mapping[Letter, float]

    @property
    def mass(self) -> float:
        """Probability that the place says a letter at all, 0...1."""
        return min(1.0, math.fsum(self.raw.values()))

    @property
    def chosen(self) -> Letter:
        """The likeliest letter, the first of equal ones."""
        return max(LETTERS, key=lambda letter: self.shares[letter])

    @property
    def entropy(self) -> float:
        """Of the shares, nats."""
        return entropy(self.shares.values())

    def as_probe(self) -> dict[str, Any]:
        """As the authors' ``cand_conf_probe``."""
        return {
            "ok": True,
            "p_raw": dict(self.raw),
            "mass_abcd": self.mass,
            "p_cond": dict(self.shares),
            "chosen_by_p_cond": self.chosen,
            "entropy_p_cond": self.entropy,
        }


def letter_of(token: str) -> Letter | None:
    """The letter that a token says, alone or with signs around it."""
    bare = token.strip(_AROUND).upper()
    return next((letter for letter in LETTERS if bare == letter), None)


def forecast_at(alternatives: Iterable[TokenChance]) -> Forecast | None:
    """The forecast of one place, or None when no letter is among its likeliest tokens.

    Tokens that are told twice (the chosen one among its own alternatives) count once.

    Raises:
        ValueError: If a log-probability is positive: it is none.
    """
    raw: dict[Letter, float] = dict.fromkeys(LETTERS, 0.0)
    for token, logprob in {one.token: one.logprob for one in alternatives}.items():
        if logprob > _ROUNDED_UP:
            raise ValueError(f"log-probability {logprob} of {token!r}: expected at most 0")
        letter = letter_of(token)
        if letter is not None:
            raw[letter] += math.exp(min(0.0, logprob))
    whole = math.fsum(raw.values())
    if whole <= 0:
        return None
    return Forecast(raw=raw, shares={letter: share / whole for letter, share in raw.items()})


def forecast_of(chances: Sequence[TokenChance]) -> Forecast | None:
    """The forecast at the first token that says a letter; inside ``<ANS>`` where there is one."""
    said = 0
    text = "".join(chance.token for chance in chances)
    tag = text.upper().find("<ANS>")
    start = tag + len("<ANS>") if tag >= 0 else 0
    for chance in chances:
        if said + len(chance.token) > start and letter_of(chance.token) is not None:
            return forecast_at((chance, *chance.alternatives))
        said += len(chance.token)
    return None
