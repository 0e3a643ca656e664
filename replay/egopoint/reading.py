"""What an answer says, and what is true: EgoPoint-Bench's own rules, to the letter.

As in the authors' ``eval_real_qwen3vl.py`` (``GUYYYUG/EgoPoint``), with these oddities:

1. ``<think>…</think>`` goes first. Their script for simulated pictures leaves it; their stored
   answers there would be scored 84.86 % without this rule and 86.24 % with it.
2. A text from which nothing can be taken stands for itself, so that the truth ``Raw`` of one item
   is met by the answer ``Raw`` alone.
3. Of several letters that stand alone the last one counts, the article in "A cup" included.
4. A thought that was cut off has no end and stays; its last letter counts.

Where we depart from some or all of their scripts:

5. Letters are those of the item's options. Theirs are A to D, so that six items with an E are never
   or wrongly met; :attr:`Rules.only_a_to_d` does as they do.
6. The truth ``No`` is False, as in their published results. Three of their scripts make it True;
   :attr:`Rules.no_is_true` does.
7. The truth of a multiple choice is the option that it names by a letter with a stop, or word for
   word; else the letter that it begins with, which is all that their scripts look at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from replay.egopoint.dataset import EgoPointItem, option_parts

_THOUGHT, _THOUGHT_END = "<think>", "</think>"
_NO_WORD = re.compile(r"[^\w\s]")
_YES, _NO = re.compile(r"\b(yes)\b"), re.compile(r"\b(no)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which of the authors' scripts is followed where they differ; ours by default.

    Attributes:
        keeps_thoughts: ``<think>…</think>`` is part of the answer.
        only_a_to_d: Options have the letters A to D, whatever they are.
        no_is_true: The truth ``No`` of a yes-or-no question is True.
    """

    keeps_thoughts: bool = False
    only_a_to_d: bool = False
    no_is_true: bool = False


OURS = Rules()


def answer_of(text: str, item: EgoPointItem, rules: Rules = OURS) -> str:
    """What a model's text answers: a letter, ``True`` or ``False``, or the text itself."""
    plain = text.strip()
    if not rules.keeps_thoughts:
        plain = _without_thoughts(plain).strip()
    match item.kind:
        case "Multiple_Choice":
            return _letter_of(plain, _letters(item, rules))
        case "True_False":
            return _judgement_of(plain)
        case _:
            return plain


def truth_of(item: EgoPointItem, rules: Rules = OURS) -> str:
    """The right answer in the same terms."""
    text = item.answer.strip()
    match item.kind:
        case "Multiple_Choice":
            return _true_letter(text, item, rules)
        case "True_False":
            lower = text.lower()
            for word, means in (("true", "True"), ("false", "False"), ("yes", "True")):
                if word in lower:
                    return means
            if "no" in lower:
                return "True" if rules.no_is_true else "False"
            return text
        case _:
            return text


def _without_thoughts(text: str) -> str:
    """The text without each ``<think>`` up to the next ``</think>``; in linear time."""
    parts, at = [], 0
    while (start := text.find(_THOUGHT, at)) >= 0:
        end = text.find(_THOUGHT_END, start)
        if end < 0:
            break
        parts.append(text[at:start])
        at = end + len(_THOUGHT_END)
    return "".join([*parts, text[at:]])


def _letters(item: EgoPointItem, rules: Rules) -> str:
    return "ABCD" if rules.only_a_to_d else item.letters


@cache
def _patterns(letters: str) -> tuple[re.Pattern[str], ...]:
    some = f"[{letters}]"
    return (
        re.compile(rf"(?:Answer|Option|Choice)(?:\s*:|\s+is)?\s*({some})\b", re.IGNORECASE),
        re.compile(rf"^({some})[\.\)]"),
        re.compile(rf"\\boxed\{{({some})\}}"),
    )


@cache
def _alone(letters: str) -> re.Pattern[str]:
    return re.compile(rf"\b([{letters}])\b")


def _letter_of(text: str, letters: str) -> str:
    for pattern in _patterns(letters):
        if (match := pattern.search(text)) is not None:
            return match[1].upper()
    alone = _alone(letters).findall(text)
    return str(alone[-1]) if alone else text


def _judgement_of(text: str) -> str:
    clean = _NO_WORD.sub("", text).lower()
    if "true" in clean and "false" not in clean:
        return "True"
    if "false" in clean and "true" not in clean:
        return "False"
    if _YES.search(clean):
        return "True"
    if _NO.search(clean):
        return "False"
    return text


def _true_letter(text: str, item: EgoPointItem, rules: Rules) -> str:
    letters, upper = _letters(item, rules), text.upper()
    if not rules.only_a_to_d:
        if re.match(rf"[{letters}](?:\s*[.):]|\s*$)", upper):
            return upper[0]
        for option, place in zip(item.options, letters, strict=False):
            letter, said = option_parts(option)
            if text.casefold() in (option.strip().casefold(), said.casefold()):
                return letter or place
    return upper[0] if upper[:1] and upper[0] in letters else upper
