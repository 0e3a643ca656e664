"""Runs to be set side by side: a matrix of models and interfaces, or single runs.

A matrix folder is written by ``deixis bench``::

    matrix.json  <cell>/run.json  <cell>/scores.json  <cell>/scores_mended.json ...

``matrix.json`` states of each cell what was asked (model, interface, whose words, whose *when*,
versions of the prompts) and what it took (tokens, cost, counters, errors). The scores are the JSON
of :mod:`replay.scoring.ecog_json`; ``scores_mended.json`` is of the same answers read more
tolerantly than the benchmark's authors do. Nothing in these files is trusted: what is absent or
malformed is absent here, and a note says so. Names of cells may not lead out of the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np

from replay.loose_json import Fields, UnreadableJsonError, read_object
from replay.run_folder import RUN, SCORES
from replay.scoring.bootstrap import DEFAULT, Difference, Interval, Resampling, compare, intervals
from replay.scoring.tables import MEASURES
from replay.trace_reader import Machine, read_machine

MATRIX, MENDED = "matrix.json", "scores_mended.json"
LEVELS = ("L1", "L2", "L3", "L4")
UNANSWERED = ("missing", "error")
"""Statuses of clips for which there is no answer, right or wrong."""
_BY_INSTRUCTION = {
    1: ("L1", 1),
    2: ("L2", 1),
    3: ("L3", 2),
    4: ("L3", 2),
    5: ("L4", 3),
    6: ("L4", 4),
}

ClipKey: TypeAlias = tuple[str, int | None, str, int]
"""Video name, instruction, folder, and the how many-th of that name it is."""


class CellError(ValueError):
    """A path that holds no scored run, or runs that cannot be compared; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredClip:
    """One clip's scores.

    Attributes:
        key: What names it in every run.
        values: In the order of :data:`~replay.scoring.tables.MEASURES`, fractions 0...1.
        level: ``L1`` to ``L4``, or empty.
        referents: How many it has; at least 1.
        answered: Whether there is an answer at all.
    """

    key: ClipKey
    values: tuple[float, ...]
    level: str
    referents: int
    answered: bool = True


