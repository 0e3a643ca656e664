"""All that is made of a set of EgoSAT predictions: the main table, and what goes beyond it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from replay.benchmark import Outcome
from replay.egosat.calibration import (
    COVERAGES,
    Bin,
    Floats,
    Judged,
    Line,
    accuracy_at,
    area_under_risk,
    brier_of_answers,
    brier_of_forecasts,
    entropy,
    expected_calibration_error,
    reliability,
    risk_curve,
    slope,
)
from replay.egosat.files import Predicted
from replay.egosat.main_table import PLACES, Scores, metrics_of, score_folder, table_row
from replay.egosat.names import COLUMNS
from replay.egosat.outcomes import judged_of, outcomes_of
from replay.jobs import NotReplayed
from replay.scoring.bootstrap import DEFAULT, Interval, Resampling
from replay.scoring.outcomes import clustered


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far the confidence of one kind of answer can be trusted; see the calibration module.

    Attributes:
        count: Answers with a confidence and a truth.
        accuracy, confidence: Their means, 0...1.
        error: ECE.
        brier, forecast_brier: Of the answers, and of whole forecasts (NaN without any).
        risk: Area under risk over coverage.
        entropy: Mean of the forecasts', nats; NaN without any.
        bins: The reliability diagram.
        curve: Accuracy over the surest 1, 2 … answers.
        buckets: Count, accuracy, confidence and entropy by group or step.
        lines: Confidence, accuracy and entropy over distance, where there are distances.
    """

    count: int
    accuracy: float
    confidence: float
    error: float
    brier: float
    forecast_brier: float
    risk: float
    entropy: float
    bins: tuple[Bin, ...]
    curve: Floats = field(repr=False)
    buckets: Mapping[str, tuple[int, float, float, float]]
    lines: Mapping[str, Line]

    def as_json(self) -> dict[str, Any]:
        """Numbers; None where there is none."""
        return {
            "count": self.count,
            "accuracy": _number(self.accuracy),
            "confidence": _number(self.confidence),
            "ece": _number(self.error),
            "brier": _number(self.brier),
            "brier_forecast": _number(self.forecast_brier),
            "aurc": _number(self.risk),
            "entropy": _number(self.entropy),
            "accuracy_at_coverage": {
                f"{coverage:.1f}": _number(value)
                for coverage, value in accuracy_at(self.curve).items()
            },
            "bins": [
                {
                    "low": one.low,
                    "high": one.high,
                    "count": one.count,
                    "confidence": _number(one.confidence),
                    "accuracy": _number(one.accuracy),
                }
                for one in self.bins
            ],
            "buckets": {
                name: {
                    "count": count,
                    "accuracy": _number(accuracy),
                    "confidence": _number(sure),
                    "entropy": _number(spread),
                }
                for name, (count, accuracy, sure, spread) in self.buckets.items()
            },
            "slopes": {
                name: {
                    "per_second": _number(line.slope),
                    "intercept": _number(line.intercept),
                    "count": line.count,
                }
                for name, line in self.lines.items()
            },
        }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def calibration(judged: Sequence[Judged], *, bins: int) -> Calibration:
    """Calibration of some answers.

    Raises:
        ValueError: If there are none.
    """
    if not judged:
        raise ValueError("no answers to calibrate")
    sure = [one.confidence for one in judged]
    right = [float(one.right) for one in judged]
    found = reliability(sure, right, bins=bins)
    curve = risk_curve(sure, right)
    buckets: dict[str, list[Judged]] = {}
    for one in judged:
        buckets.setdefault(one.bucket, []).append(one)
    return Calibration(
        count=len(judged),
        accuracy=_mean(right),
        confidence=_mean(sure),
        error=expected_calibration_error(found),
        brier=brier_of_answers(sure, right),
        forecast_brier=brier_of_forecasts(judged),
        risk=area_under_risk(curve),
        entropy=_mean(_entropies(judged)),
        bins=tuple(found),
        curve=curve,
        buckets={
            name: (
                len(some),
                _mean([float(one.right) for one in some]),
                _mean([one.confidence for one in some]),
                _mean(_entropies(some)),
            )
            for name, some in sorted(buckets.items())
        },
        lines=_lines(judged),
    )


def _lines(judged: Sequence[Judged]) -> dict[str, Line]:
    apart = [(one.distance, one) for one in judged if one.distance is not None]
    if not apart:
        return {}
    distances = [distance for distance, _ in apart]
    lines = {
        "confidence": slope(distances, [one.confidence for _, one in apart]),
        "accuracy": slope(distances, [float(one.right) for _, one in apart]),
    }
    spread = [(distance, one.forecast) for distance, one in apart if one.forecast is not None]
    if spread:
        told = [entropy(forecast.values()) for _, forecast in spread]
        lines["entropy"] = slope([distance for distance, _ in spread], told)
    return lines


