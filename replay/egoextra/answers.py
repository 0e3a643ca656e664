"""Which option a model's text chooses: one number from 1 to 5.

First that finds something, after ``<think>…</think>`` is gone:

1. the text is a number alone, white space and one of ``. ) :`` behind it aside;
2. ``answer``, ``option`` or ``choice``, then ``is`` or ``:`` or nothing, then a number; of several
   the last, as models restate the question before they answer it;
3. a number at the begin, followed by ``.``, ``)`` or ``:``;
4. the text of exactly one option, alone or anywhere in the text;
5. the only number from 1 to 5 that stands alone in the text.

Anything else chooses none, and is counted apart from wrong ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.egoextra.questions import OPTIONS, same_text

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_ALONE = re.compile(r"[\s\"'(\[*]*([1-5])[\s.):\]\"'*]*")
_NAMED = re.compile(
    r"\b(?:answer|option|choice)\b\W{0,4}(?:is\b)?\W{0,4}(?:(?:number|option)\b\W{0,3})?"
    r"(?<![\d.])([1-5])(?![\d.]*\d)",
    re.IGNORECASE,
)
_LEADING = re.compile(r"\s*\W{0,2}([1-5])\s*[.):](?!\d)")
_STANDING = re.compile(r"(?<![\w.,])([1-5])(?![\w]|[.,]\d)")
_LONGEST = 100_000


def chosen_number(text: str, options: Sequence[str] = ()) -> int | None:
    """The number, from 1, that ``text`` chooses; None when it chooses none."""
    bare = _THOUGHTS.sub("", text[:_LONGEST]).strip()
    if alone := _ALONE.fullmatch(bare):
        return int(alone[1])
    if named := _NAMED.findall(bare):
        return int(named[-1])
    if leading := _LEADING.match(bare):
        return int(leading[1])
    by_text = _option_in(bare, options)
    if by_text is not None:
        return by_text
    standing = set(_STANDING.findall(bare))
    return int(standing.pop()) if len(standing) == 1 else None


def _option_in(text: str, options: Sequence[str]) -> int | None:
    said = same_text(text)
    wanted = [same_text(option) for option in options[:OPTIONS]]
    whole = [number for number, option in enumerate(wanted, 1) if option and option == said]
    if whole:
        return whole[0]
    held = {option: number for number, option in reversed([*enumerate(wanted, 1)]) if option}
    inside = [option for option in held if option in said]
    # An option that is part of another one that is there too says nothing of its own.
    inside = [one for one in inside if not any(one != other and one in other for other in inside)]
    return held[inside[0]] if len(inside) == 1 else None
