"""Making a set of clips: in parallel, resumable, and complete whenever it stops.

Each clip leaves a part, ``made/<name>.json``, written after its video is in place; the benchmark's
files are put together from the parts that are there. Layout::

    synth.json                how the set was made
    made/<name>.json          one clip's part of all files below
    truth.json                everything about every clip
    data_en|data_zn/指令N/      annotations.json  eval_gt.json  <name>.mp4

A set of several difficulties has a tree, with a ``truth.json`` of its own, in a folder for each.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from replay.out_folder import OutFolderError, claimed, first_difference
from replay.run import write_json
from replay.synth.ecog_files import INSTRUCTION_FOLDER, LANGUAGE_FOLDER
from replay.synth.orders import Order, SetPlan
from replay.workers import in_processes
from streaming.clock import Stopwatch
from streaming.config import config_path
from streaming.version import VERSION

RECORD, PARTS, TRUTH = "synth.json", "made", "truth.json"
FORMAT = 1

AnyJob = TypeVar("AnyJob")

_TRUTH_HEADER = {
    "made_by": "deixis synth",
    "time": "milliseconds from the start of the file; frame i is at 1000 i / fps",
    "pixel_convention": "continuous x, y; the upper left pixel covers [0, 1) x [0, 1)",
    "world": "metres; x right, y away from the wearer, z up; table top z = 0",
    "stroke_window": "from shortly before the apex to the end of the hold, as annotators set it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A clip to be made, and its folder from the set's root ``out``."""

    order: Order
    out: Path
    folder: str

    @property
    def video(self) -> Path:
        return self.out / self.folder / f"{self.order.name}.mp4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of one clip.

    Attributes:
        order: The clip.
        error: Why it could not be made, in one line; None when it was.
        cpu_seconds: Of the process that made it.
        attempts: Draws thrown away before one was clear.
    """

    order: Order
    error: str | None = None
    cpu_seconds: float = 0.0
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSummary:
    """A set as it lies in its folder.

    Attributes:
        complete: Clips in it, of ``wanted``.
        made: Clips made in this run; ``wall_seconds`` is what they took.
        failed: Those that could not be made.
    """

    wanted: int
    complete: int
    made: int
    failed: tuple[Made, ...]
    wall_seconds: float

    @property
    def clips_per_minute(self) -> float:
        """NaN when nothing was made."""
        return 60.0 * self.made / self.wall_seconds if self.made else float("nan")


def relative_folder(order: Order, plan: SetPlan) -> str:
    """Where a clip's video lies, from the set's root, with slashes."""
    tree = f"{order.difficulty}/" if len(plan.difficulties) > 1 else ""
    instruction = INSTRUCTION_FOLDER.format(order.instruction)
    return f"{tree}{LANGUAGE_FOLDER[order.language]}/{instruction}"


def make_set(
    plan: SetPlan,
    out: Path,
    *,
    workers: int,
    fresh: bool = False,
    on_plan: Callable[[int, int], None] = lambda total, done: None,
    on_clip: Callable[[Made], None] = lambda made: None,
) -> SetSummary:
    """Make the clips that ``out`` does not hold yet, and write the benchmark's files.

    Args:
        workers: Number of processes.
        fresh: Delete what an earlier run made and start over.
        on_plan: Called once with the number of clips and how many are there already.
        on_clip: Called after every clip.

    Raises:
        OutFolderError: If the folder holds something else, or a set made otherwise.
        WorkerError: If a process died; what was finished is kept.
    """
    jobs = [Job(order=o, out=out, folder=relative_folder(o, plan)) for o in plan.orders()]
    with claimed(out):
        check_set(out, _facts(plan), fresh=fresh, forget=lambda record: _forget(out))
        write_json(out / RECORD, _facts(plan) | {"clips": plan.clips})
        return make_missing(
            jobs,
            is_made=lambda job: _is_made(out, job),
            make=_make,
            assemble=lambda: _assemble(out, jobs),
            workers=workers,
            on_plan=on_plan,
            on_clip=on_clip,
        )


def make_missing(
    jobs: Sequence[AnyJob],
    *,
    is_made: Callable[[AnyJob], bool],
    make: Callable[[AnyJob], Made],
    assemble: Callable[[], int],
    workers: int,
    on_plan: Callable[[int, int], None],
    on_clip: Callable[[Made], None],
) -> SetSummary:
    """Make what is not there yet, in processes; put together what is, however it ends.

    Args:
        make: Called in a worker process.
        assemble: Writes the benchmark's files; gives how many parts there are.

    Raises:
        WorkerError: If a process died; what was finished is kept.
    """
    waiting = [job for job in jobs if not is_made(job)]
    on_plan(len(jobs), len(jobs) - len(waiting))
    results: list[Made] = []
    watch = Stopwatch()
    try:
        for made in in_processes(_begin, (), make, waiting, workers=workers):
            results.append(made)
            on_clip(made)
    finally:
        wall = watch.wall()
        complete = assemble()
    failed = tuple(made for made in results if made.error is not None)
    return SetSummary(
        wanted=len(jobs),
        complete=complete,
        made=len(results) - len(failed),
        failed=failed,
        wall_seconds=wall,
    )


def _facts(plan: SetPlan) -> dict[str, Any]:
    facts = asdict(plan)
    del facts["clips"]
    return common_facts("ecog") | facts


def common_facts(benchmark: str) -> dict[str, Any]:
    """What the record of every set says, whatever the set is of."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "benchmark": benchmark,
        "settings": settings_hash(),
    }


