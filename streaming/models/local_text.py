"""What option texts and spoken words say that can be measured: colour, shape, size, place.

English and Chinese, told apart by the characters. Every vocabulary is a table in
``configs/local_words.toml``. A choice such as ``A. Red mug, to the left of the blue bowl`` is a
:class:`Thing` and a :class:`Relation` to another thing; ``a. Empty space behind the bowl`` is a
relation alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from streaming.grounding_choice import ReferentKind

Direction: TypeAlias = Literal[
    "left", "right", "front", "behind", "near", "above", "below", "inside", "centre"
]
Words: TypeAlias = Mapping[str, tuple[str, ...]]

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_LABEL = re.compile(r"\s*([A-Za-z])\s*[.、．:：)）]\s*(.*)\Z", re.DOTALL)
_CHINESE_TAIL = re.compile(r"[，,;；。]?\s*(?:位于|处于|放在|在)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Expressions by what they mean, see ``configs/local_words.toml``."""

    colours: dict[str, tuple[str, ...]]
    natural_colours: dict[str, tuple[str, ...]]
    shapes: dict[str, tuple[str, ...]]
    sizes: dict[str, tuple[str, ...]]
    relations: dict[str, tuple[str, ...]]
    positions: dict[str, tuple[str, ...]]
    spaces: dict[str, tuple[str, ...]]
    surfaces: dict[str, tuple[str, ...]]
    misheard: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A thing as described.

    Attributes:
        name: The description without place words, lower case.
        colours: Colour names that it may have; empty when the text says none.
        shape: Shape class, or None.
        size: ``big`` or ``small``, or None.
        position: Which of several alike, or where in the picture, or None.
    """

    name: str
    colours: tuple[str, ...] = ()
    shape: str | None = None
    size: str | None = None
    position: Direction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A place beside a thing, from the wearer's view: ``front`` is nearer to the wearer."""

    direction: Direction
    reference: Thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One option.

    Attributes:
        label: The letter, upper case for an object.
        kind: Object, or space.
        text: The option without its label.
        thing: What it describes; None for a space.
        relation: Where it is beside another thing, or None.
        position: Where it is on the table or in the picture, or None.
    """

    label: str
    kind: ReferentKind
    text: str
    thing: Thing | None
    relation: Relation | None
    position: Direction | None = None


class TextReader:
    """Reads option texts and speech by a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._colours = _Table(vocabulary.colours)
        self._natural = _Table(vocabulary.natural_colours)
        self._shapes = _Table(vocabulary.shapes)
        self._sizes = _Table(vocabulary.sizes)
        self._relations = _Table(vocabulary.relations)
        self._spoken = _Table(_merged(vocabulary.relations, vocabulary.misheard))
        self._positions = _Table(vocabulary.positions)
        self._spaces = _Table(vocabulary.spaces)
        self._surfaces = _Table(vocabulary.surfaces)

    def choice(self, text: str, kind: ReferentKind) -> Choice:
        """Read one option.

        Raises:
            ValueError: If it does not begin with a letter and a full stop.
        """
        match = _LABEL.match(text)
        if match is None:
            raise ValueError(f"option {text!r} does not begin with a label such as 'A.'")
        label, body = match[1], match[2].strip().rstrip(".。")
        head, relation, position = self._split(body)
        thing = None if kind == "space" else self.thing(head, position)
        return Choice(
            label=label, kind=kind, text=body, thing=thing, relation=relation, position=position
        )

    def thing(self, text: str, position: Direction | None = None) -> Thing:
        """Read the description of one thing."""
        text = text.strip(" ，,。.").lower()
        found = self._positions.first(text)
        place = position or (cast(Direction, found[0]) if found is not None else None)
        name = self._positions.without(text)
        shape = self._shapes.last(name)
        # The noun "orange" is a thing; before another noun it is a colour.
        colours = [colour for colour, start, _ in self._colours.all(name)]
        if not colours:
            colours = [colour for colour, _, _ in self._natural.all(name)][:1]
        size = self._sizes.first(name)
        return Thing(
            name=_plain(name),
            colours=tuple(dict.fromkeys(colours)),
            shape=None if shape is None else shape[0],
            size=None if size is None else size[0],
            position=place,
        )

    def spoken_relation(self, before: str, after: str) -> Direction | None:
        """The relation that speech gives to a pointing word.

        Args:
            before: What was said before the word, since the word before it.
            after: What was said after it, up to the next such word.
        """
        if _CHINESE.search(before + after):
            found = self._spoken.first(after) or self._spoken.last(before)
        else:
            found = self._spoken.last(before.lower())
        if found is None or found[0] in ("above", "inside"):
            # "on" and "in" say too little about a free place, and are often no place at all.
            return None
        return cast(Direction, found[0])

    def _split(self, body: str) -> tuple[str, Relation | None, Direction | None]:
        """Head, relation and position of an option's text."""
        if _CHINESE.search(body):
            return self._split_chinese(body)
        lower = body.lower()
        found = self._relations.first(lower)
        if found is None:
            return body, None, None
        direction, start, end = found
        reference = lower[end:].strip(" ,.")
        if not reference or self._surfaces.first(reference) is not None:
            return body[:start], None, _on_surface(direction)
        return body[:start], self._relation(direction, reference), None

    def _split_chinese(self, body: str) -> tuple[str, Relation | None, Direction | None]:
        parted = _CHINESE_TAIL.search(body)
        head, tail = (
            ("", body) if parted is None else (body[: parted.start()], body[parted.end() :])
        )
        if not head:
            return self._split_chinese_clause(tail)
        found = self._relations.last(tail)
        if found is None:
            return head, None, None
        direction, start, _ = found
        reference = tail[:start].strip("的 ，,")
        if not reference or self._surfaces.first(reference) is not None:
            return head, None, _on_surface(direction)
        return head, self._relation(direction, reference), None

    def _split_chinese_clause(self, text: str) -> tuple[str, Relation | None, Direction | None]:
        """``红色马克杯左边的空位``, ``左边的蓝色方块``: the place comes before the head."""
        places = self._relations.all(text)
        if not places:
            return text, None, None
        # With two ("左边方块前面的空位") the first tells which one, the last where.
        direction, start, end = places[-1]
        reference = text[:start].strip("的 ，,")
        head = text[end:].lstrip("的 ，,")
        if not reference or self._surfaces.first(reference) is not None:
            return head or text, None, _on_surface(direction)
        return head, self._relation(direction, reference), None

    def _relation(self, direction: str, reference: str) -> Relation:
        return Relation(direction=cast(Direction, direction), reference=self.thing(reference))


