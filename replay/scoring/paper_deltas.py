"""Tables 3 and 4 of EcoG-Bench's paper: what interfaces and anchors in time are worth.

Each row compares two runs of one model clip by clip (:func:`replay.scoring.cells.paired`). The
p-values of a column are corrected together (:func:`replay.scoring.bootstrap.holm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from replay.scoring.bootstrap import DEFAULT, Resampling, holm
from replay.scoring.cells import Paired, ScoredRun, estimates, paired, plain_model
from replay.scoring.paper_tables import ABSENT_KEY, PAPER, interval_note
from replay.scoring.paper_values import (
    PaperCell,
    PaperRow,
    PaperTable,
    Share,
    gain,
    percent,
    share,
)
from replay.scoring.published import ABLATION, PUBLISHED, Published
from replay.scoring.tables import MEASURES

INTERFACES = ("video", "frames", "frames+asr", "bound")
"""From the least to the most that is told of time."""
FULL, ABLATED = "frames+asr", ("no_frame_timestamps", "no_word_timing")
_NO_WORDS = ("", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Two runs of one model, the second with one thing changed."""

    before: ScoredRun
    after: ScoredRun

    @property
    def model(self) -> str:
        return plain_model(self.before.model) or self.before.name

    @property
    def change(self) -> str:
        """What changed, such as ``video → frames+asr``; the interface where that did not."""
        before, after = self.before, self.after
        said = [before.interface or before.name]
        if before.interface != after.interface:
            said = [f"{said[0]} → {after.interface or after.name}"]
        if before.when != after.when:
            said.append(f"when: {before.when or ABSENT_KEY} → {after.when or ABSENT_KEY}")
        return "; ".join(said)

    @property
    def words(self) -> str:
        """Whose words, before and after."""
        old, new = self.before.words or ABSENT_KEY, self.after.words or ABSENT_KEY
        return old if old == new else f"{old} → {new}"

    @property
    def lacks(self) -> str:
        said = {one.name: one.lacks for one in (self.before, self.after) if one.lacks}
        return "; ".join(said.values())


def interface_steps(runs: Sequence[ScoredRun]) -> list[Step]:
    """Neighbouring interfaces of each model, ``video`` against ``frames+asr`` as in the paper, and
    runs that differ in whose words or whose *when* alone."""
    steps: list[Step] = []
    for model in dict.fromkeys(run.model for run in runs):
        own = [run for run in runs if run.model == model]
        there = [name for name in INTERFACES if any(run.interface == name for run in own)]
        pairs = list(pairwise(there))
        if {"video", FULL} <= set(there) and ("video", FULL) not in pairs:
            pairs.append(("video", FULL))
        for before, after in pairs:
            steps += _alike(
                [run for run in own if run.interface == before],
                [run for run in own if run.interface == after],
            )
        steps += _single_changes(own)
    return steps


def _alike(before: Sequence[ScoredRun], after: Sequence[ScoredRun]) -> list[Step]:
    """Every pair, without those that change more than another pair of the same runs does."""
    pairs = [Step(before=one, after=other) for one in before for other in after]
    for same in (_same_words, _same_when):
        pairs = [step for step in pairs if same(step)] or pairs
    return pairs


def _same_words(step: Step) -> bool:
    old, new = step.before.words, step.after.words
    # ``bound`` has our own words always: it is set against both.
    return old == new or old in _NO_WORDS or step.after.interface == "bound"


def _same_when(step: Step) -> bool:
    return step.before.when == step.after.when


def _single_changes(runs: Sequence[ScoredRun]) -> list[Step]:
    """Pairs of one interface of which only whose words or whose *when* differs."""
    steps = []
    for place, one in enumerate(runs):
        for other in runs[place + 1 :]:
            differs = (one.words != other.words) + (one.when != other.when)
            if one.interface == other.interface and differs == 1:
                ours_first = (one.words, other.words) == ("ours", "benchmark")
                ours_first |= (one.when, other.when) == ("binder", "model")
                before, after = (other, one) if ours_first else (one, other)
                steps.append(Step(before=before, after=after))
    return steps


def interface_table(runs: Sequence[ScoredRun], *, how: Resampling = DEFAULT) -> PaperTable:
    """Table 3: what each interface gains, with the published gains of the same step."""
    steps = interface_steps(runs)
    measured = [paired(step.before, step.after, how=how) for step in steps]
    rows = [
        PaperRow(
            keys=(step.model, step.change, step.words),
            cells=(one.both, _left_out(one), *cells),
            lacks=step.lacks,
        )
        for step, one, cells in zip(steps, measured, gains(measured), strict=True)
        if one.both
    ]
    return PaperTable(
        name="table3_interfaces",
        title="Table 3: gain from one interface to the next (points)",
        keys=("model", "step", "words"),
        columns=("clips", "left out", *MEASURES),
        rows=(*rows, *(_published_gains() if rows else ())),
        notes=(interval_note(how), *p_value_notes(len(rows), how)),
    )


