"""Counts of EgoSAT's scores. They add up over files; ratios are None where nothing was counted.

Formulas and denominators are those of the authors' scorer:

- Accuracy: right answers over **all** samples with a truth; a missing or unreadable answer is
  wrong. Samples without a truth are left out of accuracy, and stay in confidence.
- Recall ``TP / (TP + FN)`` and precision ``TP / (TP + FP)`` of INTERACTION; an unreadable answer
  is FN where the truth is INTERACTION, and TN where it is not.
- A switch succeeds when both of its probes are right; its rate is over the pairs whose two probes
  are both readable.
- Confidence: the mean over the samples that have one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.egosat.files import Fields, Predicted, sample_key
from replay.egosat.names import GROUPS, PAIR_ROLES, STEPS, State
from replay.egosat.reading import (
    as_float,
    as_int,
    confidence,
    predicted_letter,
    predicted_state,
    state_chance,
    true_letter,
    true_state,
)

_STEP_TIE = 1e-3


def ratio(part: float, whole: float) -> float | None:
    """``part / whole``; None of nothing."""
    return part / whole if whole else None


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of those that are numbers, rounded once; None without any.

    As Python adds up since 3.12, with which the authors' published example was made.
    """
    numbers = [value for value in values if value is not None]
    return ratio(math.fsum(numbers), len(numbers))


@dataclass(slots=True)
class Answers:
    """Choices among four options.

    Attributes:
        total: Samples with a truth.
        valid: Those with a readable answer.
        correct: Those that were right.
    """

    total: int = 0
    valid: int = 0
    correct: int = 0

    def add(self, other: Answers) -> None:
        """Count the other's in."""
        self.total += other.total
        self.valid += other.valid
        self.correct += other.correct

    @property
    def accuracy(self) -> float | None:
        """Over all samples with a truth."""
        return ratio(self.correct, self.total)

    def as_json(self) -> dict[str, Any]:
        """With the authors' names."""
        return {
            "samples_total": self.total,
            "samples_valid": self.valid,
            "samples_invalid": self.total - self.valid,
            "correct": self.correct,
            "accuracy_over_total": self.accuracy,
            "accuracy_over_valid": ratio(self.correct, self.valid),
        }


@dataclass(slots=True)
class Confidences:
    """How sure answers are.

    Attributes:
        total: Samples, with a truth or without.
        values: Of those that have one, in order.
        sources: Where they were read, counted.
    """

    total: int = 0
    values: list[float] = field(default_factory=list)
    sources: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float | None:
        """Over the samples that have one."""
        return mean(self.values)

    def as_json(self) -> dict[str, Any]:
        """With the authors' names."""
        return {
            "samples_total": self.total,
            "conf_count_over_valid": len(self.values),
            "conf_mean_over_valid": self.mean,
            "conf_sources": dict(self.sources),
        }


@dataclass(slots=True)
class States:
    """INTERACTION or not; the first letter says whether the answer was true to the truth."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0
    valid: int = 0
    correct: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """Samples with a truth."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def recall(self) -> float | None:
        """Of INTERACTION."""
        return ratio(self.tp, self.tp + self.fn)

    @property
    def precision(self) -> float | None:
        """Of INTERACTION."""
        return ratio(self.tp, self.tp + self.fp)

    def count(self, truth: State | None, answer: State | None) -> None:
        """Count one sample."""
        if truth is None:
            self.unknown += 1
            return
        self.valid += answer is not None
        self.correct += answer == truth
        says = answer == "INTERACTION"
        if truth == "INTERACTION":
            self.tp += says
            self.fn += not says
        else:
            self.fp += says
            self.tn += not says

    def as_json(self) -> dict[str, Any]:
        """With the authors' names."""
        return {
            "samples_total": self.total,
            "valid_predictions": self.valid,
            "invalid_or_missing_predictions": self.total - self.valid,
            "tp": self.tp,
            "fp": self.fp,
            "fn": self.fn,
            "tn": self.tn,
            "state_correct_full": self.correct,
            "unknown_gt": self.unknown,
        }


@dataclass(slots=True)
class Switches:
    """Switches of one direction."""

    pair_type: str
    seen: int = 0
    missing_roles: int = 0
    invalid: int = 0
    valid: int = 0
    success: int = 0
    chances: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        """Over the pairs whose probes are both readable."""
        return ratio(self.success, self.valid)

    def as_json(self) -> dict[str, Any]:
        """With the authors' names."""
        return {
            "pair_type": self.pair_type,
            "pairs_total_seen": self.seen,
            "pairs_missing_required_roles": self.missing_roles,
            "pairs_invalid_due_to_invalid_probe": self.invalid,
            "pairs_valid": self.valid,
            "pairs_success_both_probes_correct": self.success,
            "success_rate_over_valid_pairs": self.rate,
            "success_rate_over_total_pairs": ratio(self.success, self.seen),
            "after_transition_conf_mean_over_success": mean(self.chances),
            "after_transition_conf_count_over_success": len(self.chances),
        }


