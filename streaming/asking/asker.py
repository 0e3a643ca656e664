"""Asking an endpoint until there is an answer: places, retries, the cache and the costs.

A failure that another attempt cannot mend is raised at once, any other after the last attempt. What
was answered before is not asked again, and equal requests that come together are asked once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from streaming.asking.costs import Ledger, Prices
from streaming.asking.endpoint import (
    AttemptFailed,
    Completion,
    EmptyReply,
    Endpoint,
    Exhausted,
    Generation,
    Overloaded,
    ServerFault,
    TextPiece,
    TooSlow,
    Usage,
)
from streaming.asking.json_text import Repair, parse_output
from streaming.asking.limits import Limiter, RetryPolicy
from streaming.asking.request import Request, TextPart
from streaming.asking.responses import (
    Flights,
    ResponseCache,
    describe_response,
    response_key,
)
from streaming.clock import Clock, RealtimeClock
from streaming.events import Counters, Seconds
from streaming.grounding_query import ModelError

OnText: TypeAlias = Callable[[str], None]
"""Told the whole text so far, each time that it grows; a new attempt begins from the start."""

_LONGEST_TOLD = 200_000
"""Characters of a text after which nobody is told of more; no answer is so long."""
_GRACE: Seconds = 5.0
"""An endpoint gives up by itself; this much later it is given up for it."""
_NOTE = (
    "This was your previous answer:\n{text}\n"
    "It cannot be read as JSON. Give the same answer again as one valid JSON object that follows "
    "the format asked for above, and nothing else."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An answer, and how it was come by.

    Attributes:
        completion: The answer.
        request: What was asked last; another than the first when the first text was unreadable.
        from_cache: It was there already and cost nothing.
        attempts: Attempts that it took, over all format retries; 0 when from the cache.
        waited: Seconds between them.
        failures: Kinds of those that failed, in order.
        seconds: Of the last attempt.
        unreadable: Texts that were passed over because they could not be read.
    """

    completion: Completion
    request: Request = field(repr=False)
    from_cache: bool = False
    attempts: int = 0
    waited: Seconds = 0.0
    failures: tuple[str, ...] = ()
    seconds: Seconds = 0.0
    unreadable: tuple[str, ...] = ()


