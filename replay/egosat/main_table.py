"""EgoSAT's main table: the authors' columns and names, from a folder of predictions.

What is not there (a task that was not run, a group without a sample) is None, as in the authors'
table; a folder that is missing is a remark, where their scorer ends with an error.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from replay.egosat.counts import (
    Answers,
    Bucket,
    Confidences,
    States,
    Switches,
    all_of,
    count_answers,
    count_confidences,
    count_states,
    count_switches,
    group_of,
    mean,
    pairs_of,
    ratio,
    step_of,
)
from replay.egosat.files import EgosatError, Predicted, QuerySets
from replay.egosat.names import (
    COLUMNS,
    GROUPS,
    PAIR_ROLES,
    POSITIONS,
    SCORED,
    STEPS,
    position_folder,
)

DISTANCES = {"ms_pred": "lead_sec", "ms_rtrv": "lag_sec"}
"""The field that holds a multi-step query's distance."""
PLACES: tuple[str, ...] = tuple(
    place
    for task, flavour in SCORED
    for place in (
        [f"{task}/{flavour}/{position_folder(position)}" for position in POSITIONS.values()]
        if task == "now_state_switch"
        else [f"{task}/{flavour}"]
    )
)
"""Folders of predictions that the table is made of."""
OnFile: TypeAlias = Callable[[str, Predicted], None]


@dataclass(slots=True)
class TaskAnswers:
    """Choices of one task.

    Attributes:
        buckets: By group, step, or all in one.
    """

    buckets: dict[str, Answers] = field(default_factory=dict)

    @property
    def all(self) -> Answers:
        """All buckets together."""
        whole = Answers()
        for one in self.buckets.values():
            whole.add(one)
        return whole

    def accuracy(self, bucket: str) -> float | None:
        """Of one bucket; None without a sample."""
        return self.buckets[bucket].accuracy if bucket in self.buckets else None

    def as_json(self) -> dict[str, Any]:
        """With the authors' names."""
        buckets = {name: one.as_json() for name, one in self.buckets.items()}
        return {"buckets": buckets, "all": self.all.as_json()}


