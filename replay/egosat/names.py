"""The names of EgoSAT: tasks, flavours, groups, steps, switch positions and the table's columns.

All of them are those of the benchmark's public files and of its authors' scorer, to the letter.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Task: TypeAlias = Literal[
    "now_narration", "now_state_switch", "sh_pred", "ms_pred", "sh_rtrv", "ms_rtrv"
]
Flavour: TypeAlias = Literal["open", "cand", "cand_mcq", "cand_state", "cand_full", "cand_conf"]
State: TypeAlias = Literal["INTERACTION", "NO_INTERACTION"]
Letter: TypeAlias = Literal["A", "B", "C", "D"]

TASKS: tuple[Task, ...] = get_args(Task)
LETTERS: tuple[Letter, ...] = get_args(Letter)
FLAVOURS: dict[Task, tuple[Flavour, ...]] = {
    "now_narration": ("open", "cand_state", "cand_mcq"),
    "now_state_switch": ("open", "cand_state"),
    "sh_pred": ("open", "cand", "cand_full", "cand_conf"),
    "ms_pred": ("open", "cand", "cand_conf"),
    "sh_rtrv": ("open", "cand"),
    "ms_rtrv": ("open", "cand", "cand_conf"),
}
"""What each task can be asked as; ``cand`` of ``sh_pred`` asks its predictable moments alone."""

SCORED: tuple[tuple[Task, Flavour], ...] = (
    ("now_narration", "cand_state"),
    ("now_narration", "cand_mcq"),
    ("now_state_switch", "cand_state"),
    ("sh_pred", "cand_full"),
    ("sh_pred", "cand_conf"),
    ("ms_pred", "cand"),
    ("ms_pred", "cand_conf"),
    ("ms_rtrv", "cand"),
    ("ms_rtrv", "cand_conf"),
    ("sh_rtrv", "cand"),
)
"""What the main table is made of."""

GROUPS = {
    "NN": "predictable",
    "PN": "branch_only",
    "NP": "surprise_only",
    "PP": "branch_and_surprise",
}
"""Answerability of a prediction: branchiness first, surprise second; P is high, N is not."""
STEPS = (8.0, 16.0, 24.0)
"""Distances of the multi-step tasks, seconds: steps 0, 1 and 2."""
POSITIONS = {"ss_pos_1": "t:1.0", "ss_pos_2": "t:2.0", "ss_pos_3": "t:4.0"}
"""Where after a switch its second probe lies, seconds into the new region."""
PAIR_ROLES = {
    "segment_to_gap": ("fixed_segment_mid", "scan_gap"),
    "gap_to_segment": ("fixed_gap_mid", "scan_segment"),
}
"""The two probes of a switch: before it, then after it."""


def position_folder(position: str) -> str:
    """Folder of a switch position's predictions: ``t:1.0`` lies in ``sspos_t_1_0``."""
    return "sspos_" + position.replace(":", "_").replace(".", "_")


def _columns() -> tuple[str, ...]:
    columns = ["now_rec", "now_prec", "now_mcq_acc"]
    for number in (1, 2, 3):
        for measure in ("acc", "conf"):
            columns += [f"ss{number}_{way}_{measure}" for way in ("fg2bg", "bg2fg")]
    for measure in ("acc", "conf"):
        columns += [f"sh_pred_{group}_{measure}" for group in GROUPS.values()]
    for task in ("ms_pred", "ms_rtrv"):
        for measure in ("acc", "conf"):
            columns += [f"{task}_step{step}_{measure}" for step in range(len(STEPS))]
            columns.append(f"{task}_multi_avg_{measure}")
    return (*columns, "sh_rtrv_acc")


COLUMNS = _columns()
"""Columns of the authors' main table after ``model`` and ``split``, in their order."""
