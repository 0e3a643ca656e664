"""Order-preserving, one-to-one assignment of words to strokes, and when it can no longer change.

Words and strokes are each in order of time. A *gain* is a number of at least 0, as made by
:mod:`streaming.binding_scores`; 0 means that the pair may not be made. Skipping a word or a stroke
costs nothing. An assignment pairs words with strokes so that pairs do not cross, and the best one
has the largest total gain. Of several best ones the *first* counts: the first word takes the
earliest stroke that any of them gives it, then the second word, and so on; no stroke comes last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Gains: TypeAlias = Sequence[Sequence[float]]
"""Gain of every word (first index) with every stroke (second index)."""

Choice: TypeAlias = int | None
"""The stroke of a word, or None."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The first word's stroke in the best assignment, whatever may still come."""

    stroke: Choice


def best_totals(gains: Gains, *, word_from: int, stroke_from: int) -> list[list[float]]:
    """Best total gain of every corner: entry ``[p][q]`` pairs only words and strokes of
    ``word_from...word_from + p - 1`` and ``stroke_from...stroke_from + q - 1``.
    """
    words = len(gains) - word_from
    strokes = (len(gains[0]) if gains else 0) - stroke_from
    totals = [[0.0] * (strokes + 1) for _ in range(words + 1)]
    for p in range(1, words + 1):
        row, above, own = totals[p], totals[p - 1], gains[word_from + p - 1]
        for q in range(1, strokes + 1):
            pair = own[stroke_from + q - 1]
            best = max(above[q], row[q - 1])
            row[q] = max(best, above[q - 1] + pair) if pair > 0.0 else best
    return totals


def best_assignment(gains: Gains) -> list[Choice]:
    """The stroke of every word in the first of the best assignments."""
    choices: list[Choice] = []
    free = 0
    for word in range(len(gains)):
        choice = choose([row[free:] for row in gains[word:]])
        choices.append(None if choice is None else choice + free)
        if choice is not None:
            free += choice + 1
    return choices


def _options(gains: Gains) -> list[Choice]:
    paired: list[Choice] = [stroke for stroke, gain in enumerate(gains[0]) if gain > 0.0]
    return [*paired, None]


def _after(gains: Gains, option: Choice) -> list[list[float]]:
    """Totals with the first word given ``option``: entry ``[p][q]`` has the next ``p`` words, and
    the next ``q`` strokes after the option's (all strokes, when that is none)."""
    start = 0 if option is None else option + 1
    own = 0.0 if option is None else gains[0][option]
    totals = best_totals(gains, word_from=1, stroke_from=start)
    return [[own + total for total in row] for row in totals]


def settle(
    gains: Gains,
    *,
    words_to_come: Sequence[float],
    strokes_to_come: Sequence[float],
    slack: float = 0.0,
) -> Settled | None:
    """The first word's choice, if no words and strokes still to come can change it.

    The choice is the first stroke whose best total is at least that of giving the word none, and
    within ``slack`` of the best total with any stroke; or none. With no slack that is the first of
    the best assignments; a little slack prefers a stroke that has happened to one that might, and
    so settles sooner.

    What comes is later than all that is known. As pairs do not cross, either known words go to
    strokes to come, or words to come take known strokes, never both. Against each rival choice,
    both are bounded: whatever a rival gains by leaving more words (or strokes) open, the favourite
    could gain too by leaving them open, and at most what each of them can gain at best.

    Args:
        gains: Of the known words, which are at least one, with the known strokes.
        words_to_come: For each known *stroke*, the most that a word to come can gain with it.
        strokes_to_come: For each known *word*, the most that a stroke to come can gain with it.
        slack: At least 0, in nats.
    """
    options = _options(gains)
    tables = {option: _after(gains, option) for option in options}

    def edge(rival: Choice, favourite: Choice) -> float:
        by_strokes = _edge(
            [row[-1] for row in tables[rival]],
            [row[-1] for row in tables[favourite]],
            strokes_to_come[1:],
        )
        by_words = _edge(
            _by_stroke(tables[rival], rival),
            _by_stroke(tables[favourite], favourite),
            words_to_come,
        )
        return max(by_strokes, by_words)

    strokes = options[:-1]
    best = max(strokes, key=lambda option: tables[option][-1][-1], default=None)
    for stroke in strokes:
        if edge(stroke, None) < 0.0 or (stroke != best and edge(stroke, best) < -slack):
            continue  # whatever comes, it cannot be chosen
        fits = edge(None, stroke) <= 0.0 and all(
            edge(other, stroke) <= slack for other in strokes if other != stroke
        )
        # A stroke to come would come after the known ones.
        waits = strokes_to_come[0] > 0.0 and (
            _edge_of_waiting(tables[stroke], strokes_to_come) > slack
        )
        return Settled(stroke) if fits and not waits else None
    return Settled(None) if strokes_to_come[0] <= 0.0 else None


