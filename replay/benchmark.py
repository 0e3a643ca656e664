"""What a benchmark is to those who run, score, compare and report it.

There is no registry: a benchmark is one object with the methods of :class:`Benchmark`, made by its
own loader and handed to :func:`replay.asking.run_benchmark.run_benchmark` by its own command. All
that it must not do again lies there: asking at once and in order, retries, the cache of paid
responses, costs and their limit, going on after Ctrl-C or a crash, intervals, tables and files.

``docs/benchmarks.md`` shows how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from replay.answers import Answer
from replay.jobs import NotReplayed
from replay.scoring.paper_values import PaperTable
from streaming.asking.request import Request
from streaming.events import Seconds

UNASKABLE = "source"
"""Kind of the failure of a question whose picture or clip cannot be read."""


class UnaskableError(ValueError):
    """A question that cannot be put, as its source is missing or damaged; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a model: one request, one text that comes back.

    Attributes:
        id: Unique in the benchmark and the same in every run: it names the answer on disk.
        asked_at: Media time of the question in its stream; its request reaches no further.
        compose: Makes the request. It is called in a thread, just before the model is asked, and
            at most twice at once: decode here, not in the loader. It raises
            :class:`UnaskableError` or :class:`replay.source.SourceError` if it cannot.
        max_tokens: Longest answer; None leaves it to the run.
        wanted: More that this question wants of how texts are generated, by the names of
            :class:`streaming.asking.endpoint.Generation`, such as ``{"logprobs": True}``.
    """

    id: str
    asked_at: Seconds = 0.0
    compose: Callable[[], Request] = field(repr=False, compare=False)
    max_tokens: int | None = None
    wanted: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One entry of a benchmark, with all that is asked about it.

    Attributes:
        key: Unique in the benchmark.
        group: What it shares a picture, a film or a speaker with: drawn again as one in intervals.
        sources: Files that must be there; without one its questions are not asked.
        questions: In the order in which they are asked.
    """

    key: str
    group: str
    sources: tuple[Path, ...] = ()
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one scored entry came out as, for intervals and for comparing runs.

    Attributes:
        key: The same in every run.
        group: As :attr:`Item.group`.
        values: By measure, each 0...1; every outcome of a benchmark names its measures alike, and
            leaves out those that do not apply to it.
        answered: Whether there is an answer at all, right or wrong.
    """

    key: str
    group: str
    values: Mapping[str, float]
    answered: bool = True


class Scores(Protocol):
    """What a benchmark makes of a run's answers."""

    @property
    def complete(self) -> bool:
        """Every question has an answer; nothing failed and nothing is missing."""
        ...

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """One for each scored entry, in the benchmark's order."""
        ...

    def as_json(self) -> dict[str, Any]:
        """What ``scores.json`` and ``--json`` say: fractions, None where there is no number."""
        ...

    def remarks(self) -> Sequence[str]:
        """What a reader of the tables must know, one line each."""
        ...


S = TypeVar("S", bound=Scores)


class Benchmark(Protocol[S]):
    """A benchmark that models are asked about.

    Attributes:
        name: Short and stable, such as ``egopoint``.
        title: For a person.
        left_out: Entries that cannot be asked or scored at all, and why.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def left_out(self) -> Sequence[NotReplayed]: ...

    def facts(self) -> dict[str, Any]:
        """In what two parts of one run have to agree: the data's place, and every setting.

        A run folder that was made with other facts is refused. JSON.
        """
        ...

    def items(self) -> Sequence[Item]:
        """What is asked, in order."""
        ...

    def score(
        self, items: Sequence[Item], answers: Sequence[Answer], *, errors_as_wrong: bool = False
    ) -> S:
        """Score a run; pure, and the same for answers in any order.

        Args:
            items: What the run is over: all items, or the first so many of them.
            answers: Those that count, at most one for each question; any may be absent.
            errors_as_wrong: Count a failed model call as a wrong answer. Otherwise it is left out
                of every mean and makes the run incomplete.
        """
        ...

    def tables(self, scores: S, *, system: str = "this run") -> Sequence[PaperTable]:
        """The tables, with published numbers beside ours."""
        ...

    def files(self, answers: Sequence[Answer]) -> Mapping[str, Any]:
        """The answers as the authors' own code reads them: JSON by path below ``results/``."""
        ...
