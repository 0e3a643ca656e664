"""Which strokes and words the referents of an answer come from, and when each was meant."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from streaming.binding_moment import moment
from streaming.events import Binding, Deictic, Seconds, Stroke

ReferentKind: TypeAlias = Literal["object", "space"]

_PATTERNS: dict[int, tuple[ReferentKind, ...]] = {
    1: ("object",),
    2: ("object",),
    3: ("object", "space"),
    4: ("object", "space"),
    5: ("object", "space", "object"),
    6: ("object", "space", "object", "space"),
}
"""Kinds of the referents by instruction type of EcoG-Bench (arXiv 2603.07966)."""

_MOST_CUES = 12
_LEAST_WEIGHT = 0.2
_FULL_HOLD: Seconds = 0.6
"""A hold as long as this is as good as any longer one."""
_HOLD_AFTER_WORD: Seconds = 0.45
"""From a word's onset to the middle of its stroke's hold: apexes come about 0.1 s after the onset
(see ``configs/binding.toml``), and holds last about 0.7 s (EcoG-Bench, supplement)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """One referent that a model has to find.

    Attributes:
        kind: An object, or a place to put one.
        time: When it was meant; None when nothing tells.
        deictic: Index of the word, or None.
        stroke: Index of the stroke, or None.
        probability: That word and stroke are the right ones, 0...1.
    """

    kind: ReferentKind
    time: Seconds | None
    deictic: int | None = None
    stroke: int | None = None
    probability: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cue:
    """A stroke, a word, or both: something that a referent may come from.

    ``weight`` ranks it among the others, ``probability`` says how likely it is right by itself.
    """

    at: Seconds
    weight: float
    probability: float
    deictic: Deictic | None
    stroke: Stroke | None


def kinds_of(instruction: int | None, count: int | None) -> tuple[ReferentKind, ...] | None:
    """Kinds of the referents, from the instruction type or else from their number.

    Returns:
        One kind a referent, or None when neither is known.
    """
    if instruction is not None and instruction in _PATTERNS:
        return _PATTERNS[instruction]
    if count is None:
        return None
    return tuple("object" if k % 2 == 0 else "space" for k in range(count))


def steady_moment(
    stroke: Stroke, hold_end: Seconds | None, deictic: Deictic | None, *, inset: Seconds
) -> Seconds:
    """The moment of :func:`streaming.binding_moment.moment`, kept off the ends of the hold.

    Args:
        stroke: The stroke; its apex begins the hold.
        hold_end: When the hold ended; None while it lasts.
        deictic: The word that goes with it, or None.
        inset: How far inside the hold to stay, as apex and hold end are measured with an error;
            at most a third of the hold.
    """
    end = max(stroke.apex, hold_end) if hold_end is not None else stroke.apex + 3 * inset
    margin = min(inset, (end - stroke.apex) / 3)
    meant = moment(stroke, deictic, hold_end=end)
    return min(max(meant, stroke.apex + margin), end - margin)


def choose(
    kinds: Sequence[ReferentKind] | None,
    *,
    deictics: Sequence[Deictic],
    bindings: Sequence[Binding],
    strokes: Sequence[Stroke],
    hold_ends: dict[int, Seconds],
    inset: Seconds,
) -> tuple[Pointed, ...]:
    """The referents, in order of execution.

    With ``kinds`` known there are exactly as many: the strokes that words are bound to, then other
    strokes by quality, then words that no stroke goes with; what is missing stays empty. Without,
    there is one for each stroke that a word is bound to or that stands alone, and one for each
    object or place word that had none.
    """
    cues = _cues(deictics, bindings, strokes, hold_ends)
    if kinds is None:
        return tuple(_pointed(cue, _kind(cue), hold_ends, inset) for cue in _meant(cues))
    strongest = sorted(cues, key=lambda cue: -cue.weight)[:_MOST_CUES]
    cues = sorted(strongest, key=lambda cue: cue.at)
    placed = _best_placing(kinds, cues)
    return tuple(
        Pointed(kind=kind, time=None)
        if position is None
        else _pointed(cues[position], kind, hold_ends, inset)
        for kind, position in zip(kinds, placed, strict=True)
    )


