"""The tables of EcoG-Bench's paper (Zhou et al., arXiv 2603.07966) over several runs of ours.

All numbers come from the runs' ``scores.json``; published ones stand beside them, marked as such.
What a run does not state is an empty cell, and a run that lacks clips is marked with how many.

* Table 2: eco and seq by level and over all, and what, where, when over all.
* Table 3: what each interface gains over the one before it, model by model, clip by clip.
* Table 4: what the anchors in time are worth.
* Beyond the paper: failures, the answers read tolerantly, tokens and money, parsing, errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from replay.loose_json import Fields
from replay.scoring.bootstrap import DEFAULT, LEAST_CLIPS, Interval, Resampling
from replay.scoring.cells import LEVELS, ScoredRun, estimates, plain_model
from replay.scoring.paper_values import (
    UNTRUSTED,
    Amount,
    PaperCell,
    PaperRow,
    PaperTable,
    Share,
    percent,
    share,
    with_values,
)
from replay.scoring.published import PUBLISHED, Published
from replay.scoring.tables import FAILURES

PAPER = "arXiv 2603.07966, 811 clips"
HEADLINE = ("eco", "seq", "t", "s", "cls")
TOKENS = ("sent", "cached", "written", "thought")
ABSENT_KEY = "–"


def interval_note(how: Resampling) -> str:
    """What the brackets are."""
    return (
        f"In brackets: {100 * how.level:.0f} % intervals, {how.resamples} resamples of whole "
        f"clips; {UNTRUSTED}: not to be trusted (under {LEAST_CLIPS} clips, or all clips alike)."
    )


class Naming:
    """What names the rows of some runs: as few columns as tell them apart.

    Attributes:
        headings: Model, interface and whose words; whose *when* if any is ours; the folder where
            the rest does not tell two runs apart.
    """

    def __init__(self, runs: Sequence[ScoredRun]) -> None:
        self._binder = any(run.when == "binder" for run in runs)
        named = [self._short(run) for run in runs]
        self._folder = len(set(named)) < len(named)
        self.headings = ("model", "interface", "words") + ("when",) * self._binder
        self.headings += ("run",) * self._folder

    def _short(self, run: ScoredRun) -> tuple[str, ...]:
        model = plain_model(run.model) or run.name
        return (model, run.interface or ABSENT_KEY, run.words or ABSENT_KEY) + (
            run.when or ABSENT_KEY,
        ) * self._binder

    def keys(self, run: ScoredRun) -> tuple[str, ...]:
        return self._short(run) + (run.name,) * self._folder

    def published(self, row: Published) -> tuple[str, ...]:
        """The keys of a published row; only in the diagnostic interface words have a source."""
        words = "benchmark" if row.interface.startswith(("frames+", "no_")) else ABSENT_KEY
        interface = ABSENT_KEY if row.interface == "human" else row.interface
        short = (row.system, interface, words) + (ABSENT_KEY,) * self._binder
        return short + ("published",) * self._folder


def level_table(
    runs: Sequence[ScoredRun], measure: str, *, how: Resampling = DEFAULT
) -> PaperTable:
    """Table 2: one measure by level and over all, with the published systems that state it."""
    naming = Naming(runs)
    rows = [
        _row(naming, run, (share(_level(run, level, how).get(measure)) for level in (*LEVELS, "")))
        for run in runs
    ]
    for row in PUBLISHED:
        overall = {"eco": row.eco, "seq": row.seq}.get(measure)
        by_level = row.eco_by_level if measure == "eco" else {}
        cells = (*(percent(by_level.get(level)) for level in LEVELS), percent(overall))
        rows.append(PaperRow(keys=naming.published(row), cells=cells, ours=False))
    return PaperTable(
        name=f"table2_{measure}",
        title=f"Table 2: {measure} by level (%)",
        keys=naming.headings,
        columns=(*LEVELS, "all"),
        rows=with_values(rows),
        notes=(interval_note(how), f"Published: {PAPER}.", *_lacking(runs)),
    )


def _level(run: ScoredRun, level: str, how: Resampling) -> Mapping[str, Interval]:
    return estimates(run.clips, level=level, how=how)


def overall_table(
    runs: Sequence[ScoredRun], *, by_referent: bool = False, how: Resampling = DEFAULT
) -> PaperTable:
    """Table 2: all measures over all clips, and how many clips that are."""
    naming = Naming(runs)
    rows = []
    for run in runs:
        found = estimates(run.clips, by_referent=by_referent, how=how)
        cells = (len(run.clips) or None, *(share(found.get(name)) for name in HEADLINE))
        rows.append(_row(naming, run, cells))
    if not by_referent:
        rows += [
            PaperRow(
                keys=naming.published(row),
                cells=(811, *map(percent, (row.eco, row.seq, row.t, None, None))),
                ours=False,
            )
            for row in PUBLISHED
        ]
    weighing = "by referent" if by_referent else "means of clip means"
    return PaperTable(
        name="table2_by_referent" if by_referent else "table2_all",
        title=f"Table 2: all measures, {weighing} (%)",
        keys=naming.headings,
        columns=("clips", *HEADLINE),
        rows=with_values(rows),
        notes=(interval_note(how), *_lacking(runs)),
    )


def published_table(runs: Sequence[ScoredRun], *, how: Resampling = DEFAULT) -> PaperTable:
    """Ours beside the published number of the same model and interface, and the difference."""
    naming = Naming(runs)
    rows = []
    for run in runs:
        row = published_like(run)
        if row is None:
            continue
        found = estimates(run.clips, how=how)
        cells: list[PaperCell] = []
        for name, value in (("eco", row.eco), ("seq", row.seq), ("t", row.t)):
            ours = share(found.get(name))
            cells += [ours, percent(value), _off(ours, value)]
        rows.append(_row(naming, run, cells))
    columns = tuple(
        f"{name}{what}" for name in ("eco", "seq", "t") for what in ("", ", published", ", off by")
    )
    return PaperTable(
        name="published",
        title="Beside the published numbers (%)",
        keys=naming.headings,
        columns=columns,
        rows=with_values(rows),
        notes=(
            f"Published: {PAPER}. Compare only a run over them all.",
            "Off by: ours minus the published number, taken as exact; our clips are drawn again.",
            *_lacking(runs),
        ),
    )


def published_like(run: ScoredRun) -> Published | None:
    """The published row of a run's model and interface, if there is one.

    A run with our words or our *when* was asked something else, and has none. A name may say more
    than the published one (``gemini-3-flash-preview``), but not another size.
    """
    if run.words == "ours" or run.when == "binder":
        return None
    model = _parts(plain_model(run.model))
    for row in PUBLISHED:
        named = _parts(row.system)
        rest = [part for part in model if part not in named]
        if row.interface == run.interface and _holds(model, named) and not _SIZES & set(rest):
            return row
    return None


_SIZES = frozenset(("lite", "nano", "mini", "flash", "pro", "max"))


def _parts(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _holds(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether ``wanted`` stand in ``parts`` one after another."""
    size = len(wanted)
    return any(list(parts[at : at + size]) == list(wanted) for at in range(len(parts) - size + 1))


