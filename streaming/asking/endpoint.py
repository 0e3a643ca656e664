"""One provider's model, as those see it who ask: a request in, text and what it cost out.

An endpoint makes **one** attempt. Waiting, trying again, caching and counting money are not its
work; it says what went wrong with one of the failures below, so that others can decide.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, TypeAlias

from streaming.asking.request import Request
from streaming.events import Seconds
from streaming.grounding_query import ModelError

CoordOrder: TypeAlias = Literal["xy", "yx"]
_MOST_ALTERNATIVES = 20
Finish: TypeAlias = Literal["stop", "length"]
"""Why a text ended: by itself, or cut off at the longest that was allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """How a text is generated; what a provider has no word for is left out of its call.

    Attributes:
        temperature: 0 asks for the likeliest text.
        max_tokens: Most tokens of the answer, thoughts included where the provider counts them.
        thinking_budget: Most tokens of thoughts; 0 asks for none, None leaves it to the model.
        detail: How finely pictures are looked at: ``low``, ``high`` or ``auto``.
        logprobs: Ask for the log-probability of each token.
        top_logprobs: Ask for those of this many of the likeliest tokens of each place as well,
            0...20; it needs ``logprobs``.
        json_mode: Ask the provider to hold the answer to the request's schema.
        within: Seconds after which an attempt is given up.
    """

    temperature: float = 0.0
    max_tokens: int = 8192
    thinking_budget: int | None = None
    detail: Literal["low", "high", "auto"] = "auto"
    logprobs: bool = False
    json_mode: bool = True
    within: Seconds = 300.0
    top_logprobs: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2 or self.max_tokens < 1 or self.within <= 0:
            raise ValueError(
                f"temperature {self.temperature}, max_tokens {self.max_tokens}, within "
                f"{self.within}: expected 0...2, at least 1, and above 0"
            )
        if self.thinking_budget is not None and self.thinking_budget < 0:
            raise ValueError(f"thinking_budget {self.thinking_budget}: expected 0 or more")
        if not 0 <= self.top_logprobs <= (_MOST_ALTERNATIVES if self.logprobs else 0):
            raise ValueError(
                f"top_logprobs {self.top_logprobs}: expected 0...{_MOST_ALTERNATIVES}, and 0 "
                "without logprobs"
            )

    def as_key(self) -> dict[str, Any]:
        """What of it changes the text: all but the patience."""
        key = asdict(self)
        del key["within"]
        if not self.top_logprobs:
            del key["top_logprobs"]  # responses from before there was such a thing stay found
        return key


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that a provider counted; they add up.

    Attributes:
        sent: Of the request.
        cached: Those of ``sent`` that the provider had cached.
        written: Of the answer, without thoughts.
        thought: Of thoughts.
    """

    sent: int = 0
    cached: int = 0
    written: int = 0
    thought: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            sent=self.sent + other.sent,
            cached=self.cached + other.cached,
            written=self.written + other.written,
            thought=self.thought + other.thought,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenChance:
    """A token of the answer and its log-probability (natural logarithm).

    Attributes:
        alternatives: The likeliest tokens of its place, itself among them; empty when the provider
            was not asked for them or gives none.
    """

    token: str
    logprob: float
    alternatives: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The end of an answer.

    Attributes:
        text: The whole of it.
        finish: Why it ended.
        usage: What it took.
        chances: Of its tokens, empty when the provider gives none.
        served_by: The model's exact name as the provider states it, or empty.
        repeatable: The same request would bring the same text; False where the server would not
            take the temperature that was asked for.
    """

    text: str
    finish: Finish = "stop"
    usage: Usage = Usage()
    chances: tuple[TokenChance, ...] = ()
    served_by: str = ""
    repeatable: bool = True


class Endpoint(Protocol):
    """One provider's model.

    Attributes:
        name: As on the command line, such as ``gemini:gemini-3-flash``.
        coord_order: Order of the two numbers of its points.
        takes_films: Whether it can be sent a :class:`~streaming.asking.request.FilmPart`.
        identity: What tells its answers from those of another: provider, model, server. Without
            keys. It goes into records and into the key of the response cache.
    """

    name: str
    coord_order: CoordOrder
    takes_films: bool
    identity: dict[str, str]

    def stream(
        self, request: Request, generation: Generation
    ) -> AsyncIterator[TextPiece | Completion]:
        """One attempt: pieces of text as they come, then one :class:`Completion`.

        Raises:
            AttemptFailed: If there is no whole answer.
        """
        ...

    async def check(self) -> str:
        """One cheap call that shows that key and server work: a line to show.

        Raises:
            AttemptFailed: If they do not.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


class AttemptFailed(ModelError):
    """An attempt that brought no whole answer. The text is one line: what, where, what to do.

    Attributes:
        kind: Stable name for counters and records.
        retryable: Another attempt may succeed.
        retry_after: Seconds that the server asked to wait, or None.
        usage: What the attempt took all the same.
    """

    kind: str = "failed"
    retryable: bool = False

    def __init__(
        self, text: str, *, retry_after: Seconds | None = None, usage: Usage | None = None
    ) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        self.usage = usage or Usage()


class Overloaded(AttemptFailed):
    """Too many requests (429), or the server is overloaded (503, 529)."""

    kind = "overloaded"
    retryable = True


class ServerFault(AttemptFailed):
    """The server failed (5xx), or what it sent is no answer of its protocol."""

    kind = "server_fault"
    retryable = True


class Unreachable(AttemptFailed):
    """No connection, or it broke in the middle."""

    kind = "unreachable"
    retryable = True


class TooSlow(AttemptFailed):
    """No whole answer in the time allowed."""

    kind = "too_slow"
    retryable = True


class Blocked(AttemptFailed):
    """The provider refused to answer this content (safety, recitation and the like)."""

    kind = "blocked"


class Exhausted(AttemptFailed):
    """The longest answer was reached before any text came: thoughts took all of it."""

    kind = "exhausted"


class EmptyReply(AttemptFailed):
    """An answer without text, and no reason given."""

    kind = "empty"
    retryable = True


class Rejected(AttemptFailed):
    """The request is not accepted: wrong key, no such model, too large, not supported."""

    kind = "rejected"


class OverBudget(AttemptFailed):
    """Not sent: it would go over the limit of costs."""

    kind = "over_budget"