@dataclass(slots=True)
class Scores:
    """All counts of a folder of predictions.

    Attributes:
        state: Of ``now_narration``.
        answers: Choices by task.
        confidences: By task and bucket.
        switch_states: Single probes, by switch position.
        switches: By switch position and pair type.
        remarks: What was passed over or is missing, one line each.
    """

    state: States = field(default_factory=States)
    answers: dict[str, TaskAnswers] = field(default_factory=dict)
    confidences: dict[str, dict[str, Confidences]] = field(default_factory=dict)
    switch_states: dict[str, States] = field(default_factory=dict)
    switches: dict[str, dict[str, Switches]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def take(self, place: str, predicted: Predicted) -> None:
        """Count one query set with its predictions.

        Args:
            place: One of :data:`PLACES`; what is asked elsewhere is not in the table.
            predicted: The query set and what was said to it.
        """
        if place not in PLACES:
            return
        task, flavour, *position = place.split("/")
        if position:
            self._take_switches(position[0], predicted)
        elif flavour == "cand_state":
            count_states(predicted, self.state)
        elif flavour == "cand_conf":
            count_confidences(predicted, bucket_of(task), self.confidences.setdefault(task, {}))
        else:
            counted, remarks = count_answers(predicted, bucket_of(task))
            self.remarks += remarks
            whole = self.answers.setdefault(task, TaskAnswers())
            for name, answers in counted.items():
                whole.buckets.setdefault(name, Answers()).add(answers)

    def _take_switches(self, folder: str, predicted: Predicted) -> None:
        name = next(
            name for name, position in POSITIONS.items() if position_folder(position) == folder
        )
        switches = self.switches.setdefault(name, {kind: Switches(kind) for kind in PAIR_ROLES})
        states = self.switch_states.setdefault(name, States())
        count_switches(pairs_of(predicted, states), switches)


def bucket_of(task: str) -> Bucket:
    """How a task's samples are parted."""
    if task == "sh_pred":
        return group_of
    if task in DISTANCES:
        return lambda sample: step_of(sample, DISTANCES[task])
    return all_of


def score_folder(
    predictions: Path,
    query_sets: Sequence[Path],
    *,
    moved: Sequence[tuple[str, str]] = (),
    on_file: OnFile = lambda place, predicted: None,
) -> Scores:
    """Score all predictions below a folder.

    Args:
        predictions: Folder that holds ``<task>/<flavour>/…``.
        query_sets: Folders that hold query sets, searched in this order, then ``predictions``.
        moved: Beginnings of paths in prediction files that lie elsewhere now.
        on_file: Told of each prediction file that counts, with its place (:meth:`Scores.take`).

    Raises:
        EgosatError: If no folder of predictions is there, or a file cannot be used.
    """
    if not predictions.is_dir():
        raise EgosatError(f"{predictions}: is no folder of predictions")
    if not any((predictions / task / flavour).is_dir() for task, flavour in SCORED):
        raise EgosatError(
            f"{predictions}: holds none of the folders that are scored, such as sh_rtrv/cand; "
            "name the folder of one model's predictions"
        )
    scores, sets = Scores(), QuerySets([*query_sets, predictions], moved=moved)
    for place in PLACES:
        folder = _folder(predictions, place)
        if folder is None:
            scores.remarks.append(f"{predictions / place}: is missing; its columns are empty")
            continue
        found = False
        for predicted, remark in sets.read_all(folder):
            if predicted is None:
                scores.remarks.append(remark or "")
                continue
            found = True
            scores.take(place, predicted)
            on_file(place, predicted)
        if not found:
            scores.remarks.append(f"{folder}: holds no prediction file")
    return scores


def _folder(predictions: Path, place: str) -> Path | None:
    task, flavour, *position = place.split("/")
    base = predictions / task / flavour
    if not position:
        return base if base.is_dir() else None
    named = next(known for known in POSITIONS.values() if position_folder(known) == position[0])
    return _position_folder(base, named)


def _position_folder(base: Path, position: str) -> Path | None:
    bare = position.replace(":", "_")
    names = [
        prefix + bare.replace(".", dot) for prefix in ("sspos_", "") for dot in (".", "_", "p")
    ]
    return next((base / name for name in names if (base / name).is_dir()), None)


def metrics_of(scores: Scores) -> dict[str, Any]:
    """The ``metrics`` object of the authors' ``main_table_metrics.json``."""
    state, narration = scores.state, scores.answers.get("now_narration", TaskAnswers())
    retrieval = scores.answers.get("sh_rtrv", TaskAnswers())
    metrics: dict[str, Any] = {
        "now_narration": {
            "rec": state.recall,
            "prec": state.precision,
            "mcq_acc": narration.all.accuracy,
            "state_accuracy_full": ratio(state.correct, state.total),
            "counts": {"state": state.as_json(), "mcq": narration.all.as_json()},
        },
        "now_state_switch": {
            name: _position(scores, name) for name in POSITIONS if name in scores.switches
        },
        "sh_pred": _parted(scores, "sh_pred", list(GROUPS.values())),
    }
    for task in DISTANCES:
        steps = [f"step_{step}" for step in range(len(STEPS))]
        block = _parted(scores, task, steps)
        for measure in ("acc", "conf"):
            block[f"multi_avg_{measure}"] = mean(block[f"{step}_{measure}"] for step in steps)
        metrics[task] = block
    metrics["sh_rtrv"] = {"acc": retrieval.all.accuracy, "counts": retrieval.as_json()}
    return metrics


def _parted(scores: Scores, task: str, buckets: Sequence[str]) -> dict[str, Any]:
    answers = scores.answers.get(task, TaskAnswers())
    confidences = scores.confidences.get(task, {})
    sure = {name: one.as_json() for name, one in confidences.items()}
    block: dict[str, Any] = {
        "counts": {"accuracy": answers.as_json(), "confidence": {"buckets": sure}}
    }
    for name in buckets:
        block[f"{name}_acc"] = answers.accuracy(name)
        block[f"{name}_conf"] = confidences[name].mean if name in confidences else None
    return block


def _position(scores: Scores, name: str) -> dict[str, Any]:
    states, ways = scores.switch_states[name], scores.switches[name]
    leaves, enters = ways["segment_to_gap"].as_json(), ways["gap_to_segment"].as_json()
    samples = states.as_json()
    told = ("samples_total", "valid_predictions", "invalid_or_missing_predictions", "unknown_gt")
    return {
        "pos": POSITIONS[name],
        "fg_to_bg_acc": leaves["success_rate_over_valid_pairs"],
        "bg_to_fg_acc": enters["success_rate_over_valid_pairs"],
        "fg_to_bg_conf_success_after_mean": leaves["after_transition_conf_mean_over_success"],
        "bg_to_fg_conf_success_after_mean": enters["after_transition_conf_mean_over_success"],
        "counts": {
            "samples": {key: samples[key] for key in told},
            "FG_to_BG": leaves,
            "BG_to_FG": enters,
        },
    }


def table_row(metrics: Mapping[str, Any]) -> dict[str, float | None]:
    """The main table's row: every official column, None where there is nothing to tell."""
    now, retrieval = metrics["now_narration"], metrics["sh_rtrv"]
    row: dict[str, float | None] = {
        "now_rec": now["rec"],
        "now_prec": now["prec"],
        "now_mcq_acc": now["mcq_acc"],
        "sh_rtrv_acc": retrieval["acc"],
    }
    for number, name in enumerate(POSITIONS, 1):
        block = metrics["now_state_switch"].get(name, {})
        for way, long in (("fg2bg", "fg_to_bg"), ("bg2fg", "bg_to_fg")):
            row[f"ss{number}_{way}_acc"] = block.get(f"{long}_acc")
            row[f"ss{number}_{way}_conf"] = block.get(f"{long}_conf_success_after_mean")
    for measure in ("acc", "conf"):
        for group in GROUPS.values():
            row[f"sh_pred_{group}_{measure}"] = metrics["sh_pred"][f"{group}_{measure}"]
        for task in DISTANCES:
            for step in range(len(STEPS)):
                row[f"{task}_step{step}_{measure}"] = metrics[task][f"step_{step}_{measure}"]
            row[f"{task}_multi_avg_{measure}"] = metrics[task][f"multi_avg_{measure}"]
    return {column: row[column] for column in COLUMNS}


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as the authors' ``main_table_metrics.csv``; each has ``model`` and ``split`` as well."""
    written = io.StringIO()
    writer = csv.DictWriter(written, ["model", "split", *COLUMNS], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


def as_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as the authors' ``main_table_metrics.md``: six digits after the point."""
    names = ["model", "split", *COLUMNS]
    lines = [
        names,
        ["---"] * len(names),
        *([_cell(row.get(name)) for name in names] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.6f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
