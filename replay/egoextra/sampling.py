"""Which moments of the clip before a question are shown.

The clip is the ``length`` seconds (5, 15 or 30) before the question begins. Its frames are chosen

* ``US``: uniformly, eight over the clip, its begin and its end among them;
* ``QA``: question-adjacent, the last eight frames of the recording before the question;
* ``TS``: a single one, at the question.

A frame stands for a moment when it is the newest one at that moment: none is from later. A frame
that would stand for two moments is shown once.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Literal, TypeAlias

from streaming.events import Seconds

Sampling: TypeAlias = Literal["US", "QA", "TS"]
SAMPLINGS: tuple[Sampling, ...] = ("US", "QA", "TS")
LENGTHS: tuple[Seconds, ...] = (5.0, 15.0, 30.0)
FRAMES = 8


def clip_of(asked_at: Seconds, length: Seconds) -> tuple[Seconds, Seconds]:
    """Begin and end of the clip before a question; no earlier than the recording.

    Raises:
        ValueError: If ``length`` is not positive, or ``asked_at`` is negative.
    """
    if length <= 0 or asked_at < 0:
        raise ValueError(f"a clip of {length} s before {asked_at} s")
    return max(0.0, asked_at - length), asked_at


def choose_frames(
    times: Sequence[Seconds],
    *,
    asked_at: Seconds,
    length: Seconds,
    sampling: Sampling,
    count: int = FRAMES,
) -> list[int]:
    """Positions in ``times`` of the frames that are shown, ascending.

    Args:
        times: Of the recording's frames, ascending, seconds; any stretch that covers the clip.
        asked_at: When the question begins.
        length: Of the clip, seconds.
        sampling: How frames are chosen.
        count: How many, but for ``TS``.

    Raises:
        ValueError: If ``count`` is below 1, or as :func:`clip_of`.
    """
    if count < 1:
        raise ValueError(f"{count} frames")
    begin, end = clip_of(asked_at, length)
    known = bisect.bisect_right(times, end + _EXACT)
    if known == 0:
        return []
    if sampling == "TS" or count == 1:
        return [known - 1]
    first = bisect.bisect_left(times, begin - _EXACT)
    if sampling == "QA":
        return list(range(max(min(first, known - 1), known - count), known))
    step = (end - begin) / (count - 1)
    newest = (
        bisect.bisect_right(times, begin + step * number + _EXACT) - 1 for number in range(count)
    )
    # Before the recording's first frame, and at a clip's begin that falls between two, the next.
    inside = (max(position, min(first, known - 1)) for position in newest)
    return list(dict.fromkeys(inside))


_EXACT: Seconds = 1e-6
"""Times are floats that came from fractions: this near is at the same moment."""