class _Table:
    """Expressions of one kind; longer ones are found first."""

    def __init__(self, words: Words) -> None:
        meanings = {text: meaning for meaning, texts in words.items() for text in texts}
        longest_first = sorted(meanings, key=len, reverse=True)
        self._meanings = meanings
        self._pattern = re.compile("|".join(_bounded(text) for text in longest_first))

    def all(self, text: str) -> list[tuple[str, int, int]]:
        """Meaning, start and end of each expression in ``text``, from the left."""
        return [
            (self._meanings[_singular(match[0], self._meanings)], match.start(), match.end())
            for match in self._pattern.finditer(text)
        ]

    def first(self, text: str) -> tuple[str, int, int] | None:
        return next(iter(self.all(text)), None)

    def last(self, text: str) -> tuple[str, int, int] | None:
        found = self.all(text)
        return found[-1] if found else None

    def without(self, text: str) -> str:
        """``text`` with the expressions taken out."""
        return self._pattern.sub(" ", text)


def _merged(words: Words, more: Words) -> dict[str, tuple[str, ...]]:
    return {meaning: (*texts, *more.get(meaning, ())) for meaning, texts in words.items()}


def _on_surface(direction: str) -> Direction | None:
    """``on the table`` is true of everything; ``at the left of the table`` is a position."""
    return None if direction in ("above", "inside", "near") else cast(Direction, direction)


def _bounded(text: str) -> str:
    escaped = re.escape(text)
    return escaped if _CHINESE.search(text) else rf"\b{escaped}(?:s|es)?\b"


def _singular(text: str, known: Mapping[str, str]) -> str:
    return next(form for form in (text, text[:-1], text[:-2]) if form in known)


def _plain(name: str) -> str:
    words = re.sub(r"\b(?:the|a|an|one|of)\b|的", " ", name)
    return re.sub(r"\s+", " ", words).strip(" ,.，。-")
