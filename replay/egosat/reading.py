"""What a prediction says: its letter, its state, and how sure it is.

The rules are those of the authors' scorer (``evaluation/evaluate_main_table.py`` of
``leiyj23/EgoSAT``), oddities included:

1. Letters are looked for in any case, so the article "a" in a sentence reads as A; two different
   letters in one text read as none.
2. ``no-interaction`` and "no visible interaction" read as INTERACTION: only ``no_interaction`` and
   "no interaction" are the other state.
3. Without letter probabilities the first generated token's probability stands for the answer's.
4. A state's probability is that of the first token inside the tags that holds a letter or digit,
   and is not held to 0...1.

One deviation: a confidence that is not finite counts as none, where the authors' mean would become
NaN.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from replay.egosat.files import Fields
from replay.egosat.names import LETTERS, Letter, State

_LETTER = re.compile(r"\b([A-D])\b")
_TAG = re.compile(r"<[^>]*>")
_SPACE = re.compile(r"\s+")
_LISTED = re.compile(r"(?:^|\n)\s*([A-D])\s*[.)]\s*", re.IGNORECASE)
_LABELLED = re.compile(r"\b(?:CHOOSE|ANSWER|ANS|OPTION)\s*[:=\-]?\s*([A-D])\b", re.IGNORECASE)
_ALONE = re.compile(r"\b([A-D])\b", re.IGNORECASE)
_STARTER = re.compile(r"(?:^|\n)\s*([A-D])\s*[.)|]\s*", re.IGNORECASE)
_NO_STATE = re.compile(r"\bno[_ ]interaction\b", re.IGNORECASE)
_YES_STATE = re.compile(r"(?<!no[_ ])\binteraction\b", re.IGNORECASE)
_SPEAKS = re.compile(r"[A-Za-z0-9]")
_TOKENS_READ = 20
_TEXTS = ("response_text", "clean_response", "clean", "raw_response")


def as_letter(value: object) -> Letter | None:
    """The only letter A to D that a value names."""
    if value is None:
        return None
    text = str(value).strip().upper()
    if text in LETTERS:
        return text
    found = set(_LETTER.findall(text))
    return cast(Letter, found.pop()) if len(found) == 1 else None


def tagged(text: str, tag: str) -> str | None:
    """What stands between the first ``<tag>`` and its end, in any case; None without."""
    opening, closing = _ends(tag)
    opened = opening.search(text) if "<" in text else None
    # An opening tag that no end follows has none after it either: one look for each is enough.
    closed = None if opened is None else closing.search(text, opened.end())
    return None if opened is None or closed is None else text[opened.end() : closed.start()].strip()


@functools.cache
def _ends(tag: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    opening, closing = rf"<\s*{tag}\s*>", rf"<\s*/\s*{tag}\s*>"
    return re.compile(opening, re.IGNORECASE), re.compile(closing, re.IGNORECASE)


def _without_tags(text: str) -> str:
    """The text with a space for each tag, and one character for each stretch of white space.

    In linear time: behind the last ``>`` no tag can end, and what reads the text next would go
    over a long stretch again from each of its characters. No letter is read otherwise for it.
    """
    end = text.rfind(">") + 1
    bare = _TAG.sub(" ", text[:end]) + text[end:]
    return _SPACE.sub(lambda space: "\n" if "\n" in space[0] else " ", bare)


def guessed_letter(text: str) -> Letter | None:
    """The only letter in a text without an answer tag."""
    bare = _without_tags(text)
    if len({letter.upper() for letter in _STARTER.findall(bare)}) >= 2:
        return None  # the options were repeated
    found = {
        letter.upper()
        for pattern in (_LISTED, _LABELLED, _ALONE)
        for letter in pattern.findall(bare)
    }
    return cast(Letter, found.pop()) if len(found) == 1 else None


def predicted_letter(sample: Fields | None) -> Letter | None:
    """The letter that a predicted sample chose; None for none."""
    if sample is None:
        return None
    parsed = sample.get("parsed")
    if isinstance(parsed, Mapping):
        for key in ("ans", "answer", "ANS", "ANSWER"):
            if letter := as_letter(parsed.get(key)):
                return letter
    notes = _notes(sample)
    chosen = [notes.get("cand_conf_final_letter"), notes.get("chosen_by_p_cond")]
    for value in (*chosen, _probe(notes).get("chosen_by_p_cond")):
        if letter := as_letter(value):
            return letter
    for field in _TEXTS:
        text = sample.get(field)
        if isinstance(text, str) and (letter := _letter_in(text)):
            return letter
    tokens = sample.get("gen_tokens")
    if isinstance(tokens, list):
        return _letter_in(" ".join(map(str, tokens[:_TOKENS_READ])))
    return None


def _letter_in(text: str) -> Letter | None:
    return as_letter(tagged(text, "ANS")) or guessed_letter(text)


def true_letter(sample: Fields) -> Letter | None:
    """The right letter of a query, or None when it has none."""
    choice = sample.get("mcq")
    for place in (choice if isinstance(choice, Mapping) else {}, sample):
        for key in ("answer", "ans"):
            if letter := as_letter(place.get(key)):
                return letter
        number = as_int(place.get("answer_idx"))
        if number is not None and 0 <= number < len(LETTERS):
            return LETTERS[number]
    return None


def letter_probabilities(sample: Fields | None) -> dict[str, float]:
    """``p_cond`` of a predicted sample as far as it is numbers, each held to 0...1."""
    if sample is None:
        return {}
    table = _probe(_notes(sample)).get("p_cond")
    if not isinstance(table, Mapping):
        return {}
    clamped = {str(key): _share(value) for key, value in table.items()}
    return {key: value for key, value in clamped.items() if value is not None}


def confidence(sample: Fields | None) -> tuple[float | None, str]:
    """How sure a predicted sample is of its letter, and where that was read.

    The sources are the authors': ``cand_conf_p_cond_pred``, ``cand_conf_p_cond_max``,
    ``gen_token_prob0``, ``none``, ``missing_prediction``.
    """
    if sample is None:
        return None, "missing_prediction"
    shares = letter_probabilities(sample)
    letter = predicted_letter(sample)
    if letter is not None and letter in shares:
        return shares[letter], "cand_conf_p_cond_pred"
    if shares:
        return max(shares.values()), "cand_conf_p_cond_max"
    chances = sample.get("gen_token_probs")
    if isinstance(chances, list) and chances:
        first = _share(chances[0])
        if first is not None:
            return first, "gen_token_prob0"
    return None, "none"


def predicted_state(sample: Fields | None) -> State | None:
    """The state that a predicted sample names; None when it names none or both."""
    if sample is None:
        return None
    response = str(sample.get("response_text") or "")
    clean = str(sample.get("clean_response") or sample.get("clean") or response)
    named = tagged(response, "STATE") or tagged(clean, "STATE")
    if named is not None and (state := as_state(named)):
        return state
    idle, busy = _NO_STATE.search(clean), _YES_STATE.search(clean)
    if (idle is None) == (busy is None):
        return None
    return "INTERACTION" if busy else "NO_INTERACTION"


def as_state(value: object) -> State | None:
    """The state that a word means."""
    word = str(value or "").strip().lower().replace(" ", "_")
    if "no_interaction" in word or word in ("no", "none", "null", "0"):
        return "NO_INTERACTION"
    if "interaction" in word or word in ("yes", "1"):
        return "INTERACTION"
    return None


def true_state(sample: Fields) -> State | None:
    """The right state of a query, or None when it has none."""
    region = str(sample.get("region") or "").strip().lower()
    if region in ("segment", "gap"):
        return "INTERACTION" if region == "segment" else "NO_INTERACTION"
    for key in ("visible_interaction", "interaction_visible", "is_interaction"):
        value = sample.get(key)
        if isinstance(value, int | float):
            return "INTERACTION" if as_int(value) == 1 else "NO_INTERACTION"
    return as_state(sample.get("state") or sample.get("gt_state"))


def state_chance(sample: Fields | None) -> float | None:
    """Probability of the first speaking token between ``<STATE>`` and ``</STATE>``."""
    if sample is None:
        return None
    tokens, chances = sample.get("gen_tokens"), sample.get("gen_token_probs")
    if not isinstance(tokens, list) or not isinstance(chances, list):
        return None
    if len(tokens) != len(chances):
        return None
    inside = _inside_tag([str(token).strip().upper() for token in tokens], "STATE")
    for place in inside:
        if _SPEAKS.search(str(tokens[place])):
            value = as_float(chances[place])
            return value if value is not None and math.isfinite(value) else None
    return None


def _inside_tag(tokens: Sequence[str], tag: str) -> range:
    """Places of the tokens inside the first ``<tag>…</tag>``, which tokens may cut up."""
    opened = _first(_opening_end, tokens, tag, 0)
    if opened is None:
        return range(0)
    closed = _first(_closing_start, tokens, tag, opened + 1)
    return range(0) if closed is None else range(opened + 1, closed)


def _first(found: Any, tokens: Sequence[str], tag: str, start: int) -> int | None:
    places = (found(tokens, tag, place) for place in range(start, len(tokens)))
    return next((place for place in places if place is not None), None)


def _opening_end(tokens: Sequence[str], tag: str, place: int) -> int | None:
    """Last place of an opening tag that begins at ``place``."""
    here, *after = tokens[place : place + 3]
    if f"<{tag}>" in here:
        return place
    if len(after) == 2 and "<" in here and tag in after[0] and ">" in after[1]:
        return place + 2
    if after and "<" in here and tag in after[0] and ">" in after[0]:
        return place + 1
    if after and f"<{tag}" in here and ">" in after[0]:
        return place + 1
    return None


def _closing_start(tokens: Sequence[str], tag: str, place: int) -> int | None:
    """``place`` when a closing tag begins there."""
    here, *after = tokens[place : place + 3]
    whole = f"</{tag}>" in here
    in_three = len(after) == 2 and "</" in here and tag in after[0] and ">" in after[1]
    in_two = bool(after) and f"</{tag}" in here and ">" in after[0]
    return place if whole or in_three or in_two else None


def _notes(sample: Fields) -> Fields:
    diagnostics = sample.get("diagnostics")
    notes = (
        diagnostics.get("prompt_and_encoding_debug") if isinstance(diagnostics, Mapping) else None
    )
    return notes if isinstance(notes, Mapping) else {}


def _probe(notes: Fields) -> Fields:
    probe = notes.get("cand_conf_probe")
    return probe if isinstance(probe, Mapping) else {}


def as_int(value: Any) -> int | None:
    """A whole number out of a JSON value, as Python's ``int`` takes it; None for none."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def as_float(value: Any) -> float | None:
    """A number out of a JSON value, as Python's ``float`` takes it; None for none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _share(value: Any) -> float | None:
    number = as_float(value)
    return None if number is None or math.isnan(number) else min(1.0, max(0.0, number))
