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
from replay.egopoint.looking import still_hands
from replay.egopoint.objects import SeenObject, read_objects
from replay.egopoint.scoring import score_egopoint
from replay.egopoint.sighting import Sight, sights_of


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
    sights = look_at(items, known, kept=None, quiet=as_json)
    looked = {image_id: sight.looked for image_id, sight in sights.items()}
    found = judge_answers(scores.items, known, looked)
    if as_json:
        print(json.dumps(found.as_json(), allow_nan=False))
        return
    print_tables([hallucination_table(found)], [])


def look_at(
    items: Sequence[EgoPointItem],
    objects: Mapping[str, Sequence[SeenObject]] | None,
    *,
    kept: Path | None,
    quiet: bool,
) -> dict[str, Sight]:
    """Look at each picture with a progress bar; one that cannot be read is told and left out."""
    console = plain_console(stderr=quiet)
    pictures = {one.image_id for one in items if objects is None or objects.get(one.image_id)}
    with counting_progress(console) as progress:
        bar = progress.add_task("looking at pictures", total=len(pictures))

        def done(image_id: str, error: str) -> None:
            progress.advance(bar)
            if error:
                progress.console.print(printable(error))

        return sights_of(items, objects, kept=kept, open_hands=still_hands, on_picture=done)
