"""``deixis score egosat``, ``deixis bench egosat`` and ``deixis egosat build``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from client.benchmark_run import ModelOptions, bench_with, print_tables
from client.choices import Count, ModelName
from client.commands.report import write_whole
from client.printing import plain_console, printable
from client.usage import UsageError
from replay.egosat.benchmark import Egosat
from replay.egosat.build import build_query_sets, write_query_sets
from replay.egosat.embedding import open_embedder, open_picture_embedder
from replay.egosat.files import EgosatError
from replay.egosat.main_table import as_csv, as_markdown
from replay.egosat.names import TASKS, Task
from replay.egosat.narrations import read_annotations
from replay.egosat.prompts import read_texts
from replay.egosat.queries import FlavourChoice
from replay.egosat.requests import Wording
from replay.egosat.scored import EgosatScores, score_files
from replay.egosat.settings import read_settings
from replay.egosat.tables import egosat_tables
from replay.report.reliability import reliability_diagram

Flag = Annotated[bool, Parameter(negative=())]
Json = Annotated[bool, Parameter(name="--json", negative=())]
Tasks = Annotated[tuple[Task, ...], Parameter(name="--task", negative=())]


def score(
    query_sets: Path,
    predictions: Path,
    *,
    model: str = "",
    split: str = "val",
    path_map: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    out: Path | None = None,
    as_json: Json = False,
) -> None:
    """Score predictions on EgoSAT: the authors' main table, and calibration.

    Parameters
    ----------
    query_sets
        Folder that holds the query sets which the predictions name.
    predictions
        Folder of one model's predictions, `<task>/<flavour>[/sspos_t_1_0]/*.json`, such as
        `results` of a `deixis bench egosat` run.
    model
        Its name in the table; the folder's without.
    split
        Named in the table.
    path_map
        `OLD=NEW` for paths in the predictions that lie elsewhere now; may be repeated.
    out
        Folder for `main_table_metrics.json`, `.csv` and `.md` as the authors write them, and the
        reliability diagrams as SVG.
    as_json
        Print one JSON object instead of tables.
    """
    name = model or predictions.resolve().name
    bins = read_settings().scoring.bins
    scores = score_files(predictions, [query_sets], bins=bins, moved=_moved(path_map))
    if out is not None:
        _write(scores, out, model=name, split=split, predictions=predictions)
    if as_json:
        print(json.dumps(scores.as_json(), allow_nan=False))
        return
    print_tables(egosat_tables(scores, system=name), scores.remarks())
    if out is not None:
        plain_console().print(f"written: {printable(str(out))}")


def _moved(maps: tuple[str, ...]) -> list[tuple[str, str]]:
    found = []
    for one in maps:
        old, sign, new = (part.strip() for part in one.partition("="))
        if not (old and sign and new):
            raise UsageError(f"--path-map {one!r}: expected OLD=NEW")
        found.append((old, new))
    return found


def _write(scores: EgosatScores, out: Path, *, model: str, split: str, predictions: Path) -> None:
    row: dict[str, Any] = {"model": model, "split": split, **scores.row}
    whole = {
        "model": model,
        "split": split,
        "pred_root": str(predictions),
        "metrics": scores.metrics,
        "warnings": list(scores.taken.table.remarks),
    }
    text = json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    write_whole(out / "main_table_metrics.json", text)
    write_whole(out / "main_table_metrics.csv", as_csv([row]))
    write_whole(out / "main_table_metrics.md", as_markdown([row]))
    for name, found in scores.calibrations.items():
        bins = [
            (one.low, one.high, one.confidence, one.accuracy) for one in found.bins if one.count
        ]
        stem = f"reliability_{name.replace(' ', '_')}"
        write_whole(out / f"{stem}.svg", reliability_diagram(bins))


def bench(
    query_sets: Path,
    *,
    videos: Path,
    out: Path,
    model: ModelName,
    task: Tasks = (),
    flavours: FlavourChoice = "scored",
    wording: Wording = "ours",
    confidence: bool = True,
    limit: Count | None = None,
    errors_as_wrong: Flag = False,
    fresh: Flag = False,
    asking: ModelOptions | None = None,
    as_json: Json = False,
) -> int:
    """Run a model over EgoSAT's query sets and score it; goes on where it stopped.

    Parameters
    ----------
    query_sets
        Folder of query sets: the published effective ones, or those of `deixis egosat build`.
    videos
        Folder of the films: `<video_uid>.mp4`, or `<clip_uid>.mp4` of clips cut out of them.
    out
        Run folder; `results` in it are predictions as the authors' scorer reads them, and
        `deixis report` shows it with reliability diagrams.
    model
        `gemini:NAME`, `openai:NAME` (any server with that protocol), or `scripted:FILE` for
        recorded responses or answers (`{"id", "output"}` a line).
    task
        Only this task; may be repeated.
    flavours
        `scored`: what the main table is made of; `open`: descriptions; `all`: both.
    wording
        `ours`, or the prompts that the query sets hold (`file`).
    confidence
        Ask for tokens' probabilities, too: without them columns of confidence stay empty.
    limit
        Only the first so many questions.
    errors_as_wrong
        Count a failed model call as a wrong answer.
    fresh
        Forget what the run folder holds, responses that were paid for included, and start over.
    as_json
        Print the scores as one JSON object.
    """
    benchmark = Egosat(
        query_sets,
        videos,
        flavours=flavours,
        tasks=task or TASKS,
        wording=wording,
        confidence=confidence,
    )
    chosen = (asking or ModelOptions()).asking(
        model, out, limit=limit, fresh=fresh, errors_as_wrong=errors_as_wrong
    )
    return bench_with(benchmark, chosen, as_json=as_json)


def build(
    *annotations: Path,
    out: Path,
    seed: int = 0,
    embedder: str = "minilm",
    pictures: str | None = None,
    videos: Path | None = None,
    split: str = "val",
    as_json: Json = False,
) -> None:
    """Build EgoSAT's query sets from Ego4D's annotations.

    Parameters
    ----------
    annotations
        Ego4D's `fho_main*.json` (hands and objects), `fho_lta_*.json` or `narration.json`.
    out
        Folder for the query sets; `deixis bench egosat` takes it.
    seed
        Of the options: the same seed gives the same bytes.
    embedder
        Of texts: `minilm` (all-MiniLM-L6-v2, offline), `words` (no weights), `clip:FOLDER` of
        CLIP's ONNX export, or `MODULE:NAME` of your own.
    pictures
        For the visual half of Surprise, `clip:FOLDER` or `MODULE:NAME`; text alone without.
    videos
        Folder of `<video_uid>.mp4`, for `--pictures clip:FOLDER`.
    split
        Named in the query sets.
    as_json
        Print one JSON object.
    """
    if not annotations:
        raise UsageError("name one or more of Ego4D's annotation files")
    built = build_query_sets(
        read_annotations(annotations),
        open_embedder(embedder),
        settings=read_settings(),
        texts=read_texts(),
        seed=seed,
        split=split,
        pictures=None if pictures is None else open_picture_embedder(pictures, videos),
    )
    if not built.files:
        why = ", ".join(f"{reason}: {count}" for reason, count in built.left_out.items())
        raise EgosatError(
            f"{annotations[0]}: no query set comes of it ({why or 'it tells nothing'})"
        )
    written = write_query_sets(built, out)
    if as_json:
        told = {"files": len(written), "queries": built.counts, "left_out": built.left_out}
        print(json.dumps(told))
        return
    console = plain_console()
    for place, count in built.counts.items():
        console.print(f"{place}: {count} queries")
    for reason, count in built.left_out.items():
        console.print(printable(f"left out, {reason}: {count}"))
    console.print(f"{len(written)} query sets in {printable(str(out))}")
