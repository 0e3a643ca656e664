"""Which pictures the requests of a run have, what they cost, and where the wearer looked.

Gaze lies in a folder of CSV files, one for each group of a benchmark's items (the recording, for
films), with the columns ``time`` (seconds of the recording), ``x`` and ``y`` (fractions of the
picture). The sample nearest to a frame counts, if it is within a tenth of a second.
"""

from __future__ import annotations

import bisect
import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from replay.loose_json import Fields
from streaming.asking.request import Request
from streaming.asking.visual_budget import GazeAt, VisualBudget, VisualUse
from streaming.events import Point, Seconds

_NEAR: Seconds = 0.1
_COUNTED = ("pictures", "left_out", "cut_outs", "tokens", "offered")


class GazeError(ValueError):
    """A file of gaze that cannot be used; one line saying where and why."""


@dataclass(frozen=True, kw_only=True)
class VisualChoice:
    """Which pictures are sent.

    Attributes:
        budget: Chooses them.
        gaze: Folder of gaze, or None.
    """

    budget: VisualBudget
    gaze: Path | None = None

    def facts(self) -> dict[str, Any]:
        """In what two parts of a run have to agree."""
        folder = None if self.gaze is None else str(self.gaze.resolve())
        return self.budget.facts() | {"gaze": folder}

    def applied(self, request: Request, *, group: str = "") -> tuple[Request, VisualUse]:
        """The request with the pictures that are chosen, and what they cost.

        Raises:
            GazeError: If the group's file of gaze is damaged.
        """
        gaze = self._gaze_of(group)
        budget = self.budget if gaze is None else replace(self.budget, gaze=gaze)
        return budget.applied(request)

    def for_model(self, model: str) -> VisualChoice:
        """The same budget, by the formula of another model."""
        formula = self.budget.settings.tokens.of(model)
        return replace(self, budget=replace(self.budget, formula=formula))

    @cached_property
    def _read(self) -> dict[str, GazeAt | None]:
        return {}

    def _gaze_of(self, group: str) -> GazeAt | None:
        if self.gaze is None:
            return None
        if group not in self._read:
            path = self.gaze / f"{Path(group).name}.csv"
            self._read[group] = read_gaze(path) if path.is_file() else None
        return self._read[group]


def read_gaze(path: Path) -> GazeAt:
    """Where somebody looks, by time.

    Raises:
        GazeError: If the file has other columns, or a line is no sample.
        OSError: If it cannot be read.
    """
    samples: list[tuple[Seconds, Point]] = []
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        if not {"time", "x", "y"} <= set(rows.fieldnames or ()):
            raise GazeError(f"{path}: expected the columns time, x and y")
        for row in rows:
            try:
                samples.append((float(row["time"]), (float(row["x"]), float(row["y"]))))
            except (TypeError, ValueError) as error:
                raise GazeError(f"{path}, line {rows.line_num}: no sample of gaze") from error
    samples.sort()
    times = [time for time, _ in samples]

    def gaze_at(time: Seconds) -> Point | None:
        place = bisect.bisect_left(times, time)
        near = samples[max(0, place - 1) : place + 1]
        best = min(near, key=lambda sample: abs(sample[0] - time), default=None)
        return best[1] if best is not None and abs(best[0] - time) <= _NEAR else None

    return gaze_at


def visual_totals(records: Iterable[Fields]) -> dict[str, int] | None:
    """What the pictures of a run cost in all, by estimate; None where nothing was counted."""
    counted = [record.table("visual") for record in records if "visual" in record]
    if not counted:
        return None
    sums = {name: sum(one.count(name) or 0 for one in counted) for name in _COUNTED}
    return {"requests": len(counted), **sums}
