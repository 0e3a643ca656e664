"""EgoSAT's main table: the authors' columns and names, from a folder of predictions.

What is not there (a task that was not run, a group without a sample) is None, as in the authors'
table; a folder that is missing is a remark, where their scorer ends with an error.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


@dataclass(slots=True)
class TaskAnswers:
    """Choices of one task.

    Attributes:
        buckets: By group, step, or all in one.
        clips: The same for each query set, in order; what an interval draws.
    """

    buckets: dict[str, Answers] = field(default_factory=dict)
    clips: list[dict[str, Answers]] = field(default_factory=list)

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
    on_file: Callable[[str, str, Predicted], None] = lambda task, flavour, predicted: None,
) -> Scores:
    """Score all predictions below a folder.

    Args:
        predictions: Folder that holds ``<task>/<flavour>/…``.
        query_sets: Folders that hold query sets, searched in this order, then ``predictions``.
        moved: Beginnings of paths in prediction files that lie elsewhere now.
        on_file: Told of each prediction file that counts, with its task and flavour.

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
    scoring = _Scoring(QuerySets([*query_sets, predictions], moved=moved), on_file)
    for task, flavour in SCORED:
        folder = predictions / task / flavour
        if not folder.is_dir():
            scoring.scores.remarks.append(f"{folder}: is missing; its columns are empty")
        elif task == "now_state_switch":
            scoring.take_switches(folder)
        else:
            scoring.take(folder, task, flavour)
    return scoring.scores


class _Scoring:
    def __init__(
        self, query_sets: QuerySets, on_file: Callable[[str, str, Predicted], None]
    ) -> None:
        self.scores = Scores()
        self._query_sets = query_sets
        self._on_file = on_file

    def take(self, folder: Path, task: str, flavour: str) -> None:
        """Count the files of one task and flavour."""
        bucket = bucket_of(task)
        for predicted in self._read(folder, task, flavour):
            if flavour == "cand_state":
                count_states(predicted, self.scores.state)
            elif flavour == "cand_conf":
                into = self.scores.confidences.setdefault(task, {})
                count_confidences(predicted, bucket, into)
            else:
                counted, remarks = count_answers(predicted, bucket)
                self.scores.remarks += remarks
                whole = self.scores.answers.setdefault(task, TaskAnswers())
                whole.clips.append(counted)
                for name, answers in counted.items():
                    whole.buckets.setdefault(name, Answers()).add(answers)

    def take_switches(self, base: Path) -> None:
        """Count the files of every switch position."""
        for name, position in POSITIONS.items():
            folder = _position_folder(base, position)
            if folder is None:
                remark = f"{base / position_folder(position)}: is missing; its columns are empty"
                self.scores.remarks.append(remark)
                continue
            states = self.scores.switch_states.setdefault(name, States())
            switches = {kind: Switches(kind) for kind in PAIR_ROLES}
            self.scores.switches[name] = switches
            for predicted in self._read(folder, "now_state_switch", f"cand_state/{folder.name}"):
                count_switches(pairs_of(predicted, states), switches)

    def _read(self, folder: Path, task: str, flavour: str) -> Iterator[Predicted]:
        found = False
        for predicted, remark in self._query_sets.read_all(folder):
            if predicted is None:
                self.scores.remarks.append(remark or "")
                continue
            found = True
            self._on_file(task, flavour, predicted)
            yield predicted
        if not found:
            self.scores.remarks.append(f"{folder}: holds no prediction file")


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
        "now_state_switch": {name: _position(scores, name) for name in scores.switches},
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
