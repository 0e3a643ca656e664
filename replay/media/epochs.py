"""Timestamps that jump: which packets belong to one stretch of time, and where it is placed.

A transport stream that was spliced, or a recorder that restarted its clock, jumps back to an
earlier time or far ahead. Each jump begins a new *epoch*, which is placed right after everything
sent before, so media time only rises. Both streams move together: when the other stream makes the
same jump it joins the epoch instead of opening its own, so sound and picture keep their offset.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from replay.media.opening import Kind
from streaming.events import Seconds

BACKWARD_SECONDS = 1.0
"""A step back by more than this begins an epoch; less is disorder within one."""
FORWARD_SECONDS = 60.0
"""A step ahead by more than this begins an epoch, unless the other stream is there already."""
FORWARD_SPLICED_SECONDS = 10.0
"""The same for formats that are spliced as a matter of course (MPEG-TS; FFmpeg's own limit)."""
_KEPT_EPOCHS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """The timestamps of ``kind`` jump by ``step``; the new epoch goes on at ``time``."""

    kind: Kind
    time: Seconds
    step: Seconds


@dataclass(slots=True)
class Epochs:
    """The shift of each stream's timestamps, and where each stream stands.

    Args:
        forward: A step ahead by more seconds than this is a jump.
    """

    forward: Seconds = FORWARD_SECONDS
    jumps: list[Jump] = field(default_factory=list)
    _shifts: dict[Kind, Seconds] = field(default_factory=dict)
    _next: dict[Kind, Seconds] = field(default_factory=dict)
    _known: deque[Seconds] = field(default_factory=lambda: deque((0.0,), maxlen=_KEPT_EPOCHS))

    def shift(self, kind: Kind, time: Seconds, duration: Seconds) -> Seconds:
        """What to add to the timestamps of the packet at ``time`` (decoding order)."""
        shift = self._shifts.get(kind, 0.0)
        if not self._continues(kind, time + shift):
            shift = self._other_epoch(kind, time, shift)
            self._shifts[kind] = shift
        self._next[kind] = max(time + shift + duration, self._next.get(kind, time + shift))
        return shift

    def _continues(self, kind: Kind, time: Seconds) -> bool:
        expected = self._next.get(kind)
        if expected is None:
            return True
        if time < expected - BACKWARD_SECONDS:
            return False
        furthest = max(self._next.values())
        return time <= max(expected, furthest) + self.forward

    def _other_epoch(self, kind: Kind, time: Seconds, shift: Seconds) -> Seconds:
        """The latest known epoch that ``time`` continues, or else a new one."""
        for known in reversed(self._known):
            if known != shift and self._continues(kind, time + known):
                return known
        end = max(self._next.values())
        self.jumps.append(Jump(kind=kind, time=end, step=time + shift - self._next[kind]))
        self._known.append(end - time)
        return end - time
