"""A second score of the same answers: read more tolerantly than the benchmark's authors do.

The difference between the two shows how much of a model's failure is form: a label with its text, a
number in quotes, prose around the JSON. It is never the benchmark's own number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from replay.bench import job_key, part_of
from replay.ecog import EcogTree
from replay.jobs import Job
from replay.out_folder import PREDICTIONS
from replay.predictions import Prediction, read_predictions
from replay.run import write_json
from replay.scoring.cells import MENDED
from replay.scoring.ecog import score_ecog
from replay.scoring.ecog_json import as_json
from streaming.asking.reply import normalised_output, read_reply


def write_mended(tree: EcogTree, jobs: Sequence[Job], out: Path) -> None:
    """Write ``scores_mended.json`` of a run folder."""
    by_key = {job_key(job): job for job in jobs}
    lines = [
        _mended(line, by_key[line.key]) if line.key in by_key and line.error is None else line
        for line in read_predictions(out / PREDICTIONS).lines
    ]
    write_json(out / MENDED, as_json(score_ecog(part_of(tree, jobs), lines)))


def _mended(line: Prediction, job: Job) -> Prediction:
    reply = read_reply(line.output, task=job.task, coord_order=line.coord_order)
    if not reply.readable:
        return line
    return replace(line, output=normalised_output(reply), coord_order="xy")