def group_of(sample: Fields) -> str:
    """Answerability group of a prediction."""
    return GROUPS.get(str(sample.get("state") or "").strip().upper(), "unknown")


def step_of(sample: Fields, distance: str) -> str:
    """Step of a multi-step query: by its number, else by its distance in seconds."""
    step = as_int(sample.get("step_idx"))
    if step is not None and 0 <= step < len(STEPS):
        return f"step_{step}"
    seconds = as_float(sample.get(distance))
    if seconds is not None:
        for number, known in enumerate(STEPS):
            if abs(seconds - known) < _STEP_TIE:
                return f"step_{number}"
    return "unknown"


def all_of(sample: Fields) -> str:
    """Every sample in one bucket."""
    return "all"


Bucket = Callable[[Fields], str]


def count_answers(predicted: Predicted, bucket: Bucket) -> tuple[dict[str, Answers], list[str]]:
    """Right and wrong choices of one query set by bucket, and remarks about what has no truth."""
    found: dict[str, Answers] = {}
    remarks = []
    for place, query in enumerate(predicted.queries.samples):
        key = sample_key(query, place)
        truth = true_letter(query)
        if truth is None:
            remarks.append(f"{predicted.queries.path}: no right answer for idx={key}, left out")
            continue
        answer = predicted_letter(predicted.answers.get(key))
        one = Answers(total=1, valid=answer is not None, correct=answer == truth)
        found.setdefault(bucket(query), Answers()).add(one)
    return found, remarks


def count_confidences(predicted: Predicted, bucket: Bucket, into: dict[str, Confidences]) -> None:
    """Add the confidences of one query set to those of others."""
    for place, query in enumerate(predicted.queries.samples):
        value, source = confidence(predicted.answers.get(sample_key(query, place)))
        counted = into.setdefault(bucket(query), Confidences())
        counted.total += 1
        counted.sources[source] += 1
        if value is not None:
            counted.values.append(value)


def count_states(predicted: Predicted, into: States) -> None:
    """Add the states of one query set to those of others."""
    for place, query in enumerate(predicted.queries.samples):
        answer = predicted_state(predicted.answers.get(sample_key(query, place)))
        into.count(true_state(query), answer)


@dataclass(slots=True)
class Probe:
    """One answered probe of a switch."""

    truth: State
    answer: State | None
    chance: float | None


@dataclass(slots=True)
class Pair:
    """The probes of one switch by role; of two with one role the last counts."""

    pair_type: str
    probes: dict[str, Probe] = field(default_factory=dict)


def pairs_of(predicted: Predicted, counted: States) -> list[Pair]:
    """The switches of one query set; each of its samples is added to ``counted``."""
    pairs: dict[str, Pair] = {}
    for place, query in enumerate(predicted.queries.samples):
        sample = predicted.answers.get(sample_key(query, place))
        truth, answer = true_state(query), predicted_state(sample)
        counted.count(truth, answer)
        name = str(query.get("state_switch_pair_id") or "").strip()
        if truth is None or not name:
            continue
        kind = str(query.get("state_switch_pair_type") or "").strip().lower()
        role = str(query.get("state_switch_role") or "").strip().lower()
        pair = pairs.setdefault(name, Pair(kind))
        pair.pair_type = pair.pair_type or kind
        pair.probes[role] = Probe(truth, answer, state_chance(sample))
    return list(pairs.values())


def count_switches(pairs: Iterable[Pair], into: Mapping[str, Switches]) -> None:
    """Add switches to those of their pair type; other types are no switches."""
    for pair in pairs:
        if pair.pair_type not in PAIR_ROLES:
            continue
        counted = into[pair.pair_type]
        counted.seen += 1
        before, after = (pair.probes.get(role) for role in PAIR_ROLES[pair.pair_type])
        if before is None or after is None:
            counted.missing_roles += 1
        elif before.answer is None or after.answer is None:
            counted.invalid += 1
        else:
            counted.valid += 1
            if before.answer == before.truth and after.answer == after.truth:
                counted.success += 1
                if after.chance is not None:
                    counted.chances.append(after.chance)
