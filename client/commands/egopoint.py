"""``deixis score egopoint`` and ``deixis bench egopoint``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from client.benchmark_run import ModelOptions, bench_with, show_scores
from client.choices import Count, ModelName
from client.commands.measure_hallucination import look_at
from client.printing import plain_console
from client.progress import counting_progress
from client.usage import UsageError
from replay.asking.run_benchmark import order_of
from replay.egopoint.benchmark import EgoPoint, read_egopoint_answers
from replay.egopoint.dataset import EgoPointError, EgoPointItem, EgoPointSet, load_egopoint
from replay.egopoint.judge import EgoPointJudge
from replay.egopoint.objects import read_objects
from replay.egopoint.scoring import score_egopoint
from replay.egopoint.spoken import Heard, hear_questions, word_errors
from replay.egopoint.where import EgoPointWhere
from streaming.asking.endpoint import CoordOrder

HEARD, LOOKED = "heard.jsonl", "looked.jsonl"
"""Files of the run folder: the questions as they were heard, and what is on the pictures."""

Flag = Annotated[bool, Parameter(negative=())]


def score(
    predictions: Path,
    dataset: Path,
    *,
    errors_as_wrong: Flag = False,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Score predictions on EgoPoint-Bench: accuracy by dimension, deixis level and type.

    Parameters
    ----------
    predictions
        JSON lines `{"id", "output"}`, with the picture's `image_id` for its first item's id and
        `image_id#2` for its second, as `deixis bench egopoint` writes them; or a results file of
        the authors' scripts.
    dataset
        The benchmark's JSON file, such as `pure_real_test.json`.
    errors_as_wrong
        Count a failed model call as a wrong answer.
    as_json
        Print one JSON object instead of tables.
    """
    data = load_egopoint(dataset)
    read = read_egopoint_answers(predictions, data)
    scores = score_egopoint(
        data.items, read.answers, left_out=data.left_out, errors_as_wrong=errors_as_wrong
    )
    show_scores(EgoPoint(data), scores, as_json=as_json)


def bench(
    dataset: Path,
    *,
    out: Path,
    model: ModelName,
    images: Path | None = None,
    reading: Literal["still", "stream"] = "still",
    question: Literal["text", "speech"] = "text",
    recordings: Path | None = None,
    limit: Count | None = None,
    errors_as_wrong: Flag = False,
    fresh: Flag = False,
    asking: ModelOptions | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Run a model over EgoPoint-Bench and score it; goes on where it stopped.

    Parameters
    ----------
    dataset
        The benchmark's JSON file, such as `pure_real_test.json`.
    out
        Run folder.
    model
        `gemini:NAME`, `openai:NAME` (any server with that protocol), or `scripted:FILE` for
        recorded responses or answers (`{"id", "output"}` a line).
    images
        Folder of the pictures; the dataset's own without. A picture is found by its `image_path`
        below it, or by its name alone.
    reading
        `still` sends the picture; `stream` plays it as a short clip, lets the question arrive at
        its end, and sends the newest frame of what was seen by then.
    question
        How it arrives in a stream: as `text`, or as `speech` over the picture, which our own ears
        hear; the model is asked in their words. Options are always text.
    recordings
        Folder of spoken questions, `<id>.wav` or the like; without it espeak-ng says them.
    limit
        Only the first so many items.
    errors_as_wrong
        Count a failed model call as a wrong answer.
    fresh
        Forget what the run folder holds, responses that were paid for included, and start over.
    as_json
        Print the scores as one JSON object.
    """
    data = load_egopoint(dataset, images=images)
    data = replace(data, items=data.items[:limit])
    _check_pictures(data)
    if recordings is not None and question != "speech":
        raise UsageError("--recordings are of spoken questions; add --question speech")
    if question == "speech" and reading != "stream":
        raise UsageError("--question speech is heard in a stream; add --reading stream")
    spoken = question == "speech"
    heard = _heard(data.items, out, recordings, quiet=as_json) if spoken else None
    benchmark = EgoPoint(data, reading=reading, heard=heard)
    chosen = (asking or ModelOptions()).asking(
        model, out, fresh=fresh, errors_as_wrong=errors_as_wrong
    )
    return bench_with(benchmark, chosen, as_json=as_json)


def _check_pictures(data: EgoPointSet) -> None:
    """Refuse a folder without any of the pictures: every answer would count as wrong."""
    if data.items and not any(item.image.is_file() for item in data.items):
        raise EgoPointError(f"{data.images} has none of the pictures asked about; check --images")


def where(
    dataset: Path,
    *,
    out: Path,
    model: ModelName,
    images: Path | None = None,
    objects: Path | None = None,
    coord_order: CoordOrder | None = None,
    limit: Count | None = None,
    fresh: Flag = False,
    asking: ModelOptions | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Ask where the finger points on EgoPoint-Bench's pictures: at what the ray hits or a lure.

    Looks for the hand on every picture, casts its pointing ray, and tells whether the model's
    point is on what the ray hits, on what is nearest to the hand, or on what stands out most.

    Parameters
    ----------
    dataset
        The benchmark's JSON file.
    out
        Run folder.
    model
        As in `deixis bench egopoint`.
    images
        Folder of the pictures; the dataset's own without.
    objects
        The things on the pictures, as in `deixis measure hallucination`; without it object-like
        regions are found.
    coord_order
        Order of a point's two numbers; the model's own without, `xy` for a file of answers.
    limit
        Only the items of the first so many.
    fresh
        Forget what the run folder holds, responses that were paid for included, and start over.
    as_json
        Print the scores as one JSON object.
    """
    data = load_egopoint(dataset, images=images)
    data = replace(data, items=data.items[:limit])
    chosen = (asking or ModelOptions()).asking(model, out, fresh=fresh)
    order = coord_order or order_of(chosen)
    known = None if objects is None else read_objects(objects)
    sights = look_at(data.items, known, kept=out / LOOKED, quiet=as_json)
    benchmark = EgoPointWhere(
        data, sights, coord_order=order, things="regions" if known is None else "objects"
    )
    return bench_with(benchmark, chosen, as_json=as_json)


def judge(
    predictions: Path,
    dataset: Path,
    *,
    out: Path,
    model: ModelName,
    fresh: Flag = False,
    asking: ModelOptions | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Have a model of your choice judge the open answers of a run, which accuracy leaves out.

    Parameters
    ----------
    predictions
        As for `deixis score egopoint`.
    dataset
        The benchmark's JSON file.
    out
        Run folder of the judgements.
    model
        The judge.
    fresh
        Forget what the run folder holds, responses that were paid for included, and start over.
    as_json
        Print the scores as one JSON object.
    """
    data = load_egopoint(dataset)
    benchmark = EgoPointJudge(data, read_egopoint_answers(predictions, data).answers)
    chosen = (asking or ModelOptions()).asking(model, out, fresh=fresh)
    return bench_with(benchmark, chosen, as_json=as_json)


def _heard(
    items: Sequence[EgoPointItem], out: Path, recordings: Path | None, *, quiet: bool
) -> dict[str, Heard]:
    """What our ears hear of the questions, and how many words they get wrong."""
    console = plain_console(stderr=quiet)
    with counting_progress(console) as progress:
        bar = progress.add_task("listening", total=len(items))
        heard = hear_questions(
            items, out / HEARD, recordings=recordings, on_heard=lambda id: progress.advance(bar)
        )
    errors = word_errors(items, heard)
    console.print(
        f"heard {len(items)} questions: {errors.errors} word errors in {errors.reference} words "
        f"({100 * errors.rate:.1f} %)"
    )
    return heard
