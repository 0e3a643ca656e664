"""Which prediction belongs to which clip.

A line names its clip by video name and type of instruction; names may repeat over instruction
folders. Where they repeat within one type too (two rooms, two languages), the line's ``folder``
tells the clips apart. A line whose folder is not exactly that of a clip is compared from the
folder's end, so that predictions made on a whole tree can be scored on a part of it and the other
way round; of several lines that fit a clip, the one that agrees longest counts. A line that fits
clips in several folders goes to all of them, and is reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from replay.ecog import EcogClip
from replay.predictions import Prediction, PredictionKey, counting


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
    named: dict[tuple[str, int], list[Prediction]] = {}
    for line in counted.values():
        named.setdefault((line.video_name, line.instruction), []).append(line)
    exact = {(clip.video_name, clip.instruction, clip.folder) for clip in clips}
    by_clip: list[Prediction | None] = []
    fitting: set[PredictionKey] = set()
    went_to: dict[PredictionKey, set[str]] = {}
    for clip in clips:
        lines_of_name = named.get((clip.video_name, clip.instruction), [])
        mine = [line for line in lines_of_name if _fits(clip, line, exact)]
        fitting |= {line.key for line in mine}
        # The last of equals, since later lines supersede.
        best = max(reversed(mine), key=lambda line: _merit(clip, line), default=None)
        by_clip.append(best)
        if best is not None:
            went_to.setdefault(best.key, set()).add(clip.folder)
    unknown = tuple(line for line in counted.values() if line.key not in fitting)
    return Matching(
        by_clip=tuple(by_clip),
        unknown=unknown,
        ambiguous=tuple(counted[key] for key, folders in went_to.items() if len(folders) > 1),
        superseded=len(given) - len(went_to) - len(unknown),
    )


def _fits(clip: EcogClip, line: Prediction, exact: set[PredictionKey]) -> bool:
    if line.key in exact:
        return line.folder == clip.folder
    ours, theirs = _parts(clip.folder), _parts(line.folder)
    return _agreeing(ours, theirs) == min(len(ours), len(theirs))


def _merit(clip: EcogClip, line: Prediction) -> tuple[int, bool]:
    theirs = _parts(line.folder)
    place = Path(os.path.abspath(clip.video.parent)).as_posix()
    agreeing = max(_agreeing(_parts(ours), theirs) for ours in (clip.folder, place))
    return agreeing, line.error is None


def _parts(folder: str) -> list[str]:
    return [part for part in folder.split("/") if part not in ("", ".")]


def _agreeing(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """How many names two paths share, counted from their ends."""
    count = 0
    for one, other in zip(reversed(ours), reversed(theirs), strict=False):
        if one != other:
            break
        count += 1
    return count
