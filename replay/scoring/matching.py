"""Which prediction belongs to which clip.

A line names its clip by video name and type of instruction; names may repeat over instruction
folders. Where they repeat within one type too (two rooms, two languages), the line's ``folder``
tells the clips apart. Folders that are not the same are compared from their end, so that
predictions made on a whole tree can be scored on a part of it and the other way round. A line that
fits several clips goes to all of them, and is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.ecog import EcogClip
from replay.predictions import Prediction, counting


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The outcome of :func:`match_predictions`.

    Attributes:
        by_clip: The prediction of each clip, in the clips' order, or None.
        unknown: Lines that name no clip that can be scored.
        ambiguous: Lines that went to clips in several folders.
        superseded: How many lines were passed over for another line of their clip.
    """

    by_clip: tuple[Prediction | None, ...]
    unknown: tuple[Prediction, ...] = ()
    ambiguous: tuple[Prediction, ...] = ()
    superseded: int = 0


def match_predictions(clips: Sequence[EcogClip], lines: Iterable[Prediction]) -> Matching:
    """Give each clip the line that counts for it."""
    given = list(lines)
    counted = counting(given)
    places: dict[tuple[str, int], list[int]] = {}
    for place, clip in enumerate(clips):
        places.setdefault((clip.video_name, clip.instruction), []).append(place)
    by_clip: list[Prediction | None] = [None] * len(clips)
    unknown: list[Prediction] = []
    ambiguous: list[Prediction] = []
    # Lines with a folder last: they know better than those without.
    for line in sorted(counted.values(), key=lambda line: bool(line.folder)):
        named = places.get((line.video_name, line.instruction), [])
        mine = [place for place in named if clips[place].folder == line.folder]
        mine = mine or [place for place in named if _fits(clips[place].folder, line.folder)]
        if not mine:
            unknown.append(line)
        if len({clips[place].folder for place in mine}) > 1:
            ambiguous.append(line)
        for place in mine:
            by_clip[place] = line
    return Matching(
        by_clip=tuple(by_clip),
        unknown=tuple(unknown),
        ambiguous=tuple(ambiguous),
        superseded=len(given) - len(counted),
    )


def _fits(one: str, other: str) -> bool:
    """Whether one path ends with the other; no path at all, or ``.``, fits any."""
    left = [part for part in one.split("/") if part not in ("", ".")]
    right = [part for part in other.split("/") if part not in ("", ".")]
    shorter = min(len(left), len(right))
    return shorter == 0 or left[-shorter:] == right[-shorter:]
