"""Timestamps that jump: which packets belong to one stretch of time, and where it is placed.

A transport stream that was spliced, or a recorder that restarted its clock, jumps back to an
earlier time or far ahead. Each jump begins a new *epoch*, which is placed right after everything
sent before, so media time only rises. Both streams move together: when the other stream makes the
same jump it joins the epoch instead of opening its own, so sound and picture keep their offset.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from replay.media.opening import Kind
from streaming.events import Seconds

BACKWARD_SECONDS = 1.0
"""A step back by more than this begins an epoch; less is disorder within one."""
FORWARD_SECONDS = 60.0
"""A step ahead by more than this begins an epoch, unless the other stream is there already."""
FORWARD_SPLICED_SECONDS = 10.0
"""The same for formats that are spliced as a matter of course (MPEG-TS; FFmpeg's own limit)."""
_LONGEST_PACKET = 1.0
_KEPT_EPOCHS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """The timestamps of ``kind`` jump by ``step``; the new epoch goes on at ``time``."""

    kind: Kind
    time: Seconds
    step: Seconds


class Epochs:
    """The shift of each stream's timestamps, and where each stream stands.

    Attributes:
        jumps: The jumps seen so far.

    Args:
        forward: A step ahead by more seconds than this is a jump.
    """

    def __init__(self, *, forward: Seconds = FORWARD_SECONDS) -> None:
        self.jumps: list[Jump] = []
        self._forward = forward
        self._known: deque[Seconds] = deque((0.0,), maxlen=_KEPT_EPOCHS)
        self._shifts: dict[Kind, Seconds] = {}
        self._last: dict[Kind, Seconds] = {}
        self._first: Seconds | None = None
        self._end: Seconds = 0.0

    def reach(self, time: Seconds) -> None:
        """Say that the timeline goes on to ``time``, whether or not anything comes: what begins
        an epoch from now on is placed there.
        """
        if self._first is None:
            self._first = 0.0
        self._end = max(self._end, time)

    def shift(self, kind: Kind, time: Seconds, duration: Seconds) -> Seconds:
        """What to add to the timestamps of the packet at ``time`` (decoding order)."""
        shift = self._shifts.get(kind, 0.0)
        if self._first is None:
            self._first = self._end = time
        elif not self._continues(kind, time + shift):
            shift = self._other_epoch(kind, time, shift)
        self._shifts[kind] = shift
        placed = time + shift
        self._last[kind] = max(placed, self._last.get(kind, placed))
        # A damaged file may declare any duration.
        self._end = max(self._end, placed + min(max(0.0, duration), _LONGEST_PACKET))
        return shift

    def _continues(self, kind: Kind, time: Seconds) -> bool:
        # A stream that only begins may lie anywhere in what the other one has covered.
        earliest = self._last.get(kind, self._first or 0.0)
        return earliest - BACKWARD_SECONDS <= time <= self._end + self._forward

    def _other_epoch(self, kind: Kind, time: Seconds, shift: Seconds) -> Seconds:
        """The latest known epoch that ``time`` continues, or else a new one."""
        for known in reversed(self._known):
            if known != shift and self._continues(kind, time + known):
                return known
        step = time + shift - self._last.get(kind, self._end)
        self.jumps.append(Jump(kind=kind, time=self._end, step=step))
        self._known.append(self._end - time)
        return self._end - time
