"""How much the sessions may do, by how far behind they are. Pure: time and lags are arguments.

When the number of sessions changes, the level is the one that should fit by what a session costs
(:meth:`~server.settings.LoadPolicy.level`). From then on it follows what is measured:

* a step down the levels when a session has been behind for a while without a pause. What counts is
  the *least* age in each look, as in CoDel (RFC 8289): a queue that empties between two hops of
  hearing is no standing queue;
* pictures that are skipped lead no further than to the last level that only takes pictures away;
* a step up when no session has been behind for long. If that was too much, the next try waits
  twice as long, up to a limit, so that the level does not swing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from server.settings import Level, LoadPolicy
from streaming.events import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """What a session says of itself since the last look.

    Attributes:
        lag: Least seconds that sound waited for hearing; None if none was taken up.
        skipped: Share of the pictures that nobody had time to look at, 0...1.
    """

    lag: Seconds | None
    skipped: float


class Governor:
    """Decides for all sessions alike.

    Args:
        policy: The levels, and when to leave one.
        cores: Of the machine.
    """

    def __init__(self, policy: LoadPolicy, *, cores: int) -> None:
        self._policy = policy
        self._cores = cores
        self._at = 0
        self._bad_since: Seconds | None = None
        self._good_since: Seconds | None = None
        self._raised_at: Seconds | None = None
        self._patience = policy.better_after

    @property
    def level(self) -> Level:
        """What each session may do."""
        return self._policy.levels[self._at]

    def resize(self, sessions: int) -> None:
        """There are so many sessions now."""
        self._at = self._policy.levels.index(self._policy.level(sessions, self._cores))
        self._bad_since = self._good_since = self._raised_at = None
        self._patience = self._policy.better_after

    def look(self, pressures: Sequence[Pressure], *, now: Seconds) -> Level:
        """Take what the sessions say at ``now``, later than before, and return their level."""
        if any(self._is_behind(one) for one in pressures):
            self._good_since = None
            if self._bad_since is None:
                self._bad_since = now
            elif now - self._bad_since >= self._policy.worse_after:
                self._lower(now)
        elif all(self._is_ahead(one) for one in pressures):
            self._bad_since = None
            if self._good_since is None:
                self._good_since = now
            elif now - self._good_since >= self._patience:
                self._raise(now)
        else:
            self._bad_since = self._good_since = None
        return self.level

    def _is_behind(self, one: Pressure) -> bool:
        late = one.lag is not None and one.lag > self._policy.behind
        return late or (one.skipped > self._policy.skipped and self._only_pictures_below)

    def _is_ahead(self, one: Pressure) -> bool:
        in_time = one.lag is None or one.lag < self._policy.ahead
        return in_time and one.skipped <= self._policy.skipped / 2

    @property
    def _only_pictures_below(self) -> bool:
        levels = self._policy.levels
        return self._at + 1 < len(levels) and levels[self._at + 1].stride == self.level.stride

    def _lower(self, now: Seconds) -> None:
        if self._raised_at is not None and now - self._raised_at <= 2 * self._patience:
            self._patience = min(2 * self._patience, self._policy.longest)
        self._raised_at = None
        self._at = min(self._at + 1, len(self._policy.levels) - 1)
        self._bad_since = now  # the new level has its time to show what it does

    def _raise(self, now: Seconds) -> None:
        if self._at > 0:
            self._at -= 1
            self._raised_at = now
        else:
            self._patience = self._policy.better_after
        self._good_since = now