def _entropies(judged: Iterable[Judged]) -> list[float]:
    return [entropy(one.forecast.values()) for one in judged if one.forecast is not None]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


@dataclass(slots=True, kw_only=True)
class Taken:
    """Gathers query sets with their predictions.

    Attributes:
        table: Counts of the main table.
        outcomes: Single samples.
        judged: Those with a confidence, by kind of answer.
        unscored: Answers that the table has no place for, such as descriptions, by place.
    """

    table: Scores = field(default_factory=Scores)
    outcomes: list[Outcome] = field(default_factory=list)
    judged: dict[str, list[Judged]] = field(default_factory=dict)
    unscored: Counter[str] = field(default_factory=Counter)

    def note(self, place: str, predicted: Predicted) -> None:
        """Take the single samples of one query set; its counts are the table's."""
        if place not in PLACES:
            self.unscored[place] += len(predicted.answers)
            return
        self.outcomes += outcomes_of(place, predicted)
        for name, one in judged_of(place, predicted):
            self.judged.setdefault(name, []).append(one)


@dataclass(frozen=True, kw_only=True)
class EgosatScores:
    """Scores of predictions on EgoSAT, as :class:`replay.benchmark.Scores`.

    Attributes:
        taken: What was counted.
        complete: Every question has an answer.
        bins: Of reliability diagrams.
        errors: Questions without an answer, counted by kind of failure.
        left_out: What could not be asked.
    """

    taken: Taken
    complete: bool
    bins: int
    errors: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[NotReplayed, ...] = ()

    @property
    def outcomes(self) -> Sequence[Outcome]:
        return self.taken.outcomes

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """As in the authors' ``main_table_metrics.json``."""
        return metrics_of(self.taken.table)

    @cached_property
    def row(self) -> dict[str, float | None]:
        """The main table's columns."""
        return table_row(self.metrics)

    @cached_property
    def calibrations(self) -> dict[str, Calibration]:
        """By kind of answer, see :func:`replay.egosat.outcomes.judged_of`."""
        return {
            name: calibration(judged, bins=self.bins)
            for name, judged in sorted(self.taken.judged.items())
        }

    @cached_property
    def _by_measure(self) -> dict[str, list[Outcome]]:
        found: dict[str, list[Outcome]] = {}
        for outcome in self.taken.outcomes:
            for measure in outcome.values:
                found.setdefault(measure, []).append(outcome)
        return found

    def interval(self, column: str, *, how: Resampling = DEFAULT) -> Interval | None:
        """A column's interval, drawing videos; None for averages over steps, and for nothing."""
        some = self._by_measure.get(column)
        return clustered(some, column, how=how) if some else None

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """Of every column that has one."""
        found = {column: self.interval(column) for column in COLUMNS}
        return {column: one for column, one in found.items() if one is not None}

    def as_json(self) -> dict[str, Any]:
        return {
            "main_table": self.row,
            "metrics": self.metrics,
            "calibration": {name: one.as_json() for name, one in self.calibrations.items()},
            "intervals": {
                column: {
                    "low": one.low,
                    "high": one.high,
                    "videos": one.clips,
                    "trusted": one.trusted,
                }
                for column, one in self.intervals.items()
            },
            "errors": dict(self.errors),
            "left_out": [{"source": one.source, "reason": one.reason} for one in self.left_out],
            "remarks": list(self.taken.table.remarks),
        }

    def remarks(self) -> list[str]:
        lines = [
            f"{count} questions without an answer ({kind}), left out of every number"
            for kind, count in self.errors.items()
        ]
        lines += [f"left out: {one.source}: {one.reason}" for one in self.left_out]
        lines += self.taken.table.remarks
        for task, buckets in self.taken.table.confidences.items():
            bare = sum(one.sources["none"] for one in buckets.values())
            if bare:
                lines.append(f"{task}/cand_conf: {bare} answers came without probabilities")
        lines += [
            f"{place}: {count} answers written, the table has no place for them"
            for place, count in self.taken.unscored.items()
        ]
        if self.calibrations:
            told = ", ".join(f"{coverage:.0%}" for coverage in COVERAGES[::3])
            lines.append(f"accuracy by coverage ({told} and more) and all bins: --json")
        return lines


def score_files(
    predictions: Path,
    query_sets: Sequence[Path],
    *,
    bins: int,
    moved: Sequence[tuple[str, str]] = (),
) -> EgosatScores:
    """Score a folder of prediction files.

    Raises:
        EgosatError: As :func:`replay.egosat.main_table.score_folder`.
    """
    taken = Taken()
    taken.table = score_folder(predictions, query_sets, moved=moved, on_file=taken.note)
    return EgosatScores(taken=taken, complete=True, bins=bins)
