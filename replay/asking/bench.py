"""EcoG-Bench with models that are asked: one cell, or a matrix of them, in one folder.

A single cell's run lies in the folder itself, a matrix's in a folder a cell::

    responses.jsonl     every response that was paid for, shared by all cells
    seen/               what was watched, shared too
    matrix.json  tables/  <cell>/run.json predictions.jsonl scores.json scores_mended.json <clip>/…

A run that was interrupted, killed or stopped by its limit of costs goes on where it was: answered
clips are not asked again, and a response that had come but was not yet entered is taken from
``responses.jsonl``.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from replay.asking.cell_run import (
    AskView,
    CellOutcome,
    Shared,
    check_folder,
    open_cell,
    run_cell,
)
from replay.asking.cells import OFFLINE, Cell
from replay.asking.totals import count_spent
from replay.asking.visual import VisualChoice
from replay.asking.watching import SEEN, Watching, watch_clips
from replay.ecog import load_ecog
from replay.export import write_exports
from replay.jobs import ecog_job, with_unique_names
from replay.out_folder import PREDICTIONS, RUN, OutFolderError, claimed, first_difference
from replay.run import write_json
from replay.scoring.cells import MATRIX, open_matrix
from replay.scoring.paper import paper_tables
from streaming.asking.costs import Ledger, Price
from streaming.asking.limits import read_asking_settings
from streaming.asking.prompts import load_prompts
from streaming.asking.responses import ResponseCache
from streaming.machine import describe_machine
from streaming.version import VERSION

RESPONSES, TABLES = "responses.jsonl", "tables"
_MATRIX_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBench:
    """What is to be asked.

    Attributes:
        root: Root of the tree.
        out: The folder.
        cells: Who is asked, and how; exactly one unless ``matrix``.
        matrix: Give each cell a folder of its own, and compare them.
        language: ``auto`` takes each clip's own.
        asr: Whisper model of our own ears.
        limit: Only the first so many clips.
        workers: Processes that watch.
        at_once: Most requests at once; the project's own setting without.
        max_cost: Most US dollars, over all that this folder ever asked.
        price: In place of the price list.
        fresh: Forget what the folder holds, paid responses included.
        visual: Which pictures are sent by the interfaces of frames; all of them without.
        keys: The environment.
    """

    root: Path
    out: Path
    cells: tuple[Cell, ...]
    matrix: bool = False
    language: str = "auto"
    asr: str = "auto"
    limit: int | None = None
    workers: int = 1
    at_once: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    fresh: bool = False
    visual: VisualChoice | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def benchmark(self) -> dict[str, str]:
        return {"name": "ecog", "root": str(self.root.resolve())}

    def folder(self, cell: Cell) -> Path:
        """Where the run of a cell lies."""
        return self.out / cell.name if self.matrix else self.out


def ask_ecog(bench: AskBench, view: AskView) -> tuple[CellOutcome, ...]:
    """Watch what is to be watched, ask what is to be asked, and score all of it.

    Raises:
        EcogError: If the root holds no tree.
        OutFolderError: If the folder holds another run.
        ConfigError: If there is a limit of costs, and a price is not known.
        ModelError: If a model cannot be opened, refuses every clip, or the limit of costs is
            reached; what was answered is kept and scored.
        KeyboardInterrupt: If the person stopped it; likewise.
    """
    tree = load_ecog(bench.root)
    jobs = with_unique_names(ecog_job(clip, language=bench.language) for clip in tree.clips)
    jobs = jobs[: bench.limit]
    asked = [cell for cell in bench.cells if cell.model not in OFFLINE]
    # Before anything takes time: a key or a price that is missing is known at once.
    for cell in asked:
        asyncio.run(open_cell(cell, bench.keys).aclose())
    with claimed(bench.out):
        _prepare(bench)
        with ResponseCache(bench.out / RESPONSES) as cache:
            ledger = _ledger(bench, asked, cache)
            shared = Shared(
                tree=tree,
                jobs=jobs,
                seen=bench.out / SEEN,
                benchmark=bench.benchmark,
                language=bench.language,
                asr=bench.asr,
                workers=bench.workers,
                fresh=bench.fresh,
                keys=bench.keys,
                at_once=bench.at_once,
                settings=read_asking_settings(),
                prompts=load_prompts(),
                cache=cache,
                ledger=ledger,
                unwatched={},
                visual=bench.visual,
            )
            for cell in asked:
                check_folder(cell, bench.folder(cell), shared)
            if any(cell.is_watched for cell in asked):
                unwatched = watch_clips(
                    _watching(bench), jobs, on_plan=view.watching, on_result=view.watched
                )
                shared = replace(shared, unwatched=unwatched)
            return _run_cells(bench, shared, view)


def _run_cells(bench: AskBench, shared: Shared, view: AskView) -> tuple[CellOutcome, ...]:
    outcomes: list[CellOutcome] = []

    def done(outcome: CellOutcome) -> None:
        outcomes.append(outcome)
        if bench.matrix:  # at once: a run that is killed later can be looked at
            _write_matrix(bench, outcomes)

    try:
        for cell in bench.cells:
            run_cell(cell, bench.folder(cell), shared, view, done=done)
    finally:
        if bench.matrix and outcomes:
            write_exports(paper_tables(open_matrix(bench.out).cells), bench.out)
    return tuple(outcomes)


def _ledger(bench: AskBench, asked: list[Cell], cache: ResponseCache) -> Ledger:
    """The account, with what this folder spent before."""
    ledger = Ledger(bench.max_cost, own=bench.price)
    for cell in asked:
        ledger.check(cell.model)
    count_spent(ledger, cache)
    return ledger


def _watching(bench: AskBench) -> Watching:
    return Watching(
        out=bench.out,
        asr=bench.asr,
        language=bench.language,
        benchmark=bench.benchmark,
        workers=bench.workers,
    )


def _prepare(bench: AskBench) -> None:
    """Refuse a folder that holds a run of another kind; cells may be added to a matrix."""
    out = bench.out
    if bench.fresh:
        _forget(out)
    if bench.matrix and (out / PREDICTIONS).exists():
        raise OutFolderError(f"{out} holds a run of one model; give the matrix another --out")
    if not (out / MATRIX).exists():
        return
    if not bench.matrix:
        raise OutFolderError(f"{out} holds a matrix of runs; give a single run another --out")
    stated = open_matrix(out).benchmark.values
    if first_difference(stated, bench.benchmark, ("name", "root")) is not None:
        raise OutFolderError(
            f"{out} holds a matrix over another tree; start over with --fresh or give another --out"
        )


def _forget(out: Path) -> None:
    """Delete what the cells shared; each cell's own run is forgotten when its turn comes.

    A folder of the same name that no run made is left alone.
    """
    made = ((SEEN, out / SEEN / RUN), (TABLES, out / MATRIX))
    for folder in [out / name for name, witness in made if witness.is_file()]:
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
    for name in (RESPONSES, MATRIX):
        (out / name).unlink(missing_ok=True)


def _write_matrix(bench: AskBench, outcomes: list[CellOutcome]) -> None:
    write_json(
        bench.out / MATRIX,
        {
            "format": _MATRIX_FORMAT,
            "version": VERSION,
            "benchmark": bench.benchmark,
            "machine": describe_machine(),
            "cells": [{"name": one.folder.name, **one.facts} for one in outcomes],
        },
    )
