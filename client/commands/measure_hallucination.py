"""``deixis measure hallucination``: whether answers follow lures in place of the finger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from client.benchmark_run import print_tables
from client.choices import Count
from client.printing import plain_console, printable
from client.progress import counting_progress
from replay.egopoint.benchmark import read_egopoint_answers
from replay.egopoint.dataset import EgoPointItem, load_egopoint
from replay.egopoint.hallucination import hallucination_table, judge_answers
from replay.egopoint.looking import Looked, look, still_hands
from replay.egopoint.objects import SeenObject, read_objects
from replay.egopoint.scoring import score_egopoint
from replay.media.still import read_still
from replay.source import SourceError
from streaming.models.local_settings import read_local_settings


def hallucination(
    predictions: Path,
    dataset: Path,
    *,
    objects: Path,
    images: Path | None = None,
    limit: Count | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Say how often answers are about what is near the hand or stands out, not what is meant.

    Looks for the hand on every picture, and casts its pointing ray.

    Parameters
    ----------
    predictions
        As for `deixis score egopoint`.
    dataset
        The benchmark's JSON file.
    objects
        The things on the pictures: `{"image_id": [{"name", "box": [x1, y1, x2, y2]}]}` in pixels,
        or `truth.json` of `deixis synth --benchmark egopoint`. The benchmark publishes none.
    images
        Folder of the pictures; the dataset's own without.
    limit
        Only the first so many items.
    as_json
        Print one JSON object.
    """
    data = load_egopoint(dataset, images=images)
    known = read_objects(objects)
    items = data.items[:limit]
    scores = score_egopoint(items, read_egopoint_answers(predictions, data).answers)
    looked = _look_at(items, known, quiet=as_json)
    found = judge_answers(scores.items, known, looked)
    if as_json:
        print(json.dumps(found.as_json(), allow_nan=False))
        return
    print_tables([hallucination_table(found)], [])


def _look_at(
    items: Sequence[EgoPointItem],
    objects: Mapping[str, Sequence[SeenObject]],
    *,
    quiet: bool,
) -> dict[str, Looked]:
    """Look at each picture whose things are known; one that cannot be read is told and left out."""
    pictures = {one.image_id: one.image for one in items if objects.get(one.image_id)}
    pointing = read_local_settings()[0].pointing
    console = plain_console(stderr=quiet)
    looked: dict[str, Looked] = {}
    with counting_progress(console) as progress, still_hands() as hands_of:
        bar = progress.add_task("pictures", total=len(pictures))
        for image_id, path in pictures.items():
            progress.advance(bar)
            try:
                image = read_still(path)
            except SourceError as error:
                console.print(printable(str(error)))
                continue
            looked[image_id] = look(image, objects[image_id], hands_of(image), pointing=pointing)
    return looked