def settings_hash() -> str:
    """SHA-256 over the generator's settings: clips of one set are made with the same."""
    folder = config_path("synth_scene.toml").parent
    digest = hashlib.sha256()
    for path in sorted(folder.glob("synth_*.toml")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def check_set(
    out: Path,
    facts: dict[str, Any],
    *,
    fresh: bool,
    forget: Callable[[dict[str, Any]], None],
) -> None:
    """Refuse a folder of something else, or of a set made otherwise; with ``fresh`` empty it.

    Args:
        facts: What the set's record has to say.
        forget: Deletes what the set whose record it is given consists of.

    Raises:
        OutFolderError: If the folder can't be used.
    """
    record = _read_record(out)
    if record is None:
        if any(out.iterdir()):
            raise OutFolderError(f"{out} holds files of something else; give another --out")
        return
    if record.get("benchmark") != facts["benchmark"]:
        raise OutFolderError(f"{out} holds a set of another benchmark; give another --out")
    if fresh:
        forget(record)
        return
    other = first_difference(record, facts, tuple(facts))
    if other is not None:
        raise OutFolderError(
            f"{out} holds a set made with another {other}; give another --out, or --fresh to "
            "delete it and start over"
        )


def _read_record(out: Path) -> dict[str, Any] | None:
    path = out / RECORD
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or "seed" not in record:
        raise OutFolderError(f"{path} is damaged; delete the folder or give another --out")
    return record


def _forget(out: Path) -> None:
    """Delete what a set consists of, and nothing else that may lie there."""
    for part in _read_parts(out):
        folder = out / part["folder"]
        (folder / part["annotation"]["video_name"]).unlink(missing_ok=True)
        for name in ("annotations.json", "eval_gt.json"):
            (folder / name).unlink(missing_ok=True)
        (folder.parent.parent / TRUTH).unlink(missing_ok=True)
    for path in sorted((out / PARTS).glob("*.json")):
        path.unlink()
    for name in (TRUTH, RECORD):
        (out / name).unlink(missing_ok=True)


def _part_path(out: Path, name: str) -> Path:
    return out / PARTS / f"{name}.json"


def _is_made(out: Path, job: Job) -> bool:
    return _part_path(out, job.order.name).is_file() and job.video.is_file()


def _begin() -> None:
    # One process a core; libraries that start threads of their own would only get in the way.
    import cv2

    cv2.setNumThreads(1)


def _make(job: Job) -> Made:
    # Imported in the worker only: pulls in the voices' and the renderer's libraries.
    from replay.synth.clip import UnclearError, make_clip

    job.video.parent.mkdir(parents=True, exist_ok=True)
    (job.out / PARTS).mkdir(exist_ok=True)
    watch = Stopwatch()
    unfinished = job.out / PARTS / f"{job.order.name}.part.mp4"
    try:
        part = make_clip(job.order, unfinished, folder=job.folder)
    except UnclearError as error:
        return Made(order=job.order, error=str(error), cpu_seconds=watch.cpu())
    part |= {"folder": job.folder, "sha256": _sha256(unfinished)}
    os.replace(unfinished, job.video)
    write_json(_part_path(job.out, job.order.name), part)
    attempts = int(part["truth"]["attempt"])
    return Made(order=job.order, cpu_seconds=watch.cpu(), attempts=attempts)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_parts(out: Path, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    paths = sorted((out / PARTS).glob("*.json"))
    if names is not None:
        paths = [path for name in names if (path := _part_path(out, name)).is_file()]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def _assemble(out: Path, jobs: Sequence[Job]) -> int:
    """Write the benchmark's files from the parts that are there; their number."""
    parts = _read_parts(out, [job.order.name for job in jobs])
    folders: dict[str, list[dict[str, Any]]] = {}
    trees: dict[Path, list[dict[str, Any]]] = {out: []}
    for part in parts:
        folders.setdefault(part["folder"], []).append(part)
        for tree in {out, (out / part["folder"]).parent.parent}:
            trees.setdefault(tree, []).append(part["truth"] | {"sha256": part["sha256"]})
    for name, inside in folders.items():
        write_json(out / name / "annotations.json", [part["annotation"] for part in inside])
        truths = {part["annotation"]["video_name"]: part["ground_truth"] for part in inside}
        write_json(out / name / "eval_gt.json", truths)
    for tree, clips in trees.items():
        write_json(tree / TRUTH, _TRUTH_HEADER | {"clips": clips})
    return len(parts)
