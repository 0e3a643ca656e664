"""Who answers a benchmark's questions: a model that is asked, or a file of answers that is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from replay.answers import Answer, AnswersError, read_answers
from replay.asking.cells import OFFLINE
from replay.benchmark import Question
from streaming.asking.asker import Asked, Asker
from streaming.asking.costs import Ledger
from streaming.asking.endpoint import AttemptFailed, Completion, Endpoint, Generation, TokenChance
from streaming.asking.limits import AskingSettings, Limiter
from streaming.asking.opening import is_asked, open_endpoint
from streaming.asking.request import Request
from streaming.asking.responses import ResponseCache
from streaming.clock import RealtimeClock
from streaming.grounding_query import ModelError

_SCRIPTED = "scripted:"


class Unrecorded(AttemptFailed):
    """A file of answers that has none to a question."""

    kind = "unrecorded"


class Respondent(Protocol):
    """Answers questions.

    Attributes:
        endpoint: Who is asked; None where answers are read from a file.
    """

    @property
    def endpoint(self) -> Endpoint | None: ...

    def generation_of(self, question: Question) -> Generation:
        """How the text of this question is generated."""
        ...

    async def answer(self, question: Question, request: Request) -> Asked:
        """The answer.

        Raises:
            AttemptFailed: If there is none.
            ResponsesError: If it cannot be kept.
        """
        ...

    async def aclose(self) -> None: ...


def open_model(
    model: str, *, keys: Mapping[str, str], base_url: str | None, takes_films: bool = True
) -> Endpoint | None:
    """The endpoint of a model as named on the command line; None for a file of answers.

    Raises:
        ModelError: If it cannot be opened.
        AnswersError: If ``scripted:FILE`` is a file of something else.
    """
    if model in OFFLINE:
        raise ModelError(
            f"{model} cannot answer this benchmark; use gemini:NAME, openai:NAME or scripted:FILE"
        )
    if is_asked(model) or not model.startswith(_SCRIPTED):
        return open_endpoint(model, keys=keys, base_url=base_url, takes_films=takes_films)
    read_answers(_file(model))
    return None


def _file(model: str) -> Path:
    return Path(model.removeprefix(_SCRIPTED))


class AskedEndpoint:
    """A model behind an endpoint; questions that want to be generated alike share an asker."""

    def __init__(
        self,
        endpoint: Endpoint,
        generation: Generation,
        *,
        max_tokens: int | None,
        at_once: int | None,
        settings: AskingSettings,
        cache: ResponseCache,
        ledger: Ledger,
    ) -> None:
        self.endpoint: Endpoint | None = endpoint
        self._asked = endpoint
        self._generation = generation
        self._max_tokens = max_tokens
        self._settings = settings
        self._cache = cache
        self._ledger = ledger
        self._clock = RealtimeClock()
        self._limiter = Limiter(at_once or settings.at_once, clock=self._clock)
        self._askers: dict[str, Asker] = {}

    def generation_of(self, question: Question) -> Generation:
        longest = self._max_tokens or question.max_tokens or self._generation.max_tokens
        return replace(self._generation, max_tokens=longest, **question.wanted)

    async def answer(self, question: Question, request: Request) -> Asked:
        generation = self.generation_of(question)
        name = str(generation)
        if name not in self._askers:
            self._askers[name] = Asker(
                self._asked,
                generation,
                limiter=self._limiter,
                retry=self._settings.retry,
                cache=self._cache,
                ledger=self._ledger,
                clock=self._clock,
            )
        return await self._askers[name].ask(request)

    async def aclose(self) -> None:
        await self._asked.aclose()


class Recital:
    """Reads answers by the names of their questions from a file, such as another run's."""

    endpoint: Endpoint | None = None

    def __init__(self, model: str, generation: Generation) -> None:
        path = _file(model)
        self._path = path
        self._generation = generation
        try:
            self._answers: dict[str, Answer] = {
                answer.id: answer for answer in read_answers(path).answers
            }
        except OSError as error:
            raise AnswersError(f"{path}: {error.strerror or error}") from error

    def generation_of(self, question: Question) -> Generation:
        return self._generation

    async def answer(self, question: Question, request: Request) -> Asked:
        found = self._answers.get(question.id)
        if found is None or found.error is not None:
            why = "no answer" if found is None else f"an error ({found.error})"
            raise Unrecorded(f"{self._path} has {why} for question {question.id}")
        completion = Completion(
            text=found.output,
            finish="length" if found.cut_off else "stop",
            chances=_told_chances(found),
        )
        return Asked(completion=completion, request=request, from_cache=True)

    async def aclose(self) -> None:
        """Nothing is open."""


def _told_chances(answer: Answer) -> tuple[TokenChance, ...]:
    places = answer.alternatives or ((),) * len(answer.chances)
    return tuple(
        TokenChance(
            token=token,
            logprob=logprob,
            alternatives=tuple(TokenChance(token=one, logprob=p) for one, p in place),
        )
        for (token, logprob), place in zip(answer.chances, places, strict=True)
    )
