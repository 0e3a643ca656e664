"""The lexicon of deictic expressions: what they look like, and when they do not point.

A lexicon is a TOML file (``configs/lexicon.<language>.toml``) of word *classes*, *expressions* and
*rules*. Both are matched on tokens: lower-case English words with their clitics cut off (``that``
``'s``), single Chinese characters. A pattern is a row of elements:

=============  =====================================================================================
``word``       that token; Chinese text is cut into its characters
``<class>``    any member of the class
``!<class>``   one token at which no member of the class begins
``~ed``        a token that ends in these letters and has more before them
``*``          any one token
``|``          a break: end or start of an utterance, punctuation, or a pause
``¿``          a break with a question mark
``x?``         an element that may be absent
=============  =====================================================================================

Context after an expression may not have been heard yet, so a match is yes, no or not known yet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from streaming.events import DeicticKind

BREAK, QUESTION = "|", "¿"
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_PIECES = re.compile(r"!?<\w+>\??|~\w+\??|[|¿*]\??|[\u3400-\u9fff]\??|[^\s<>|¿*\u3400-\u9fff]+")

Tokens: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionEntry:
    """``[[expression]]``: referring expressions of one kind.

    Attributes:
        name: What rules call it.
        forms: Patterns; the longest form of any expression that matches is taken.
        kind: What it refers to.
        probability: That it points, when no rule says anything.
        unless_after: It is not this expression when one of these follows.
    """

    name: str
    forms: tuple[str, ...]
    kind: DeicticKind
    probability: float = 0.97
    unless_after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEntry:
    """``[[rule]]``: in such a context, the expression points with such a probability.

    Attributes:
        of: Names of the expressions.
        before: Patterns, one of which must end right before the expression; none: anything.
        after: Patterns, one of which must begin right after it; none: anything.
        probability: That it points; 0 for "does not".
        kind: What it then refers to, when that is not the expression's own kind.
    """

    of: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    probability: float = 0.0
    kind: DeicticKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconFile:
    """``configs/lexicon.<language>.toml``.

    Attributes:
        language: ISO 639-1.
        fillers: Tokens that are passed over: ``uh``.
        variants: Characters to read as others, in pairs: ``這这 個个``.
        classes: Members of each class, apart by spaces; ``in_front_of`` is three tokens, and
            ``<other>`` all members of another class.
        expression, rule: In order; the first rule that fits decides.
        placing, taking: Verbs. An object expression right before a place expression is one
            expression with it ("that one over there"), unless the last such verb is a placing one
            ("put this here").
    """

    language: str
    fillers: str = ""
    variants: str = ""
    classes: dict[str, str] = field(default_factory=dict)
    expression: tuple[ExpressionEntry, ...] = ()
    rule: tuple[RuleEntry, ...] = ()
    placing: str = ""
    taking: str = ""


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a pattern: a row of tokens out of ``members``, or one token by its shape."""

    members: frozenset[Tokens] = frozenset()
    ending: str = ""
    anything: bool = False
    negated: bool = False
    optional: bool = False


Pattern: TypeAlias = tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class View:
    """Tokens and breaks to one side of a place, nearest first.

    Attributes:
        tokens: What is known.
        ended: Whether a break follows them; if not, what follows is not known yet.
    """

    tokens: Tokens
    ended: bool

    def at(self, place: int) -> str | None:
        """The token at ``place``, or None when it is not known yet."""
        if place < len(self.tokens):
            return self.tokens[place]
        return BREAK if self.ended else None


def matches(pattern: Pattern, view: View, *, start: int = 0) -> bool | None:
    """Whether ``pattern`` begins at ``start``; None when that is not known yet."""
    ends = match_ends(pattern, view, start=start)
    if any(end is not None for end in ends):
        return True
    return None if ends else False