def gains(measured: Sequence[Paired]) -> list[tuple[PaperCell, ...]]:
    """A cell for each measure of each comparison, p-values corrected measure by measure."""
    columns = []
    for name in MEASURES:
        found = [one.differences[name] for one in measured]
        corrected = holm([one.p for one in found])
        columns.append([gain(one, p=p) for one, p in zip(found, corrected, strict=True)])
    return list(zip(*columns, strict=True))


def _left_out(one: Paired) -> int | None:
    return one.only_first + one.only_second or None


def p_value_notes(comparisons: int, how: Resampling) -> tuple[str, ...]:
    """What the p-values are."""
    together = f", corrected for {comparisons} comparisons (Holm)" if comparisons > 1 else ""
    return (
        "Over clips that both runs answered; clips that only one did are left out and counted.",
        f"p: two-sided sign-flip test over clips, exact or of {how.resamples} random patterns"
        f"{together}; * p < 0.05, ** p < 0.01, *** p < 0.001.",
    )


def _published_gains() -> list[PaperRow]:
    by_model: dict[str, dict[str, Published]] = {}
    for row in PUBLISHED:
        by_model.setdefault(row.system, {})[row.interface] = row
    return [
        PaperRow(
            keys=(f"{model} (published)", f"video → {FULL}", "benchmark"),
            cells=(811, None, None, None, *_gained(rows["video"], rows[FULL])),
            ours=False,
        )
        for model, rows in by_model.items()
        if {"video", FULL} <= set(rows)
    ]


def _gained(before: Published, after: Published) -> tuple[PaperCell, ...]:
    """t, eco and seq."""
    stated = ((before.t, after.t), (before.eco, after.eco), (before.seq, after.seq))
    return tuple(
        None if old is None or new is None else percent(new - old, signed=True)
        for old, new in stated
    )


def ablation_table(runs: Sequence[ScoredRun], *, how: Resampling = DEFAULT) -> PaperTable:
    """Table 4: t and eco with all anchors in time, and without each."""
    rows: list[PaperRow] = []
    comparisons: list[tuple[int, Paired]] = []
    for run in runs:
        if run.interface not in (FULL, *ABLATED):
            continue
        found = estimates(run.clips, how=how)
        full = _full_of(run, runs)
        if full is not None:
            comparisons.append((len(rows), paired(full, run, how=how)))
        rows.append(
            PaperRow(
                keys=(plain_model(run.model) or run.name, run.interface, run.words or ABSENT_KEY),
                cells=(share(found.get("t")), None, share(found.get("eco")), None),
                lacks=run.lacks,
            )
        )
    if not comparisons:
        rows = []
    for (place, _), cells in zip(comparisons, gains([one for _, one in comparisons]), strict=True):
        row, by_name = rows[place], dict(zip(MEASURES, cells, strict=True))
        t, _, eco, _ = row.cells
        rows[place] = PaperRow(
            keys=row.keys, cells=(t, by_name["t"], eco, by_name["eco"]), lacks=row.lacks
        )
    return PaperTable(
        name="table4_ablation",
        title="Table 4: without anchors in time (%)",
        keys=("model", "given", "words"),
        columns=("t", "t, change", "eco", "eco, change"),
        rows=(*rows, *(_published_ablation() if rows else ())),
        notes=(
            interval_note(how),
            *p_value_notes(len(comparisons), how),
            f"Published: {PAPER}.",
        ),
    )


def _full_of(run: ScoredRun, runs: Sequence[ScoredRun]) -> ScoredRun | None:
    """The run with all anchors that differs from an ablated one in nothing else."""
    if run.interface == FULL:
        return None
    return next(
        (
            other
            for other in runs
            if other.interface == FULL
            and (other.model, other.words, other.when) == (run.model, run.words, run.when)
        ),
        None,
    )


def _published_ablation() -> list[PaperRow]:
    full = ABLATION[0]
    rows = []
    for row in ABLATION:
        changes: list[Share | None] = [None, None]
        if row is not full:
            pairs = ((full.t, row.t), (full.eco, row.eco))
            changes = [
                None if old is None or new is None else percent(new - old, signed=True)
                for old, new in pairs
            ]
        rows.append(
            PaperRow(
                keys=(f"{row.system} (published)", row.interface, "benchmark"),
                cells=(percent(row.t), changes[0], percent(row.eco), changes[1]),
                ours=False,
            )
        )
    return rows


def comparison_table(
    runs: Sequence[ScoredRun], *, by_referent: bool = False, how: Resampling = DEFAULT
) -> PaperTable:
    """Every run against the first; those without a clip in common have no row."""
    first, *others = runs
    measured = [paired(first, other, by_referent=by_referent, how=how) for other in others]
    rows = [
        PaperRow(
            keys=(other.name,),
            cells=(one.both, one.only_first or None, one.only_second or None, *cells),
            lacks=other.lacks,
        )
        for other, one, cells in zip(others, measured, gains(measured), strict=True)
        if one.both
    ]
    weighing = ", by referent" if by_referent else ""
    return PaperTable(
        name="comparison",
        title=f"Against {first.name}{weighing} (points)",
        keys=("run",),
        columns=("clips", "only first", "only this", *MEASURES),
        rows=tuple(rows),
        notes=(interval_note(how), *p_value_notes(len(rows), how)),
    )
