"""What a person chooses for a benchmark run whose models are asked, and how it is shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.progress import Progress, TaskID

from client.choices import Count, Dollars, InterfaceName
from client.chosen_pictures import chosen_pictures
from client.printing import printable
from client.usage import UsageError
from replay.asking.asking import Replied
from replay.asking.bench import AskBench
from replay.asking.cells import Cell, Detail, When, Words
from replay.asking.visual import VisualChoice
from replay.batch import Result
from streaming.asking.costs import own_price
from streaming.asking.endpoint import CoordOrder, Generation
from streaming.asking.visual_budget import FramesChoice
from streaming.config import ConfigError

Temperature = Annotated[float, Parameter(validator=Number(gte=0, lte=2))]
Tokens = Annotated[int, Parameter(validator=Number(gte=0))]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """How models behind an API, or recorded ones, are asked.

    Parameters
    ----------
    interface
        What the model is shown: `video`, `frames`, `frames+asr`, `no_frame_timestamps`,
        `no_word_timing`, or `bound` (what this pipeline worked out), the default.
    when
        Whose times count: the `model`'s, or the `binder`'s (ours), with the model giving what and
        where.
    base_url
        Server with the provider's protocol, such as `http://localhost:8000/v1`; keys come from
        the environment.
    coord_order
        Order of a point's two numbers, where the served model has another than the provider's
        usual one (`yx` for gemini, `xy` for openai).
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
        Longest answer, thoughts included where the provider counts them.
    thinking_budget
        Most tokens of thoughts; 0 for none.
    detail
        How finely pictures are looked at.
    logprobs
        Ask for the log-probability of each token of the answer, where the server offers it.
    frames
        Which pictures the interfaces of frames send under the visual budget: `uniform` as many as
        fit, spread evenly; `roi` hands cut out at full resolution, the rest reduced; `apex` those
        first in which a hand points most. Their tokens are counted, by the provider's formula.
    visual_budget
        Most visual tokens of a request.
    gaze
        Folder of CSV files (`time`, `x`, `y`) by clip: where the wearer looked is cut out too.
    """

    interface: InterfaceName = "bound"
    when: When = "model"
    base_url: str | None = None
    coord_order: CoordOrder | None = None
    at_once: Count | None = None
    max_cost: Dollars | None = None
    price_in: Dollars | None = None
    price_out: Dollars | None = None
    temperature: Temperature = Generation().temperature
    max_tokens: Count = Generation().max_tokens
    thinking_budget: Tokens | None = None
    detail: Detail = "auto"
    logprobs: Annotated[bool, Parameter(negative=())] = False
    frames: FramesChoice | None = None
    visual_budget: Count | None = None
    gaze: Path | None = None

    @property
    def is_default(self) -> bool:
        """Whether nothing was chosen."""
        return self == AskOptions()

    def cell(self, model: str, words: Words) -> Cell:
        """The one cell of a run without a matrix.

        Raises:
            UsageError: If what was chosen does not go together.
        """
        try:
            return Cell(
                model=model,
                interface=self.interface,
                words=words,
                when=self.when,
                base_url=self.base_url or "",
                coord_order=self.coord_order,
                generation=Generation(
                    temperature=self.temperature,
                    max_tokens=self.max_tokens,
                    thinking_budget=self.thinking_budget,
                    detail=self.detail,
                    logprobs=self.logprobs,
                ),
            )
        except ValueError as error:
            raise UsageError(str(error)) from error

    def refuse_in_matrix(self) -> None:
        """Refuse what a matrix file says for each of its runs.

        Raises:
            UsageError: If something of it was chosen.
        """
        shared = AskOptions(
            at_once=self.at_once,
            max_cost=self.max_cost,
            price_in=self.price_in,
            price_out=self.price_out,
            frames=self.frames,
            visual_budget=self.visual_budget,
            gaze=self.gaze,
        )
        if self != shared:
            raise UsageError(
                "a matrix file says models, interfaces and how texts are generated; leave such "
                "options to it"
            )

    def bench(
        self,
        cells: tuple[Cell, ...],
        *,
        root: Path,
        out: Path,
        matrix: bool,
        language: str,
        asr: str,
        limit: int | None,
        workers: int,
        fresh: bool,
    ) -> AskBench:
        """What is to be asked.

        Raises:
            UsageError: If only one of the two prices was given.
        """
        try:
            price = own_price(self.price_in, self.price_out)
        except ConfigError as error:
            raise UsageError(str(error)) from error
        return AskBench(
            root=root,
            out=out,
            cells=cells,
            matrix=matrix,
            language=language,
            asr=asr,
            limit=limit,
            workers=workers,
            at_once=self.at_once,
            max_cost=self.max_cost,
            price=price,
            fresh=fresh,
            visual=self._visual(cells),
            keys=os.environ,
        )

    def _visual(self, cells: tuple[Cell, ...]) -> VisualChoice | None:
        if self.frames is not None and all(c.interface in ("bound", "video") for c in cells):
            raise UsageError(
                "--frames chooses among sampled frames; give --interface frames, frames+asr, "
                "no_word_timing or no_frame_timestamps too"
            )
        return chosen_pictures(
            cells[0].model,
            self.frames,
            most=self.visual_budget,
            gaze=self.gaze,
            detail=self.detail,
        )


def words_and_ears(asr: str) -> tuple[Words, str]:
    """What ``--asr`` means: whose words are sent, and which Whisper model our own ears use.

    Args:
        asr: ``auto``, ``benchmark``, ``ours``, or a Whisper model, which means our own ears.
    """
    given: dict[str, Words] = {"auto": "auto", "benchmark": "benchmark", "ours": "ours"}
    if asr in given:
        return given[asr], "auto"
    return "ours", asr


class AskProgress:
    """Bars for what is watched and asked, and a line for each clip that failed."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar: TaskID | None = None

    def watching(self, total: int, done: int) -> None:
        self._begin("watching", total, done)

    def watched(self, result: Result) -> None:
        self._step(result.job.name, result.error)

    def asking(self, cell: Cell, total: int, done: int) -> None:
        self._begin(f"{cell.model} {cell.interface}".strip(), total, done)

    def replied(self, replied: Replied) -> None:
        self._step(replied.job.name, replied.error)

    def answered(self, result: Result) -> None:
        self._step(result.job.name, result.error)

    def stopping(self) -> None:
        self._say("stopping: waiting for requests under way, which are paid; Ctrl-C drops them")

    def _begin(self, what: str, total: int, done: int) -> None:
        self._bar = self._progress.add_task(printable(what), total=total, completed=done)

    def _step(self, name: str, error: str) -> None:
        if self._bar is not None:
            self._progress.advance(self._bar)
        if error:
            self._say(f"{name}: {error}")

    def _say(self, text: str) -> None:
        self._progress.console.print(printable(text))
