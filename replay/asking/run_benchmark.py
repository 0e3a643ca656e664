"""Any benchmark with a model that is asked: paid once, gone on with, costed, scored, written down.

The run folder::

    run.json           what was asked and how, what failed, what it took
    predictions.jsonl  the answers (:mod:`replay.answers`)
    asked.jsonl        each request by its parts' digests, and what came of it
    responses.jsonl    every response that was paid for
    scores.json        tables/  results/ (the answers in the authors' own format)

A run that was interrupted, killed or stopped by its limit of costs goes on where it was: answered
questions are not asked again, and a response that had come but was not yet entered is taken from
``responses.jsonl``.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from replay.answers import Answer, AnswerLog, read_answers
from replay.asking.clip_record import describe_asked
from replay.asking.loop import COMPOSED_AT_ONCE, ask_each, until_stopped
from replay.asking.respondents import AskedEndpoint, Recital, Respondent, open_model
from replay.asking.run_files import RESULTS, write_run_files
from replay.asking.totals import count_spent, totals
from replay.asking.visual import GazeError, VisualChoice, visual_totals
from replay.batch import RunRecord
from replay.bench import prepare
from replay.benchmark import UNASKABLE, Benchmark, Item, Question, Scores, UnaskableError
from replay.export import FOLDER as TABLES
from replay.jobs import NotReplayed
from replay.line_log import LineLog, whole_lines
from replay.loose_json import Fields
from replay.out_folder import PREDICTIONS, RUN, claimed, read_run
from replay.source import SourceError
from streaming.asking.asker import Asked
from streaming.asking.costs import Ledger, Price
from streaming.asking.endpoint import AttemptFailed, CoordOrder, Generation, OverBudget, TokenChance
from streaming.asking.limits import read_asking_settings
from streaming.asking.request import Request
from streaming.asking.responses import ResponseCache, ResponsesError
from streaming.asking.visual_budget import VisualUse

ASKED, RESPONSES = "asked.jsonl", "responses.jsonl"
_MUST_AGREE = ("benchmark", "facts", "model", "base_url", "generation", "visual")

S = TypeVar("S", bound=Scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who is asked, how, and where it is written down.

    Attributes:
        out: The run folder.
        model: ``gemini:NAME``, ``openai:NAME``, or ``scripted:FILE`` of responses or answers.
        base_url: The server, where it is not the provider's own.
        generation: How texts are generated; its ``max_tokens`` where a question says nothing.
        max_tokens: Longest answer to every question, whatever it says itself.
        at_once: Most requests at once; the project's own setting without.
        max_cost: Most US dollars, over all that this folder ever asked.
        price: In place of the price list.
        limit: Only the first so many items.
        fresh: Forget what the folder holds, paid responses included.
        errors_as_wrong: As :meth:`replay.benchmark.Benchmark.score`.
        visual: Which of a request's pictures are sent; as they were composed without.
        keys: The environment.
    """

    out: Path
    model: str
    base_url: str | None = None
    generation: Generation = field(default_factory=Generation)
    max_tokens: int | None = None
    at_once: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    limit: int | None = None
    fresh: bool = False
    errors_as_wrong: bool = False
    visual: VisualChoice | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)