def _off(ours: Share | None, published: float | None) -> Share | None:
    if ours is None or published is None or ours.low is None or ours.high is None:
        return None
    stated = published / 100
    return Share(
        value=ours.value - stated,
        low=ours.low - stated,
        high=ours.high - stated,
        trusted=ours.trusted,
        signed=True,
    )


def failure_table(runs: Sequence[ScoredRun]) -> PaperTable:
    """Referents by what was wrong with them, over all clips and by level."""
    naming = Naming(runs)
    rows = []
    for run in runs:
        counts = run.scores.table("counts")
        groups = {"all": counts.table("overall"), **counts.table("by_level").children()}
        for name, group in groups.items():
            total = group.count("referents")
            failed = [group.table("failures").count(kind) for kind in FAILURES]
            right = total - sum(filter(None, failed)) if total else None
            keys = (*naming.keys(run), name)
            rows.append(PaperRow(keys=keys, cells=(total, right, *failed), lacks=run.lacks))
    return PaperTable(
        name="failures",
        title="Referents, by what was wrong",
        keys=(*naming.headings, "level"),
        columns=("referents", "right", *FAILURES.values()),
        rows=with_values(rows),
        notes=_lacking(runs),
    )


def mended_table(runs: Sequence[ScoredRun], *, how: Resampling = DEFAULT) -> PaperTable:
    """What a more tolerant reading of the same outputs would score."""
    naming = Naming(runs)
    rows = []
    for run in runs:
        if not run.mended_clips:
            continue
        plain = estimates(run.clips, how=how)
        mended = estimates(run.mended_clips, how=how)
        cells: list[PaperCell] = []
        for name in ("eco", "seq"):
            as_paper, as_ours = share(plain.get(name)), share(mended.get(name))
            both = as_paper is not None and as_ours is not None
            moved = as_ours.value - as_paper.value if both and as_ours and as_paper else None
            cells += [as_paper, as_ours, None if moved is None else Share(value=moved, signed=True)]
        rows.append(_row(naming, run, cells))
    return PaperTable(
        name="mended",
        title="The same outputs read tolerantly (%)",
        keys=naming.headings,
        columns=("eco", "eco, mended", "gain", "seq", "seq, mended", "gain of seq"),
        rows=with_values(rows),
        notes=(
            "Mended: outputs that the benchmark's own reading breaks or misreads are understood.",
            *_lacking(runs),
        ),
    )


