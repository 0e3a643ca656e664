"""``deixis bench``: run a model over a benchmark and score it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from client.bench_asking import AskOptions, AskProgress, words_and_ears
from client.choices import Count, LanguageName, ModelName
from client.chosen_pictures import visual_cost
from client.commands.compare import compared, rich_table
from client.commands.score import print_scores
from client.printing import plain_console, printable
from client.progress import counting_progress
from client.usage import UsageError
from replay.asking.bench import AskBench, ask_ecog
from replay.asking.cell_run import CellOutcome
from replay.asking.cells import Cell, Words, read_matrix
from replay.batch import BatchError, BatchSettings, Result
from replay.bench import EcogBench, bench_ecog
from replay.scoring.cells import open_matrix
from replay.scoring.ecog import EcogScores
from replay.scoring.ecog_json import as_json as scores_as_json
from replay.scoring.paper import paper_tables
from streaming.asking.endpoint import Rejected
from streaming.asking.opening import is_asked
from streaming.build import EngineSettings, language_code
from streaming.config import config_path

_SHIPPED = ("table2", "table3", "table4")


def ecog(
    root: Path,
    *,
    out: Path,
    model: ModelName = "local",
    matrix: Path | None = None,
    language: LanguageName = "auto",
    asr: str = "auto",
    limit: Count | None = None,
    workers: Count = 1,
    pace: Literal["fast", "realtime"] = "fast",
    audit: Annotated[bool, Parameter(negative=())] = False,
    fresh: Annotated[bool, Parameter(negative=())] = False,
    asking: AskOptions | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Run a model over an EcoG-Bench tree and score it; goes on where it stopped.

    Parameters
    ----------
    root
        Root of the tree.
    out
        Run folder.
    model
        `local`, `gemini:NAME`, `openai:NAME` (any server with that protocol), or `scripted:FILE`
        for what a recording answered.
    matrix
        TOML file of models and interfaces, each of which is run; or `table2`, `table3`, `table4`,
        those of the paper. Its tables are printed, and written to `tables` in the run folder.
    language
        `auto` takes each clip's own, from the name of its folder.
    asr
        Whose words a model is sent: the `benchmark`'s transcript or `ours`; a Whisper model, as in
        `deixis replay`, is ours too. `auto` sends ours with `bound`, else the benchmark's.
    limit
        Run only the first so many clips.
    workers
        Number of processes that watch and listen; each loads its own models (about 0.6 GB).
    pace
        `fast` (deterministic) or `realtime`.
    audit
        Check for each clip that is run that no decision used the future (in `fast` pace).
    fresh
        Forget what the run folder holds, responses that were paid for included, and start over.
    as_json
        Print the scores as one JSON object; with a matrix that of `deixis compare`.
    """
    options = asking or AskOptions()
    words, ears = words_and_ears(asr)
    spoken = language_code(language)
    console = plain_console(stderr=as_json)
    if matrix is None and not is_asked(model):
        _check_offline(model, options, words)
        local = _pipeline_bench(
            root, out, model, spoken, asr=ears, limit=limit, workers=workers, pace=pace,
            audit=audit, fresh=fresh,
        )  # fmt: skip
        scores, failed = _run(local, console)
        _show(scores, out, console, as_json=as_json)
        return 1 if failed else 0
    if pace != "fast" or audit:
        raise UsageError("models are asked in fast pace, at a clip's end; an audit is for replays")
    bench = options.bench(
        _cells(model, matrix, options, words), root=root, out=out, matrix=matrix is not None,
        language=spoken, asr=ears, limit=limit, workers=workers, fresh=fresh,
    )  # fmt: skip
    return _ask(bench, console, as_json=as_json)


def _check_offline(model: str, options: AskOptions, words: Words) -> None:
    """Refuse options of asking for a model that is not asked."""
    if model.startswith("scripted:") and not options.is_default:
        raise UsageError(f"{model} holds no recorded responses, which options are for")
    if not options.is_default or words == "benchmark":
        raise UsageError(f"{model} sees and hears for itself; it is not asked through options")


