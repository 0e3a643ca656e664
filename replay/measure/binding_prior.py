"""The lag prior that human-timed gestures suggest.

Reads the annotation files of two open studies and fits the binder's own density to the lags in
them, ``apex - word onset``. The first study times whole gestures, not apexes: there the apex is
put a fixed time after the gesture's onset.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from streaming.binding_scores import LagPrior
from streaming.events import Seconds

ONSET_TO_APEX: Seconds = 0.35
"""From a gesture's onset to its apex: strokes of our own clips take 0.2 to 0.4 s."""

GESTURES, WORDS = "Point_form@1", "coart_time@1"
_WIDEST: Seconds = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LagStudy:
    """Lags of one file.

    Attributes:
        name: Of the file.
        lags: Apex minus word onset, in the file's order.
    """

    name: str
    lags: tuple[Seconds, ...]

    def quantile(self, share: float) -> Seconds:
        return float(np.quantile(self.lags, share))


class AnnotationError(ValueError):
    """Annotations that cannot be used; one line saying which and why."""


def read_lags(folder: Path) -> list[LagStudy]:
    """The lags of the annotation files in ``folder``: ``*coart_time*.csv`` (gesture and affiliate
    rows: tier, begin, begin ms, end, end ms, duration, duration ms, text) and
    ``*alignment_data.csv`` (modality, onset, offset, duration, word, match, difference in ms).

    Raises:
        AnnotationError: If there are none, or rows do not pair up.
    """
    studies = [_gestures(path) for path in sorted(folder.glob("*coart_time*.csv"))]
    studies += [_apexes(path) for path in sorted(folder.glob("*alignment_data.csv"))]
    if not studies:
        raise AnnotationError(f"{folder}: no *coart_time*.csv and no *alignment_data.csv")
    return studies


def _gestures(path: Path) -> LagStudy:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row]
    try:
        gestures = [int(row[2]) for row in rows if row[0] == GESTURES]
        words = [int(row[2]) for row in rows if row[0] == WORDS]
        pairs = list(zip(gestures, words, strict=True))
    except (IndexError, ValueError) as error:
        raise AnnotationError(f"{path}: gestures and words do not pair up ({error})") from error
    lags = tuple(ONSET_TO_APEX - (word - gesture) / 1000.0 for gesture, word in pairs)
    return LagStudy(name=path.name, lags=lags)


def _apexes(path: Path) -> LagStudy:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    try:
        lags = tuple(
            float(row["alignment_difference"]) / 1000.0
            for row in rows
            if row["modality"] == "gesture_apex"
        )
    except (KeyError, TypeError, ValueError) as error:
        raise AnnotationError(f"{path}: no alignment differences ({error})") from error
    return LagStudy(name=path.name, lags=lags)


def fit_prior(lags: Sequence[Seconds], *, freedom: float = 3.0) -> LagPrior:
    """The split Student density under which ``lags`` are likeliest.

    Its range is set wide here; where to cut it is a decision, not a fit.
    """

    def prior(values: Sequence[float]) -> LagPrior:
        return LagPrior(
            mode=float(np.clip(values[0], -_WIDEST / 2, _WIDEST / 2)),
            early=math.exp(float(np.clip(values[1], -4.0, 3.0))),
            late=math.exp(float(np.clip(values[2], -4.0, 3.0))),
            freedom=freedom,
            earliest=-_WIDEST,
            latest=_WIDEST,
        )

    def loss(values: Sequence[float]) -> float:
        density = prior(values).log_density
        return -sum(density(min(max(lag, -_WIDEST), _WIDEST)) for lag in lags)

    return prior(minimize(loss, [0.1, -1.0, -1.0], method="Nelder-Mead").x)