def match_ends(pattern: Pattern, view: View, *, start: int = 0) -> set[int | None]:
    """Places right after each way in which ``pattern`` matches; None for "may still match"."""
    places: set[int | None] = {start}
    for element in pattern:
        after: set[int | None] = set()
        for place in places:
            if place is None:
                after.add(None)
                continue
            if element.optional:
                after.add(place)
            after |= _element_ends(element, view, place)
        places = after
    return places


def _element_ends(element: Element, view: View, place: int) -> set[int | None]:
    first = view.at(place)
    if first is None:
        return {None}
    is_break = first in (BREAK, QUESTION)
    if element.anything:
        return set() if is_break else {place + 1}
    if element.ending:
        fits = first.endswith(element.ending) and len(first) > len(element.ending)
        return {place + 1} if fits and not is_break else set()
    ends = {_row_end(row, view, place) for row in element.members} - {-1}
    if not element.negated:
        return {end for end in ends}
    if is_break or any(end is not None for end in ends):
        return set()
    return {None} if ends else {place + 1}


def _row_end(row: Tokens, view: View, place: int) -> int | None:
    """Where ``row`` ends when it begins at ``place``; -1 when it does not, None when unknown."""
    for offset, wanted in enumerate(row):
        found = view.at(place + offset)
        if found is None:
            return None
        if found != wanted and not (wanted == BREAK and found == QUESTION):
            return -1
    return place + len(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """An :class:`ExpressionEntry`, ready to match."""

    name: str
    forms: tuple[Pattern, ...]
    kind: DeicticKind
    probability: float
    unless_after: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A :class:`RuleEntry`, ready to match. ``before`` is turned round: nearest element first."""

    of: frozenset[str]
    before: tuple[Pattern, ...]
    after: tuple[Pattern, ...]
    probability: float
    kind: DeicticKind | None

    def fits(self, before: View, after: View) -> bool | None:
        """Whether the rule speaks here; None when that is not known yet."""
        if self.before and not any(matches(pattern, before) for pattern in self.before):
            return False
        if not self.after:
            return True
        answers = [matches(pattern, after) for pattern in self.after]
        if any(answers):
            return True
        return None if None in answers else False


@dataclass(frozen=True, slots=True)
class Found:
    """The expression at a place and how many tokens it spans."""

    expression: Expression
    length: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an expression points: its probability, and what it refers to."""

    probability: float
    kind: DeicticKind


class Lexicon:
    """One language's expressions and rules.

    Raises:
        ValueError: If the file names a class or an expression that it does not have.
    """

    def __init__(self, file: LexiconFile) -> None:
        self.language = file.language
        self.fillers = frozenset(file.fillers.split())
        self.placing = frozenset(file.placing.split())
        self.taking = frozenset(file.taking.split())
        self.variants = str.maketrans({pair[0]: pair[1] for pair in file.variants.split()})
        self._classes = {name: self._members(file, name, ()) for name in file.classes}
        self.expressions = tuple(
            Expression(
                name=entry.name,
                forms=tuple(self._pattern(form) for form in entry.forms),
                kind=entry.kind,
                probability=entry.probability,
                unless_after=tuple(self._pattern(form) for form in entry.unless_after),
            )
            for entry in file.expression
        )
        names = {expression.name for expression in self.expressions}
        for entry in file.rule:
            for name in set(entry.of) - names:
                raise ValueError(f"lexicon {file.language}: a rule is about {name!r}, not a name")
        self._rules = {
            name: tuple(self._rule(entry) for entry in file.rule if name in entry.of)
            for name in names
        }
        self._starts = frozenset(
            row[0]
            for expression in self.expressions
            for form in expression.forms
            for row in form[0].members
        )

    def find(self, view: View) -> Found | bool:
        """The longest expression at the start of ``view``.

        False when there is none, True when more must be heard before that is known.
        """
        if view.at(0) not in self._starts:
            return False
        best: Found | bool = False
        length = 0
        for expression in self.expressions:
            for form in expression.forms:
                ends = match_ends(form, view)
                if None in ends:
                    return True
                end = max((end for end in ends if end is not None), default=0)
                if end <= length:
                    continue
                answers = [matches(p, view, start=end) for p in expression.unless_after]
                if any(answers):
                    continue
                if None in answers:
                    return True
                best, length = Found(expression, end), end
        return best

    def judge(self, expression: Expression, before: View, after: View) -> Verdict | None:
        """Whether the expression points here; None when more must be heard first."""
        for rule in self._rules[expression.name]:
            fits = rule.fits(before, after)
            if fits is None:
                return None
            if fits:
                return Verdict(rule.probability, rule.kind or expression.kind)
        return Verdict(expression.probability, expression.kind)

    # --- reading ------------------------------------------------------------------------------

    def _members(self, file: LexiconFile, name: str, above: Tokens) -> frozenset[Tokens]:
        if name not in file.classes or name in above:
            raise ValueError(f"lexicon {file.language}: no class {name!r}, or it holds itself")
        rows: set[Tokens] = set()
        for item in file.classes[name].split():
            if item.startswith("<"):
                rows |= self._members(file, item.strip("<>"), (*above, name))
            else:
                rows.add(cut(item.replace("_", " ")))
        return frozenset(rows)

    def _rule(self, entry: RuleEntry) -> Rule:
        return Rule(
            of=frozenset(entry.of),
            before=tuple(_turned(self._pattern(form)) for form in entry.before),
            after=tuple(self._pattern(form) for form in entry.after),
            probability=entry.probability,
            kind=entry.kind,
        )

    def _pattern(self, text: str) -> Pattern:
        return tuple(self._element(piece) for piece in _PIECES.findall(text))

    def _element(self, piece: str) -> Element:
        optional = len(piece) > 1 and piece.endswith("?")
        piece = piece.removesuffix("?") if optional else piece
        if piece.startswith("~"):
            return Element(ending=piece[1:], optional=optional)
        if piece == "*":
            return Element(anything=True, optional=optional)
        if not piece.endswith(">"):
            return Element(members=frozenset({cut(piece)}), optional=optional)
        name = piece.strip("!<>")
        if name not in self._classes:
            raise ValueError(f"lexicon {self.language}: no class {name!r}")
        negated = piece.startswith("!")
        return Element(members=self._classes[name], negated=negated, optional=optional)


def _turned(pattern: Pattern) -> Pattern:
    return tuple(
        Element(
            members=frozenset(row[::-1] for row in element.members),
            ending=element.ending,
            anything=element.anything,
            negated=element.negated,
            optional=element.optional,
        )
        for element in reversed(pattern)
    )


# --- cutting text into tokens ------------------------------------------------------------------

_CLITIC = re.compile(r"^(?!n't$)(.+?)(n't|'(?:s|re|ll|d|ve|m|t))$")
_PIECE = re.compile(r"[\u3400-\u9fff]|[|¿]|[^\W\u3400-\u9fff]+(?:'[^\W\u3400-\u9fff]+)*|'\w+")


def cut(text: str) -> Tokens:
    """The tokens of ``text``, without punctuation."""
    plain = text.lower().replace("’", "'").replace("‘", "'").replace("＇", "'")
    tokens: list[str] = []
    for piece in _PIECE.findall(plain):
        clitic = _CLITIC.match(piece)
        tokens += [clitic[1], clitic[2]] if clitic else [piece]
    return tuple(tokens)


def is_chinese(token: str) -> bool:
    """Whether a token is a Chinese character."""
    return _CHINESE.match(token) is not None


def closing(text: str) -> str:
    """The break that the punctuation at the end of ``text`` makes, or an empty string."""
    end = text.rstrip().rstrip("\"'”’)）」』")
    if end.endswith(("?", "？")):
        return QUESTION
    return BREAK if end.endswith(tuple(".,;:!…。，、；：！—")) else ""


def view_of(tokens: Sequence[str], *, ended: bool) -> View:
    """A view of ``tokens``, nearest first."""
    return View(tuple(tokens), ended)
