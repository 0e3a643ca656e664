"""Questions about a turn that is not over yet.

The end of a turn is certain only after a second of silence. When every referring word is bound and
a short pause follows the last word, the turn may be asked early. If nothing more is said the early
question stands, and the turn costs no second one. If the speaker goes on, or a word turns out to
go with another stroke, all of the turn is asked again in place of the early question.

All of it hangs on what the stages before said and on their watermarks, never on the wall clock.
"""

from __future__ import annotations

import math
from typing import Any

from streaming.events import Binding, Seconds, SpeechStart, Word, WordsSeen
from streaming.grounding_query import Query
from streaming.grounding_turn import Turn


class EarlyAsking:
    """Says when to ask early, and remembers what was asked.

    Args:
        after: Seconds in which no word began after the last one; 0 never asks early. Watermarks
            come with a lag of ``pause`` of ``configs/transcript.toml``, so the silence heard by
            then is that much longer.
        longest_wait: How long a hold may go on after the words before it is not waited for.

    Attributes:
        turn: Number of the early question about the turn under way; None without one.
    """

    def __init__(self, *, after: Seconds, longest_wait: Seconds) -> None:
        self._after = after
        self._longest_wait = longest_wait
        self._words_until: Seconds = -math.inf
        self._voice_from: Seconds = -math.inf
        self._looked_at: tuple[Word, Binding] | None = None
        self._said: tuple[Word, ...] = ()
        self._meant: tuple[tuple[Any, ...], ...] = ()
        self.turn: int | None = None

    def take(self, event: Any) -> None:
        """Take what tells that somebody speaks or has not spoken; anything else is passed over."""
        match event:
            case WordsSeen():
                self._words_until = max(self._words_until, event.until)
            case SpeechStart():
                self._voice_from = event.onset

    def is_due(self, turn: Turn, *, deictics_until: Seconds, seen_until: Seconds) -> bool:
        """Whether ``turn`` is to be looked at now; once for all that was said and bound of it.

        Args:
            turn: The turn under way.
            deictics_until: Every referring word before this is known.
            seen_until: Hands are known up to here.
        """
        if self._after <= 0 or not turn.deictics or not turn.words:
            return False
        end = turn.words[-1].offset
        if self._words_until < end + self._after or deictics_until < end:
            return False
        if self._voice_from > end or not set(turn.deictics) <= turn.bound():
            return False
        if not turn.holds_over(seen=seen_until, most=self._longest_wait, words_end=end):
            return False
        looked_at = (turn.words[-1], turn.bindings[-1])
        if looked_at == self._looked_at:
            return False
        self._looked_at = looked_at
        return True

    def asked(self, query: Query) -> None:
        """``query`` is asked early."""
        self.turn, self._said, self._meant = query.turn, query.words, _meant(query)

    def stands_for(self, query: Query) -> bool:
        """Whether the early question says already what ``query`` would ask."""
        return self.turn is not None and query.words == self._said and _meant(query) == self._meant

    def take_back(self) -> None:
        """The early answer was stopped; the turn is not asked again before more is said of it."""
        self.turn, self._said, self._meant = None, (), ()

    def forget(self) -> None:
        """The turn is over."""
        self.take_back()
        self._looked_at = None


def _meant(query: Query) -> tuple[tuple[Any, ...], ...]:
    return tuple((one.kind, one.deictic, one.stroke) for one in query.pointed)
