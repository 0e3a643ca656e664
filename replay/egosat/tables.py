"""Tables of scored EgoSAT predictions: the main table in parts, calibration, and slopes."""

from __future__ import annotations

import math

from replay.egosat.calibration import accuracy_at
from replay.egosat.names import GROUPS, POSITIONS, STEPS
from replay.egosat.scored import Calibration, EgosatScores
from replay.scoring.paper_values import Amount, PaperCell, PaperRow, PaperTable, Share

_MEASURES = ("acc", "conf")


def egosat_tables(scores: EgosatScores, *, system: str = "this run") -> list[PaperTable]:
    """All tables that have a number."""
    tables = [
        now_table(scores, system=system),
        switch_table(scores, system=system),
        group_table(scores, system=system),
        step_table(scores, system=system),
        calibration_table(scores),
        slope_table(scores),
    ]
    return [table for table in tables if any(_filled(row) for row in table.rows)]


def _filled(row: PaperRow) -> bool:
    return any(cell is not None for cell in row.cells)


def _cell(scores: EgosatScores, column: str) -> PaperCell:
    value, interval = scores.row[column], scores.intervals.get(column)
    if value is None:
        return None
    if interval is None:
        return Share(value=value)
    return Share(value=value, low=interval.low, high=interval.high, trusted=interval.trusted)


def now_table(scores: EgosatScores, *, system: str) -> PaperTable:
    """The present, and the newest past."""
    columns = ("now_rec", "now_prec", "now_mcq_acc", "sh_rtrv_acc")
    cells = tuple(_cell(scores, column) for column in columns)
    return PaperTable(
        name="egosat_now",
        title="EgoSAT: what is and what just was (%)",
        keys=("system",),
        columns=("recall", "precision", "now", "newest past"),
        rows=(PaperRow(keys=(system,), cells=cells),),
        notes=(
            "Recall and precision of INTERACTION, accuracy of choices; intervals draw videos.",
            "Columns now_rec, now_prec, now_mcq_acc, sh_rtrv_acc.",
        ),
    )


def switch_table(scores: EgosatScores, *, system: str) -> PaperTable:
    """Switches seen, by how long after them the second probe lies."""
    rows = []
    for measure in _MEASURES:
        columns = [
            f"ss{number}_{way}_{measure}"
            for way in ("fg2bg", "bg2fg")
            for number in range(1, len(POSITIONS) + 1)
        ]
        cells = tuple(_cell(scores, column) for column in columns)
        rows.append(PaperRow(keys=(system, measure), cells=cells))
    seconds = [f"{float(one.removeprefix('t:')):g} s" for one in POSITIONS.values()]
    return PaperTable(
        name="egosat_switch",
        title="EgoSAT: switches noticed (%)",
        keys=("system", "measure"),
        columns=(
            *(f"end {one}" for one in seconds),
            *(f"begin {one}" for one in seconds),
        ),
        rows=tuple(rows),
        notes=(
            "Of an interaction: its end (fg2bg) and its begin (bg2fg), so long after it; both",
            "probes right, over pairs with two readable answers. Columns ss1_… to ss3_….",
        ),
    )


def group_table(scores: EgosatScores, *, system: str) -> PaperTable:
    """The next interaction, by answerability."""
    rows = [
        PaperRow(
            keys=(system, measure),
            cells=tuple(_cell(scores, f"sh_pred_{group}_{measure}") for group in GROUPS.values()),
        )
        for measure in _MEASURES
    ]
    return PaperTable(
        name="egosat_sh_pred",
        title="EgoSAT: the next interaction, by answerability (%)",
        keys=("system", "measure"),
        columns=("predictable", "branching", "surprising", "both"),
        rows=tuple(rows),
        notes=("Columns sh_pred_….",),
    )


def step_table(scores: EgosatScores, *, system: str) -> PaperTable:
    """Further away in the past and in the future."""
    rows = []
    for task, named in (("ms_rtrv", "ago"), ("ms_pred", "ahead")):
        for measure in _MEASURES:
            columns = [f"{task}_step{step}_{measure}" for step in range(len(STEPS))]
            columns.append(f"{task}_multi_avg_{measure}")
            cells = tuple(_cell(scores, column) for column in columns)
            rows.append(PaperRow(keys=(system, named, measure), cells=cells))
    return PaperTable(
        name="egosat_steps",
        title="EgoSAT: further away (%)",
        keys=("system", "where", "measure"),
        columns=(*(f"{step:.0f} s" for step in STEPS), "average"),
        rows=tuple(row for row in rows if _filled(row)),
        notes=("The average is over steps. Columns ms_rtrv_…, ms_pred_….",),
    )


def calibration_table(scores: EgosatScores) -> PaperTable:
    """How far confidence can be trusted; not in the paper."""
    rows = tuple(
        PaperRow(keys=(name,), cells=_calibrated(found))
        for name, found in scores.calibrations.items()
    )
    return PaperTable(
        name="egosat_calibration",
        title="EgoSAT: calibration (beyond the paper)",
        keys=("answers",),
        columns=("n", "acc", "conf", "ECE", "Brier", "AURC", "@50", "entropy"),
        rows=rows,
        notes=(
            "Confidence by letter probabilities; state: of the state's token; stated: in <CONF>.",
            "Brier score of the answer; @50: accuracy of the surest half. More: --json.",
        ),
    )


def _calibrated(found: Calibration) -> tuple[PaperCell, ...]:
    return (
        found.count,
        Share(value=found.accuracy),
        Share(value=found.confidence),
        _amount(found.error, 3),
        _amount(found.brier, 3),
        _amount(found.risk, 3),
        Share(value=accuracy_at(found.curve, (0.5,))[0.5]),
        _amount(found.entropy, 2),
    )


def slope_table(scores: EgosatScores) -> PaperTable:
    """How confidence, accuracy and entropy change with distance."""
    rows = []
    for name, found in scores.calibrations.items():
        if found.lines:
            lines = [found.lines.get(one) for one in ("confidence", "accuracy", "entropy")]
            cells = [None if line is None else _amount(line.slope * 8, 4) for line in lines]
            rows.append(PaperRow(keys=(name,), cells=(found.lines["confidence"].count, *cells)))
    return PaperTable(
        name="egosat_slopes",
        title="EgoSAT: change over 8 s of distance (least squares)",
        keys=("answers",),
        columns=("n", "confidence", "accuracy", "entropy"),
        rows=tuple(rows),
        notes=("Confidence that falls as accuracy does tracks what can be known.",),
    )


def _amount(value: float, digits: int) -> Amount | None:
    return None if math.isnan(value) else Amount(value=value, digits=digits)
