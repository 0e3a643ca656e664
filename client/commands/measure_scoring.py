"""``deixis measure scoring``: how long it takes to score many predictions."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from client.choices import Count
from client.printing import plain_console
from replay.egoextra.made import measure_egoextra
from replay.measure.scoring import measure_egopoint
from replay.measure.scoring_egosat import measure_egosat

_BENCHMARKS = {
    "egopoint": measure_egopoint,
    "egosat": measure_egosat,
    "egoextra": measure_egoextra,
}


def scoring(
    benchmark: Literal["egopoint", "egosat", "egoextra"] = "egopoint",
    /,
    *,
    predictions: Count = 100_000,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Time the scoring of made predictions on a benchmark, files and tables included.

    Parameters
    ----------
    benchmark
        Which.
    predictions
        How many.
    as_json
        Print one JSON object.
    """
    with tempfile.TemporaryDirectory(prefix="deixis-scoring-") as scratch:
        found = _BENCHMARKS[benchmark](Path(scratch), predictions=predictions)
    if as_json:
        print(json.dumps(found))
        return
    steps = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found["seconds"].items())
    plain_console().print(
        f"{found['predictions']} predictions scored in {found['wall_seconds']:.2f} s "
        f"({found['cpu_seconds']:.2f} s of CPU): {steps}"
    )