class Asker:
    """Asks one endpoint.

    Args:
        endpoint: Who is asked.
        generation: How texts are generated.
        limiter: Shared by all who ask the same server; one of 8 places without.
        retry: When another attempt is made.
        cache: Answers that were there already; none without.
        ledger: Counts tokens and money; one without a limit and without prices without.
        clock: Of this event loop; made here without.
        rng: For the waits.
        format_retries: How often a text that cannot be read as JSON is sent back with a note.

    Attributes:
        endpoint, generation, ledger: The same.
        counters: ``cache_hits``, ``joined`` (asked together with an equal request),
            ``format_retries``, and ``attempt_<kind>`` for each kind of failure.

    Raises:
        ConfigError: If the ledger has a limit and the model's price is not known.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        generation: Generation | None = None,
        *,
        limiter: Limiter | None = None,
        retry: RetryPolicy | None = None,
        cache: ResponseCache | None = None,
        ledger: Ledger | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        format_retries: int = 0,
    ) -> None:
        self.endpoint = endpoint
        self.generation = generation or Generation()
        self.ledger = ledger if ledger is not None else Ledger(prices=Prices())
        self.ledger.check(endpoint.name)
        self.counters = Counters()
        self._clock = clock or RealtimeClock()
        self._limiter = limiter or Limiter(8, clock=self._clock)
        self._retry = retry or RetryPolicy()
        self._cache = cache
        self._flights: Flights = cache.flights if cache is not None else {}
        self._rng = rng or random.Random(0)
        self._format_retries = format_retries

    async def ask(self, request: Request, on_text: OnText | None = None) -> Asked:
        """The answer to ``request``.

        Raises:
            AttemptFailed: If there is none; the failure of the last attempt.
            ResponsesError: If the answer cannot be written to the cache.
        """
        asked = await self._once(request, on_text)
        for _ in range(self._format_retries):
            text = asked.completion.text
            # A text that was cut off is no mistake of form: it would be cut off again.
            if asked.completion.finish != "stop" or _is_readable(text):
                break
            self.counters.add("format_retries")
            again = await self._once(_with_note(request, text), on_text)
            asked = replace(
                again,
                from_cache=again.from_cache and asked.from_cache,
                attempts=asked.attempts + again.attempts,
                waited=asked.waited + again.waited,
                failures=asked.failures + again.failures,
                unreadable=(*asked.unreadable, text),
            )
        return asked

    async def aclose(self) -> None:
        """Close the endpoint."""
        await self.endpoint.aclose()

    async def _once(self, request: Request, on_text: OnText | None) -> Asked:
        """The answer from the cache, from an equal request under way, or from the endpoint."""
        if self.generation.temperature != 0:
            return await self._ask_endpoint(request, on_text)
        key = response_key(self.endpoint, self.generation, request)
        while True:
            known = self._cache.get(key) if self._cache is not None else None
            if known is not None:
                self.counters.add("cache_hits")
                return self._reused(request, known.completion, on_text)
            flight = self._flights.get(key)
            if flight is None:
                return await self._fly(key, request, on_text)
            self.counters.add("joined")
            # Shielded: who stops waiting must not end it for the others.
            landed = await asyncio.shield(flight)
            if isinstance(landed, ModelError):
                raise landed
            if landed is not None:
                return self._reused(request, landed, on_text)

    async def _fly(self, key: str, request: Request, on_text: OnText | None) -> Asked:
        flight: asyncio.Future[Completion | ModelError | None]
        flight = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        landed: Completion | ModelError | None = None
        try:
            asked = await self._ask_endpoint(request, on_text)
            landed = asked.completion
            return asked
        except ModelError as failure:
            landed = failure
            raise
        finally:
            del self._flights[key]
            flight.set_result(landed)

    def _reused(self, request: Request, completion: Completion, on_text: OnText | None) -> Asked:
        self.ledger.reused(self.endpoint.name)
        if on_text is not None:
            on_text(completion.text)
        return Asked(completion=completion, request=request, from_cache=True)

    async def _ask_endpoint(self, request: Request, on_text: OnText | None) -> Asked:
        failures: list[str] = []
        waited = 0.0
        while True:
            try:
                completion, seconds = await self._attempt(request, on_text)
            except AttemptFailed as failure:
                self.counters.add(f"attempt_{failure.kind}")
                failures.append(failure.kind)
                wait = self._retry.wait(len(failures), failure, self._rng)
                if wait is None:
                    raise
                await self._clock.wait_until(self._clock.now() + wait)
                waited += wait
                continue
            return Asked(
                completion=completion,
                request=request,
                attempts=len(failures) + 1,
                waited=waited,
                failures=tuple(failures),
                seconds=seconds,
            )

    async def _attempt(
        self, request: Request, on_text: OnText | None
    ) -> tuple[Completion, Seconds]:
        """One attempt, and the seconds that it took; its answer is on the disk when it returns."""
        async with self._limiter.slot() as slot:
            reserved = await self.ledger.reserve(self.endpoint.name, request, self.generation)
            began = self._clock.now()
            usage, failed = Usage(), True
            try:
                async with asyncio.timeout(self.generation.within + _GRACE):
                    completion = await self._read(request, on_text)
                usage = completion.usage
                _refuse_empty(completion, self.endpoint.name)
                failed = False
            except TimeoutError:
                raise TooSlow(
                    f"{self.endpoint.name} gave no whole answer within "
                    f"{self.generation.within:g} s; raise within in configs/asking.toml"
                ) from None
            except AttemptFailed as failure:
                usage = failure.usage
                if isinstance(failure, Overloaded):
                    self._limiter.overloaded(slot, retry_after=self._shared_wait(failure))
                raise
            finally:
                self.ledger.settle(reserved, usage, failed=failed)
            # No await between the answer and the disk: nothing can cancel it in between.
            if self._cache is not None:
                self._cache.add(
                    describe_response(self.endpoint, self.generation, request, completion)
                )
            self._limiter.succeeded()
            return completion, self._clock.now() - began

    def _shared_wait(self, failure: Overloaded) -> Seconds | None:
        if failure.retry_after is None or failure.retry_after > self._retry.longest_retry_after:
            return None
        return failure.retry_after

    async def _read(self, request: Request, on_text: OnText | None) -> Completion:
        stream = self.endpoint.stream(request, self.generation)
        text = ""
        try:
            async for piece in stream:
                if isinstance(piece, Completion):
                    if on_text is not None and piece.text != text:
                        on_text(piece.text[:_LONGEST_TOLD])
                    return piece
                assert isinstance(piece, TextPiece)
                if on_text is not None and len(text) < _LONGEST_TOLD:
                    text += piece.text
                    on_text(text)
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        raise ServerFault(f"{self.endpoint.name} ended its answer without saying that it is whole")


def _refuse_empty(completion: Completion, name: str) -> None:
    """Treat an answer without text as the failure that it is."""
    if completion.text.strip():
        return
    if completion.finish == "length":
        raise Exhausted(
            f"{name} reached its longest answer before any text came; raise max_tokens or lower "
            "thinking_budget in configs/asking.toml",
            usage=completion.usage,
        )
    raise EmptyReply(f"{name} sent an answer without text", usage=completion.usage)


def _is_readable(text: str) -> bool:
    return parse_output(text).repair not in (Repair.UNPARSABLE, Repair.EMPTY)


def _with_note(request: Request, text: str) -> Request:
    return replace(request, parts=(*request.parts, TextPart(text=_NOTE.format(text=text))))
