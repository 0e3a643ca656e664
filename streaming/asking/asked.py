"""A vision-language model as a model of the pipeline: from a query to an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from streaming.asking.asker import Asked, Asker
from streaming.asking.endpoint import CoordOrder
from streaming.asking.json_so_far import JsonSoFar
from streaming.asking.reply import Reply, normalised_output, read_reply, without_thoughts
from streaming.asking.request import Request
from streaming.asking.visual_budget import VisualUse
from streaming.events import Answer, Counters, Referent
from streaming.grounding_query import Query
from streaming.models.local_answer import sentence

When: TypeAlias = Literal["model", "binder"]
"""Whose times an answer has: the model's, or those of our own binding of words and strokes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question to a model and all that came of it, for a record.

    Attributes:
        query: What the pipeline asked.
        request: What was sent first.
        asked: The model's text and how it was come by.
        reply: The text as it was read.
        answer: What the pipeline was told.
        visual: What the request's pictures cost, where they were chosen under a budget.
    """

    query: Query
    request: Request
    asked: Asked
    reply: Reply
    answer: Answer
    visual: VisualUse | None = None


Chosen: TypeAlias = Callable[[Request], tuple[Request, VisualUse]]
"""Chooses among the pictures of a request, see :mod:`streaming.asking.visual_budget`."""


class AskedModel:
    """Puts queries to a vision-language model, by one of the input interfaces.

    Args:
        asker: Asks it.
        interface: Name of the input interface, see :mod:`streaming.asking.interfaces`.
        prompts: Its prompts; the project's own without.
        when: Whose times the answer has. With ``binder`` the model says what and where, and
            ``raw`` is the answer in the benchmark's format with our times, points ``[x, y]``.
        on_exchange: Told about each question that was answered.
        choose: Chooses among the pictures of a request; all of them without.

    Attributes:
        name: The endpoint's.
        coord_order: Order of a point's numbers in ``Answer.raw``.
        counters: ``reply_<departure>`` as in :mod:`streaming.asking.reply`, ``replies_cut_off``,
            and of answers that were not there already ``tokens_sent`` and ``tokens_written``.

    Raises:
        ConfigError: If the project's prompts are missing or do not fit.
    """

    name: str
    coord_order: CoordOrder

    def __init__(
        self,
        asker: Asker,
        *,
        interface: str = "bound",
        prompts: Any = None,
        when: When = "model",
        on_exchange: Callable[[Exchange], None] | None = None,
        choose: Chosen | None = None,
    ) -> None:
        if prompts is None:
            from streaming.asking.prompts import load_prompts

            prompts = load_prompts()
        self.name = asker.endpoint.name
        self.coord_order = asker.endpoint.coord_order if when == "model" else "xy"
        self.counters = Counters()
        self._asker = asker
        self._interface = interface
        self._prompts = prompts
        self._when = when
        self._on_exchange = on_exchange
        self._choose = choose

    async def ground(self, query: Query) -> AsyncIterator[Answer]:
        """A partial answer for each referent that is whole, then the final one.

        The partial ones depend on the text alone, not on the pieces that it comes in.

        Raises:
            ModelError: If the query lacks what the interface needs, or there is no answer.
        """
        # Cutting a film or drawing on pictures takes a while; the event loop has other work.
        request, visual = await asyncio.to_thread(self._composed, query)
        news: asyncio.Queue[str | None] = asyncio.Queue()
        follower = _Follower(news.put_nowait)
        asking = asyncio.create_task(self._asker.ask(request, follower.follow))
        asking.add_done_callback(lambda _: news.put_nowait(None))
        try:
            last: Answer | None = None
            while (part := await news.get()) is not None:
                partial = self._answer(query, self._read(part, query), final=False)
                if partial != last:
                    yield partial
                last = partial
            asked = await asking
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait([asking])
            if not asking.cancelled():
                asking.exception()  # told already, or nobody is there to be told
        reply = self._read(asked.completion.text, query)
        self._count(asked, reply)
        answer = self._answer(query, reply, final=True)
        if self._on_exchange is not None:
            self._on_exchange(
                Exchange(
                    query=query,
                    request=request,
                    asked=asked,
                    reply=reply,
                    answer=answer,
                    visual=visual,
                )
            )
        yield answer

    @property
    def all_counters(self) -> tuple[Counters, ...]:
        """Its own and the asker's."""
        return self.counters, self._asker.counters

    async def aclose(self) -> None:
        """Close the endpoint's connections."""
        await self._asker.aclose()

    def compose(self, query: Query) -> Request:
        """The request for a query.

        Raises:
            ModelError: If the query lacks what the interface needs.
        """
        from streaming.asking.interfaces import compose

        return compose(
            query,
            interface=self._interface,
            prompts=self._prompts,
            coord_order=self._asker.endpoint.coord_order,
        )

    def _composed(self, query: Query) -> tuple[Request, VisualUse | None]:
        request = self.compose(query)
        return (request, None) if self._choose is None else self._choose(request)

    def _read(self, text: str, query: Query) -> Reply:
        order = self._asker.endpoint.coord_order
        return read_reply(text, task=query.task, coord_order=order)

    def _answer(self, query: Query, reply: Reply, *, final: bool) -> Answer:
        referents = linked(reply.referents, query, when=self._when)
        raw = reply.raw
        if self._when == "binder" and final:
            raw = normalised_output(replace(reply, referents=referents))
        return answer_of(query, reply, referents, model=self.name, raw=raw, final=final)

    def _count(self, asked: Asked, reply: Reply) -> None:
        for name, count in reply.counters.items():
            self.counters.add(f"reply_{name}", count)
        if asked.completion.finish == "length":
            self.counters.add("replies_cut_off")
        if not asked.from_cache:
            usage = asked.completion.usage
            self.counters.add("tokens_sent", usage.sent)
            self.counters.add("tokens_written", usage.written + usage.thought)


def linked(
    referents: tuple[Referent, ...], query: Query, *, when: When = "model"
) -> tuple[Referent, ...]:
    """Referents with the word and stroke that each comes from, position by position.

    With ``when="binder"`` their times are those of the query's own pointing. Without as many as
    the query points at, nothing tells which is which, and they stay as they are.
    """
    if len(referents) != len(query.pointed):
        return referents
    return tuple(
        replace(
            referent,
            time=pointed.time if when == "binder" else referent.time,
            deictic=pointed.deictic,
            stroke=pointed.stroke,
        )
        for referent, pointed in zip(referents, query.pointed, strict=True)
    )


def answer_of(
    query: Query,
    reply: Reply,
    referents: tuple[Referent, ...],
    *,
    model: str,
    raw: str,
    final: bool,
) -> Answer:
    """What the pipeline is told of a reply: a partial answer has no raw text yet."""
    return Answer(
        turn=query.turn,
        referents=referents,
        frame_time=query.last.time if query.last is not None else query.asked_at,
        text=reply.command or sentence(referents, query.language),
        final=final,
        model=model,
        raw=raw if final else "",
        reasoning=reply.reasoning,
    )


class _Follower:
    """Tells each state of a growing text at which another piece of its answer is whole."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._seen = ""
        self._reader = JsonSoFar()

    def follow(self, text: str) -> None:
        """Take the whole text so far; another attempt begins again."""
        bare = without_thoughts(text)
        if not bare.startswith(self._seen):
            self._seen, self._reader = "", JsonSoFar()
        for closed in self._reader.feed(bare[len(self._seen) :]):
            self._tell(closed)
        self._seen = bare
