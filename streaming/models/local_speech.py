"""What the words around a pointing word say of what it means."""

from __future__ import annotations

from collections.abc import Sequence

from streaming.events import Deictic, Word
from streaming.grounding_query import Query
from streaming.models.local_judge import Spoken
from streaming.models.local_text import TextReader

_NAMED_WITHIN = 3
"""A noun or colour so many words after "this" still belongs to it."""


def spoken_about(query: Query, deictic: Deictic | None, reader: TextReader) -> Spoken:
    """The relation and the thing that are said with ``deictic``.

    ``to the right of`` **that**, **this** ``red cup``; in Chinese **它** ``的右边``,
    **这个** ``红色的杯子``. Words further off than the neighbouring pointing words do not count.
    """
    if deictic is None:
        return Spoken()
    before, after = _around(query, deictic)
    chinese = deictic.language == "zh"
    joint = "" if chinese else " "
    relation = reader.spoken_relation(joint.join(before), joint.join(after))
    named = reader.thing(joint.join(after[:_NAMED_WITHIN]))
    known = bool(named.colours or named.shape)
    return Spoken(
        relation=relation,
        thing=named if known else None,
        place=deictic.kind == "place",
    )


def command(query: Query, descriptions: Sequence[tuple[int | None, str]]) -> str:
    """The words heard, each pointing word followed by what it means.

    Args:
        query: With the words.
        descriptions: Index of the pointing word, and what it means.
    """
    meant = dict(descriptions)
    ends = {
        deictic.offset: meant[deictic.index]
        for deictic in query.deictics
        if meant.get(deictic.index)
    }
    parts = []
    for word in query.words:
        text = word.text
        for end in [end for end in ends if end <= word.offset + 1e-6]:
            text += f" ({ends.pop(end)})"
        parts.append(text)
    return ("" if query.language == "zh" else " ").join(parts)


def _around(query: Query, deictic: Deictic) -> tuple[list[str], list[str]]:
    """Words between the pointing word before and this one, and between this one and the next."""
    others = [other for other in query.deictics if other.index != deictic.index]
    previous = max((o.offset for o in others if o.offset <= deictic.onset), default=float("-inf"))
    following = min((o.onset for o in others if o.onset >= deictic.offset), default=float("inf"))
    before = [w.text for w in query.words if previous <= _middle(w) < deictic.onset]
    after = [w.text for w in query.words if deictic.offset < _middle(w) <= following]
    return before, after


def _middle(word: Word) -> float:
    return (word.onset + word.offset) / 2
