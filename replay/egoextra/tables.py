"""The tables of Ego-EXTRA's paper, with our runs beside the published numbers.

======  ==================================================================================
2       by scenario, with the average, of one way of reading (US, 5 s, no transcript)
3       by how frames are sampled: US, QA, TS
4       by the length of the clip: 5, 15, 30 s
5       without and with the transcript of the clip
======  ==================================================================================

Of the paper only the numbers in :data:`PUBLISHED` are known here; the other cells of its rows stay
empty. A run fills the cell of its own way of reading; several runs fill a table together, see
:func:`paper_tables`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from replay.egoextra.questions import SCENARIOS
from replay.egoextra.sampling import LENGTHS, SAMPLINGS
from replay.egoextra.scoring import EgoExtraScores, Tally
from replay.scoring.outcomes import clustered
from replay.scoring.paper_values import PaperCell, PaperRow, PaperTable, Share, percent, share


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How questions were put, as far as the paper tells ways apart.

    Attributes:
        sampling: ``US``, ``QA`` or ``TS``.
        length: Of the clip, seconds.
        transcript: Whether the dialogue's words were sent.
        stream: Ours: the dialogue is replayed, and questions are answered from the prefix.
    """

    sampling: str = "US"
    length: float = 5.0
    transcript: bool = False
    stream: bool = False

    @property
    def name(self) -> str:
        """Such as ``US 5 s, transcript``."""
        words = f"{self.sampling} {self.length:g} s"
        words += ", transcript" if self.transcript else ""
        return words + (", streamed" if self.stream else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A scored run, for a table."""

    system: str
    way: Way
    scores: EgoExtraScores


PUBLISHED: tuple[tuple[str, Way | None, float], ...] = (
    ("human", None, 89.65),
    ("random", None, 20.0),
    ("LLaVA-OneVision", Way(), 33.06),
    ("LLaVA-OneVision", Way(transcript=True), 36.17),
)
"""Average accuracy in percent, arXiv 2512.13238; None where no clip is watched in one way."""

_NOTE = "Published: about 15,000 questions, arXiv 2512.13238. Compare only runs over all of them."


def paper_tables(runs: Sequence[Run]) -> tuple[PaperTable, ...]:
    """Tables 2 to 5 of these runs; a table that none of them fits is left out."""
    made = (_scenarios(runs), _samplings(runs), _lengths(runs), _transcripts(runs))
    return tuple(table for table in made if any(row.ours for row in table.rows))


def protocol_table(runs: Sequence[Run]) -> PaperTable:
    """Accuracy of the questions of each protocol."""
    rows = [
        PaperRow(
            keys=(run.system, run.way.name),
            cells=(*(_of(run.scores.by_protocol.get(name)) for name in ("PA", "OD")),),
            lacks=_lacks(run),
        )
        for run in runs
    ]
    return PaperTable(
        name="egoextra_protocols",
        title="Ego-EXTRA by protocol (%)",
        keys=("model", "reading"),
        columns=("pro-active", "on-demand"),
        rows=tuple(rows),
    )


def _scenarios(runs: Sequence[Run]) -> PaperTable:
    ours = [
        PaperRow(
            keys=(run.system, run.way.name),
            cells=(
                *(_of(run.scores.by_scenario.get(name)) for name in SCENARIOS),
                _value(run.scores.average),
                share(clustered(run.scores.outcomes, "accuracy")),
                run.scores.overall.total,
            ),
            lacks=_lacks(run),
        )
        for run in runs
    ]
    empty: tuple[PaperCell, ...] = (None,) * len(SCENARIOS)
    published = [
        PaperRow(
            keys=(name, "" if way is None else way.name),
            cells=(*empty, percent(average), None, None),
            ours=False,
        )
        for name, way, average in PUBLISHED
    ]
    return PaperTable(
        name="egoextra_table2",
        title="Ego-EXTRA, Table 2: accuracy by scenario (%)",
        keys=("model", "reading"),
        columns=(*SCENARIOS, "average", "all questions", "n"),
        rows=(*ours, *published),
        notes=(_NOTE,),
    )


def _samplings(runs: Sequence[Run]) -> PaperTable:
    fitting = [run for run in runs if run.way.length == LENGTHS[0] and not run.way.transcript]
    return _spread(
        "egoextra_table3",
        "Ego-EXTRA, Table 3: accuracy by sampling, clips of 5 s (%)",
        fitting,
        {name: name for name in SAMPLINGS},
        lambda way: way.sampling if way.length == LENGTHS[0] and not way.transcript else None,
    )


def _lengths(runs: Sequence[Run]) -> PaperTable:
    fitting = [run for run in runs if run.way.sampling == "US" and not run.way.transcript]
    return _spread(
        "egoextra_table4",
        "Ego-EXTRA, Table 4: accuracy by the clip's length, US (%)",
        fitting,
        {f"{length:g}": f"{length:g} s" for length in LENGTHS},
        lambda way: f"{way.length:g}" if way.sampling == "US" and not way.transcript else None,
    )


def _transcripts(runs: Sequence[Run]) -> PaperTable:
    return _spread(
        "egoextra_table5",
        "Ego-EXTRA, Table 5: accuracy without and with the transcript (%)",
        runs,
        {"without": "clip alone", "with": "clip and transcript"},
        lambda way: "with" if way.transcript else "without",
        named=lambda way: f"{way.sampling} {way.length:g} s" + (", streamed" if way.stream else ""),
    )


def _spread(
    name: str,
    title: str,
    runs: Sequence[Run],
    columns: Mapping[str, str],
    column_of: Callable[[Way], str | None],
    *,
    named: Callable[[Way], str] = lambda way: "streamed" if way.stream else "clip",
) -> PaperTable:
    """A table of averages with one column for each way; runs of one system share a row.

    Args:
        columns: Headings by name.
        column_of: Name of a way's column; None for a way that the table is not about.
        named: What else tells rows apart.
    """
    cells: dict[tuple[str, str], dict[str, PaperCell]] = {}
    lacks: dict[tuple[str, str], str] = {}
    for run in runs:
        column, key = column_of(run.way), (run.system, named(run.way))
        if column is not None:
            cells.setdefault(key, {})[column] = _value(run.scores.average)
            lacks[key] = lacks.get(key, "") or _lacks(run)
    published: dict[tuple[str, str], dict[str, PaperCell]] = {}
    for system, way, average in PUBLISHED:
        column = None if way is None else column_of(way)
        if way is not None and column is not None:
            published.setdefault((system, named(way)), {})[column] = percent(average)
    rows = [
        PaperRow(keys=key, cells=tuple(map(found.get, columns)), lacks=lacks[key])
        for key, found in cells.items()
    ]
    rows += [
        PaperRow(keys=key, cells=tuple(map(found.get, columns)), ours=False)
        for key, found in published.items()
    ]
    return PaperTable(
        name=name,
        title=title,
        keys=("model", "reading"),
        columns=tuple(columns.values()),
        rows=tuple(rows),
        notes=(_NOTE,),
    )


def _of(tally: Tally | None) -> PaperCell:
    return None if tally is None else _value(tally.accuracy)


def _value(accuracy: float) -> PaperCell:
    return None if math.isnan(accuracy) else Share(value=accuracy)


def _lacks(run: Run) -> str:
    overall = run.scores.overall
    parts = [
        f"{count} {what}"
        for count, what in ((overall.errors, "failed"), (overall.missing, "not asked"))
        if count
    ]
    return ", ".join(parts)
