"""How a stand-in for a provider can go wrong."""

from __future__ import annotations

from enum import Enum


class Fault(Enum):
    """What a stand-in does instead of answering well; each speaks it in its own protocol."""

    NORMAL = "normal"
    """No fault: a short good answer."""
    SLOW = "slow"
    """Longer than anybody waits: the answer starts, then nothing comes."""
    CUT = "cut"
    """The stream ends in the middle, without what marks its end."""
    MALFORMED = "malformed"
    """What should be JSON of the protocol is not."""
    TOO_MANY = "too_many"
    """429, without saying when to come back."""
    TOO_MANY_RETRY_AFTER = "too_many_retry_after"
    """429, saying when to come back."""
    SERVER_ERROR = "server_error"
    """500."""
    BLOCKED = "blocked"
    """The provider will not answer this content."""
    EMPTY = "empty"
    """An answer without candidates, or without text."""
    WRONG_TYPE = "wrong_type"
    """A web page where JSON or an event stream is expected."""
    RESET = "reset"
    """The connection breaks (TCP RST)."""
    HUGE = "huge"
    """An answer far longer than was allowed."""
    TRUNCATED = "truncated"
    """The answer ends in the middle of its text, at the longest that was allowed."""
