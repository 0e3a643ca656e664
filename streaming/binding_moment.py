"""When a referent was pointed at."""

from __future__ import annotations

from streaming.events import Deictic, Seconds, Stroke


def moment(
    stroke: Stroke,
    word: Deictic | None = None,
    *,
    hold_end: Seconds | None = None,
    seen: Seconds | None = None,
) -> Seconds:
    """The moment within the stroke's hold that is closest to the word; without one, the apex.

    The word stands for its middle, where the stressed syllable of a short word lies.

    Args:
        stroke: The stroke that the word is bound to.
        word: The deictic, or None for a stroke that stands alone.
        hold_end: When the hold ended (:class:`~streaming.events.StrokeEnd`), None while it lasts.
        seen: While it lasts: up to when it has been watched; the answer is never later. None takes
            the word to be inside the hold.
    """
    if word is None:
        return stroke.apex
    latest = hold_end if hold_end is not None else seen
    middle = (word.onset + word.offset) / 2.0
    if latest is not None:
        middle = min(middle, latest)
    return max(stroke.apex, middle)