@dataclass(frozen=True, kw_only=True)
class ScoredRun:
    """One cell of a matrix, or a run of its own.

    Attributes:
        name: The folder's name.
        folder: Where it lies.
        model, interface, words, when, prompt: What was asked, as stated; empty when unknown.
        complete: Stated, and no clip is missing or failed.
        facts: ``usage``, ``cost``, ``counters``, ``errors``, ``model_seconds``, as stated.
        scores, mended: The benchmark's own reading of the answers, and the tolerant one.
    """

    name: str
    folder: Path
    model: str = ""
    interface: str = ""
    words: str = ""
    when: str = ""
    prompt: str = ""
    complete: bool = True
    facts: Fields = field(default_factory=Fields)
    scores: Fields = field(default_factory=Fields)
    mended: Fields = field(default_factory=Fields)

    @cached_property
    def clips(self) -> tuple[ScoredClip, ...]:
        return scored_clips(self.scores)

    @cached_property
    def mended_clips(self) -> tuple[ScoredClip, ...]:
        return scored_clips(self.mended)

    @property
    def missing(self) -> int:
        """Clips without a prediction."""
        return len(self.scores.items("missing"))

    @property
    def errors(self) -> int:
        """Clips whose model failed."""
        return len(self.scores.items("errors"))

    @property
    def lacks(self) -> str:
        """What keeps it from being complete, or empty."""
        counted = ((self.missing, "missing"), (self.errors, "failed"))
        said = ", ".join(f"{count} {what}" for count, what in counted if count)
        return said or ("" if self.complete else "not finished")

    @property
    def title(self) -> str:
        """Model and interface, else the folder's name."""
        return ", ".join(part for part in (plain_model(self.model), self.interface) if part) or (
            self.name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The runs of a folder, in its order."""

    folder: Path
    cells: tuple[ScoredRun, ...]
    benchmark: Fields = field(default_factory=Fields)
    machine: Machine = field(default_factory=Machine)
    version: str = ""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.folder.resolve().name


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The second run against the first.

    Attributes:
        differences: By measure.
        both: Clips that both answered: these are compared.
        only_first, only_second: Clips that one of them answered; they are left out.
    """

    differences: Mapping[str, Difference]
    both: int
    only_first: int
    only_second: int


def plain_model(model: str) -> str:
    """A model's name without the provider's: ``gemini:NAME`` is ``NAME``."""
    provider, colon, name = model.partition(":")
    return name if colon and name and provider.isalpha() else model


def is_matrix(path: Path) -> bool:
    """Whether a folder holds a matrix of runs."""
    return (path / MATRIX).is_file()


def open_matrix(folder: Path) -> Matrix:
    """The matrix of a folder.

    Raises:
        CellError: If it holds none.
    """
    try:
        stated = read_object(folder / MATRIX)
    except UnreadableJsonError as error:
        raise CellError(f"{folder}: {error}; is it a folder of several runs?") from error
    notes: list[str] = []
    cells = [
        read_run(folder / name, cell, notes)
        for cell in stated.tables("cells")
        if (name := _inside(folder, cell.text("name"), notes))
    ]
    return Matrix(
        folder=folder,
        cells=tuple(cells),
        benchmark=stated.table("benchmark"),
        machine=read_machine(stated.table("machine")),
        version=stated.text("version"),
        notes=tuple(notes),
    )


def open_runs(paths: Iterable[Path], notes: list[str]) -> list[ScoredRun]:
    """The runs at some paths; a matrix folder gives all of its cells that are scored.

    Args:
        paths: Run folders and matrix folders.
        notes: Is told what was missing or odd.

    Raises:
        CellError: If a path holds no scores.
    """
    runs: list[ScoredRun] = []
    for path in paths:
        if not is_matrix(path):
            runs.append(_single(path))
            continue
        matrix = open_matrix(path)
        notes += matrix.notes
        notes += [
            f"{cell.name}: no scored clip, left out" for cell in matrix.cells if not cell.clips
        ]
        runs += [cell for cell in matrix.cells if cell.clips]
    return runs


def _single(path: Path) -> ScoredRun:
    said: list[str] = []
    run = read_run(path, Fields(), said)
    if not run.clips:
        why = said[-1] if said else f"{SCORES} names no clip"
        raise CellError(f"{path}: {why}; give a run folder of deixis bench, or a matrix folder")
    return run


def read_run(folder: Path, cell: Fields, notes: list[str]) -> ScoredRun:
    """One run; what ``matrix.json`` does not state of it is taken from its ``run.json``."""
    name = folder.resolve().name
    facts = _read(folder / RUN, name, notes) if (folder / RUN).exists() else Fields()
    stated = Fields({**facts.values, **cell.values})
    scores = _read(folder / SCORES, name, notes)
    said_complete = stated.flag("complete") is not False and scores.flag("complete") is not False
    return ScoredRun(
        name=name,
        folder=folder,
        model=stated.text("model"),
        interface=stated.text("interface"),
        words=stated.text("words"),
        when=stated.text("when"),
        prompt=stated.text("prompt"),
        complete=said_complete and bool(scores),
        facts=stated,
        scores=scores,
        mended=_read(folder / MENDED, name, notes) if (folder / MENDED).exists() else Fields(),
    )


def scored_clips(scores: Fields) -> tuple[ScoredClip, ...]:
    """The clips of ``scores.json``; one without all five numbers is left out.

    Level, folder and number of referents stand in ``details``; where that does not follow
    ``clips`` one for one, the instruction says level and number.
    """
    clips, details = scores.tables("clips"), scores.tables("details")
    if len(details) != len(clips):
        details = [Fields()] * len(clips)
    seen: dict[tuple[str, int | None, str], int] = {}
    found: list[ScoredClip] = []
    for clip, detail in zip(clips, details, strict=True):
        numbers = [clip.number(name) for name in MEASURES]
        values = tuple(number for number in numbers if number is not None and 0 <= number <= 1)
        if len(values) < len(MEASURES):
            continue
        instruction = clip.count("instruction")
        level, referents = _BY_INSTRUCTION.get(instruction or 0, ("", 1))
        named = (clip.text("video_name"), instruction, detail.text("folder"))
        seen[named] = seen.get(named, 0) + 1
        found.append(
            ScoredClip(
                key=(*named, seen[named]),
                values=values,
                level=detail.text("level") or level,
                referents=len(detail.tables("referents")) or referents,
                answered=detail.text("status") not in UNANSWERED,
            )
        )
    return tuple(found)


@lru_cache(maxsize=512)
def estimates(
    clips: tuple[ScoredClip, ...],
    *,
    level: str = "",
    by_referent: bool = False,
    how: Resampling = DEFAULT,
) -> Mapping[str, Interval]:
    """Each measure over some clips with its interval; empty without a clip.

    Args:
        clips: Of one run.
        level: Only its clips; all without.
        by_referent: The mean over referents in place of the mean of clip means.
        how: How to draw.
    """
    chosen = [clip for clip in clips if not level or clip.level == level]
    if not chosen:
        return {}
    weights = [clip.referents for clip in chosen] if by_referent else None
    found = intervals(np.array([clip.values for clip in chosen]), weights, how=how)
    return dict(zip(MEASURES, found, strict=True))


def paired(
    first: ScoredRun, second: ScoredRun, *, by_referent: bool = False, how: Resampling = DEFAULT
) -> Paired:
    """Compare two runs clip by clip."""
    before = {clip.key: clip for clip in first.clips if clip.answered}
    after = {clip.key: clip for clip in second.clips if clip.answered}
    both = [key for key in before if key in after]
    weights = [before[key].referents for key in both] if by_referent else None
    return Paired(
        differences={
            name: compare(
                [before[key].values[place] for key in both],
                [after[key].values[place] for key in both],
                weights,
                how=how,
            )
            for place, name in enumerate(MEASURES)
        },
        both=len(both),
        only_first=len(before) - len(both),
        only_second=len(after) - len(both),
    )


def _read(path: Path, name: str, notes: list[str]) -> Fields:
    try:
        return read_object(path)
    except UnreadableJsonError as error:
        notes.append(f"{name}: {error}")
        return Fields()


def _inside(folder: Path, name: str, notes: list[str]) -> str:
    """``name`` if it is a folder in ``folder``, else nothing and a note."""
    try:
        path = (folder / name).resolve()
        inside = bool(name) and path.parent == folder.resolve()
        there = inside and path.is_dir()
    except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links, a name too long
        inside = there = False
    if not inside:
        notes.append(f"cell {name[:100]!r} leads out of the folder: left out")
    elif not there:
        notes.append(f"cell {name!r} has no folder: left out")
    return name if there else ""