def usage_table(runs: Sequence[ScoredRun]) -> PaperTable:
    """Tokens and money."""
    naming = Naming(runs)
    rows = []
    for run in runs:
        usage, cost = run.facts.table("usage"), run.facts.number("cost")
        answered = sum(clip.answered for clip in run.clips)
        each = cost / answered if cost is not None and answered else None
        cells: list[PaperCell] = [usage.count(name) for name in TOKENS]
        cells += [_money(cost, 2), _money(None if each is None else 1000 * each, 2)]
        rows.append(_row(naming, run, cells))
    return PaperTable(
        name="usage",
        title="Tokens and cost",
        keys=naming.headings,
        columns=(*(f"{name}, tokens" for name in TOKENS), "cost, $", "per 1000 clips, $"),
        rows=with_values(rows),
        notes=("Cached tokens are among those sent.", *_lacking(runs)),
    )


def latency_table(runs: Sequence[ScoredRun]) -> PaperTable:
    """Seconds from a request to its whole answer, of those that were not reused."""
    naming = Naming(runs)
    rows = []
    for run in runs:
        seconds = [one for one in run.facts.numbers("model_seconds") if one >= 0]
        cells: tuple[PaperCell, ...] = (None,) * 4
        if seconds:
            p50, p95, most = np.quantile(seconds, (0.5, 0.95, 1.0))
            cells = (len(seconds), *(Amount(value=float(one)) for one in (p50, p95, most)))
        rows.append(_row(naming, run, cells))
    return PaperTable(
        name="latency",
        title="Seconds from request to whole answer",
        keys=naming.headings,
        columns=("requests", "p50", "p95", "max"),
        rows=with_values(rows),
        notes=("Of the attempt that was answered; what was waited before it is not in it.",),
    )


def _money(value: float | None, digits: int) -> Amount | None:
    return None if value is None else Amount(value=value, digits=digits)


def counter_table(
    runs: Sequence[ScoredRun], name: str, title: str, counted: Callable[[ScoredRun], Fields]
) -> PaperTable:
    """What was counted in each run, a column a counter; those that stayed 0 have none."""
    naming = Naming(runs)
    counts = [{key: int(number) for key, number in counted(run).all_numbers().items()}
              for run in runs]  # fmt: skip
    seen: Mapping[str, None] = {
        key: None for one in counts for key, number in one.items() if number > 0
    }
    rows = [
        _row(naming, run, (one.get(key) for key in seen))
        for run, one in zip(runs, counts, strict=True)
    ]
    return PaperTable(
        name=name,
        title=title,
        keys=naming.headings,
        columns=tuple(key.replace("_", " ") for key in seen),
        rows=with_values(rows) if seen else (),
        notes=_lacking(runs),
    )


def _row(naming: Naming, run: ScoredRun, cells: Iterable[PaperCell]) -> PaperRow:
    return PaperRow(keys=naming.keys(run), cells=tuple(cells), lacks=run.lacks)


def _lacking(runs: Sequence[ScoredRun]) -> tuple[str, ...]:
    """Which runs are incomplete, in words."""
    named = [f"{run.name}: {run.lacks}" for run in runs if run.lacks]
    return (f"* Incomplete, run again: {'; '.join(named)}.",) if named else ()