def _ask(bench: AskBench, console: Console, *, as_json: bool) -> int:
    with counting_progress(console) as progress:
        outcomes = ask_ecog(bench, AskProgress(progress))
    if bench.matrix:
        _show_matrix(bench.out, console, as_json=as_json)
    else:
        _show(outcomes[0].scores, bench.out, console, as_json=as_json)
    for outcome in outcomes:
        console.print(printable(took(outcome)))
    return 0 if all(outcome.is_complete for outcome in outcomes) else 1


def _pipeline_bench(
    root: Path,
    out: Path,
    model: str,
    language: str,
    *,
    asr: str,
    limit: int | None,
    workers: int,
    pace: Literal["fast", "realtime"],
    audit: bool,
    fresh: bool,
) -> EcogBench:
    engines = EngineSettings(model=model, asr=asr)
    try:
        settings = BatchSettings(out=out, pace=pace, engines=engines, audit=audit)
    except BatchError as error:
        raise UsageError(str(error)) from error
    return EcogBench(
        root=root, settings=settings, language=language, limit=limit, workers=workers, fresh=fresh
    )


def _cells(model: str, matrix: Path | None, options: AskOptions, words: Words) -> tuple[Cell, ...]:
    if matrix is None:
        return (options.cell(model, words),)
    options.refuse_in_matrix()
    if model != "local" or words != "auto":
        raise UsageError("a matrix file says models and whose words; leave --model and --asr to it")
    return read_matrix(_matrix_path(matrix))


def _matrix_path(named: Path) -> Path:
    """The file, or the project's own of that name."""
    if not named.exists() and str(named) in _SHIPPED:
        return config_path(f"matrix_{named}.toml")
    return named


def _show(scores: EcogScores, out: Path, console: Console, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(scores_as_json(scores)))
    else:
        print_scores(scores, scores_as_json(scores), Console())
        console.print(f"run folder: {printable(str(out))}")


def _show_matrix(out: Path, console: Console, *, as_json: bool) -> None:
    runs = list(open_matrix(out).cells)
    if as_json:
        print(json.dumps(compared(runs), allow_nan=False))
        return
    for table in paper_tables(runs):
        Console().print(rich_table(table))
    console.print(f"run folder: {printable(str(out))}")


def took(outcome: CellOutcome) -> str:
    """What a cell took, and whether it is whole, in a line."""
    facts, usage = outcome.facts, outcome.facts.get("usage") or {}
    told = f"{outcome.cell.model} {outcome.cell.interface}".strip()
    if outcome.cell.when == "binder":
        told += " binder"
    if usage:
        cost = "cost not known" if facts["cost"] is None else f"{facts['cost']:.4f} US dollars"
        written = usage["written"] + usage["thought"]
        told += f": {usage['sent']} tokens sent, {written} written, {cost}"
    told += visual_cost(facts)
    if not outcome.is_complete:
        errors = facts.get("errors", {})
        failed = ", ".join(f"{kind} {count}" for kind, count in errors.items())
        told += "; not complete" + (f" ({failed})" if failed else "")
        # What was rejected would be rejected again.
        told += ": mend what was rejected, then run" if Rejected.kind in errors else ": run"
        told += " the same command again to go on"
    return told


def _run(bench: EcogBench, console: Console) -> tuple[EcogScores, list[Result]]:
    """Run with a progress bar; the scores, and the clips that failed or used the future."""
    failed: list[Result] = []
    with counting_progress(console) as progress:
        bar = progress.add_task("clips", total=None)

        def planned(total: int, done: int) -> None:
            progress.update(bar, total=total, completed=done)

        def came(result: Result) -> None:
            progress.advance(bar)
            if result.error or result.differences:
                failed.append(result)
                why = result.error or "; ".join(map(str, result.differences or ()))
                progress.console.print(f"{printable(result.job.name)}: {printable(why)}")

        scores = bench_ecog(bench, on_plan=planned, on_result=came)
    return scores, failed