def choose(gains: Gains, *, slack: float = 0.0) -> Choice:
    """The first word's choice as in :func:`settle`, when nothing more comes."""
    totals = {option: _after(gains, option)[-1][-1] for option in _options(gains)}
    none = totals.pop(None)
    floor = max(none, max(totals.values(), default=none) - slack)
    return next((stroke for stroke, total in totals.items() if total >= floor), None)


def _by_stroke(table: list[list[float]], option: Choice) -> list[float]:
    """Best totals of all known words by how many of the known strokes they may use."""
    closed = [] if option is None else [-math.inf] * (option + 1)
    return closed + table[-1]


def _edge(ahead: list[float], behind: list[float], to_come: Sequence[float]) -> float:
    """``max over p of min over r of ahead[p] - behind[r] + (to_come[p] + ... + to_come[r - 1])``.

    ``p`` and ``r`` are how many known ones rival and favourite use themselves; the rest is left
    to what comes.
    """
    reach = [0.0]
    for gain in to_come:
        reach.append(reach[-1] + gain)
    worst = -math.inf
    for p, lead in enumerate(ahead):
        answers = (
            lead - own + max(0.0, reach[r] - reach[p])
            for r, own in enumerate(behind)
            if own > -math.inf
        )
        if lead > -math.inf:
            worst = max(worst, min(answers))
    return worst


def _edge_of_waiting(favourite: list[list[float]], strokes_to_come: Sequence[float]) -> float:
    """The most that can be won by keeping the first word (and all after it) for what comes."""
    reach = 0.0
    best = math.inf
    for row, gain in zip(favourite, strokes_to_come, strict=True):
        reach += gain
        best = min(best, reach - row[-1])
    return best


def posterior(gains: Gains) -> list[float]:
    """Probability of each choice of the first word: of every stroke, and last of none.

    Every assignment weighs ``exp(total gain)``, so an assignment's weight relative to the empty one
    is its likelihood ratio under the model that the gains come from.
    """
    strokes = len(gains[0])
    ways = [_log_ways(gains, stroke_from=start) for start in range(strokes + 1)]
    logs = [
        gain + ways[stroke + 1] if gain > 0.0 else -math.inf for stroke, gain in enumerate(gains[0])
    ]
    logs.append(ways[0])
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    whole = sum(weights)
    return [weight / whole for weight in weights]


def _log_ways(gains: Gains, *, stroke_from: int) -> float:
    """Log of the summed weight of all assignments of the words after the first."""
    strokes = len(gains[0]) - stroke_from
    row = [0.0] * (strokes + 1)
    for own in gains[1:]:
        fresh = [0.0] * (strokes + 1)
        for q in range(1, strokes + 1):
            # The word takes the q-th stroke, or none of the q: fresh[q - 1] - row[q - 1] are the
            # ways in which it takes an earlier one.
            pair = own[stroke_from + q - 1]
            takes = row[q - 1] + pair if pair > 0.0 else -math.inf
            earlier = _log_minus(fresh[q - 1], row[q - 1])
            fresh[q] = _log_sum(row[q], takes, earlier)
        row = fresh
    return row[-1]


def _log_sum(*values: float) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def _log_minus(larger: float, smaller: float) -> float:
    gap = math.exp(min(0.0, smaller - larger))
    return larger + math.log1p(-gap) if gap < 1.0 else -math.inf