class RunView(Protocol):
    """Shown what happens, as it happens."""

    def begun(self, total: int, done: int) -> None:
        """So many questions there are, and so many have an answer already."""
        ...

    def came(self, question: str, error: str) -> None:
        """A question was answered, or failed."""
        ...

    def stopping(self) -> None:
        """The person wants to stop; what is under way is waited for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome(Generic[S]):
    """What became of a run.

    Attributes:
        scores: Of all that is answered.
        facts: What ``run.json`` says of it: ``complete``, ``usage``, ``cost``, ``errors``.
    """

    scores: S
    facts: dict[str, Any]

    @property
    def is_complete(self) -> bool:
        return bool(self.facts["complete"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Put:
    """A question, with the item that it is about."""

    item: Item
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    put: _Put
    request: Request | None = None
    visual: VisualUse | None = None
    asked: Asked | None = None
    error: str = ""
    kind: str = ""


def run_benchmark(
    benchmark: Benchmark[S],
    asking: Asking,
    view: RunView,
    *,
    done: Callable[[RunOutcome[S]], None] = lambda outcome: None,
) -> RunOutcome[S]:
    """Ask what is still to be asked, then score all of it.

    Args:
        benchmark: What is asked.
        asking: Who, and how.
        view: Is shown what happens.
        done: Told the outcome, also when the run breaks off.

    Raises:
        OutFolderError: If the folder holds another run.
        ConfigError: If there is a limit of costs, and the price is not known.
        ModelError: If the model cannot be opened, refuses everything, or the limit of costs is
            reached; what was answered is kept and scored.
        KeyboardInterrupt: If the person stopped it; likewise.
    """
    items = benchmark.items()[: asking.limit]
    ledger = check_run(benchmark, asking)
    out, facts = asking.out, _facts(benchmark, asking)
    with claimed(out):
        if asking.fresh:
            _forget(out)
        prepare(out, facts, fresh=asking.fresh, agree=_MUST_AGREE)
        record = RunRecord(out, facts)
        for left in benchmark.left_out:
            record.add_failed(left)
        if not (out / RUN).exists():
            record.write()  # before any answer: whoever is killed in between can go on
        with (
            ResponseCache(out / RESPONSES) as cache,
            AnswerLog(out / PREDICTIONS) as log,
            LineLog(out / ASKED) as asked,
        ):
            count_spent(ledger, cache)
            run = _Run(benchmark, asking, items, log=log, asked=asked, record=record)
            try:
                run.ask(view, cache, ledger)
            finally:
                outcome = run.close(ledger)
                done(outcome)
    return outcome


def check_run(benchmark: Benchmark[S], asking: Asking) -> Ledger:
    """Refuse what cannot be asked, before anything takes time; the account, with nothing on it.

    Raises:
        OutFolderError: If the folder holds another run.
        ConfigError: If there is a limit of costs, and the price is not known.
        ModelError: If the model cannot be opened, such as without a key.
    """
    ledger = Ledger(asking.max_cost, own=asking.price)
    endpoint = open_model(asking.model, keys=asking.keys, base_url=asking.base_url)
    if endpoint is not None:
        ledger.check(endpoint.name)
        asyncio.run(endpoint.aclose())
    if asking.fresh:
        read_run(asking.out)
    else:
        prepare(asking.out, _facts(benchmark, asking), fresh=False, agree=_MUST_AGREE)
    return ledger


def order_of(asking: Asking) -> CoordOrder:
    """Order of a point's two numbers in the answers of a model; ``xy`` for a file of answers.

    Raises:
        ModelError: If the model cannot be opened.
    """
    endpoint = open_model(asking.model, keys=asking.keys, base_url=asking.base_url)
    if endpoint is None:
        return "xy"
    asyncio.run(endpoint.aclose())
    return endpoint.coord_order


def _facts(benchmark: Benchmark[S], asking: Asking) -> dict[str, Any]:
    generation = replace(
        asking.generation, max_tokens=asking.max_tokens or asking.generation.max_tokens
    )
    return {
        "command": "bench",
        "pace": "fast",
        "model": asking.model,
        "base_url": asking.base_url or "",
        "generation": generation.as_key(),
        "benchmark": {"name": benchmark.name, "title": benchmark.title},
        "facts": benchmark.facts(),
        "visual": None if asking.visual is None else asking.visual.facts(),
    }


def _forget(out: Path) -> None:
    """Delete what runs write beside ``run.json``; folders of such names without one are left."""
    if not (out / RUN).is_file():
        return
    for name in (TABLES, RESULTS):
        if (out / name).is_dir() and not (out / name).is_symlink():
            shutil.rmtree(out / name)
    for name in (ASKED, RESPONSES):
        (out / name).unlink(missing_ok=True)


class _Run(Generic[S]):
    """One run over the questions of some items."""

    def __init__(
        self,
        benchmark: Benchmark[S],
        asking: Asking,
        items: Sequence[Item],
        *,
        log: AnswerLog,
        asked: LineLog,
        record: RunRecord,
    ) -> None:
        self._benchmark = benchmark
        self._asking = asking
        self._log = log
        self._asked = asked
        self._record = record
        self._items = items
        self._puts = [_Put(item=item, question=q) for item in items for q in item.questions]
        self._errors: Counter[str] = Counter()
        self._composing = asyncio.Semaphore(COMPOSED_AT_ONCE)
        self._respondent: Respondent | None = None

    def ask(self, view: RunView, cache: ResponseCache, ledger: Ledger) -> None:
        """Ask what has no answer yet."""
        todo = [put for put in self._puts if put.question.id not in self._log.answered]
        self._record.write()
        view.begun(len(self._puts), len(self._puts) - len(todo))
        try:
            asyncio.run(self._ask_all(todo, view, cache, ledger))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    async def _ask_all(
        self, todo: Sequence[_Put], view: RunView, cache: ResponseCache, ledger: Ledger
    ) -> None:
        respondent = self._respondent = self._open(cache, ledger)
        at_once = self._asking.at_once or read_asking_settings().at_once

        def keep(reply: _Reply) -> None:
            self._keep(reply)
            view.came(reply.put.question.id, reply.error)

        async def work(stop: asyncio.Event) -> None:
            await ask_each(todo, ask=self._ask, keep=keep, at_once=at_once, stop=stop)

        try:
            await until_stopped(work, on_stop=view.stopping)
        finally:
            await respondent.aclose()

    def _open(self, cache: ResponseCache, ledger: Ledger) -> Respondent:
        asking = self._asking
        endpoint = open_model(asking.model, keys=asking.keys, base_url=asking.base_url)
        if endpoint is None:
            return Recital(asking.model, asking.generation)
        return AskedEndpoint(
            endpoint,
            asking.generation,
            max_tokens=asking.max_tokens,
            at_once=asking.at_once,
            settings=read_asking_settings(),
            cache=cache,
            ledger=ledger,
        )

    async def _ask(self, put: _Put) -> _Reply:
        assert self._respondent is not None, "opened before anything is asked"
        question, request, use = put.question, None, None
        try:
            async with self._composing:
                request, use = await asyncio.to_thread(_composed, put, self._asking.visual)
            asked = await self._respondent.answer(question, request)
        except (OverBudget, ResponsesError):
            raise
        except AttemptFailed as failure:
            return _Reply(put=put, request=request, error=str(failure), kind=failure.kind)
        except (UnaskableError, SourceError, GazeError) as error:
            return _Reply(put=put, error=str(error), kind=UNASKABLE)
        return _Reply(put=put, request=request, visual=use, asked=asked)

    def _keep(self, reply: _Reply) -> None:
        question, asked = reply.put.question, reply.asked
        if asked is None:
            self._errors[reply.kind] += 1
            self._log.append(Answer(id=question.id, error=reply.error, kind=reply.kind))
            failed = NotReplayed(source=question.id, reason=reply.error)
            self._record.add_failed(failed)
            return
        assert reply.request is not None, "answers are to requests"
        assert self._respondent is not None, "opened before anything is asked"
        endpoint = self._respondent.endpoint
        if endpoint is not None:
            generation = self._respondent.generation_of(question)
            described = describe_asked(asked, reply.request, endpoint, generation)
        else:
            described = {"model": self._asking.model, "request": reply.request.described()}
        if reply.visual is not None:
            described["visual"] = reply.visual.described()
        self._asked.write({"id": question.id, "item": reply.put.item.key, **described})
        self._log.append(_answer(question, asked))

    def close(self, ledger: Ledger) -> RunOutcome[S]:
        """Score what there is, and write all of it."""
        out, benchmark = self._asking.out, self._benchmark
        puts = {put.question.id for put in self._puts}
        kept = read_answers(out / PREDICTIONS).answers
        answers = [answer for answer in kept if answer.id in puts]
        scores = benchmark.score(self._items, answers, errors_as_wrong=self._asking.errors_as_wrong)
        write_run_files(benchmark, scores, answers, out)
        facts = {
            "complete": scores.complete,
            "questions": len(puts),
            **self._totals(puts, ledger),
            "errors": dict(sorted(self._errors.items())),
        }
        self._record.state(**facts)
        self._record.write()
        return RunOutcome(scores=scores, facts=facts)

    def _totals(self, puts: set[str], ledger: Ledger) -> dict[str, Any]:
        last = {
            line["id"]: Fields(line)
            for line in whole_lines(self._asking.out / ASKED)
            if isinstance(line, dict) and line.get("id") in puts
        }
        counted = visual_totals(last.values())
        priced = totals(last.values(), price=ledger.price_of(self._asking.model))
        return priced if counted is None else {**priced, "visual_tokens": counted}


def _composed(put: _Put, visual: VisualChoice | None) -> tuple[Request, VisualUse | None]:
    for source in put.item.sources:
        if not source.is_file():
            raise UnaskableError(f"{source}: no such file")
    request = put.question.compose()
    assert request.asked_at <= put.question.asked_at + 1e-6, "a request that reaches too far"
    return (request, None) if visual is None else visual.applied(request, group=put.item.group)


def _answer(question: Question, asked: Asked) -> Answer:
    completion = asked.completion
    usage = completion.usage
    return Answer(
        id=question.id,
        output=completion.text,
        cut_off=completion.finish == "length",
        chances=tuple((chance.token, chance.logprob) for chance in completion.chances),
        alternatives=_alternatives(completion.chances),
        seconds=None if asked.from_cache else asked.seconds,
        sent=usage.sent,
        written=usage.written + usage.thought,
    )


def _alternatives(chances: Sequence[TokenChance]) -> tuple[tuple[tuple[str, float], ...], ...]:
    if not any(chance.alternatives for chance in chances):
        return ()
    return tuple(
        tuple((one.token, one.logprob) for one in chance.alternatives) for chance in chances
    )
