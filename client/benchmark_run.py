"""What a person chooses to ask a model any benchmark, and how its run is shown."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter
from rich.console import Console
from rich.progress import Progress

from client.bench_asking import Temperature, Tokens
from client.choices import Count, Dollars, checked_url
from client.chosen_pictures import chosen_pictures, visual_cost
from client.paper_table import drawn_table
from client.printing import plain_console, printable
from client.progress import counting_progress
from client.usage import UsageError
from replay.asking.cells import Detail
from replay.asking.run_benchmark import Asking, RunOutcome, run_benchmark
from replay.benchmark import Benchmark, Scores
from replay.scoring.paper_values import (
    UNTRUSTED,
    PaperCell,
    PaperTable,
    Share,
    show,
    show_ends,
    show_p,
    show_value,
)
from streaming.asking.costs import own_price
from streaming.asking.endpoint import Generation, Rejected
from streaming.asking.visual_budget import FramesChoice
from streaming.config import ConfigError

S = TypeVar("S", bound=Scores)

REMARKS_SHOWN = 20
"""Of the remarks on a run so many are printed; ``--json`` has what they are about."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a model behind an API, or a recorded one, is asked.

    Parameters
    ----------
    base_url
        Server with the provider's protocol, such as `http://localhost:8000/v1`; keys come from
        the environment.
    at_once
        Most requests under way at once; fewer when the server says that it is overloaded.
    max_cost
        Most US dollars over all responses in the run folder; what would go over is not sent.
    price_in
        US dollars per million tokens sent, in place of the price list.
    price_out
        US dollars per million tokens written, likewise.
    temperature
        0 gives the likeliest text; only then responses are kept to be used again.
    max_tokens
        Longest answer, thoughts included where the provider counts them; without it as the
        benchmark's authors have it. A model that thinks first needs more.
    thinking_budget
        Most tokens of thoughts; 0 for none.
    detail
        How finely pictures are looked at.
    logprobs
        Ask for the log-probability of each token of the answer, where the server offers it.
    frames
        Which pictures are sent under the visual budget: `uniform` as many as fit, spread evenly;
        `roi` hands cut out at full resolution, the rest reduced; `apex` those first in which a hand
        points most. Their tokens are counted, by the provider's formula.
    visual_budget
        Most visual tokens of a request.
    gaze
        Folder of CSV files (`time`, `x`, `y`) by recording: where the wearer looked is cut out too.
    """

    base_url: str | None = None
    at_once: Count | None = None
    max_cost: Dollars | None = None
    price_in: Dollars | None = None
    price_out: Dollars | None = None
    temperature: Temperature = Generation().temperature
    max_tokens: Count | None = None
    thinking_budget: Tokens | None = None
    detail: Detail = "auto"
    logprobs: Annotated[bool, Parameter(negative=())] = False
    frames: FramesChoice | None = None
    visual_budget: Count | None = None
    gaze: Path | None = None

    def asking(
        self,
        model: str,
        out: Path,
        *,
        limit: int | None = None,
        fresh: bool = False,
        errors_as_wrong: bool = False,
    ) -> Asking:
        """Who is asked, how, and where it is written down.

        Raises:
            UsageError: If what was chosen does not go together.
        """
        try:
            price = own_price(self.price_in, self.price_out)
        except ConfigError as error:
            raise UsageError(str(error)) from error
        return Asking(
            out=out,
            model=model,
            base_url=checked_url(self.base_url),
            generation=Generation(
                temperature=self.temperature,
                thinking_budget=self.thinking_budget,
                detail=self.detail,
                logprobs=self.logprobs,
            ),
            max_tokens=self.max_tokens,
            at_once=self.at_once,
            max_cost=self.max_cost,
            price=price,
            limit=limit,
            fresh=fresh,
            errors_as_wrong=errors_as_wrong,
            visual=chosen_pictures(
                model, self.frames, most=self.visual_budget, gaze=self.gaze, detail=self.detail
            ),
            keys=os.environ,
        )


def bench_with(benchmark: Benchmark[S], asking: Asking, *, as_json: bool) -> int:
    """Run a model over a benchmark, score it and show it; the exit code.

    Raises:
        As :func:`replay.asking.run_benchmark.run_benchmark`; what is done is shown before.
    """
    console = plain_console(stderr=as_json)
    outcomes: list[RunOutcome[S]] = []
    try:
        with counting_progress(console) as progress:
            shown = _Shown(progress, f"{benchmark.title}, {asking.model}")
            run_benchmark(benchmark, asking, shown, done=outcomes.append)
    finally:
        for outcome in outcomes:
            show_scores(benchmark, outcome.scores, as_json=as_json)
            console.print(f"run folder: {printable(str(asking.out))}")
            console.print(printable(took(asking.model, outcome.facts)))
    return 0 if all(outcome.is_complete for outcome in outcomes) else 1


def show_scores(benchmark: Benchmark[S], scores: S, *, as_json: bool) -> None:
    """Print the tables and remarks of a scored run, or one JSON object."""
    if as_json:
        print(json.dumps(scores.as_json(), allow_nan=False))
        return
    print_tables(benchmark.tables(scores), scores.remarks())


def print_tables(tables: Sequence[PaperTable], remarks: Sequence[str]) -> None:
    """Print tables for a person, and below them what a reader must know."""
    for table in tables:
        Console().print(drawn_table(table, name=" · ".join, cell=_stacked))
    said = {note for table in tables for note in table.notes}
    unsaid = [line for line in remarks if line not in said]
    plain = plain_console()
    for line in unsaid[:REMARKS_SHOWN]:
        plain.print(printable(line))
    if len(unsaid) > REMARKS_SHOWN:
        plain.print(f"and {len(unsaid) - REMARKS_SHOWN} more")


def _stacked(cell: PaperCell) -> str:
    """The interval below its number, as short as it can be."""
    if not isinstance(cell, Share):
        return show(cell)
    ends = show_ends(cell).replace(", ", "–").replace("[", "").replace("]", "")
    if cell.low == cell.high:  # an interval without a width says nothing but its mark
        ends = "" if cell.low is None else UNTRUSTED
    return "\n".join(filter(None, (show_value(cell), ends, show_p(cell))))


def took(model: str, facts: dict[str, Any]) -> str:
    """What a run took, and whether it is whole, in a line."""
    usage = facts.get("usage") or {}
    told = model
    if usage.get("sent"):
        cost = "cost not known" if facts["cost"] is None else f"{facts['cost']:.4f} US dollars"
        written = usage["written"] + usage["thought"]
        told += f": {usage['sent']} tokens sent, {written} written, {cost}"
    told += visual_cost(facts)
    if not facts["complete"]:
        errors = facts.get("errors", {})
        failed = ", ".join(f"{kind} {count}" for kind, count in errors.items())
        told += "; not complete" + (f" ({failed})" if failed else "")
        # What was rejected would be rejected again.
        told += ": mend what was rejected, then run" if Rejected.kind in errors else ": run"
        told += " the same command again to go on"
    return told


class _Shown:
    """A bar that counts questions, and a line for each that failed."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress = progress
        self._bar = progress.add_task(printable(what), total=None)

    def begun(self, total: int, done: int) -> None:
        self._progress.update(self._bar, total=total, completed=done)

    def came(self, question: str, error: str) -> None:
        self._progress.advance(self._bar)
        if error:
            self._say(f"{question}: {error}")

    def stopping(self) -> None:
        self._say("stopping: waiting for requests under way, which are paid; Ctrl-C drops them")

    def _say(self, text: str) -> None:
        self._progress.console.print(printable(text))
