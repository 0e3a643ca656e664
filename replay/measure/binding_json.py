"""What ``deixis measure binding --json`` prints: times in seconds, shares 0...1, null for none."""

from __future__ import annotations

import math
from typing import Any

from replay.measure.binding import LevelResult, Tally, Timing, quantile
from replay.measure.binding_ecog import EcogBinding
from streaming.binding_calibration import Reliability


def level_document(level: LevelResult) -> dict[str, Any]:
    return {
        "level": level.name,
        "methods": {name: tally_document(tally) for name, tally in level.tallies.items()},
        "commit_delay": {
            "instant_recognisers": timing_document(level.instant),
            "realistic_recognisers": timing_document(level.realistic),
        },
        "calibration": calibration_document(level.calibration),
    }


def ecog_document(result: EcogBinding) -> dict[str, Any]:
    return {
        "clips": result.clips,
        "deictics": {
            "true": result.deictics,
            "found": result.found,
            "invented": result.invented,
        },
        "methods": {name: tally_document(tally) for name, tally in result.tallies.items()},
        "roles": {
            role: {"right": result.roles.right[role], "of": words}
            for role, words in result.roles.words.items()
        },
        "alone": {"right": result.alone[0], "of": result.alone[1]},
        "commit_delay": timing_document(result.timing),
        "calibration": calibration_document(result.calibration),
        "mistakes": list(result.mistakes),
    }


def tally_document(tally: Tally) -> dict[str, Any]:
    return {
        "words": tally.words,
        "accuracy": number(tally.accuracy),
        "pairs": tally.pairs,
        "pair_precision": number(tally.precision),
        "pair_recall": number(tally.recall),
        "scenes": tally.scenes,
        "whole_scenes": number(tally.whole_share),
    }


def timing_document(timing: Timing) -> dict[str, Any]:
    """``after_events`` counts from the later of word offset and apex, ``after_arrival`` from the
    later of their arrivals at the binder, ``none`` from the offset of a word left alone."""
    return {
        "pairs": len(timing.pairs),
        "after_events": _quantiles(timing.pairs),
        "after_arrival": _quantiles(timing.pairs_after_arrival),
        "none": _quantiles(timing.none),
        "at_end": timing.at_end,
    }


def _quantiles(values: list[float]) -> dict[str, float | None]:
    return {
        "p50": number(quantile(values, 0.5)),
        "p90": number(quantile(values, 0.9)),
        "p99": number(quantile(values, 0.99)) if len(values) >= 100 else None,
    }


def calibration_document(counts: Reliability) -> dict[str, Any]:
    bins = zip(counts.stated, counts.right, counts.total, strict=True)
    return {
        "n": counts.n,
        "ece": number(counts.ece),
        "brier": number(counts.brier),
        "bins": [
            {"stated": number(stated / n), "right": number(right / n), "n": n}
            for stated, right, n in bins
            if n
        ],
    }


def number(value: float) -> float | None:
    """JSON has no NaN."""
    return round(value, 6) if math.isfinite(value) else None