def _cues(
    deictics: Sequence[Deictic],
    bindings: Sequence[Binding],
    strokes: Sequence[Stroke],
    hold_ends: dict[int, Seconds],
) -> list[_Cue]:
    words = {deictic.index: deictic for deictic in deictics}
    moves = {stroke.index: stroke for stroke in strokes}
    cues: list[_Cue] = []

    def add(weight: float, chance: float, word: Deictic | None, stroke: Stroke | None) -> None:
        at = stroke.apex if stroke is not None else word.onset if word is not None else 0.0
        cues.append(_Cue(at=at, weight=weight, probability=chance, deictic=word, stroke=stroke))

    for binding in bindings:
        word = words.pop(binding.deictic, None) if binding.deictic is not None else None
        stroke = moves.pop(binding.stroke, None) if binding.stroke is not None else None
        chance = binding.probability
        if word is not None and stroke is not None:
            add(0.5 + 0.5 * chance, chance, word, stroke)
        elif stroke is not None:
            lasting = _lasting(stroke, hold_ends.get(stroke.index))
            add(0.3 + 0.2 * chance * lasting, chance * stroke.quality, None, stroke)
        elif word is not None:
            words[word.index] = word
    for still in [move for move in moves.values() if move.index < 0]:
        # Nobody bound what nobody announced: the word spoken about then goes with it.
        near = [
            word
            for word in words.values()
            if word.kind != "anaphor" and -0.8 <= word.onset - still.apex <= 0.8
        ]
        if near:
            nearest = min(near, key=lambda word: abs(word.onset - still.apex))
            del moves[still.index], words[nearest.index]
            add(0.3, 0.5 * still.quality, nearest, still)
    for stroke in moves.values():
        add(0.2 * stroke.quality, 0.2 * stroke.quality, None, stroke)
    for word in words.values():
        weight = 0.05 if word.kind == "anaphor" else 0.25 * word.probability
        add(weight, weight, word, None)
    return sorted(cues, key=lambda cue: cue.at)


def _lasting(stroke: Stroke, hold_end: Seconds | None) -> float:
    """How much of a full hold a stroke was held, 0...1.

    Without words, that tells a target from the places where a hand waits on its way.
    """
    return 1.0 if hold_end is None else min(1.0, (hold_end - stroke.apex) / _FULL_HOLD)


def _meant(cues: Sequence[_Cue]) -> list[_Cue]:
    """The cues that refer when nobody says how many there are.

    Beside words with strokes, a stroke without a word is a beat and no referent of its own.
    """
    paired = any(cue.deictic is not None and cue.stroke is not None for cue in cues)
    return [
        cue for cue in cues if cue.weight > _LEAST_WEIGHT and not (paired and cue.deictic is None)
    ]


def _kind(cue: _Cue) -> ReferentKind:
    return "space" if cue.deictic is not None and cue.deictic.kind == "place" else "object"


def _fit(kind: ReferentKind, cue: _Cue) -> float:
    """A place word goes with a space; "this" may go with either ("to the right of this")."""
    if cue.deictic is None or cue.deictic.kind != "place":
        return cue.weight
    return cue.weight + (0.2 if kind == "space" else -0.2)


def _best_placing(kinds: Sequence[ReferentKind], cues: Sequence[_Cue]) -> tuple[int | None, ...]:
    """For each referent the position of its cue, in order, so that the weights add up highest."""
    count = min(len(kinds), len(cues))
    best: tuple[float, tuple[int | None, ...]] = (float("-inf"), (None,) * len(kinds))
    for slots in itertools.combinations(range(len(kinds)), count):
        for taken in itertools.combinations(range(len(cues)), count):
            total = sum(
                _fit(kinds[slot], cues[cue]) for slot, cue in zip(slots, taken, strict=True)
            )
            if total > best[0] + 1e-9:
                placed: list[int | None] = [None] * len(kinds)
                for slot, cue in zip(slots, taken, strict=True):
                    placed[slot] = cue
                best = (total, tuple(placed))
    return best[1]


def _pointed(
    cue: _Cue, kind: ReferentKind, hold_ends: dict[int, Seconds], inset: Seconds
) -> Pointed:
    if cue.stroke is None:
        time = cue.at + _HOLD_AFTER_WORD
    else:
        time = steady_moment(cue.stroke, hold_ends.get(cue.stroke.index), cue.deictic, inset=inset)
    return Pointed(
        kind=kind,
        time=time,
        deictic=None if cue.deictic is None else cue.deictic.index,
        stroke=None if cue.stroke is None else cue.stroke.index,
        probability=round(min(1.0, cue.probability), 6),
    )
