"""A set of pointing stills in EgoPoint-Bench's format: made in parallel, resumable.

Layout (a set of several difficulties has one such folder for each)::

    synth.json            how the set was made, in the set's root
    images/<image_id>.jpg
    made/<image_id>.json  one still's part of the files below
    synth_test.json       the benchmark's list of items
    truth.json            everything about every still
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from replay.out_folder import claimed
from replay.run import write_json
from replay.synth.folder import (
    RECORD,
    TRUTH,
    Made,
    SetSummary,
    check_set,
    common_facts,
    make_missing,
)
from replay.synth.orders import Order, SetPlan
from replay.synth.still_orders import StillOrder
from streaming.clock import Stopwatch

ITEMS = "synth_test.json"

_TRUTH_HEADER = {
    "made_by": "deixis synth --benchmark egopoint",
    "pixel_convention": "continuous x, y; the upper left pixel covers [0, 1) x [0, 1)",
    "world": "metres; x right, y away from the wearer, z up; table top z = 0",
    "target": "what the line along the index finger hits first; null: the bare table",
    "box": "x, y of the first pixels, and of those after the last",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A still to be made, and its folder."""

    order: Order
    folder: Path

    @property
    def still(self) -> StillOrder:
        order = self.order
        return StillOrder(
            seed=order.seed,
            index=order.index,
            difficulty=order.difficulty,
            width=order.frames.width,
            height=order.frames.height,
        )

    @property
    def paths(self) -> tuple[Path, Path]:
        """Of its picture and its record."""
        return self.still.paths(self.folder)


def make_stills(
    plan: SetPlan,
    out: Path,
    *,
    workers: int,
    fresh: bool = False,
    on_plan: Callable[[int, int], None] = lambda total, done: None,
    on_clip: Callable[[Made], None] = lambda made: None,
) -> SetSummary:
    """Make the stills that ``out`` does not hold yet, and write the benchmark's files.

    Of the plan, levels, languages and frame rate are not used.

    Args:
        workers: Number of processes.
        fresh: Delete what an earlier run made and start over.
        on_plan: Called once with the number of stills and how many are there already.
        on_clip: Called after every still.

    Raises:
        OutFolderError: If the folder holds something else, or a set made otherwise.
        WorkerError: If a process died; what was finished is kept.
    """
    several = len(plan.difficulties) > 1
    jobs = [
        _Job(order=order, folder=out / order.difficulty if several else out)
        for order in plan.orders()
    ]
    with claimed(out):
        facts = _facts(plan)
        check_set(out, facts, fresh=fresh, forget=lambda record: _forget(out, record))
        write_json(out / RECORD, facts | {"stills": plan.clips})
        return make_missing(
            jobs,
            is_made=_is_made,
            make=_make,
            assemble=lambda: _assemble(jobs),
            workers=workers,
            on_plan=on_plan,
            on_clip=on_clip,
        )


def _facts(plan: SetPlan) -> dict[str, Any]:
    facts = asdict(plan)
    made_of = {name: facts[name] for name in ("seed", "difficulties", "frames")}
    return common_facts("egopoint") | made_of


def _forget(out: Path, record: dict[str, Any]) -> None:
    """Delete what a set consists of, and nothing else that may lie there."""
    for folder in (out, *(out / str(name) for name in record.get("difficulties", ()))):
        for path in sorted((folder / "made").glob("*.json")):
            (folder / "images" / f"{path.stem}.jpg").unlink(missing_ok=True)
            path.unlink()
        for name in (ITEMS, TRUTH, RECORD):
            (folder / name).unlink(missing_ok=True)


def _is_made(job: _Job) -> bool:
    return all(path.is_file() for path in job.paths)


def _make(job: _Job) -> Made:
    # Imported in the worker only: pulls in the renderer's libraries.
    from replay.synth.stills import UnclearStillError, make_still

    still, watch = job.still, Stopwatch()
    try:
        made = make_still(
            still.seed,
            still.index,
            still.difficulty,
            job.folder,
            width=still.width,
            height=still.height,
        )
    except UnclearStillError as error:
        return Made(order=job.order, error=str(error), cpu_seconds=watch.cpu())
    attempts = int(made["truth"]["attempt"])
    return Made(order=job.order, cpu_seconds=watch.cpu(), attempts=attempts)


def _assemble(jobs: list[_Job]) -> int:
    """Write the benchmark's files from the parts that are there; their number."""
    folders: dict[Path, list[dict[str, Any]]] = {}
    for job in jobs:
        made = folders.setdefault(job.folder, [])
        if _is_made(job):
            made.append(json.loads(job.paths[1].read_text(encoding="utf-8")))
    for folder, made in folders.items():
        folder.mkdir(exist_ok=True)
        write_json(folder / ITEMS, [part["item"] for part in made])
        write_json(folder / TRUTH, _TRUTH_HEADER | {"stills": [part["truth"] for part in made]})
    return sum(map(len, folders.values()))
