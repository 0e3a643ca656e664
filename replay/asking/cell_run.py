"""The run of one cell: what is still open is asked, then all of it is scored."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from replay.asking.asking import CellRun, Replied, ask_clips
from replay.asking.cells import OFFLINE, Cell
from replay.asking.loop import until_stopped
from replay.asking.mended import write_mended
from replay.asking.totals import cell_totals
from replay.asking.visual import VisualChoice
from replay.batch import BatchSettings, Result, RunRecord
from replay.bench import EcogBench, bench_ecog, job_key, prepare, write_scores
from replay.ecog import EcogTree
from replay.jobs import Job, NotReplayed
from replay.out_folder import PREDICTIONS, RUN, read_run
from replay.predictions import PredictionLog
from replay.scoring.ecog import EcogScores
from streaming.asking.asker import Asker
from streaming.asking.costs import Ledger
from streaming.asking.endpoint import Endpoint
from streaming.asking.limits import AskingSettings, Limiter
from streaming.asking.opening import open_endpoint
from streaming.asking.prompts import Prompts
from streaming.asking.responses import ResponseCache
from streaming.build import EngineSettings, describe_settings
from streaming.clock import RealtimeClock
from streaming.config import config_path

_MUST_AGREE = (
    "benchmark",
    "language",
    "model",
    "interface",
    "words",
    "when",
    "base_url",
    "coord_order",
    "generation",
    "prompt",
    "config",
    "visual",
)
_ASKING_FILES = ("interfaces.toml", "prefix.toml", "prompt.en.toml", "prompt.zh.toml")
"""What requests are made of: named in a record by what is in them."""


class AskView(Protocol):
    """Shown what happens, as it happens."""

    def watching(self, total: int, done: int) -> None: ...

    def watched(self, result: Result) -> None: ...

    def asking(self, cell: Cell, total: int, done: int) -> None: ...

    def replied(self, replied: Replied) -> None: ...

    def answered(self, result: Result) -> None:
        """A model inside the pipeline answered."""
        ...

    def stopping(self) -> None:
        """The person wants to stop; what is under way is waited for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all cells of one run have in common.

    Attributes:
        tree, jobs: What is asked about.
        seen: Folder of what was watched.
        benchmark, language, asr, workers, fresh, keys, at_once: As in
            :class:`replay.asking.bench.AskBench`.
        settings: How models are asked.
        prompts: The wording.
        cache: Responses that were there already.
        ledger: The account.
        unwatched: Why clips could not be watched, by name.
        visual: Which pictures are sent by the interfaces of frames; all of them without.
    """

    tree: EcogTree
    jobs: Sequence[Job]
    seen: Path
    benchmark: dict[str, str]
    language: str
    asr: str
    workers: int
    fresh: bool
    keys: Mapping[str, str] = field(repr=False)
    at_once: int | None
    settings: AskingSettings
    prompts: Prompts
    cache: ResponseCache
    ledger: Ledger
    unwatched: Mapping[str, str]
    visual: VisualChoice | None = None

    def visual_of(self, cell: Cell) -> VisualChoice | None:
        """Which pictures a cell sends; captions of other interfaces tell of each picture."""
        if self.visual is None or cell.interface in ("bound", "video"):
            return None
        return self.visual.for_model(cell.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutcome:
    """What became of a cell.

    Attributes:
        cell: The cell.
        folder: Where its run lies.
        scores: Of all that is answered.
        facts: As in ``matrix.json``.
    """

    cell: Cell
    folder: Path
    scores: EcogScores
    facts: dict[str, Any]

    @property
    def is_complete(self) -> bool:
        return bool(self.facts["complete"])


def open_cell(cell: Cell, keys: Mapping[str, str]) -> Endpoint:
    """The endpoint of a cell.

    Raises:
        ModelError: If it cannot be opened.
    """
    return open_endpoint(
        cell.model,
        keys=keys,
        base_url=cell.base_url or None,
        coord_order=cell.coord_order,
        takes_films=cell.interface == "video",
    )


def check_folder(cell: Cell, folder: Path, shared: Shared) -> None:
    """Refuse a cell's folder that holds another run, before anything takes time.

    Raises:
        OutFolderError: If it does, or its ``run.json`` is damaged.
    """
    if shared.fresh:
        read_run(folder)
    else:
        prepare(folder, _facts(cell, shared), fresh=False, agree=_MUST_AGREE)


def run_cell(
    cell: Cell,
    folder: Path,
    shared: Shared,
    view: AskView,
    *,
    done: Callable[[CellOutcome], None],
) -> None:
    """Run one cell and score it; ``done`` is told the outcome, also when the run breaks off.

    Raises:
        OutFolderError: If the folder holds another run.
        ModelError: As :func:`replay.asking.asking.ask_clips`.
        KeyboardInterrupt: If the person stopped it.
    """
    if cell.model in OFFLINE:
        done(_run_offline(cell, folder, shared, view))
        return
    folder.mkdir(parents=True, exist_ok=True)
    facts = _facts(cell, shared)
    prepare(folder, facts, fresh=shared.fresh, agree=_MUST_AGREE)
    record = RunRecord(folder, facts)
    for left in shared.tree.left_out:
        record.add_failed(NotReplayed(source=left.video_name, reason=left.reason))
    errors: Counter[str] = Counter()

    def came(replied: Replied) -> None:
        errors.update([replied.kind] if replied.kind else [])
        view.replied(replied)

    if not (folder / RUN).exists():
        record.write()  # before any prediction: whoever is killed in between can go on
    with PredictionLog(folder / PREDICTIONS) as log:
        todo = [job for job in shared.jobs if job_key(job) not in log.answered]
        record.keep(job.name for job in shared.jobs if job_key(job) in log.answered)
        record.write()
        view.asking(cell, len(shared.jobs), len(shared.jobs) - len(todo))
        run = CellRun(
            cell=cell,
            out=folder,
            seen=shared.seen,
            facts=facts,
            prompts=shared.prompts,
            at_once=shared.at_once or shared.settings.at_once,
            unwatched=shared.unwatched,
            visual=shared.visual_of(cell),
        )
        try:
            asyncio.run(_ask(run, shared, todo, log=log, record=record, came=came, view=view))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            left_over = [job for job in shared.jobs if job_key(job) not in log.answered]
            done(_close(cell, folder, shared, record, errors, complete=not left_over))


async def _ask(
    run: CellRun,
    shared: Shared,
    todo: Sequence[Job],
    *,
    log: PredictionLog,
    record: RunRecord,
    came: Callable[[Replied], None],
    view: AskView,
) -> None:
    clock = RealtimeClock()
    asker = Asker(
        open_cell(run.cell, shared.keys),
        run.cell.generation,
        limiter=Limiter(run.at_once, clock=clock),
        retry=shared.settings.retry,
        cache=shared.cache,
        ledger=shared.ledger,
        clock=clock,
        format_retries=shared.settings.format_retries,
    )

    async def work(stop: asyncio.Event) -> None:
        await ask_clips(run, asker, todo, log=log, record=record, on_result=came, stop=stop)

    try:
        await until_stopped(work, on_stop=view.stopping)
    finally:
        await asker.aclose()


def _facts(cell: Cell, shared: Shared) -> dict[str, Any]:
    visual = shared.visual_of(cell)
    return {
        "visual": None if visual is None else visual.facts(),
        "command": "bench",
        "pace": "fast",
        "language": shared.language,
        "benchmark": shared.benchmark,
        "prompt": _prompt_names(shared.prompts),
        # Only what is watched depends on the numbers of eyes, ears and binding.
        "config": {
            "asking": {name: _digest(config_path(name)) for name in _ASKING_FILES},
            "watching": _watching_settings(shared) if cell.is_watched else None,
        },
        **cell.as_facts(),
    }


def _watching_settings(shared: Shared) -> dict[str, Any]:
    return describe_settings(EngineSettings(asr=shared.asr))


def _prompt_names(prompts: Prompts) -> str:
    return ", ".join(sorted(prompt.name for prompt in prompts.by_language.values()))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _close(
    cell: Cell,
    folder: Path,
    shared: Shared,
    record: RunRecord,
    errors: Counter[str],
    *,
    complete: bool,
) -> CellOutcome:
    """Score what there is and state what it took."""
    scores = write_scores(shared.tree, shared.jobs, folder)
    write_mended(shared.tree, shared.jobs, folder)
    totals = cell_totals(
        (folder / job.name for job in shared.jobs), price=shared.ledger.price_of(cell.model)
    )
    facts = cell.as_facts() | {
        "prompt": _prompt_names(shared.prompts),
        "complete": complete,
        **totals,
        "errors": dict(sorted(errors.items())),
    }
    record.state(**facts)
    record.arrange([job.name for job in shared.jobs])
    record.write()
    return CellOutcome(cell=cell, folder=folder, scores=scores, facts=facts)


def _run_offline(cell: Cell, folder: Path, shared: Shared, view: AskView) -> CellOutcome:
    engines = EngineSettings(model=cell.model, asr=shared.asr)
    bench = EcogBench(
        root=shared.tree.root,
        settings=BatchSettings(out=folder, engines=engines),
        language=shared.language,
        limit=len(shared.jobs),
        workers=shared.workers,
        fresh=shared.fresh,
    )
    scores = bench_ecog(
        bench,
        on_plan=lambda total, done: view.asking(cell, total, done),
        on_result=view.answered,
    )
    write_mended(shared.tree, shared.jobs, folder)
    facts = cell.as_facts() | {"prompt": "", "complete": scores.complete, "cost": 0.0}
    return CellOutcome(cell=cell, folder=folder, scores=scores, facts=facts)
