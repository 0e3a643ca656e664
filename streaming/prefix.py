"""What of the stream so far a query may need: still frames, and every word.

**Frames.** The frame of a moment ``k * step`` is the newest one at that time, never a later one:
EcoG-Bench's index ``int(t * fps)``, said in times. A moment before the first frame has none, and a
frame that would serve two moments (a slow camera) is kept once.

The last ``recent`` seconds are kept whole. Further back the steps double with every doubling of the
age: twice as far back, half as many a second, so a stream of any length is remembered in a number
of frames that grows with its logarithm. Frames that old are kept smaller, too. ``most`` and
``most_bytes`` bound it whatever the pictures are: above them every second frame of the older half
goes.

**Words** are kept all. An hour of speech is some ten thousand, about a megabyte.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from streaming.events import AudioBlock, Seconds, VideoFrame, Word
from streaming.grounding_frames import decoded
from streaming.grounding_prefix import Film, Prefix, PrefixFrame
from streaming.picture_jpeg import jpeg_of, square_pixels

_FEWEST = 4
_EXACT: Seconds = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixSettings:
    """Settings of :class:`SampledFrames`, see ``configs/prefix.toml``.

    Attributes:
        step: Seconds between moments.
        recent: Seconds back from the newest frame in which every moment is kept.
        most: Most frames that are kept.
        most_bytes: Most bytes of their JPEGs.
        shown: Most frames that a query is shown.
        side: Longest side, pixels.
        older_side: The same of frames from before ``recent``.
        quality: Of the JPEG, 1 to 100.
    """

    step: Seconds = 0.5
    recent: Seconds = 32.0
    most: int = 320
    most_bytes: int = 64_000_000
    shown: int = 64
    side: int = 1024
    older_side: int = 640
    quality: int = 90

    def __post_init__(self) -> None:
        sides = min(self.side, self.older_side)
        if self.step <= 0 or self.recent <= 0 or sides < 1 or not 1 <= self.quality <= 100:
            raise ValueError(
                f"step {self.step}, recent {self.recent}, side {self.side} and older_side "
                f"{self.older_side} must be positive, quality {self.quality} 1 to 100"
            )
        if min(self.most, self.shown) < _FEWEST or self.most_bytes < 1:
            raise ValueError(
                f"most is {self.most} and shown {self.shown}, expected {_FEWEST} or more; "
                f"most_bytes is {self.most_bytes}, expected 1 or more"
            )


class SampledFrames:
    """Takes every frame of a stream and keeps the sampled ones, in bounded memory.

    Attributes:
        newest: The newest frame, or None.
        bytes: Of the JPEGs that are kept.
        peak_bytes, peak_frames: The most that there ever were.
    """

    def __init__(self, settings: PrefixSettings | None = None) -> None:
        self._settings = settings or PrefixSettings()
        # By age: the recent ones, then those up to twice as old, up to four times, and so on; each
        # from old to new.
        self._ages: list[deque[PrefixFrame]] = [deque()]
        self._count = 0
        self._moment = 0
        self.newest: VideoFrame | None = None
        self.bytes = 0
        self.peak_bytes = 0
        self.peak_frames = 0

    def __len__(self) -> int:
        return self._count

    def add(self, frame: VideoFrame) -> None:
        """Take the next frame; times rise."""
        # All moments up to this frame are the one before's, but for the last where it is due.
        due = math.floor(frame.time / self._settings.step + 1e-9)
        on_time = due * self._settings.step >= frame.time
        before = due - 1 if on_time else due
        if self.newest is not None and before >= self._moment:
            self._keep(self.newest, self._moment)
        if on_time:
            self._keep(frame, due)
        self._moment = max(self._moment, due + 1)
        self.newest = frame

    def up_to(self, time: Seconds) -> tuple[PrefixFrame, ...]:
        """The frames of the moments up to ``time``, by time; at most ``shown`` of them.

        Of more than that the newest half is whole, and the older ones are spread evenly.
        """
        known = self._until(time)
        most = self._settings.shown
        if len(known) <= most:
            return tuple(known)
        newest = most // 2
        older, recent = known[:-newest], known[-newest:]
        places = most - newest
        spread = [older[len(older) * place // places] for place in range(places)]
        return (*spread, *recent)

    def between(self, begin: Seconds, end: Seconds) -> tuple[PrefixFrame, ...]:
        """All frames that are kept of the moments within ``[begin, end]``, and the one before."""
        known = self._until(end)
        first = bisect.bisect_left(known, begin - _EXACT, key=lambda frame: frame.time)
        return tuple(known[max(0, first - 1) :])

    def _until(self, time: Seconds) -> list[PrefixFrame]:
        return [frame for frame in self._all() if frame.sampled_at <= time]

    def _all(self) -> Iterator[PrefixFrame]:
        return itertools.chain.from_iterable(reversed(self._ages))

    def _keep(self, frame: VideoFrame, moment: int) -> None:
        recent = self._ages[0]
        if recent and recent[-1].time == frame.time:
            return
        shown = square_pixels(
            frame.image, pixel_aspect=frame.pixel_aspect, side=self._settings.side
        )
        kept = PrefixFrame(
            time=frame.time,
            sampled_at=moment * self._settings.step,
            jpeg=jpeg_of(shown, quality=self._settings.quality),
        )
        recent.append(kept)
        self._weigh(1, len(kept.jpeg))
        self._age(now=kept.sampled_at)
        self._bound()
        self.peak_bytes = max(self.peak_bytes, self.bytes)
        self.peak_frames = max(self.peak_frames, self._count)

    def _weigh(self, frames: int, size: int) -> None:
        self._count += frames
        self.bytes += size

    def _age(self, *, now: Seconds) -> None:
        """Hand what has grown too old for its place on to the next one, thinned out on the way."""
        place, oldest = 0, self._settings.recent
        while place < len(self._ages):
            here = self._ages[place]
            while len(here) > 1 and now - here[0].sampled_at > oldest:
                frame = here.popleft()
                self._grow_old(frame if place else self._smaller(frame), place + 1)
            place, oldest = place + 1, 2 * oldest

    def _grow_old(self, frame: PrefixFrame, place: int) -> None:
        """Put ``frame`` in its place; the one before it goes when it is not needed there."""
        if place == len(self._ages):
            self._ages.append(deque())
        here = self._ages[place]
        older = self._ages[place + 1] if place + 1 < len(self._ages) else ()
        before = here[-2] if len(here) > 1 else older[-1] if older else None
        step = self._settings.step * 2**place
        if here and before is not None and frame.sampled_at - before.sampled_at <= step + _EXACT:
            self._weigh(-1, -len(here.pop().jpeg))
        here.append(frame)

    def _smaller(self, frame: PrefixFrame) -> PrefixFrame:
        settings = self._settings
        if settings.older_side >= settings.side:
            return frame
        small = square_pixels(decoded(frame.jpeg), side=settings.older_side)
        jpeg = jpeg_of(small, quality=settings.quality)
        self._weigh(0, len(jpeg) - len(frame.jpeg))
        return PrefixFrame(time=frame.time, sampled_at=frame.sampled_at, jpeg=jpeg)

    def _bound(self) -> None:
        settings = self._settings
        while self._count > _FEWEST and (
            self._count > settings.most or self.bytes > settings.most_bytes
        ):
            kept = list(self._all())
            half = len(kept) // 2
            gone = {id(frame) for frame in kept[1:half:2]}
            self._weigh(-len(gone), -sum(len(frame.jpeg) for frame in kept[1:half:2]))
            self._ages = [
                deque(frame for frame in here if id(frame) not in gone) for here in self._ages
            ]


class PrefixStore:
    """What of the stream so far a query may need.

    Attributes:
        frames: The pictures.
        words: All words, by when they became known.
    """

    def __init__(self, settings: PrefixSettings | None = None, *, film: Film | None = None) -> None:
        self.frames = SampledFrames(settings)
        self.words: list[Word] = []
        self._film = film

    def add(self, event: Any) -> None:
        """Take a frame or a committed word; anything else is let through."""
        match event:
            case VideoFrame():
                self.frames.add(event)
            case Word():
                self.words.append(event)

    def prefix(self, time: Seconds) -> Prefix:
        """The stream up to ``time``."""
        return Prefix(frames=self.frames.up_to(time), film=self._film, words=tuple(self.words))

    def facts(self) -> dict[str, int]:
        """How much is kept now, and the most that there was."""
        return {
            "prefix_frames": len(self.frames),
            "prefix_bytes": self.frames.bytes,
            "prefix_frames_most": self.frames.peak_frames,
            "prefix_bytes_most": self.frames.peak_bytes,
            "prefix_words": len(self.words),
        }


def prefix_of(
    events: Iterable[Any], settings: PrefixSettings | None = None, *, film: Film | None = None
) -> Prefix:
    """The prefix that a session would have gathered of ``events``, all of them.

    Args:
        events: Of a source, in order; only frames matter.
        settings: How frames are sampled.
        film: Where the same stream can be had as a film.
    """
    store = PrefixStore(settings, film=film)
    for event in events:
        store.add(event)
    return store.prefix(math.inf)


def reach(event: Any) -> Seconds:
    """How far into the stream a source's event reaches; 0 for what is neither sound nor picture."""
    match event:
        case VideoFrame():
            return event.time
        case AudioBlock():
            return event.offset
    return 0.0
