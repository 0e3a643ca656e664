"""Tables of a scored EgoPoint-Bench run, in the paper's layout, with its numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replay.egopoint.dataset import CLOSED, DIMENSIONS, LEVELS
from replay.egopoint.published import PUBLISHED, REAL_ITEMS, SIM_ITEMS
from replay.egopoint.scoring import EgoPointScores, ItemScore, Tally
from replay.scoring.bootstrap import DEFAULT, Resampling
from replay.scoring.outcomes import clustered_values
from replay.scoring.paper_values import PaperCell, PaperRow, PaperTable, Share, percent, share

_KINDS = {"Multiple_Choice": "MC", "True_False": "TF"}
_VARIANTS = {
    "no_is_true": "“No” is True (three of the authors’ scripts)",
    "only_a_to_d": "letters A–D alone (all of the authors’ scripts)",
    "keeps_thoughts": "thoughts are read too (the authors’ script for simulated pictures)",
}


def egopoint_tables(
    scores: EgoPointScores, *, system: str = "this run", how: Resampling = DEFAULT
) -> list[PaperTable]:
    """All tables of a run that have a row."""
    tables = [
        overall_table(scores, system=system, how=how),
        dimension_table(scores, system=system, how=how),
        cross_table(scores),
        variant_table(scores),
    ]
    return [table for table in tables if table.rows]


def overall_table(scores: EgoPointScores, *, system: str, how: Resampling = DEFAULT) -> PaperTable:
    """The run beside its baselines and the published systems."""
    counted = scores.counted
    kinds = [[one for one in counted if one.item.kind == kind] for kind in CLOSED]
    parts = [counted, *kinds]
    ours = (
        PaperRow(keys=(system,), cells=(*(_share(part, how) for part in parts), None, None)),
        _baseline("majority, here", parts, lambda tally: tally.majority, scores),
        _baseline("random, here", parts, lambda tally: tally.random, scores),
    )
    published = tuple(
        PaperRow(
            keys=(row.system,),
            cells=(percent(row.both), None, None, percent(row.sim), percent(row.real)),
            ours=False,
        )
        for row in PUBLISHED
    )
    constants = ", ".join(
        f"{_KINDS.get(kind, kind)} {truth}" for kind, truth in scores.constants.items()
    )
    return PaperTable(
        name="egopoint_overall",
        title="EgoPoint-Bench, accuracy (%)",
        keys=("system",),
        columns=("all", "MC", "TF", "simulated", "real"),
        rows=(*ours, *published),
        notes=(
            f"This run: {len(counted)} items, of these MC {len(kinds[0])} and TF "
            f"{len(kinds[1])}; intervals draw pictures. Majority answers: {constants or 'none'}.",
            f"Published, by a public summary of arXiv 2604.21461: {SIM_ITEMS} simulated and "
            f"{REAL_ITEMS} real items; compare only a run over all of one of these.",
        ),
    )


def dimension_table(
    scores: EgoPointScores, *, system: str, how: Resampling = DEFAULT
) -> PaperTable:
    """Dimensions across, deixis levels down."""
    parts: dict[tuple[str, str], list[ItemScore]] = {}
    for one in scores.counted:
        for level in (one.item.level, ""):
            for dimension in (one.item.dimension, ""):
                parts.setdefault((level, dimension), []).append(one)
    levels = _ordered({level for level, _ in parts if level}, LEVELS)
    dimensions = list(DIMENSIONS)
    dimensions += sorted({name for _, name in parts if name} - set(DIMENSIONS))
    rows = [
        PaperRow(
            keys=(level or "all",),
            cells=(
                *(_share(parts.get((level, name), []), how) for name in [*dimensions, ""]),
                len(parts[level, ""]),
            ),
        )
        for level in [*levels, ""]
        if parts
    ]
    return PaperTable(
        name="egopoint_dimensions",
        title=f"Accuracy by dimension and deixis level (%), {system}",
        keys=("level",),
        columns=(*(DIMENSIONS.get(name, name) for name in dimensions), "all", "n"),
        rows=tuple(rows),
        notes=("; ".join(f"{short}: {name}" for name, short in DIMENSIONS.items()) + ".",),
    )


def cross_table(scores: EgoPointScores) -> PaperTable:
    """Dimension, deixis level and type, one row each."""
    rows = tuple(
        PaperRow(
            keys=(DIMENSIONS.get(dimension, dimension), level, _KINDS.get(kind, kind)),
            cells=(
                Share(value=tally.accuracy),
                tally.right,
                tally.total,
                Share(value=tally.majority / tally.total),
                Share(value=tally.random / tally.total),
            ),
        )
        for (dimension, level, kind), tally in scores.grouped("dimension", "level", "kind").items()
    )
    return PaperTable(
        name="egopoint_cross",
        title="Accuracy by dimension, deixis level and type (%)",
        keys=("dimension", "level", "type"),
        columns=("accuracy", "right", "n", "majority", "random"),
        rows=rows,
    )


def variant_table(scores: EgoPointScores) -> PaperTable:
    """The same answers by rules of the authors' scripts that differ from ours."""
    rows = tuple(
        PaperRow(keys=(_VARIANTS[name],), cells=(Share(value=tally.accuracy), tally.right))
        for name, tally in scores.variants.items()
        if tally.total and tally.right != scores.overall.right
    )
    return PaperTable(
        name="egopoint_variants",
        title="The same answers by other rules of the authors’ scripts (%)",
        keys=("rule",),
        columns=("accuracy", "right"),
        rows=rows,
    )


def _ordered(found: set[str], known: Sequence[str]) -> list[str]:
    """The known ones that were found, in their order, then others by name."""
    return [*(name for name in known if name in found), *sorted(found - set(known))]


def _share(part: Sequence[ItemScore], how: Resampling) -> PaperCell:
    return share(clustered_values([(one.item.image_id, float(one.right)) for one in part], how=how))


def _baseline(
    name: str,
    parts: Sequence[Sequence[ItemScore]],
    met: Callable[[Tally], float],
    scores: EgoPointScores,
) -> PaperRow:
    tallies = [scores.tally(part) for part in parts]
    cells = (Share(value=met(tally) / tally.total) if tally.total else None for tally in tallies)
    return PaperRow(keys=(name,), cells=(*cells, None, None))
