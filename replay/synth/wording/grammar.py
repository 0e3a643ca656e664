"""The small grammar in which wordings are written (``configs/synth_wording.<language>.toml``).

A phrase is a row of alternatives, parted by ``|``; an alternative is a row of items, parted by
spaces, and may end in its weight (``@3``; 1 without). An alternative without items says nothing.

==========  ========================================================================================
``word``    that word
``*this``   a word that refers through a stroke of its own
``!this``   the same, but taken back
``=it``     an anaphor, without a stroke
``-that``   a word that looks deictic and points nowhere
``~uh``     a filler
``<name>``  any alternative of the phrase of that name
``/``       a place where a speaker may pause
==========  ========================================================================================

Punctuation after a word or a ``<name>`` belongs to the writing of the last word there. A phrase
whose name is a :data:`~replay.synth.script.StrokeTarget`, alone or followed by ``_`` and more, says
what the strokes of its words point at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, get_args

from replay.synth.script import StrokeTarget, WordRole

ROLES: dict[str, WordRole] = {
    "*": "deictic",
    "!": "withdrawn",
    "=": "anaphor",
    "-": "non_deictic",
    "~": "filler",
}
POINTING: tuple[WordRole, ...] = ("deictic", "withdrawn")
PUNCTUATION = ",.?!;，。？！；、…"

_WEIGHT = re.compile(r"\s*@(\d+)\s*$")
_ITEM = re.compile(
    rf"(?P<role>[*!=~-]?)(?P<text>[^*!=~{PUNCTUATION}-][^{PUNCTUATION}]*)(?P<end>[{PUNCTUATION}]*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A word of a phrase; ``role`` and ``punctuation`` as in a script's word."""

    text: str
    role: WordRole
    punctuation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A place for the phrase of that name."""

    name: str
    punctuation: str

    @property
    def target(self) -> StrokeTarget | None:
        """What the strokes in it point at, when the phrase says so."""
        first = self.name.partition("_")[0]
        return next((target for target in get_args(StrokeTarget) if target == first), None)


@dataclass(frozen=True, slots=True)
class Breath:
    """A place where a speaker may pause."""


Item: TypeAlias = Said | Named | Breath


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Alternatives and their weights, which add up to 1."""

    alternatives: tuple[tuple[Item, ...], ...]
    weights: tuple[float, ...]


class Grammar:
    """Phrases by name.

    Raises:
        ValueError: If a phrase cannot be read, names one that there is not, or contains itself.
    """

    def __init__(self, phrases: Mapping[str, str]) -> None:
        self._phrases = {name: _phrase(name, text) for name, text in phrases.items()}
        for name in self._phrases:
            self._check(name, ())

    def __contains__(self, name: str) -> bool:
        return name in self._phrases

    def __getitem__(self, name: str) -> Phrase:
        return self._phrases[name]

    def words(self) -> Iterator[Said]:
        """Every word that can be uttered, in the order of the file."""
        for phrase in self._phrases.values():
            for alternative in phrase.alternatives:
                yield from (item for item in alternative if isinstance(item, Said))

    def _check(self, name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"phrase {name!r} contains itself")
        if name not in self._phrases:
            raise ValueError(f"phrase {above[-1]!r} names {name!r}, which there is not")
        for alternative in self._phrases[name].alternatives:
            for item in alternative:
                if isinstance(item, Named):
                    self._check(item.name, (*above, name))


def _phrase(name: str, text: str) -> Phrase:
    alternatives: list[tuple[Item, ...]] = []
    weights: list[int] = []
    for part in text.split("|"):
        weight = _WEIGHT.search(part)
        weights.append(int(weight[1]) if weight else 1)
        plain = part[: weight.start()] if weight else part
        alternatives.append(tuple(_item(name, piece) for piece in plain.split()))
    total = sum(weights)
    if total == 0:
        raise ValueError(f"phrase {name!r}: all its weights are 0")
    return Phrase(
        alternatives=tuple(alternatives), weights=tuple(weight / total for weight in weights)
    )


def _item(name: str, piece: str) -> Item:
    if piece == "/":
        return Breath()
    found = _ITEM.fullmatch(piece)
    if found is None:
        raise ValueError(f"phrase {name!r}: {piece!r} is no word and no <name>")
    text, end = found["text"], found["end"]
    if text.startswith("<") and text.endswith(">") and not found["role"]:
        return Named(name=text[1:-1], punctuation=end)
    return Said(text=text, role=ROLES.get(found["role"], "plain"), punctuation=end)
