"""What a query may show of the stream so far: still frames, the sound's words, a film.

Models that are given a whole prefix, and not only the moments that strokes pick out, get it from
here. It holds nothing later than the query's own time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from streaming.events import Seconds, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixFrame:
    """A frame of the prefix.

    Attributes:
        time: Media time of the frame.
        sampled_at: The moment that it was sampled for: it is the newest frame at that time.
        jpeg: Encoded.
    """

    time: Seconds
    sampled_at: Seconds
    jpeg: bytes = field(repr=False)


class Film(Protocol):
    """Where the picture and sound of the stream so far can be had as one media file."""

    def until(self, time: Seconds) -> bytes:
        """An MP4 of the stream from its start to ``time``, nothing later in it.

        A time at or past the stream's end gives the file that the stream came from, unchanged.

        Raises:
            ValueError: If nothing of it lies before ``time``.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prefix:
    """The stream so far.

    Attributes:
        frames: Sampled, the newest at equal steps and older ones further apart, by time.
        film: The whole of it; None where it is not kept.
        words: All that were committed so far, over all turns.
    """

    frames: tuple[PrefixFrame, ...] = ()
    film: Film | None = None
    words: tuple[Word, ...] = ()
